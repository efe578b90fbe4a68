//! A Markdown file line by line: headings, list items with and without a box, and lines hidden in code and comments.
//! More lenient than the Markdown parser, which treats an over-indented list as code: no task may get lost that way.

use std::ops::Range;

use crate::syntax::source::{Source, Span};

/// One line of a page.
#[derive(Debug, Clone)]
pub(crate) struct MarkdownLine {
    /// Without line ending.
    pub(crate) span: Span,
    /// Its indentation in columns.
    pub(crate) indent: usize,
    pub(crate) kind: BlockKind,
}

/// What a line is.
#[derive(Debug, Clone)]
pub(crate) enum BlockKind {
    Blank,
    /// A line with `#` in front.
    Heading {
        level: usize,
        /// The text after `#`.
        text: Span,
    },
    /// An item of a list.
    Item(MarkdownItem),
    /// Any other visible text.
    Text,
    /// Code, or part of a comment.
    Hidden,
}

/// An item of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarkdownItem {
    /// Its number in a numbered list.
    pub(crate) number: Option<Span>,
    pub(crate) check: Option<Checkbox>,
    /// The text after bullet and box.
    pub(crate) text: Span,
}

/// The box of an item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checkbox {
    /// Its character; a blank if empty.
    pub(crate) sign: char,
    /// The box with its brackets.
    pub(crate) span: Span,
    /// Whether a star after the box makes the task optional.
    pub(crate) is_optional: bool,
}

/// The lines of one file.
#[derive(Debug)]
pub(crate) struct MarkdownPage<'a> {
    pub(crate) source: &'a Source,
    pub(crate) lines: Vec<MarkdownLine>,
    /// Opening lines of unclosed fences. The lines below them are parsed as text.
    pub(crate) unclosed: Vec<Span>,
}

impl<'a> MarkdownPage<'a> {
    /// Reads the lines of `span`.
    pub(crate) fn read(source: &'a Source, span: Span) -> Self {
        let spans = lines(source, span);
        let (hidden, unclosed) = hide(source, &spans);
        let lines = spans.iter().zip(hidden).map(|(&span, is_hidden)| {
            let text = source.slice(span);
            let kind = if is_hidden { BlockKind::Hidden } else { kind(source, span) };
            MarkdownLine { span, indent: columns(text), kind }
        });
        Self { source, lines: lines.collect(), unclosed }
    }

    /// The lines `from..to` as a text, without their common indentation.
    pub(crate) fn text(&self, lines: impl IntoIterator<Item = usize>) -> String {
        let lines: Vec<&MarkdownLine> = lines.into_iter().map(|line| &self.lines[line]).collect();
        let is_said = |line: &&&MarkdownLine| !matches!(line.kind, BlockKind::Blank);
        let indent = lines.iter().filter(is_said).map(|line| line.indent).min().unwrap_or(0);
        let text: Vec<&str> =
            lines.iter().map(|line| undented(self.source.slice(line.span), indent).trim_end()).collect();
        text.join("\n").trim_matches('\n').to_owned()
    }

    /// The level and the text of a line that is a heading.
    pub(crate) fn heading(&self, line: usize) -> Option<(usize, Span)> {
        match self.lines[line].kind {
            BlockKind::Heading { level, text } => Some((level, text)),
            BlockKind::Blank | BlockKind::Item(_) | BlockKind::Text | BlockKind::Hidden => None,
        }
    }

    /// The headings in some lines: line, level and text.
    pub(crate) fn headings(&self, lines: Range<usize>) -> impl Iterator<Item = (usize, usize, Span)> {
        lines.filter_map(|at| self.heading(at).map(|(level, text)| (at, level, text)))
    }

    /// The item that a line is.
    pub(crate) fn item(&self, line: usize) -> Option<MarkdownItem> {
        match self.lines[line].kind {
            BlockKind::Item(item) => Some(item),
            BlockKind::Blank | BlockKind::Heading { .. } | BlockKind::Text | BlockKind::Hidden => None,
        }
    }

    /// The first line after the item that starts at `line`.
    pub(crate) fn item_end(&self, line: usize) -> usize {
        let indent = self.lines[line].indent;
        let mut end = line + 1;
        let mut was_blank = false;
        for (at, next) in self.lines.iter().enumerate().skip(line + 1) {
            let is_deeper = next.indent > indent;
            match next.kind {
                BlockKind::Blank => {
                    was_blank = true;
                    continue;
                }
                BlockKind::Heading { .. } => break,
                BlockKind::Item(_) if !is_deeper => break,
                // Code is often indented less than its item.
                BlockKind::Text | BlockKind::Hidden if !is_deeper && was_blank => break,
                BlockKind::Item(_) | BlockKind::Text | BlockKind::Hidden => {}
            }
            was_blank = false;
            end = at + 1;
        }
        end
    }

    /// The first line after the section of the heading at `line`.
    pub(crate) fn section_end(&self, line: usize) -> usize {
        let level = self.heading(line).map_or(usize::MAX, |(level, _)| level);
        let end = self.headings(line + 1..self.lines.len()).find(|&(_, next, _)| next <= level);
        end.map_or(self.lines.len(), |(at, _, _)| at)
    }
}

fn lines(source: &Source, span: Span) -> Vec<Span> {
    let mut at = span.start;
    let mut lines = Vec::new();
    for line in source.slice(span).split_inclusive('\n') {
        lines.push(Span::new(at, at + line.trim_end_matches(['\n', '\r']).len()));
        at += line.len();
    }
    lines
}

/// The indentation of a line; tab stops are every four columns.
fn columns(text: &str) -> usize {
    let mut columns = 0;
    for character in text.chars() {
        match character {
            '\t' => columns += 4 - columns % 4,
            ' ' | '\u{feff}' => columns += usize::from(character == ' '),
            _ => break,
        }
    }
    columns
}

/// The line with this many columns of indentation removed.
fn undented(text: &str, indent: usize) -> &str {
    let mut columns = 0;
    for (at, character) in text.char_indices() {
        if columns >= indent {
            return &text[at..];
        }
        match character {
            '\t' => columns += 4 - columns % 4,
            ' ' => columns += 1,
            _ => return &text[at..],
        }
    }
    ""
}

/// Which lines are code or comment, and the fences that are never closed.
fn hide(source: &Source, lines: &[Span]) -> (Vec<bool>, Vec<Span>) {
    let mut hidden = vec![false; lines.len()];
    let mut unclosed = Vec::new();
    let mut closings = Closings::default();
    let mut at = 0;
    while at < lines.len() {
        let text = source.slice(lines[at]);
        let end = match (fence(text), text.trim_start().starts_with("<!--")) {
            (Some(fence), _) => {
                let end = closings.of(source, lines, at, fence);
                unclosed.extend(end.is_none().then_some(lines[at]));
                end
            }
            (None, true) => closings.of_comment(source, lines, at),
            (None, false) => None,
        };
        match end {
            Some(end) => {
                hidden[at..=end].fill(true);
                at = end + 1;
            }
            None => at += 1,
        }
    }
    (hidden, unclosed)
}

/// Caches which fences have no closing line, so that a page full of openings is not searched again for each.
#[derive(Default)]
struct Closings {
    /// The shortest fence of each character that has no closing line after some line.
    missing: Vec<(char, usize)>,
    /// Whether nothing after some line closes a comment.
    misses_comment: bool,
}

impl Closings {
    fn of_comment(&mut self, source: &Source, lines: &[Span], at: usize) -> Option<usize> {
        if self.misses_comment {
            return None;
        }
        let end = (at..lines.len()).find(|&line| source.slice(lines[line]).contains("-->"));
        self.misses_comment = end.is_none();
        end
    }

    fn of(&mut self, source: &Source, lines: &[Span], at: usize, fence: (char, usize)) -> Option<usize> {
        let (sign, length) = fence;
        if self.missing.iter().any(|&(other, shortest)| other == sign && shortest <= length) {
            return None;
        }
        let indent = columns(source.slice(lines[at]));
        for (line, &span) in lines.iter().enumerate().skip(at + 1) {
            let text = source.slice(span);
            let bare = text.trim();
            if bare.len() >= length && bare.chars().all(|character| character == sign) {
                return Some(line);
            }
            // A task that is indented less than the code can't be part of it: the code was never closed.
            if columns(text) < indent && item(source, span).is_some_and(|item| item.check.is_some()) {
                return None;
            }
        }
        self.missing.push(fence);
        None
    }
}

/// The sign and the length of the fence that a line opens.
fn fence(text: &str) -> Option<(char, usize)> {
    let bare = text.trim_start();
    let sign = bare.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let length = bare.chars().take_while(|&character| character == sign).count();
    // Backticks after backticks are inline code.
    (length >= 3 && !(sign == '`' && bare[length..].contains('`'))).then_some((sign, length))
}

fn kind(source: &Source, span: Span) -> BlockKind {
    let text = source.slice(span).trim_start_matches('\u{feff}');
    let bare = text.trim();
    if bare.is_empty() {
        return BlockKind::Blank;
    }
    let level = bare.bytes().take_while(|&byte| byte == b'#').count();
    if (1..=6).contains(&level) && columns(text) < 4 && bare[level..].starts_with([' ', '\t']) {
        let title = bare[level..].trim().trim_end_matches('#').trim_end();
        let start = span.end - text.trim_start()[level..].trim_start().len();
        return BlockKind::Heading { level, text: Span::new(start, (start + title.len()).min(span.end)) };
    }
    item(source, span).map_or(BlockKind::Text, BlockKind::Item)
}

/// Parses a line as a list item. A box without a bullet counts as well, and so does an item in a block quote.
fn item(source: &Source, span: Span) -> Option<MarkdownItem> {
    let text = source.slice(span).trim_start_matches(['\u{feff}', ' ', '\t', '>']);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = match digits {
        0 => text.strip_prefix(['-', '*', '+', '•']),
        1..=9 => text[digits..].strip_prefix(['.', ')']),
        _ => None,
    };
    let begin = span.end - text.len();
    let number = (digits > 0).then(|| Span::new(begin, begin + digits));
    let is_set_off = |behind: &&str| behind.is_empty() || behind.starts_with([' ', '\t', '[']);
    match behind.filter(is_set_off) {
        Some(behind) => {
            let rest = behind.trim_start();
            let check = check(rest, span.end - rest.len());
            // `-[link]` is text, `-[ ] task` is a task with a missing blank.
            if check.is_none() && behind.starts_with('[') {
                return None;
            }
            Some(MarkdownItem {
                number,
                check,
                text: content(source, span.end - rest.len(), check, span.end),
            })
        }
        None => {
            let check = Some(check(text, begin)?);
            Some(MarkdownItem { number: None, check, text: content(source, begin, check, span.end) })
        }
    }
}

/// Whether a character can be in a box. Letters and digits in brackets are markers, links and footnotes.
fn is_sign(sign: char) -> bool {
    matches!(sign, 'x' | 'X') || !sign.is_alphanumeric()
}

fn check(text: &str, at: usize) -> Option<Checkbox> {
    let inner = text.strip_prefix('[')?;
    let close = inner.find(']')?;
    let content = inner[..close].trim_end_matches('\u{fe0f}');
    let sign = match content.trim() {
        "" if content.chars().count() <= 3 => ' ',
        said => said.chars().next().filter(|sign| said.chars().count() == 1 && is_sign(*sign))?,
    };
    let behind = &inner[close + 1..];
    if behind.starts_with(['(', '[', ':']) {
        return None;
    }
    let is_optional = behind.starts_with('*') && !behind.starts_with("**") || behind.starts_with("\\*");
    Some(Checkbox { sign, span: Span::new(at, at + close + 2), is_optional })
}

fn content(source: &Source, at: usize, check: Option<Checkbox>, end: usize) -> Span {
    let start = check.map_or(at, |check| check.span.end);
    let text = source.slice(Span::new(start, end));
    let bare = match check {
        Some(Checkbox { is_optional: true, .. }) => text.trim_start_matches(['\\', '*']),
        Some(_) | None => text,
    };
    let bare = bare.trim_start();
    Span::new(end - bare.len(), end - bare.len() + bare.trim_end().len())
}
