//! The units that a plan file is made of: named things and pieces of text, one inside the other, that cover every byte.

use crate::plan::draft::Mark;
use crate::syntax::source::Span;

/// A piece of a file. The texts of all units of a file, with the gaps behind them, are the file.
#[derive(Debug, Clone)]
pub(super) struct Unit<'a> {
    /// What it is called among its neighbours; `None` where only its text tells it from them.
    pub(super) name: Option<String>,
    /// How both sides' changes to it are brought together.
    pub(super) kind: Kind,
    /// Its bytes, without the blank lines behind it.
    pub(super) text: &'a str,
    /// The blank lines behind it.
    pub(super) gap: &'a str,
    /// What it consists of, if it is more than text.
    pub(super) parts: Vec<Unit<'a>>,
    /// What decides which of two comes first where both sides put one at the same place.
    pub(super) rank: String,
}

/// How both sides' changes to a unit are brought together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is one thing: a contract, a title, a heading.
    Whole,
    /// Its lines are merged.
    Lines,
    /// An item of a list: its lines are merged, and it has no blank line in front that it needs.
    Item,
    /// It says a value, in one of several spellings.
    Value(String),
    /// It says what the harness has seen.
    Owned { key: String, value: String },
    /// It claims something about a step.
    Claim(Option<Mark>),
    /// Its parts stand on one line: where they clash, the line does.
    Inline,
    /// Its parts are merged.
    Block,
    /// Its parts are merged; two new ones with one name are not.
    Step,
}

impl Kind {
    /// Whether two units are things of one sort, like items of one list.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A text that is divided into units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl<'a> Text<'a> {
    pub(super) fn slice(self, span: Span) -> &'a str {
        &self.0[span.start..span.end]
    }

    /// Where the line that holds `at` begins.
    pub(super) fn line_start(self, at: usize) -> usize {
        self.0.as_bytes()[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
    }

    /// Where the line behind the one that holds `at` begins, at most `end`.
    pub(super) fn next_line(self, at: usize, end: usize) -> usize {
        // In bytes: `at` may be the last byte of something, in the middle of a character.
        self.0.as_bytes()[at..end]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(end, |newline| at + newline + 1)
    }

    /// The first line in `span` that is not blank begins here.
    pub(super) fn skip_blank(self, span: Span) -> usize {
        let text = self.slice(span);
        let blank = text.split_inclusive('\n').take_while(|line| line.trim().is_empty());
        span.start + blank.map(str::len).sum::<usize>()
    }

    /// A unit of text; the blank lines at its end are its gap.
    pub(super) fn unit(self, name: Option<String>, kind: Kind, span: Span) -> Unit<'a> {
        let whole = self.slice(span);
        let mut kept = whole.len();
        for line in whole.split_inclusive('\n').rev().take_while(|line| line.trim().is_empty()) {
            kept -= line.len();
        }
        let (text, gap) = if kept == 0 { (whole, "") } else { whole.split_at(kept) };
        Unit { name, kind, text, gap, parts: Vec::new(), rank: text.to_owned() }
    }

    /// A unit of parts that cover it.
    pub(super) fn group(
        self,
        name: Option<String>,
        kind: Kind,
        span: Span,
        mut parts: Vec<Unit<'a>>,
    ) -> Unit<'a> {
        let unit = self.unit(name, kind, span);
        if let Some(last) = parts.last_mut()
            && !unit.gap.is_empty()
        {
            last.gap = "";
        }
        Unit { parts, ..unit }
    }

    /// A part of a line, without a gap.
    pub(super) fn piece(self, name: Option<&str>, kind: Kind, span: Span) -> Unit<'a> {
        let text = self.slice(span);
        Unit { name: name.map(str::to_owned), kind, text, gap: "", parts: Vec::new(), rank: text.to_owned() }
    }

    /// A line that is cut into pieces: what stands in front of the list, every item with the comma in front of it, and the rest.
    pub(super) fn comma_list(self, name: Option<String>, line: Span, list: Span) -> Unit<'a> {
        let mut parts = vec![self.piece(Some("lead"), Kind::Whole, Span::new(line.start, list.start))];
        let mut at = list.start;
        for item in self.slice(list).split(',') {
            let start = if at == list.start { at } else { at - 1 };
            let span = Span::new(start, at + item.len());
            if !span.is_empty() {
                parts.push(self.piece(None, Kind::Whole, span));
            }
            at = span.end + 1;
        }
        parts.push(self.piece(Some("end"), Kind::Whole, Span::new(list.end, line.end)));
        self.group(name, Kind::Inline, line, parts)
    }
}
