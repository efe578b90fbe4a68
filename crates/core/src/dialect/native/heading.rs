//! Parses the heading of a step: number, mark and title, in the styles that people and models use.

use crate::plan::draft::{Mark, StepNumber};
use crate::syntax::markdown::Cursor;
use crate::syntax::source::{Span, Spanned};

/// A parsed step heading.
#[derive(Debug, Clone)]
pub(super) struct StepHeading {
    pub(super) number: Spanned<StepNumber>,
    /// Every mark with its surrounding blanks, so that deleting the span removes the mark cleanly.
    pub(super) marks: Vec<Spanned<Mark>>,
    pub(super) title: Spanned<String>,
}

/// Marks before the number, before the title, or after it.
const GLYPHS: &[(&str, Mark)] = &[
    ("✅", Mark::Done),
    ("☑\u{fe0f}", Mark::Done),
    ("☑", Mark::Done),
    ("✔\u{fe0f}", Mark::Done),
    ("✔", Mark::Done),
    ("[x]", Mark::Done),
    ("[X]", Mark::Done),
    ("❌", Mark::Failed),
    ("✗", Mark::Failed),
    ("✘", Mark::Failed),
    ("⏭\u{fe0f}", Mark::Skipped),
    ("⏭", Mark::Skipped),
];

/// Characters that may surround a mark word.
const FRAMES: &[(&str, &str)] = &[("(", ")"), ("[", "]"), ("**", "**")];

/// Words that are a mark when they are set off: `(done)`, `[done]`, `— done`.
const WORDS: &[(&str, Mark)] = &[("done", Mark::Done), ("failed", Mark::Failed), ("skipped", Mark::Skipped)];

/// Parses the heading of a step; `None` if it is not one.
pub(super) fn read(heading: &Spanned<String>) -> Option<StepHeading> {
    let mut rest = Cursor { text: &heading.value, at: heading.span.start };
    let mut marks = Vec::new();
    while let Some(mark) = rest.leading_mark() {
        marks.extend(mark.value.map(|value| Spanned::new(value, mark.span)));
    }
    let number = rest.number()?;
    while let Some(mark) = rest.leading_mark() {
        marks.extend(mark.value.map(|value| Spanned::new(value, mark.span)));
    }
    while let Some(mark) = rest.trailing_mark() {
        marks.push(mark);
    }
    let title = Spanned::new(rest.text.to_owned(), Span::new(rest.at, rest.at + rest.text.len()));
    Some(StepHeading { number, marks, title })
}

impl Cursor<'_> {
    /// Takes a mark from the front, or an empty box, which claims nothing.
    fn leading_mark(&mut self) -> Option<Spanned<Option<Mark>>> {
        let (length, mark) = match leading_glyph(self.text).or_else(|| leading_word(self.text)) {
            Some((length, mark)) => (length, Some(mark)),
            None if self.text.starts_with("[ ]") => (3, None),
            None => return None,
        };
        let blanks = self.text[length..].len() - self.text[length..].trim_start().len();
        let span = self.skip(length + blanks);
        Some(Spanned::new(mark, span))
    }

    fn number(&mut self) -> Option<Spanned<StepNumber>> {
        const STEP: &str = "step ";
        let is_spelled_out = self.text.get(..STEP.len()).is_some_and(|word| word.eq_ignore_ascii_case(STEP));
        if is_spelled_out {
            self.skip(STEP.len());
            self.skip_blanks();
        }
        let length = number_length(self.text);
        let (number, behind) = self.text.split_at(length);
        let number = match number.parse::<u32>() {
            Ok(number) => StepNumber::Counted(number),
            Err(_) if number.is_empty() => return None,
            // A number too large for any plan: still a step, with a wrong number.
            Err(_) if number.bytes().all(|byte| byte.is_ascii_digit()) => StepNumber::Counted(u32::MAX),
            Err(_) => StepNumber::Template(number.to_owned()),
        };
        let sign = match behind.chars().next() {
            Some('.' | ')' | ':') => 1,
            Some('-' | '–' | '—') if is_spelled_out => behind.chars().next().map_or(0, char::len_utf8),
            Some(' ') | None if is_spelled_out => 0,
            Some(_) | None => return None,
        };
        // `1.2` is a section number or a version, not the first step.
        if behind[sign..].starts_with(|next: char| next.is_ascii_digit()) {
            return None;
        }
        let span = self.skip(length);
        self.skip(sign);
        self.skip_blanks();
        if is_spelled_out {
            let dash = self.text.strip_prefix(['-', '–', '—']).map(str::trim_start);
            self.skip(dash.map_or(0, |title| self.text.len() - title.len()));
        }
        Some(Spanned::new(number, span))
    }

    fn trailing_mark(&mut self) -> Option<Spanned<Mark>> {
        let (kept, mark) = trailing_glyph(self.text).or_else(|| trailing_word(self.text))?;
        let span = Span::new(self.at + kept.len(), self.at + self.text.len());
        self.text = &self.text[..kept.len()];
        Some(Spanned::new(mark, span))
    }
}

/// The length of the mark in front, and what it claims.
fn leading_glyph(text: &str) -> Option<(usize, Mark)> {
    GLYPHS.iter().find(|(glyph, _)| text.starts_with(glyph)).map(|&(glyph, mark)| (glyph.len(), mark))
}

fn leading_word(text: &str) -> Option<(usize, Mark)> {
    let close = FRAMES
        .iter()
        .find_map(|&(open, close)| Some(open.len() + text.strip_prefix(open)?.find(close)? + close.len()))?;
    Some((close, framed(&text[..close])?))
}

fn trailing_glyph(text: &str) -> Option<(&str, Mark)> {
    GLYPHS.iter().find_map(|(glyph, mark)| {
        let kept = text.strip_suffix(glyph)?;
        Some((kept.trim_end(), *mark))
    })
}

fn trailing_word(text: &str) -> Option<(&str, Mark)> {
    let mut frames = FRAMES.iter().filter_map(|&(open, close)| text.strip_suffix(close)?.rfind(open));
    if let Some(found) = frames.find_map(|at| Some((text[..at].trim_end(), framed(&text[at..])?))) {
        return Some(found);
    }
    let (kept, said) = ["**status:**", "—", "–", " - "].iter().find_map(|sign| text.rsplit_once(sign))?;
    Some((kept.trim_end(), word(said)?))
}

/// What `(done)`, `[status: done]` or `**status: done**` claims.
fn framed(text: &str) -> Option<Mark> {
    FRAMES.iter().find_map(|&(open, close)| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        let status = inner.split_once(':').filter(|(name, _)| name.trim().eq_ignore_ascii_case("status"));
        match status {
            Some((_, said)) => word(said),
            // Bold text is emphasis unless it names itself a status.
            None if open == "**" => None,
            None => word(inner),
        }
    })
}

fn word(text: &str) -> Option<Mark> {
    WORDS.iter().find(|(known, _)| text.trim().eq_ignore_ascii_case(known)).map(|&(_, mark)| mark)
}

/// The length of the number at the front: `3`, `3–N`, `3-5`, `N`, `N+1`.
fn number_length(text: &str) -> usize {
    let atom = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let is_variable = digits == 0
            && text.starts_with(['N', 'n'])
            && !text[1..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
        if is_variable { 1 } else { digits }
    };
    let first = atom(text);
    if first == 0 {
        return 0;
    }
    let behind = text[first..].trim_start();
    let Some(sign) = behind.chars().next().filter(|sign| ['-', '–', '—', '+', '…'].contains(sign))
    else {
        return first;
    };
    let second = behind[sign.len_utf8()..].trim_start();
    match atom(second) {
        0 => first,
        length => text.len() - second.len() + length,
    }
}
