//! PW0120: a plan record that is not the YAML or JSON we take.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::record::Fault;
use crate::plan::draft::Oddity;

pub(super) const RULE: Rule = Rule {
    code: "PW0120",
    name: "unreadable-record",
    severity: Severity::Error,
    summary: "a plan in YAML or JSON can't be read",
    page: include_str!("../../rules/unreadable-record.md"),
    check,
};

/// Whether the end of the plan was not read, so that what seems to be missing may well be there.
pub(super) fn is_unread(subject: &Subject<'_>) -> bool {
    let is_end = |oddity: &Oddity| matches!(oddity, Oddity::Record(Fault::Unread(_)));
    subject.draft.oddities.0.iter().any(|oddity| is_end(&oddity.value))
}

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let Oddity::Record(fault) = &oddity.value else { continue };
        match fault {
            Fault::Unread(why) => {
                found.push(RULE.at(oddity.span, why).label("nothing behind this was read"));
            }
            Fault::Forbidden(why) => {
                found.push(RULE.at(oddity.span, why).help("write out what it stands for"));
            }
            Fault::DuplicateKey { key, first } => found.push(
                RULE.at(oddity.span, format!("the key `{key}` stands twice"))
                    .label("again here")
                    .also(*first, "first here")
                    .help("keep one of them"),
            ),
            Fault::WrongKind { .. }
            | Fault::LoneItem(_)
            | Fault::Index { .. }
            | Fault::Complexity(_)
            | Fault::UnexplainedSkip => {}
        }
    }
}
