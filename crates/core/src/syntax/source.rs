//! The text of one plan with its positions: a file, or the files of a folder as one text. Owns spans, line numbers and edits;
//! never touches a disk.

use std::fmt;

use crate::dialect::{self, Dialect};
use crate::plan::draft::Draft;

/// A range of bytes in a [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A span of the bytes `start..end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The empty span in front of byte `at`.
    pub const fn at(at: usize) -> Self {
        Self { start: at, end: at }
    }

    /// The number of bytes covered.
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether no byte is covered.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `other` lies wholly inside.
    pub const fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The same span, `by` bytes further on.
    #[must_use]
    pub const fn shifted(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by }
    }
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self::new(range.start, range.end)
    }
}

/// A value and the bytes that said it.
///
/// Two of them are equal when their values are: a [`crate::plan::draft::Draft`] that was moved or re-spelled still says the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spanned<T> {
    pub value: T,
    /// Where it was said.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// `value`, said at `span`.
    pub const fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

/// What was said, or nothing.
pub fn text(spanned: Option<&Spanned<String>>) -> String {
    spanned.map(|spanned| spanned.value.clone()).unwrap_or_default()
}

/// Everything that was said.
pub fn texts(spanned: &[Spanned<String>]) -> Vec<String> {
    spanned.iter().map(|spanned| spanned.value.clone()).collect()
}

/// Text that was lifted out of a file line by line: indentation of its container and carriage returns are gone.
///
/// Equal when the texts are, like [`Spanned`].
#[derive(Debug, Clone, Default)]
pub struct Excerpt {
    /// The text, its lines ended by LF.
    pub value: String,
    /// The lines of the file that it came from.
    pub span: Span,
    /// Pairs of an offset in `value` and the offset in the file of the same byte, ascending; at least one a line.
    anchors: Vec<(usize, usize)>,
}

impl Excerpt {
    /// An excerpt from the lines `span`, with no text yet.
    pub fn new(span: Span) -> Self {
        Self { value: String::new(), span, anchors: Vec::new() }
    }

    /// Adds a piece that stands at `at` in the file.
    pub fn push(&mut self, piece: &str, at: usize) {
        self.anchors.push((self.value.len(), at));
        self.value.push_str(piece);
    }

    /// Where a span of the text lies in the file.
    pub fn locate(&self, span: Span) -> Span {
        let start = self.offset(span.start);
        Span::new(start, self.offset(span.end).max(start))
    }

    fn offset(&self, at: usize) -> usize {
        let next = self.anchors.partition_point(|&(inner, _)| inner <= at);
        match next.checked_sub(1).map(|index| self.anchors[index]) {
            Some((inner, outer)) => (outer + at - inner).min(self.span.end),
            None => self.span.start,
        }
    }
}

impl PartialEq for Excerpt {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Excerpt {}

/// A place as people count it: both numbers start at 1, the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    /// Character in the line.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What stands in front of the path of every file in the text of a folder. No plan has this character: a file that
/// does is unreadable, so that no text can pass for the beginning of another file.
pub const FILE_SEPARATOR: char = '\u{1c}';

/// One file of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its path below the folder; empty where the source is one file.
    pub path: String,
    pub span: Span,
}

/// How the dialect of a plan is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Unasked,
    /// By what the plan says or where it lies: `PLAN.md in .harness/`.
    By(String),
    Forced,
    /// By nothing: it looks like none.
    Nothing,
}

/// The exact text of a plan, byte order marks and line endings included, and the dialect that it is written in.
///
/// A plan that is a folder is one text as well: every file behind a line with [`FILE_SEPARATOR`] and its path. So all of it is
/// checked, approved, kept and edited like a single file.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    place: String,
    text: String,
    dialect: &'static Dialect,
    told: Told,
    /// Byte offset of the first byte of every line; never empty.
    lines: Vec<usize>,
    /// The files in the text, in order; never empty.
    parts: Vec<Part>,
}

impl Source {
    /// A native plan called `name` (a path as the user would write it) with this text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        let parts = parts(&text);
        let is_folder = text.starts_with(FILE_SEPARATOR);
        let bytes = text.bytes().enumerate();
        let breaks = bytes.filter_map(|(at, byte)| match byte {
            b'\n' => Some(at + 1),
            // The line in front of a file's name may lack its ending.
            0x1c if is_folder && at > 0 && text.as_bytes()[at - 1] != b'\n' => Some(at),
            _ => None,
        });
        let lines = std::iter::once(0).chain(breaks).collect();
        Self { place: name.clone(), name, text, dialect: dialect::NATIVE, told: Told::Unasked, lines, parts }
    }

    /// The text of a folder with these files: paths below it and what they hold.
    pub fn bundle<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
        files.into_iter().map(|(path, text)| format!("{FILE_SEPARATOR}{path}\n{text}")).collect()
    }

    /// The same text, written in this dialect.
    #[must_use]
    pub fn written_in(self, dialect: &'static Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// The same text in the dialect that it looks like, or in the one that somebody says.
    #[must_use]
    pub fn recognised(self, forced: Option<&'static Dialect>) -> Self {
        let (dialect, told) = match (forced, dialect::detect(&self.place, &self.text)) {
            (Some(forced), _) => (forced, Told::Forced),
            (None, Ok(detected)) => (detected.dialect, Told::By(detected.because)),
            (None, Err(dialect::Unlike)) => (dialect::NATIVE, Told::Nothing),
        };
        Self { dialect, told, ..self }
    }

    /// The same text, at this path of the file system.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: place.into(), ..self }
    }

    /// The same plan with another text.
    #[must_use]
    pub fn with(&self, text: impl Into<String>) -> Self {
        let (place, told) = (self.place.clone(), self.told.clone());
        Self { place, told, dialect: self.dialect, ..Self::new(self.name.as_str(), text) }
    }

    /// The same plan with all `edits` made; see [`apply`].
    #[must_use]
    pub fn edited(&self, edits: &[Edit]) -> Self {
        self.with(apply(&self.text, edits))
    }

    /// How the user calls this file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies, as exactly as is known; its name where nothing else is.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The dialect that it is written in.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// How that is known.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// What the plan says.
    pub fn draft(&self) -> Draft {
        (self.dialect.parse)(self)
    }

    /// Everything that the file holds.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files in the text, in order; one that is called "" where the plan is no folder.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The file that holds a byte offset.
    pub fn part_at(&self, offset: usize) -> &Part {
        let next = self.parts.partition_point(|part| part.span.start <= offset);
        &self.parts[next.saturating_sub(1)]
    }

    /// How the user calls the file that holds a byte offset.
    pub fn name_at(&self, offset: usize) -> String {
        match self.part_at(offset).path.as_str() {
            "" => self.name.clone(),
            path => format!("{}/{path}", self.name.trim_end_matches('/')),
        }
    }

    /// The text under `span`.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.start..span.end]
    }

    /// The line and column of a byte offset in its file.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line_index(offset);
        let column = self.text[self.lines[line - 1]..offset].chars().count() + 1;
        let before = self.line_index(self.part_at(offset).span.start.min(offset)) - 1;
        Position { line: line - before, column }
    }

    fn line_index(&self, offset: usize) -> usize {
        let index = self.lines.partition_point(|&start| start <= offset);
        // Where a file lacks its last line ending, its end is where the name of the next one begins, and still on its last line.
        let part = self.part_at(offset).span;
        let is_end = offset == part.end && offset > part.start && self.text.as_bytes()[offset - 1] != b'\n';
        if is_end && self.lines[index - 1] == offset { index - 1 } else { index }
    }

    /// The end of the file that holds `offset`: no line reaches beyond it.
    fn part_end(&self, offset: usize) -> usize {
        let end = self.part_at(offset).span.end;
        if offset <= end { end } else { self.text.len() }
    }

    /// The span of the line that holds `offset`, its line ending left out.
    pub fn line_at(&self, offset: usize) -> Span {
        let line = self.line_index(offset);
        let start = self.lines[line - 1];
        let end = self.lines.get(line).copied().unwrap_or(self.text.len()).min(self.part_end(offset));
        let line = &self.text.as_bytes()[start..end];
        let ending = line.iter().rev().take_while(|&&byte| matches!(byte, b'\n' | b'\r')).count();
        Span::new(start, end - ending)
    }

    /// Where the line after the one that holds `offset` begins, or the end of the text.
    pub fn next_line(&self, offset: usize) -> usize {
        self.lines.get(self.line_index(offset)).copied().unwrap_or(self.text.len()).min(self.part_end(offset))
    }

    /// The line ending that the first file uses: that of its first line.
    pub fn line_ending(&self) -> &'static str {
        self.line_ending_in(self.parts[0].span)
    }

    /// The line ending that a part of the text uses: that of its first line.
    pub fn line_ending_in(&self, span: Span) -> &'static str {
        match self.slice(span).split_once('\n') {
            Some((first, _)) if first.ends_with('\r') => "\r\n",
            Some(_) | None => "\n",
        }
    }
}

fn parts(text: &str) -> Vec<Part> {
    if !text.starts_with(FILE_SEPARATOR) {
        return vec![Part { path: String::new(), span: Span::new(0, text.len()) }];
    }
    let starts: Vec<usize> = text.match_indices(FILE_SEPARATOR).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let part = |(start, end): (usize, usize)| {
        let file = &text[start + FILE_SEPARATOR.len_utf8()..end];
        let path = file.lines().next().unwrap_or_default();
        Part {
            path: path.to_owned(),
            span: Span::new(end - file.len() + (path.len() + 1).min(file.len()), end),
        }
    };
    starts.iter().copied().zip(ends).map(part).collect()
}

/// A replacement of some bytes of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that go.
    pub span: Span,
    /// The text that comes instead.
    pub text: String,
}

impl Edit {
    /// Replaces the bytes under `span` by `text`.
    pub fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }

    /// Puts `text` in front of byte `at`.
    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(Span::at(at), text)
    }

    /// Removes the bytes under `span`.
    pub fn delete(span: Span) -> Self {
        Self::replace(span, "")
    }
}

/// Returns `text` with all `edits` made. Edits may come in any order but must not overlap; insertions at one place keep their order.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut result =
        String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut done = 0;
    for edit in ordered {
        assert!(done <= edit.span.start, "edits must not overlap: {edit:?} begins before byte {done}");
        result.push_str(&text[done..edit.span.start]);
        result.push_str(&edit.text);
        done = edit.span.end;
    }
    result.push_str(&text[done..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("x.md", "ab\r\nñß✅c\n");
        let places: Vec<String> =
            [0, 2, 4, 6, 8, 11, 12, 13].map(|at| source.position(at).to_string()).into();
        assert_eq!(places, ["1:1", "1:3", "2:1", "2:2", "2:3", "2:4", "2:5", "3:1"]);
        assert_eq!(source.slice(source.line_at(1)), "ab");
        assert_eq!(source.slice(source.line_at(5)), "ñß✅c");
        assert_eq!(source.line_ending(), "\r\n");
    }

    #[test]
    fn a_folder_is_one_text_in_which_every_file_counts_its_own_lines() {
        let files = [("plan.md", "a\r\nb"), ("tasks/01-x.md", ""), ("tasks/02-y.md", "ñ\nz\n")];
        let source = Source::new("plans/auth/", Source::bundle(files));
        let read: Vec<(&str, &str)> =
            source.parts().iter().map(|part| (part.path.as_str(), source.slice(part.span))).collect();
        assert_eq!(read, files);
        let at = source.text().find('z').expect("it is there");
        assert_eq!(format!("{}:{}", source.name_at(at), source.position(at)), "plans/auth/tasks/02-y.md:2:1");
        let b = source.text().find('b').expect("it is there");
        assert_eq!(source.slice(source.line_at(b)), "b", "a missing last line ending joins no two files");
        assert_eq!(source.position(b).to_string(), "2:1");
        assert_eq!(source.line_ending(), "\r\n");
        let ends: Vec<String> = source
            .parts()
            .iter()
            .map(|part| {
                let (end, line) = (part.span.end, source.line_at(part.span.end));
                assert!(part.span.covers(line) && source.next_line(end) == end, "no line leaves its file");
                format!("{} {} {:?}", part.path, source.position(end), source.slice(line))
            })
            .collect();
        let ends: Vec<&str> = ends.iter().map(String::as_str).collect();
        assert_eq!(
            ends,
            ["plan.md 2:2 \"b\"", "tasks/01-x.md 1:1 \"\"", "tasks/02-y.md 3:1 \"\""],
            "the end of a file is a place in it"
        );
        let edited = source.edited(&[Edit::replace(Span::new(at, at + 1), "long\u{e9}r")]);
        assert_eq!(edited.slice(edited.parts()[2].span), "ñ\nlong\u{e9}r\n");
    }

    #[test]
    fn edits_are_applied_by_place_and_insertions_keep_their_order() {
        let edits = [
            Edit::replace(Span::new(4, 5), "E"),
            Edit::insert(0, "<"),
            Edit::insert(0, "<"),
            Edit::delete(Span::new(1, 3)),
        ];
        assert_eq!(apply("abcde", &edits), "<<adE");
    }

    #[test]
    #[should_panic(expected = "edits must not overlap")]
    fn overlapping_edits_are_a_bug() {
        apply("abc", &[Edit::delete(Span::new(0, 2)), Edit::delete(Span::new(1, 3))]);
    }
}
