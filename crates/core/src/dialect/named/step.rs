//! Parses one task: its fields, the text for the agent, and the contract.

use super::field;
use super::outline::{NamedTask, Shape};
use super::status;
use super::task_reference::TaskList;
use crate::dialect::label::Label;
use crate::dialect::verification;
use crate::plan::draft::{ContractDraft, DraftField, FieldDraft, Layout, ParseIssue, StepDraft};
use crate::syntax::markdown::Blocks;
use crate::syntax::outline::{indent, is_rule};
use crate::syntax::source::{Source, Span, Spanned};
use crate::syntax::text::one_line;

pub(super) fn read(
    source: &Source,
    blocks: &Blocks,
    (task, roll): (&NamedTask, &TaskList),
    place: usize,
    oddities: &mut Vec<Spanned<ParseIssue>>,
) -> StepDraft {
    let mut step = StepDraft::empty(roll.numbers[place].clone(), task.read.title.clone());
    step.whole = Layout(task.whole);
    step.heading = Layout(task.heading);
    step.level = Layout(task.level);
    step.marks.clone_from(&task.read.marks);
    if let Shape::Boxed(tick) = task.shape {
        let text = source.slice(Span::new(tick.start - 1, tick.end + 1));
        match status::leading_box(text) {
            Some((_, mark)) => step.marks.extend(mark.map(|mark| Spanned::new(mark, tick))),
            None => oddities.push(Spanned::new(ParseIssue::UnknownMark(text.to_owned()), tick)),
        }
    }
    let labels = labels(source, blocks, task);
    for label in labels.iter().filter(|label| label.kind.is_none()) {
        if let Some(meant) = field::nearly(&label.name.value) {
            oddities.push(Spanned::new(ParseIssue::NearlyField { meant }, label.name.span));
        }
    }
    let mut reader =
        Reader { source, blocks, task, roll, labels: &labels, step, oddities, taken: Vec::new() };
    reader.fields();
    reader.tell();
    let step = reader.step;
    oddities.extend(field::plain(source, blocks, task.below, &step));
    step
}

/// The labels of a task. A label that is indented below others belongs to one of them.
fn labels(source: &Source, blocks: &Blocks, task: &NamedTask) -> Vec<Label> {
    let own = Span::new(task.below.start, task.own_end.clamp(task.below.start, task.below.end));
    let mut labels: Vec<Label> = field::labels(source, blocks, own).collect();
    let known = labels.iter().filter(|label| label.kind.is_some()).map(|label| label.indent);
    let outermost = known.min().unwrap_or(0) + 1;
    labels.retain(|label| label.indent <= outermost);
    labels
}

struct Reader<'a> {
    source: &'a Source,
    blocks: &'a Blocks,
    task: &'a NamedTask,
    roll: &'a TaskList,
    labels: &'a [Label],
    step: StepDraft,
    oddities: &'a mut Vec<Spanned<ParseIssue>>,
    /// Spans consumed by fields, which are not part of the text for the agent.
    taken: Vec<Span>,
}

impl Reader<'_> {
    fn fields(&mut self) {
        let labels = self.labels;
        for (index, label) in labels.iter().enumerate() {
            let Some(kind) = label.kind else { continue };
            // The box is the status of the task.
            if kind == DraftField::Status && matches!(self.task.shape, Shape::Boxed(_)) {
                continue;
            }
            let region = self.region(index, kind);
            let is_first = self.step.field(kind).is_none();
            if !is_first && !matches!(kind, DraftField::Contract | DraftField::Accept) {
                self.repeated(kind, label);
                continue;
            }
            let end = region.start + self.source.slice(region).trim_end().len();
            self.step.fields.0.push(FieldDraft {
                name: label.name.clone(),
                kind: Some(kind),
                label: label.span,
                value: label.value,
                whole: Span::new(label.span.start, end.max(label.span.end)),
            });
            match kind {
                DraftField::Status => self.status(label, region),
                DraftField::Contract if is_first => self.contract(label, region),
                DraftField::Contract => self.second_contract(label, region),
                DraftField::Accept => {
                    self.criteria(label, region);
                    self.take(label, region);
                }
                DraftField::Id | DraftField::Target => self.name(kind, label, region),
                DraftField::Touches => {
                    self.step.touches = Some(names(self.source, label.value));
                    self.take(label, region);
                }
                DraftField::Needs => self.needs(label, region),
                // Its value stays in the text for the agent.
                DraftField::Task
                | DraftField::Reads
                | DraftField::Sealed
                | DraftField::Tools
                | DraftField::Env
                | DraftField::Network
                | DraftField::Setup
                | DraftField::Timeout
                | DraftField::ContractTimeout
                | DraftField::Each
                | DraftField::ExitCode
                | DraftField::Green
                | DraftField::Judge
                | DraftField::OnFail => {}
            }
        }
    }

    /// A second text for the agent is that of another task, whose heading is none.
    fn repeated(&mut self, kind: DraftField, label: &Label) {
        let first = self.step.field(kind).filter(|_| kind == DraftField::Task).map(|first| first.name.span);
        let issue = first.map(|first| ParseIssue::DuplicateField { name: "what", first });
        self.oddities.extend(issue.map(|issue| Spanned::new(issue, label.name.span)));
    }

    /// The extent of a field: up to the next label, or only its paragraph for one-line fields.
    fn region(&self, index: usize, kind: DraftField) -> Span {
        let label = &self.labels[index];
        let own_end = self.task.own_end.clamp(self.task.below.start, self.task.below.end);
        let end = self.labels.get(index + 1).map_or(own_end, |next| next.line.start);
        let start = label.value.start.min(end);
        if [DraftField::Contract, DraftField::Accept, DraftField::Task].contains(&kind) {
            return Span::new(start, undivided(self.source, start, end));
        }
        Span::new(start, paragraph_end(self.source, self.blocks, label.line, end))
    }

    fn take(&mut self, label: &Label, region: Span) {
        self.taken.push(Span::new(label.line.start, region.end));
    }

    fn status(&mut self, label: &Label, region: Span) {
        let text = self.source.slice(label.value);
        let reading = status::read(text);
        let said = Span::new(label.value.start + reading.said.start, label.value.start + reading.said.end);
        if !reading.is_known && !text.is_empty() {
            let word = self.source.slice(said).to_owned();
            self.oddities.push(Spanned::new(ParseIssue::UnknownMark(word), said));
        }
        self.step.marks.extend(reading.mark.map(|mark| Spanned::new(mark, said)));
        self.take(label, region);
    }

    fn contract(&mut self, label: &Label, region: Span) {
        self.step.contract = verification::contract(self.source, self.blocks, region);
        if self.step.contract.as_ref().is_some_and(|contract| contract.is_manual) {
            self.criteria(label, region);
        }
        self.take(label, region);
    }

    /// A task with two verifications needs a person: one of them alone would check only half of it.
    fn second_contract(&mut self, label: &Label, region: Span) {
        let first = self.step.contract.replace(ContractDraft { is_manual: true, ..ContractDraft::default() });
        let command = first.and_then(|first| first.command);
        self.step.accept.extend(command.map(|command| Spanned::new(command.value, command.span)));
        self.criteria(label, region);
        self.take(label, region);
    }

    /// The items of a list, or the text as one criterion.
    fn criteria(&mut self, label: &Label, region: Span) {
        let lines = self.blocks.text_lines(self.source, region);
        let items: Vec<Spanned<String>> = lines
            .filter(|line| line.start > label.line.start)
            .filter_map(|line| Some(self.source.trimmed(field::item(self.source, line)?)))
            .filter(|item| !item.is_empty())
            .map(|item| self.source.spanned(item))
            .collect();
        if items.is_empty() || !label.value.is_empty() {
            let text = self.source.trimmed(region);
            let words = one_line(self.source.slice(text));
            if !words.is_empty() && !words.replace(' ', "").eq_ignore_ascii_case("manual") {
                self.step.accept.push(Spanned::new(words, text));
            }
        } else {
            self.step.accept.extend(items);
        }
    }

    /// The tasks that must be done first. A sentence about them is part of the task.
    fn needs(&mut self, label: &Label, region: Span) {
        match self.roll.needs(self.source, label.value) {
            Some(needs) => {
                self.step.needs = Some(needs);
                self.take(label, region);
            }
            None => drop(self.step.fields.0.pop()),
        }
    }

    /// A valid name. Anything else is part of the task: people write sentences after these labels too.
    fn name(&mut self, kind: DraftField, label: &Label, region: Span) {
        let Some(name) = slug(self.source, label.value) else {
            self.step.fields.0.pop();
            return;
        };
        if kind == DraftField::Id {
            self.step.id = Some(name);
        } else {
            self.step.target = Some(name);
        }
        self.take(label, region);
    }

    /// The text for the agent: everything that no field consumed, or the title if nothing is left.
    fn tell(&mut self) {
        let (title, below) = (self.task.read.title.clone(), self.task.below);
        let kept = kept(below, &self.taken);
        let what = self.only_what(&kept);
        let text = match (what, self.task.shape) {
            (Some(what), _) => what,
            (None, Shape::Heading) => self.joined(&kept, 0),
            (None, Shape::Boxed(_) | Shape::Listed) => {
                let rest = self.joined(&kept, indent(self.source.slice(self.task.heading)) + 2);
                let lines =
                    [title.value.as_str(), rest.value.as_str()].into_iter().filter(|text| !text.is_empty());
                Spanned::new(
                    lines.collect::<Vec<_>>().join("\n"),
                    Span::new(title.span.start, rest.span.end.max(title.span.end)),
                )
            }
        };
        let is_empty = text.value.is_empty();
        // An empty "What:" is an unfinished task; without the label, the title is the task.
        let is_unsaid = is_empty && self.step.field(DraftField::Task).is_some();
        self.step.task = match is_empty {
            false => Some(text),
            true => Some(title).filter(|title| !is_unsaid && !title.value.is_empty()),
        };
    }

    /// The text after the label "What", if there is no other text for the agent.
    fn only_what(&self, kept: &[Span]) -> Option<Spanned<String>> {
        let mut told = kept.iter().filter(|span| !self.is_idle(**span));
        let only = *told.next().filter(|_| told.next().is_none())?;
        let index = self.labels.iter().position(|label| label.kind == Some(DraftField::Task))?;
        let label = &self.labels[index];
        let first = self.source.lines_in(only).find(|line| !self.source.slice(*line).trim().is_empty())?;
        let is_only = first.start == label.line.start
            && !self
                .labels
                .iter()
                .any(|other| other.line.start != label.line.start && only.covers(other.line));
        let first_line = self.source.slice(label.value);
        let rest = Span::new(self.source.next_line(label.line.end).min(only.end), only.end);
        let rest = self.joined(&[rest], label.indent + if label.is_bulleted { 2 } else { 0 });
        let between = Span::new(self.source.next_line(label.line.end).min(rest.span.start), rest.span.start);
        let text = match (first_line.is_empty(), rest.value.is_empty()) {
            (false, false) => {
                let blanks = "\n".repeat(self.source.lines_in(between).count());
                format!("{first_line}\n{blanks}{}", rest.value)
            }
            (true, _) => rest.value,
            (false, true) => first_line.to_owned(),
        };
        is_only.then(|| Spanned::new(text, Span::new(label.value.start, rest.span.end.max(label.value.end))))
    }

    /// Whether there are only blank and dividing lines.
    fn is_idle(&self, span: Span) -> bool {
        self.source.slice(span).lines().all(|line| line.trim().is_empty() || is_rule(line))
    }

    /// The lines of some spans, unindented by up to `indent`. Blank and dividing lines around each are dropped; one
    /// blank line remains where a field was removed.
    fn joined(&self, spans: &[Span], indent: usize) -> Spanned<String> {
        let is_idle = |line: &Span| {
            let text = self.source.slice(*line);
            text.trim().is_empty() || (is_rule(text) && !self.blocks.is_opaque(line.start))
        };
        let mut text = String::new();
        let mut place: Option<Span> = None;
        for &span in spans {
            let lines: Vec<Span> = self.source.lines_in(span).collect();
            let Some(first) = lines.iter().position(|line| !is_idle(line)) else { continue };
            let last = lines.iter().rposition(|line| !is_idle(line)).unwrap_or(first);
            place = Some(Span::new(place.map_or(lines[first].start, |place| place.start), lines[last].end));
            let kept = lines[first..=last].iter().map(|&line| {
                let line = self.source.slice(line).trim_end_matches('\r');
                let blanks = line.bytes().take_while(|&byte| byte == b' ').count();
                &line[blanks.min(indent)..]
            });
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(kept.collect::<Vec<_>>().join("\n").trim_end());
        }
        Spanned::new(text, place.unwrap_or(Span::at(self.task.below.start)))
    }
}

/// What is left of `span` without the spans in `taken`.
fn kept(span: Span, taken: &[Span]) -> Vec<Span> {
    let mut taken: Vec<Span> = taken.to_vec();
    taken.sort_unstable();
    let mut kept = Vec::new();
    let mut at = span.start;
    for gone in taken {
        if at < gone.start {
            kept.push(Span::new(at, gone.start.min(span.end)));
        }
        at = at.max(gone.end);
    }
    if at < span.end {
        kept.push(Span::new(at, span.end));
    }
    kept
}

/// The end of a text without trailing blank and dividing lines.
fn undivided(source: &Source, start: usize, end: usize) -> usize {
    let text = &source.text()[start..end];
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_idle = |line: &&&str| line.trim().is_empty() || is_rule(line);
    // The first line follows the label.
    let idle = lines.iter().skip(1).rev().take_while(is_idle);
    let has_rule = idle.clone().any(|line| is_rule(line));
    if has_rule { end - idle.map(|line| line.len()).sum::<usize>() } else { end }
}

/// The end of a line's paragraph: before a blank line, a list item, code, or `end`.
fn paragraph_end(source: &Source, blocks: &Blocks, line: Span, end: usize) -> usize {
    let below = source.next_line(line.end).min(end);
    let is_other = |next: &Span| {
        let text = source.slice(*next);
        text.trim().is_empty()
            || blocks.is_opaque(next.start)
            || field::item(source, *next).is_some()
            || is_rule(text)
            || indent(text) <= indent(source.slice(line))
    };
    let other = source.lines_in(Span::new(below, end)).find(is_other);
    other.map_or(end, |other| other.start).max(line.end.min(end))
}

/// The names on a line, separated by commas, without backticks; empty for "none".
pub(super) fn names(source: &Source, line: Span) -> Vec<Spanned<String>> {
    let mut at = line.start;
    let mut names = Vec::new();
    for item in source.slice(line).split([',', ';', '、']) {
        let span = uncoded(source, source.trimmed(Span::new(at, at + item.len())));
        if !span.is_empty() {
            names.push(source.spanned(span));
        }
        at += item.len();
        at += source.text()[at..].chars().next().map_or(0, char::len_utf8);
    }
    match names.as_slice() {
        [only] if is_none(&only.value) => Vec::new(),
        _ => names,
    }
}

/// Whether a list is explicitly empty.
pub(super) fn is_none(text: &str) -> bool {
    ["none", "nothing", "n/a", "-", "–", "—", "无", "없음"]
        .contains(&text.to_lowercase().trim_end_matches('.'))
}

/// The task's written id.
pub(super) fn written_id(source: &Source, blocks: &Blocks, task: &NamedTask) -> Option<Spanned<String>> {
    let labels = labels(source, blocks, task);
    slug(source, labels.iter().find(|label| label.kind == Some(DraftField::Id))?.value)
}

fn slug(source: &Source, span: Span) -> Option<Spanned<String>> {
    let value = uncoded(source, span);
    let text = source.slice(value);
    (!text.is_empty() && crate::plan::verified::slug(text) == text)
        .then(|| Spanned::new(text.to_owned(), value))
}

/// The text without the backticks around it.
pub(super) fn uncoded(source: &Source, span: Span) -> Span {
    let text = source.slice(span);
    let inner = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    match inner.filter(|inner| !inner.contains('`')) {
        Some(inner) => source.trimmed(Span::new(span.start + 1, span.start + 1 + inner.len())),
        None => span,
    }
}
