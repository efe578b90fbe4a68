//! `explain`: the page about a rule, the list of all rules, or the picture of the states.

use planwright_engine::core::run::arbiter;
use planwright_engine::core::syntax::nearest;
use planwright_engine::core::verify::{RULES, Rule};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone, markdown};

/// Longer lines are hard to read, however wide the terminal is.
const PAGE_WIDTH_MAX: usize = 80;

/// What the picture of the states is asked for by.
const STATES: &str = "states";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rule code or name, such as PW0203 or unmade-file, or `states` [default: list all]
    rule: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Rules {
    /// The rules that were asked for.
    pub(crate) rules: Vec<RuleData>,
    /// The states of plans and of the work on them, as Mermaid draws them, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diagram: Option<String>,
}

/// What there is to know about a rule.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RuleData {
    /// The stable code.
    pub(crate) code: String,
    /// The name.
    pub(crate) name: String,
    /// `error` or `warning`, where the rule does not say otherwise.
    pub(crate) severity: String,
    /// What it finds, in one line.
    pub(crate) summary: String,
    /// The whole page, as markdown; empty in the list of all rules.
    pub(crate) page: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Some(wanted) = &args.rule else { return Ok(list(out)) };
    if wanted == STATES {
        let diagram = arbiter::diagram();
        out.data(&diagram);
        return Ok(Response::done("explain", &Rules { rules: Vec::new(), diagram: Some(diagram) }));
    }
    let Some(rule) = Rule::find(wanted) else {
        let names = RULES.iter().flat_map(|rule| [rule.name, rule.code]).chain([STATES]);
        let failure = Failure::new(Exit::Usage, format!("unknown rule `{wanted}`"));
        return Err(match nearest::nearest(wanted, names) {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")).next(NextCommand::new([
                "planwright",
                "explain",
                meant,
            ])),
            None => failure.next(NextCommand::new(["planwright", "explain"])),
        });
    };
    let width = out.settings().width.min(PAGE_WIDTH_MAX);
    let text = markdown(rule.page, width, out.palette());
    out.data(&text);
    Ok(Response::done("explain", &Rules { rules: vec![data(rule, rule.page)], diagram: None }))
}

fn list(out: &mut Out<'_>) -> Response {
    let mut table = Table::new();
    for rule in RULES {
        table.row(vec![
            Cell::new(rule.code).tone(Tone::Strong),
            Cell::new(rule.name),
            Cell::new(rule.severity.word()).tone(Tone::Muted),
            Cell::new(rule.summary),
        ]);
    }
    out.table(&table);
    let rules = RULES.iter().map(|rule| data(rule, "")).collect();
    Response::done("explain", &Rules { rules, diagram: None }).next(NextCommand::new([
        "planwright",
        "explain",
        RULES[0].code,
    ]))
}

fn data(rule: &Rule, page: &str) -> RuleData {
    RuleData {
        code: rule.code.to_owned(),
        name: rule.name.to_owned(),
        severity: rule.severity.word().to_owned(),
        summary: rule.summary.to_owned(),
        page: page.to_owned(),
    }
}
