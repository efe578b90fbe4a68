//! JSON as a tree in which every node knows its bytes, read as far as it can be. What other tools wrote is often torn,
//! commented or merged by hand: all of it that makes sense is kept, and everything that is no JSON is a fault with its place.

pub(crate) mod edit;

use crate::syntax::source::{Span, Spanned};

/// How many lists and maps may stand inside each other; what is deeper stays text.
pub(crate) const DEPTH_MAX: usize = 64;

/// How many faults are told. A file with more of them is no JSON at all, and the first ones say enough.
const FAULTS_MAX: usize = 50;

/// A value and the bytes that it was written with, quotes and brackets included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// What a node says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// As it was written: nobody counts with it here.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// Keys and values in file order, repeated keys included.
    Map(Vec<(Spanned<String>, Node)>),
}

impl Node {
    /// The value of a key; the last one where it stands twice, as every reader of JSON has it. Null is no value.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let known = self.entries().iter().rev().filter(|(name, _)| name.value == key);
        known.map(|(_, node)| node).find(|node| node.value != Value::Null)
    }

    /// The value of the first of these keys that has one.
    pub(crate) fn any(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// The keys and values of a map; none of anything else.
    pub(crate) fn entries(&self) -> &[(Spanned<String>, Node)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => &[],
        }
    }

    /// The items of a list; none of anything else.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => &[],
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.value, Value::Map(_))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.value, Value::List(_))
    }

    /// What a scalar says, blanks around it left out; `None` where that is nothing.
    pub(crate) fn said(&self) -> Option<String> {
        let text = match &self.value {
            Value::Text(text) | Value::Number(text) => text.trim(),
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            Value::Null | Value::List(_) | Value::Map(_) => return None,
        };
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// Reads all values of `text`, which stands `offset` bytes into its file, and all faults in file order. Sound JSON is one
/// value without a fault; more of them are a fault of a file, and the lines of a list of lines.
pub(crate) fn read(text: &str, offset: usize) -> (Vec<Node>, Vec<Spanned<String>>) {
    let mut reader = Reader { text, at: 0, offset, open: Vec::new(), faults: Vec::new() };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let mut values = Vec::new();
    loop {
        let before = reader.at;
        values.extend(reader.value());
        reader.skip_blank();
        match reader.peek() {
            None => break,
            Some(',') if reader.at > before => reader.stray("a comma stands behind the end"),
            Some(_) if reader.at > before => {}
            Some(_) => reader.stray("this is no JSON"),
        }
    }
    (values, reader.faults)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    offset: usize,
    /// The brackets that are open here.
    open: Vec<char>,
    faults: Vec<Spanned<String>>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.at).shifted(self.offset)
    }

    fn fault(&mut self, span: Span, why: impl Into<String>) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(Spanned::new(why.into(), span));
        }
    }

    fn fault_here(&mut self, why: &str) {
        self.fault(Span::at(self.at).shifted(self.offset), why);
    }

    /// Passes one character that belongs nowhere.
    fn stray(&mut self, why: &str) {
        let start = self.at;
        self.at += self.peek().map_or(0, char::len_utf8);
        self.fault(self.span_from(start), why);
    }

    /// Passes blanks, comments and the lines by which git shows a conflict.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let blank =
                rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            self.at += blank;
            let rest = self.rest();
            let line = rest.find('\n').unwrap_or(rest.len());
            let is_line_start = self.at == 0 || self.text[..self.at].ends_with(['\n', '\u{feff}']);
            let is_conflict = is_line_start
                && ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|sign| rest.starts_with(sign));
            let (length, why) = if is_conflict {
                (line, "a conflict was never resolved; both sides are read")
            } else if rest.starts_with("//") || rest.starts_with('#') {
                (line, "JSON has no comments")
            } else if rest.starts_with("/*") {
                (rest.find("*/").map_or(rest.len(), |end| end + 2), "JSON has no comments")
            } else {
                return;
            };
            let start = self.at;
            self.at += length;
            self.fault(self.span_from(start), why);
        }
    }

    /// Reads a value; `None`, and nothing passed but blanks, where a sign stands that begins none.
    fn value(&mut self) -> Option<Node> {
        self.skip_blank();
        let start = self.at;
        let value = match self.peek()? {
            ',' | ':' | '}' | ']' => return None,
            '{' | '[' if self.open.len() == DEPTH_MAX => self.skip_deep(),
            '{' => self.map(),
            '[' => self.list(),
            '"' => Value::Text(self.string('"')),
            '\'' if self.is_single_quoted() => Value::Text(self.string('\'')),
            sign if !sign.is_alphanumeric() && !"-+._$".contains(sign) => {
                self.stray("this is no JSON");
                return None;
            }
            _ => self.word(),
        };
        Some(Node { span: self.span_from(start), value })
    }

    fn map(&mut self) -> Value {
        let start = self.at;
        self.at += 1;
        self.open.push('{');
        let mut entries = Vec::new();
        loop {
            self.skip_blank();
            match self.peek() {
                None => {
                    self.fault(self.span_from(start), "the file ends before this `{` is closed");
                    break;
                }
                Some('}') => {
                    self.at += 1;
                    break;
                }
                Some(']') if self.is_in('[') => {
                    self.fault_here("`]` where a `}` was to come");
                    break;
                }
                // The map in front lost its end: what follows is the next one in the list.
                Some('{') if self.is_in('[') => {
                    self.fault_here("`{` where a `}` was to come");
                    break;
                }
                Some(',' | ':' | ']') => self.stray("a key was to come here"),
                Some('{' | '[') => {
                    self.fault_here("a value without a key");
                    let key = Spanned::new(String::new(), Span::at(self.at).shifted(self.offset));
                    entries.extend(self.value().map(|value| (key, value)));
                }
                Some(_) => entries.push(self.entry()),
            }
        }
        self.open.pop();
        Value::Map(entries)
    }

    fn entry(&mut self) -> (Spanned<String>, Node) {
        let start = self.at;
        let key = match self.peek() {
            Some('"') => self.string('"'),
            Some('\'') if self.is_single_quoted() => self.string('\''),
            Some(_) | None => {
                let word = self.bare();
                self.fault(self.span_from(start), "a key without quotes");
                word
            }
        };
        let key = Spanned::new(key, self.span_from(start));
        self.skip_blank();
        if self.peek() == Some(':') {
            self.at += 1;
        } else {
            self.fault_here("no colon behind the key");
        }
        let value = self.value().unwrap_or_else(|| {
            self.fault_here("a key without a value");
            Node { span: self.span_from(self.at), value: Value::Null }
        });
        self.separate('}');
        (key, value)
    }

    fn list(&mut self) -> Value {
        let start = self.at;
        self.at += 1;
        self.open.push('[');
        let mut items = Vec::new();
        loop {
            self.skip_blank();
            let before = self.at;
            match self.peek() {
                None => {
                    self.fault(self.span_from(start), "the file ends before this `[` is closed");
                    break;
                }
                Some(']') => {
                    self.at += 1;
                    break;
                }
                Some('}') if self.is_in('{') && !self.goes_on_behind_brace() => {
                    self.fault_here("`}` where a `]` was to come");
                    break;
                }
                Some(',' | ':' | '}') => self.stray("a value was to come here"),
                Some(_) => {
                    let Some(item) = self.value() else { continue };
                    self.skip_blank();
                    // `"key":` belongs to the map around a list that lost its end.
                    if self.peek() == Some(':') && self.is_in('{') {
                        self.at = before;
                        self.fault_here("a key where a `]` was to come");
                        break;
                    }
                    items.push(item);
                    self.separate(']');
                }
            }
        }
        self.open.pop();
        Value::List(items)
    }

    /// Whether the bracket around the innermost open one is this.
    fn is_in(&self, bracket: char) -> bool {
        self.open.len().checked_sub(2).is_some_and(|outer| self.open[outer] == bracket)
    }

    /// Whether the list goes on behind a brace that is one too many.
    fn goes_on_behind_brace(&self) -> bool {
        let behind = self.rest()[1..].trim_start();
        behind.strip_prefix(',').is_some_and(|next| next.trim_start().starts_with('{'))
    }

    /// Passes the comma behind a value.
    fn separate(&mut self, end: char) {
        self.skip_blank();
        match self.peek() {
            Some(',') => {
                let comma = self.at;
                self.at += 1;
                self.skip_blank();
                if self.peek() == Some(end) {
                    self.fault(
                        Span::new(comma, comma + 1).shifted(self.offset),
                        "a comma behind the last value",
                    );
                }
            }
            Some('}' | ']') | None => {}
            Some(_) => self.fault_here("no comma between two values"),
        }
    }

    /// A word without quotes: a number, true, false, null, or text that lost its quotes.
    fn word(&mut self) -> Value {
        let start = self.at;
        match self.bare().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            number if number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
                Value::Number(number.to_owned())
            }
            text => {
                self.fault(self.span_from(start), "text without quotes");
                Value::Text(text.to_owned())
            }
        }
    }

    fn bare(&mut self) -> String {
        const ENDS: &[char] = &[',', ':', '{', '}', '[', ']', '"'];
        let rest = self.rest();
        let end = rest.find(|c: char| ENDS.contains(&c) || c.is_whitespace()).unwrap_or(rest.len());
        // A sign that no word begins with is one itself: reading always goes on.
        let end = if end == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { end };
        let word = rest[..end].to_owned();
        self.at += end;
        word
    }

    /// Text in quotes, its escapes resolved.
    fn string(&mut self, quote: char) -> String {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find([quote, '\\', '\n']).unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                None => {
                    self.fault(self.span_from(start), "the file ends before this text is closed");
                    return text;
                }
                Some('\\') => self.escape(&mut text),
                Some('\n') if self.is_next_line_structure() => {
                    self.fault(self.span_from(start), "this text is never closed");
                    let kept = text.trim_end().trim_end_matches(',').len();
                    self.at -= text.len() - text.trim_end().len() + text.trim_end().len() - kept;
                    text.truncate(kept);
                    return text;
                }
                Some('\n') => {
                    self.fault_here("a line ends inside of text");
                    text.push('\n');
                    self.at += 1;
                }
                Some(_) => {
                    self.at += 1;
                    if self.ends_here() {
                        return text;
                    }
                    self.fault_here("a quote inside of text");
                    text.push(quote);
                }
            }
        }
    }

    /// Whether what stands behind a quote may follow a text.
    fn ends_here(&self) -> bool {
        let rest = self.rest();
        let behind = rest.trim_start_matches([' ', '\t', '\r']);
        behind.is_empty()
            || behind.starts_with([',', ':', '}', ']', '\n', '#'])
            || behind.starts_with("//")
            || behind.starts_with("/*")
            || behind.chars().next().is_some_and(|c| !c.is_ascii() && c.is_whitespace())
    }

    /// Whether a single quote begins a text: another one closes it in the same line. A lone one would swallow the rest.
    fn is_single_quoted(&self) -> bool {
        let line = self.rest()[1..].lines().next().unwrap_or_default();
        let ends = line.match_indices('\'').map(|(at, _)| line[at + 1..].trim_start());
        ends.into_iter().any(|behind| behind.is_empty() || behind.starts_with([',', ':', '}', ']']))
    }

    /// Whether the next line is a key or closes something, so that a text that reaches it was never meant to.
    fn is_next_line_structure(&self) -> bool {
        let line = self.rest()[1..].lines().next().unwrap_or_default().trim();
        let is_key = line
            .strip_prefix('"')
            .and_then(|key| key.split_once('"'))
            .is_some_and(|(_, behind)| behind.trim_start().starts_with(':'));
        is_key || ["}", "},", "]", "],", "{"].contains(&line)
    }

    fn escape(&mut self, text: &mut String) {
        let start = self.at;
        self.at += 1;
        let Some(sign) = self.peek() else { return };
        self.at += sign.len_utf8();
        match sign {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' | 'f' => text.push(' '),
            '"' | '\\' | '/' | '\'' => text.push(sign),
            'u' => text.push(self.code(start)),
            other => {
                self.fault(self.span_from(start), "JSON has no such escape");
                text.push('\\');
                text.push(other);
            }
        }
    }

    /// The character of `\uXXXX`, or of two of them that belong together.
    fn code(&mut self, start: usize) -> char {
        let Some(first) = self.hex() else {
            self.fault(self.span_from(start), "four digits were to follow");
            return char::REPLACEMENT_CHARACTER;
        };
        let mut units = vec![first];
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            match self.hex() {
                Some(second) if (0xdc00..0xe000).contains(&second) => units.push(second),
                Some(_) | None => self.at = before,
            }
        }
        let read = char::decode_utf16(units).next();
        read.and_then(Result::ok).unwrap_or_else(|| {
            self.fault(self.span_from(start), "half of a character");
            char::REPLACEMENT_CHARACTER
        })
    }

    fn hex(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4)?;
        let unit = u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        self.at += 4;
        Some(unit)
    }

    /// Passes what is nested too deep, up to where it is closed, and keeps it as text.
    fn skip_deep(&mut self) -> Value {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(sign) = self.peek() {
            match sign {
                quote @ '"' => {
                    self.string(quote);
                    continue;
                }
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                _ => {}
            }
            self.at += sign.len_utf8();
            if depth == 0 {
                break;
            }
        }
        let text = self.text[start..self.at].to_owned();
        self.fault(self.span_from(start), format!("nested deeper than {DEPTH_MAX} levels; kept as text"));
        Value::Text(text)
    }
}

#[cfg(test)]
mod tests;
