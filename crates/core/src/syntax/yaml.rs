//! A YAML parser whose nodes know their spans, and quoting of one-line scalars. Never interprets values: scalars stay
//! text. Anchors, aliases, tags and merge keys are faults, so that no text can expand to more than it shows.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};

use crate::syntax::source::Span;
pub use crate::syntax::tree::{Node, Style, Value};

/// The nesting limit; deeper text is rejected.
pub const DEPTH_MAX: usize = 64;

/// The node limit; parsing stops there. A plan of 500 steps has about 5,000.
pub const NODES_MAX: usize = 10_000;

/// Something that planwright doesn't accept, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlFault {
    /// The bytes at fault.
    pub span: Span,
    /// What is wrong with them.
    pub kind: FaultKind,
}

/// The kinds of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// A syntax error. Parsing stopped here.
    Syntax(String),
    /// A key that the map already has.
    DuplicateKey {
        key: String,
        /// Its first occurrence.
        first: Span,
    },
    /// `&name`
    Anchor,
    /// `*name`
    Alias,
    /// `!name`
    Tag,
    /// `<<:`
    MergeKey,
    /// A second document, which was not parsed.
    SecondDocument,
    /// More than [`DEPTH_MAX`] levels. Parsing stopped here.
    TooDeep,
    /// More nodes than allowed. Parsing stopped here.
    TooManyNodes,
}

/// Parses `text`, which starts at `offset` in its file: the tree as far as there is one, and all faults in file order.
///
/// There is no tree only if there is no content: no text, or only comments.
pub fn read(text: &str, offset: usize) -> (Option<Node>, Vec<YamlFault>) {
    read_up_to(text, offset, NODES_MAX)
}

/// Reads `text` as [`read`] does, with another limit for the number of nodes.
pub fn read_up_to(text: &str, offset: usize, nodes_max: usize) -> (Option<Node>, Vec<YamlFault>) {
    let options = granit_parser::options! {
        emit_anchor_events: true,
        emit_comments: false,
        emit_unresolved_aliases: true,
    };
    let mut reader = Reader { nodes_max, ..Reader::new(text, offset) };
    for next in Parser::new_from_str_with_options(text, options) {
        let step = match next {
            Ok((event, span)) => reader.take(event, &span),
            Err(error) => reader.stop(&error),
        };
        if step.is_break() {
            break;
        }
    }
    let (mut root, faults) = reader.finish();
    if let Some(root) = &mut root {
        put_in_order(root, Span::new(offset, offset + text.len()));
    }
    (root, faults)
}

/// Keeps every node inside `room` and after its predecessor. In valid YAML this changes nothing; around lone carriage
/// returns and missing values the parser's spans can overlap, and so would edits.
fn put_in_order(node: &mut Node, room: Span) {
    node.span.start = node.span.start.clamp(room.start, room.end);
    node.span.end = node.span.end.clamp(node.span.start, room.end);
    let mut rest = node.span;
    let mut place = |child: &mut Node| {
        put_in_order(child, rest);
        rest.start = child.span.end;
    };
    match &mut node.value {
        Value::Scalar { .. } => {}
        Value::List(items) => items.iter_mut().for_each(place),
        Value::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
            place(key);
            place(value);
        }),
    }
}

/// Writes `text` as a one-line scalar that parses back to exactly this text.
///
/// Plain if that is safe as key and value, in block and flow style, for YAML 1.1 and 1.2; double-quoted otherwise.
pub fn quote(text: &str) -> String {
    if is_safe_plain(text) {
        return text.to_owned();
    }
    let code = |character| is_unprintable(character).then(|| format!("\\U{:08X}", u32::from(character)));
    double_quoted(text, code)
}

/// `text` in double quotes; `code` escapes characters without a short escape in both YAML and JSON.
pub(crate) fn double_quoted(text: &str, code: impl Fn(char) -> Option<String>) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ => match code(character) {
                Some(code) => quoted.push_str(&code),
                None => quoted.push(character),
            },
        }
    }
    quoted.push('"');
    quoted
}

fn is_safe_plain(text: &str) -> bool {
    // Everything that opens another construct, and `+ . ~ = <`, which start numbers, nulls and merge keys.
    const LEADING: &[char] = &[
        '-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '+',
        '.', '~', '=', '<',
    ];
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    // What integers, floats, base-60 numbers, dates and times are made of.
    let is_of_number =
        |character: char| character.is_ascii_hexdigit() || "xXoO_.:+-tTzZ ".contains(character);
    let is_number = text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(is_of_number);
    !(text.is_empty()
        || text.trim() != text
        || text.starts_with(LEADING)
        || text.ends_with(':')
        || text.contains([',', '[', ']', '{', '}'])
        || text.contains(": ")
        || text.contains(" #")
        || text.contains(is_unprintable)
        || WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        || is_number)
}

/// Control characters, and the others that YAML takes for line breaks, byte order marks or nothing at all.
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A list or map whose end was not yet read.
struct Open {
    start: usize,
    holder: Holder,
}

enum Holder {
    List(Vec<Node>),
    Map { entries: Vec<(Node, Node)>, key: Option<Node>, places: HashMap<String, Span> },
}

impl Holder {
    fn map() -> Self {
        Self::Map { entries: Vec::new(), key: None, places: HashMap::new() }
    }
}

/// Builds the tree from events. Offsets in here are those of `text`; only what leaves is shifted.
struct Reader<'a> {
    text: &'a str,
    offset: usize,
    open: Vec<Open>,
    root: Option<Node>,
    faults: Vec<YamlFault>,
    documents: usize,
    nodes: usize,
    nodes_max: usize,
    /// The end of the last token. Events give the span of a token without its dash, colon or block header: those are
    /// between here and the next token.
    cursor: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, offset: usize) -> Self {
        let (open, faults) = (Vec::new(), Vec::new());
        Self {
            text,
            offset,
            open,
            root: None,
            faults,
            documents: 0,
            nodes: 0,
            nodes_max: NODES_MAX,
            cursor: 0,
        }
    }

    fn take(&mut self, event: Event<'_>, span: &granit_parser::Span) -> ControlFlow<()> {
        let range = self.range(span);
        if let Some(tag) = span.tag_span() {
            let tag = self.range(&tag);
            self.fault(tag, FaultKind::Tag);
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.fault(range, FaultKind::SecondDocument);
                    return ControlFlow::Break(());
                }
                self.cursor = range.start;
                if self.text[range.clone()].starts_with("---") {
                    self.cursor = range.end;
                }
            }
            Event::Scalar(text, style, ..) => {
                return self.scalar(&text, style, range);
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.fault(range.clone(), FaultKind::Alias);
                let text = self.text[range.clone()].to_owned();
                return self.add_scalar(range, text, Style::Plain);
            }
            Event::Anchor(..) => self.fault(range, FaultKind::Anchor),
            Event::SequenceStart(..) => {
                let start = self.list_start(&range);
                return self.enter(start, Holder::List(Vec::new()));
            }
            Event::MappingStart(..) => {
                return self.enter(range.start, Holder::map());
            }
            Event::SequenceEnd | Event::MappingEnd => {
                // Only the end of a flow collection has bytes; a block ends wherever the next token is.
                if !range.is_empty() {
                    self.cursor = range.end;
                }
                self.leave();
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | Event::Comment(..) | _ => {}
        }
        ControlFlow::Continue(())
    }

    fn stop(&mut self, error: &ScanError) -> ControlFlow<()> {
        let at = error.marker().byte_offset().unwrap_or(self.cursor);
        let at = self.text.floor_char_boundary(at.min(self.text.len()));
        let wide = self.text[at..].chars().next().filter(|character| !character.is_control());
        let kind = if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            FaultKind::TooDeep
        } else {
            FaultKind::Syntax(error.info())
        };
        self.fault(at..at + wide.map_or(0, char::len_utf8), kind);
        ControlFlow::Break(())
    }

    fn finish(mut self) -> (Option<Node>, Vec<YamlFault>) {
        // Closes what an early stop left open; a key without its value gets an empty one.
        while let Some(open) = self.open.last() {
            if let Holder::Map { key: Some(_), .. } = &open.holder {
                let at = self.value_place();
                self.hang(at..at, Value::Scalar { text: String::new(), style: Style::Plain });
            }
            self.leave();
        }
        self.faults.sort_by_key(|fault| fault.span);
        (self.root, self.faults)
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, range: Range<usize>) -> ControlFlow<()> {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::SingleQuoted,
            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        if style == Style::Block {
            let range = self.block_range(range);
            return self.add_scalar(range, text, style);
        }
        if !range.is_empty() {
            return self.add_scalar(range, text, style);
        }
        // The parser reports a missing value as `~`; here it is empty.
        let at = match self.open.last().map(|open| &open.holder) {
            Some(Holder::Map { key: Some(_), .. }) => self.value_place(),
            Some(Holder::List(_)) => self.item_place(range.start),
            // The parser may place a missing key before the previous value.
            Some(Holder::Map { key: None, .. }) | None => range.start.max(self.cursor),
        };
        self.add_scalar(at..at, "", style)
    }

    /// Where the value of the key that was read last would start: right after the colon, or after the key if there is
    /// none.
    fn value_place(&self) -> usize {
        const BEHIND_COLON: &[char] = &[' ', '\t', '\r', '\n', ',', '}', ']'];
        let at = self.skip_gap(self.cursor, &[]);
        let behind = self.text[at..].strip_prefix(':');
        // A colon with more text after it starts the next key.
        let is_colon = behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(BEHIND_COLON));
        if is_colon { at + 1 } else { self.cursor }
    }

    /// Where an item that is missing would start: right after its dash.
    fn item_place(&self, fallback: usize) -> usize {
        let at = self.skip_gap(self.cursor, &[]);
        if self.text[at..].starts_with('-') { at + 1 } else { fallback }
    }

    /// Where a list starts. The parser places one that is not indented below its key at its first item, after the dash.
    fn list_start(&self, range: &Range<usize>) -> usize {
        let is_in_map = matches!(self.open.last().map(|open| &open.holder), Some(Holder::Map { .. }));
        let dash = self.skip_gap(self.cursor, &[':', '?']);
        let is_dash = range.is_empty() && dash < range.start && self.text[dash..].starts_with('-');
        if is_in_map && is_dash { dash } else { range.start }
    }

    /// The range of a block scalar whose content is at `range`: with its header, without the blank lines after it.
    fn block_range(&self, range: Range<usize>) -> Range<usize> {
        let header = self.skip_gap(self.cursor, &[':', '-', '?']);
        let is_header = header <= range.start && self.text[header..].starts_with(['|', '>']);
        let start = if is_header { header } else { range.start };
        let last = start + self.text[start..range.end].trim_end().len();
        let rest = &self.text[last..range.end];
        start..last + rest.find(['\n', '\r']).unwrap_or(rest.len())
    }

    /// The first place from `at` on that is not white space, comment, anchor, tag, or one of the characters of
    /// `passed`.
    fn skip_gap(&self, mut at: usize, passed: &[char]) -> usize {
        loop {
            let rest = &self.text[at..];
            let length = match rest.chars().next() {
                Some(' ' | '\t' | '\r' | '\n') => 1,
                Some('#') => rest.find('\n').unwrap_or(rest.len()),
                Some('&' | '!') => rest.find([' ', '\t', '\r', '\n']).unwrap_or(rest.len()),
                Some(character) if passed.contains(&character) => character.len_utf8(),
                Some(_) | None => return at,
            };
            at += length;
        }
    }

    fn enter(&mut self, start: usize, holder: Holder) -> ControlFlow<()> {
        if self.open.len() == DEPTH_MAX {
            self.fault(start..start, FaultKind::TooDeep);
            return ControlFlow::Break(());
        }
        self.count(start)?;
        self.cursor = self.cursor.max(start);
        self.open.push(Open { start, holder });
        ControlFlow::Continue(())
    }

    fn leave(&mut self) {
        let Some(Open { start, holder }) = self.open.pop() else { return };
        let value = match holder {
            Holder::List(items) => Value::List(items),
            Holder::Map { entries, key: _, places: _ } => Value::Map(entries),
        };
        self.hang(start..self.cursor.max(start), value);
    }

    fn add_scalar(&mut self, range: Range<usize>, text: impl Into<String>, style: Style) -> ControlFlow<()> {
        self.count(range.start)?;
        self.hang(range, Value::Scalar { text: text.into(), style });
        ControlFlow::Continue(())
    }

    fn count(&mut self, at: usize) -> ControlFlow<()> {
        if self.nodes >= self.nodes_max {
            self.fault(at..at, FaultKind::TooManyNodes);
            return ControlFlow::Break(());
        }
        self.nodes += 1;
        ControlFlow::Continue(())
    }

    /// Puts a node that is complete where it belongs.
    fn hang(&mut self, range: Range<usize>, value: Value) {
        self.cursor = self.cursor.max(range.end);
        let node = Node { span: Span::from(range).shifted(self.offset), value };
        match self.open.last_mut().map(|open| &mut open.holder) {
            Some(Holder::List(items)) => items.push(node),
            Some(Holder::Map { entries, key, places }) => {
                if let Some(key) = key.take() {
                    entries.push((key, node));
                } else {
                    self.faults.extend(key_fault(&node, places));
                    *key = Some(node);
                }
            }
            None => self.root = Some(node),
        }
    }

    fn fault(&mut self, range: Range<usize>, kind: FaultKind) {
        self.faults.push(YamlFault { span: Span::from(range).shifted(self.offset), kind });
    }

    /// The bytes of an event, made fit to slice by whatever the parser says.
    fn range(&self, span: &granit_parser::Span) -> Range<usize> {
        let range = span.byte_range().unwrap_or(self.cursor..self.cursor);
        let end = self.text.floor_char_boundary(range.end.min(self.text.len()));
        self.text.floor_char_boundary(range.start.min(end))..end
    }
}

/// What is wrong with a key, given the places of the keys before it; takes note of its own.
fn key_fault(node: &Node, places: &mut HashMap<String, Span>) -> Option<YamlFault> {
    let Value::Scalar { text, style } = &node.value else { return None };
    if text == "<<" && *style == Style::Plain {
        return Some(YamlFault { span: node.span, kind: FaultKind::MergeKey });
    }
    let first = *places.entry(text.clone()).or_insert(node.span);
    let kind = FaultKind::DuplicateKey { key: text.clone(), first };
    (first != node.span).then_some(YamlFault { span: node.span, kind })
}

#[cfg(test)]
mod tests;
