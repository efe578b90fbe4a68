//! PW0114: text in a step that reaches nobody.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0114",
    name: "unread-text",
    severity: Severity::Warning,
    summary: "text in a step that belongs to no field",
    page: include_str!("../../rules/unread-text.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_native() {
        return;
    }
    // Without a task the text is probably meant to be it: missing-task says so.
    for (place, step) in subject.steps().filter(|(_, step)| step.task.is_some()) {
        for stray in &step.stray {
            found.push(
                RULE.at(stray.span, format!("text in {} belongs to no field", subject.name(place)))
                    .label("no agent will read this")
                    .help("move it below `**task:**`, or to a section of its own"),
            );
        }
    }
}
