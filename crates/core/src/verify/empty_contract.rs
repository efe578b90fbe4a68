//! PW0303: a contract with nothing to run, which bash would call a success.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::{ContractDraft, Field};

pub(super) const RULE: Rule = Rule {
    code: "PW0303",
    name: "empty-contract",
    severity: Severity::Error,
    summary: "a contract has no command",
    page: include_str!("../../rules/empty-contract.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let (Some(contract), Some(field)) = (&step.contract, step.field(Field::Contract)) else { continue };
        if !contract.is_manual && is_empty(contract) {
            found.push(
                RULE.at(field.name.span, format!("the contract of {} has nothing to run", subject.name(place)))
                    .label("a command is expected below this")
                    .help("add a command that exits 0 only when the step is done"),
            );
        }
    }
}

/// Whether there is nothing but blanks and comments.
pub(super) fn is_empty(contract: &ContractDraft) -> bool {
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    contract.command.as_ref().is_none_or(|command| command.value.lines().all(is_comment))
}
