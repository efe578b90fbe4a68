//! PW0404: an invalid failure policy.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::verified::OnFail;

pub(super) const RULE: Rule = Rule {
    code: "PW0404",
    name: "unreadable-on-fail",
    severity: Severity::Error,
    summary: "`on_fail` is invalid",
    page: include_str!("../../rules/unreadable-on-fail.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let Some(text) = step.on_fail.as_ref().filter(|text| OnFail::read(&text.value).is_none()) else { continue };
        found.push(
            RULE.at(text.span, format!("invalid `on_fail` in {}: `{}`", subject.name(place), text.value))
                .label("expected retry(N), escalate or abort")
                .help("write `retry(2), then escalate`, `retry(2), then abort`, `retry(2)`, `escalate` or `abort`"),
        );
    }
}
