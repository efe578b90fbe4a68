//! PW0306: a contract with a fixed exit code, which proves nothing about the work.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::shell::ExitOutcome;

pub(super) const RULE: Rule = Rule {
    code: "PW0306",
    name: "cannot-fail",
    severity: Severity::Error,
    summary: "a contract exits the same way whatever the work is",
    page: include_str!("../../rules/cannot-fail.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts() {
        let ExitOutcome::Fixed { code, span, why } = &contract.script.outcome else { continue };
        let draft = subject.draft.steps[contract.place].contract.as_ref();
        if contract.script.fault.is_some() || draft.is_none_or(super::empty_contract::is_empty) {
            continue;
        }
        let expect = draft.and_then(|draft| draft.expect.as_ref()).map_or(Some(0), |code| code.value.parse().ok());
        let name = subject.name(contract.place);
        let message = match expect == Some(*code) {
            true => format!("the contract of {name} can't fail"),
            false => format!("the contract of {name} can't pass: it always exits {code}"),
        };
        found.push(
            RULE.at(contract.command.locate(*span), message)
                .label(why.clone())
                .help("end with a command that succeeds only when the step is done"),
        );
    }
}
