//! PW0302: a step without a contract, which a person must confirm.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::DraftField;

pub(super) const RULE: Rule = Rule {
    code: "PW0302",
    name: "manual-step",
    severity: Severity::Warning,
    summary: "a step has no contract, so a person must confirm it",
    page: include_str!("../../rules/manual-step.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_native() {
        return check_all(subject, found);
    }
    for (place, step) in subject.steps().filter(|(_, step)| step.field(DraftField::Contract).is_none()) {
        found.push(
            RULE.at(step.heading.0, format!("{} has no contract", subject.name(place)))
                .label("no way to verify this step; planwright will ask you")
                .help(format!(
                    "add a command that exits 0 only when the step is done, or write `{} manual` to confirm it yourself",
                    subject.label(DraftField::Contract)
                )),
        );
    }
}

/// Only the native dialect writes a contract for every step. In the others a plan usually has none at all, so one
/// diagnostic covers all steps.
fn check_all(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    // A step that the author marked as manual has a contract here.
    let steps = &subject.draft.steps;
    let count = steps.iter().filter(|step| step.contract.is_none()).count();
    let Some(first) = steps.iter().position(|step| step.contract.is_none()) else { return };
    let what = match count {
        1 => format!("{} has no contract", subject.name(first)),
        _ => format!("{count} of {} steps have no contract, starting with {}", steps.len(), subject.name(first)),
    };
    found.push(
        RULE.at(steps[first].heading.0, what)
            .label("no way to verify this step; planwright will ask you")
            .help("run `planwright verify --suggest-contracts` for proposals"),
    );
}
