//! Formats a native plan: headings, labels, bullets, exit codes and blank lines. Never changes tasks, code, prose or
//! the order of anything.

use super::{NativeSection, field, patch, step};
use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, DraftField, StepDraft};
use crate::syntax::markdown::Blocks;
use crate::syntax::source;
use crate::syntax::source::{Edit, Source, Span};
use crate::syntax::text::begun;

/// Blanks that may be trimmed. Wider ones are text in Markdown: trimming them could change the meaning of a line.
const BLANKS: [char; 2] = [' ', '\t'];

/// The default level of step headings.
const CANONICAL_LEVEL: u8 = 3;

/// The text of `source` in canonical form.
pub(super) fn canonical(source: &Source) -> String {
    let spelled = respell(&Source::new(source.name(), begun(source.text())));
    space_out(&Source::new(source.name(), spelled))
}

fn respell(source: &Source) -> String {
    let draft = super::parse(source);
    let blocks = Blocks::read(source, frontmatter::split(source.text()).body);
    let level = level(&super::sections(source, &blocks), &draft);
    let mut edits = Vec::new();
    for step in &draft.steps {
        edits.push(Edit::replace(step.heading.0, canonical_heading(step, level)));
        edits.extend(labels(source, step));
        edits.extend(bullets(source, &blocks, step));
        edits.extend(expectation(source, step));
    }
    source::apply(source.text(), &edits)
}

/// The level for all step headings: 3, unless a heading inside a step would then end the step.
fn level(sections: &[NativeSection], draft: &Draft) -> u8 {
    let high = sections.iter().filter(|section| section.heading.level <= CANONICAL_LEVEL);
    let mut inside = high.filter(|section| {
        let next = draft.steps.partition_point(|step| step.whole.0.start < section.start());
        let before = next.checked_sub(1).map(|place| draft.steps[place].whole.0);
        before.is_some_and(|step| section.start() < step.end)
    });
    match (inside.next(), draft.steps.iter().map(|step| step.level.0).min()) {
        (Some(_), Some(level)) => level,
        (Some(_) | None, _) => CANONICAL_LEVEL,
    }
}

pub(super) fn canonical_heading(step: &StepDraft, level: u8) -> String {
    let number = &step.number.value;
    let in_heading = step.marks.iter().filter(|mark| step.heading.0.covers(mark.span));
    let marks: String = in_heading.map(|mark| format!("{} ", patch::glyph(mark.value))).collect();
    format!("{} {number}. {marks}{}", "#".repeat(usize::from(level)), step.title.value).trim_end().to_owned()
}

fn labels(source: &Source, step: &StepDraft) -> Vec<Edit> {
    let known = step.fields.0.iter().filter(|field| field.kind.is_some());
    let outside = known.filter(|field| {
        source.slice(field.label).ends_with([':', '*', '_']) && field.value.start >= field.label.end
    });
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

/// Items of a step's lists start with `- ` at the margin, unless the step's fields are list items themselves.
fn bullets(source: &Source, blocks: &Blocks, step: &StepDraft) -> Vec<Edit> {
    let is_bulleted = |label: Span| source.line_at(label.start).start < label.start;
    if step.fields.0.first().is_some_and(|first| is_bulleted(first.label)) {
        return Vec::new();
    }
    let lists = step.fields.0.iter().filter(|field| field.kind.is_some_and(DraftField::is_list));
    let below =
        lists.map(|field| Span::new(source.next_line(field.label.end).min(field.whole.end), field.whole.end));
    below
        .flat_map(|span| step::bullets(source, blocks, span))
        .filter(|item| !item.value.is_empty())
        .map(|item| Edit::replace(Span::new(source.line_at(item.span.start).start, item.span.start), "- "))
        .collect()
}

/// Normalizes a separate line with the exit code.
fn expectation(source: &Source, step: &StepDraft) -> Option<Edit> {
    let expect = step.contract.as_ref()?.expect.as_ref()?;
    expect.value.parse::<u8>().ok()?;
    let line = source.line_at(expect.span.start);
    let is_labelled = step.fields.0.iter().any(|field| line.covers(field.label));
    (!is_labelled).then(|| Edit::replace(line, format!("exit_code == {}", expect.value)))
}

/// Spans in which blank lines must stay: code, tasks and prose.
struct Kept {
    /// Ascending and disjoint.
    spans: Vec<Span>,
}

impl Kept {
    fn of(blocks: &Blocks, draft: &Draft) -> Self {
        let mut spans: Vec<Span> = blocks.codes.iter().map(|code| code.span).collect();
        spans.extend(draft.steps.iter().filter_map(|step| step.task.as_ref()).map(|task| task.span));
        spans.extend(draft.steps.iter().flat_map(|step| &step.stray).map(|stray| stray.span));
        let prose = [&draft.context, &draft.budget, &draft.priority];
        spans.extend(prose.into_iter().flatten().map(|text| text.span));
        spans.extend(draft.frontmatter.block.0);
        spans.sort_unstable();
        // Merged, so that only the last span starting before a line can cover it.
        spans.dedup_by(|later, earlier| {
            let is_joined = later.start <= earlier.end;
            earlier.end = if is_joined { earlier.end.max(later.end) } else { earlier.end };
            is_joined
        });
        Self { spans }
    }

    fn covers(&self, line: Span) -> bool {
        let next = self.spans.partition_point(|span| span.start <= line.end);
        self.spans[..next].last().is_some_and(|span| line.start < span.end)
    }
}

/// One blank line around headings, none twice, none at the end; no blanks at the end of a line.
fn space_out(source: &Source) -> String {
    let blocks = Blocks::read(source, frontmatter::split(source.text()).body);
    let kept = Kept::of(&blocks, &super::parse(source));
    let headings: Vec<Span> = super::sections(source, &blocks)
        .iter()
        .map(|section| section.heading.span)
        .filter(|&heading| !kept.covers(heading))
        .collect();
    let starts: Vec<usize> = headings.iter().map(|heading| source.line_at(heading.start).start).collect();
    let ends: Vec<usize> = headings.iter().map(|heading| source.line_at(heading.end).end).collect();
    let mut text = String::with_capacity(source.text().len());
    let mut at = 0;
    while at < source.text().len() {
        let line = source.line_at(at);
        at = source.next_line(at).max(at + 1);
        let is_kept = kept.covers(line);
        let content = if is_kept { source.slice(line) } else { source.slice(line).trim_end_matches(BLANKS) };
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
    }
    let kept = text.trim_end_matches('\n').len();
    text.truncate(kept);
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
