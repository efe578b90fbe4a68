//! Words of a script after quote removal. Never expands anything.

use super::tree::ShellCommand;
use crate::syntax::source::Span;

/// One word of a command.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) span: Span,
    pub(super) text: Text,
    /// With quotes.
    pub(super) raw: String,
    /// The commands that run to expand it.
    pub(super) substitutions: Vec<ShellCommand>,
    /// What can end the script while it is expanded.
    pub(super) hazards: Vec<Hazard>,
}

impl Word {
    /// The word without its quotes, if that can be known.
    pub(super) fn literal(&self) -> Option<&str> {
        match &self.text {
            Text::Literal(text) => Some(text),
            Text::One | Text::Loose => None,
        }
    }
}

/// What is known of a word after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text {
    Literal(String),
    /// That it stays one word.
    One,
    /// Nothing: it can expand to any number of words.
    Loose,
}

/// Something in a word that can end the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hazard {
    /// A variable that is an error under `-u` when it is not set.
    Variable(String),
    /// An expansion that fails by itself, such as `${x:?}` or a division by zero.
    Expansion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// Removes the quotes of one word, piece by piece: a quote may be opened in one piece and closed in another.
#[derive(Debug)]
pub(super) struct Unquoter {
    quote: Quote,
    text: String,
    is_single: bool,
    is_loose: bool,
    has_bracket: bool,
    /// How many braces are open.
    braces: usize,
    is_escaped: bool,
    is_started: bool,
}

impl Unquoter {
    pub(super) fn new() -> Self {
        Self {
            quote: Quote::None,
            text: String::new(),
            is_single: false,
            is_loose: false,
            has_bracket: false,
            braces: 0,
            is_escaped: false,
            is_started: false,
        }
    }

    /// Consumes raw script text.
    pub(super) fn push_raw(&mut self, raw: &str) {
        let mut characters = raw.chars().peekable();
        while let Some(character) = characters.next() {
            let next = characters.peek().copied();
            if self.is_escaped {
                self.is_escaped = false;
                self.push_escaped(character);
                continue;
            }
            match self.quote {
                Quote::Single if character == '\'' => self.quote = Quote::None,
                Quote::Single => self.text.push(character),
                Quote::Double => self.push_double(character, next),
                Quote::None => self.push_plain(character, next),
            }
            self.is_started = true;
        }
    }

    /// Consumes literal text.
    pub(super) fn push_decoded(&mut self, decoded: &str) {
        self.text.push_str(decoded);
        self.is_started = true;
    }

    pub(super) fn push_expansion(&mut self) {
        self.is_started = true;
        match self.quote {
            Quote::None => self.is_loose = true,
            Quote::Single | Quote::Double => self.is_single = true,
        }
    }

    /// Consumes something that can expand to several words even between quotes.
    pub(super) fn push_loose(&mut self) {
        self.is_loose = true;
    }

    pub(super) fn finish(self) -> Text {
        if self.is_loose {
            Text::Loose
        } else if self.is_single {
            Text::One
        } else {
            Text::Literal(self.text)
        }
    }

    fn push_escaped(&mut self, character: char) {
        let is_removed = matches!(character, '$' | '`' | '"' | '\\');
        if character == '\n' {
            return;
        }
        if self.quote == Quote::Double && !is_removed {
            self.text.push('\\');
        }
        self.text.push(character);
    }

    fn push_double(&mut self, character: char, next: Option<char>) {
        match character {
            '"' => self.quote = Quote::None,
            '\\' => self.is_escaped = true,
            '`' => self.push_expansion(),
            '$' if next.is_some_and(|next| begins_expansion(next) && next != '\'' && next != '"') => {
                self.push_expansion();
            }
            _ => self.text.push(character),
        }
    }

    fn push_plain(&mut self, character: char, next: Option<char>) {
        match character {
            '\'' => self.quote = Quote::Single,
            '"' => self.quote = Quote::Double,
            '\\' => self.is_escaped = true,
            '`' | '*' | '?' | '(' => self.is_loose = true,
            '~' if !self.is_started => self.is_loose = true,
            '$' if next.is_some_and(begins_expansion) => self.is_loose = true,
            // `{a,b}` and `{1..3}` expand to several words.
            ',' if self.braces > 0 => self.is_loose = true,
            '.' if self.braces > 0 && next == Some('.') => self.is_loose = true,
            '{' | '}' => {
                self.braces = if character == '{' { self.braces + 1 } else { self.braces.saturating_sub(1) };
                self.text.push(character);
            }
            '[' => {
                self.has_bracket = true;
                self.text.push(character);
            }
            ']' if self.has_bracket => self.is_loose = true,
            _ => self.text.push(character),
        }
    }
}

fn begins_expansion(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_({[@*#?$!-'\"".contains(character)
}
