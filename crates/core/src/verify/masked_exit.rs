//! PW0310: a contract that only planwright's strict shell keeps honest.

use super::{Diagnostic, Rule, Subject};
use crate::diagnostic::Severity;
use crate::shell::Outcome;

pub(super) const RULE: Rule = Rule {
    code: "PW0310",
    name: "masked-exit",
    severity: Severity::Warning,
    summary: "a contract hides the exit code of the command that matters",
    page: include_str!("../../rules/masked-exit.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts().filter(|contract| contract.script.fault.is_none()) {
        if let Outcome::Masked { span, why } = &contract.script.outcome {
            let message = format!("the contract of {} hides whether it failed", subject.name(contract.place));
            found.push(
                RULE.at(contract.command.locate(*span), message)
                    .label(why.clone())
                    .note("planwright runs contracts with `bash -e -o pipefail`, which notices; a plain shell does not")
                    .help("let the command that decides come last, and send its output to a file if it is long"),
            );
        }
    }
}
