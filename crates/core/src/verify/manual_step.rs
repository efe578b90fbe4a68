//! PW0302: a step that only a person can call done.

use super::{Diagnostic, Rule, Subject};
use crate::diagnostic::Severity;
use crate::draft::Field;

pub(super) const RULE: Rule = Rule {
    code: "PW0302",
    name: "manual-step",
    severity: Severity::Warning,
    summary: "a step has no contract: a person must confirm it",
    page: include_str!("../../rules/manual-step.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps().filter(|(_, step)| step.field(Field::Contract).is_none()) {
        found.push(
            RULE.at(step.heading.0, format!("{} has no contract", subject.name(place)))
                .label("nothing can tell when this is done: a person will be asked")
                .help(format!(
                    "add a command that exits 0 only when it is done, or write `{} manual` if a person shall decide",
                    subject.label(Field::Contract)
                )),
        );
    }
}
