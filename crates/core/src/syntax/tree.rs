//! Values whose nodes know their spans, as the readers of YAML and JSON return them. Never interprets them: scalars
//! stay text.

use crate::syntax::source::{Span, Spanned};

/// A value and the bytes that it was written with.
///
/// - Plain and quoted scalars: the scalar as written, quotes included.
/// - Block scalars: from `|` or `>` to the end of the last line that is not blank.
/// - An empty value: the empty span right after its colon (right after the key if there is no colon, after the dash in a list).
/// - Lists and maps: from the first dash, key or bracket to the end of the last child or the closing bracket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub span: Span,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text; an alias is the text of its name with the star.
    Scalar {
        /// The text without quotes and escapes.
        text: String,
        /// How it was written.
        style: Style,
    },
    /// Items in file order.
    List(Vec<Node>),
    /// Keys and values in file order, repeated keys included.
    Map(Vec<(Node, Node)>),
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes, or not at all: in JSON a number, `true`, `false` or `null`.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`, and every text of JSON.
    DoubleQuoted,
    /// `|` or `>` and lines below.
    Block,
}

/// The first value of a key.
pub fn first<'a>(entries: &'a [(Node, Node)], key: &str) -> Option<&'a Node> {
    entries.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
}

impl Node {
    pub(crate) fn scalar(text: impl Into<String>, style: Style, span: Span) -> Self {
        Self { span, value: Value::Scalar { text: text.into(), style } }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The text of a scalar and its position.
    pub(crate) fn spanned(&self) -> Option<Spanned<String>> {
        Some(Spanned::new(self.text()?.to_owned(), self.span))
    }

    /// The trimmed text of a scalar; `None` if empty or null.
    pub(crate) fn said(&self) -> Option<String> {
        let text = self.text().filter(|_| !self.is_null())?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The keys and values of a map; none of anything else.
    pub fn entries(&self) -> &[(Self, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Scalar { .. } | Value::List(_) => &[],
        }
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Scalar { .. } | Value::Map(_) => &[],
        }
    }

    /// The items of a list, or the only value.
    pub(crate) fn each(&self) -> &[Self] {
        if self.is_list() { self.items() } else { std::slice::from_ref(self) }
    }

    /// The first value of a key.
    pub fn first(&self, key: &str) -> Option<&Self> {
        first(self.entries(), key)
    }

    /// The value of a key; the last one if duplicate, as JSON parsers do. Null counts as missing.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let known = self.entries().iter().rev().filter(|(name, _)| name.text() == Some(key));
        known.map(|(_, node)| node).find(|node| !node.is_null())
    }

    /// The value of the first of these keys that has one.
    pub(crate) fn any(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().find_map(|key| self.get(key))
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.value, Value::Map(_))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.value, Value::List(_))
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.value, Value::Scalar { style: Style::Plain, .. })
    }

    pub(crate) fn is_null(&self) -> bool {
        self.is_plain() && matches!(self.text(), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// The value as JSON on one line, with texts in the quotes that `quote` gives them.
    pub(crate) fn inline(&self, quote: fn(&str) -> String) -> String {
        match &self.value {
            Value::Scalar { text, style: Style::Plain } => text.clone(),
            Value::Scalar { text, .. } => quote(text),
            Value::List(items) => {
                format!("[{}]", items.iter().map(|item| item.inline(quote)).collect::<Vec<_>>().join(", "))
            }
            Value::Map(entries) => {
                let entry = |(key, value): &(Self, Self)| {
                    format!("{}: {}", quote(key.text().unwrap_or_default()), value.inline(quote))
                };
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        }
    }
}
