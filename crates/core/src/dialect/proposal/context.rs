//! Parses everything in a proposal except the steps: context, risks and other text of the author, all of which a person
//! approves. Items below `### Notes` are notes added later.

use super::item;
use super::item::ItemMarker;
use super::outline::{ProposalOutline, REJECTIONS};
use crate::plan::draft::Draft;
use crate::syntax::source::{Source, Span, Spanned};

/// Reads the context and the notes of a draft whose steps are read.
pub(super) fn read(source: &Source, outline: &ProposalOutline, draft: &mut Draft) {
    let notes = notes(source, outline);
    let mut gone: Vec<Span> = draft.steps.iter().map(|step| step.whole.0).collect();
    gone.extend(notes.iter().map(|note| note.span));
    let title = draft.title.as_ref().map(|title| title.span);
    // A section with only notes is not the author's text.
    let bare = outline.notes().filter(|section| is_bare(source, section.below(), &notes));
    let named = [bare, outline.context()].map(|section| section.map(|section| section.heading.span));
    for section in &outline.sections {
        let span = section.heading.span;
        let is_title = title.is_some_and(|title| span.covers(title));
        if is_title || section.read.is_steps() || named.contains(&Some(span)) {
            gone.push(span);
        }
        // planwright writes the comments on earlier revisions; agents don't get them.
        if section.read.0 == REJECTIONS {
            gone.push(Span::new(span.start, section.end));
        }
    }
    gone.sort_unstable();
    draft.context = text(source, outline, &gone);
    draft.notes = notes;
}

/// Whether a section has nothing but these notes.
fn is_bare(source: &Source, reach: Span, notes: &[Spanned<String>]) -> bool {
    let mut at = reach.start;
    for note in notes.iter().filter(|note| reach.covers(note.span)) {
        if !source.slice(Span::new(at.min(note.span.start), note.span.start)).trim().is_empty() {
            return false;
        }
        at = note.span.end;
    }
    source.slice(Span::new(at.min(reach.end), reach.end)).trim().is_empty()
}

/// The items below the notes heading, each with its continuation lines.
fn notes(source: &Source, outline: &ProposalOutline) -> Vec<Spanned<String>> {
    let Some(section) = outline.notes() else { return Vec::new() };
    let mut notes: Vec<Spanned<String>> = Vec::new();
    let mut is_open = false;
    for line in source.lines_in(section.below()) {
        let text = source.slice(line).trim();
        let is_text = !outline.is_fenced(line.start) && outline.heading_at(line.start).is_none();
        let is_indented = source.slice(line).starts_with([' ', '\t']);
        let item =
            item::read(text).filter(|item| item.marker == ItemMarker::Bullet && !is_indented && is_text);
        match (item, notes.last_mut()) {
            (Some(item), _) => {
                is_open = true;
                let end = line.start + source.slice(line).trim_end().len();
                notes.push(Spanned::new(item.text(text).to_owned(), Span::new(line.start, end)));
            }
            (None, Some(note)) if is_open && is_text && !text.is_empty() => {
                note.value.push(' ');
                note.value.push_str(text);
                note.span.end = line.start + source.slice(line).trim_end().len();
            }
            (None, Some(_) | None) => is_open = false,
        }
    }
    notes
}

/// The text outside of `gone`, with a blank line before every heading and no double blank lines outside of code.
fn text(source: &Source, outline: &ProposalOutline, gone: &[Span]) -> Option<Spanned<String>> {
    let mut pieces: Vec<String> = vec![String::new()];
    let mut span: Option<Span> = None;
    let mut next_gone = 0;
    for line in source.lines_in(outline.blocks.body) {
        while gone.get(next_gone).is_some_and(|gone| gone.end <= line.start) {
            next_gone += 1;
        }
        let is_gone = gone.get(next_gone).is_some_and(|gone| gone.start <= line.end && line.start < gone.end);
        let begins_heading =
            outline.heading_at(line.start).is_some_and(|section| line.covers(Span::at(section.start())));
        if is_gone || begins_heading {
            pieces.push(String::new());
        }
        let text = source.slice(line).trim_end();
        let piece = pieces.last_mut()?;
        let is_second_blank = text.is_empty() && (piece.is_empty() || piece.ends_with("\n\n"));
        if is_gone || (is_second_blank && !outline.is_fenced(line.start)) {
            continue;
        }
        piece.push_str(text);
        piece.push('\n');
        if !text.is_empty() {
            span = Some(Span::new(span.map_or(line.start, |span| span.start), line.start + text.len()));
        }
    }
    let pieces: Vec<&str> =
        pieces.iter().map(|piece| piece.trim_matches('\n')).filter(|piece| !piece.is_empty()).collect();
    Some(Spanned::new(pieces.join("\n\n"), span?)).filter(|text| !text.value.is_empty())
}
