//! PW0402: a step that could run in parallel, but doesn't declare which files it changes.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::DraftField;

pub(super) const RULE: Rule = Rule {
    code: "PW0402",
    name: "undeclared-touches",
    severity: Severity::Warning,
    summary: "a step that could run in parallel has no `touches`",
    page: include_str!("../../rules/undeclared-touches.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let can_declare = subject.source.dialect().fields.iter().any(|(field, _)| *field == DraftField::Touches);
    if !can_declare || subject.is_sequential() {
        return;
    }
    let count = subject.draft.steps.len();
    for (place, step) in subject.steps().filter(|(_, step)| step.touches.is_none()) {
        let beside = (0..count).find(|&other| other != place && !subject.reach.are_ordered(place, other));
        if let Some(other) = beside {
            found.push(
                RULE.at(step.heading.0, format!("{} has no `touches`, so it runs alone", subject.name(place)))
                    .label(format!("could run in parallel with {}", subject.name(other)))
                    .help("add `**touches:**` with the files it may change"),
            );
        }
    }
}
