//! Parses the heading of a step: number, mark and title, in the styles that people and models use.

use crate::plan::draft::{Mark, StepNumber};
use crate::syntax::markdown::Cursor;
use crate::syntax::source::{Span, Spanned};

/// A parsed step heading.
#[derive(Debug, Clone)]
pub(super) struct StepHeading {
    pub(super) number: Spanned<StepNumber>,
    pub(super) spelling: Spelling,
    /// Every mark with its surrounding blanks, so that deleting the span removes the mark cleanly.
    pub(super) marks: Vec<Spanned<Mark>>,
    pub(super) title: Spanned<String>,
}

/// How the number of a step is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `3.`, `3)`, `3:`, `Step 3`.
    Usual,
    /// `3 - `, `(3)`, `#3`, `3\.`, `Task 3`, `3a.`: certainly a number.
    Odd,
    /// `3 little pigs`, `III.`: a number if the steps around it say so.
    Doubtful,
}

/// Words before a number that say that it counts steps.
const WORDS_BEFORE: &[&str] = &["task", "step", "todo", "item", "action"];

/// Larger numbers without a usual sign are years and amounts.
const ODD_NUMBER_MAX: u32 = 999;

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
    let unread = (rest.text, rest.at);
    let (number, spelling) = match rest.number() {
        Some(number) => (number, Spelling::Usual),
        None => {
            (rest.text, rest.at) = unread;
            rest.odd_number()?
        }
    };
    while let Some(mark) = rest.leading_mark() {
        marks.extend(mark.value.map(|value| Spanned::new(value, mark.span)));
    }
    while let Some(mark) = rest.trailing_mark() {
        marks.push(mark);
    }
    let title = Spanned::new(rest.text.to_owned(), Span::new(rest.at, rest.at + rest.text.len()));
    Some(StepHeading { number, spelling, marks, title })
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

    /// Takes a number in a spelling that is not the usual one; nothing if there is none.
    fn odd_number(&mut self) -> Option<(Spanned<StepNumber>, Spelling)> {
        let mut rest = Cursor { text: self.text, at: self.at };
        let emphasis = *["**", "__", "*", "_", ""].iter().find(|stars| rest.text.starts_with(**stars))?;
        rest.skip(emphasis.len());
        let has_word = rest.skip_word();
        let close = match rest.text.chars().next() {
            Some('(') => ")",
            Some('[') => "]",
            Some('#') => "",
            Some(_) | None => "\0",
        };
        let is_framed = close != "\0";
        rest.skip(usize::from(is_framed));
        let (number, is_roman) = rest.odd_count()?;
        if is_framed {
            rest.text.strip_prefix(close)?;
            rest.skip(close.len());
        }
        let has_sign = rest.skip_sign()?;
        rest.skip_blanks();
        match rest.text.strip_prefix(emphasis) {
            Some(_) if !emphasis.is_empty() => drop(rest.skip(emphasis.len())),
            Some(_) | None => rest.text = rest.text.strip_suffix(emphasis).unwrap_or(rest.text).trim_end(),
        }
        rest.skip_blanks();
        let spelling = match (has_word || is_framed, has_sign && !is_roman) {
            (false, false) => Spelling::Doubtful,
            (true, _) | (_, true) => Spelling::Odd,
        };
        (self.text, self.at) = (rest.text, rest.at);
        Some((number, spelling))
    }

    /// Skips a word such as `Task`; returns whether there was one.
    fn skip_word(&mut self) -> bool {
        let word = WORDS_BEFORE
            .iter()
            .find(|word| self.text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
        let behind = word.map_or("", |word| &self.text[word.len()..]);
        let bare = behind.trim_start_matches([' ', '\t', '-', '_']);
        let is_word = bare.len() < behind.len() || bare.starts_with('#');
        if is_word {
            self.skip(self.text.len() - bare.len());
        }
        is_word
    }

    /// Takes `3`, `3a` or `III`, and says whether it is Roman.
    fn odd_count(&mut self) -> Option<(Spanned<StepNumber>, bool)> {
        let digits = self.text.bytes().take_while(u8::is_ascii_digit).count();
        let letters = self.text.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (length, value) = match (digits, letters) {
            (0, 0) => return None,
            (0, _) => (letters, roman(&self.text[..letters])?),
            (_, _) => {
                let letter = self.text[digits..].bytes().take_while(u8::is_ascii_lowercase).count();
                (digits + usize::from(letter == 1), self.text[..digits].parse().ok()?)
            }
        };
        let is_whole = !self.text[length..].starts_with(char::is_alphanumeric);
        let is_number = is_whole && value <= ODD_NUMBER_MAX;
        is_number.then(|| (Spanned::new(StepNumber::Counted(value), self.skip(length)), digits == 0))
    }

    /// Skips the sign between number and title; returns whether there was one, and nothing if the number goes on.
    fn skip_sign(&mut self) -> Option<bool> {
        let bare = self.text.trim_start();
        let has_blank = bare.len() < self.text.len();
        let sign = bare.strip_prefix('\\').unwrap_or(bare);
        let behind = sign.strip_prefix(['.', ')', ':', '：', '、', '．', '-', '–', '—', '·', '|']);
        let Some(behind) = behind else { return (has_blank || bare.is_empty()).then_some(false) };
        // `1.2` is a section number, `2-factor` a word.
        let is_dash = sign.starts_with(['-', '–', '—']);
        let goes_on = behind.starts_with(|next: char| next.is_ascii_digit())
            || (is_dash && !has_blank && !behind.starts_with([' ', '\t']));
        if goes_on {
            return None;
        }
        self.skip(self.text.len() - behind.len());
        Some(true)
    }

    fn trailing_mark(&mut self) -> Option<Spanned<Mark>> {
        let (kept, mark) = trailing_glyph(self.text).or_else(|| trailing_word(self.text))?;
        let span = Span::new(self.at + kept.len(), self.at + self.text.len());
        self.text = &self.text[..kept.len()];
        Some(Spanned::new(mark, span))
    }
}

/// The value of a small Roman number.
fn roman(text: &str) -> Option<u32> {
    const ROMAN: [&str; 20] = [
        "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV", "XVI",
        "XVII", "XVIII", "XIX", "XX",
    ];
    ROMAN.iter().zip(1..).find(|(numeral, _)| **numeral == text).map(|(_, value)| value)
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
