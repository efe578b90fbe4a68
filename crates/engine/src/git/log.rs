//! Commits, their order and their changes. Read through a git directory of ours, which has no configuration
//! that could start anything.

use std::path::Path;

use super::base::{Base, Error, Home, name_of, seen_from};
use super::checkout::ask_apart;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCommit {
    /// The full hash.
    pub id: String,
    /// The commit's own time, in milliseconds since 1970.
    pub at_ms: u64,
    pub subject: String,
}

/// The commit that a name means here: `HEAD~2`, a branch, a tag, the start of a hash.
pub fn named(root: &Path, name: &str) -> Result<Base, Error> {
    let home = Home::must(root)?;
    let resolved = |what: &str| -> Result<String, Error> {
        let full = format!("{name}^{{{what}}}");
        let words = ["rev-parse", "--quiet", "--verify", "--end-of-options", &full];
        let answer = home.repository.ask(&words)?;
        match answer.code {
            Some(0) => Ok(answer.text()),
            Some(_) | None => Err(Error::NoCommit { commit: name.to_owned() }),
        }
    };
    Ok(Base { commit: resolved("commit")?, tree: resolved("tree")?, branch: None })
}

/// The commits from `tip` along the first parents that are not older than `since_ms`, oldest first, up to a
/// limit.
pub fn commits_since(
    root: &Path,
    tip: &str,
    since_ms: u64,
    count_max: usize,
) -> Result<Vec<LogCommit>, Error> {
    // Commit times need not be in order, so git must not stop at the first old one.
    let count = format!("--max-count={count_max}");
    let words = ["rev-list", "--first-parent", &count, "--no-commit-header", "--format=%H %ct %s", tip];
    let text = ask_apart(root, tip, "list commits", &words)?.0.text();
    let mut commits: Vec<LogCommit> = text.lines().filter_map(commit).collect();
    commits.retain(|commit| commit.at_ms + 999 >= since_ms);
    commits.reverse();
    Ok(commits)
}

/// The paths that a commit changed against its first parent, relative to the top of the repository.
pub fn changed_by(root: &Path, commit: &str) -> Result<Vec<String>, Error> {
    let words = [
        "diff-tree",
        "-r",
        "-z",
        "--root",
        "--no-commit-id",
        "--no-renames",
        "--name-only",
        "--no-ext-diff",
        commit,
    ];
    let (answer, part) = ask_apart(root, commit, "list the changes of a commit", &words)?;
    let paths = answer.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| seen_from(&part, &String::from_utf8_lossy(path))).collect())
}

fn commit(line: &str) -> Option<LogCommit> {
    let mut words = line.splitn(3, ' ');
    let id = name_of(words.next()?).ok()?.to_owned();
    let seconds: u64 = words.next()?.parse().ok()?;
    let subject = words.next().unwrap_or_default().to_owned();
    Some(LogCommit { id, at_ms: seconds.saturating_mul(1000), subject })
}
