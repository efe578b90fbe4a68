//! PW0119: the name of a field that is not in bold, so that it is only text.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::draft::ParseIssue;
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Edit;

pub(super) const RULE: Rule = Rule {
    code: "PW0119",
    name: "plain-field",
    severity: Severity::Error,
    summary: "the name of a field is not in bold",
    page: include_str!("../../rules/plain-field.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::PlainField { label } = &oddity.value else { continue };
        let name = subject.source.slice(oddity.span);
        found.push(
            RULE.at(oddity.span, format!("`{name}` is text, not a field"))
                .label(format!("expected `{label}`"))
                .fix(format!("change it to `{label}`"), vec![Edit::replace(oddity.span, label.as_str())]),
        );
    }
}
