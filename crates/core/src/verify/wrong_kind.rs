//! PW0124: a key of a plan record with the wrong kind of value.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::{ParseIssue, RecordFault};

pub(super) const RULE: Rule = Rule {
    code: "PW0124",
    name: "wrong-kind",
    severity: Severity::Error,
    summary: "a key has the wrong kind of value: list, map or text",
    page: include_str!("../../rules/wrong-kind.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::Record(fault) = &oddity.value else { continue };
        match fault {
            RecordFault::WrongKind { what, expected } => {
                found.push(RULE.at(oddity.span, format!("{what} should be {expected}")).label("ignored"));
            }
            RecordFault::LoneItem(key) => {
                let lone = RULE.at(oddity.span, format!("`{key}` should be a list"));
                found.push(Diagnostic { severity: Severity::Warning, ..lone.label("read as a list of one") });
            }
            RecordFault::Unread(_)
            | RecordFault::Forbidden(_)
            | RecordFault::DuplicateKey { .. }
            | RecordFault::Index { .. }
            | RecordFault::Complexity(_)
            | RecordFault::UnexplainedSkip => {}
        }
    }
}
