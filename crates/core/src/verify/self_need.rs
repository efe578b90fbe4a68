//! PW0206: a step that needs itself.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::{Fix, Severity};
use crate::plan::draft::{DraftField, StepDraft};
use crate::syntax::source::{Edit, Source, Span};

pub(super) const RULE: Rule = Rule {
    code: "PW0206",
    name: "self-need",
    severity: Severity::Error,
    summary: "a step needs itself",
    page: include_str!("../../rules/self-need.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        for need in step.needs.iter().flatten().filter(|need| subject.find(&need.value) == Some(place)) {
            found.push(
                RULE.at(need.span, format!("{} needs itself", subject.name(place))).label("it could never start"),
            );
            let line = subject.source.line_at(need.span.start);
            let is_alone = subject.source.slice(Span::new(line.start, need.span.start)).trim().is_empty();
            // A JSON item on its own line shares commas with its neighbors, so deleting the line could break the list.
            if let Some(complaint) = found.last_mut().filter(|_| !is_alone || subject.is_native()) {
                let edits = vec![without(subject.source, step, need.span)];
                complaint.fix = Some(Fix { title: "remove it from the list".to_owned(), edits });
            }
        }
    }
}

/// Removes one name from a list: with its comma, with its line, or leaving `none` if it was the only one.
fn without(source: &Source, step: &StepDraft, need: Span) -> Edit {
    let line = source.line_at(need.start);
    let before = source.slice(Span::new(line.start, need.start));
    let is_item = before.trim().chars().all(|character| "-*+`".contains(character)) && !before.trim().is_empty();
    let field = step.field(DraftField::Needs).map_or(line, |field| field.value);
    let text = source.text();
    if is_item {
        return Edit::delete(Span::new(line.start, source.next_line(line.start)));
    }
    if source.slice(field).trim() == source.slice(need) {
        return Edit::replace(need, "none");
    }
    match before.trim_end().ends_with(',') {
        true => Edit::delete(Span::new(line.start + before.trim_end().trim_end_matches(',').len(), need.end)),
        false => {
            let behind = &text[need.end..line.end];
            let rest = behind.trim_start_matches([',', ' ']);
            Edit::delete(Span::new(need.start, line.end - rest.len()))
        }
    }
}
