//! Computes the edits for a change to a named plan. Never edits anything itself.

use super::outline::{NamedOutline, NamedTask, Shape};
use super::{DIALECT, field, status};
use crate::dialect::frontmatter;
use crate::dialect::needs;
use crate::dialect::needs::AddedNeed;
use crate::dialect::order;
use crate::plan::draft::{Draft, DraftField, Mark, StepDraft};
use crate::plan::edit::{EditError, PlanEdit};
use crate::plan::lifecycle::PlanState;
use crate::syntax::markdown::Blocks;
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
        PlanEdit::Set { key, value } => vec![set_key(source, key, value)?],
        PlanEdit::Note { text } => vec![append_note(source, &outline, text)],
        PlanEdit::Rename { step, id } => rename(source, draft, &outline.tasks[*step], (*step, id))?,
        PlanEdit::Need { step, on } => {
            add_need(source, draft, &outline.tasks[*step], (*step, on))?.into_iter().collect()
        }
        PlanEdit::Move { step, to } => relocate(source, draft, *step, *to),
        PlanEdit::Renumber => renumber(source, draft, &(0..draft.steps.len()).collect::<Vec<_>>()),
        PlanEdit::Append { .. } => return Err(no_word("a new step")),
        PlanEdit::Expand { .. } => return Err(no_word("an expanded template")),
    })
}

fn no_word(what: &str) -> EditError {
    EditError::NoWord { what: what.to_owned(), dialect: DIALECT.name }
}

fn set_key(source: &Source, key: &str, value: &str) -> Result<Edit, EditError> {
    frontmatter::set(source, key, value).ok_or_else(|| EditError::NotPlain { key: key.to_owned() })
}

/// Marks a task in its box, in its status, or with a sign before its title. A note after a status stays.
fn set_mark(source: &Source, (task, step): (&NamedTask, &StepDraft), mark: Option<Mark>) -> Vec<Edit> {
    if step.marks.iter().map(|mark| mark.value).eq(mark) {
        return Vec::new();
    }
    if let Shape::Boxed(tick) = task.shape {
        return vec![Edit::replace(tick, status::tick(mark))];
    }
    let in_heading = |span: Span| task.heading.covers(span);
    let mut edits: Vec<Edit> =
        step.marks.iter().filter(|mark| in_heading(mark.span)).map(|mark| Edit::delete(mark.span)).collect();
    match step.field(DraftField::Status) {
        Some(field) if field.value.is_empty() => {
            let blank = if source.text()[..field.value.start].ends_with([' ', '\t']) { "" } else { " " };
            edits.push(Edit::insert(field.value.start, format!("{blank}{}", status::boxed(mark))));
        }
        Some(field) => {
            edits.push(Edit::replace(field.value, status::rewritten(source.slice(field.value), mark)));
        }
        None if mark.is_some() && has_form(step) => edits.push(append_status(source, task, step, mark)),
        None => edits.extend(mark.map(|mark| insert_sign(source, step, mark))),
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
    let lines: Vec<Span> = field::lines(source, span).collect();
    let is_said = |line: &&Span| {
        let text = source.slice(**line);
        !text.trim().is_empty() && !field::is_rule(text)
    };
    lines
        .iter()
        .rev()
        .find(is_said)
        .map_or(span.start, |line| line.start + source.slice(*line).trim_end().len())
}

fn insert_sign(source: &Source, step: &StepDraft, mark: Mark) -> Edit {
    let at = step.title.span.start;
    let is_set_off = source.text()[..at].ends_with([' ', '\t']);
    Edit::insert(at, format!("{}{} ", if is_set_off { "" } else { " " }, status::sign(mark)))
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
        return Ok(vec![set_key(source, "status", word)?]);
    }
    if let Some(said) = &draft.status.0 {
        // A sign before the word means the same, so it is replaced with the word.
        let line = source.line_at(said.span.start);
        let before = source.slice(Span::new(line.start, said.span.start));
        let start = status::last_sign(before).map_or(said.span.start, |(at, _)| line.start + at);
        return Ok(vec![Edit::replace(Span::new(start, said.span.end), word)]);
    }
    let mut labels =
        field::text_lines(source, blocks, outline.header).filter_map(|line| field::label(source, line));
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
        section.name.value.eq_ignore_ascii_case(NOTES) && !outline.is_in_task(section.heading.span.start)
    };
    outline.sections.iter().rev().find(is_notes).map(super::outline::NamedSection::below)
}

fn append_note(source: &Source, outline: &NamedOutline, text: &str) -> Edit {
    let newline = source.line_ending();
    if let Some(notes) = notes_region(outline) {
        let kept = source.slice(notes).trim_end();
        return match kept.is_empty() {
            // The section is still empty.
            true => {
                let heading_end = source.text()[..notes.start].trim_end_matches(['\n', '\r']).len();
                Edit::insert(heading_end, format!("{newline}{newline}- {text}"))
            }
            false => Edit::insert(notes.start + kept.len(), format!("{newline}- {text}")),
        };
    }
    let gap = if source.text().ends_with('\n') { "" } else { newline };
    let levels = outline.tasks.iter().filter(|task| task.shape == Shape::Heading).map(|task| task.level);
    let marks = "#".repeat(usize::from(levels.min().unwrap_or(2).clamp(1, 2)));
    Edit::insert(
        source.text().len(),
        format!("{gap}{newline}{marks} Notes{newline}{newline}- {text}{newline}"),
    )
}

fn rename(
    source: &Source,
    draft: &Draft,
    task: &NamedTask,
    (place, id): (usize, &str),
) -> Result<Vec<Edit>, EditError> {
    let step = &draft.steps[place];
    let mut edits = needs::followed(draft, place, id);
    edits.push(match &step.id {
        Some(present) => Edit::replace(present.span, id),
        None => insert_field(source, task, step, &format!("**Id:** {id}"))?,
    });
    Ok(edits)
}

/// Adds a name to the list; `None` if it is already there.
fn add_need(
    source: &Source,
    draft: &Draft,
    task: &NamedTask,
    (place, on): (usize, &str),
) -> Result<Option<Edit>, EditError> {
    let step = &draft.steps[place];
    let names = match needs::added(source, draft, place, on)? {
        AddedNeed::Already => return Ok(None),
        AddedNeed::Behind(edit) => return Ok(Some(edit)),
        AddedNeed::First(names) => names,
    };
    Ok(Some(match step.field(DraftField::Needs) {
        Some(field) => Edit::replace(field.value, names),
        None => insert_field(source, task, step, &format!("**Depends on:** {names}"))?,
    }))
}

/// Inserts a field before the others, bulleted like them.
fn insert_field(source: &Source, task: &NamedTask, step: &StepDraft, line: &str) -> Result<Edit, EditError> {
    if task.shape != Shape::Heading {
        return Err(no_word("an id or needs in a list item"));
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

/// Numbers the tasks by their position in `order`. Needs that refer to a heading follow by themselves.
fn renumber(source: &Source, draft: &Draft, order: &[usize]) -> Vec<Edit> {
    order::renumber(draft, order, |need| source.slice(need.span) == need.value)
}

/// Moves a task: the texts of the tasks change places, the text between them stays.
fn relocate(source: &Source, draft: &Draft, step: usize, to: usize) -> Vec<Edit> {
    let slots: Vec<Span> = draft.steps.iter().map(|step| order::slot(source, step)).collect();
    let order = order::moved(slots.len(), step, to);
    order::relocate(source, &slots, &order, &renumber(source, draft, &order))
}
