//! PW0109: a template heading that has not been expanded into steps.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::edit::PlanEdit;
use crate::syntax::count::counted;
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::StepNumber;

pub(super) const RULE: Rule = Rule {
    code: "PW0109",
    name: "unexpanded-template",
    severity: Severity::Error,
    summary: "a template step (`3–N.`, `N+1.`) is not expanded",
    page: include_str!("../../rules/unexpanded-template.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let StepNumber::Template(number) = &step.number.value else { continue };
        let unexpanded = RULE
            .at(step.number.span, format!("template step `{number}` is not expanded"))
            .label("placeholder for steps that don't exist yet");
        let items: Vec<String> = step.each.iter().map(|item| item.value.clone()).collect();
        let count = items.len();
        let edits = if items.is_empty() { None } else { subject.repair(&PlanEdit::Expand { step: place, items }) };
        found.push(match edits {
            Some(edits) => unexpanded.fix(format!("expand it into {}", counted(count, "step", "steps")), edits),
            None if number.contains('+') => unexpanded.help("expand the template before it first; then it gets its number"),
            None => unexpanded.help(format!(
                "add an `**each:**` list, or run `planwright edit {} --expand {}=LIST`",
                subject.source.name(),
                subject.ids[place],
            )),
        });
    }
}
