//! Computes the edits for a change to a named plan. Never edits anything itself.

use super::outline::{NamedOutline, NamedTask, Shape};
use super::{DIALECT, field, status};
use crate::dialect::frontmatter;
use crate::dialect::patch;
use crate::plan::draft::{Draft, DraftField, Mark, StepDraft};
use crate::plan::edit::{EditError, PlanEdit};
use crate::plan::lifecycle::PlanState;
use crate::syntax::markdown::Blocks;
use crate::syntax::outline::{Section, is_rule};
use crate::syntax::source::{Edit, Source, Span};

/// The heading of the notes.
const NOTES: &str = "notes";

/// The edits for `change` in `source`, parsed as `draft`.
pub(super) fn edits(source: &Source, draft: &Draft, change: &PlanEdit) -> Result<Vec<Edit>, EditError> {
    let blocks = Blocks::read(source, frontmatter::split(source.text()).body);
    let outline = NamedOutline::of(source, &blocks);
    Ok(match change {
        PlanEdit::Mark { step, mark } => {
            set_mark(source, (&outline.tasks[*step], &draft.steps[*step]), *mark)
        }
        PlanEdit::Become { state } => become_state(source, (&blocks, &outline), draft, *state)?,
        PlanEdit::Trace { .. } => Vec::new(),
        PlanEdit::Set { key, value } => vec![patch::set_key(source, key, value)?],
        PlanEdit::Note { text } => vec![append_note(source, &outline, text)],
        PlanEdit::Rename { step, id } => patch::rename(draft, *step, id, || {
            insert_field(source, &outline.tasks[*step], &draft.steps[*step], &format!("**Id:** {id}"))
        })?,
        PlanEdit::Need { step, on } => {
            let append = |last: Span| patch::append_name(source, last, on);
            patch::add_need(draft, *step, on, append, |names| {
                let line = format!("**Depends on:** {names}");
                insert_field(source, &outline.tasks[*step], &draft.steps[*step], &line)
            })?
        }
        PlanEdit::Move { step, to } => {
            let slots: Vec<Span> = draft.steps.iter().map(|step| patch::slot(source, step)).collect();
            patch::relocate(source, draft, &slots, *step, *to)
        }
        PlanEdit::Renumber => patch::renumber(source, draft),
        PlanEdit::Append { .. } => return Err(DIALECT.no_word("a new step")),
        PlanEdit::Expand { .. } => return Err(DIALECT.no_word("an expanded template")),
    })
}

/// Marks a task in its box, in its status, or with a sign before its title. A note after a status stays.
fn set_mark(source: &Source, (task, step): (&NamedTask, &StepDraft), mark: Option<Mark>) -> Vec<Edit> {
    if patch::is_marked(step, mark) {
        return Vec::new();
    }
    if let Shape::Boxed(tick) = task.shape {
        return vec![Edit::replace(tick, status::tick(mark))];
    }
    let mut edits = patch::unmark(step);
    match step.field(DraftField::Status) {
        Some(field) if field.value.is_empty() => {
            let blank = if source.text()[..field.value.start].ends_with([' ', '\t']) { "" } else { " " };
            edits.push(Edit::insert(field.value.start, format!("{blank}{}", status::boxed(mark))));
        }
        Some(field) => {
            edits.push(Edit::replace(field.value, status::rewritten(source.slice(field.value), mark)));
        }
        None if mark.is_some() && has_form(step) => edits.push(append_status(source, task, step, mark)),
        None => edits.extend(mark.map(|mark| patch::insert_sign(source, step, status::sign(mark)))),
    }
    edits
}

/// Whether a task has the standard form, and so a line for its status.
fn has_form(step: &StepDraft) -> bool {
    [DraftField::Task, DraftField::Contract].into_iter().any(|kind| step.field(kind).is_some())
}

/// Inserts the status after the verification, or after everything before other headings.
fn append_status(source: &Source, task: &NamedTask, step: &StepDraft, mark: Option<Mark>) -> Edit {
    let newline = source.line_ending();
    let first = step.fields.0.first().map_or(step.heading.0, |field| field.label);
    let prefix = source.slice(Span::new(source.line_at(first.start).start, first.start));
    let end = match step.field(DraftField::Contract) {
        Some(verification) => verification.whole.end,
        None => undivided_end(
            source,
            Span::new(task.heading.end, task.own_end.clamp(task.heading.end, task.whole.end)),
        ),
    };
    let gap = if prefix.trim().is_empty() { newline } else { "" };
    Edit::insert(end, format!("{gap}{newline}{prefix}**Status:** {}", status::boxed(mark)))
}

/// The end of a text without trailing blank and dividing lines.
fn undivided_end(source: &Source, span: Span) -> usize {
    let lines: Vec<Span> = source.lines_in(span).collect();
    let is_said = |line: &&Span| {
        let text = source.slice(**line);
        !text.trim().is_empty() && !is_rule(text)
    };
    lines
        .iter()
        .rev()
        .find(is_said)
        .map_or(span.start, |line| line.start + source.slice(*line).trim_end().len())
}

/// Sets the status of the plan in its frontmatter, in its status line, or in a new line below the title.
fn become_state(
    source: &Source,
    (blocks, outline): (&Blocks, &NamedOutline),
    draft: &Draft,
    state: PlanState,
) -> Result<Vec<Edit>, EditError> {
    let Some(word) = super::spell(state) else { return Ok(Vec::new()) };
    if draft.state.is_some_and(|said| DIALECT.read_back(state) == Some(said.value)) {
        return Ok(Vec::new());
    }
    if draft.frontmatter.entry("status").is_some() {
        return Ok(vec![patch::set_key(source, "status", word)?]);
    }
    if let Some(said) = &draft.status.0 {
        // A sign before the word means the same, so it is replaced with the word.
        let line = source.line_at(said.span.start);
        let before = source.slice(Span::new(line.start, said.span.start));
        let start = status::last_sign(before).map_or(said.span.start, |(at, _)| line.start + at);
        return Ok(vec![Edit::replace(Span::new(start, said.span.end), word)]);
    }
    let mut labels = field::labels(source, blocks, outline.header);
    if let Some(empty) = labels.find(|label| label.kind == Some(DraftField::Status)) {
        return Ok(vec![Edit::replace(Span::new(empty.span.end, empty.value.end), format!(" {word}"))]);
    }
    let newline = source.line_ending();
    Ok(vec![match outline.title_line {
        Some(line) => Edit::insert(line.end, format!("{newline}**Status:** {word}")),
        None => Edit::insert(outline.header.start, format!("**Status:** {word}{newline}")),
    }])
}

/// The text below the last heading "Notes" that is not part of a task.
pub(super) fn notes_region(outline: &NamedOutline) -> Option<Span> {
    let is_notes = |section: &&super::outline::NamedSection| {
        section.title.value.eq_ignore_ascii_case(NOTES) && !outline.is_in_task(section.start())
    };
    outline.sections.iter().rev().find(is_notes).map(Section::below)
}

fn append_note(source: &Source, outline: &NamedOutline, text: &str) -> Edit {
    let levels = outline.tasks.iter().filter(|task| task.shape == Shape::Heading).map(|task| task.level);
    patch::append_note(source, notes_region(outline), levels.min().unwrap_or(2).clamp(1, 2), text)
}

/// Inserts a field before the others, bulleted like them.
fn insert_field(source: &Source, task: &NamedTask, step: &StepDraft, line: &str) -> Result<Edit, EditError> {
    if task.shape != Shape::Heading {
        return Err(DIALECT.no_word("an id or needs in a list item"));
    }
    let newline = source.line_ending();
    let Some(first) = step.fields.0.first() else {
        return Ok(Edit::insert(task.heading.end, format!("{newline}{newline}- {line}")));
    };
    let start = source.line_at(first.label.start).start;
    let prefix = source.slice(Span::new(start, first.label.start));
    let gap = if prefix.trim().is_empty() { newline } else { "" };
    Ok(Edit::insert(start, format!("{prefix}{line}{newline}{gap}")))
}
