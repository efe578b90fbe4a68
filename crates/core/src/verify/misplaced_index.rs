//! PW0121: a step of a plan record whose index is not its position.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::edit::PlanEdit;
use crate::syntax::diagnostic::{Fix, Severity};
use crate::plan::draft::{ParseIssue, RecordFault};

pub(super) const RULE: Rule = Rule {
    code: "PW0121",
    name: "misplaced-index",
    severity: Severity::Error,
    summary: "the `index` of a step is not its position, counted from 0",
    page: include_str!("../../rules/misplaced-index.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let first = found.len();
    for oddity in &subject.draft.oddities.0 {
        if let ParseIssue::Record(RecordFault::Index { expected }) = &oddity.value {
            let written = subject.source.slice(oddity.span);
            found.push(
                RULE.at(oddity.span, format!("expected index {expected}, found `{written}`"))
                    .label(format!("expected {expected}"))
                    .help("number the steps from 0, in list order"),
            );
        }
    }
    // One fix renumbers all steps, so only the first diagnostic offers it.
    if let Some(diagnostic) = found.get_mut(first)
        && let Some(edits) = subject.repair(&PlanEdit::Renumber)
    {
        diagnostic.fix = Some(Fix { title: "renumber from 0".to_owned(), edits });
    }
}
