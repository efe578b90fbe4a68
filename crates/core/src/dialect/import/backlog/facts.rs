//! Parses the frontmatter of a task file: keys with one or several values. If it is not valid YAML, as with a colon in
//! a title, it is parsed line by line.

use crate::dialect::frontmatter;
use crate::dialect::import::json_task;
use crate::plan::draft::ParseIssue;
use crate::syntax::source::{Source, Span, Spanned};
use crate::syntax::tree::{Node, Value};
use crate::syntax::yaml;
use crate::syntax::yaml::FaultKind;

/// Keys and their values, in file order.
#[derive(Debug, Default)]
pub(super) struct BacklogFacts(Vec<(String, Vec<Spanned<String>>)>);

impl BacklogFacts {
    /// Every value of a key.
    pub(super) fn all(&self, key: &str) -> &[Spanned<String>] {
        self.0.iter().find(|(name, _)| name == key).map(|(_, values)| values.as_slice()).unwrap_or_default()
    }

    /// The value of a key that has one.
    pub(super) fn one(&self, key: &str) -> Option<&Spanned<String>> {
        self.all(key).first()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// A key and its values as a line to read: `Labels: cli, tui`.
    pub(super) fn told(&self, key: &str) -> Option<String> {
        let values: Vec<&str> = self.all(key).iter().map(|value| value.value.as_str()).collect();
        (!values.is_empty()).then(|| format!("{}: {}", json_task::label(key), values.join(", ")))
    }
}

/// Reads the frontmatter of the file at `part`.
pub(super) fn read(source: &Source, part: Span) -> (BacklogFacts, Vec<Spanned<ParseIssue>>) {
    let parts = frontmatter::split_part(source, part);
    let Some(span) = parts.yaml else { return (BacklogFacts::default(), Vec::new()) };
    let text = source.slice(span);
    let (root, faults) = yaml::read(text, span.start);
    let broken = faults.iter().find_map(|fault| match &fault.kind {
        FaultKind::Syntax(why) => Some((why.clone(), fault.span)),
        FaultKind::TooDeep | FaultKind::TooManyNodes => {
            Some(("too long or too deeply nested".to_owned(), fault.span))
        }
        FaultKind::DuplicateKey { .. }
        | FaultKind::Anchor
        | FaultKind::Alias
        | FaultKind::Tag
        | FaultKind::MergeKey
        | FaultKind::SecondDocument => None,
    });
    match (broken, root) {
        (None, Some(root)) if root.is_map() => {
            (BacklogFacts(root.entries().iter().filter_map(fact).collect()), Vec::new())
        }
        (None, _) => (line_by_line(text, span.start), Vec::new()),
        (Some((why, at)), _) => {
            let why = format!("the frontmatter is not valid YAML and was read line by line: {why}");
            (line_by_line(text, span.start), vec![Spanned::new(ParseIssue::Unreadable(why), at)])
        }
    }
}

fn fact((key, value): &(Node, Node)) -> Option<(String, Vec<Spanned<String>>)> {
    Some((key.text()?.to_owned(), texts(value)))
}

/// Every text in a value, however it is nested.
fn texts(node: &Node) -> Vec<Spanned<String>> {
    match &node.value {
        Value::Scalar { text, .. } => unblank(text, node.span).into_iter().collect(),
        Value::List(items) => items.iter().flat_map(texts).collect(),
        Value::Map(entries) => {
            entries.iter().flat_map(|(key, value)| [texts(key), texts(value)].concat()).collect()
        }
    }
}

fn unblank(text: &str, span: Span) -> Option<Spanned<String>> {
    (!text.trim().is_empty()).then(|| Spanned::new(text.trim().to_owned(), span))
}

/// `key: value` lines, `[a, b]` lists and `- item` lines below a key.
fn line_by_line(text: &str, offset: usize) -> BacklogFacts {
    let mut facts = BacklogFacts::default();
    let mut at = offset;
    for line in text.split_inclusive('\n') {
        let span = Span::new(at, at + line.trim_end().len());
        at += line.len();
        let bare = line.trim();
        let item = bare.strip_prefix("- ").filter(|_| line.starts_with([' ', '\t', '-']));
        match (item, line.split_once(':'), facts.0.last_mut()) {
            (Some(item), _, Some((_, values))) => values.extend(unquoted(item, span)),
            (None, Some((key, value)), _) if is_key(key) => {
                let value = value.trim();
                let list = value.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
                let values = match list {
                    Some(list) => list.split(',').filter_map(|item| unquoted(item, span)).collect(),
                    None => unquoted(value, span).filter(|value| value.value != ">-").into_iter().collect(),
                };
                facts.0.push((key.to_owned(), values));
            }
            // A long value continues on the next line.
            (None, _, Some((_, values))) if line.starts_with([' ', '\t']) => match values.last_mut() {
                Some(value) => value.value = format!("{} {bare}", value.value),
                None => values.extend(unquoted(bare, span)),
            },
            (_, _, _) => {}
        }
    }
    facts
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn unquoted(text: &str, span: Span) -> Option<Spanned<String>> {
    let bare = text.trim();
    let inner =
        ['"', '\''].iter().find_map(|&quote| bare.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(bare);
    (!inner.is_empty()).then(|| Spanned::new(inner.to_owned(), span))
}
