//! PW0401: a budget that can't last for the steps.

use super::{Diagnostic, Rule, Subject};
use crate::budget::Budget;
use crate::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0401",
    name: "thin-budget",
    severity: Severity::Warning,
    summary: "the budget is too small for the number of steps",
    page: include_str!("../../rules/thin-budget.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let Some(text) = &subject.draft.budget else { return };
    let needs_model = |target: &str| !["shell", "human", "command"].contains(&target);
    let steps = subject.steps().filter(|(_, step)| step.target.as_ref().is_none_or(|target| needs_model(&target.value)));
    let count = steps.count() as u64;
    if count == 0 {
        return;
    }
    let budget = Budget::read(&text.value);
    let limits = subject.limits;
    let dollars = |micro: u64| {
        let cents = micro.div_ceil(10_000);
        format!("${}.{:02}", cents / 100, cents % 100)
    };
    let tokens = |tokens: u64| format!("{tokens} tokens");
    let seconds = |seconds: u64| format!("{seconds} seconds");
    let checks: [(Option<u64>, u64, &dyn Fn(u64) -> String); 3] = [
        (budget.tokens, limits.tokens_per_step_min, &tokens),
        (budget.micro_dollars, limits.micro_dollars_per_step_min, &dollars),
        (budget.seconds, limits.seconds_per_step_min, &seconds),
    ];
    for (amount, least, spelled) in checks {
        let Some(amount) = amount.filter(|&amount| amount < least * count) else { continue };
        found.push(
            RULE.at(text.span, format!("{} is little for {count} steps", spelled(amount)))
                .label(format!("less than {} a step", spelled(least)))
                .help(format!("allow at least {}, or plan fewer steps", spelled(least * count))),
        );
    }
}
