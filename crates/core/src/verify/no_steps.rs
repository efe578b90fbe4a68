//! PW0106: a plan in which nothing is to be done.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Span;

pub(super) const RULE: Rule = Rule {
    code: "PW0106",
    name: "no-steps",
    severity: Severity::Error,
    summary: "the plan has no numbered heading",
    page: include_str!("../../rules/no-steps.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if subject.draft.steps.is_empty() {
        // A folder has its separators in front of the first file.
        let span = Span::at(subject.source.parts()[0].span.start);
        let help = match (subject.is_native(), subject.is_directory()) {
            (true, _) => {
                "a step is a heading like `### 1. Write the test` with the fields task and contract below it"
            }
            (_, true) => "a step is a file like `tasks/01-write-the-test.md`",
            (false, false) => "give the plan a step",
        };
        found.push(RULE.at(span, "the plan has no steps").help(help));
    }
}
