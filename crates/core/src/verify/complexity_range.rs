//! PW0122: a complexity outside 1 to 10.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::{ParseIssue, RecordFault};

pub(super) const RULE: Rule = Rule {
    code: "PW0122",
    name: "complexity-range",
    severity: Severity::Error,
    summary: "the complexity of a plan is not a number from 1 to 10",
    page: include_str!("../../rules/complexity-range.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if let ParseIssue::Record(RecordFault::Complexity(text)) = &oddity.value {
            found.push(
                RULE.at(oddity.span, format!("invalid complexity `{text}`: expected 1 to 10"))
                    .help("write a number from 1 (trivial) to 10 (very hard), or remove it"),
            );
        }
    }
}
