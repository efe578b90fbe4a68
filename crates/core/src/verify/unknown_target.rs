//! PW0501: a step for an unknown agent or role.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Edit;
use crate::syntax::nearest;

pub(super) const RULE: Rule = Rule {
    code: "PW0501",
    name: "unknown-target",
    severity: Severity::Error,
    summary: "`target` names an unknown agent or role",
    page: include_str!("../../rules/unknown-target.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let agents = &subject.facts.agents;
    for (place, step) in subject.steps() {
        let Some(target) = step.target.as_ref().filter(|target| !agents.contains(&target.value)) else { continue };
        let message = format!("unknown agent or role `{}` in {}", target.value, subject.name(place));
        let unknown = RULE.at(target.span, message);
        found.push(match nearest::nearest(&target.value, agents.iter().map(String::as_str)) {
            Some(meant) => unknown
                .label(format!("did you mean `{meant}`?"))
                .fix(format!("change it to `{meant}`"), vec![Edit::replace(target.span, meant)]),
            None => unknown
                .note(format!("available: {}", agents.iter().map(String::as_str).collect::<Vec<_>>().join(", ")))
                .help("add the role to `[roles]` in planwright.toml, or use an available one"),
        });
    }
}
