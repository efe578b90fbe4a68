//! Edits that reorder steps, for dialects that keep them one after the other in a text.

use crate::plan::draft::{Draft, StepDraft, StepNumber};
use crate::plan::edit;
use crate::syntax::source;
use crate::syntax::source::{Edit, Source, Span, Spanned};

/// The step without trailing blank lines; blanks at the end of its heading are part of it.
pub(super) fn slot(source: &Source, step: &StepDraft) -> Span {
    let whole = step.whole.0;
    let end = whole.start + source.slice(whole).trim_end().len();
    Span::new(whole.start, end.max(step.heading.0.end))
}

/// Numbers the steps by their position in `order`, which lists where each was. Numeric needs follow, if they are
/// written as they are parsed; a step that starts with a dash has no number to write.
pub(super) fn renumber(
    draft: &Draft,
    order: &[usize],
    is_literal: impl Fn(&Spanned<String>) -> bool,
) -> Vec<Edit> {
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
        for need in step.needs.iter().flatten().filter(|need| is_literal(need)) {
            let now = edit::followed(&need.value, place_of).filter(|now| *now != need.value);
            edits.extend(now.map(|now| Edit::replace(need.span, now)));
        }
    }
    edits
}

/// The order of `count` steps after one of them moved.
pub(super) fn moved(count: usize, step: usize, to: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let place = order.remove(step);
    order.insert(to, place);
    order
}

/// Rearranges the texts in `slots` according to `order`, with new numbers; the text between them stays in place.
pub(super) fn relocate(source: &Source, slots: &[Span], order: &[usize], renumbered: &[Edit]) -> Vec<Edit> {
    let is_moved = |place: &usize| order[*place] != *place;
    let range = (0..order.len()).find(is_moved).zip((0..order.len()).rfind(is_moved));
    let Some((first, last)) = range else { return renumbered.to_vec() };
    let moving = Span::new(slots[first].start, slots[last].end);
    let mut edits: Vec<Edit> = renumbered.iter().filter(|edit| !moving.covers(edit.span)).cloned().collect();
    for place in first..=last {
        let from = slots[order[place]];
        let shifted = |edit: &Edit| {
            Edit::replace(
                Span::new(edit.span.start - from.start, edit.span.end - from.start),
                edit.text.clone(),
            )
        };
        let inner: Vec<Edit> = renumbered.iter().filter(|edit| from.covers(edit.span)).map(shifted).collect();
        edits.push(Edit::replace(slots[place], source::apply(source.slice(from), &inner)));
    }
    edits
}
