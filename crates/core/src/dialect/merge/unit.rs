//! The units of a plan file: named things and pieces of text, nested, covering every byte.

use crate::plan::draft::Mark;
use crate::syntax::source::Span;

/// A piece of a file. The texts of all units with their gaps add up to the file.
#[derive(Debug, Clone)]
pub(super) struct MergeUnit<'a> {
    /// Its name among its siblings; `None` if only its text identifies it.
    pub(super) name: Option<String>,
    /// How changes of both sides are merged.
    pub(super) kind: UnitKind,
    /// Its bytes, without the blank lines after it.
    pub(super) text: &'a str,
    /// The blank lines after it.
    pub(super) gap: &'a str,
    /// Its parts, if it is more than text.
    pub(super) parts: Vec<MergeUnit<'a>>,
    /// The sort key if both sides put one at the same position.
    pub(super) rank: String,
}

/// How changes of both sides to a unit are merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// Atomic: a contract, a title, a heading.
    Whole,
    /// Its lines are merged.
    Lines,
    /// A list item: its lines are merged, and it needs no blank line before it.
    Item,
    /// A value with several spellings.
    Value(String),
    /// A value that planwright writes.
    Owned { key: String, value: String },
    /// A claim about a step.
    Claim(Option<Mark>),
    /// Its parts are on one line: if they conflict, the whole line does.
    Inline,
    /// Its parts are merged.
    Block,
    /// Its parts are merged, except two new ones with the same name.
    Step,
}

impl UnitKind {
    /// Whether two units are of the same kind, like items of one list.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A text that is divided into units.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitText<'a>(pub(super) &'a str);

impl<'a> UnitText<'a> {
    pub(super) fn slice(self, span: Span) -> &'a str {
        &self.0[span.start..span.end]
    }

    /// Where the line that holds `at` starts.
    pub(super) fn line_start(self, at: usize) -> usize {
        self.0.as_bytes()[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
    }

    /// Where the line after the one that holds `at` starts, at most `end`.
    pub(super) fn next_line(self, at: usize, end: usize) -> usize {
        // In bytes: `at` may be the last byte of something, in the middle of a character.
        self.0.as_bytes()[at..end]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(end, |newline| at + newline + 1)
    }

    /// The first line in `span` that is not blank starts here.
    pub(super) fn skip_blank(self, span: Span) -> usize {
        let text = self.slice(span);
        let blank = text.split_inclusive('\n').take_while(|line| line.trim().is_empty());
        span.start + blank.map(str::len).sum::<usize>()
    }

    /// A unit of text; the blank lines at its end are its gap.
    pub(super) fn unit(self, name: Option<String>, kind: UnitKind, span: Span) -> MergeUnit<'a> {
        let whole = self.slice(span);
        let mut kept = whole.len();
        for line in whole.split_inclusive('\n').rev().take_while(|line| line.trim().is_empty()) {
            kept -= line.len();
        }
        let (text, gap) = if kept == 0 { (whole, "") } else { whole.split_at(kept) };
        MergeUnit { name, kind, text, gap, parts: Vec::new(), rank: text.to_owned() }
    }

    /// A unit of parts that cover it.
    pub(super) fn group(
        self,
        name: Option<String>,
        kind: UnitKind,
        span: Span,
        mut parts: Vec<MergeUnit<'a>>,
    ) -> MergeUnit<'a> {
        let unit = self.unit(name, kind, span);
        if let Some(last) = parts.last_mut()
            && !unit.gap.is_empty()
        {
            last.gap = "";
        }
        MergeUnit { parts, ..unit }
    }

    /// A part of a line, without a gap.
    pub(super) fn piece(self, name: Option<&str>, kind: UnitKind, span: Span) -> MergeUnit<'a> {
        let text = self.slice(span);
        MergeUnit {
            name: name.map(str::to_owned),
            kind,
            text,
            gap: "",
            parts: Vec::new(),
            rank: text.to_owned(),
        }
    }

    /// A line in pieces: the text before the list, every item with its preceding comma, and the rest.
    pub(super) fn comma_list(self, name: Option<String>, line: Span, list: Span) -> MergeUnit<'a> {
        let mut parts = vec![self.piece(Some("lead"), UnitKind::Whole, Span::new(line.start, list.start))];
        let mut at = list.start;
        for item in self.slice(list).split(',') {
            let start = if at == list.start { at } else { at - 1 };
            let span = Span::new(start, at + item.len());
            if !span.is_empty() {
                parts.push(self.piece(None, UnitKind::Whole, span));
            }
            at = span.end + 1;
        }
        parts.push(self.piece(Some("end"), UnitKind::Whole, Span::new(list.end, line.end)));
        self.group(name, UnitKind::Inline, line, parts)
    }
}
