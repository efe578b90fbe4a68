//! PW0302: a step that only a person can call done.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::Field;

pub(super) const RULE: Rule = Rule {
    code: "PW0302",
    name: "manual-step",
    severity: Severity::Warning,
    summary: "a step has no contract: a person must confirm it",
    page: include_str!("../../rules/manual-step.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_native() {
        return check_all(subject, found);
    }
    for (place, step) in subject.steps().filter(|(_, step)| step.field(Field::Contract).is_none()) {
        found.push(
            RULE.at(step.heading.0, format!("{} has no contract", subject.name(place)))
                .label("nothing can tell when this is done: a person will be asked")
                .help(format!(
                    "add a command that exits 0 only when it is done, or write `{} manual` if a person shall decide",
                    subject.label(Field::Contract)
                )),
        );
    }
}

/// Documents other than A know no contracts: of a plan that has none, one complaint is enough.
fn check_all(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // Where the author says what to look at, a person is meant.
    let steps = &subject.draft.steps;
    let count = steps.iter().filter(|step| step.contract.is_none()).count();
    let Some(first) = steps.iter().position(|step| step.contract.is_none()) else { return };
    let what = match count {
        1 => format!("{} has no contract", subject.name(first)),
        _ => format!("{count} of {} steps have no contract, from {} on", steps.len(), subject.name(first)),
    };
    found.push(
        RULE.at(steps[first].heading.0, what)
            .label("nothing can tell when this is done: a person will be asked")
            .help("`planwright verify --suggest-contracts` proposes commands that could decide"),
    );
}
