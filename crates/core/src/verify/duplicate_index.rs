//! PW0152: two task files with the same number.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;

pub(super) const RULE: Rule = Rule {
    code: "PW0152",
    name: "duplicate-index",
    severity: Severity::Error,
    summary: "two files in `tasks/` start with the same number",
    page: include_str!("../../rules/duplicate-index.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::SameIndex { index, first } = &oddity.value else { continue };
        let path = |at: usize| subject.source.part_at(at).path.as_str();
        let (own, earlier) = (path(oddity.span.start), path(first.start));
        found.push(
            RULE.at(oddity.span, format!("duplicate task number {index}: `{own}`, `{earlier}`"))
                .label(format!("the number sets the order; `{index}` is already in use"))
                .also(*first, "first used here")
                .help("rename one file so that each task has a unique number"),
        );
    }
}
