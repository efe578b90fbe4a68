//! PW0111: a field that occurs twice in a step. Only the first one is used.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;

pub(super) const RULE: Rule = Rule {
    code: "PW0111",
    name: "duplicate-field",
    severity: Severity::Error,
    summary: "a step has the same field twice",
    page: include_str!("../../rules/duplicate-field.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if let ParseIssue::DuplicateField { name, first } = &oddity.value {
            found.push(
                RULE.at(oddity.span, format!("duplicate field `{name}`"))
                    .label("ignored")
                    .also(*first, "first defined here")
                    .help("remove one, or start another step with a heading"),
            );
        }
    }
}
