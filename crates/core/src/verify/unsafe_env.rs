//! PW0505: an environment variable that would let an agent choose what a contract runs.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0505",
    name: "unsafe-env",
    severity: Severity::Error,
    summary: "`env` sets a variable that changes which programs a contract runs",
    page: include_str!("../../rules/unsafe-env.md"),
    check,
};

/// Variables that bash, the loader or the program lookup obey before the contract's first command.
const OBEYED: &[&str] = &["PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "GLOBIGNORE"];
const OBEYED_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH_FUNC_", "PLANWRIGHT_"];

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        for pair in &step.env {
            let name = pair.value.split('=').next().unwrap_or_default().trim();
            if is_obeyed(name) {
                found.push(
                    RULE.at(pair.span, format!("{} sets `{name}`, which decides what its contract runs", subject.name(place)))
                        .label("an agent could place its own programs there")
                        .help("remove it; call programs by path in the contract"),
                );
            }
        }
    }
}

/// Whether a variable decides which programs run, rather than being data for them.
pub fn is_obeyed(name: &str) -> bool {
    OBEYED.contains(&name) || OBEYED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
