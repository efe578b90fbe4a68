//! PW0403: more retries than the limit allows.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::verified::OnFail;

pub(super) const RULE: Rule = Rule {
    code: "PW0403",
    name: "too-many-retries",
    severity: Severity::Error,
    summary: "a step asks for more retries than the limit",
    page: include_str!("../../rules/too-many-retries.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let most = subject.limits.retries_max;
    for (place, step) in subject.steps() {
        let Some(text) = &step.on_fail else { continue };
        let retries = OnFail::read(&text.value).map(|on_fail| on_fail.retries);
        if let Some(retries) = retries.filter(|&retries| retries > most) {
            found.push(
                RULE.at(text.span, format!("{} asks for {retries} retries", subject.name(place)))
                    .label(format!("the limit is {most}"))
                    .help("lower the number; a step that fails this often needs you or another plan"),
            );
        }
    }
}
