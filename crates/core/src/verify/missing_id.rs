//! PW0153: a task file without an id.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::directory::is_id;
use crate::plan::draft::StepDraft;
use crate::dialect::frontmatter;
use crate::plan::verified;
use crate::syntax::source::{Edit, Span};

pub(super) const RULE: Rule = Rule {
    code: "PW0153",
    name: "missing-id",
    severity: Severity::Error,
    summary: "a task file has no frontmatter, or no `id` in it",
    page: include_str!("../../rules/missing-id.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_directory() {
        return;
    }
    for (place, step) in subject.steps().filter(|(_, step)| step.id.is_none()) {
        let parts = frontmatter::split_part(subject.source, step.whole.0);
        // The id may be in a part that could not be parsed; a misspelled key is reported by unknown-field.
        let head = Span::new(step.whole.0.start, parts.body);
        if subject.is_unread(head) || step.fields.0.iter().any(|field| field.name.value.eq_ignore_ascii_case("id") && field.kind.is_none()) {
            continue;
        }
        let path = &subject.source.part_at(step.whole.0.start).path;
        let missing = match parts.block {
            Some(block) => RULE
                .at(subject.source.line_at(block.start), format!("`{path}` has no `id`"))
                .label("other tasks can't depend on this one"),
            None => RULE
                .at(Span::at(parts.body), format!("`{path}` has no frontmatter"))
                .label("expected frontmatter with `id: ...` here"),
        };
        let id = free_id(subject, place, step);
        let edits: Option<Vec<Edit>> =
            id.as_ref().and_then(|id| Some(vec![frontmatter::set_part(subject.source, step.whole.0, "id", id)?]));
        found.push(match (id, edits) {
            (Some(id), Some(edits)) => missing.fix(format!("add `id: {id}`"), edits),
            (_, _) => missing.help("add `id: what-it-does` to its frontmatter"),
        });
    }
}

/// The slug of the file name, if it is a valid id that no other task has.
fn free_id(subject: &VerifySubject<'_>, place: usize, step: &StepDraft) -> Option<String> {
    let path = &subject.source.part_at(step.whole.0.start).path;
    let stem = path.rsplit('/').next()?.strip_suffix(".md")?;
    let slug = verified::slug(stem.trim_start_matches(|character: char| character.is_ascii_digit()));
    let is_free = subject.ids.iter().enumerate().all(|(other, id)| other == place || *id != slug);
    Some(slug).filter(|slug| is_id(slug) && is_free)
}
