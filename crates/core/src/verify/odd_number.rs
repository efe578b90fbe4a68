//! PW0118: a step heading whose number is spelled in an unusual way.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::draft::ParseIssue;
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Edit;

pub(super) const RULE: Rule = Rule {
    code: "PW0118",
    name: "odd-number",
    severity: Severity::Warning,
    summary: "the number of a step is spelled in an unusual way",
    page: include_str!("../../rules/odd-number.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::OddNumber { usual } = &oddity.value else { continue };
        let odd = RULE.at(oddity.span, "unusual step number").label("read as a step");
        found.push(odd.fix(format!("change it to `{usual}`"), vec![Edit::replace(oddity.span, usual.as_str())]));
    }
}
