//! The rules that plans are checked against, and the picture of the states.

use planwright_core::run::arbiter;
use planwright_core::syntax::nearest;
use planwright_core::verify::{RULES, Rule};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;

/// What the picture of the states is asked for by.
const STATES: &str = "states";

/// What there is to know about rules.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RulesView {
    /// The rules that were asked for.
    pub rules: Vec<RuleView>,
    /// The states of plans and of the work on them, as Mermaid draws them, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagram: Option<String>,
}

/// What there is to know about a rule.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RuleView {
    /// The stable code.
    pub code: String,
    /// The name.
    pub name: String,
    /// `error` or `warning`, where the rule does not say otherwise.
    pub severity: String,
    /// What it finds, in one line.
    pub summary: String,
    /// The whole page, as markdown; empty in the list of all rules.
    pub page: String,
}

/// Every rule, without its page.
pub fn rules() -> RulesView {
    RulesView { rules: RULES.iter().map(|rule| view(rule, "")).collect(), diagram: None }
}

/// The rule with this code or name, or the picture of the states.
pub fn explain(wanted: &str) -> Result<RulesView, Error> {
    if wanted == STATES {
        return Ok(RulesView { rules: Vec::new(), diagram: Some(arbiter::diagram()) });
    }
    let Some(rule) = Rule::find(wanted) else {
        let names = RULES.iter().flat_map(|rule| [rule.name, rule.code]).chain([STATES]);
        let failure = Error::new(ErrorKind::Usage, format!("unknown rule `{wanted}`"));
        return Err(match nearest::nearest(wanted, names) {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")).next(NextCommand::new([
                "planwright",
                "explain",
                meant,
            ])),
            None => failure.next(NextCommand::new(["planwright", "explain"])),
        });
    };
    Ok(RulesView { rules: vec![view(rule, rule.page)], diagram: None })
}

fn view(rule: &Rule, page: &str) -> RuleView {
    RuleView {
        code: rule.code.to_owned(),
        name: rule.name.to_owned(),
        severity: rule.severity.word().to_owned(),
        summary: rule.summary.to_owned(),
        page: page.to_owned(),
    }
}
