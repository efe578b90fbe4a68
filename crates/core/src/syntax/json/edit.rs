//! Inserts a value into a JSON text and leaves every other byte as it is. Rejects text that is not valid JSON, and any
//! edit that would change other content.

use serde_json::Value as Plain;

use super::read;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Style, Value};

/// The indentation if the text itself shows none.
const UNIT: &str = "  ";
/// Keys that name a command: a list entry with the same command is the same entry, whatever its other settings.
const RUNS: [&str; 2] = ["command", "bash"];

/// Where to insert a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// As the value of the last key of the path.
    Key,
    /// As an item of the list that the path leads to.
    Item,
}

/// Why a text was left unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonEditError {
    /// It has comments, which many programs accept and JSON does not allow: editing around them is unsafe.
    Comment {
        /// The line of the first one.
        line: usize,
    },
    /// It is not valid JSON.
    Broken {
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// The path leads to another kind of value.
    Taken {
        /// The path to it, with dots.
        path: String,
        /// The expected kind.
        wanted: &'static str,
    },
    /// It belongs to the user, and nothing can be added to it.
    Foreign,
}

impl std::fmt::Display for JsonEditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Comment { line } => write!(f, "line {line} has a comment, which JSON does not allow"),
            Self::Broken { line, why } => write!(f, "line {line} is not valid JSON: {why}"),
            Self::Taken { path, wanted } if path.is_empty() => write!(f, "the file is not a JSON {wanted}"),
            Self::Taken { path, wanted } => write!(f, "`{path}` is not a JSON {wanted}"),
            Self::Foreign => f.write_str("it belongs to you and does not mention planwright"),
        }
    }
}

/// The text with the value inserted; `None` if it already exists.
///
/// An existing entry stays unchanged, whatever its value: it belongs to the user. `wanted` is valid JSON of our own.
pub(crate) fn insert(
    text: &str,
    path: &[&str],
    (wanted, spot): (&str, Spot),
) -> Result<Option<String>, JsonEditError> {
    let text = if text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() { "{}\n" } else { text };
    let (root, old) = sound(text)?;
    let wanted = own(wanted);
    let Some((place, rest)) = walk(&root, path, (&wanted, spot))? else { return Ok(None) };
    let layout = Layout::of(text, &root);
    let new = layout.with(place, &nested(rest, &wanted, spot));
    // Parse the result again: it must contain the old content and the value, and nothing else.
    let mut expected = old;
    put(&mut expected, path, (&plain(&wanted), spot));
    match sound(&new) {
        Ok((_, found)) if found == expected => Ok(Some(new)),
        Ok(_) | Err(_) => {
            let why = "it cannot be changed without affecting other content".to_owned();
            Err(JsonEditError::Broken { line: 1, why })
        }
    }
}

/// A value formatted as a whole file.
pub(crate) fn pretty(path: &[&str], (wanted, spot): (&str, Spot)) -> String {
    let wanted = own(wanted);
    let new = insert("{}\n", path, (&wanted.inline(quoted), spot));
    new.ok().flatten().unwrap_or_default()
}

/// The one value of a sound text.
fn sound(text: &str) -> Result<(Node, Plain), JsonEditError> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let (mut values, faults) = read(text, 0);
    if let Some(fault) = faults.first() {
        let line = line_of(fault.span.start);
        let is_comment = fault.value == "JSON has no comments";
        return Err(match is_comment {
            true => JsonEditError::Comment { line },
            false => JsonEditError::Broken { line, why: fault.value.clone() },
        });
    }
    let strict = serde_json::from_str(text.trim_start_matches('\u{feff}'));
    match (values.pop(), values.is_empty(), strict) {
        (Some(root), true, Ok(plain)) if root.is_map() => Ok((root, plain)),
        (Some(_), true, Ok(_)) => Err(JsonEditError::Taken { path: String::new(), wanted: "object" }),
        (_, _, Err(error)) => Err(JsonEditError::Broken { line: error.line(), why: error.to_string() }),
        (Some(_) | None, _, Ok(_)) => {
            Err(JsonEditError::Broken { line: 1, why: "more than one value".to_owned() })
        }
    }
}

/// The node to insert into, and the missing part of the path; `None` if nothing is missing.
fn walk<'a, 'p>(
    root: &'a Node,
    path: &'p [&'p str],
    (wanted, spot): (&Node, Spot),
) -> Result<Option<(&'a Node, &'p [&'p str])>, JsonEditError> {
    let mut node = root;
    let taken = |depth: usize, wanted| Err(JsonEditError::Taken { path: path[..depth].join("."), wanted });
    for (depth, key) in path.iter().enumerate() {
        if !node.is_map() {
            return taken(depth, "object");
        }
        let found = node.entries().iter().rev().find(|(name, _)| name.text() == Some(*key));
        match found {
            Some((_, below)) => node = below,
            None => return Ok(Some((node, &path[depth..]))),
        }
    }
    match spot {
        Spot::Key => Ok(None),
        Spot::Item if !node.is_list() => taken(path.len(), "array"),
        Spot::Item => {
            let runs = commands(wanted);
            let is_it = |item: &Node| match runs.is_empty() {
                true => plain(item) == plain(wanted),
                false => runs.iter().all(|command| commands(item).contains(command)),
            };
            Ok((!node.items().iter().any(is_it)).then_some((node, &[][..])))
        }
    }
}

/// Everything that a value runs.
fn commands(node: &Node) -> Vec<String> {
    let own = node.entries().iter().filter(|(key, _)| key.text().is_some_and(|key| RUNS.contains(&key)));
    let own = own.filter_map(|(_, value)| value.said());
    let below = node.entries().iter().map(|(_, value)| value).chain(node.items());
    own.chain(below.flat_map(commands)).collect()
}

/// What is put into the place: the value below the keys that are missing.
fn nested(rest: &[&str], wanted: &Node, spot: Spot) -> Entry {
    let value = match (spot, rest.is_empty()) {
        (Spot::Item, false) => node(Value::List(vec![wanted.clone()])),
        (Spot::Key, _) | (Spot::Item, true) => wanted.clone(),
    };
    let Some((first, below)) = rest.split_first() else { return Entry { key: None, value } };
    let value = below.iter().rev().fold(value, |value, key| {
        node(Value::Map(vec![(Node::scalar(*key, Style::DoubleQuoted, Span::at(0)), value)]))
    });
    Entry { key: Some((*first).to_owned()), value }
}

fn node(value: Value) -> Node {
    Node { span: Span::at(0), value }
}

/// Something new in a map or a list.
struct Entry {
    /// `None` in a list.
    key: Option<String>,
    value: Node,
}

/// How a text is laid out.
struct Layout<'a> {
    text: &'a str,
    unit: String,
    end: &'static str,
}

impl<'a> Layout<'a> {
    fn of(text: &'a str, root: &Node) -> Self {
        let first = root.entries().first().and_then(|(key, _)| margin(text, key.span.start));
        let unit = first.filter(|unit| !unit.is_empty()).unwrap_or(UNIT).to_owned();
        Self { text, unit, end: if text.contains("\r\n") { "\r\n" } else { "\n" } }
    }

    /// The text with an entry at the end of a map or a list.
    fn with(&self, place: &Node, entry: &Entry) -> String {
        let ends = place.entries().iter().map(|(key, value)| (key.span.start, value.span.end));
        let items = place.items().iter().map(|item| (item.span.start, item.span.end));
        let last = ends.chain(items).last();
        let (at, until, new) = match last {
            None => {
                let own = self.margin_of_line(place.span.start);
                let inner = format!("{own}{}", self.unit);
                let (open, close) = if place.is_list() { ('[', ']') } else { ('{', '}') };
                let new =
                    format!("{open}{}{inner}{}{}{own}{close}", self.end, self.entry(entry, &inner), self.end);
                (place.span.start, place.span.end, new)
            }
            Some((start, end)) => match margin(self.text, start) {
                Some(inner) => (end, end, format!(",{}{inner}{}", self.end, self.entry(entry, inner))),
                None => (end, end, format!(", {}", flat(entry))),
            },
        };
        format!("{}{new}{}", &self.text[..at], &self.text[until..])
    }

    /// The indentation of the line at an offset.
    fn margin_of_line(&self, at: usize) -> String {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let rest = self.text[line..at].trim_start_matches('\u{feff}');
        rest.chars().take_while(|sign| [' ', '\t'].contains(sign)).collect()
    }

    fn entry(&self, entry: &Entry, margin: &str) -> String {
        let key = entry.key.as_ref().map(|key| format!("{}: ", quoted(key))).unwrap_or_default();
        format!("{key}{}", self.print(&entry.value, margin))
    }

    /// A value over several lines; a list or table of plain values stays on one.
    fn print(&self, value: &Node, margin: &str) -> String {
        let inner = format!("{margin}{}", self.unit);
        let joined = |lines: Vec<String>, (open, close): (char, char)| {
            let break_in = format!(",{}{inner}", self.end);
            format!("{open}{}{inner}{}{}{margin}{close}", self.end, lines.join(&break_in), self.end)
        };
        match &value.value {
            Value::List(items) if items.iter().any(|item| item.text().is_none()) => {
                joined(items.iter().map(|item| self.print(item, &inner)).collect(), ('[', ']'))
            }
            Value::Map(entries) if !entries.is_empty() => {
                let line = |(key, value): &(Node, Node)| {
                    format!("{}: {}", quoted(key.text().unwrap_or_default()), self.print(value, &inner))
                };
                joined(entries.iter().map(line).collect(), ('{', '}'))
            }
            Value::Scalar { .. } | Value::List(_) | Value::Map(_) => value.inline(quoted),
        }
    }
}

/// The blanks before something that is first on its line; `None` if it is not first.
fn margin(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind('\n')? + 1;
    let blank = &text[line..at];
    blank.chars().all(|sign| [' ', '\t'].contains(&sign)).then_some(blank)
}

fn flat(entry: &Entry) -> String {
    let key = entry.key.as_ref().map(|key| format!("{}: ", quoted(key))).unwrap_or_default();
    format!("{key}{}", entry.value.inline(quoted))
}

fn quoted(text: &str) -> String {
    Plain::from(text).to_string()
}

/// JSON of our own.
fn own(text: &str) -> Node {
    match read(text, 0) {
        (mut values, faults) if values.len() == 1 && faults.is_empty() => values.remove(0),
        (_, faults) => panic!("planwright's own JSON is unsound: {text}: {faults:?}"),
    }
}

fn plain(node: &Node) -> Plain {
    serde_json::from_str(&node.inline(quoted)).unwrap_or(Plain::Null)
}

/// The expected result of an insertion, as data.
fn put(value: &mut Plain, path: &[&str], (wanted, spot): (&Plain, Spot)) {
    let Some((key, rest)) = path.split_first() else {
        match (spot, value) {
            (Spot::Item, Plain::Array(items)) => items.push(wanted.clone()),
            (Spot::Key | Spot::Item, value) => *value = wanted.clone(),
        }
        return;
    };
    let Plain::Object(map) = value else { return };
    let empty = match (rest.is_empty(), spot) {
        (true, Spot::Item) => Plain::Array(Vec::new()),
        (true, Spot::Key) => Plain::Null,
        (false, _) => Plain::Object(serde_json::Map::new()),
    };
    put(map.entry((*key).to_owned()).or_insert(empty), rest, (wanted, spot));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = r#"{"command": "planwright", "args": ["mcp"]}"#;
    const HOOK: &str = r#"{"hooks": [{"type": "command", "command": "planwright hook stop"}]}"#;

    fn key(text: &str) -> Result<Option<String>, JsonEditError> {
        insert(text, &["mcpServers", "planwright"], (SERVER, Spot::Key))
    }

    fn item(text: &str) -> Result<Option<String>, JsonEditError> {
        insert(text, &["hooks", "Stop"], (HOOK, Spot::Item))
    }

    #[test]
    fn a_value_goes_where_it_belongs_and_every_other_byte_stays() {
        let entry = "\"planwright\": {\n      \"command\": \"planwright\",\n      \"args\": [\"mcp\"]\n    }";
        let cases = [
            ("", format!("{{\n  \"mcpServers\": {{\n    {entry}\n  }}\n}}\n")),
            ("{}", format!("{{\n  \"mcpServers\": {{\n    {entry}\n  }}\n}}")),
            (
                "{\n  \"b\": 1,\n  \"a\": [ 1,2 ]\n}\n",
                format!("{{\n  \"b\": 1,\n  \"a\": [ 1,2 ],\n  \"mcpServers\": {{\n    {entry}\n  }}\n}}\n"),
            ),
            (
                "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n",
                format!("{{\n  \"mcpServers\": {{\n    \"x\": {{}},\n    {entry}\n  }}\n}}\n"),
            ),
            (
                "{\n  \"mcpServers\": {}\n}\n",
                format!("{{\n  \"mcpServers\": {{\n    {entry}\n  }}\n}}\n"),
            ),
            (
                "{\"mcpServers\": {\"x\": 1}}",
                "{\"mcpServers\": {\"x\": 1, \"planwright\": {\"command\": \"planwright\", \"args\": [\"mcp\"]}}}".to_owned(),
            ),
        ];
        for (old, new) in cases {
            assert_eq!(key(old), Ok(Some(new.clone())), "{old}");
            assert_eq!(key(&new), Ok(None), "the second time nothing is left to do: {new}");
        }
    }

    #[test]
    fn depth_and_line_endings_are_those_of_the_file() {
        let old = "\u{feff}{\r\n\t\"a\": {\r\n\t\t\"b\": 1\r\n\t}\r\n}\r\n";
        let new = key(old).expect("sound").expect("new");
        assert!(new.starts_with(
            "\u{feff}{\r\n\t\"a\": {\r\n\t\t\"b\": 1\r\n\t},\r\n\t\"mcpServers\": {\r\n\t\t\"planwright\""
        ));
        assert!(!new.replace("\r\n", "").contains('\n'), "{new:?}");
    }

    #[test]
    fn an_entry_that_runs_the_same_is_the_same_however_it_is_set() {
        let theirs = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "planwright hook stop", "timeout": 5}]}]}}"#;
        assert_eq!(item(theirs), Ok(None));
        let other = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}"#;
        let new = item(other).expect("sound").expect("new");
        assert!(new.contains("say done") && new.contains("planwright hook stop"), "{new}");
        assert_eq!(item(&new), Ok(None));
    }

    #[test]
    fn what_is_no_json_or_is_in_the_way_is_refused() {
        let line_of = |text: &str| key(text).expect_err("refused").to_string();
        assert_eq!(line_of("{\n  // mine\n}\n"), "line 2 has a comment, which JSON does not allow");
        assert_eq!(line_of("{\n  \"a\": 1,\n}\n"), "line 2 is not valid JSON: trailing comma");
        assert_eq!(line_of("{\"mcpServers\": 1}"), "`mcpServers` is not a JSON object");
        assert_eq!(line_of("{\"mcpServers\": null}"), "`mcpServers` is not a JSON object");
        assert_eq!(line_of("[]"), "the file is not a JSON object");
        assert!(line_of("{\"a\": -x}").contains("not valid JSON"));
        assert!(line_of("{} {}").contains("not valid JSON"));
        let in_the_way = item("{\"hooks\": {\"Stop\": {}}}").expect_err("refused");
        assert_eq!(in_the_way.to_string(), "`hooks.Stop` is not a JSON array");
        // What is there under the name is the user's, whatever it says.
        assert_eq!(key("{\"mcpServers\": {\"planwright\": false}}"), Ok(None));
    }
}
