//! PW0132: a proposal whose version is not a number.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::proposal;

pub(super) const RULE: Rule = Rule {
    code: "PW0132",
    name: "bad-version",
    severity: Severity::Error,
    summary: "the version of a proposal is not a positive whole number",
    page: include_str!("../../rules/bad-version.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !proposal::wrote(subject.source) || proposal::version(subject.source).is_some() {
        return;
    }
    let Some(entry) = subject.draft.frontmatter.entry("version") else { return };
    let (span, said) = match &entry.value {
        Some(value) => (value.span, format!("`{}`", value.value)),
        None => (entry.key.span, "this value".to_owned()),
    };
    found.push(
        RULE.at(span, format!("the version must be a positive whole number, not {said}"))
            .label("needed to detect conflicting writes")
            .help("write the last version number you know of, or 1"),
    );
}
