//! PW0116: a file that is not a plan in any known dialect.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::DIALECTS;
use crate::dialect::import;
use crate::plan::draft::{Draft, DraftField, FieldDraft, ParseIssue, StepDraft, UnreadStepReason};
use crate::syntax::source::{Detection, Source, Span, Spanned};

pub(super) const RULE: Rule = Rule {
    code: "PW0116",
    name: "unknown-dialect",
    severity: Severity::Error,
    summary: "the file is not a plan in any known dialect",
    page: include_str!("../../rules/unknown-dialect.md"),
    check,
};

/// A text that is not a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPlan {
    /// The tool whose file it is, with the evidence, if planwright can import it.
    pub foreign: Option<String>,
}

/// Whether a text is no plan: no dialect was detected, and nothing in it has the fields of a native step. With these it is
/// a native plan without frontmatter. Numbered headings alone are in every other document.
pub fn no_plan(source: &Source, draft: &Draft) -> Option<NoPlan> {
    let is_known = |field: &FieldDraft| {
        matches!(field.kind, Some(DraftField::Target | DraftField::Task | DraftField::Contract))
    };
    let is_step = |step: &StepDraft| step.fields.0.iter().any(is_known);
    let is_meant = |issue: &Spanned<ParseIssue>| {
        matches!(
            issue.value,
            ParseIssue::PlainField { .. } | ParseIssue::UnreadStep { why: UnreadStepReason::Fields, .. }
        )
    };
    let has_steps = draft.steps.iter().any(is_step) || draft.oddities.0.iter().any(is_meant);
    (*source.told() == Detection::Nothing && !has_steps).then(|| {
        let foreign = import::detect(source.place(), source.text());
        NoPlan { foreign: foreign.map(|(foreign, because)| format!("{}: {because}", foreign.tool)) }
    })
}

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let source = subject.source;
    let Some(no_plan) = no_plan(source, subject.draft) else { return };
    let mut none = RULE.at(Span::at(source.parts()[0].span.start), "not a plan in any known dialect");
    none.notes = DIALECTS.iter().map(|dialect| format!("{}: {}", dialect.name, dialect.summary)).collect();
    let help = match no_plan.foreign {
        Some(foreign) => format!("this is {foreign}; run `planwright import {}` to make it a plan", source.name()),
        None => "pass `--dialect NAME`, or start a plan with `planwright new`".to_owned(),
    };
    found.push(none.help(help));
}
