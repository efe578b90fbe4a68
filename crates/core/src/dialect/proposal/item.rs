//! Parses the start of a list item: a number or a dash, and optionally a box. Looks at a single line only.

use std::ops::Range;

use crate::plan::draft::Mark;
use crate::syntax::source::{Span, Spanned};

/// The start of an item. Ranges are relative to its trimmed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProposalItem {
    pub(super) marker: ItemMarker,
    /// Where its digits are.
    digits: Range<usize>,
    /// The box: the offset of its character, and its mark.
    pub(super) checkbox: Option<(Range<usize>, Option<Mark>)>,
    /// Where its text starts.
    content: usize,
}

/// Its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemMarker {
    /// `3.`
    Number {
        /// Saturates.
        number: u32,
    },
    /// `-`
    Bullet,
}

impl ProposalItem {
    pub(super) fn number(&self) -> Option<u32> {
        match self.marker {
            ItemMarker::Number { number } => Some(number),
            ItemMarker::Bullet => None,
        }
    }

    /// The text of the item in `line`.
    pub(super) fn text<'a>(&self, line: &'a str) -> &'a str {
        self.content(line).1
    }

    /// Where the text of the item in `line` starts, and the text.
    pub(super) fn content<'a>(&self, line: &'a str) -> (usize, &'a str) {
        let rest = line.get(self.content..).unwrap_or_default();
        let text = rest.trim_start();
        (line.len() - text.len(), text.trim_end())
    }

    /// The span of the digits in the file if the line is at `at`; empty for a dash.
    pub(super) fn number_span(&self, at: usize) -> Span {
        Span::from(self.digits.clone()).shifted(at)
    }

    pub(super) fn mark(&self, at: usize) -> Option<Spanned<Mark>> {
        let (range, mark) = self.checkbox.clone()?;
        Some(Spanned::new(mark?, Span::from(range).shifted(at)))
    }

    /// The same item shifted by `by` bytes.
    pub(super) fn shifted(mut self, by: usize) -> Self {
        self.digits = self.digits.start + by..self.digits.end + by;
        self.checkbox = self.checkbox.map(|(range, mark)| (range.start + by..range.end + by, mark));
        self.content += by;
        self
    }
}

/// Parses the start of a line; `None` if it is not an item.
pub(super) fn read(line: &str) -> Option<ProposalItem> {
    let (marker, digits, end) = number(line).or_else(|| bullet(line))?;
    let rest = &line[end..];
    let content = end + rest.len() - rest.trim_start().len();
    let mut item = ProposalItem { marker, digits, checkbox: None, content };
    if let Some(Tick(mark)) = checkbox(&line[content..]) {
        let behind = &line[content + BOX.len()..];
        item.checkbox = Some((content + 1..content + 2, mark));
        item.content = content + BOX.len() + behind.len() - behind.trim_start().len();
    }
    Some(item)
}

/// `3.`, `3)`, `3:`, `**3.**`, `Step 3:`. Without a blank only if a letter follows: `3.5` is not an item.
fn number(line: &str) -> Option<(ItemMarker, Range<usize>, usize)> {
    let stars = if line.starts_with("**") { "**" } else { "" };
    let bare = &line[stars.len()..];
    let word =
        ["Step ", "step ", "STEP "].iter().find(|word| bare.starts_with(**word)).map_or(0, |word| word.len());
    let start = stars.len() + word;
    let count = line[start..].bytes().take_while(u8::is_ascii_digit).count();
    let digits = &line[start..start + count];
    let sign =
        line[start + count..].chars().next().filter(|sign| matches!(sign, '.' | ')' | ':' | '\u{2014}'));
    let end = start + count + sign.map_or(0, char::len_utf8);
    let behind = &line[end..];
    // `**3. text**` opens its stars before the number and closes them somewhere in the text.
    let unstarred = behind.strip_prefix(stars).unwrap_or(behind);
    let next = unstarred.chars().next();
    let is_set_off = next.is_none_or(|next| next == ' ' || next == '\t');
    let is_tight = sign == Some('.') && next.is_some_and(char::is_alphabetic);
    if count == 0 || sign.is_none() || !(is_set_off || is_tight) {
        return None;
    }
    let number = digits.parse().unwrap_or(u32::MAX);
    Some((ItemMarker::Number { number }, start..start + count, line.len() - unstarred.len()))
}

/// The text without stars that were opened before the number.
pub(super) fn unstarred(text: &str) -> String {
    let is_odd = text.matches("**").count() % 2 == 1;
    if is_odd && !text.starts_with("**") {
        text.replacen("**", "", 1).trim().to_owned()
    } else {
        text.to_owned()
    }
}

/// `-`, `*`, `+` and look-alikes, followed by a blank.
fn bullet(line: &str) -> Option<(ItemMarker, Range<usize>, usize)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '-' | '*' | '+' | '•'))?;
    let end = sign.len_utf8();
    let behind = &line[end..];
    let is_rule = line.len() > 2 && line.chars().all(|character| character == sign || character == ' ');
    ((behind.is_empty() || behind.starts_with([' ', '\t'])) && !is_rule).then_some((
        ItemMarker::Bullet,
        0..0,
        end,
    ))
}

/// The width of a box.
const BOX: &str = "[ ]";

/// The mark of a box; `None` if it is empty.
struct Tick(Option<Mark>);

/// The mark of a leading box.
fn checkbox(text: &str) -> Option<Tick> {
    let inner = text.strip_prefix('[')?;
    let mark = match inner.bytes().next()? {
        b' ' => None,
        b'x' | b'X' => Some(Mark::Done),
        b'-' | b'~' => Some(Mark::Skipped),
        b'/' | b'>' => Some(Mark::Running),
        b'!' => Some(Mark::Failed),
        _ => return None,
    };
    let behind = inner[1..].strip_prefix(']')?;
    (behind.is_empty() || behind.starts_with([' ', '\t'])).then_some(Tick(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        match read(line) {
            None => "none".to_owned(),
            Some(item) => {
                let number = item.number().map_or("-".to_owned(), |number| number.to_string());
                let mark = item.mark(0).map(|mark| mark.value.word()).unwrap_or_default();
                format!("{number}|{mark}|{}", item.text(line))
            }
        }
    }

    // C-04: whatever an item starts with, it is one.
    #[test]
    fn an_item_begins_with_a_number_a_dash_or_a_box() {
        let cases = [
            ("1. a", "1||a"),
            ("12) a b ", "12||a b"),
            ("1.a", "1||a"),
            ("3: a", "3||a"),
            ("**4.** a", "4||a"),
            ("Step 5: a", "5||a"),
            ("7.", "7||"),
            ("99999999999. a", "4294967295||a"),
            ("- a", "-||a"),
            ("* [x] a", "-|done|a"),
            ("1. [ ] a", "1||a"),
            ("1. [~] [x] a", "1|skipped|[x] a"),
            ("- [a] b", "-||[a] b"),
            ("-", "-||"),
            ("3.5 hours", "none"),
            ("2024-01-01", "none"),
            ("---", "none"),
            ("* * *", "none"),
            ("**bold**", "none"),
            ("**1. bold**", "1||bold**"),
            ("text", "none"),
            ("", "none"),
            ("é", "none"),
            ("[é] x", "none"),
            ("- [é] x", "-||[é] x"),
        ];
        for (line, expected) in cases {
            assert_eq!(told(line), expected, "{line}");
        }
    }
}
