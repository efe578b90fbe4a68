//! The outline of a proposal: where its steps and notes are, and what is neither.

use crate::dialect::frontmatter::FrontmatterParts;
use crate::plan::verified;
use crate::syntax::markdown::{Blocks, Code};
use crate::syntax::outline;
use crate::syntax::outline::Section;
use crate::syntax::source::{Source, Span, item_at, retain_disjoint};

/// The heading of the steps, as [`verified::slug`] spells it.
const STEPS: &[&str] =
    &["steps", "step", "plan-steps", "proposed-steps", "execution-steps", "implementation-steps"];

/// The heading of the context.
pub(super) const CONTEXT: &str = "context";

/// The heading of the notes in it.
pub(super) const NOTES: &str = "notes";

/// The heading of the comments on rejected revisions.
pub(super) const REJECTIONS: &str = "rejection-history";

/// Headings whose lists are not steps. A heading that only starts with such a word counts too.
const OTHERS: &[&str] = &[
    CONTEXT,
    NOTES,
    "tool-outputs",
    "artifacts",
    "risks",
    "rejection",
    "rollback",
    "result",
    "summary",
    "background",
    "assumptions",
    "references",
    "dependencies",
    "open-questions",
    "success-criteria",
    "acceptance-criteria",
    "out-of-scope",
];

pub(super) type ProposalHeading = Section<Key>;

/// The title of a section as it is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(pub(super) String);

impl Key {
    pub(super) fn is_steps(&self) -> bool {
        let counted = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        STEPS.contains(&self.0.as_str()) || self.0.strip_prefix("steps-").is_some_and(counted)
    }

    /// Whether lists below it are surely no steps.
    pub(super) fn is_other(&self) -> bool {
        let begins = |word: &&str| {
            self.0.strip_prefix(*word).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        OTHERS.iter().any(begins)
    }
}

/// The blocks of a proposal.
pub(super) struct ProposalOutline {
    pub(super) blocks: Blocks,
    pub(super) sections: Vec<ProposalHeading>,
    /// Lines between code fences, ascending. An unclosed fence hides nothing, so that no step gets lost in it.
    fenced: Vec<Span>,
}

impl ProposalOutline {
    pub(super) fn of(source: &Source, parts: &FrontmatterParts) -> Self {
        let blocks = Blocks::read(source, parts.body);
        let is_unclosed = |code: &Code| {
            blocks.unclosed.binary_search_by_key(&code.span.start, |opening| opening.start).is_ok()
        };
        let is_fence = |code: &&Code| source.slice(code.span).starts_with(['`', '~']) && !is_unclosed(code);
        let inside =
            |code: &Code| Span::new(source.next_line(code.span.start).min(code.span.end), code.span.end);
        let fenced = blocks.codes.iter().filter(is_fence).map(inside).collect();
        Self { sections: sections(source, &blocks), blocks, fenced }
    }

    /// Whether the line that starts at `at` is between fences.
    pub(super) fn is_fenced(&self, at: usize) -> bool {
        item_at(&self.fenced, at, |span| *span).is_some()
    }

    /// Whether the line that starts at `at` is HTML, such as a comment.
    pub(super) fn is_html(&self, source: &Source, at: usize) -> bool {
        let lines = |code: &Code| Span::new(source.line_at(code.span.start).start, code.span.end);
        self.blocks.is_opaque(at) && item_at(&self.blocks.codes, at, lines).is_none()
    }

    /// The fenced code that starts in this line.
    pub(super) fn code_in_line(&self, source: &Source, line: Span) -> Option<&Code> {
        let mut codes = self.blocks.codes_in(Span::new(line.start, line.end + 1));
        codes.find(|code| source.slice(code.span).starts_with(['`', '~']))
    }

    /// The heading whose line starts at or around `at`.
    pub(super) fn heading_at(&self, at: usize) -> Option<&ProposalHeading> {
        item_at(&self.sections, at, |section| Span::new(section.start(), section.heading.below))
    }

    /// Where the steps are: below headings that say so, or anywhere not claimed by another heading.
    pub(super) fn regions(&self) -> Vec<Span> {
        let mut named: Vec<Span> =
            self.sections.iter().filter(|section| section.read.is_steps()).map(Section::below).collect();
        // Nested sections are parsed with their parents.
        retain_disjoint(&mut named, |span| *span);
        if named.is_empty() { vec![self.blocks.body] } else { named }
    }

    /// Whether a heading says where the steps are.
    pub(super) fn has_steps(&self) -> bool {
        self.sections.iter().any(|section| section.read.is_steps())
    }

    /// The section of the context: the first.
    pub(super) fn context(&self) -> Option<&ProposalHeading> {
        self.sections.iter().find(|section| section.read.0 == CONTEXT)
    }

    /// The notes section: the one in the context, or the last one with that heading.
    pub(super) fn notes(&self) -> Option<&ProposalHeading> {
        let is_notes = |section: &&ProposalHeading| section.read.0 == NOTES;
        let context = self.context().map(Section::below);
        let inside =
            |section: &&ProposalHeading| context.is_some_and(|context| context.covers(section.below()));
        let mut all = self.sections.iter().filter(is_notes);
        all.clone().rfind(inside).or_else(|| all.next_back())
    }
}

/// The sections. Text above a line of dashes is usually text and not a setext heading, and would end the steps: it
/// counts only if it is a heading we look for.
fn sections(source: &Source, blocks: &Blocks) -> Vec<ProposalHeading> {
    outline::sections(source, blocks, |heading, title| {
        let key = Key(verified::slug(&title.value));
        (!heading.is_underlined || key.is_steps() || key.is_other()).then_some(key)
    })
}
