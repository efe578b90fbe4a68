//! Computes the edits for a change to a directory plan. Never edits anything itself.

use super::{DIALECT, NOTES, plan_part};
use crate::dialect::frontmatter;
use crate::dialect::patch;
use crate::plan::draft::{Draft, DraftField, StepDraft};
use crate::plan::edit;
use crate::plan::edit::{EditError, PlanEdit};
use crate::syntax::markdown::Blocks;
use crate::syntax::source::{Edit, Source, Span};
use crate::syntax::yaml;

/// The edits for `change` in `source`, parsed as `draft`.
pub(super) fn edits(source: &Source, draft: &Draft, change: &PlanEdit) -> Result<Vec<Edit>, EditError> {
    match change {
        // The files don't record states: only the journal does.
        PlanEdit::Mark { .. } | PlanEdit::Become { .. } | PlanEdit::Trace { .. } => Ok(Vec::new()),
        PlanEdit::Set { key, value } => Ok(vec![set(source, key, value)?]),
        PlanEdit::Note { text } => Ok(vec![append_note(source, text)?]),
        PlanEdit::Rename { step, id } => rename(source, draft, *step, id),
        PlanEdit::Need { step, on } => add_need(source, draft, *step, on),
        PlanEdit::Move { step, .. } => Err(in_file_name(source, &draft.steps[*step])),
        PlanEdit::Renumber => {
            draft.steps.first().map_or(Ok(Vec::new()), |step| Err(in_file_name(source, step)))
        }
        PlanEdit::Append { .. } => Err(DIALECT.no_word("a new step")),
        PlanEdit::Expand { step, .. } => Err(EditError::NotATemplate { step: *step }),
    }
}

/// File names set the order of the tasks, and a text edit can't rename a file.
fn in_file_name(source: &Source, step: &StepDraft) -> EditError {
    EditError::FileName { path: source.part_at(step.whole.0.start).path.clone() }
}

fn set(source: &Source, key: &str, value: &str) -> Result<Edit, EditError> {
    let part = plan_part(source).filter(|_| DIALECT.keys.contains(&key));
    let part = part.ok_or_else(|| DIALECT.no_word(key))?;
    frontmatter::set_part(source, part.span, key, value)
        .ok_or_else(|| EditError::NotPlain { key: key.to_owned() })
}

fn append_note(source: &Source, text: &str) -> Result<Edit, EditError> {
    let part = plan_part(source).ok_or_else(|| DIALECT.no_word("a note"))?.span;
    let newline = source.line_ending_in(part);
    let body = Span::new(frontmatter::split_part(source, part).body, part.end);
    let blocks = Blocks::read_in(source, body);
    if let Some(notes) = super::notes(source, &blocks, body) {
        let last = notes.items.last().map_or(notes.heading.span, |item| item.span);
        let gap = if notes.items.is_empty() { newline } else { "" };
        let end = source.line_at(last.end).end.min(body.end);
        return Ok(Edit::insert(end, format!("{gap}{newline}- {text}")));
    }
    let gap = match source.slice(part) {
        "" => "",
        text if text.ends_with('\n') => newline,
        _ => &newline.repeat(2),
    };
    Ok(Edit::insert(part.end, format!("{gap}## {NOTES}{newline}{newline}- {text}{newline}")))
}

fn rename(source: &Source, draft: &Draft, place: usize, id: &str) -> Result<Vec<Edit>, EditError> {
    let mut edits = patch::follow(draft, place, &yaml::quote(id));
    let own = frontmatter::set_part(source, draft.steps[place].whole.0, "id", id);
    edits.push(own.ok_or_else(|| EditError::NotPlain { key: "id".to_owned() })?);
    Ok(edits)
}

/// Adds a name to `depends_on`, in the style of the existing list.
fn add_need(source: &Source, draft: &Draft, place: usize, on: &str) -> Result<Vec<Edit>, EditError> {
    const KEY: &str = "depends_on";
    let step = &draft.steps[place];
    if edit::declared_needs(draft, place)?.iter().any(|name| name == on) {
        return Ok(Vec::new());
    }
    let on = yaml::quote(on);
    let part = step.whole.0;
    let Some(field) = step.field(DraftField::Needs) else {
        return insert_line(source, part, &format!("{KEY}: [{on}]"));
    };
    let is_inline = source.slice(field.value).starts_with('[');
    Ok(vec![match step.needs.iter().flatten().last() {
        Some(last) if is_inline => Edit::insert(last.span.end, format!(", {on}")),
        Some(last) => {
            let line = source.line_at(last.span.start);
            let dash = source.slice(Span::new(line.start, last.span.start));
            let end = source.line_at(last.span.end).end;
            Edit::insert(end, format!("{}{dash}{on}", source.line_ending_in(part)))
        }
        None if is_inline => Edit::insert(field.value.start + 1, on),
        None if field.value.is_empty() => Edit::insert(field.value.start, format!(" [{on}]")),
        None => return Err(EditError::NotPlain { key: KEY.to_owned() }),
    }])
}

/// Appends a line to a file's frontmatter.
fn insert_line(source: &Source, part: Span, line: &str) -> Result<Vec<Edit>, EditError> {
    let parts = frontmatter::split_part(source, part);
    let newline = source.line_ending_in(part);
    let edit = match parts.yaml {
        Some(block) => Edit::insert(block.end, format!("{line}{newline}")),
        None if parts.is_unclosed => {
            return Err(EditError::WouldChangeMore("the frontmatter is never closed".to_owned()));
        }
        None => Edit::insert(parts.body, format!("---{newline}{line}{newline}---{newline}")),
    };
    Ok(vec![edit])
}
