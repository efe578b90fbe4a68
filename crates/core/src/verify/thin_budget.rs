//! PW0401: a budget that is too small for the number of steps.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::budget::Budget;
use crate::syntax::count::counted;
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0401",
    name: "thin-budget",
    severity: Severity::Warning,
    summary: "the budget is too small for the number of steps",
    page: include_str!("../../rules/thin-budget.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let Some(text) = &subject.draft.budget else { return };
    let needs_model = |target: &str| !["shell", "human", "command"].contains(&target);
    let steps = subject.steps().filter(|(_, step)| step.target.as_ref().is_none_or(|target| needs_model(&target.value)));
    let steps_count = steps.count();
    let count = steps_count as u64;
    if count == 0 {
        return;
    }
    let budget = Budget::read(&text.value);
    let limits = subject.limits;
    let checks = [
        (budget.tokens, limits.tokens_per_step_min, Unit::Tokens),
        (budget.micro_dollars, limits.micro_dollars_per_step_min, Unit::MicroDollars),
        (budget.seconds, limits.seconds_per_step_min, Unit::Seconds),
    ];
    for (amount, least, unit) in checks {
        let Some(amount) = amount.filter(|&amount| amount < least * count) else { continue };
        found.push(
            RULE.at(text.span, format!("budget of {} is low for {}", unit.spelled(amount), counted(steps_count, "step", "steps")))
                .label(format!("less than {} per step", unit.spelled(least)))
                .help(format!("set at least {}, or use fewer steps", unit.spelled(least * count))),
        );
    }
}

#[derive(Clone, Copy)]
enum Unit {
    Tokens,
    MicroDollars,
    Seconds,
}

impl Unit {
    fn spelled(self, amount: u64) -> String {
        match self {
            Self::Tokens => format!("{amount} tokens"),
            Self::MicroDollars => {
                let cents = amount / 10_000;
                format!("${}.{:02}", cents / 100, cents % 100)
            }
            Self::Seconds => format!("{amount} seconds"),
        }
    }
}
