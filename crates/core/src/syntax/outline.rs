//! The outline of a Markdown text: sections, list items and dividing lines. Knows no names of sections and no fields.

use crate::syntax::markdown::{Blocks, Heading};
use crate::syntax::source::{Source, Span, Spanned};

/// A heading and the text below it.
#[derive(Debug, Clone)]
pub(crate) struct Section<T> {
    pub(crate) heading: Heading,
    /// Without `#` and underline.
    pub(crate) title: Spanned<String>,
    /// What the dialect reads in the title.
    pub(crate) read: T,
    /// The start of the next heading of any level.
    pub(crate) own_end: usize,
    /// The start of the next heading of the same or a higher level.
    pub(crate) end: usize,
    /// The enclosing section.
    pub(crate) parent: Option<usize>,
}

impl<T> Section<T> {
    pub(crate) fn start(&self) -> usize {
        self.heading.span.start
    }

    /// The text below the heading, including subsections.
    pub(crate) fn below(&self) -> Span {
        Span::new(self.heading.below.min(self.end), self.end)
    }

    /// The text between the heading and the next one.
    pub(crate) fn own(&self) -> Span {
        Span::new(self.heading.below.min(self.own_end), self.own_end)
    }
}

/// The sections of a text, in file order. Text above a line of dashes is rarely meant as a heading, so `read` decides
/// which headings count.
pub(crate) fn sections<T>(
    source: &Source,
    blocks: &Blocks,
    mut read: impl FnMut(&Heading, &Spanned<String>) -> Option<T>,
) -> Vec<Section<T>> {
    let end = blocks.body.end;
    let mut sections: Vec<Section<T>> = Vec::with_capacity(blocks.headings.len());
    let mut open: Vec<usize> = Vec::new();
    for &heading in &blocks.headings {
        let title = title(source, &heading);
        let Some(read) = read(&heading, &title) else { continue };
        let start = heading.span.start;
        if let Some(last) = sections.last_mut() {
            last.own_end = start;
        }
        while let Some(above) = open.pop_if(|above| sections[*above].heading.level >= heading.level) {
            sections[above].end = start;
        }
        let parent = open.last().copied();
        open.push(sections.len());
        sections.push(Section { heading, title, read, own_end: end, end, parent });
    }
    sections
}

/// The text of a heading without its `#` and underline.
fn title(source: &Source, heading: &Heading) -> Spanned<String> {
    let start = heading.span.start;
    let line = Span::new(start, source.line_at(start).end.clamp(start, heading.span.end));
    let text = source.slice(line).trim_start();
    let text = if heading.is_underlined { text } else { text.trim_start_matches('#').trim_start() };
    let (start, text) = (line.end - text.len(), text.trim_end());
    let open = text.trim_end_matches('#');
    let is_closed = !heading.is_underlined && (open.is_empty() || open.ends_with([' ', '\t']));
    let text = if is_closed { open.trim_end() } else { text };
    source.spanned(Span::new(start, start + text.len()))
}

/// The level and text of a line that is no heading only because nothing separates its `#` from its text.
pub(crate) fn glued_heading(line: &str) -> Option<(u8, &str)> {
    let title = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - title.len()).ok().filter(|level| (2..=6).contains(level))?;
    (!title.is_empty() && !title.starts_with([' ', '\t'])).then_some((level, title))
}

/// The text after the bullet or number at the start of `text`.
pub(crate) fn behind_marker(text: &str) -> Option<&str> {
    match text.bytes().take_while(u8::is_ascii_digit).count() {
        0 => text.strip_prefix(['-', '*', '+']),
        digits => text[digits..].strip_prefix(['.', ')']),
    }
}

/// The text after the bullet of a list item; `None` if it starts otherwise.
pub(crate) fn behind_bullet(text: &str) -> Option<&str> {
    text.strip_prefix(['-', '*', '+']).filter(|behind| behind.starts_with([' ', '\t']))
}

/// The indentation of a line; a tab counts as four.
pub(crate) fn indent(text: &str) -> usize {
    let blanks = text.chars().take_while(|character| matches!(character, ' ' | '\t'));
    blanks.map(|blank| if blank == '\t' { 4 } else { 1 }).sum()
}

/// A dividing line of dashes, stars or underscores.
pub(crate) fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|character| !character.is_whitespace());
    let Some(first) = marks.next().filter(|mark| ['-', '*', '_'].contains(mark)) else { return false };
    marks.clone().count() >= 2 && marks.all(|mark| mark == first)
}
