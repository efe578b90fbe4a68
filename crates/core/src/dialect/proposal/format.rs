//! Formats a proposal: line endings, dashes, brackets after numbers, tools and blank lines. Never changes text, code or
//! the order of anything.

use super::operation::{self, Suffix};
use super::outline::ProposalOutline;
use super::{item, parse};
use crate::dialect::frontmatter;
use crate::plan::draft::StepDraft;
use crate::syntax::source;
use crate::syntax::source::{Edit, Source, Span};
use crate::syntax::text::begun;

/// The text of `source` in canonical form.
pub(super) fn canonical(source: &Source) -> String {
    let source = source.with(begun(source.text()));
    let respelled = source
        .edited(&parse(&source).steps.iter().flat_map(|step| respelled(&source, step)).collect::<Vec<_>>());
    spaced(&respelled)
}

/// `3)` becomes `3.`, `*` becomes `-`, and tools get their canonical spelling.
fn respelled(source: &Source, step: &StepDraft) -> Vec<Edit> {
    let mut edits = Vec::new();
    let line = step.heading.0;
    let number = step.number.span;
    let behind = Span::new(number.end, (number.end + 1).min(line.end));
    if !number.is_empty() && source.text().is_char_boundary(behind.end) && source.slice(behind) == ")" {
        edits.push(Edit::replace(behind, "."));
    }
    if number.is_empty() && source.slice(line).starts_with(['*', '+']) {
        edits.push(Edit::replace(Span::new(line.start, line.start + 1), "-"));
    }
    let text = Span::new(step.title.span.end, line.end);
    if let (_, Suffix::Tool(operation)) = operation::divide(source.slice(text).trim_start())
        && item::read(source.slice(line)).is_some()
    {
        edits.push(Edit::replace(text, format!(" {operation}")));
    }
    edits
}

/// No two blank lines in a row, no blanks at the ends of lines, one line ending at the end; code is left alone.
fn spaced(source: &Source) -> String {
    let outline = ProposalOutline::of(source, &frontmatter::split(source.text()));
    let mut edits = Vec::new();
    let mut was_blank = false;
    for line in source.lines_in(outline.blocks.body) {
        let kept = line.start + source.slice(line).trim_end_matches([' ', '\t']).len();
        let is_blank = kept == line.start;
        if !outline.is_fenced(line.start) {
            if is_blank && was_blank {
                edits.push(Edit::delete(Span::new(line.start, source.next_line(line.start))));
            } else if kept < line.end {
                edits.push(Edit::delete(Span::new(kept, line.end)));
            }
        }
        was_blank = is_blank && !outline.is_fenced(line.start);
    }
    let text = source::apply(source.text(), &edits);
    let kept = text.trim_end_matches('\n');
    if kept.is_empty() { String::new() } else { format!("{kept}\n") }
}
