//! The files of the repository and the faults found in them. Reads the disk once for each test; judges nothing.
#![expect(clippy::disallowed_methods, reason = "these checks are about the files of the repository itself")]

use std::fmt;
use std::fs;
use std::path::Path;

/// One file, named from the root of the repository with `/` between the parts.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) path: String,
    /// Empty for a file that is not UTF-8: such a file exists, and has no lines to judge.
    pub(crate) text: String,
}

impl File {
    /// A file that exists in memory only.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "md")
    }

    /// Lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether the file is Rust under `crates/<name>/src`; `name` may be `*`.
    pub(crate) fn is_source_of(&self, name: &str) -> bool {
        let mut parts = self.path.split('/');
        parts.next() == Some("crates")
            && parts.next().is_some_and(|part| name == "*" || part == name)
            && parts.next() == Some("src")
            && self.is_rust()
    }

    /// Whether a source file is the test module of its parent; layout.rs holds that such a file is declared for tests only.
    pub(crate) fn is_test_module(&self) -> bool {
        self.is_source_of("*") && self.path.ends_with("/tests.rs")
    }
}

/// One broken rule at one place.
#[derive(Debug)]
pub(crate) struct Fault {
    path: String,
    line: usize,
    message: String,
}

impl Fault {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Fails with one line for each fault.
#[track_caller]
pub(crate) fn assert_none(faults: &[Fault]) {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{} fault(s):\n{}", faults.len(), lines.join("\n"));
}

/// Fails unless there is exactly one fault and its line holds `expected`.
#[track_caller]
pub(crate) fn assert_caught(faults: &[Fault], expected: &str) {
    let [fault] = faults else { panic!("expected one fault with `{expected}`, got {faults:#?}") };
    let line = fault.to_string();
    assert!(line.contains(expected), "expected `{expected}` in `{line}`");
}

/// All files of the repository except those that `.gitignore` leaves out, in order of their paths.
pub(crate) fn repository() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ignored = fs::read_to_string(root.join(".gitignore")).expect("the repository has a .gitignore");
    let ignored: Vec<&str> = ignored.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).expect("a folder that was listed can be read") {
            let entry = entry.expect("an entry of a folder can be read");
            let name = entry.file_name().into_string().expect("file names are UTF-8");
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            // In a linked worktree `.git` is a file.
            if path == ".git" || ignored.iter().any(|pattern| is_ignored(&path, pattern)) {
                continue;
            }
            let kind = entry.file_type().expect("the kind of an entry can be read");
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).expect("a file that was listed can be read");
                files.push(File { path, text: String::from_utf8(bytes).unwrap_or_default() });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(files.iter().any(|file| file.path == "Cargo.toml"), "the walk did not start at the root");
    files
}

/// The two forms of pattern that our `.gitignore` uses: `/folder/` from the root, and `*.ending` anywhere.
fn is_ignored(path: &str, pattern: &str) -> bool {
    if pattern.starts_with('#') {
        return false;
    }
    match (pattern.strip_prefix('/'), pattern.strip_prefix('*')) {
        (Some(rooted), _) => path == rooted.trim_end_matches('/'),
        (None, Some(ending)) => path.ends_with(ending),
        (None, None) => {
            panic!(".gitignore: `{pattern}` is neither `/path` nor `*.ending`; teach tidy/tree.rs to read it")
        }
    }
}

#[test]
fn what_git_ignores_is_left_out() {
    assert!(is_ignored("target", "/target/"));
    assert!(is_ignored("crates/core/x.snap.new", "*.snap.new"));
    assert!(!is_ignored("crates/target", "/target/"));
    assert!(!is_ignored("target", "# /target/"));
}
