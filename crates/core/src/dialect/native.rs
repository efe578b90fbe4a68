//! The native dialect: one Markdown file with frontmatter, `### N.` steps, `**field:**` lines and fenced contracts.
//! Reads anything, writes only the bytes that a change needs. docs/reference/plan-format.md describes the format.

mod compose;
mod field;
mod format;
mod heading;
mod patch;
mod step;
mod unread;

use crate::dialect;
use crate::dialect::frontmatter;
use crate::dialect::{Dialect, PlanLocation};
use crate::plan::draft::{Draft, Layout, Mark, ParseIssue, REQUIRED_FROM, StepNumber};
use crate::plan::lifecycle::PlanState;
use crate::syntax::markdown::{Blocks, Heading};
use crate::syntax::outline;
use crate::syntax::outline::Section;
use crate::syntax::source::{Source, Span, Spanned, item_at};
use heading::{Spelling, StepHeading};

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
    beside: None,
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
fn recognises(_: &str, text: &str) -> Option<String> {
    let says_so = frontmatter::glimpse(text).lines().any(|line| {
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
    DIALECT.claim(draft.frontmatter.value("status").cloned(), draft);
    draft.owner = Layout(draft.frontmatter.value("owner").cloned());
}

fn parse(source: &Source) -> Draft {
    let parts = frontmatter::split(source.text());
    let (frontmatter, mut oddities) = frontmatter::read(source, &parts);
    let blocks = Blocks::read(source, parts.body);
    oddities.extend(dialect::unclosed(&blocks));

    let outline = Outline::of(source, &blocks);
    let mut draft = Draft { frontmatter, title: outline.title.clone(), ..Draft::default() };
    read_keys(source, &parts, &mut draft);
    field::read_preamble(source, &blocks, outline.preamble, &mut draft);
    for section in &outline.steps {
        if section.heading.level != outline.level {
            oddities
                .push(Spanned::new(ParseIssue::HeadingLevel { usual: outline.level }, section.heading.span));
        }
        let step = step::read(source, &blocks, section, &mut oddities);
        if section.read.spelling != Spelling::Usual {
            let usual = format::canonical_heading(&step, section.heading.level);
            oddities.push(Spanned::new(ParseIssue::OddNumber { usual }, section.heading.span));
        }
        draft.steps.push(step);
    }
    oddities.extend(unread::steps(source, &blocks, &outline));
    draft.notes = outline.notes.map(|span| step::bullets(source, &blocks, span)).unwrap_or_default();
    draft.oddities = dialect::in_order(oddities);
    draft
}

/// Parses what a list shows: frontmatter, title and marks. Fields are parsed only if a step may be marked in one.
fn skim(source: &Source) -> Draft {
    let parts = frontmatter::split(source.text());
    let (frontmatter, mut oddities) = frontmatter::read(source, &parts);
    let blocks = Blocks::read(source, parts.body);
    let outline = Outline::of(source, &blocks);
    let may_be_marked = |step: &StepSection| source.slice(step.whole).to_ascii_lowercase().contains("status");
    let steps = outline.steps.iter().map(|step| match may_be_marked(step) {
        true => step::read(source, &blocks, step, &mut oddities),
        false => step::bare(step),
    });
    let steps = steps.collect();
    let mut draft = Draft { frontmatter, title: outline.title, steps, ..Draft::default() };
    read_keys(source, &parts, &mut draft);
    draft
}

/// The headings of a plan and the parts that they delimit.
struct Outline {
    sections: Vec<NativeSection>,
    title: Option<Spanned<String>>,
    /// The text before the first step.
    preamble: Span,
    /// The level of step headings.
    level: u8,
    steps: Vec<StepSection>,
    /// The text below the heading "Notes".
    notes: Option<Span>,
}

type NativeSection = Section<Option<StepHeading>>;

/// A step's heading and extent.
struct StepSection {
    heading: Heading,
    read: StepHeading,
    /// From the heading to the next step, the next heading of the same level, or the end.
    whole: Span,
}

impl Outline {
    fn of(source: &Source, blocks: &Blocks) -> Self {
        let end = source.text().len();
        let sections = sections(source, blocks);
        let has_fields = |index: usize| field::begins_a_step(source, blocks, sections[index].own());
        // A level-1 heading is the title of a document and never a step.
        let numbered = || {
            let read = sections.iter().enumerate().filter(|(_, section)| section.heading.level > 1);
            read.filter_map(|(index, section)| Some((index, section.read.as_ref()?)))
        };
        let usual = || numbered().filter(|(_, read)| read.spelling != Spelling::Doubtful);
        let first = numbered().find(|&(index, _)| has_fields(index)).or_else(|| usual().next());
        let level = first.map_or(3, |(first, _)| sections[first].heading.level);
        let mut steps_at: Vec<usize> = Vec::new();
        let mut next_number = 1;
        for (index, read) in numbered() {
            let is_in_line = sections[index].heading.level == level
                && (read.spelling != Spelling::Doubtful
                    || read.number.value == StepNumber::Counted(next_number));
            if is_in_line || has_fields(index) {
                steps_at.push(index);
                next_number = match read.number.value {
                    StepNumber::Counted(number) => number.saturating_add(1),
                    StepNumber::Template(_) => 0,
                };
            }
        }
        let first_step = steps_at.first().map_or(end, |&index| sections[index].start());
        let is_title = |section: &&NativeSection| {
            let is_step_like = || unread::is_step_like(source, blocks, section.own());
            section.heading.level == 1
                && section.start() < first_step
                && !(section.read.is_some() && is_step_like())
        };
        let title = sections.iter().find(is_title).map(|section| section.title.clone());
        let steps = steps_at.iter().map(|&index| {
            let heading = sections[index].heading;
            let rank = heading.level.min(level);
            let next = (index + 1..sections.len()).find(|&later| {
                sections[later].heading.level <= rank || steps_at.binary_search(&later).is_ok()
            });
            let whole = Span::new(heading.span.start, next.map_or(end, |next| sections[next].start()));
            sections[index].read.clone().map(|read| StepSection { heading, read, whole })
        });
        let steps: Vec<StepSection> = steps.flatten().collect();
        let in_step = |at: usize| item_at(&steps, at, |step| step.whole).is_some();
        let is_notes = |section: &&NativeSection| is_notes(&section.title) && !in_step(section.start());
        let notes = sections.iter().rev().find(is_notes).map(Section::below);
        let preamble = Span::new(blocks.body.start, first_step);
        Self { sections, title, preamble, level, steps, notes }
    }
}

fn is_notes(title: &Spanned<String>) -> bool {
    title.value.eq_ignore_ascii_case(patch::NOTES)
}

/// The sections of a plan. Text above a line of dashes is usually text and not a setext heading. It counts as a heading
/// only if it is a single line and not a field, and after the first step only if it is a heading we look for. Otherwise
/// the task before a dividing line would be lost.
fn sections(source: &Source, blocks: &Blocks) -> Vec<NativeSection> {
    let mut has_step = false;
    outline::sections(source, blocks, |heading, title| {
        let step =
            heading::read(title).filter(|read| !heading.is_underlined || read.spelling == Spelling::Usual);
        let is_meant = || {
            let is_known = !has_step || step.is_some() || is_notes(title);
            is_known
                && source.slice(heading.span).lines().count() == 2
                && field::LABELS.read(source, title.span).is_none()
        };
        let counts = !heading.is_underlined || is_meant();
        has_step |= step.is_some();
        counts.then_some(step)
    })
}

#[cfg(test)]
mod tests;
