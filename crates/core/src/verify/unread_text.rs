//! PW0114: text in a step that no agent receives.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0114",
    name: "unread-text",
    severity: Severity::Warning,
    summary: "text in a step is outside any field",
    page: include_str!("../../rules/unread-text.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_native() {
        return;
    }
    // Without a task, the text is probably meant to be the task, which missing-task reports.
    for (place, step) in subject.steps().filter(|(_, step)| step.task.is_some()) {
        for stray in step.stray.iter().filter(|stray| !subject.has_plain_field(stray.span)) {
            found.push(
                RULE.at(stray.span, format!("text in {} is outside any field", subject.name(place)))
                    .label("agents won't see this")
                    .help("move it below `**task:**`, or into a separate section"),
            );
        }
    }
}
