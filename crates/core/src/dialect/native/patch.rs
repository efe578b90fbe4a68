//! The bytes that a change takes in a native plan. Every function returns edits and touches nothing else.

use super::block::Blocks;
use super::Outline;
use crate::change::{self, Change, Refusal};
use crate::draft::{Draft, Field, Mark, StepDraft, StepNumber};
use crate::frontmatter;
use crate::source::{self, Edit, Source, Span};

/// The heading below which notes are kept.
pub(super) const NOTES: &str = "notes";

/// The edits that make `change` in `source`, which reads as `draft`.
pub(super) fn edits(source: &Source, draft: &Draft, change: &Change) -> Result<Vec<Edit>, Refusal> {
    Ok(match change {
        Change::Mark { step, mark } => set_mark(source, &draft.steps[*step], *mark),
        Change::Set { key, value } => {
            vec![frontmatter::set(source, key, value).ok_or_else(|| Refusal::NotPlain { key: key.clone() })?]
        }
        Change::Note { text } => vec![append_note(source, text)],
        Change::Rename { step, id } => rename(source, draft, *step, id),
        Change::Need { step, on } => vec![add_need(source, draft, *step, on)?],
        Change::Move { step, to } => relocate(source, draft, *step, *to),
        Change::Renumber => renumber(draft, &(0..draft.steps.len()).collect::<Vec<_>>()),
        Change::Expand { step, items } => expand(source, draft, *step, items),
    })
}

/// How a mark is spelled in front of a title.
pub(super) fn glyph(mark: Mark) -> &'static str {
    match mark {
        Mark::Done => "✅",
        Mark::Failed => "❌",
        Mark::Skipped => "⏭",
    }
}

fn word(mark: Option<Mark>) -> &'static str {
    match mark {
        Some(Mark::Done) => "done",
        Some(Mark::Failed) => "failed",
        Some(Mark::Skipped) => "skipped",
        None => "pending",
    }
}

/// A step that has a status line is marked there; any other in its heading, as document A does it.
fn set_mark(source: &Source, step: &StepDraft, mark: Option<Mark>) -> Vec<Edit> {
    if step.marks.iter().map(|mark| mark.value).eq(mark) {
        return Vec::new();
    }
    let in_heading = |span: Span| step.heading.0.covers(span);
    let mut edits: Vec<Edit> =
        step.marks.iter().filter(|mark| in_heading(mark.span)).map(|mark| Edit::delete(mark.span)).collect();
    match step.field(Field::Status) {
        Some(field) if field.value.is_empty() => {
            edits.push(Edit::insert(field.value.start, format!(" {}", word(mark))));
        }
        Some(field) => edits.push(Edit::replace(field.value, word(mark))),
        None => edits.extend(mark.map(|mark| insert_mark(source, step, mark))),
    }
    edits
}

fn insert_mark(source: &Source, step: &StepDraft, mark: Mark) -> Edit {
    let at = step.title.span.start;
    let is_set_off = source.text()[..at].ends_with([' ', '\t']);
    Edit::insert(at, format!("{}{} ", if is_set_off { "" } else { " " }, glyph(mark)))
}

fn append_note(source: &Source, text: &str) -> Edit {
    let newline = source.line_ending();
    let blocks = Blocks::read(source, frontmatter::split(source.text()).body);
    let outline = Outline::of(source, &blocks);
    if let Some(notes) = outline.notes {
        let kept = source.slice(notes).trim_end();
        return match kept.is_empty() {
            // Nothing stands below the heading yet.
            true => {
                let heading_end = source.text()[..notes.start].trim_end_matches(['\n', '\r']).len();
                Edit::insert(heading_end, format!("{newline}{newline}- {text}"))
            }
            false => Edit::insert(notes.start + kept.len(), format!("{newline}- {text}")),
        };
    }
    let end = source.text().len();
    let gap = if source.text().ends_with('\n') { "" } else { newline };
    let marks = "#".repeat(usize::from(outline.level.min(2)));
    Edit::insert(end, format!("{gap}{newline}{marks} Notes{newline}{newline}- {text}{newline}"))
}

fn rename(source: &Source, draft: &Draft, step: usize, id: &str) -> Vec<Edit> {
    let old = crate::plan::ids(draft).swap_remove(step);
    let step = &draft.steps[step];
    let needs = draft.steps.iter().filter_map(|step| step.needs.as_ref()).flatten();
    let mut edits: Vec<Edit> =
        needs.filter(|need| need.value == old).map(|need| Edit::replace(need.span, id)).collect();
    edits.push(match (&step.id, step.field(Field::Id)) {
        (Some(present), _) => Edit::replace(present.span, id),
        (None, Some(empty)) => Edit::insert(empty.label.end, format!(" {id}")),
        (None, None) => insert_field(source, step, &format!("**id:** {id}")),
    });
    edits
}

/// Adds a name to the list in the form that the list has.
fn add_need(source: &Source, draft: &Draft, place: usize, on: &str) -> Result<Edit, Refusal> {
    let step = &draft.steps[place];
    let Some(last) = step.needs.iter().flatten().last() else {
        let names = change::declared_needs(draft, place)?.into_iter().chain([on.to_owned()]);
        let names = names.collect::<Vec<_>>().join(", ");
        return Ok(match step.field(Field::Needs) {
            Some(field) if field.value.is_empty() => Edit::insert(field.label.end, format!(" {names}")),
            Some(field) => Edit::replace(field.value, names),
            None => insert_field(source, step, &format!("**needs:** {names}")),
        });
    };
    let line = source.line_at(last.span.start);
    let before = source.slice(Span::new(line.start, last.span.start)).trim_end_matches('`');
    let is_item = before.trim_start().len() <= 2 && !before.trim().is_empty();
    let text = if is_item { format!("{}{before}{on}", source.line_ending()) } else { format!(", {on}") };
    let is_coded = source.text()[last.span.end..line.end.max(last.span.end)].starts_with('`');
    Ok(Edit::insert(if is_item { line.end } else { last.span.end + usize::from(is_coded) }, text))
}

/// Puts a field into a step: behind its id and target, in front of everything else, bulleted like its other fields.
pub(super) fn insert_field(source: &Source, step: &StepDraft, line: &str) -> Edit {
    let newline = source.line_ending();
    let Some(first) = step.fields.0.first() else {
        return Edit::insert(step.heading.0.end, format!("{newline}{newline}{line}"));
    };
    let first_line = source.line_at(first.label.start).start;
    let indent = source.slice(Span::new(first_line, first.label.start));
    let leads = |kind: Option<Field>| matches!(kind, Some(Field::Id | Field::Target));
    match step.fields.0.iter().take_while(|field| leads(field.kind)).last() {
        Some(last) => Edit::insert(last.whole.end, format!("{newline}{indent}{line}")),
        None => Edit::insert(first_line, format!("{indent}{line}{newline}")),
    }
}

/// The step without the blank lines behind it.
fn slot(source: &Source, step: &StepDraft) -> Span {
    let whole = step.whole.0;
    Span::new(whole.start, whole.start + source.slice(whole).trim_end().len())
}

/// Numbers the steps by their place in `order`, which lists where each stood. Needs that name a number follow.
fn renumber(draft: &Draft, order: &[usize]) -> Vec<Edit> {
    let steps: Vec<&StepDraft> = order.iter().map(|&place| &draft.steps[place]).collect();
    let counted = |step: &StepDraft| match step.number.value {
        StepNumber::Counted(number) => Some(number),
        StepNumber::Template(_) => None,
    };
    let place_of = |number: u32| steps.iter().position(|step| counted(step) == Some(number));
    let mut edits = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let now = change::number_at(place);
        if counted(step).is_some_and(|number| number != now) {
            edits.push(Edit::replace(step.number.span, now.to_string()));
        }
        for need in step.needs.iter().flatten() {
            let now = need.value.parse().ok().and_then(place_of).map(change::number_at);
            edits.extend(now.filter(|now| now.to_string() != need.value).map(|now| Edit::replace(need.span, now.to_string())));
        }
    }
    edits
}

/// Moves a step: the texts of the steps change places, what stands between them stays where it is.
fn relocate(source: &Source, draft: &Draft, step: usize, to: usize) -> Vec<Edit> {
    let mut order: Vec<usize> = (0..draft.steps.len()).collect();
    let moved = order.remove(step);
    order.insert(to, moved);
    let renumbered = renumber(draft, &order);
    let range = step.min(to)..=step.max(to);
    let slots: Vec<Span> = draft.steps.iter().map(|step| slot(source, step)).collect();
    let moving = Span::new(slots[*range.start()].start, slots[*range.end()].end);
    let mut edits: Vec<Edit> = renumbered.iter().filter(|edit| !moving.covers(edit.span)).cloned().collect();
    for place in range {
        let from = slots[order[place]];
        let inner: Vec<Edit> = renumbered
            .iter()
            .filter(|edit| from.covers(edit.span))
            .map(|edit| Edit::replace(Span::new(edit.span.start - from.start, edit.span.end - from.start), edit.text.clone()))
            .collect();
        edits.push(Edit::replace(slots[place], source::apply(source.slice(from), &inner)));
    }
    edits
}

fn expand(source: &Source, draft: &Draft, at: usize, items: &[String]) -> Vec<Edit> {
    let step = &draft.steps[at];
    let place = slot(source, step);
    let newline = source.line_ending();
    let body = Span::new(step.heading.0.end, place.end);
    let without_list = step.field(Field::Each).map(|field| {
        let start = source.line_at(field.label.start).start;
        Edit::delete(Span::new(start - body.start, source.next_line(field.whole.end).min(body.end) - body.start))
    });
    let body = source::apply(source.slice(body), without_list.as_slice());
    let written = items.iter().enumerate().map(|(index, item)| {
        let number = change::number_at(at + index);
        let title = change::expanded_title(&step.title.value, item);
        let marks = "#".repeat(usize::from(step.level.0));
        let mark = step.mark().map(|mark| format!("{} ", glyph(mark))).unwrap_or_default();
        format!("{marks} {number}. {mark}{title}{}", change::fill(&body, item))
    });
    let text = written.collect::<Vec<_>>().join(&newline.repeat(2));
    let mut edits = vec![Edit::replace(place, text)];
    for (place, step) in draft.steps.iter().enumerate().skip(at + 1) {
        match &step.number.value {
            StepNumber::Template(text) if text.contains('+') => {
                let number = change::number_at(place + items.len() - 1);
                edits.push(Edit::replace(step.number.span, number.to_string()));
            }
            StepNumber::Template(_) => break,
            StepNumber::Counted(_) => {}
        }
    }
    edits
}

/// The canonical heading of a step.
pub(super) fn canonical_heading(step: &StepDraft) -> String {
    let number = match &step.number.value {
        StepNumber::Counted(number) => number.to_string(),
        StepNumber::Template(text) => text.clone(),
    };
    let in_heading = step.marks.iter().filter(|mark| step.heading.0.covers(mark.span));
    let marks: String = in_heading.map(|mark| format!("{} ", glyph(mark.value))).collect();
    format!("### {number}. {marks}{}", step.title.value).trim_end().to_owned()
}

