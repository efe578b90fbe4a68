//! Edits that several dialects share: keys, notes, marks, ids and needs, and the order of steps that follow one another
//! in a text.

use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, DraftField, Mark, StepDraft, StepNumber};
use crate::plan::edit;
use crate::plan::edit::EditError;
use crate::syntax::source;
use crate::syntax::source::{Edit, Source, Span, Spanned};

/// Sets a key of the frontmatter.
pub(super) fn set_key(source: &Source, key: &str, value: &str) -> Result<Edit, EditError> {
    frontmatter::set(source, key, value).ok_or_else(|| EditError::NotPlain { key: key.to_owned() })
}

/// Appends a note to the section of the notes, or a section of this level with it.
pub(super) fn append_note(source: &Source, notes: Option<Span>, level: u8, text: &str) -> Edit {
    let newline = source.line_ending();
    let Some(notes) = notes else {
        let gap = if source.text().ends_with('\n') { "" } else { newline };
        let marks = "#".repeat(usize::from(level));
        let section = format!("{gap}{newline}{marks} Notes{newline}{newline}- {text}{newline}");
        return Edit::insert(source.text().len(), section);
    };
    let kept = source.slice(notes).trim_end();
    match kept.is_empty() {
        // The section is still empty.
        true => {
            let heading_end = source.text()[..notes.start].trim_end_matches(['\n', '\r']).len();
            Edit::insert(heading_end, format!("{newline}{newline}- {text}"))
        }
        false => Edit::insert(notes.start + kept.len(), format!("{newline}- {text}")),
    }
}

/// Removes the marks in the heading of a step.
pub(super) fn unmark(step: &StepDraft) -> Vec<Edit> {
    let in_heading = step.marks.iter().filter(|mark| step.heading.0.covers(mark.span));
    in_heading.map(|mark| Edit::delete(mark.span)).collect()
}

/// Whether a step has this mark and no other.
pub(super) fn is_marked(step: &StepDraft, mark: Option<Mark>) -> bool {
    step.marks.iter().map(|mark| mark.value).eq(mark)
}

/// Inserts a sign before the title of a step.
pub(super) fn insert_sign(source: &Source, step: &StepDraft, sign: &str) -> Edit {
    let at = step.title.span.start;
    let is_set_off = source.text()[..at].ends_with([' ', '\t']);
    Edit::insert(at, format!("{}{sign} ", if is_set_off { "" } else { " " }))
}

/// Renames a step, also in the needs of all others; `insert` adds the id to a step that has no field for it.
pub(super) fn rename(
    draft: &Draft,
    place: usize,
    id: &str,
    insert: impl FnOnce() -> Result<Edit, EditError>,
) -> Result<Vec<Edit>, EditError> {
    let step = &draft.steps[place];
    let own = match (&step.id, step.field(DraftField::Id)) {
        (Some(present), _) => Edit::replace(present.span, id),
        (None, Some(empty)) => Edit::insert(empty.label.end, format!(" {id}")),
        (None, None) => insert()?,
    };
    Ok(follow(draft, place, id).into_iter().chain([own]).collect())
}

/// Renames a step in the needs of all others.
pub(super) fn follow(draft: &Draft, place: usize, id: &str) -> Vec<Edit> {
    let old = crate::plan::verified::ids(draft).swap_remove(place);
    let needs = draft.steps.iter().filter_map(|step| step.needs.as_ref()).flatten();
    needs.filter(|need| need.value == old).map(|need| Edit::replace(need.span, id)).collect()
}

/// Adds a need to a step, unless it is there: `append` adds it after the last one, `insert` adds the names to a step
/// that has no field for them.
pub(super) fn add_need(
    draft: &Draft,
    place: usize,
    on: &str,
    append: impl FnOnce(Span) -> Edit,
    insert: impl FnOnce(&str) -> Result<Edit, EditError>,
) -> Result<Vec<Edit>, EditError> {
    let step = &draft.steps[place];
    let names = edit::declared_needs(draft, place)?;
    if names.iter().any(|name| name == on) {
        return Ok(Vec::new());
    }
    if let Some(last) = step.needs.iter().flatten().last() {
        return Ok(vec![append(last.span)]);
    }
    let names = names.into_iter().chain([on.to_owned()]).collect::<Vec<_>>().join(", ");
    Ok(vec![match step.field(DraftField::Needs) {
        Some(field) if field.value.is_empty() => Edit::insert(field.label.end, format!(" {names}")),
        Some(field) => Edit::replace(field.value, names),
        None => insert(&names)?,
    }])
}

/// Adds a name after the last one on its line.
pub(super) fn append_name(source: &Source, last: Span, name: &str) -> Edit {
    let ticks = source.text()[last.end..].bytes().take_while(|&byte| byte == b'`').count();
    Edit::insert(last.end + ticks, format!(", {name}"))
}

/// The step without trailing blank lines; blanks at the end of its heading are part of it.
pub(super) fn slot(source: &Source, step: &StepDraft) -> Span {
    let whole = step.whole.0;
    let end = whole.start + source.slice(whole).trim_end().len();
    Span::new(whole.start, end.max(step.heading.0.end))
}

/// Numbers the steps by their position.
pub(super) fn renumber(source: &Source, draft: &Draft) -> Vec<Edit> {
    renumber_as(source, draft, &(0..draft.steps.len()).collect::<Vec<_>>())
}

/// Numbers the steps by their position in `order`, which lists where each was. Numeric needs follow, if they are
/// written as they are parsed; a step that starts with a dash has no number to write.
fn renumber_as(source: &Source, draft: &Draft, order: &[usize]) -> Vec<Edit> {
    let steps: Vec<&StepDraft> = order.iter().map(|&place| &draft.steps[place]).collect();
    let counted = |step: &StepDraft| match step.number.value {
        StepNumber::Counted(number) => Some(number),
        StepNumber::Template(_) => None,
    };
    let place_of = |number: u32| steps.iter().position(|step| counted(step) == Some(number));
    let mut edits = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let now = edit::number_at(place);
        if counted(step).is_some_and(|number| number != now) && !step.number.span.is_empty() {
            edits.push(Edit::replace(step.number.span, now.to_string()));
        }
        let is_literal = |need: &&Spanned<String>| source.slice(need.span) == need.value;
        for need in step.needs.iter().flatten().filter(is_literal) {
            let now = edit::followed(&need.value, place_of).filter(|now| *now != need.value);
            edits.extend(now.map(|now| Edit::replace(need.span, now)));
        }
    }
    edits
}

/// Moves a step: the texts in `slots` change places, the text between them stays where it is.
pub(super) fn relocate(source: &Source, draft: &Draft, slots: &[Span], step: usize, to: usize) -> Vec<Edit> {
    let order = moved(slots.len(), step, to);
    rearrange(source, slots, &order, &renumber_as(source, draft, &order))
}

/// The order of `count` steps after one of them moved.
pub(super) fn moved(count: usize, step: usize, to: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let place = order.remove(step);
    order.insert(to, place);
    order
}

/// Rearranges the texts in `slots` according to `order`, with new numbers; the text between them stays in place.
pub(super) fn rearrange(source: &Source, slots: &[Span], order: &[usize], renumbered: &[Edit]) -> Vec<Edit> {
    let is_moved = |place: &usize| order[*place] != *place;
    let range = (0..order.len()).find(is_moved).zip((0..order.len()).rfind(is_moved));
    let Some((first, last)) = range else { return renumbered.to_vec() };
    let moving = Span::new(slots[first].start, slots[last].end);
    let mut edits: Vec<Edit> = renumbered.iter().filter(|edit| !moving.covers(edit.span)).cloned().collect();
    for place in first..=last {
        let from = slots[order[place]];
        let shifted = |edit: &Edit| {
            let span = Span::new(edit.span.start - from.start, edit.span.end - from.start);
            Edit::replace(span, edit.text.clone())
        };
        let inner: Vec<Edit> = renumbered.iter().filter(|edit| from.covers(edit.span)).map(shifted).collect();
        edits.push(Edit::replace(slots[place], source::apply(source.slice(from), &inner)));
    }
    edits
}
