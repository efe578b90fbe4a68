//! PW0405: a limit without a valid number.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::budget;
use crate::plan::budget::Budget;
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0405",
    name: "unreadable-limit",
    severity: Severity::Error,
    summary: "a timeout or budget is invalid",
    page: include_str!("../../rules/unreadable-limit.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if let Some(text) = subject.draft.budget.as_ref().filter(|text| Budget::read(&text.value).is_unlimited()) {
        let mut unread = RULE
            .at(text.span, "invalid budget: no amount found")
            .label("sets no limit")
            .help("write amounts with units: `200k tokens, $1.50, 20 minutes`");
        unread.severity = Severity::Warning;
        found.push(unread);
    }
    for (place, step) in subject.steps() {
        let unread = |text: &str| budget::seconds(text).is_none_or(|seconds| seconds == 0);
        for (name, limit) in [("timeout", &step.timeout), ("contract_timeout", &step.contract_timeout)] {
            let Some(text) = limit.as_ref().filter(|text| unread(&text.value)) else { continue };
            let message = format!("invalid `{name}` in {}: `{}`", subject.name(place), text.value);
            found.push(
                RULE.at(text.span, message)
                    .label("not a duration")
                    .help("write a number and a unit: `90 s`, `10 min`, `1 hour`"),
            );
        }
    }
}
