//! The YAML block at the top of a plan: finds it, parses it, and replaces values in it. Never looks at the text after
//! it.

use crate::plan::draft::{Frontmatter, FrontmatterEntry, Layout, ParseIssue};
use crate::syntax::source::{Edit, Source, Span, Spanned};
use crate::syntax::tree;
use crate::syntax::tree::{Node, Style, Value};
use crate::syntax::yaml;
use crate::syntax::yaml::FaultKind;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Where the parts of a file are.
#[derive(Debug, Clone, Copy)]
pub struct FrontmatterParts {
    /// The block with its fences.
    pub block: Option<Span>,
    /// The lines between the fences.
    pub yaml: Option<Span>,
    /// Whether the block is never closed.
    pub is_unclosed: bool,
    /// Where the text after the block starts.
    pub body: usize,
}

/// Finds the block. It starts at the first line that is not blank, and that line is `---`.
pub fn split(text: &str) -> FrontmatterParts {
    let start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let none = FrontmatterParts { block: None, yaml: None, is_unclosed: false, body: start };
    let mut at = start;
    let mut opened: Option<(usize, usize)> = None;
    for line in text[start..].split_inclusive('\n') {
        let end = at + line.len();
        match (opened, line.trim_end()) {
            (None, "") => {}
            (None, "---") => opened = Some((at, end)),
            (None, _) => return none,
            (Some((open, inner)), "---" | "...") => {
                return FrontmatterParts {
                    block: Some(Span::new(open, end)),
                    yaml: Some(Span::new(inner, at)),
                    is_unclosed: false,
                    body: end,
                };
            }
            (Some(_), _) => {}
        }
        at = end;
    }
    match opened {
        // An unclosed block would swallow the plan, and the steps are worth more than the keys.
        Some((open, inner)) => FrontmatterParts {
            block: Some(Span::new(open, inner)),
            yaml: None,
            is_unclosed: true,
            body: inner,
        },
        None => none,
    }
}

/// The lines between the fences, as far as the start of a file has them.
pub(super) fn glimpse(head: &str) -> &str {
    let parts = split(head);
    let cut = if parts.is_unclosed { &head[parts.body..] } else { "" };
    parts.yaml.map_or(cut, |yaml| &head[yaml.start..yaml.end])
}

/// Finds the block of one file of a directory.
pub fn split_part(source: &Source, part: Span) -> FrontmatterParts {
    let parts = split(source.slice(part));
    let shifted = |span: Option<Span>| span.map(|span| span.shifted(part.start));
    FrontmatterParts {
        block: shifted(parts.block),
        yaml: shifted(parts.yaml),
        body: parts.body + part.start,
        ..parts
    }
}

/// Parses the keys and reports irregularities.
pub fn read(source: &Source, parts: &FrontmatterParts) -> (Frontmatter, Vec<Spanned<ParseIssue>>) {
    let (entries, oddities) = nodes(source, parts);
    let entries = entries.into_iter().filter_map(entry).collect();
    (Frontmatter { block: Layout(parts.block), entries }, oddities)
}

/// Parses the keys with everything below them, and reports irregularities.
pub(crate) fn nodes(
    source: &Source,
    parts: &FrontmatterParts,
) -> (Vec<(Node, Node)>, Vec<Spanned<ParseIssue>>) {
    let mut oddities = Vec::new();
    if parts.is_unclosed
        && let Some(block) = parts.block
    {
        let why = "the frontmatter has no closing `---` line".to_owned();
        oddities.push(Spanned::new(ParseIssue::Frontmatter(why), source.line_at(block.start)));
    }
    let Some(span) = parts.yaml else { return (Vec::new(), oddities) };
    let (root, faults) = yaml::read(source.slice(span), span.start);
    oddities.extend(faults.into_iter().map(|fault| Spanned::new(oddity(fault.kind), fault.span)));
    let entries = match root {
        Some(Node { value: Value::Map(entries), .. }) => entries,
        Some(node) if node.text() != Some("") => {
            let why = "the frontmatter is not a list of `key: value` lines".to_owned();
            oddities.push(Spanned::new(ParseIssue::Frontmatter(why), node.span));
            Vec::new()
        }
        Some(_) | None => Vec::new(),
    };
    (entries, oddities)
}

/// The list of a key, inline or one item per line; a single value is a list of one.
pub fn list(source: &Source, parts: &FrontmatterParts, key: &str) -> Vec<Spanned<String>> {
    let (entries, _) = nodes(source, parts);
    let Some(node) = tree::first(&entries, key) else { return Vec::new() };
    node.each().iter().filter_map(Node::spanned).filter(|item| !item.value.is_empty()).collect()
}

/// The lines for the non-empty lists.
pub fn lists(lists: &[(&str, &[Spanned<String>])]) -> String {
    let lists = lists.iter().filter(|(_, items)| !items.is_empty());
    let lines = lists.map(|(key, items)| {
        let items: Vec<String> = items.iter().map(|item| yaml::quote(&item.value)).collect();
        format!("{key}: [{}]\n", items.join(", "))
    });
    lines.collect()
}

fn entry((key, value): (Node, Node)) -> Option<FrontmatterEntry> {
    let is_block = matches!(value.value, Value::Scalar { style: Style::Block, .. });
    Some(FrontmatterEntry { key: key.spanned()?, value: value.spanned().filter(|_| !is_block) })
}

fn oddity(kind: FaultKind) -> ParseIssue {
    let why = match kind {
        FaultKind::DuplicateKey { key, first } => return ParseIssue::DuplicateKey { key, first },
        FaultKind::Syntax(message) => format!("the frontmatter is not valid YAML: {message}"),
        FaultKind::Anchor => "anchors (`&name`) are not allowed in frontmatter".to_owned(),
        FaultKind::Alias => "aliases (`*name`) are not allowed in frontmatter".to_owned(),
        FaultKind::Tag => "tags (`!name`) are not allowed in frontmatter".to_owned(),
        FaultKind::MergeKey => "merge keys (`<<`) are not allowed in frontmatter".to_owned(),
        FaultKind::SecondDocument => "the frontmatter has a second YAML document".to_owned(),
        FaultKind::TooDeep => format!("the frontmatter is nested deeper than {} levels", yaml::DEPTH_MAX),
        FaultKind::TooManyNodes => format!("the frontmatter has more than {} values", yaml::NODES_MAX),
    };
    ParseIssue::Frontmatter(why)
}

/// The edit that sets `key` to `value`; `None` if the present value is not plain text on one line.
pub fn set(source: &Source, key: &str, value: &str) -> Option<Edit> {
    set_part(source, source.parts()[0].span, key, value)
}

/// The edit that sets `key` to `value` in one file of a directory.
pub fn set_part(source: &Source, part: Span, key: &str, value: &str) -> Option<Edit> {
    let parts = split_part(source, part);
    let (frontmatter, _) = read(source, &parts);
    let newline = source.line_ending_in(part);
    let quoted = yaml::quote(value);
    let Some(block) = parts.yaml else {
        let text = format!("---{newline}{}: {quoted}{newline}---{newline}", yaml::quote(key));
        return (!parts.is_unclosed).then(|| Edit::insert(parts.body, text));
    };
    let Some(entry) = frontmatter.entry(key) else {
        return Some(Edit::insert(block.end, format!("{}: {quoted}{newline}", yaml::quote(key))));
    };
    set_value(source, entry, &quoted)
}

/// The edit that sets the value of a present key; `None` if it is not plain text on one line.
pub(super) fn set_value(source: &Source, entry: &FrontmatterEntry, spelled: &str) -> Option<Edit> {
    let present = entry.value.as_ref()?.span;
    // `key:` has no value to replace: insert it after the colon, whatever blanks or comment follow.
    Some(match present.is_empty() {
        true => Edit::insert(colon_end(source, entry)?, format!(" {spelled}")),
        false => Edit::replace(present, spelled),
    })
}

/// Where the colon of a key ends.
pub(super) fn colon_end(source: &Source, entry: &FrontmatterEntry) -> Option<usize> {
    let end = entry.key.span.end;
    Some(end + source.text()[end..].find(':')? + 1)
}

/// The text of a YAML file of keys with `key` set to `value`; everything else in it stays. `None` if the present value
/// is not plain text on one line.
pub fn set_in_yaml(yaml: &str, key: &str, value: &str) -> Option<String> {
    const FENCE: &str = "---\n";
    let start = if yaml.starts_with(FENCE) { "" } else { FENCE };
    let end = if yaml.is_empty() || yaml.ends_with('\n') { "" } else { "\n" };
    let fenced = Source::new("keys", format!("{start}{yaml}{end}{FENCE}"));
    let set = fenced.edited(&[set(&fenced, key, value)?]);
    Some(set.text()[start.len()..].strip_suffix(FENCE)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_a_yaml_file_is_set_and_nothing_else() {
        let old = "# the task\ntask: Add \"it\"   # why\nplanId: p-1\nother: [1, 2]";
        let new =
            set_in_yaml(old, "planId", "p-1-v2").and_then(|text| set_in_yaml(&text, "status", "in progress"));
        assert_eq!(
            new.as_deref(),
            Some(
                "# the task\ntask: Add \"it\"   # why\nplanId: p-1-v2\nother: [1, 2]\nstatus: in progress\n"
            )
        );
        assert_eq!(set_in_yaml("", "task", "a: b").as_deref(), Some("task: \"a: b\"\n"));
        assert_eq!(set_in_yaml("---\na: 1\n", "a", "2").as_deref(), Some("---\na: \"2\"\n"));
        assert_eq!(set_in_yaml("a:\n  b: 1\n", "a", "2"), None);
    }
}
