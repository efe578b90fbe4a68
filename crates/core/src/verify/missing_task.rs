//! PW0108: a step without instructions for its agent.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::DraftField;
use crate::syntax::source::Edit;

pub(super) const RULE: Rule = Rule {
    code: "PW0108",
    name: "missing-task",
    severity: Severity::Error,
    summary: "a step has no task",
    page: include_str!("../../rules/missing-task.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps().filter(|(_, step)| step.task.is_none()) {
        // The text below the heading is fields without stars: as a task it would hide a contract.
        if subject.has_plain_field(step.whole.0) {
            continue;
        }
        let missing = RULE
            .at(step.heading.0, format!("{} has no task", subject.name(place)))
            .label("the agent has no instructions");
        if subject.is_directory() {
            found.push(missing.help("add instructions for the agent below the frontmatter"));
            continue;
        }
        let has_label = step.field(DraftField::Task).is_some();
        found.push(match step.stray.first().filter(|_| !has_label) {
            Some(prose) => {
                let newline = subject.source.line_ending();
                let start = subject.source.line_at(prose.span.start).start;
                missing.also(prose.span, "not part of any field").fix(
                    "make the text below the heading the task",
                    vec![Edit::insert(start, format!("**task:**{newline}"))],
                )
            }
            None => missing.help(format!("add `{}` with instructions for the agent", subject.label(DraftField::Task))),
        });
    }
}
