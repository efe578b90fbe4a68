//! The text of one plan: a file, or the files of a directory joined into one text. Owns spans, line numbers and edits;
//! never reads or writes files.

use std::fmt;

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

    /// The empty span before byte `at`.
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

    /// Whether `other` is completely inside.
    pub const fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The span moved by `by` bytes.
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

/// The item that contains a byte, of items in file order that don't overlap.
pub(crate) fn item_at<T>(items: &[T], at: usize, span: impl Fn(&T) -> Span) -> Option<&T> {
    let next = items.partition_point(|item| span(item).start <= at);
    items[..next].last().filter(|item| at < span(item).end)
}

/// Drops items that start inside an earlier one, of items in file order.
pub(crate) fn retain_disjoint<T>(items: &mut Vec<T>, span: impl Fn(&T) -> Span) {
    let mut end = 0;
    items.retain(|item| {
        let span = span(item);
        let is_apart = span.start >= end;
        end = end.max(span.end);
        is_apart
    });
}

/// A value and its span in the source.
///
/// Only values are compared, so that a [`crate::plan::draft::Draft`] equals its moved or reformatted copy.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    pub const fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// Another value at the same place.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned::new(change(self.value), self.span)
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

pub fn text(spanned: Option<&Spanned<String>>) -> String {
    spanned.map(|spanned| spanned.value.clone()).unwrap_or_default()
}

pub fn texts(spanned: &[Spanned<String>]) -> Vec<String> {
    spanned.iter().map(|spanned| spanned.value.clone()).collect()
}

/// Text extracted from a file line by line, without carriage returns and the indentation of its container.
///
/// Only texts are compared, as in [`Spanned`].
#[derive(Debug, Clone, Default)]
pub struct Excerpt {
    /// With LF line endings.
    pub value: String,
    /// The lines of the file that it was extracted from.
    pub span: Span,
    /// Pairs of an offset in `value` and the offset of the same byte in the file, ascending; at least one per line.
    anchors: Vec<(usize, usize)>,
}

impl Excerpt {
    /// An empty excerpt from the lines in `span`.
    pub fn new(span: Span) -> Self {
        Self { value: String::new(), span, anchors: Vec::new() }
    }

    /// Appends a piece that is at offset `at` of the file.
    pub fn push(&mut self, piece: &str, at: usize) {
        self.anchors.push((self.value.len(), at));
        self.value.push_str(piece);
    }

    /// Maps a span of the text to the file.
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

/// A position for people: both numbers start at 1, and the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Precedes the path of every file in the text of a directory plan. planwright rejects files that contain this
/// character, so no text can imitate the start of another file.
pub const FILE_SEPARATOR: char = '\u{1c}';

/// One file of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePart {
    /// Relative to the directory; empty if the source is a single file.
    pub path: String,
    pub span: Span,
}

/// How the language of a text was determined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detection {
    Unasked,
    /// From content or location: `PLAN.md in .harness/`.
    By(String),
    Forced,
    /// No language was detected.
    Nothing,
}

/// The exact text of a plan, including byte order marks and line endings, and the name of the language that it is written
/// in. What a language is, only those know who read it: see `dialect/document.rs`.
///
/// A directory plan is one text as well: each file follows a line with [`FILE_SEPARATOR`] and its path. So all of it is
/// checked, approved, stored and edited like a single file.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    place: String,
    text: String,
    /// `None` if unknown.
    language: Option<&'static str>,
    told: Detection,
    /// The offset of every line; never empty.
    lines: Vec<usize>,
    /// In order; never empty.
    parts: Vec<SourcePart>,
}

impl Source {
    /// A text in the default language; `name` is a path as the user would write it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        let parts = parts(&text);
        let is_folder = text.starts_with(FILE_SEPARATOR);
        let bytes = text.bytes().enumerate();
        let breaks = bytes.filter_map(|(at, byte)| match byte {
            b'\n' => Some(at + 1),
            // The line before a file's path may lack its line ending.
            0x1c if is_folder && at > 0 && text.as_bytes()[at - 1] != b'\n' => Some(at),
            _ => None,
        });
        let lines = std::iter::once(0).chain(breaks).collect();
        Self { place: name.clone(), name, text, language: None, told: Detection::Unasked, lines, parts }
    }

    /// A directory plan with these files: paths relative to it, and their contents.
    pub fn bundle<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
        files.into_iter().map(|(path, text)| format!("{FILE_SEPARATOR}{path}\n{text}")).collect()
    }

    /// The same text in the language of this name.
    #[must_use]
    pub(crate) fn in_language(self, language: &'static str) -> Self {
        Self { language: Some(language), ..self }
    }

    /// The same text, whose language was determined in this way.
    #[must_use]
    pub(crate) fn detected(self, told: Detection) -> Self {
        Self { told, ..self }
    }

    /// The same text with this path in the file system.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: place.into(), ..self }
    }

    /// The same plan with another text.
    #[must_use]
    pub fn with(&self, text: impl Into<String>) -> Self {
        let (place, told) = (self.place.clone(), self.told.clone());
        Self { place, told, language: self.language, ..Self::new(self.name.as_str(), text) }
    }

    /// The same plan with `edits` applied; see [`apply`].
    #[must_use]
    pub fn edited(&self, edits: &[Edit]) -> Self {
        self.with(apply(&self.text, edits))
    }

    /// The path as the user writes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The most exact path that is known; the name if nothing else is.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The name of the language; `None` if unknown.
    pub fn language(&self) -> Option<&'static str> {
        self.language
    }

    /// How the language was determined.
    pub fn told(&self) -> &Detection {
        &self.told
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// In order; a single file has the path "".
    pub fn parts(&self) -> &[SourcePart] {
        &self.parts
    }

    /// The file that contains a byte offset.
    pub fn part_at(&self, offset: usize) -> &SourcePart {
        let next = self.parts.partition_point(|part| part.span.start <= offset);
        &self.parts[next.saturating_sub(1)]
    }

    /// The path, as the user writes it, of the file that contains a byte offset.
    pub fn name_at(&self, offset: usize) -> String {
        match self.part_at(offset).path.as_str() {
            "" => self.name.clone(),
            path => format!("{}/{path}", self.name.trim_end_matches('/')),
        }
    }

    /// Returns `span` inside one file of the text and between characters, whatever it was.
    pub fn within(&self, span: Span) -> Span {
        // Separators between the files of a directory belong to no file.
        let file = self.part_at(span.start).span;
        let start = self.text.floor_char_boundary(span.start.clamp(file.start, file.end));
        Span::new(start, self.text.ceil_char_boundary(span.end.clamp(start, file.end)))
    }

    /// Returns `span` relative to its own file of a directory.
    pub fn in_file(&self, span: Span) -> Span {
        let span = self.within(span);
        let start = self.part_at(span.start).span.start;
        Span::new(span.start - start, span.end - start)
    }

    /// The text under `span`.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.start..span.end]
    }

    /// The text under `span`, and where it is.
    pub fn spanned(&self, span: Span) -> Spanned<String> {
        Spanned::new(self.slice(span).to_owned(), span)
    }

    /// The span without the blanks at its ends.
    pub fn trimmed(&self, span: Span) -> Span {
        let text = self.slice(span).trim_start();
        Span::new(span.end - text.len(), span.end - text.len() + text.trim_end().len())
    }

    /// The lines of `span`, without their line endings.
    pub fn lines_in(&self, span: Span) -> impl Iterator<Item = Span> + '_ {
        let mut at = span.start;
        std::iter::from_fn(move || {
            let start = Some(at).filter(|&at| at < span.end)?;
            at = self.next_line(start).max(start + 1);
            Some(Span::new(start, self.line_at(start).end.clamp(start, span.end)))
        })
    }

    /// Line and column of a byte offset within its file.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line_index(offset);
        let column = self.text[self.lines[line - 1]..offset].chars().count() + 1;
        let before = self.line_index(self.part_at(offset).span.start.min(offset)) - 1;
        Position { line: line - before, column }
    }

    fn line_index(&self, offset: usize) -> usize {
        let index = self.lines.partition_point(|&start| start <= offset);
        // If a file lacks its last line ending, its end is where the path of the next file starts, but still on its
        // last line.
        let part = self.part_at(offset).span;
        let is_end = offset == part.end && offset > part.start && self.text.as_bytes()[offset - 1] != b'\n';
        if is_end && self.lines[index - 1] == offset { index - 1 } else { index }
    }

    /// The end of the file that contains `offset`: no line extends past it.
    fn part_end(&self, offset: usize) -> usize {
        let end = self.part_at(offset).span.end;
        if offset <= end { end } else { self.text.len() }
    }

    /// The line that contains `offset`, without its line ending.
    pub fn line_at(&self, offset: usize) -> Span {
        let line = self.line_index(offset);
        let start = self.lines[line - 1];
        let end = self.lines.get(line).copied().unwrap_or(self.text.len()).min(self.part_end(offset));
        let line = &self.text.as_bytes()[start..end];
        let ending = line.iter().rev().take_while(|&&byte| matches!(byte, b'\n' | b'\r')).count();
        Span::new(start, end - ending)
    }

    /// The start of the next line, or the end of the text.
    pub fn next_line(&self, offset: usize) -> usize {
        self.lines.get(self.line_index(offset)).copied().unwrap_or(self.text.len()).min(self.part_end(offset))
    }

    /// The line ending of the first file, taken from its first line.
    pub fn line_ending(&self) -> &'static str {
        self.line_ending_in(self.parts[0].span)
    }

    /// The line ending of a part of the text, taken from its first line.
    pub fn line_ending_in(&self, span: Span) -> &'static str {
        match self.slice(span).split_once('\n') {
            Some((first, _)) if first.ends_with('\r') => "\r\n",
            Some(_) | None => "\n",
        }
    }
}

fn parts(text: &str) -> Vec<SourcePart> {
    if !text.starts_with(FILE_SEPARATOR) {
        return vec![SourcePart { path: String::new(), span: Span::new(0, text.len()) }];
    }
    let starts: Vec<usize> = text.match_indices(FILE_SEPARATOR).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let part = |(start, end): (usize, usize)| {
        let file = &text[start + FILE_SEPARATOR.len_utf8()..end];
        let path = file.lines().next().unwrap_or_default();
        SourcePart {
            path: path.to_owned(),
            span: Span::new(end - file.len() + (path.len() + 1).min(file.len()), end),
        }
    };
    starts.iter().copied().zip(ends).map(part).collect()
}

/// A replacement of some bytes of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to remove.
    pub span: Span,
    /// The text to insert.
    pub text: String,
}

impl Edit {
    /// Replaces the bytes under `span` by `text`.
    pub fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }

    /// Inserts `text` before byte `at`.
    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(Span::at(at), text)
    }

    /// Removes the bytes under `span`.
    pub fn delete(span: Span) -> Self {
        Self::replace(span, "")
    }
}

/// Applies `edits` to `text`. Edits may be in any order but must not overlap; insertions at one offset keep their
/// order.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut result =
        String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut done = 0;
    for edit in ordered {
        assert!(done <= edit.span.start, "edits must not overlap: {edit:?} starts before byte {done}");
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
