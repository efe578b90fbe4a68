//! Rust text taken apart just far enough to tell code from comments, strings and tests. It is no parser: names are words.

/// One line of a Rust file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code; what stood in comments and literals is blanked out.
    pub(crate) code: String,
    /// The comments, with their slashes.
    pub(crate) comment: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

/// Splits `text` into lines of code and comment.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut at = 0;
    while at < chars.len() {
        let line = lines.last_mut().expect("there is always a line");
        if chars[at] == '\n' {
            if state == State::LineComment {
                state = State::Code;
            }
            lines.push(Line::default());
            at += 1;
            continue;
        }
        let (next, width) = step(state, &chars[at..], line.code.chars().last());
        let piece = chars[at..].iter().take(width).filter(|c| **c != '\n');
        match (state, next) {
            (State::LineComment | State::BlockComment { .. }, _)
            | (State::Code, State::LineComment | State::BlockComment { .. }) => line.comment.extend(piece),
            // A literal of characters is one step, and blank like the inside of a text.
            (State::Code, State::Code) if chars[at] == '\'' && width > 1 => line.code.push_str("''"),
            (State::Code, State::Code) => line.code.extend(piece),
            (State::Code, State::Text | State::RawText { .. })
            | (State::Text | State::RawText { .. }, State::Code) => line.code.push('"'),
            (State::Text | State::RawText { .. }, _) => {}
        }
        if state == State::Text && chars[at] == '\\' && chars.get(at + 1) == Some(&'\n') {
            lines.push(Line::default());
        }
        state = next;
        at += width;
    }
    lines
}

/// The state after the next piece of `rest`, and how many characters that piece has.
fn step(state: State, rest: &[char], before: Option<char>) -> (State, usize) {
    let starts = |text: &str| text.chars().zip(rest).filter(|(a, b)| a == *b).count() == text.chars().count();
    match state {
        // Most of a file goes this way; without it the checks take three times as long.
        State::Code if !matches!(rest[0], '/' | '"' | 'r' | '\'') => (State::Code, 1),
        State::Code if starts("//") => (State::LineComment, 2),
        State::Code if starts("/*") => (State::BlockComment { depth: 1 }, 2),
        State::Code if starts("\"") => (State::Text, 1),
        State::Code if starts("r") && !before.is_some_and(|c| is_word(c) && c != 'b' && c != 'c') => {
            let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
            if rest.get(1 + hashes) == Some(&'"') {
                (State::RawText { hashes }, 2 + hashes)
            } else {
                (State::Code, 1)
            }
        }
        State::Code if starts("'\\") => {
            let end = rest.iter().skip(3).position(|c| *c == '\'').map_or(rest.len(), |end| end + 4);
            (State::Code, end)
        }
        // Three characters with a quote at both ends are a literal; else it is a lifetime.
        State::Code if starts("'") && rest.get(2) == Some(&'\'') => (State::Code, 3),
        State::Code => (State::Code, 1),
        State::LineComment => (State::LineComment, 1),
        State::BlockComment { depth } if starts("/*") => (State::BlockComment { depth: depth + 1 }, 2),
        State::BlockComment { depth: 1 } if starts("*/") => (State::Code, 2),
        State::BlockComment { depth } if starts("*/") => (State::BlockComment { depth: depth - 1 }, 2),
        State::BlockComment { depth } => (State::BlockComment { depth }, 1),
        State::Text if starts("\\") => (State::Text, 2.min(rest.len())),
        State::Text if starts("\"") => (State::Code, 1),
        State::Text => (State::Text, 1),
        State::RawText { hashes } => {
            let closes = starts("\"") && rest.len() > hashes && rest[1..=hashes].iter().all(|c| *c == '#');
            if closes { (State::Code, 1 + hashes) } else { (State::RawText { hashes }, 1) }
        }
    }
}

/// The same lines with the inside of every `#[cfg(test)] mod … { … }` blanked out.
pub(crate) fn without_tests(mut lines: Vec<Line>) -> Vec<Line> {
    let is_test = lines_in_tests(&lines);
    for (line, is_test) in lines.iter_mut().zip(is_test) {
        if is_test {
            *line = Line::default();
        }
    }
    lines
}

/// For each line, whether it belongs to a `#[cfg(test)]` module.
pub(crate) fn lines_in_tests(lines: &[Line]) -> Vec<bool> {
    let mut is_test = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        if !lines[at].code.contains("#[cfg(test)]") {
            at += 1;
            continue;
        }
        let mut depth = 0_usize;
        let mut was_open = false;
        while at < lines.len() {
            is_test[at] = true;
            for c in lines[at].code.chars() {
                match c {
                    '{' => (depth, was_open) = (depth + 1, true),
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            let is_item_without_body = !was_open && lines[at].code.trim_end().ends_with(';');
            at += 1;
            if (was_open && depth == 0) || is_item_without_body {
                break;
            }
        }
    }
    is_test
}

/// Every path in the code that starts with `head::`, groups spelt out, with its line from 1: `std::{fs, io::Read}` with
/// the head `std` gives `fs` and `io::Read`.
pub(crate) fn paths(lines: &[Line], head: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        for at in words(&line.code, head) {
            let Some(rest) = line.code[at + head.len()..].trim_start().strip_prefix("::") else { continue };
            // A group may go on for some lines; an import ends at the first semicolon.
            let mut tree = rest.to_owned();
            for more in lines[index + 1..].iter().take(if rest.contains(';') { 0 } else { 60 }) {
                tree.push(' ');
                tree.push_str(&more.code);
                if more.code.contains(';') {
                    break;
                }
            }
            expand(&tree, "", &mut |path| found.push((index + 1, path)));
        }
    }
    found
}

/// Hands each path of the import tree at the start of `tree` to `found`; returns what follows the tree.
fn expand<'a>(tree: &'a str, prefix: &str, found: &mut dyn FnMut(String)) -> &'a str {
    let tree = tree.trim_start();
    if let Some(mut rest) = tree.strip_prefix('{') {
        loop {
            rest = expand(rest, prefix, found).trim_start();
            match rest.strip_prefix(',').map(str::trim_start) {
                Some(after) if after.starts_with('}') => return &after[1..],
                Some(after) => rest = after,
                None => return rest.strip_prefix('}').unwrap_or(rest),
            }
        }
    }
    let end = tree.find(|c| !is_word(c)).unwrap_or(tree.len());
    let path = if prefix.is_empty() { tree[..end].to_owned() } else { format!("{prefix}::{}", &tree[..end]) };
    if let Some(rest) = tree[end..].strip_prefix("::") {
        return expand(rest, &path, found);
    }
    found(path);
    // `as name` belongs to the path before it.
    let rest = tree[end..].trim_start();
    rest.strip_prefix("as ").map_or(rest, |rest| rest.trim_start().trim_start_matches(is_word))
}

/// Where `word` stands in `text` as a whole word.
pub(crate) fn words(text: &str, word: &str) -> Vec<usize> {
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| !text[..*at].chars().next_back().is_some_and(is_word))
        .filter(|at| !text[at + word.len()..].chars().next().is_some_and(is_word))
        .collect()
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{lines, lines_in_tests, paths, words};

    #[test]
    fn code_comments_and_literals_are_told_apart() {
        let text = "let a = \"// no \\\" comment\"; // yes\nlet r = r#\"fs \" /*\"#; /* in /* deep */ side */ let c = '\"'; let l: &'a str;\n";
        let split = lines(text);
        assert_eq!(split[0].code, "let a = \"\"; ");
        assert_eq!(split[0].comment, "// yes");
        assert_eq!(split[1].code, "let r = \"\";  let c = ''; let l: &'a str;");
        assert_eq!(split[1].comment, "/* in /* deep */ side */");
    }

    #[test]
    fn a_text_over_many_lines_keeps_the_line_numbers() {
        let split = lines("let a = \"one\n two \\\n three\";\nlet b = '\\n';\ndbg");
        assert_eq!(split.len(), 5);
        assert_eq!(split[3].code, "let b = '';");
        assert_eq!(split[4].code, "dbg");
    }

    #[test]
    fn a_test_module_ends_at_its_brace() {
        let split = lines(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nmod more;\nfn d() {}",
        );
        assert_eq!(lines_in_tests(&split), [false, true, true, true, true, false, true, true, false]);
    }

    #[test]
    fn grouped_imports_are_spelt_out() {
        let split = lines(
            "use std::{\n    env as e,\n    io::{self, Read},\n    fs,\n};\nlet x = std::process::id();",
        );
        let found: Vec<String> =
            paths(&split, "std").into_iter().map(|(line, path)| format!("{line} {path}")).collect();
        assert_eq!(found, ["1 env", "1 io::self", "1 io::Read", "1 fs", "6 process::id"]);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("Instant InstantNoodle an_Instant", "Instant"), [0]);
    }
}
