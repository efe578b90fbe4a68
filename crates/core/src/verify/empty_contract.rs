//! PW0303: a contract without a command. Bash exits 0 for an empty script, so it would always pass.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::{ContractDraft, DraftField};

pub(super) const RULE: Rule = Rule {
    code: "PW0303",
    name: "empty-contract",
    severity: Severity::Error,
    summary: "a contract has no command",
    page: include_str!("../../rules/empty-contract.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let (Some(contract), Some(field)) = (&step.contract, step.field(DraftField::Contract)) else { continue };
        if !contract.is_manual && is_empty(contract) {
            found.push(
                RULE.at(field.name.span, format!("the contract of {} is empty", subject.name(place)))
                    .label("expected a command")
                    .help("add a command that exits 0 only when the step is done"),
            );
        }
    }
}

/// Whether the contract has only blank lines and comments.
pub(super) fn is_empty(contract: &ContractDraft) -> bool {
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    contract.command.as_ref().is_none_or(|command| command.value.lines().all(is_comment))
}
