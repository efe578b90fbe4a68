//! PW0502: a step without a target.

use super::lower::DEFAULT_TARGET;
use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0502",
    name: "missing-target",
    severity: Severity::Warning,
    summary: "a step has no target",
    page: include_str!("../../rules/missing-target.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_native() {
        return;
    }
    for (place, step) in subject.steps().filter(|(_, step)| step.target.is_none()) {
        found.push(
            RULE.at(step.heading.0, format!("{} has no target", subject.name(place)))
                .label(format!("defaults to `{DEFAULT_TARGET}`"))
                .help("add `**target:**` with an agent or role"),
        );
    }
}
