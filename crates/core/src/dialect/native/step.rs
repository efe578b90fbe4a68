//! Parses one step: its fields, their values, and the text outside any field.

use std::collections::{BTreeMap, BTreeSet};

use super::StepSection;
use super::field;
use super::field::LABELS;
use crate::dialect::label::Label;
use crate::plan::draft::{ContractDraft, DraftField, FieldDraft, Layout, Mark, ParseIssue, StepDraft};
use crate::syntax::markdown::{Blocks, Code};
use crate::syntax::outline::{behind_marker, is_rule};
use crate::syntax::source::{Excerpt, Source, Span, Spanned};

/// Reads the step of a section.
pub(super) fn read(
    source: &Source,
    blocks: &Blocks,
    section: &StepSection,
    oddities: &mut Vec<Spanned<ParseIssue>>,
) -> StepDraft {
    let step = bare(section);
    let below = Span::new(section.heading.below.min(section.whole.end), section.whole.end);
    let labels = labels(source, blocks, below, oddities);
    let starts: Vec<usize> = labels.iter().map(|label| label.line.start).collect();
    let mut reader = Reader { source, blocks, step, oddities, firsts: BTreeMap::new() };
    reader.leave(Span::new(below.start, starts.first().copied().unwrap_or(below.end)));
    for (index, label) in labels.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(below.end);
        reader.field(label, end);
    }
    let step = reader.step;
    oddities.extend(plain_fields(source, blocks, below, &step));
    step
}

/// Names of fields without stars: above all those that the step lacks, wherever they are, since a contract in the text of
/// a task judges nothing.
fn plain_fields(source: &Source, blocks: &Blocks, below: Span, step: &StepDraft) -> Vec<Spanned<ParseIssue>> {
    let mut found = Vec::new();
    let fields = &step.fields.0;
    let mut known: BTreeSet<DraftField> = fields.iter().filter_map(|field| field.kind).collect();
    let is_field = |line: Span| fields.iter().any(|field| line.covers(field.label));
    let begins = |line: Span| line.end - source.slice(line).trim_start().len();
    let has_bullet = |field: &FieldDraft| begins(source.line_at(field.label.start)) < field.label.start;
    // Where the other fields are no list items, the bullet is no part of the label either.
    let is_bulleted = fields.first().is_none_or(has_bullet);
    let lines = || {
        let others = blocks.text_lines(source, below).filter(|&line| !is_field(line));
        others.filter_map(|line| Some((line, LABELS.unstarred(source, line)?)))
    };
    // Two of them together are another step, whose heading is none.
    let essential = |line: Span, kind: DraftField| {
        field::ESSENTIAL.contains(&kind) && LABELS.read(source, line).is_none()
    };
    let others = lines().filter(|&(line, (kind, _))| essential(line, kind)).map(|(_, (kind, _))| kind);
    let is_step = others.collect::<BTreeSet<_>>().len() > 1;
    for (line, (kind, mut name)) in lines() {
        if !is_bulleted {
            name.start = begins(line);
        }
        // These are read without stars too, or claim something that decides nothing.
        let is_idle = matches!(kind, DraftField::ExitCode | DraftField::Status);
        let is_stray = || step.stray.iter().any(|stray| stray.span.covers(name));
        // A list item in a task is text, whatever it starts with.
        let is_item = behind_marker(&source.text()[begins(line)..line.end]).is_some();
        let is_missing = field::ESSENTIAL.contains(&kind) && !known.contains(&kind) && !is_item;
        if !is_idle && (is_missing || is_stray() || (is_step && essential(line, kind))) {
            known.insert(kind);
            let label = format!("**{}:**", LABELS.name(kind));
            found.push(Spanned::new(ParseIssue::PlainField { label }, name));
        }
    }
    found
}

/// A step of which only the heading was read.
pub(super) fn bare(section: &StepSection) -> StepDraft {
    let mut step = StepDraft::empty(section.read.number.clone(), section.read.title.clone());
    step.whole = Layout(section.whole);
    step.heading = Layout(section.heading.span);
    step.level = Layout(section.heading.level);
    step.marks.clone_from(&section.read.marks);
    step
}

/// The labels of fields. Inside a task a bold word that is not a field is emphasis, and a bulleted label is a list item
/// unless all fields of the step are bulleted.
fn labels(
    source: &Source,
    blocks: &Blocks,
    below: Span,
    oddities: &mut Vec<Spanned<ParseIssue>>,
) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    for line in blocks.text_lines(source, below) {
        let Some(label) = LABELS.read(source, line) else { continue };
        let is_bulleted = labels.first().map_or(label.is_bulleted, |first| first.is_bulleted);
        if label.is_bulleted && !is_bulleted {
            continue;
        }
        let in_task = labels.last().is_some_and(|last| last.kind == Some(DraftField::Task));
        if label.kind.is_some() || !in_task {
            labels.push(label);
        } else if let Some(meant) = field::nearly(&label) {
            oddities.push(Spanned::new(ParseIssue::NearlyField { meant }, label.name.span));
        }
    }
    labels
}

struct Reader<'a> {
    source: &'a Source,
    blocks: &'a Blocks,
    step: StepDraft,
    oddities: &'a mut Vec<Spanned<ParseIssue>>,
    /// The first occurrence of each field.
    firsts: BTreeMap<DraftField, Span>,
}

impl Reader<'_> {
    /// Reads the field that `label` starts and that ends before byte `end`.
    fn field(&mut self, label: &Label, end: usize) {
        let is_inside = label.span.end > label.value.start;
        let region = if is_inside { label.value } else { Span::new(label.value.start, end) };
        let behind = if is_inside {
            Span::new(self.source.next_line(label.span.end).min(end), end)
        } else {
            Span::at(end)
        };
        let whole_end = region.start + self.source.slice(region).trim_end().len();
        let kind = label.kind;
        let first = kind.and_then(|kind| self.firsts.get(&kind).copied());
        self.firsts.extend(kind.filter(|_| first.is_none()).map(|kind| (kind, label.name.span)));
        self.step.fields.0.push(FieldDraft {
            name: label.name.clone(),
            kind,
            label: label.span,
            value: self.source.trimmed(label.value),
            whole: Span::new(label.span.start, whole_end.max(label.span.end)),
        });
        match (kind, first) {
            (Some(kind), Some(first)) => {
                let oddity = ParseIssue::DuplicateField { name: LABELS.name(kind), first };
                self.oddities.push(Spanned::new(oddity, label.name.span));
            }
            (Some(kind), None) => self.value(kind, region),
            (None, _) => {}
        }
        self.leave(behind);
    }

    fn value(&mut self, kind: DraftField, region: Span) {
        match kind {
            DraftField::Id => self.step.id = self.line(region),
            DraftField::Target => self.step.target = self.line(region),
            DraftField::Timeout => self.step.timeout = self.line(region),
            DraftField::ContractTimeout => self.step.contract_timeout = self.line(region),
            DraftField::Network => self.step.network = self.line(region),
            DraftField::Green => self.step.green = self.paragraph(region),
            DraftField::Judge => self.step.judge = self.paragraph(region),
            DraftField::OnFail => self.step.on_fail = self.paragraph(region),
            DraftField::Needs => self.step.needs = Some(self.list(region)),
            DraftField::Touches => self.step.touches = Some(self.list(region)),
            DraftField::Reads => self.step.reads = self.list(region),
            DraftField::Sealed => self.step.sealed = self.list(region),
            DraftField::Tools => self.step.tools = self.list(region),
            DraftField::Env => self.step.env = self.list(region),
            DraftField::Each => self.step.each = self.list(region),
            DraftField::Accept => self.step.accept = self.criteria(region),
            DraftField::Task => self.step.task = field::text_value(self.source, region),
            DraftField::Setup => self.step.setup = self.command(region).command,
            DraftField::Contract => {
                let expect = self.step.contract.take().and_then(|contract| contract.expect);
                let contract = self.command(region);
                self.step.contract = Some(ContractDraft { expect: contract.expect.or(expect), ..contract });
                self.leave_expectation(region);
            }
            DraftField::ExitCode => {
                let expect = self.line(region).map(|line| unprefixed(&line, '='));
                self.step.contract.get_or_insert_default().expect = expect;
            }
            DraftField::Status => self.status(region),
        }
    }

    fn status(&mut self, region: Span) {
        let Some(word) = self.line(region) else { return };
        let normal = word.value.to_lowercase();
        let first = normal.split([' ', ',', '(']).next().unwrap_or_default();
        let mark = match first {
            "done" | "passed" | "complete" | "completed" | "✅" | "[x]" => Some(Mark::Done),
            "failed" | "❌" => Some(Mark::Failed),
            "skipped" => Some(Mark::Skipped),
            "pending" | "todo" | "open" | "running" | "in-progress" | "waiting" | "ready" | "blocked" => None,
            _ => {
                self.oddities.push(Spanned::new(ParseIssue::UnknownMark(word.value), word.span));
                return;
            }
        };
        self.step.marks.extend(mark.map(|mark| Spanned::new(mark, word.span)));
    }

    /// The first line with text; what follows it is left.
    fn line(&mut self, region: Span) -> Option<Spanned<String>> {
        let line = self.first_line(region)?;
        self.leave(Span::new(self.source.next_line(line.end).min(region.end), region.end));
        Some(uncoded(self.source, self.source.trimmed(line)))
    }

    /// The lines up to the first blank one, joined.
    fn paragraph(&mut self, region: Span) -> Option<Spanned<String>> {
        let first = self.first_line(region)?;
        let mut value = self.source.trimmed(first);
        let mut text = self.source.slice(value).to_owned();
        let mut at = self.source.next_line(first.end);
        while at < region.end {
            let line = self.source.trimmed(Span::new(at, self.source.line_at(at).end.min(region.end)));
            let is_other =
                line.is_empty() || self.blocks.is_opaque(at) || expectation(self.source, line).is_some();
            if is_other || is_rule(self.source.slice(line)) {
                break;
            }
            text.push(' ');
            text.push_str(self.source.slice(line));
            value.end = line.end;
            at = self.source.next_line(at);
        }
        self.leave(Span::new(at.min(region.end), region.end));
        if text.len() > 1 && text.starts_with('`') && text.ends_with('`') {
            return Some(uncoded(self.source, value));
        }
        Some(Spanned::new(text, value))
    }

    fn first_line(&self, region: Span) -> Option<Span> {
        let mut lines = self.source.lines_in(region);
        let line = lines.find(|line| !self.source.slice(*line).trim().is_empty())?;
        (line.start == region.start || !self.blocks.is_opaque(line.start)).then_some(line)
    }

    /// Items on the label's line, separated by commas, and items of the list below it.
    fn list(&mut self, region: Span) -> Vec<Spanned<String>> {
        let (inline, items) = self.inline_and_items(region);
        let inline = inline.into_iter().flat_map(|line| commas(self.source, line));
        let all: Vec<_> = inline.chain(items).filter(|item| !item.value.is_empty()).collect();
        match all.as_slice() {
            [only] if ["none", "nothing", "-"].contains(&only.value.to_lowercase().as_str()) => Vec::new(),
            _ => all,
        }
    }

    /// Like [`Self::list`], but a sentence on the label's line is one item, commas and all.
    fn criteria(&mut self, region: Span) -> Vec<Spanned<String>> {
        let (inline, items) = self.inline_and_items(region);
        let inline = inline.map(|line| self.source.spanned(line));
        inline.into_iter().chain(items).filter(|item| !item.value.is_empty()).collect()
    }

    fn inline_and_items(&mut self, region: Span) -> (Option<Span>, Vec<Spanned<String>>) {
        let mut items: Vec<Spanned<String>> = Vec::new();
        let mut inline = None;
        for whole in self.source.lines_in(region) {
            let line = self.source.trimmed(whole);
            let is_first = whole.start == region.start;
            let is_text = !self.blocks.is_opaque(whole.start);
            if line.is_empty() {
            } else if let Some(item) = bullet(self.source, line).filter(|_| !is_first && is_text) {
                items.push(uncoded(self.source, item));
            } else if is_first || (inline.is_none() && items.is_empty() && is_text) {
                inline = Some(line);
            } else if let Some(last) =
                items.last_mut().filter(|last| is_continued(self.source, last.span, line))
            {
                last.value.push(' ');
                last.value.push_str(self.source.slice(line));
                last.span.end = line.end;
            } else {
                self.leave(whole);
            }
        }
        (inline, items)
    }

    /// The command of a contract or a setup: a block of code, code in backticks, or the plain words.
    fn command(&mut self, region: Span) -> ContractDraft {
        let mut codes = self.blocks.codes_in(region);
        let Some(code) = codes.next() else { return self.inline_command(region) };
        for second in codes {
            self.oddities.push(Spanned::new(ParseIssue::SecondContract { first: code.span }, second.span));
        }
        ContractDraft {
            command: Some(unterminated(code)),
            language: code.language.clone(),
            ..ContractDraft::default()
        }
    }

    fn inline_command(&mut self, region: Span) -> ContractDraft {
        let line = self.first_line(region).map(|line| self.source.trimmed(line));
        let Some(line) = line.filter(|&line| expectation(self.source, line).is_none()) else {
            return ContractDraft::default();
        };
        let words = uncoded(self.source, line);
        if words.value.eq_ignore_ascii_case("manual") {
            return ContractDraft { is_manual: true, ..ContractDraft::default() };
        }
        let mut command = Excerpt::new(words.span);
        command.push(&words.value, words.span.start);
        ContractDraft { command: Some(command), ..ContractDraft::default() }
    }

    /// Scans the text around the command for the expected exit code and stray text.
    fn leave_expectation(&mut self, region: Span) {
        let has_block = self.blocks.codes_in(region).next().is_some();
        let contract = self.step.contract.as_ref();
        let is_said = contract.is_some_and(|contract| contract.command.is_some() || contract.is_manual);
        let words = self.first_line(region).filter(|_| is_said && !has_block);
        let begin = words.map_or(region.start, |words| self.source.next_line(words.end).min(region.end));
        self.leave(Span::new(begin, region.end));
    }

    /// Records text outside any field, and extracts the expected exit code from it.
    fn leave(&mut self, region: Span) {
        let mut kept: Option<Span> = None;
        for line in self.source.lines_in(region) {
            let is_command = self.blocks.is_opaque(line.start);
            let line = self.source.trimmed(line);
            if let Some(code) = expectation(self.source, line).filter(|_| !is_command) {
                let contract = self.step.contract.get_or_insert_default();
                contract.expect.get_or_insert(code);
            } else if !line.is_empty() && !is_command && !is_rule(self.source.slice(line)) {
                kept = Some(Span::new(kept.map_or(line.start, |kept| kept.start), line.end));
                continue;
            }
            self.keep(kept.take());
        }
        self.keep(kept);
    }

    fn keep(&mut self, text: Option<Span>) {
        let text = text.and_then(|span| field::text_value(self.source, span));
        self.step.stray.extend(text);
    }
}

/// The items of the lists in `span`.
pub(super) fn bullets(source: &Source, blocks: &Blocks, span: Span) -> Vec<Spanned<String>> {
    blocks
        .text_lines(source, span)
        .filter_map(|line| bullet(source, source.trimmed(line)))
        .map(|item| source.spanned(item))
        .collect()
}

/// The text after the bullet of a list item.
pub(super) fn bullet(source: &Source, line: Span) -> Option<Span> {
    let behind = behind_marker(source.slice(line))?;
    let item = behind.trim_start();
    (behind.is_empty() || item.len() < behind.len()).then(|| Span::new(line.end - item.len(), line.end))
}

/// Whether `line` goes on with the item: it follows it directly and is indented.
fn is_continued(source: &Source, item: Span, line: Span) -> bool {
    source.next_line(item.end) == source.line_at(line.start).start
        && source.line_at(line.start).start < line.start
}

fn commas(source: &Source, line: Span) -> Vec<Spanned<String>> {
    let mut at = line.start;
    let mut items = Vec::new();
    // A comma in braces belongs to a pattern: `src/{a,b}.py` is one item.
    let mut depth = 0_usize;
    let outside = |character: char| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    };
    for item in source.slice(line).split(outside) {
        items.push(uncoded(source, source.trimmed(Span::new(at, at + item.len()))));
        at += item.len() + 1;
    }
    items
}

/// The text without the backticks around it.
fn uncoded(source: &Source, span: Span) -> Spanned<String> {
    let text = source.slice(span);
    let ticks = text.bytes().take_while(|&byte| byte == b'`').count();
    let closing = text.bytes().rev().take_while(|&byte| byte == b'`').count();
    let is_code = ticks > 0 && ticks == closing && text.len() > 2 * ticks && {
        // Only a run of as many backticks would end the code.
        let inner = &text[ticks..text.len() - ticks];
        inner.split(|character| character != '`').all(|run| run.len() != ticks)
    };
    let inner = if is_code { source.trimmed(Span::new(span.start + ticks, span.end - ticks)) } else { span };
    source.spanned(inner)
}

fn unprefixed(value: &Spanned<String>, sign: char) -> Spanned<String> {
    let bare = value.value.trim_start_matches(sign).trim_start();
    Spanned::new(bare.to_owned(), Span::new(value.span.end.saturating_sub(bare.len()), value.span.end))
}

/// The expected exit code in a line such as `exit_code == 0`, as written; bullets, stars and backticks may surround it.
fn expectation(source: &Source, line: Span) -> Option<Spanned<String>> {
    let line = source.trimmed(line);
    let line = uncoded(source, unstarred(source, bullet(source, line).unwrap_or(line)));
    let prefix = line.value.get(.."exit_code".len())?;
    let behind = line.value[prefix.len()..].trim_start();
    if field::normal(prefix) != LABELS.name(DraftField::ExitCode)
        || !behind.starts_with(['=', ':', '!', '<', '>'])
    {
        return None;
    }
    let value =
        behind.strip_prefix("==").or(behind.strip_prefix(':')).or(behind.strip_prefix('=')).unwrap_or(behind);
    let start = line.span.end - value.trim_start().len();
    let value = value.trim().trim_end_matches('.');
    Some(Spanned::new(value.to_owned(), Span::new(start, start + value.len())))
}

/// The text without the stars around it.
fn unstarred(source: &Source, span: Span) -> Span {
    let inner = source.slice(span).strip_prefix("**").and_then(|text| text.strip_suffix("**"));
    inner.map_or(span, |inner| Span::new(span.start + 2, span.start + 2 + inner.len()))
}

/// The code of a block without its last line ending.
fn unterminated(code: &Code) -> Excerpt {
    let mut text = code.text.clone();
    if text.value.ends_with('\n') {
        text.value.pop();
    }
    text
}
