//! Writes new values in block, flow or JSON style. Every text parses back to the given value.

use crate::plan::edit::EditError;
use crate::syntax::source::Source;
use crate::syntax::yaml;
use crate::syntax::yaml::YamlNode;

/// A value to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum New {
    Text(String),
    Number(usize),
    List(Vec<New>),
    Map(Vec<(&'static str, New)>),
}

impl New {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> Self {
        Self::List(texts.into_iter().map(|text| Self::Text(text.clone())).collect())
    }
}

/// The style of a file.
pub(super) struct RecordPage<'a> {
    pub(super) source: &'a Source,
    newline: &'static str,
    pub(super) is_json: bool,
    /// The offset of a list's dash from its key.
    dash: usize,
}

/// The indentation of nested maps and lists.
const INDENT: usize = 2;

impl<'a> RecordPage<'a> {
    /// The style of a file with this root.
    pub(super) fn of(source: &'a Source, root: &YamlNode) -> Self {
        let steps = root.get("steps").filter(|steps| source.slice(steps.span).starts_with('-'));
        let dash = steps.map(|steps| column(source, steps.span.start));
        Self {
            source,
            newline: source.line_ending(),
            is_json: super::is_json(source),
            dash: dash.unwrap_or(INDENT).min(8),
        }
    }

    pub(super) fn newline(&self) -> &'static str {
        self.newline
    }

    pub(super) fn key(&self, key: &str) -> String {
        if self.is_json { json(key) } else { yaml::quote(key) }
    }

    /// The value on one line.
    pub(super) fn inline(&self, new: &New) -> String {
        match new {
            New::Text(text) if self.is_json => json(text),
            New::Text(text) => yaml::quote(text),
            New::Number(number) => number.to_string(),
            New::List(items) => {
                format!("[{}]", items.iter().map(|item| self.inline(item)).collect::<Vec<_>>().join(", "))
            }
            New::Map(entries) => {
                let entry = |(key, value): &(&str, New)| format!("{}: {}", self.key(key), self.inline(value));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The text after the colon of a key indented by `indent` columns: a blank and the value, or lines below.
    pub(super) fn behind_colon(&self, new: &New, indent: usize) -> String {
        match new {
            New::Text(text) => match block(text, indent + INDENT, self.newline) {
                Some(block) => format!(" {block}"),
                None => format!(" {}", self.inline(new)),
            },
            New::List(items) if items.iter().any(|item| matches!(item, New::Text(_) | New::Map(_))) => {
                let item = |item: &New| self.item(item, indent + self.dash);
                items.iter().map(item).collect()
            }
            New::Map(entries) if !entries.is_empty() => {
                let inner = indent + INDENT;
                let margin = " ".repeat(inner);
                let entry = |(key, value): &(&str, New)| {
                    format!("{}{margin}{}:{}", self.newline, self.key(key), self.behind_colon(value, inner))
                };
                entries.iter().map(entry).collect()
            }
            New::Number(_) | New::List(_) | New::Map(_) => format!(" {}", self.inline(new)),
        }
    }

    /// A line break and a list item whose dash is indented by `indent` columns.
    pub(super) fn item(&self, item: &New, indent: usize) -> String {
        let margin = " ".repeat(indent);
        match item {
            New::Map(entries) if !entries.is_empty() => {
                let inner = indent + INDENT;
                let joint = format!("{}{}", self.newline, " ".repeat(inner));
                let entry = |(key, value): &(&str, New)| {
                    format!("{}:{}", self.key(key), self.behind_colon(value, inner))
                };
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{}{margin}- {}", self.newline, entries.join(&joint))
            }
            New::Text(_) | New::Number(_) | New::List(_) | New::Map(_) => {
                format!("{}{margin}- {}", self.newline, self.inline(item))
            }
        }
    }

    /// The indentation of a block map's key; an error if anything but dashes and blanks precedes it.
    pub(super) fn indent(&self, map: &YamlNode) -> Result<usize, EditError> {
        let entries = map.entries();
        // The first key may share its line with the dash of a list.
        let key = entries.get(1).or(entries.first()).map_or(map.span, |(key, _)| key.span);
        let line = self.source.line_at(key.start);
        let before = self.source.text()[line.start..key.start].trim_start_matches('\u{feff}');
        let is_margin = before.bytes().all(|byte| matches!(byte, b' ' | b'-'));
        is_margin.then_some(before.len()).ok_or_else(|| odd("a key is not at the start of its line"))
    }
}

/// The refusal of an edit that the layout of the file does not allow.
pub(super) fn odd(why: &str) -> EditError {
    EditError::WouldChangeMore(why.to_owned())
}

/// The column that a byte is in, a byte order mark left out.
pub(super) fn column(source: &Source, at: usize) -> usize {
    source.text()[source.line_at(at).start..at].trim_start_matches('\u{feff}').len()
}

/// A multi-line text as a literal block; `None` if quotes are better: a single line, or characters and blanks that a
/// block can't preserve.
fn block(text: &str, indent: usize, newline: &str) -> Option<String> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let is_plain = |character: char| character == '\n' || character == '\t' || !unprintable(character);
    let fits = body.contains('\n')
        && !body.starts_with([' ', '\t', '\n'])
        && !body.ends_with('\n')
        && body.chars().all(is_plain)
        && body.lines().all(|line| line.is_empty() || !line.trim().is_empty());
    if !fits {
        return None;
    }
    let margin = " ".repeat(indent);
    let line = |line: &str| match line.is_empty() {
        true => newline.to_owned(),
        false => format!("{newline}{margin}{line}"),
    };
    let sign = if body.len() < text.len() { "|" } else { "|-" };
    Some(format!("{sign}{}", body.split('\n').map(line).collect::<String>()))
}

/// Characters that a literal block can't hold, or that YAML takes for line breaks.
fn unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A string of JSON, which YAML reads in the same way.
pub(super) fn json(text: &str) -> String {
    // All of them are in the first plane, so four digits suffice.
    let code = |character| unprintable(character).then(|| format!("\\u{:04x}", u32::from(character)));
    yaml::double_quoted(text, code)
}
