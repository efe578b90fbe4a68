//! PW0304: a contract that calls a program which is not installed.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::shell;

pub(super) const RULE: Rule = Rule {
    code: "PW0304",
    name: "missing-program",
    severity: Severity::Error,
    summary: "a contract calls a program that is not on PATH",
    page: include_str!("../../rules/missing-program.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts().filter(|contract| contract.script.fault.is_none()) {
        let mut named: Vec<&str> = Vec::new();
        for call in &contract.script.calls {
            let name = call.name.as_str();
            let is_known = shell::is_builtin(name)
                || contract.script.functions.contains(name)
                || subject.facts.programs.contains(name)
                || (name.contains('/') && is_made(subject, name, contract.place));
            if is_known || named.contains(&name) {
                continue;
            }
            named.push(name);
            let message = format!("the contract of {} calls `{name}`: command not found", subject.name(contract.place));
            found.push(
                RULE.at(contract.command.locate(call.span), message)
                    .label(if name.contains('/') { "no such file" } else { "not on PATH" })
                    .help("install it or correct the name"),
            );
        }
    }
}

/// Whether a program in the workspace exists, or is created by this step or an earlier one.
fn is_made(subject: &VerifySubject<'_>, path: &str, place: usize) -> bool {
    subject.is_there_before(path, place) || subject.makers(path).iter().any(|maker| maker.place == place)
}
