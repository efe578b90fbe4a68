//! Finds what looks like a step but is not read as one, so that no step gets lost: headings with the fields of a step, and
//! numbered headings that Markdown or the level of the others keeps from being steps.

use std::collections::BTreeSet;

use super::field::{ESSENTIAL, LABELS};
use super::heading::{self, Spelling};
use super::{NativeSection, Outline, is_notes};
use crate::plan::draft::{DraftField, ParseIssue, UnreadStepReason};
use crate::syntax::markdown::Blocks;
use crate::syntax::outline::glued_heading;
use crate::syntax::source::{Source, Span, Spanned, item_at};

/// One field of a step may be a word of prose; two are not.
const FIELDS_MIN: usize = 2;

/// Whether a text has so many fields, in bold or not, that it can hardly be prose.
pub(super) fn is_step_like(source: &Source, blocks: &Blocks, text: Span) -> bool {
    essential(source, blocks, text).len() >= FIELDS_MIN
}

/// The essential fields in a text, in bold or not.
fn essential(source: &Source, blocks: &Blocks, text: Span) -> BTreeSet<DraftField> {
    let lines = blocks.text_lines(source, text);
    let kinds = lines.filter_map(|line| match LABELS.read(source, line) {
        Some(label) => label.kind,
        None => LABELS.unstarred(source, line).map(|(kind, _)| kind),
    });
    kinds.filter(|kind| ESSENTIAL.contains(kind)).collect()
}

/// Everything in the plan that looks like a step and is none.
pub(super) fn steps(source: &Source, blocks: &Blocks, outline: &Outline) -> Vec<Spanned<ParseIssue>> {
    let search = Search { source, blocks, outline };
    let mut found: Vec<(Span, UnreadStepReason, Option<String>)> = Vec::new();
    let first = outline.sections.first().map_or(blocks.body.end, NativeSection::start);
    let before = Span::new(blocks.body.start, first);
    if is_step_like(source, blocks, before) {
        found.push((source.trimmed(before), UnreadStepReason::Fields, None));
    }
    for section in &outline.sections {
        let why = search.reason(section);
        found.extend(why.map(|why| (section.heading.span, why, search.repaired(section))));
    }
    for line in blocks.text_lines(source, blocks.body) {
        found.extend(search.glued(line).map(|text| (line, UnreadStepReason::NoHeading, Some(text))));
    }
    let issue = |(span, why, heading)| {
        Spanned::new(ParseIssue::UnreadStep { why, heading }, first_line(source, span))
    };
    found.into_iter().map(issue).collect()
}

fn first_line(source: &Source, span: Span) -> Span {
    Span::new(span.start, source.line_at(span.start).end.min(span.end))
}

struct Search<'a> {
    source: &'a Source,
    blocks: &'a Blocks,
    outline: &'a Outline,
}

impl Search<'_> {
    /// Why a section that is no step looks like one.
    fn reason(&self, section: &NativeSection) -> Option<UnreadStepReason> {
        let steps = &self.outline.steps;
        let is_step = steps.binary_search_by_key(&section.start(), |step| step.heading.span.start).is_ok();
        let is_title = self.is_title(section);
        if is_step || is_notes(&section.title) {
            return None;
        }
        let is_numbered = section.read.as_ref().is_some_and(|heading| heading.spelling != Spelling::Doubtful);
        if section.heading.level == 1 && is_numbered && !is_title {
            return Some(UnreadStepReason::Level);
        }
        let own = essential(self.source, self.blocks, section.own());
        if let Some(step) = item_at(steps, section.start(), |step| step.whole) {
            // A task may have headings, and fields may follow them; only what the step has already is another's.
            let above = Span::new(step.heading.below.min(section.start()), section.start());
            let above = essential(self.source, self.blocks, above);
            let is_other = own.len() >= FIELDS_MIN && !own.is_disjoint(&above);
            return is_other.then_some(UnreadStepReason::Fields);
        }
        let has_contract = is_title && own.contains(&DraftField::Contract);
        let is_step_like =
            own.len() >= FIELDS_MIN || has_contract || (!is_title && self.has_bold_field(section.own()));
        is_step_like.then_some(UnreadStepReason::Fields)
    }

    fn is_title(&self, section: &NativeSection) -> bool {
        self.outline.title.as_ref().is_some_and(|title| title.span == section.title.span)
    }

    /// Whether there is a task or a contract in bold. A target alone makes no step, and list items of prose often start
    /// like a field.
    fn has_bold_field(&self, text: Span) -> bool {
        let labels = self.blocks.text_lines(self.source, text);
        let mut labels =
            labels.filter_map(|line| LABELS.read(self.source, line)).filter(|label| !label.is_bulleted);
        labels.any(|label| matches!(label.kind, Some(DraftField::Task | DraftField::Contract)))
    }

    /// The heading with which a section would be a step; nothing if it is the title, only groups steps, or is underlined.
    fn repaired(&self, section: &NativeSection) -> Option<String> {
        let steps = &self.outline.steps;
        let next = steps.partition_point(|step| step.heading.span.start < section.start());
        let has_steps = steps.get(next).is_some_and(|step| step.heading.span.start < section.end);
        let own = essential(self.source, self.blocks, section.own());
        let is_group =
            has_steps && own.is_disjoint(&BTreeSet::from([DraftField::Task, DraftField::Contract]));
        if section.heading.is_underlined || is_group || self.is_title(section) {
            return None;
        }
        let marks = "#".repeat(usize::from(self.outline.level));
        let title = &section.title.value;
        Some(match section.read {
            Some(_) => format!("{marks} {title}"),
            None => format!("{marks} {}. {title}", next + 1),
        })
    }

    /// The heading that a line such as `###2. Title` is meant to be.
    fn glued(&self, line: Span) -> Option<String> {
        let (level, title) = glued_heading(self.source.slice(line))?;
        let title = Spanned::new(title.to_owned(), Span::new(line.end - title.len(), line.end));
        heading::read(&title).filter(|read| read.spelling != Spelling::Doubtful)?;
        Some(format!("{} {}", "#".repeat(usize::from(level)), title.value))
    }
}
