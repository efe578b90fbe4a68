//! PW0310: a contract that fails correctly only because planwright runs it in strict mode.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::shell::ExitOutcome;

pub(super) const RULE: Rule = Rule {
    code: "PW0310",
    name: "masked-exit",
    severity: Severity::Warning,
    summary: "a contract hides the exit code of the command that matters",
    page: include_str!("../../rules/masked-exit.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts().filter(|contract| contract.script.fault.is_none()) {
        let message = format!("the contract of {} hides a failing exit code", subject.name(contract.place));
        let at = |span| RULE.at(contract.command.locate(span), message.clone());
        match (&contract.script.outcome, contract.script.weakened) {
            (ExitOutcome::Open | ExitOutcome::Masked { .. }, Some(span)) => found.push(
                at(span)
                    .label("failures after this are ignored")
                    .help("remove this; where a command may fail, write `command || status=$?`"),
            ),
            (ExitOutcome::Masked { span, why }, None) => found.push(
                at(*span)
                    .label(why.clone())
                    .note("planwright runs contracts with `bash -e -o pipefail`, which fails here; a plain shell passes")
                    .help("put the deciding command last; redirect long output to a file"),
            ),
            // cannot-fail reports a fixed exit code.
            (ExitOutcome::Fixed { .. }, _) | (ExitOutcome::Open, None) => {}
        }
    }
}
