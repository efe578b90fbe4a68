//! PW0152: two tasks that want the same place.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::Oddity;

pub(super) const RULE: Rule = Rule {
    code: "PW0152",
    name: "duplicate-index",
    severity: Severity::Error,
    summary: "two files in `tasks/` begin with the same number",
    page: include_str!("../../rules/duplicate-index.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let Oddity::SameIndex { index, first } = &oddity.value else { continue };
        let path = |at: usize| subject.source.part_at(at).path.as_str();
        let (own, earlier) = (path(oddity.span.start), path(first.start));
        found.push(
            RULE.at(oddity.span, format!("`{own}` and `{earlier}` have the same number {index}"))
                .label(format!("the number says which of them comes first, and `{index}` is taken"))
                .also(*first, "the first one")
                .help("rename one of them so that each task has a number of its own"),
        );
    }
}
