//! Parses the brackets after the text of a step: `(tool: operation → target)`. They name the tool, its operation and
//! its target. Brackets with any other content are text.

use std::fmt;

/// The tool of a step, what it does and to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The tool: `go-easy`.
    pub tool: String,
    /// What it does; may have spaces: `gmail send`.
    pub operation: String,
    pub target: Option<String>,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}: {}", self.tool, self.operation)?;
        if let Some(target) = &self.target {
            write!(f, " → {target}")?;
        }
        f.write_str(")")
    }
}

/// What the end of a line says of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Suffix {
    Absent,
    /// `()`: there is none. It keeps brackets before it from being taken for one.
    Empty,
    Tool(Operation),
}

/// Words before a colon that start a comment and don't name a tool.
const REMARKS: &[&str] = &[
    "note", "notes", "see", "e.g.", "eg", "i.e.", "ie", "optional", "todo", "warning", "caution", "default",
    "ref", "cf", "cf.", "example", "hint", "http", "https", "aka", "was", "now",
];

/// The arrows between operation and target.
const ARROWS: &[&str] = &["→", "->", "=>", "⇒"];

/// Divides a line into its text and what its end says of a tool. A line that is nothing else keeps it as its text.
pub(super) fn divide(line: &str) -> (&str, Suffix) {
    let line = line.trim_end();
    let Some((text, inner)) = last_brackets(line) else { return (line, Suffix::Absent) };
    match read(inner) {
        Suffix::Absent => (line, Suffix::Absent),
        found @ Suffix::Tool(_) if text.is_empty() => (line, found),
        found @ (Suffix::Empty | Suffix::Tool(_)) => (text, found),
    }
}

/// The text before the brackets that end a line, and their content. A blank must precede them.
fn last_brackets(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_suffix(')')?;
    let mut depth = 1;
    for (at, character) in inner.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let text = &inner[..at];
            let is_set_off = text.is_empty() || text.ends_with([' ', '\t']);
            return is_set_off.then(|| (text.trim_end(), inner[at + 1..].trim()));
        }
    }
    None
}

fn read(inner: &str) -> Suffix {
    if inner.is_empty() {
        return Suffix::Empty;
    }
    let Some((tool, rest)) = inner.split_once(':') else { return Suffix::Absent };
    let tool = tool.trim().trim_matches('`');
    let (operation, target) = split_arrow(rest);
    let is_tool = is_name(tool) && !REMARKS.contains(&tool.to_lowercase().as_str());
    if !is_tool || operation.is_empty() || rest.starts_with(['/', ':']) {
        return Suffix::Absent;
    }
    Suffix::Tool(Operation { tool: tool.to_owned(), operation: operation.to_owned(), target })
}

fn split_arrow(text: &str) -> (&str, Option<String>) {
    let first = ARROWS.iter().filter_map(|arrow| Some((text.find(arrow)?, arrow.len()))).min();
    match first {
        Some((at, length)) => {
            let target = text[at + length..].trim();
            (text[..at].trim(), (!target.is_empty()).then(|| target.to_owned()))
        }
        None => (text.trim(), None),
    }
}

/// Whether a word can name a tool: no blanks, and of the characters that names have.
fn is_name(word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || "_-./@+".contains(character);
    word.chars().any(char::is_alphanumeric) && word.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, text: &str, tool: &str) {
        let (found, suffix) = divide(line);
        let said = match suffix {
            Suffix::Absent => "absent".to_owned(),
            Suffix::Empty => "empty".to_owned(),
            Suffix::Tool(operation) => operation.to_string(),
        };
        assert_eq!((found, said.as_str()), (text, tool), "{line}");
    }

    // C-04: operations with spaces, other arrows, targets of any form, and brackets that are not a suffix.
    #[test]
    fn the_end_of_a_line_is_data_or_text() {
        check("Send it (go-easy: gmail send)", "Send it", "(go-easy: gmail send)");
        check("Read it (odoo: read → res.partner)  ", "Read it", "(odoo: read → res.partner)");
        check("Read it (odoo: read -> a b)", "Read it", "(odoo: read → a b)");
        check("Read it (odoo:read=>x)", "Read it", "(odoo: read → x)");
        check("Read it (odoo: read →)", "Read it", "(odoo: read)");
        check("Call f(x) (py: run → f(x))", "Call f(x)", "(py: run → f(x))");
        check("(bash: run)", "(bash: run)", "(bash: run)");
        check("Look (core: read) ()", "Look (core: read)", "empty");
        check("()", "", "empty");
        check("Call main()", "Call main()", "absent");
        check("Look (see: the docs)", "Look (see: the docs)", "absent");
        check("Look (a b: c)", "Look (a b: c)", "absent");
        check("Open (https://a.b/c)", "Open (https://a.b/c)", "absent");
        check("Use (std::fs)", "Use (std::fs)", "absent");
        check("Do it (tool:)", "Do it (tool:)", "absent");
        check("Do it (tool: x", "Do it (tool: x", "absent");
        check("Do it tool: x)", "Do it tool: x)", "absent");
        check(")", ")", "absent");
        check("", "", "absent");
    }
}
