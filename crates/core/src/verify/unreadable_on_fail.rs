//! PW0404: a policy for failure that can't be read.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::plan::verified::OnFail;

pub(super) const RULE: Rule = Rule {
    code: "PW0404",
    name: "unreadable-on-fail",
    severity: Severity::Error,
    summary: "`on_fail` can't be read",
    page: include_str!("../../rules/unreadable-on-fail.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let Some(text) = step.on_fail.as_ref().filter(|text| OnFail::read(&text.value).is_none()) else { continue };
        found.push(
            RULE.at(text.span, format!("what {} does on failure can't be read: `{}`", subject.name(place), text.value))
                .label("not a policy")
                .help("write `retry(2), then escalate`, `retry(2), then abort`, `retry(2)`, `escalate` or `abort`"),
        );
    }
}
