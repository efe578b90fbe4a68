//! The native dialect: one Markdown file with frontmatter, `### N.` steps, `**field:**` lines and fenced contracts.
//! Reads anything, writes only the bytes that a change needs. docs/reference/plan-format.md describes the format.

mod compose;
mod field;
mod format;
mod heading;
mod patch;
mod step;

use crate::dialect::frontmatter;
use crate::dialect::{Dialect, PlanLocation};
use crate::plan::draft::{Draft, Layout, Mark, ParseIssue, REQUIRED_FROM};
use crate::plan::lifecycle::PlanState;
use crate::syntax::markdown::{Blocks, Heading};
use crate::syntax::source::{Source, Span, Spanned};
use heading::StepHeading;

pub(super) use compose::fenced;

pub(super) const DIALECT: Dialect = Dialect {
    name: "native",
    summary: "a Markdown file with `type: plan` in its frontmatter",
    recognises,
    parse,
    skim,
    states: STATES,
    spell,
    marks: &[Mark::Done, Mark::Failed, Mark::Skipped],
    has_traces: false,
    title_key: None,
    keys: &["type", "status", "owner", REQUIRED_FROM, "version", "previousPlanId", "depends_on", "touches"],
    fields: field::FIELDS,
    is_strict: false,
    owned: &["status"],
    edits: patch::edits,
    touch: |_, _| Vec::new(),
    home: |name, _| PlanLocation { id: name.to_owned(), path: format!("plans/{name}.md") },
    canonical: format::canonical,
    compose: compose::compose,
    beside: |_, _, _| Vec::new(),
    overflow: |_| None,
};

/// The spellings of a plan's states.
const STATES: &[(&str, PlanState)] = &[
    ("draft", PlanState::Draft),
    ("verified", PlanState::Proposed),
    ("approved", PlanState::Approved),
    ("in-progress", PlanState::Running),
    ("done", PlanState::Done),
    ("failed", PlanState::Failed),
];

#[expect(clippy::unnecessary_wraps, reason = "other dialects have no word for some states")]
const fn spell(state: PlanState) -> Option<&'static str> {
    Some(match state {
        PlanState::Draft | PlanState::Rejected => "draft",
        PlanState::Proposed => "verified",
        PlanState::Approved => "approved",
        PlanState::Running | PlanState::Waiting(_) => "in-progress",
        PlanState::Done => "done",
        PlanState::Failed | PlanState::Cancelled => "failed",
    })
}

/// A native plan has `type: plan` in its frontmatter.
fn recognises(_: &str, head: &str) -> Option<String> {
    let parts = frontmatter::split(head);
    let yaml = parts
        .yaml
        .map_or(if parts.is_unclosed { &head[parts.body..] } else { "" }, |yaml| &head[yaml.start..yaml.end]);
    let says_so = yaml.lines().any(|line| {
        let value = line.strip_prefix("type:").map(str::trim);
        value.is_some_and(|value| value.trim_matches(['"', '\'']) == "plan" || value.starts_with("plan #"))
    });
    says_so.then(|| "`type: plan` in its frontmatter".to_owned())
}

/// Copies plan-wide frontmatter keys into the draft.
fn read_keys(source: &Source, parts: &frontmatter::FrontmatterParts, draft: &mut Draft) {
    for (key, list) in [("depends_on", &mut draft.depends_on), ("touches", &mut draft.touches)] {
        // A fast path: few plans have these keys, and a list may parse thousands of plans.
        if draft.frontmatter.entry(key).is_some() {
            *list = frontmatter::list(source, parts, key);
        }
    }
    let status = draft.frontmatter.value("status").cloned();
    draft.state = status.as_ref().and_then(|word| Some(Spanned::new(DIALECT.state(&word.value)?, word.span)));
    draft.status = Layout(status);
    draft.owner = Layout(draft.frontmatter.value("owner").cloned());
}

fn parse(source: &Source) -> Draft {
    let parts = frontmatter::split(source.text());
    let (frontmatter, mut oddities) = frontmatter::read(source, &parts);
    let blocks = Blocks::read(source, parts.body);
    oddities.extend(blocks.unclosed.iter().map(|&span| Spanned::new(ParseIssue::UnclosedFence, span)));

    let outline = Outline::of(source, &blocks);
    let mut draft = Draft { frontmatter, title: outline.title, ..Draft::default() };
    read_keys(source, &parts, &mut draft);
    field::read_preamble(source, &blocks, outline.preamble, &mut draft);
    for section in &outline.steps {
        if section.heading.level != outline.level {
            oddities
                .push(Spanned::new(ParseIssue::HeadingLevel { usual: outline.level }, section.heading.span));
        }
        draft.steps.push(step::read(source, &blocks, section, &mut oddities));
    }
    draft.notes = outline.notes.map(|span| step::bullets(source, &blocks, span)).unwrap_or_default();
    oddities.sort_by_key(|oddity| oddity.span.start);
    draft.oddities = Layout(oddities);
    draft
}

/// Parses what a list shows: frontmatter, title and marks. Fields are parsed only if a step may be marked in one.
fn skim(source: &Source) -> Draft {
    let parts = frontmatter::split(source.text());
    let (frontmatter, mut oddities) = frontmatter::read(source, &parts);
    let blocks = Blocks::read(source, parts.body);
    let outline = Outline::of(source, &blocks);
    let may_be_marked =
        |section: &Section| source.slice(section.whole).to_ascii_lowercase().contains("status");
    let steps = outline.steps.iter().map(|section| match may_be_marked(section) {
        true => step::read(source, &blocks, section, &mut oddities),
        false => step::bare(section),
    });
    let steps = steps.collect();
    let mut draft = Draft { frontmatter, title: outline.title, steps, ..Draft::default() };
    read_keys(source, &parts, &mut draft);
    draft
}

/// The headings of a plan and the parts that they delimit.
struct Outline {
    title: Option<Spanned<String>>,
    /// The text before the first step.
    preamble: Span,
    /// The level of step headings.
    level: u8,
    steps: Vec<Section>,
    /// The text below the heading "Notes".
    notes: Option<Span>,
}

/// A step's heading and extent.
struct Section {
    heading: Heading,
    read: StepHeading,
    /// From the heading to the next step, the next heading of the same level, or the end.
    whole: Span,
}

impl Outline {
    fn of(source: &Source, blocks: &Blocks) -> Self {
        let end = source.text().len();
        let headings = headings(source, blocks);
        let read: Vec<Option<StepHeading>> =
            headings.iter().map(|heading| heading::read(source, heading)).collect();
        let has_fields = |index: usize| {
            let next = headings.get(index + 1).map_or(end, |next| next.span.start);
            field::begins_a_step(source, blocks, Span::new(headings[index].below.min(next), next))
        };
        let numbered = || (0..headings.len()).filter(|&index| read[index].is_some());
        let first = numbered().find(|&index| has_fields(index)).or_else(|| numbered().next());
        let level = first.map_or(3, |first| headings[first].level);
        let is_step =
            |index: usize| read[index].is_some() && (headings[index].level == level || has_fields(index));
        let steps_at: Vec<usize> = (0..headings.len()).filter(|&index| is_step(index)).collect();
        let first_step = steps_at.first().map_or(end, |&index| headings[index].span.start);
        let title = headings
            .iter()
            .zip(&read)
            .find(|(heading, read)| heading.level == 1 && read.is_none() && heading.span.start < first_step)
            .map(|(heading, _)| heading::content(source, heading));
        let steps = steps_at.iter().map(|&index| {
            let heading = headings[index];
            let rank = heading.level.min(level);
            let next = (index + 1..headings.len())
                .find(|&later| headings[later].level <= rank || steps_at.binary_search(&later).is_ok());
            let whole = Span::new(heading.span.start, next.map_or(end, |next| headings[next].span.start));
            read[index].clone().map(|read| Section { heading, read, whole })
        });
        let steps: Vec<Section> = steps.flatten().collect();
        let in_step = |at: usize| {
            let next = steps.partition_point(|step| step.whole.start <= at);
            next > 0 && at < steps[next - 1].whole.end
        };
        let notes = headings.iter().enumerate().rev().find(|(_, heading)| {
            !in_step(heading.span.start)
                && heading::content(source, heading).value.eq_ignore_ascii_case(patch::NOTES)
        });
        let notes = notes.map(|(index, heading)| {
            let next = headings[index + 1..].iter().find(|next| next.level <= heading.level);
            Span::new(heading.below, next.map_or(end, |next| next.span.start))
        });
        Self { title, preamble: Span::new(blocks.body, first_step), level, steps, notes }
    }
}

/// The headings of a plan. Text above a line of dashes is usually text and not a setext heading. It counts as a heading
/// only if it is a single line and not a field, and after the first step only if it is a heading we look for. Otherwise
/// the task before a dividing line would be lost.
fn headings(source: &Source, blocks: &Blocks) -> Vec<Heading> {
    let is_step = |heading: &Heading| heading::read(source, heading).is_some();
    let first_step = blocks.headings.iter().position(is_step).unwrap_or(blocks.headings.len());
    let is_heading = |&(place, heading): &(usize, &Heading)| {
        let content = heading::content(source, heading);
        let is_single =
            source.slice(heading.span).lines().count() == 2 && field::label(source, content.span).is_none();
        let is_known = is_step(heading) || content.value.eq_ignore_ascii_case(patch::NOTES);
        !heading.is_underlined || (is_single && (place < first_step || is_known))
    };
    blocks.headings.iter().enumerate().filter(is_heading).map(|(_, &heading)| heading).collect()
}

#[cfg(test)]
mod tests;
