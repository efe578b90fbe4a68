//! PW0107: step numbers that are not 1, 2, 3.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::edit;
use crate::plan::edit::PlanEdit;
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::StepNumber;

pub(super) const RULE: Rule = Rule {
    code: "PW0107",
    name: "step-numbering",
    severity: Severity::Error,
    summary: "step numbers are missing, duplicate or out of sequence",
    page: include_str!("../../rules/step-numbering.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_native() {
        return;
    }
    // After a template step the expected number is unknown.
    let counted = subject.steps().map_while(|(place, step)| match step.number.value {
        StepNumber::Counted(number) => Some((place, step, number)),
        StepNumber::Template(_) => None,
    });
    let mut expected = 1;
    for (place, step, number) in counted {
        if number != expected {
            found.push(misnumbered(subject, place, number, expected, step.number.span));
        }
        // One mistake, one diagnostic: later steps are counted from the number that is written.
        expected = number.saturating_add(1);
    }
    // One fix renumbers all steps, so only the first diagnostic offers it.
    if let Some(first) = found.iter_mut().find(|diagnostic| diagnostic.code == RULE.code)
        && let Some(edits) = subject.repair(&PlanEdit::Renumber)
    {
        first.fix = Some(crate::syntax::diagnostic::Fix { title: "renumber from 1".to_owned(), edits });
    }
}

fn misnumbered(
    subject: &VerifySubject<'_>,
    place: usize,
    number: u32,
    expected: u32,
    span: crate::syntax::source::Span,
) -> Diagnostic {
    let earlier = subject.draft.steps[..place].iter().find(|step| step.number.value == StepNumber::Counted(number));
    match earlier {
        Some(earlier) => RULE
            .at(span, format!("duplicate step number {number}"))
            .label(format!("this is step {}", edit::number_at(place)))
            .also(earlier.number.span, "first used here"),
        None => RULE
            .at(span, format!("expected step {expected}, found {number}"))
            .label(format!("expected {expected}")),
    }
}
