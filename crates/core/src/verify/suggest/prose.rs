//! Finds checkable statements in the text of a step. Prose is never taken for a command: only text in backticks is.

use std::collections::BTreeSet;

use super::allowlist;

/// Words before a file name that mean it is created.
const MAKES: &[&str] = &[
    "create",
    "creates",
    "created",
    "add",
    "adds",
    "added",
    "write",
    "writes",
    "written",
    "make",
    "makes",
    "new",
    "generate",
    "generates",
    "produce",
    "produces",
    "save",
    "saves",
];
/// Words after a file name that mean it is created.
const EXISTS: &[&str] =
    &["exists", "exist", "is created", "is present", "is written", "is generated", "has been created"];

/// The text in backticks outside of blocks of code, with the text before and after it.
fn quoted(text: &str) -> Vec<(&str, &str, &str)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        let mut rest = line;
        while let Some((before, inner)) = rest.split_once('`').filter(|_| !is_code) {
            let Some((quote, behind)) = inner.split_once('`') else { break };
            if !quote.trim().is_empty() {
                found.push((before, quote.trim(), behind));
            }
            rest = behind;
        }
    }
    found
}

/// The commands that a text names.
pub(super) fn commands(text: &str) -> Vec<String> {
    let named = quoted(text).into_iter().filter(|(before, command, _)| {
        // `do not run …`, `instead of …`
        let warns = before.trim_end().to_lowercase();
        let is_warned = ["not", "never", "don't", "instead of", "without", "avoid"].iter().any(|word| {
            warns.ends_with(word)
                || warns.ends_with(&format!("{word} run"))
                || warns.ends_with(&format!("{word} use"))
        });
        !is_warned
            && command.contains(' ') | ["pytest", "tox", "nox"].contains(command)
            && allowlist::is_harmless(command)
    });
    named.map(|(_, command, _)| command.to_owned()).collect()
}

/// The files that a text says are created.
pub(super) fn made_files(text: &str) -> BTreeSet<String> {
    let made = quoted(text).into_iter().filter(|(before, path, behind)| {
        let words: Vec<String> = before
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
            .collect();
        // The verb is right before the name, with a few small words between: "create the new file `a.rs`".
        let is_made = words.iter().rev().take(4).any(|word| MAKES.contains(&word.as_str()))
            && !words.iter().rev().take(4).any(|word| {
                ["to", "in", "into", "from", "under", "of", "for", "not"].contains(&word.as_str())
            });
        let behind = behind.trim_start().to_lowercase();
        is_file(path) && (is_made || EXISTS.iter().any(|word| behind.starts_with(word)))
    });
    made.map(|(_, path, _)| path.trim_start_matches("./").to_owned()).collect()
}

/// Whether a text is the path of a project file that needs no quotes in a shell.
fn is_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=8).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
    });
    let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    // `foo.bar` may be a field of something; without a directory, only a known extension makes it a file.
    let is_named = path.contains('/') || ENDINGS.iter().any(|ending| name.ends_with(ending));
    is_plain
        && has_extension
        && is_named
        && !path.starts_with(['/', '-'])
        && !path.split('/').any(|part| part == "..")
}

const ENDINGS: &[&str] = &[
    ".md", ".rs", ".py", ".ts", ".tsx", ".js", ".jsx", ".go", ".java", ".rb", ".sh", ".json", ".yaml",
    ".yml", ".toml", ".sql", ".html", ".css", ".txt", ".c", ".h", ".cpp", ".cs", ".swift", ".kt", ".lua",
    ".proto", ".csv", ".tf",
];

/// Whether a text says that tests must pass.
pub(super) fn says_tests(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "tests pass",
        "test passes",
        "tests are green",
        "test suite",
        "all tests",
        "unit tests",
        "tests for",
        "covered by tests",
        "tests cover",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// Whether a text says that the project must build.
pub(super) fn says_build(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "typecheck passes",
        "type check passes",
        "it builds",
        "builds without",
        "build passes",
        "build succeeds",
        "compiles",
    ]
    .iter()
    .any(|words| text.contains(words))
}
