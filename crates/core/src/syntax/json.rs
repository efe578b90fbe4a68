//! A lenient JSON parser whose nodes know their spans. Files of other tools are often truncated, commented or merged by
//! hand: everything that makes sense is kept, and everything that is not JSON is a fault with its position.

pub(crate) mod edit;

use crate::syntax::source::{Span, Spanned};
use crate::syntax::tree::{Node, Style, Value};

/// The nesting limit; deeper values stay text.
pub(crate) const DEPTH_MAX: usize = 64;

/// The limit of reported faults. A file with more is not JSON at all.
const FAULTS_MAX: usize = 50;

/// Parses all values of `text`, which starts at `offset` in its file, and all faults in file order. Valid JSON is one
/// value without faults; more values are a fault of a file, or the lines of JSON Lines.
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
            Some(',') if reader.at > before => reader.stray("unexpected comma after the end"),
            Some(_) if reader.at > before => {}
            Some(_) => reader.stray("not JSON"),
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

    /// Skips one unexpected character.
    fn stray(&mut self, why: &str) {
        let start = self.at;
        self.at += self.peek().map_or(0, char::len_utf8);
        self.fault(self.span_from(start), why);
    }

    /// Skips blanks, comments and git conflict markers.
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
                (line, "unresolved merge conflict; both sides are read")
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

    /// Parses a value; `None`, having skipped only blanks, at a character that starts none.
    fn value(&mut self) -> Option<Node> {
        self.skip_blank();
        let start = self.at;
        let value = match self.peek()? {
            ',' | ':' | '}' | ']' => return None,
            '{' | '[' if self.open.len() == DEPTH_MAX => self.skip_deep(),
            '{' => self.map(),
            '[' => self.list(),
            '"' => quoted(self.string('"')),
            '\'' if self.is_single_quoted() => quoted(self.string('\'')),
            sign if !sign.is_alphanumeric() && !"-+._$".contains(sign) => {
                self.stray("not JSON");
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
                    self.fault(self.span_from(start), "unclosed `{`");
                    break;
                }
                Some('}') => {
                    self.at += 1;
                    break;
                }
                Some(']') if self.is_in('[') => {
                    self.fault_here("expected `}`, found `]`");
                    break;
                }
                // The previous object lost its end: this is the next one in the list.
                Some('{') if self.is_in('[') => {
                    self.fault_here("expected `}`, found `{`");
                    break;
                }
                Some(',' | ':' | ']') => self.stray("expected a key"),
                Some('{' | '[') => {
                    self.fault_here("value without a key");
                    let key = Node::scalar("", Style::DoubleQuoted, Span::at(self.at).shifted(self.offset));
                    entries.extend(self.value().map(|value| (key, value)));
                }
                Some(_) => entries.push(self.entry()),
            }
        }
        self.open.pop();
        Value::Map(entries)
    }

    fn entry(&mut self) -> (Node, Node) {
        let start = self.at;
        let key = match self.peek() {
            Some('"') => self.string('"'),
            Some('\'') if self.is_single_quoted() => self.string('\''),
            Some(_) | None => {
                let word = self.bare();
                self.fault(self.span_from(start), "unquoted key");
                word
            }
        };
        let key = Node::scalar(key, Style::DoubleQuoted, self.span_from(start));
        self.skip_blank();
        if self.peek() == Some(':') {
            self.at += 1;
        } else {
            self.fault_here("expected a colon after the key");
        }
        let value = self.value().unwrap_or_else(|| {
            self.fault_here("key without a value");
            Node::scalar("null", Style::Plain, self.span_from(self.at))
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
                    self.fault(self.span_from(start), "unclosed `[`");
                    break;
                }
                Some(']') => {
                    self.at += 1;
                    break;
                }
                Some('}') if self.is_in('{') && !self.goes_on_behind_brace() => {
                    self.fault_here("expected `]`, found `}`");
                    break;
                }
                Some(',' | ':' | '}') => self.stray("expected a value"),
                Some(_) => {
                    let Some(item) = self.value() else { continue };
                    self.skip_blank();
                    // `"key":` belongs to the object around a list that lost its end.
                    if self.peek() == Some(':') && self.is_in('{') {
                        self.at = before;
                        self.fault_here("expected `]`, found a key");
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

    /// Whether the list continues after a surplus brace.
    fn goes_on_behind_brace(&self) -> bool {
        let behind = self.rest()[1..].trim_start();
        behind.strip_prefix(',').is_some_and(|next| next.trim_start().starts_with('{'))
    }

    /// Consumes the comma after a value.
    fn separate(&mut self, end: char) {
        self.skip_blank();
        match self.peek() {
            Some(',') => {
                let comma = self.at;
                self.at += 1;
                self.skip_blank();
                if self.peek() == Some(end) {
                    self.fault(Span::new(comma, comma + 1).shifted(self.offset), "trailing comma");
                }
            }
            Some('}' | ']') | None => {}
            Some(_) => self.fault_here("expected a comma between two values"),
        }
    }

    /// An unquoted word: a number, true, false, null, or a string that lost its quotes.
    fn word(&mut self) -> Value {
        let start = self.at;
        let text = self.bare();
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if is_number || matches!(text.as_str(), "true" | "false" | "null") {
            return Value::Scalar { text, style: Style::Plain };
        }
        self.fault(self.span_from(start), "unquoted string");
        quoted(text)
    }

    fn bare(&mut self) -> String {
        const ENDS: &[char] = &[',', ':', '{', '}', '[', ']', '"'];
        let rest = self.rest();
        let end = rest.find(|c: char| ENDS.contains(&c) || c.is_whitespace()).unwrap_or(rest.len());
        // A character that starts no word is a word itself, so that parsing always advances.
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
                    self.fault(self.span_from(start), "unclosed string");
                    return text;
                }
                Some('\\') => self.escape(&mut text),
                Some('\n') if self.is_next_line_structure() => {
                    self.fault(self.span_from(start), "unclosed string");
                    let kept = text.trim_end().trim_end_matches(',').len();
                    self.at -= text.len() - text.trim_end().len() + text.trim_end().len() - kept;
                    text.truncate(kept);
                    return text;
                }
                Some('\n') => {
                    self.fault_here("line break in a string");
                    text.push('\n');
                    self.at += 1;
                }
                Some(_) => {
                    self.at += 1;
                    if self.ends_here() {
                        return text;
                    }
                    self.fault_here("unescaped quote in a string");
                    text.push(quote);
                }
            }
        }
    }

    /// Whether the text after a quote may follow a string.
    fn ends_here(&self) -> bool {
        let rest = self.rest();
        let behind = rest.trim_start_matches([' ', '\t', '\r']);
        behind.is_empty()
            || behind.starts_with([',', ':', '}', ']', '\n', '#'])
            || behind.starts_with("//")
            || behind.starts_with("/*")
            || behind.chars().next().is_some_and(|c| !c.is_ascii() && c.is_whitespace())
    }

    /// Whether a single quote starts a string: another one closes it on the same line. A lone one would swallow the
    /// rest.
    fn is_single_quoted(&self) -> bool {
        let line = self.rest()[1..].lines().next().unwrap_or_default();
        let ends = line.match_indices('\'').map(|(at, _)| line[at + 1..].trim_start());
        ends.into_iter().any(|behind| behind.is_empty() || behind.starts_with([',', ':', '}', ']']))
    }

    /// Whether the next line is a key or closes something, so that the string was not meant to continue there.
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
                self.fault(self.span_from(start), "invalid escape");
                text.push('\\');
                text.push(other);
            }
        }
    }

    /// The character of `\uXXXX`, or of a surrogate pair.
    fn code(&mut self, start: usize) -> char {
        let Some(first) = self.hex() else {
            self.fault(self.span_from(start), "expected four hex digits");
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
            self.fault(self.span_from(start), "lone surrogate");
            char::REPLACEMENT_CHARACTER
        })
    }

    fn hex(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4)?;
        let unit = u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        self.at += 4;
        Some(unit)
    }

    /// Skips a value that is nested too deeply, and keeps it as text.
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
        quoted(text)
    }
}

fn quoted(text: String) -> Value {
    Value::Scalar { text, style: Style::DoubleQuoted }
}

#[cfg(test)]
mod tests;
