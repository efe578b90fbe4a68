//! The canonical form of a native plan. It re-spells headings, labels, bullets, expectations and blank lines; tasks, code
//! and prose stay as they are, and so does the order of everything.

use super::block::Blocks;
use super::{field, patch, step};
use crate::draft::{Draft, Field, StepDraft};
use crate::frontmatter;
use crate::source::{self, Edit, Source, Span};

/// The text of `source` in canonical form.
pub(super) fn canonical(source: &Source) -> String {
    let text = source.text().replace("\r\n", "\n").replace('\r', "\n");
    let spelled = respell(&Source::new(source.name(), begun(&text)));
    space_out(&Source::new(source.name(), spelled))
}

/// The text from its first line on that is not blank, without byte order marks.
fn begun(text: &str) -> &str {
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some((first, below)) = rest.split_once('\n') {
        if !first.trim().is_empty() {
            break;
        }
        rest = below.trim_start_matches('\u{feff}');
    }
    rest
}

fn respell(source: &Source) -> String {
    let draft = super::parse(source);
    let blocks = Blocks::read(source, frontmatter::split(source.text()).body);
    let mut edits = Vec::new();
    for step in &draft.steps {
        edits.push(Edit::replace(step.heading.0, patch::canonical_heading(step)));
        edits.extend(labels(source, step));
        edits.extend(bullets(source, &blocks, step));
        edits.extend(expectation(source, step));
    }
    source::apply(source.text(), &edits)
}

fn labels(source: &Source, step: &StepDraft) -> Vec<Edit> {
    let known = step.fields.0.iter().filter(|field| field.kind.is_some());
    let outside = known.filter(|field| source.slice(field.label).ends_with([':', '*', '_']) && field.value.start >= field.label.end);
    let mut edits = Vec::new();
    for field in outside {
        let has_value = !field.value.is_empty();
        let end = if has_value { field.value.start } else { source.line_at(field.label.start).end };
        let gap = if has_value { " " } else { "" };
        let label = format!("**{}:**{gap}", field::normal(&field.name.value));
        edits.push(Edit::replace(Span::new(field.label.start, end), label));
    }
    edits
}

/// Items of a step's lists begin with `- ` at the margin, unless the step's fields are list items themselves.
fn bullets(source: &Source, blocks: &Blocks, step: &StepDraft) -> Vec<Edit> {
    let is_bulleted = |label: Span| source.line_at(label.start).start < label.start;
    if step.fields.0.first().is_some_and(|first| is_bulleted(first.label)) {
        return Vec::new();
    }
    let is_list = |kind: Option<Field>| {
        matches!(
            kind,
            Some(Field::Needs | Field::Reads | Field::Touches | Field::Tools | Field::Env | Field::Each | Field::Accept)
        )
    };
    let lists = step.fields.0.iter().filter(|field| is_list(field.kind));
    let below = lists.map(|field| Span::new(source.next_line(field.label.end).min(field.whole.end), field.whole.end));
    below
        .flat_map(|span| step::bullets(source, blocks, span))
        .map(|item| Edit::replace(Span::new(source.line_at(item.span.start).start, item.span.start), "- "))
        .collect()
}

/// A line of its own that says the exit code says it in one way.
fn expectation(source: &Source, step: &StepDraft) -> Option<Edit> {
    let expect = step.contract.as_ref()?.expect.as_ref()?;
    expect.value.parse::<u8>().ok()?;
    let line = source.line_at(expect.span.start);
    let is_labelled = step.fields.0.iter().any(|field| line.covers(field.label));
    (!is_labelled).then(|| Edit::replace(line, format!("exit_code == {}", expect.value)))
}

/// What may not be touched when blank lines are set: code, tasks and prose in fields.
struct Kept {
    spans: Vec<Span>,
}

impl Kept {
    fn of(blocks: &Blocks, draft: &Draft) -> Self {
        let mut spans: Vec<Span> = blocks.codes.iter().map(|code| code.span).collect();
        spans.extend(draft.steps.iter().filter_map(|step| step.task.as_ref()).map(|task| task.span));
        spans.extend(draft.context.iter().map(|context| context.span));
        spans.extend(draft.frontmatter.block.0);
        spans.sort_unstable();
        Self { spans }
    }

    fn covers(&self, line: Span) -> bool {
        let next = self.spans.partition_point(|span| span.start <= line.end);
        self.spans[..next].iter().rev().take(2).any(|span| line.start < span.end)
    }
}

/// One blank line around headings, none twice, none at the end; no blanks at the end of a line.
fn space_out(source: &Source) -> String {
    let blocks = Blocks::read(source, frontmatter::split(source.text()).body);
    let kept = Kept::of(&blocks, &super::parse(source));
    let headings: Vec<Span> = super::headings(source, &blocks)
        .iter()
        .map(|heading| heading.span)
        .filter(|&heading| !kept.covers(heading))
        .collect();
    let starts: Vec<usize> = headings.iter().map(|heading| source.line_at(heading.start).start).collect();
    let ends: Vec<usize> = headings.iter().map(|heading| source.line_at(heading.end).end).collect();
    let mut text = String::with_capacity(source.text().len());
    let mut at = 0;
    while at < source.text().len() {
        let line = source.line_at(at);
        let next = source.next_line(at);
        let is_kept = kept.covers(line);
        let content = if is_kept { source.slice(line) } else { source.slice(line).trim_end() };
        let is_blank = content.is_empty() && !is_kept;
        let begins_heading = starts.binary_search(&line.start).is_ok();
        let was_blank = text.is_empty() || text.ends_with("\n\n");
        if begins_heading && !was_blank {
            text.push('\n');
        }
        if !is_blank || !was_blank {
            text.push_str(content);
            text.push('\n');
        }
        if ends.binary_search(&line.end).is_ok() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        at = next;
    }
    let kept = text.trim_end_matches('\n').len();
    text.truncate(kept);
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
