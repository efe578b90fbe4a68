//! The outline of a proposal: where its steps and notes are, and what is neither.

use crate::dialect::frontmatter::FrontmatterParts;
use crate::plan::verified;
use crate::syntax::markdown::{Blocks, Code, Heading};
use crate::syntax::source::{Source, Span, Spanned};

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

/// A heading with its name and its reach.
#[derive(Debug, Clone)]
pub(super) struct Titled {
    pub(super) heading: Heading,
    pub(super) name: Spanned<String>,
    /// The same, as it is looked for.
    pub(super) key: String,
    /// From below it to the next heading of its rank, or the end.
    pub(super) reach: Span,
}

impl Titled {
    pub(super) fn is_steps(&self) -> bool {
        let counted = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        STEPS.contains(&self.key.as_str()) || self.key.strip_prefix("steps-").is_some_and(counted)
    }

    /// Whether lists below it are surely no steps.
    pub(super) fn is_other(&self) -> bool {
        is_other(&self.key)
    }
}

fn is_other(key: &str) -> bool {
    let begins =
        |word: &&str| key.strip_prefix(*word).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    OTHERS.iter().any(begins)
}

/// The blocks of a proposal.
pub(super) struct ProposalOutline {
    pub(super) blocks: Blocks,
    pub(super) headings: Vec<Titled>,
    /// Everything after the frontmatter.
    pub(super) body: Span,
    /// Lines between code fences, ascending. An unclosed fence hides nothing, so that no step gets lost in it.
    fenced: Vec<Span>,
}

impl ProposalOutline {
    pub(super) fn of(source: &Source, parts: &FrontmatterParts) -> Self {
        let blocks = Blocks::read(source, parts.body);
        let body = Span::new(parts.body, source.text().len());
        let is_unclosed = |code: &Code| {
            blocks.unclosed.binary_search_by_key(&code.span.start, |opening| opening.start).is_ok()
        };
        let is_fence = |code: &&Code| source.slice(code.span).starts_with(['`', '~']) && !is_unclosed(code);
        let inside =
            |code: &Code| Span::new(source.next_line(code.span.start).min(code.span.end), code.span.end);
        let fenced = blocks.codes.iter().filter(is_fence).map(inside).collect();
        Self { headings: headings(source, &blocks, body.end), blocks, body, fenced }
    }

    /// Whether the line that starts at `at` is between fences.
    pub(super) fn is_fenced(&self, at: usize) -> bool {
        let next = self.fenced.partition_point(|span| span.start <= at);
        next > 0 && at < self.fenced[next - 1].end
    }

    /// Whether the line that starts at `at` is HTML, such as a comment.
    pub(super) fn is_html(&self, source: &Source, at: usize) -> bool {
        let next = self.blocks.codes.partition_point(|code| source.line_at(code.span.start).start <= at);
        let is_code = next > 0 && at < self.blocks.codes[next - 1].span.end;
        self.blocks.is_opaque(at) && !is_code
    }

    /// The fenced code that starts in this line.
    pub(super) fn code_in_line(&self, source: &Source, line: Span) -> Option<&Code> {
        let mut codes = self.blocks.codes_in(Span::new(line.start, line.end + 1));
        codes.find(|code| source.slice(code.span).starts_with(['`', '~']))
    }

    /// The heading whose line starts at or around `at`.
    pub(super) fn heading_at(&self, at: usize) -> Option<&Titled> {
        let next = self.headings.partition_point(|titled| titled.heading.span.start <= at);
        self.headings[..next].last().filter(|titled| at < titled.heading.below)
    }

    /// Where the steps are: below headings that say so, or anywhere not claimed by another heading.
    pub(super) fn regions(&self) -> Vec<Span> {
        let named: Vec<Span> =
            self.headings.iter().filter(|titled| titled.is_steps()).map(|titled| titled.reach).collect();
        if named.is_empty() { vec![self.body] } else { disjoint(named) }
    }

    /// Whether a heading says where the steps are.
    pub(super) fn has_steps(&self) -> bool {
        self.headings.iter().any(Titled::is_steps)
    }

    /// The section of the context: the first.
    pub(super) fn context(&self) -> Option<&Titled> {
        self.headings.iter().find(|titled| titled.key == CONTEXT)
    }

    /// The notes section: the one in the context, or the last one with that heading.
    pub(super) fn notes(&self) -> Option<&Titled> {
        let is_notes = |titled: &&Titled| titled.key == NOTES;
        let reach = self.context().map(|context| context.reach);
        let inside = |titled: &&Titled| reach.is_some_and(|reach| reach.covers(titled.reach));
        let mut all = self.headings.iter().filter(is_notes);
        all.clone().rfind(inside).or_else(|| all.next_back())
    }
}

/// Drops nested sections: they are parsed with their parents.
fn disjoint(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut end = 0;
    spans.retain(|span| {
        let is_new = span.start >= end;
        end = end.max(span.end);
        is_new
    });
    spans
}

/// The headings. Text above a line of dashes is usually text and not a setext heading, and would end the steps: it
/// counts only if it is a heading we look for.
fn headings(source: &Source, blocks: &Blocks, end: usize) -> Vec<Titled> {
    let titled = |heading: &Heading| {
        let name = name(source, heading);
        let key = verified::slug(&name.value);
        Titled { heading: *heading, name, key, reach: Span::new(heading.below, end) }
    };
    let is_meant = |titled: &Titled| !titled.heading.is_underlined || titled.is_steps() || titled.is_other();
    let mut all: Vec<Titled> = blocks.headings.iter().map(titled).filter(is_meant).collect();
    // The open headings, deepest last.
    let mut open: Vec<usize> = Vec::new();
    for place in 0..all.len() {
        let Heading { level, span, .. } = all[place].heading;
        while let Some(above) = open.pop_if(|above| all[*above].heading.level >= level) {
            all[above].reach.end = span.start.max(all[above].reach.start);
        }
        open.push(place);
    }
    all
}

/// What a heading says.
fn name(source: &Source, heading: &Heading) -> Spanned<String> {
    let text = source.slice(heading.span);
    let line = text.lines().next().unwrap_or_default();
    let bare =
        if heading.is_underlined { line.trim() } else { line.trim_start().trim_start_matches('#').trim() };
    let closed = bare.trim_end_matches('#');
    let is_closing = closed.len() < bare.len() && closed.ends_with([' ', '\t']) && !heading.is_underlined;
    let bare = if is_closing { closed.trim_end() } else { bare };
    let start = heading.span.start + line.find(bare).unwrap_or_default();
    Spanned::new(bare.to_owned(), Span::new(start, start + bare.len()))
}
