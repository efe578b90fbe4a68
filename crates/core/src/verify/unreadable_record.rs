//! PW0120: a plan record outside the YAML or JSON subset that planwright accepts.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::{ParseIssue, RecordFault};

pub(super) const RULE: Rule = Rule {
    code: "PW0120",
    name: "unreadable-record",
    severity: Severity::Error,
    summary: "a plan in YAML or JSON is invalid",
    page: include_str!("../../rules/unreadable-record.md"),
    check,
};

/// Whether parsing stopped early, so that something that seems missing may be in the rest of the file.
pub(super) fn is_unread(subject: &VerifySubject<'_>) -> bool {
    let is_end = |oddity: &ParseIssue| matches!(oddity, ParseIssue::Record(RecordFault::Unread(_)));
    subject.draft.oddities.0.iter().any(|oddity| is_end(&oddity.value))
}

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::Record(fault) = &oddity.value else { continue };
        match fault {
            RecordFault::Unread(why) => {
                found.push(RULE.at(oddity.span, why).label("parsing stopped here"));
            }
            RecordFault::Forbidden(why) => {
                found.push(RULE.at(oddity.span, why).help("write the value out in full"));
            }
            RecordFault::DuplicateKey { key, first } => found.push(
                RULE.at(oddity.span, format!("duplicate key `{key}`"))
                    .label("duplicate")
                    .also(*first, "first defined here")
                    .help("remove one"),
            ),
            RecordFault::WrongKind { .. }
            | RecordFault::LoneItem(_)
            | RecordFault::Index { .. }
            | RecordFault::Complexity(_)
            | RecordFault::UnexplainedSkip => {}
        }
    }
}
