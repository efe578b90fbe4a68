//! Finds tasks that are list items: those with boxes, and those below a heading that promises work.

use super::field;
use super::heading;
use super::heading::{HeadingKind, HeadingRead};
use super::outline::{NamedSection, NamedTask, Shape, promises_work};
use super::status;
use crate::plan::draft::Mark;
use crate::syntax::markdown::Blocks;
use crate::syntax::source::{Source, Span, Spanned};

/// Every list item with a box.
pub(super) fn boxes(source: &Source, blocks: &Blocks, sections: &[NamedSection]) -> Vec<NamedTask> {
    let body = Span::new(blocks.body, source.text().len());
    let boxed = |line: Span| {
        let text = source.slice(line);
        let item = field::item(text).or_else(|| bare_box(text))?;
        let behind = &text[item..];
        let (length, _) = status::leading_box(behind).or_else(|| unknown_box(behind))?;
        let is_set_off = behind[length..].is_empty() || behind[length..].starts_with([' ', '\t']);
        let start = line.start + item;
        is_set_off.then(|| (line, start + length, Span::new(start + 1, start + length - 1)))
    };
    let lines: Vec<_> = field::text_lines(source, blocks, body).filter_map(boxed).collect();
    let reach = |index: usize| {
        let line = lines[index].0;
        let next = lines.get(index + 1).map_or(body.end, |(next, ..)| next.start);
        Reach { line, end: item_end(source, sections, line, next) }
    };
    lines
        .iter()
        .enumerate()
        .map(|(index, &(_, behind, tick))| listed(source, reach(index), behind, Shape::Boxed(tick)))
        .collect()
}

/// The first line of a list item, and where the item ends.
#[derive(Clone, Copy)]
struct Reach {
    line: Span,
    end: usize,
}

/// The offset of a box outside a list with text after it.
fn bare_box(text: &str) -> Option<usize> {
    let bare = text.trim_start();
    let (length, _) = status::leading_box(bare)?;
    (length > 2 && !bare[length..].trim().is_empty()).then(|| text.len() - bare.len())
}

/// A box with unknown content: `[?]`.
fn unknown_box(text: &str) -> Option<(usize, Option<Mark>)> {
    let mut characters = text.strip_prefix('[')?.chars();
    let inner = characters.next().filter(|inner| !inner.is_alphanumeric())?;
    (characters.next()? == ']').then_some((2 + inner.len_utf8(), None))
}

fn listed(source: &Source, reach: Reach, title: usize, shape: Shape) -> NamedTask {
    let title = field::trimmed(source, Span::new(title.min(reach.line.end), reach.line.end));
    let label = Spanned::new(String::new(), Span::at(title.start));
    let text = Spanned::new(source.slice(title).to_owned(), title);
    let read = match shape {
        Shape::Listed => {
            HeadingRead { kind: HeadingKind::Plain, label, number: None, ..heading::read(source, title) }
        }
        Shape::Boxed(_) | Shape::Heading => {
            HeadingRead { kind: HeadingKind::Plain, label, number: None, marks: Vec::new(), title: text }
        }
    };
    NamedTask {
        shape,
        whole: Span::new(reach.line.start, reach.end),
        heading: reach.line,
        level: 0,
        read,
        below: Span::new(source.next_line(reach.line.end).min(reach.end), reach.end),
        own_end: reach.end,
    }
}

/// The end of a list item: before the first line that is not indented below it.
fn item_end(source: &Source, sections: &[NamedSection], line: Span, next: usize) -> usize {
    let indent = field::indent(source.slice(line));
    let heading = sections.partition_point(|section| section.heading.span.start <= line.start);
    let limit = sections.get(heading).map_or(next, |section| section.heading.span.start.min(next));
    let mut end = source.next_line(line.end).min(limit);
    let mut at = end;
    while at < limit {
        let inner = Span::new(at, source.line_at(at).end.min(limit));
        let text = source.slice(inner);
        let after = source.next_line(at).max(at + 1).min(limit);
        let is_blank = text.trim().is_empty();
        if !is_blank && field::indent(text) <= indent {
            break;
        }
        if !is_blank {
            end = after;
        }
        at = after;
    }
    end
}

/// The list below a heading that promises work: its numbered items, or otherwise its bullets.
pub(super) fn items(source: &Source, blocks: &Blocks, sections: &[NamedSection]) -> Vec<NamedTask> {
    let found = |is_item: &dyn Fn(&str) -> bool| {
        let mut tasks = Vec::new();
        for section in sections.iter().filter(|section| promises_work(section)) {
            let lines: Vec<Span> = field::text_lines(source, blocks, section.own())
                .filter(|&line| {
                    let text = source.slice(line);
                    field::indent(text) < 2 && field::item(text).is_some() && is_item(text.trim_start())
                })
                .collect();
            for (index, &line) in lines.iter().enumerate() {
                let next = lines.get(index + 1).map_or(section.own_end, |next| next.start);
                let reach = Reach { line, end: item_end(source, sections, line, next) };
                let title = line.start + field::item(source.slice(line)).unwrap_or(0);
                tasks.push(listed(source, reach, title, Shape::Listed));
            }
        }
        tasks
    };
    let numbered = found(&|text| text.starts_with(|first: char| first.is_ascii_digit()));
    if numbered.is_empty() { found(&|_| true) } else { numbered }
}
