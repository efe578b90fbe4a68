//! PW0308: an expected exit code that no program can return, or that means the command could not run.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0308",
    name: "bad-exit-code",
    severity: Severity::Error,
    summary: "the expected exit code is not a number from 0 to 255",
    page: include_str!("../../rules/bad-exit-code.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let Some(code) = step.contract.as_ref().and_then(|contract| contract.expect.as_ref()) else { continue };
        let name = subject.name(place);
        let meaning = match code.value.parse::<u8>() {
            Ok(126 | 127) => "bash returns this when it cannot run a command",
            Ok(128..) => "bash returns this when a command was killed",
            Ok(_) => continue,
            Err(_) => {
                let message = format!("invalid exit code `{}` in {name}", code.value);
                found.push(RULE.at(code.span, message).label("expected a number from 0 to 255"));
                continue;
            }
        };
        let mut doubtful = RULE
            .at(code.span, format!("{name} expects exit code {}", code.value))
            .label(meaning)
            .help("expect a code that only finished work returns");
        doubtful.severity = Severity::Warning;
        found.push(doubtful);
    }
}
