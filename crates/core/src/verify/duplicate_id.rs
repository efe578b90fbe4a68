//! PW0503: an id that two steps share.

use std::collections::BTreeMap;

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Span;

pub(super) const RULE: Rule = Rule {
    code: "PW0503",
    name: "duplicate-id",
    severity: Severity::Error,
    summary: "two steps have the same id",
    page: include_str!("../../rules/duplicate-id.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let mut first: BTreeMap<&str, Span> = BTreeMap::new();
    for (_, step) in subject.steps() {
        let Some(id) = &step.id else { continue };
        match first.get(id.value.as_str()) {
            Some(&earlier) => found.push(
                RULE.at(id.span, format!("duplicate step id `{}`", id.value))
                    .label("duplicate")
                    .also(earlier, "first defined here")
                    .help("give each step a unique id"),
            ),
            None => {
                first.insert(&id.value, id.span);
            }
        }
    }
}
