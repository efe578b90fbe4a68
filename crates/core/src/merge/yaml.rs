//! Divides YAML into units: the keys of a frontmatter, and whole records.

use super::divide::Side;
use super::unit::{Kind, Text, Unit};
use crate::draft::Mark;
use crate::source::{Span, Told};
use crate::yaml::{self, FaultKind, Node, Style, Value};

/// Keys of a step in which the harness writes down when something happened.
const TIMES: &[&str] = &["startedAt", "completedAt", "started_at", "completed_at"];

/// Words for a step's status, for files that no dialect reads alone.
const CLAIMS: &[(&str, Mark)] = &[
    ("done", Mark::Done),
    ("complete", Mark::Done),
    ("completed", Mark::Done),
    ("in_progress", Mark::Running),
    ("in-progress", Mark::Running),
    ("running", Mark::Running),
    ("failed", Mark::Failed),
    ("skipped", Mark::Skipped),
];

/// The units of a YAML text; one unit of lines where it is none.
pub(super) fn units<'a>(side: &Side<'a>, span: Span) -> Vec<Unit<'a>> {
    let text = side.text();
    let (root, faults) = yaml::read(text.slice(span), span.start);
    let is_broken = faults.iter().any(|fault| {
        matches!(
            fault.kind,
            FaultKind::Syntax(_) | FaultKind::TooDeep | FaultKind::TooManyNodes | FaultKind::SecondDocument
        )
    });
    let tree = Tree { side, text };
    let parts = root.filter(|_| !is_broken).and_then(|root| tree.children(&root, span, Depth::Top));
    parts.unwrap_or_else(|| {
        let lines = text.unit(Some("yaml".to_owned()), Kind::Lines, span);
        if span.is_empty() { Vec::new() } else { vec![lines] }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Top,
    Inner,
}

struct Tree<'s, 'a> {
    side: &'s Side<'a>,
    text: Text<'a>,
}

impl<'a> Tree<'_, 'a> {
    /// The keys or items of a map or list of which each begins a line; `None` for anything else.
    fn children(&self, node: &Node, region: Span, depth: Depth) -> Option<Vec<Unit<'a>>> {
        let spans: Vec<Span> = match &node.value {
            Value::Map(entries) => {
                entries.iter().map(|(key, value)| Span::new(key.span.start, value.span.end)).collect()
            }
            Value::List(items) => items.iter().map(|item| item.span).collect(),
            Value::Scalar { .. } => return None,
        };
        let is_flow = self.text.slice(node.span).starts_with(['{', '[']);
        let starts: Vec<usize> = spans.iter().map(|span| self.text.line_start(span.start)).collect();
        let is_apart = starts.is_sorted_by(|left, right| left < right);
        if is_flow || spans.is_empty() || !is_apart || starts[0] < region.start {
            return None;
        }
        let mut units = Vec::new();
        let mut at = region.start;
        for (index, span) in spans.iter().enumerate() {
            self.comments(Span::new(at, starts[index]), &mut units);
            let last = span.end.max(starts[index] + 1) - 1;
            let end = self.text.next_line(last.min(region.end), region.end);
            let end = self.text.skip_blank(Span::new(end, region.end));
            let lines = Span::new(starts[index], end.max(starts[index]));
            units.push(match &node.value {
                Value::Map(entries) => self.entry(&entries[index], lines, depth),
                Value::List(items) => self.item(&items[index], lines),
                Value::Scalar { .. } => return None,
            });
            at = lines.end;
        }
        self.comments(Span::new(at, region.end), &mut units);
        Some(units)
    }

    fn comments(&self, span: Span, units: &mut Vec<Unit<'a>>) {
        if !span.is_empty() {
            units.push(self.text.unit(None, Kind::Lines, span));
        }
    }

    fn entry(&self, (key, value): &(Node, Node), lines: Span, depth: Depth) -> Unit<'a> {
        let Value::Scalar { text: key_text, .. } = &key.value else {
            return self.text.unit(None, Kind::Lines, lines);
        };
        let name = Some(format!("key:{key_text}"));
        let line_end = self.text.next_line(lines.start, lines.end);
        let is_on_line = value.span.start >= lines.start && value.span.end <= line_end;
        match &value.value {
            Value::Scalar { text, style: Style::Plain | Style::SingleQuoted | Style::DoubleQuoted }
                if is_on_line =>
            {
                let kind = self.kind(key_text, text, lines, depth);
                let said = self.text.piece(Some("value"), kind, Span::new(lines.start, value.span.end));
                let tail = self.text.piece(Some("tail"), Kind::Whole, Span::new(value.span.end, line_end));
                self.text.group(name, Kind::Inline, lines, vec![said, tail])
            }
            Value::List(_) if is_on_line && value.span.len() >= 2 => {
                let inside = Span::new(value.span.start + 1, value.span.end - 1);
                self.text.comma_list(name, lines, inside)
            }
            Value::Map(_) | Value::List(_) | Value::Scalar { .. } => {
                let below = self.text.skip_blank(Span::new(line_end, lines.end));
                match self.children(value, Span::new(below, lines.end), Depth::Inner) {
                    Some(children) => {
                        let head = self.text.unit(
                            Some("head".to_owned()),
                            Kind::Whole,
                            Span::new(lines.start, below),
                        );
                        let parts = [head].into_iter().chain(children).collect();
                        self.text.group(name, Kind::Block, lines, parts)
                    }
                    None => self.text.unit(name, Kind::Lines, lines),
                }
            }
        }
    }

    fn item(&self, item: &Node, lines: Span) -> Unit<'a> {
        let step = self.side.step_at(lines.start);
        let name = step.map(|step| self.side.names[step].clone());
        let Some(parts) = self.children(item, lines, Depth::Inner) else {
            return self.text.unit(name, Kind::Item, lines);
        };
        let kind = if step.is_some() { Kind::Step } else { Kind::Block };
        let mut unit = self.text.group(name, kind, lines, parts);
        if let Some(step) = step {
            unit.rank = super::step::rank(&self.side.draft.steps[step]);
        }
        unit
    }

    fn kind(&self, key: &str, value: &str, lines: Span, depth: Depth) -> Kind {
        let marks = self.side.draft.steps.iter().flat_map(|step| &step.marks);
        if let Some(mark) = marks.into_iter().find(|mark| lines.covers(mark.span) && !mark.span.is_empty()) {
            return Kind::Claim(Some(mark.value));
        }
        let is_unread = matches!(self.side.source.told(), Told::Nothing);
        if key == "status" && (depth == Depth::Inner || is_unread) {
            let claim = CLAIMS.iter().find(|(word, _)| *word == value).map(|&(_, mark)| mark);
            return Kind::Claim(claim);
        }
        let is_owned = depth == Depth::Top && self.side.is_owned(key);
        if is_owned || TIMES.contains(&key) {
            return Kind::Owned { key: key.to_owned(), value: value.to_owned() };
        }
        Kind::Value(value.to_owned())
    }
}
