//! Divides YAML into units: the keys of a frontmatter, and whole records.

use super::split::MergeSide;
use super::unit::{MergeUnit, UnitKind, UnitText};
use crate::plan::draft::Mark;
use crate::syntax::source::{Detection, Span};
use crate::syntax::yaml;
use crate::syntax::yaml::{FaultKind, YamlNode, YamlStyle, YamlValue};

/// Keys of a step in which planwright records times.
const TIMES: &[&str] = &["startedAt", "completedAt", "started_at", "completed_at"];

/// Spellings of a step's status, for files that belong to no dialect on their own.
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

/// The units of a YAML text; one unit of lines if it is not YAML.
pub(super) fn units<'a>(side: &MergeSide<'a>, span: Span) -> Vec<MergeUnit<'a>> {
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
        let lines = text.unit(Some("yaml".to_owned()), UnitKind::Lines, span);
        if span.is_empty() { Vec::new() } else { vec![lines] }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Top,
    Inner,
}

struct Tree<'s, 'a> {
    side: &'s MergeSide<'a>,
    text: UnitText<'a>,
}

impl<'a> Tree<'_, 'a> {
    /// The keys or items of a map or list of which each starts a line; `None` for anything else.
    fn children(&self, node: &YamlNode, region: Span, depth: Depth) -> Option<Vec<MergeUnit<'a>>> {
        let spans: Vec<Span> = match &node.value {
            YamlValue::Map(entries) => {
                entries.iter().map(|(key, value)| Span::new(key.span.start, value.span.end)).collect()
            }
            YamlValue::List(items) => items.iter().map(|item| item.span).collect(),
            YamlValue::Scalar { .. } => return None,
        };
        if self.text.slice(node.span).starts_with(['{', '[']) {
            return self.bracketed(node, &spans, region, depth);
        }
        let starts: Vec<usize> = spans.iter().map(|span| self.text.line_start(span.start)).collect();
        let is_apart = starts.is_sorted_by(|left, right| left < right);
        if spans.is_empty() || !is_apart || starts[0] < region.start {
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
                YamlValue::Map(entries) => self.entry(&entries[index], lines, depth),
                YamlValue::List(items) => self.item(&items[index], lines),
                YamlValue::Scalar { .. } => return None,
            });
            at = lines.end;
        }
        self.comments(Span::new(at, region.end), &mut units);
        Some(units)
    }

    /// The same for brackets and braces, as JSON has them, if each child and the end are on separate lines. The comma
    /// after a child belongs to the gap: the last child has none.
    fn bracketed(
        &self,
        node: &YamlNode,
        spans: &[Span],
        region: Span,
        depth: Depth,
    ) -> Option<Vec<MergeUnit<'a>>> {
        let starts = spans.iter().map(|span| span.start).chain([node.span.end.saturating_sub(1)]);
        let lines: Vec<usize> = starts.clone().map(|start| self.text.line_start(start)).collect();
        let ends = [node.span.start + 1].into_iter().chain(spans.iter().map(|span| span.end));
        let is_apart = lines.iter().zip(starts).zip(ends).all(|((&line, start), end)| {
            let is_alone = line <= start && self.text.slice(Span::new(line, start)).trim().is_empty();
            let is_behind = end <= line && matches!(self.text.slice(Span::new(end, line)).trim(), "" | ",");
            is_alone && is_behind
        });
        if spans.is_empty() || !is_apart || lines[0] < region.start {
            return None;
        }
        let mut units =
            vec![self.text.piece(Some("open"), UnitKind::Whole, Span::new(region.start, lines[0]))];
        for (index, span) in spans.iter().enumerate() {
            let child = Span::new(lines[index], span.end);
            let mut unit = match &node.value {
                YamlValue::Map(entries) => self.member(&entries[index], child, depth),
                YamlValue::List(items) => self.element(&items[index], child),
                YamlValue::Scalar { .. } => return None,
            };
            unit.gap = self.text.slice(Span::new(span.end, lines[index + 1]));
            units.push(unit);
        }
        let close = Span::new(lines[spans.len()], region.end);
        units.push(self.text.piece(Some("close"), UnitKind::Whole, close));
        Some(units)
    }

    fn member(&self, (key, value): &(YamlNode, YamlNode), span: Span, depth: Depth) -> MergeUnit<'a> {
        let Some(key) = key.text() else {
            return self.text.piece(None, UnitKind::Whole, span);
        };
        let kind = value.text().map_or(UnitKind::Block, |text| self.kind(key, text, span, depth));
        let parts = self.children(value, span, Depth::Inner).unwrap_or_default();
        let kind = if parts.is_empty() && kind == UnitKind::Block { UnitKind::Whole } else { kind };
        MergeUnit { parts, ..self.text.piece(Some(&format!("key:{key}")), kind, span) }
    }

    fn element(&self, item: &YamlNode, span: Span) -> MergeUnit<'a> {
        let step = self.side.step_at(span.start);
        let name = step.map(|step| self.side.names[step].as_str());
        let parts = self.children(item, span, Depth::Inner).unwrap_or_default();
        let kind = match step {
            Some(_) => UnitKind::Step,
            None if parts.is_empty() => UnitKind::Whole,
            None => UnitKind::Block,
        };
        let mut unit = MergeUnit { parts, ..self.text.piece(name, kind, span) };
        if let Some(step) = step {
            unit.rank = super::step::rank(&self.side.draft.steps[step]);
        }
        unit
    }

    fn comments(&self, span: Span, units: &mut Vec<MergeUnit<'a>>) {
        if !span.is_empty() {
            units.push(self.text.unit(None, UnitKind::Lines, span));
        }
    }

    fn entry(&self, (key, value): &(YamlNode, YamlNode), lines: Span, depth: Depth) -> MergeUnit<'a> {
        let Some(key_text) = key.text() else {
            return self.text.unit(None, UnitKind::Lines, lines);
        };
        let name = Some(format!("key:{key_text}"));
        let line_end = self.text.next_line(lines.start, lines.end);
        let is_on_line = value.span.start >= lines.start && value.span.end <= line_end;
        match &value.value {
            YamlValue::Scalar {
                text,
                style: YamlStyle::Plain | YamlStyle::SingleQuoted | YamlStyle::DoubleQuoted,
            } if is_on_line => {
                let kind = self.kind(key_text, text, lines, depth);
                let said = self.text.piece(Some("value"), kind, Span::new(lines.start, value.span.end));
                let tail =
                    self.text.piece(Some("tail"), UnitKind::Whole, Span::new(value.span.end, line_end));
                self.text.group(name, UnitKind::Inline, lines, vec![said, tail])
            }
            YamlValue::List(_) if is_on_line && value.span.len() >= 2 => {
                let inside = Span::new(value.span.start + 1, value.span.end - 1);
                self.text.comma_list(name, lines, inside)
            }
            YamlValue::Map(_) | YamlValue::List(_) | YamlValue::Scalar { .. } => {
                let below = self.text.skip_blank(Span::new(line_end, lines.end));
                match self.children(value, Span::new(below, lines.end), Depth::Inner) {
                    Some(children) => {
                        let head = self.text.unit(
                            Some("head".to_owned()),
                            UnitKind::Whole,
                            Span::new(lines.start, below),
                        );
                        let parts = [head].into_iter().chain(children).collect();
                        self.text.group(name, UnitKind::Block, lines, parts)
                    }
                    None => self.text.unit(name, UnitKind::Lines, lines),
                }
            }
        }
    }

    fn item(&self, item: &YamlNode, lines: Span) -> MergeUnit<'a> {
        let step = self.side.step_at(lines.start);
        let name = step.map(|step| self.side.names[step].clone());
        let Some(parts) = self.children(item, lines, Depth::Inner) else {
            return self.text.unit(name, UnitKind::Item, lines);
        };
        let kind = if step.is_some() { UnitKind::Step } else { UnitKind::Block };
        let mut unit = self.text.group(name, kind, lines, parts);
        if let Some(step) = step {
            unit.rank = super::step::rank(&self.side.draft.steps[step]);
        }
        unit
    }

    fn kind(&self, key: &str, value: &str, lines: Span, depth: Depth) -> UnitKind {
        let marks = self.side.draft.steps.iter().flat_map(|step| &step.marks);
        if let Some(mark) = marks.into_iter().find(|mark| lines.covers(mark.span) && !mark.span.is_empty()) {
            return UnitKind::Claim(Some(mark.value));
        }
        let is_unread = matches!(self.side.source.told(), Detection::Nothing);
        if key == "status" && (depth == Depth::Inner || is_unread) {
            let claim = CLAIMS.iter().find(|(word, _)| *word == value).map(|&(_, mark)| mark);
            return UnitKind::Claim(claim);
        }
        let is_owned = depth == Depth::Top && self.side.is_owned(key);
        if is_owned || TIMES.contains(&key) {
            return UnitKind::Owned { key: key.to_owned(), value: value.to_owned() };
        }
        UnitKind::Value(value.to_owned())
    }
}
