//! PW0201: a step that needs an unknown step.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Edit;
use crate::syntax::nearest;

pub(super) const RULE: Rule = Rule {
    code: "PW0201",
    name: "unknown-need",
    severity: Severity::Error,
    summary: "`needs` names an unknown step",
    page: include_str!("../../rules/unknown-need.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        for need in step.needs.iter().flatten().filter(|need| !is_known(subject, &need.value)) {
            let unknown = RULE.at(need.span, format!("{} needs unknown step `{}`", subject.name(place), need.value));
            let others = subject.ids.iter().map(String::as_str).filter(|id| *id != subject.ids[place]);
            // In a directory plan only written ids count; a number or a derived id is still a good suggestion.
            let meant = subject.find(&need.value).filter(|&meant| meant != place).map(|meant| subject.ids[meant].as_str());
            found.push(match meant.or_else(|| nearest::nearest(&need.value, others)) {
                Some(meant) => unknown
                    .label(format!("did you mean `{meant}`?"))
                    .fix(format!("change it to `{meant}`"), vec![Edit::replace(need.span, meant)]),
                None => unknown.help(format!("expected one of {}", listed(subject.ids))),
            });
        }
    }
}

/// Whether a name refers to a step. Tasks of a directory plan are named by their written ids only.
fn is_known(subject: &VerifySubject<'_>, name: &str) -> bool {
    match subject.is_directory() {
        true => subject.steps().any(|(_, step)| step.id.as_ref().is_some_and(|id| id.value == name)),
        false => subject.find(name).is_some(),
    }
}

/// The ids, up to what fits on a line.
fn listed(ids: &[String]) -> String {
    const SHOWN_MAX: usize = 8;
    let shown = ids.iter().take(SHOWN_MAX).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(SHOWN_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
