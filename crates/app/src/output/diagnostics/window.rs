//! The few lines of a file that a diagnostic shows: hidden characters spelled out, long lines and long middles left out.
//! Owns the way from a place in the file to the place in what is shown; never touches the file.

use std::ops::Range;

use planwright_engine::api::{Source, Span, is_unprintable};

use crate::output::clean::escape;
use crate::output::glyph::Glyphs;

/// Some lines of a source as they are shown.
pub(super) struct Window {
    /// The lines, each ended by LF as far as it is ended in the file.
    pub(super) text: String,
    /// The number of the first line.
    pub(super) line: usize,
    /// Pairs of an offset in the file and the offset in `text` of the same character, ascending.
    places: Vec<(usize, usize)>,
}

/// A longer line is cut. Twice what the widest usual terminal shows, so that the cut is seldom seen.
const LINE_BYTES_MAX: usize = 600;

/// Characters kept before the first marked part of a truncated line.
const LEAD_BYTES: usize = 120;

/// Lines further from both ends of every place are folded away by the renderer, so their text is not needed.
const NEAR_LINES: usize = 8;

impl Window {
    /// The lines from the first to the last of `spans`, which are inside the text and at least one.
    pub(super) fn new(source: &Source, spans: &[Span], glyphs: Glyphs) -> Self {
        let first = spans.iter().map(|span| span.start).min().unwrap_or(0);
        let last = spans.iter().map(|span| span.end).max().unwrap_or(first);
        let last_start = source.line_at(last).start;
        let edges: Vec<usize> = spans.iter().flat_map(|span| lines(source, *span)).collect();
        let mut window = Self { text: String::new(), line: source.position(first).line, places: Vec::new() };
        let mut start = source.line_at(first).start;
        let mut number = window.line;
        loop {
            let line = source.line_at(start);
            let next = source.next_line(start);
            if edges.iter().any(|edge| edge.abs_diff(number) <= NEAR_LINES) {
                window.show_line(source, line, focus(line, spans), glyphs);
            }
            if next > line.end {
                window.places.push((line.end, window.text.len()));
                window.text.push('\n');
            }
            if start >= last_start {
                return window;
            }
            start = next;
            number += 1;
        }
    }

    /// Where a span of the file is in the text.
    pub(super) fn locate(&self, span: Span) -> Range<usize> {
        let start = self.offset(span.start);
        start..self.offset(span.end).max(start)
    }

    fn offset(&self, at: usize) -> usize {
        let index = self.places.partition_point(|&(outer, _)| outer < at);
        self.places.get(index).map_or(self.text.len(), |&(_, inner)| inner)
    }

    fn show_line(&mut self, source: &Source, line: Span, focus: usize, glyphs: Glyphs) {
        let text = source.text();
        let kept = if line.len() > LINE_BYTES_MAX {
            let start = text.floor_char_boundary(focus.saturating_sub(LEAD_BYTES).max(line.start));
            let end = text.floor_char_boundary((start + LINE_BYTES_MAX).min(line.end));
            Span::new(start, end)
        } else {
            line
        };
        if kept.start > line.start {
            self.text.push_str(glyphs.ellipsis());
        }
        for (at, character) in source.slice(kept).char_indices() {
            self.places.push((kept.start + at, self.text.len()));
            match character {
                // The mark belongs to the encoding of the file, not to its first word.
                '\u{feff}' if kept.start + at == source.part_at(kept.start + at).span.start => {}
                '\t' => self.text.push('\t'),
                // The joiners are needed elsewhere; here a rule may point at one.
                '\u{200c}' | '\u{200d}' => escape(character, &mut self.text),
                _ if is_unprintable(character) => escape(character, &mut self.text),
                _ => self.text.push(character),
            }
        }
        if kept.end < line.end {
            self.places.push((kept.end, self.text.len()));
            self.text.push_str(glyphs.ellipsis());
        }
    }
}

/// Returns `path:line:col` of a byte offset.
pub(super) fn place(source: &Source, offset: usize) -> String {
    let offset = source.within(Span::at(offset)).start;
    format!("{}:{}", source.name_at(offset), source.position(offset))
}

/// Returns `span` without trailing line breaks.
pub(super) fn trimmed(source: &Source, span: Span) -> Span {
    Span::new(span.start, span.start + source.slice(span).trim_end_matches(['\r', '\n']).len())
}

/// Returns the numbers of the first and the last line of `span`.
pub(super) fn lines(source: &Source, span: Span) -> [usize; 2] {
    [source.position(span.start).line, source.position(span.end).line]
}

/// Splits things into groups whose places are in one file and at most `apart_max` lines apart. Groups and things are in file
/// order.
pub(super) fn groups<T>(
    source: &Source,
    mut things: Vec<T>,
    apart_max: usize,
    span: impl Fn(&T) -> Span,
) -> Vec<Vec<T>> {
    things.sort_by_key(|thing| span(thing));
    let mut groups: Vec<Vec<T>> = Vec::new();
    let (mut file, mut reach) = (Span::default(), 0);
    for thing in things {
        let [first, last] = lines(source, span(&thing));
        let own = source.part_at(span(&thing).start).span;
        match groups.last_mut() {
            Some(group) if own == file && first <= reach + apart_max => group.push(thing),
            Some(_) | None => groups.push(vec![thing]),
        }
        reach = if own == file { reach.max(last) } else { last };
        file = own;
    }
    groups
}

/// The first place on `line` that one of `spans` means.
fn focus(line: Span, spans: &[Span]) -> usize {
    let on_line = spans.iter().filter(|span| span.start <= line.end && span.end >= line.start);
    on_line.map(|span| span.start.max(line.start)).min().unwrap_or(line.start)
}
