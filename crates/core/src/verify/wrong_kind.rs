//! PW0124: a key of a plan record with the wrong kind of value.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::record::Fault;
use crate::plan::draft::Oddity;

pub(super) const RULE: Rule = Rule {
    code: "PW0124",
    name: "wrong-kind",
    severity: Severity::Error,
    summary: "a key has the wrong kind of value: list, map or text",
    page: include_str!("../../rules/wrong-kind.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let Oddity::Record(fault) = &oddity.value else { continue };
        match fault {
            Fault::WrongKind { what, expected } => {
                found.push(RULE.at(oddity.span, format!("{what} should be {expected}")).label("ignored"));
            }
            Fault::LoneItem(key) => {
                let lone = RULE.at(oddity.span, format!("`{key}` should be a list"));
                found.push(Diagnostic { severity: Severity::Warning, ..lone.label("read as a list of one") });
            }
            Fault::Unread(_)
            | Fault::Forbidden(_)
            | Fault::DuplicateKey { .. }
            | Fault::Index { .. }
            | Fault::Complexity(_)
            | Fault::UnexplainedSkip => {}
        }
    }
}
