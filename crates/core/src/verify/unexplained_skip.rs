//! PW0123: a skipped step without a reason.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::{ParseIssue, RecordFault};

pub(super) const RULE: Rule = Rule {
    code: "PW0123",
    name: "unexplained-skip",
    severity: Severity::Warning,
    summary: "a skipped step has no reason",
    page: include_str!("../../rules/unexplained-skip.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if oddity.value == ParseIssue::Record(RecordFault::UnexplainedSkip) {
            found.push(
                RULE.at(oddity.span, "skipped step has no reason")
                    .help("set the step's `error` to the reason"),
            );
        }
    }
}
