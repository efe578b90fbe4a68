//! PW0305: a contract in a language other than shell, which bash runs anyway.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0305",
    name: "foreign-fence",
    severity: Severity::Warning,
    summary: "a contract's code fence names a language other than shell",
    page: include_str!("../../rules/foreign-fence.md"),
    check,
};

const SHELLS: &[&str] = &["shell", "sh", "bash", "console", "shell-session", "zsh"];

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let Some(language) = step.contract.as_ref().and_then(|contract| contract.language.as_ref()) else { continue };
        if !SHELLS.contains(&language.value.to_lowercase().as_str()) {
            let message = format!("the contract of {} is a `{}` block, not shell", subject.name(place), language.value);
            found.push(
                RULE.at(language.span, message)
                    .label("bash runs it anyway")
                    .help("change the fence to `shell`, or call the interpreter: `python3 - <<'EOF'`"),
            );
        }
    }
}
