//! Divides a plan file of any dialect into units: by the draft for steps and fields, and by Markdown syntax for
//! everything else.

use super::unit::{MergeUnit, UnitKind, UnitText};
use super::yaml;
use crate::dialect::DIALECTS;
use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, DraftField, FieldDraft, StepDraft};
use crate::syntax::markdown::{Blocks, Code, Heading};
use crate::syntax::outline::behind_marker;
use crate::syntax::source::{Detection, Source, Span, item_at, retain_disjoint};

/// What is known of one of the three texts.
pub(super) struct MergeSide<'a> {
    pub(super) source: &'a Source,
    pub(super) draft: &'a Draft,
    /// The name of every step in all three texts.
    pub(super) names: &'a [String],
}

impl<'a> MergeSide<'a> {
    /// The units of the whole text.
    pub(super) fn units(&self) -> Vec<MergeUnit<'a>> {
        let (text, parts) = (self.text(), self.source.parts());
        if let [only] = parts {
            return self.file(only.span, self.source.place());
        }
        let mut from = 0;
        let files = parts.iter().map(|part| {
            let head = text.unit(Some("path".to_owned()), UnitKind::Whole, Span::new(from, part.span.start));
            let inner = [head].into_iter().chain(self.file(part.span, &part.path)).collect();
            let whole = Span::new(from, part.span.end);
            from = part.span.end;
            text.group(Some(format!("file:{}", part.path)), UnitKind::Block, whole, inner)
        });
        files.collect()
    }

    pub(super) fn text(&self) -> UnitText<'a> {
        UnitText(self.source.text())
    }

    /// Whether planwright writes this key. A file that is not a plan may be part of one in any dialect.
    pub(super) fn is_owned(&self, key: &str) -> bool {
        match self.source.told() {
            Detection::Nothing => DIALECTS.iter().any(|dialect| dialect.owned.contains(&key)),
            Detection::Unasked | Detection::By(_) | Detection::Forced => {
                self.source.dialect().owned.contains(&key)
            }
        }
    }

    /// The step that starts on the line at `start`.
    pub(super) fn step_at(&self, start: usize) -> Option<usize> {
        let text = self.text();
        self.draft.steps.iter().position(|step| text.line_start(step.whole.0.start) == start)
    }

    fn file(&self, span: Span, path: &str) -> Vec<MergeUnit<'a>> {
        let is_data = [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending));
        if is_data || self.source.dialect().name == "record" {
            return yaml::units(self, span);
        }
        let (text, parts) = (self.text(), frontmatter::split_part(self.source, span));
        let Some((block, inner)) = parts.block.zip(parts.yaml) else {
            return self.body(span);
        };
        let mut units = Vec::new();
        if block.start > span.start {
            units.push(text.unit(
                Some("lead".to_owned()),
                UnitKind::Whole,
                Span::new(span.start, block.start),
            ));
        }
        let fence = |name: &str, span: Span| text.unit(Some(name.to_owned()), UnitKind::Whole, span);
        let mut keys = vec![fence("open", Span::new(block.start, inner.start))];
        keys.extend(yaml::units(self, inner));
        keys.push(fence("close", Span::new(inner.end, block.end)));
        // Blank lines after the block are its gap, so that a changed body leaves the block alone.
        let end = text.skip_blank(Span::new(parts.body, span.end));
        units.push(text.group(
            Some("frontmatter".to_owned()),
            UnitKind::Block,
            Span::new(block.start, end),
            keys,
        ));
        units.extend(self.body(Span::new(end, span.end)));
        units
    }

    /// The preamble, the sections and the steps of a Markdown text.
    fn body(&self, span: Span) -> Vec<MergeUnit<'a>> {
        let text = self.text();
        let part = Source::new("part", text.slice(span));
        let markdown = Markdown { side: self, text, offset: span.start, blocks: Blocks::read(&part, 0) };
        let cuts = markdown.cuts(span);
        let mut units = Vec::new();
        let first = cuts.first().map_or(span.end, |(start, _)| *start);
        if first > span.start {
            let preamble = Span::new(span.start, first);
            let parts = markdown.blocks(preamble);
            units.push(text.group(Some("preamble".to_owned()), UnitKind::Block, preamble, parts));
        }
        let mut has_title = false;
        for (index, (start, cut)) in cuts.iter().enumerate() {
            let end = cuts.get(index + 1).map_or(span.end, |(next, _)| *next);
            let region = Span::new(*start, end);
            units.push(match cut {
                Cut::Step(step) => markdown.step(*step, region),
                Cut::Heading(heading) => {
                    let is_title = heading.level == 1 && !has_title;
                    has_title |= is_title;
                    let name = if is_title { "title".to_owned() } else { markdown.words(heading, region) };
                    markdown.section(name, heading, region)
                }
                Cut::Rest => text.group(None, UnitKind::Block, region, markdown.blocks(region)),
            });
        }
        units
    }
}

/// What starts at a place of a Markdown text.
enum Cut {
    Step(usize),
    Heading(Heading),
    /// Text after a step that does not belong to it.
    Rest,
}

struct Markdown<'s, 'a> {
    side: &'s MergeSide<'a>,
    text: UnitText<'a>,
    /// Where the text that was read starts.
    offset: usize,
    blocks: Blocks,
}

impl<'a> Markdown<'_, 'a> {
    fn cuts(&self, span: Span) -> Vec<(usize, Cut)> {
        let mut steps: Vec<(Span, usize)> = Vec::new();
        for (place, step) in self.side.draft.steps.iter().enumerate() {
            let whole = step.whole.0;
            let lines = Span::new(
                self.text.line_start(whole.start),
                self.text.next_line(whole.end.max(1) - 1, span.end.max(whole.end)),
            );
            steps.extend((span.covers(lines) && !lines.is_empty()).then_some((lines, place)));
        }
        steps.sort_by_key(|(lines, _)| lines.start);
        retain_disjoint(&mut steps, |(lines, _)| *lines);
        let in_step = |at: usize| item_at(&steps, at, |(lines, _)| *lines).is_some();
        let headings =
            self.blocks.headings.iter().map(|heading| {
                (self.text.line_start(heading.span.start + self.offset), Cut::Heading(*heading))
            });
        let mut cuts: Vec<(usize, Cut)> = headings.filter(|(start, _)| !in_step(*start)).collect();
        cuts.extend(steps.iter().map(|&(lines, place)| (lines.start, Cut::Step(place))));
        cuts.sort_by_key(|(start, _)| *start);
        cuts.dedup_by_key(|(start, _)| *start);
        let mut rests = Vec::new();
        for (lines, _) in &steps {
            let next = cuts.partition_point(|(start, _)| *start < lines.end);
            let next = cuts.get(next).map_or(span.end, |(start, _)| *start);
            let rest = self.text.skip_blank(Span::new(lines.end, next));
            if rest < next {
                rests.push((rest, Cut::Rest));
            }
        }
        cuts.extend(rests);
        cuts.sort_by_key(|(start, _)| *start);
        cuts
    }

    /// What a section is called.
    fn words(&self, heading: &Heading, region: Span) -> String {
        let below = (heading.below + self.offset).clamp(region.start, region.end);
        let text = self.text.slice(Span::new(region.start, below));
        let words = text.lines().next().unwrap_or_default().trim_matches(['#', ' ', '\t']).to_lowercase();
        format!("section:{words}")
    }

    fn section(&self, name: String, heading: &Heading, region: Span) -> MergeUnit<'a> {
        let below = (heading.below + self.offset).clamp(region.start, region.end);
        let below = self.text.skip_blank(Span::new(below, region.end));
        let mut parts =
            vec![self.text.unit(Some("head".to_owned()), UnitKind::Whole, Span::new(region.start, below))];
        parts.extend(self.blocks(Span::new(below, region.end)));
        self.text.group(Some(name), UnitKind::Block, region, parts)
    }

    fn step(&self, place: usize, region: Span) -> MergeUnit<'a> {
        let step = &self.side.draft.steps[place];
        let mut parts = Vec::new();
        let mut at = region.start;
        if self.text.line_start(step.heading.0.start) == region.start && region.covers(step.heading.0) {
            let below = self.text.next_line(step.heading.0.end, region.end);
            at = self.text.skip_blank(Span::new(below, region.end));
            let line = Span::new(region.start, below);
            let pieces = self.heading(step, line);
            let reach = Span::new(line.start, at);
            parts.push(self.text.group(Some("head".to_owned()), UnitKind::Inline, reach, pieces));
        }
        for field in &step.fields.0 {
            let start = self.text.line_start(field.label.start);
            let end = self.text.next_line(field.whole.end.max(1) - 1, region.end.max(field.whole.end));
            if start < at || end > region.end || end <= start {
                continue;
            }
            parts.extend(self.blocks(Span::new(at, start)));
            at = self.text.skip_blank(Span::new(end, region.end));
            parts.push(self.field(step, field, Span::new(start, at)));
        }
        parts.extend(self.blocks(Span::new(at, region.end)));
        let mut unit = self.text.group(Some(self.side.names[place].clone()), UnitKind::Step, region, parts);
        unit.rank = super::step::rank(step);
        unit
    }

    /// The heading of a step, cut into what it says.
    fn heading(&self, step: &StepDraft, line: Span) -> Vec<MergeUnit<'a>> {
        let number = (step.number.span, "number", UnitKind::Whole);
        let title = (step.title.span, "title", UnitKind::Whole);
        let marks = step.marks.iter().map(|mark| (mark.span, "mark", UnitKind::Claim(Some(mark.value))));
        let mut said: Vec<(Span, &str, UnitKind)> =
            [number, title].into_iter().chain(marks).filter(|(span, ..)| line.covers(*span)).collect();
        said.sort_by_key(|(span, ..)| (span.start, span.end));
        let mut at = line.start;
        let mut name = "lead";
        let mut kind = UnitKind::Whole;
        let mut pieces = Vec::new();
        for (span, next, next_kind) in said {
            if span.start < at {
                continue;
            }
            pieces.push(self.text.piece(Some(name), kind, Span::new(at, span.start)));
            (at, name, kind) = (span.start, next, next_kind);
        }
        let line_end = line.start + self.text.slice(line).trim_end_matches(['\n', '\r']).len();
        let line_end = line_end.max(at);
        pieces.push(self.text.piece(Some(name), kind, Span::new(at, line_end)));
        pieces.push(self.text.piece(Some("end"), UnitKind::Whole, Span::new(line_end, line.end)));
        pieces
    }

    fn field(&self, step: &StepDraft, field: &FieldDraft, region: Span) -> MergeUnit<'a> {
        let name = match field.kind {
            Some(kind) => format!("field:{kind:?}"),
            None => format!("field:{}", field.name.value.to_lowercase()),
        };
        let kind = match field.kind {
            Some(kind) if kind.is_list() => return self.list(name, field, region),
            // A command is atomic: half of ours and half of theirs is a command that nobody wrote.
            Some(DraftField::Contract | DraftField::Setup | DraftField::ExitCode) => UnitKind::Whole,
            Some(DraftField::Status) => UnitKind::Claim(step.mark()),
            Some(_) | None => UnitKind::Lines,
        };
        self.text.unit(Some(name), kind, region)
    }

    /// A field that holds a list, on the line of its label or in items below.
    fn list(&self, name: String, field: &FieldDraft, region: Span) -> MergeUnit<'a> {
        let below = self.text.next_line(field.label.start, region.end);
        let line = Span::new(region.start, below);
        let value = if line.covers(field.value) { field.value } else { Span::at(field.label.end.min(below)) };
        let rest = self.text.skip_blank(Span::new(below, region.end));
        let mut head = self.text.comma_list(Some("head".to_owned()), line, value);
        head.gap = self.text.slice(Span::new(below, rest));
        let parts = [head].into_iter().chain(self.blocks(Span::new(rest, region.end))).collect();
        self.text.group(Some(name), UnitKind::Block, region, parts)
    }

    /// Paragraphs, list items, labelled lines and code.
    fn blocks(&self, span: Span) -> Vec<MergeUnit<'a>> {
        let mut units = Vec::new();
        let mut at = span.start;
        while at < span.end {
            let line_end = self.text.next_line(at, span.end);
            let line = self.text.slice(Span::new(at, line_end));
            let (name, kind, end) = match self.code_at(at, line_end) {
                // Only the first of a file or section can be blank: all others are the gap of the previous unit.
                _ if line.trim().is_empty() => {
                    (Some("blank".to_owned()), UnitKind::Whole, self.text.skip_blank(Span::new(at, span.end)))
                }
                Some(code) => {
                    let last = (code.span.end + self.offset).clamp(at + 1, span.end);
                    (None, UnitKind::Whole, self.text.next_line(last - 1, span.end))
                }
                None => {
                    let label = label(line);
                    let is_item = label.is_none() && bullet(line).is_some();
                    let end = self.block_end(Span::new(line_end, span.end), bullet(line).filter(|_| is_item));
                    let kind = if is_item { UnitKind::Item } else { UnitKind::Lines };
                    (label.map(|label| format!("field:{label}")), kind, end)
                }
            };
            let end = self.text.skip_blank(Span::new(end, span.end));
            units.push(self.text.unit(name, kind, Span::new(at, end)));
            at = end;
        }
        units
    }

    /// Where a paragraph ends, or an item whose bullet is indented so far.
    fn block_end(&self, rest: Span, indent: Option<usize>) -> usize {
        let mut at = rest.start;
        while at < rest.end {
            let end = self.text.next_line(at, rest.end);
            let line = self.text.slice(Span::new(at, end));
            let is_inner = indent.zip(bullet(line)).is_some_and(|(outer, inner)| inner > outer);
            let begins_another = (bullet(line).is_some() || label(line).is_some()) && !is_inner;
            if line.trim().is_empty() || begins_another || self.code_at(at, end).is_some() {
                break;
            }
            at = end;
        }
        at
    }

    fn code_at(&self, start: usize, end: usize) -> Option<&Code> {
        let line = Span::new(start.checked_sub(self.offset)?, end.checked_sub(self.offset)?);
        self.blocks.codes_in(line).next()
    }
}

/// How far the bullet or number of a list item is indented.
fn bullet(line: &str) -> Option<usize> {
    let bare = line.trim_start();
    behind_marker(bare).filter(|behind| behind.starts_with([' ', '\t'])).map(|_| line.len() - bare.len())
}

/// The name of the label that starts a line: `**Context:** …`.
fn label(line: &str) -> Option<String> {
    let bare = line.trim_start();
    let bare = bare.strip_prefix(['-', '*', '+']).filter(|behind| behind.starts_with(' ')).unwrap_or(bare);
    let (bold, behind) = bare.trim_start().strip_prefix("**")?.split_once("**")?;
    let name = bold.split_once(':').map_or(bold, |(name, _)| name);
    let is_label = bold.contains(':') || behind.trim_start().starts_with(':');
    (is_label && name.chars().count() <= 32).then(|| name.trim().to_lowercase())
}
