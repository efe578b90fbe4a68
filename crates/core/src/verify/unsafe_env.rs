//! PW0505: an environment variable that would let an agent decide what a contract runs.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0505",
    name: "unsafe-env",
    severity: Severity::Error,
    summary: "`env` sets a variable that changes which programs a contract runs",
    page: include_str!("../../rules/unsafe-env.md"),
    check,
};

/// Variables that bash, the loader or the search for programs obey before a contract's first word is read.
const OBEYED: &[&str] = &["PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "GLOBIGNORE"];
const OBEYED_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH_FUNC_", "PLANWRIGHT_"];

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        for pair in &step.env {
            let name = pair.value.split('=').next().unwrap_or_default().trim();
            if is_obeyed(name) {
                found.push(
                    RULE.at(pair.span, format!("{} sets `{name}`, which decides what its contract runs", subject.name(place)))
                        .label("an agent could put its own programs there")
                        .help("leave it out; call programs by their path in the contract if you must"),
                );
            }
        }
    }
}

/// Whether a variable decides what is run, rather than being data for what is run.
pub fn is_obeyed(name: &str) -> bool {
    OBEYED.contains(&name) || OBEYED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
