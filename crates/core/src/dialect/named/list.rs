//! Finds tasks that are list items: those with boxes, and those below a heading that promises work.

use super::field;
use super::heading;
use super::heading::{HeadingKind, HeadingRead};
use super::outline::{NamedSection, NamedTask, Shape, promises_work};
use super::status;
use crate::plan::draft::Mark;
use crate::syntax::markdown::Blocks;
use crate::syntax::outline::indent;
use crate::syntax::source::{Source, Span, Spanned};

/// Every list item with a box.
pub(super) fn boxes(source: &Source, blocks: &Blocks, sections: &[NamedSection]) -> Vec<NamedTask> {
    let body = blocks.body;
    let boxed = |line: Span| {
        let item = field::item(source, line).or_else(|| bare_box(source, line))?;
        let behind = source.slice(item);
        let (length, _) = status::leading_box(behind).or_else(|| unknown_box(behind))?;
        let is_set_off = behind[length..].is_empty() || behind[length..].starts_with([' ', '\t']);
        is_set_off.then(|| (line, item.start + length, Span::new(item.start + 1, item.start + length - 1)))
    };
    let lines: Vec<_> = blocks.text_lines(source, body).filter_map(boxed).collect();
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

/// A box outside a list with text after it.
fn bare_box(source: &Source, line: Span) -> Option<Span> {
    let bare = source.slice(line).trim_start();
    let (length, _) = status::leading_box(bare)?;
    (length > 2 && !bare[length..].trim().is_empty()).then(|| Span::new(line.end - bare.len(), line.end))
}

/// A box with unknown content: `[?]`.
fn unknown_box(text: &str) -> Option<(usize, Option<Mark>)> {
    let mut characters = text.strip_prefix('[')?.chars();
    let inner = characters.next().filter(|inner| !inner.is_alphanumeric())?;
    (characters.next()? == ']').then_some((2 + inner.len_utf8(), None))
}

fn listed(source: &Source, reach: Reach, title: usize, shape: Shape) -> NamedTask {
    let title = source.trimmed(Span::new(title.min(reach.line.end), reach.line.end));
    let label = Spanned::new(String::new(), Span::at(title.start));
    let text = source.spanned(title);
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
    let outer = indent(source.slice(line));
    let heading = sections.partition_point(|section| section.start() <= line.start);
    let limit = sections.get(heading).map_or(next, |section| section.start().min(next));
    let mut end = source.next_line(line.end).min(limit);
    for inner in source.lines_in(Span::new(end, limit)) {
        let text = source.slice(inner);
        if !text.trim().is_empty() {
            if indent(text) <= outer {
                break;
            }
            end = source.next_line(inner.start).min(limit);
        }
    }
    end
}

/// The list below a heading that promises work: its numbered items, or otherwise its bullets.
pub(super) fn items(source: &Source, blocks: &Blocks, sections: &[NamedSection]) -> Vec<NamedTask> {
    let found = |is_item: &dyn Fn(&str) -> bool| {
        let mut tasks = Vec::new();
        for section in sections.iter().filter(|section| promises_work(section)) {
            let item = |line: Span| {
                let text = source.slice(line);
                let is_one = indent(text) < 2 && is_item(text.trim_start());
                Some((line, field::item(source, line).filter(|_| is_one)?))
            };
            let items: Vec<(Span, Span)> =
                blocks.text_lines(source, section.own()).filter_map(item).collect();
            for (index, &(line, item)) in items.iter().enumerate() {
                let next = items.get(index + 1).map_or(section.own_end, |(next, _)| next.start);
                let reach = Reach { line, end: item_end(source, sections, line, next) };
                tasks.push(listed(source, reach, item.start, Shape::Listed));
            }
        }
        tasks
    };
    let numbered = found(&|text| text.starts_with(|first: char| first.is_ascii_digit()));
    if numbered.is_empty() { found(&|_| true) } else { numbered }
}
