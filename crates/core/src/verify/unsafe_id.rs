//! PW0504: an id that could be mistaken for a path, an option or a number.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::edit::PlanEdit;
use crate::syntax::diagnostic::Severity;
use crate::dialect::directory;
use crate::plan::verified;

pub(super) const RULE: Rule = Rule {
    code: "PW0504",
    name: "unsafe-id",
    severity: Severity::Error,
    summary: "an id has characters other than lowercase letters, digits and single dashes",
    page: include_str!("../../rules/unsafe-id.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        // The directory dialect allows an id of digits only: its tasks are never named by number.
        let is_safe = |id: &str| match subject.is_directory() {
            true => directory::is_id(id) && id.len() <= verified::ID_CHARS_MAX,
            false => is_safe(id),
        };
        let Some(id) = step.id.as_ref().filter(|id| !is_safe(&id.value)) else { continue };
        let bad = RULE
            .at(id.span, format!("invalid id `{}`", id.value))
            .label("use lowercase letters, digits and single dashes, 64 at most");
        let slug = verified::slug(&id.value);
        let is_free = is_safe(&slug) && !subject.ids.contains(&slug);
        let rename = || subject.repair(&PlanEdit::Rename { step: place, id: slug.clone() });
        found.push(match is_free.then(rename).flatten() {
            Some(edits) => bad.fix(format!("change it to `{slug}`"), edits),
            None => bad.help("name the step after what it does: `write-the-test`"),
        });
    }
}

/// Whether an id is its own slug and has a letter: an id of digits only would be a step number.
fn is_safe(id: &str) -> bool {
    verified::slug(id) == id && id.bytes().any(|byte| byte.is_ascii_lowercase())
}
