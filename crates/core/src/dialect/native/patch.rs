//! Computes the edits for a change to a native plan. Never edits anything itself.

use super::{Outline, step};
use crate::dialect::frontmatter;
use crate::dialect::patch;
use crate::dialect::patch::slot;
use crate::plan::draft::{Draft, DraftField, Mark, StepDraft, StepNumber};
use crate::plan::edit;
use crate::plan::edit::{EditError, PlanEdit};
use crate::syntax::markdown::Blocks;
use crate::syntax::source;
use crate::syntax::source::{Edit, Source, Span};

/// The heading below which notes are kept.
pub(super) const NOTES: &str = "notes";

/// The edits for `change` in `source`, parsed as `draft`.
pub(super) fn edits(source: &Source, draft: &Draft, change: &PlanEdit) -> Result<Vec<Edit>, EditError> {
    Ok(match change {
        PlanEdit::Mark { step, mark } => set_mark(source, &draft.steps[*step], *mark),
        PlanEdit::Become { state } => {
            vec![patch::set_key(source, "status", super::spell(*state).unwrap_or_default())?]
        }
        PlanEdit::Trace { .. } => Vec::new(),
        PlanEdit::Set { key, value } => vec![patch::set_key(source, key, value)?],
        PlanEdit::Note { text } => vec![append_note(source, text)],
        PlanEdit::Rename { step, id } => patch::rename(draft, *step, id, || {
            Ok(insert_field(source, &draft.steps[*step], &format!("**id:** {id}")))
        })?,
        PlanEdit::Need { step, on } => add_need(source, draft, *step, on)?,
        PlanEdit::Move { step, to } => {
            let slots: Vec<Span> = draft.steps.iter().map(|step| slot(source, step)).collect();
            patch::relocate(source, draft, &slots, *step, *to)
        }
        PlanEdit::Renumber => patch::renumber(source, draft),
        PlanEdit::Append { title, task, target, after } => {
            vec![append_step(source, draft, &edit::appended(draft.steps.len(), (title, task), target, after))]
        }
        PlanEdit::Expand { step, items } => expand(source, draft, *step, items)?,
    })
}

/// The spelling of a mark before a title.
pub(super) fn glyph(mark: Mark) -> &'static str {
    match mark {
        Mark::Done => "✅",
        Mark::Running => "⏳",
        Mark::Failed => "❌",
        Mark::Skipped => "⏭",
    }
}

fn word(mark: Option<Mark>) -> &'static str {
    match mark {
        Some(mark) => mark.word(),
        None => "pending",
    }
}

/// Marks a step in its status line if it has one, otherwise in its heading.
fn set_mark(source: &Source, step: &StepDraft, mark: Option<Mark>) -> Vec<Edit> {
    if patch::is_marked(step, mark) {
        return Vec::new();
    }
    let mut edits = patch::unmark(step);
    match step.field(DraftField::Status) {
        Some(field) if field.value.is_empty() => {
            edits.push(Edit::insert(field.value.start, format!(" {}", word(mark))));
        }
        Some(field) => edits.push(Edit::replace(field.value, word(mark))),
        None => edits.extend(mark.map(|mark| patch::insert_sign(source, step, glyph(mark)))),
    }
    edits
}

fn append_note(source: &Source, text: &str) -> Edit {
    let blocks = Blocks::read(source, frontmatter::split(source.text()).body);
    let outline = Outline::of(source, &blocks);
    patch::append_note(source, outline.notes, outline.level.min(2), text)
}

/// Inserts a step after the last one, or at the end if there is none.
fn append_step(source: &Source, draft: &Draft, step: &StepDraft) -> Edit {
    let newline = source.line_ending();
    let text = super::compose::step_text(step);
    let text = text.trim_end().replace('\n', newline);
    match draft.steps.last() {
        Some(last) => {
            let level = usize::from(last.level.0);
            let text = text.replacen("###", &"#".repeat(level), 1);
            Edit::insert(slot(source, last).end, format!("{newline}{newline}{text}"))
        }
        None => Edit::insert(source.text().len(), format!("{newline}{text}{newline}")),
    }
}

/// Adds a name to the list in the form that the list has.
fn add_need(source: &Source, draft: &Draft, place: usize, on: &str) -> Result<Vec<Edit>, EditError> {
    let append = |last: Span| {
        if !is_item(source, last) {
            return patch::append_name(source, last, on);
        }
        let line = source.line_at(last.start);
        let before = source.slice(Span::new(line.start, last.start)).trim_end_matches('`');
        Edit::insert(line.end, format!("{}{before}{on}", source.line_ending()))
    };
    let insert = |names: &str| Ok(insert_field(source, &draft.steps[place], &format!("**needs:** {names}")));
    patch::add_need(draft, place, on, append, insert)
}

/// Whether a name is a list item of its own, rather than one of several on a line.
fn is_item(source: &Source, name: Span) -> bool {
    let line = source.line_at(name.start);
    let indent = source.slice(line).len() - source.slice(line).trim_start().len();
    let coded = source.slice(Span::new(line.start, name.start)).trim_end_matches('`').len();
    step::bullet(source, Span::new(line.start + indent, line.end))
        .is_some_and(|item| item.start == line.start + coded)
}

/// The text between a name and the next one of the same list.
fn separator(source: &Source, name: Span) -> String {
    let before = source.slice(Span::new(source.line_at(name.start).start, name.start));
    let bare = before.trim_end_matches('`');
    let ticks = &before[bare.len()..];
    match is_item(source, name) {
        true => format!("{ticks}{}{bare}{ticks}", source.line_ending()),
        false => format!("{ticks}, {ticks}"),
    }
}

/// Inserts a field into a step: after id and target, before everything else, bulleted like its other fields.
pub(super) fn insert_field(source: &Source, step: &StepDraft, line: &str) -> Edit {
    let newline = source.line_ending();
    let Some(first) = step.fields.0.first() else {
        return Edit::insert(step.heading.0.end, format!("{newline}{newline}{line}"));
    };
    let first_line = source.line_at(first.label.start).start;
    let indent = source.slice(Span::new(first_line, first.label.start));
    let leads = |kind: Option<DraftField>| matches!(kind, Some(DraftField::Id | DraftField::Target));
    match step.fields.0.iter().take_while(|field| leads(field.kind)).last() {
        Some(last) => Edit::insert(last.whole.end, format!("{newline}{indent}{line}")),
        None => Edit::insert(first_line, format!("{indent}{line}{newline}")),
    }
}

fn expand(source: &Source, draft: &Draft, at: usize, items: &[String]) -> Result<Vec<Edit>, EditError> {
    let template = &draft.steps[at];
    let place = slot(source, template);
    let written =
        items.iter().enumerate().map(|(index, item)| written_out(source, template, (at, index, item)));
    let text = written.collect::<Vec<_>>().join(&source.line_ending().repeat(2));
    let mut edits = vec![Edit::replace(place, text)];

    let mut meant = draft.clone();
    edit::expand(&mut meant, at, items)?;
    let old = crate::plan::verified::ids(draft).swap_remove(at);
    let new = crate::plan::verified::ids(&meant)[at..at + items.len()].to_vec();
    for step in draft.steps.iter().filter(|step| step.whole.0 != template.whole.0) {
        let need = step.needs.iter().flatten().find(|need| need.value == old);
        edits.extend(need.map(|need| Edit::replace(need.span, new.join(&separator(source, need.span)))));
    }
    for (step, meant) in draft.steps[at + 1..].iter().zip(&meant.steps[at + items.len()..]) {
        if let (StepNumber::Template(_), StepNumber::Counted(number)) =
            (&step.number.value, &meant.number.value)
        {
            edits.push(Edit::replace(step.number.span, number.to_string()));
        }
    }
    Ok(edits)
}

/// The text of the template at position `at` for the item with this index.
fn written_out(source: &Source, template: &StepDraft, (at, index, item): (usize, usize, &str)) -> String {
    let body = Span::new(template.heading.0.end, slot(source, template).end);
    let each = template.field(DraftField::Each).map(|field| {
        let start = source.line_at(field.label.start).start;
        Edit::delete(Span::new(start, source.next_line(field.whole.end).min(body.end)))
    });
    let id = template.id.as_ref().map(|id| Edit::replace(id.span, edit::expanded_id(&id.value, item, index)));
    let within = |edit: Edit| Edit {
        span: Span::new(edit.span.start - body.start, edit.span.end - body.start),
        ..edit
    };
    let edits: Vec<Edit> = each.into_iter().chain(id).map(within).collect();
    let marks = "#".repeat(usize::from(template.level.0));
    let mark = template.mark().map(|mark| format!("{} ", glyph(mark))).unwrap_or_default();
    let title = edit::expanded_title(&template.title.value, item);
    let text = edit::fill(&source::apply(source.slice(body), &edits), item);
    format!("{marks} {}. {mark}{title}{text}", edit::number_at(at + index))
}
