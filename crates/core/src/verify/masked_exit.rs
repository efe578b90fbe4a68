//! PW0310: a contract that only planwright's strict shell keeps honest.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::shell::Outcome;

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
        let message = format!("the contract of {} hides whether it failed", subject.name(contract.place));
        let at = |span| RULE.at(contract.command.locate(span), message.clone());
        match (&contract.script.outcome, contract.script.weakened) {
            (Outcome::Open | Outcome::Masked { .. }, Some(span)) => found.push(
                at(span)
                    .label("from here on a failing command goes unnoticed")
                    .help("leave this out; where a command may fail, say so there: `command || status=$?`"),
            ),
            (Outcome::Masked { span, why }, None) => found.push(
                at(*span)
                    .label(why.clone())
                    .note("planwright runs contracts with `bash -e -o pipefail`, which notices; a plain shell does not")
                    .help("let the command that decides come last, and send its output to a file if it is long"),
            ),
            // Of what is fixed, cannot-fail has said worse already.
            (Outcome::Fixed { .. }, _) | (Outcome::Open, None) => {}
        }
    }
}
