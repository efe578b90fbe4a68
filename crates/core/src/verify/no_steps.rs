//! PW0106: a plan without steps.

use super::{Diagnostic, Rule, VerifySubject};
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

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if subject.draft.steps.is_empty() {
        // The text of a directory plan starts with a file separator, which is not part of any file.
        let span = Span::at(subject.source.parts()[0].span.start);
        let help = match (subject.is_native(), subject.is_directory()) {
            (true, _) => {
                "add a heading such as `### 1. Write the test` with `task` and `contract`"
            }
            (_, true) => "add a file such as `tasks/01-write-the-test.md`",
            (false, false) => "add a step",
        };
        found.push(RULE.at(span, "the plan has no steps").help(help));
    }
}
