//! PW0109: a heading that stands for steps which nobody has written yet.

use super::{Diagnostic, Rule, Subject};
use crate::plan::edit::Change;
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::StepNumber;

pub(super) const RULE: Rule = Rule {
    code: "PW0109",
    name: "unexpanded-template",
    severity: Severity::Error,
    summary: "a template step (`3–N.`, `N+1.`) was not written out",
    page: include_str!("../../rules/unexpanded-template.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let StepNumber::Template(number) = &step.number.value else { continue };
        let unexpanded = RULE
            .at(step.number.span, format!("step `{number}` is a template that was not written out"))
            .label("stands for steps that don't exist yet");
        let items: Vec<String> = step.each.iter().map(|item| item.value.clone()).collect();
        let count = items.len();
        let edits = if items.is_empty() { None } else { subject.repair(&Change::Expand { step: place, items }) };
        found.push(match edits {
            Some(edits) => unexpanded.fix(format!("write it out for its {count} items"), edits),
            None if number.contains('+') => unexpanded.help("it is numbered once the template before it is written out"),
            None => unexpanded.help(format!(
                "give it a list `**each:**`, or write it out with `planwright edit {} --expand {}=LIST`",
                subject.source.name(),
                subject.ids[place],
            )),
        });
    }
}
