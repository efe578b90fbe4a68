//! The git merge driver: reads three files and writes the result over ours; also registers it in a
//! repository. `planwright_core::merge` decides the result.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::dialect::merge;
use planwright_core::dialect::merge::{Markers, MergedText};
use planwright_core::syntax::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::store::{plan_file, state_dir};
use crate::system::process;
use crate::system::process::Repository;

/// The files that are merged by meaning, as `.gitattributes` patterns.
pub const PATTERNS: &[&str] = &[
    "plans/**/*.md",
    "PLAN*.md",
    "progress*.md",
    ".pi/plans/*.md",
    ".pi/plans/sessions/*.jsonl",
    ".rawko/plans/*.yaml",
    ".rawko/plans/*.json",
];

const ATTRIBUTE: &str = "merge=planwright";
/// Git's configuration of the driver.
const CONFIGURATION: &[(&str, &str)] = &[
    ("merge.planwright.name", "plans and progress files, by what they say"),
    ("merge.planwright.driver", "planwright merge-driver %O %A %B %L %P"),
];

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error(transparent)]
    State(#[from] state_dir::Error),
    #[error(transparent)]
    Git(#[from] process::Error),
    #[error("{} is not in a git repository", root.display())]
    NoRepository { root: PathBuf },
    #[error("cannot set {key} in the git configuration")]
    Refused { key: &'static str },
}

/// The files of one merge, as git passes them.
#[derive(Debug, Clone, Copy)]
pub struct MergeFiles<'a> {
    /// The common ancestor.
    pub base: &'a Path,
    /// Our version; the result is written over it.
    pub ours: &'a Path,
    pub theirs: &'a Path,
    /// The path in the repository.
    pub place: &'a str,
}

/// What came of a merge.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MergedFile {
    pub path: String,
    /// How many conflicts are in it.
    pub conflicts: usize,
}

/// Merges three files and writes the result over ours.
pub fn drive(files: &MergeFiles<'_>, marker_size: usize) -> Result<MergedFile, Error> {
    let read =
        |path: &Path| std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source });
    let texts = [read(files.base)?, read(files.ours)?, read(files.theirs)?].map(String::from_utf8);
    let [Ok(base), Ok(ours), Ok(theirs)] = texts else {
        // Git can merge what we cannot read, and leaves binary files alone.
        let conflicts = by_git(files, marker_size)?;
        return Ok(MergedFile { path: files.place.to_owned(), conflicts });
    };
    let markers = Markers { size: marker_size, ..Markers::default() };
    let merged = marked([&base, &ours, &theirs], files.place, &markers);
    plan_file::fill_in(files.ours, &merged.text)?;
    Ok(MergedFile { path: files.place.to_owned(), conflicts: merged.conflicts })
}

/// Merges three versions of a file by meaning: base, ours, theirs. `place` is its path in the repository.
pub fn texts(versions: [&str; 3], place: &str) -> MergedText {
    marked(versions, place, &Markers::default())
}

fn marked([base, ours, theirs]: [&str; 3], place: &str, markers: &Markers<'_>) -> MergedText {
    if only_grows(place) {
        return MergedText { text: merge::merge_appended(base, ours, theirs), conflicts: 0 };
    }
    let source = |text: &str| Source::new(place, text).recognised(None);
    // Ours decides the dialect: a plan that both sides created has no base.
    let ours = source(ours);
    let [base, theirs] = [base, theirs].map(|text| ours.with(text));
    merge::merge_marked([&base, &ours, &theirs], markers)
}

/// Whether a file is append-only.
fn only_grows(place: &str) -> bool {
    let name = place.rsplit('/').next().unwrap_or(place);
    let is_progress = name.starts_with("progress") && Path::new(name).extension() == Some(OsStr::new("md"));
    is_progress || Path::new(name).extension() == Some(OsStr::new("jsonl"))
}

fn by_git(files: &MergeFiles<'_>, marker_size: usize) -> Result<usize, Error> {
    let code = process::merge_file([files.ours, files.base, files.theirs], marker_size)?;
    // More than 127 means that it gave up; ours is unchanged then, which is a conflict, too.
    Ok(code.and_then(|code| usize::try_from(code).ok()).unwrap_or(1))
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverInstall {
    pub wrote: Vec<String>,
    /// What was already there.
    pub kept: Vec<String>,
}

/// Registers the merge driver: attributes that everyone shares, and a setting of this clone. Leaves existing
/// entries alone.
pub fn install(root: &Path) -> Result<DriverInstall, Error> {
    let none = || Error::NoRepository { root: root.to_owned() };
    let root = &root.canonicalize().map_err(|source| Error::Read { path: root.to_owned(), source })?;
    let tree = state_dir::tree_of(root)?.ok_or_else(none)?;
    // Ignore what the environment says about repositories: use the one that contains the project.
    let repository = Repository { tree: tree.to_owned(), git: tree.join(".git") };
    if repository.ask(&["rev-parse", "--git-dir"])?.code != Some(0) {
        return Err(none());
    }
    let mut installed = DriverInstall::default();
    let list = |installed: &mut DriverInstall, is_new: bool, what: &str| {
        let list = if is_new { &mut installed.wrote } else { &mut installed.kept };
        list.push(what.to_owned());
    };
    list(&mut installed, attribute(root)?, ATTRIBUTES);
    let mut is_set = false;
    for (key, value) in CONFIGURATION {
        if repository.ask(&["config", "--local", "--get", key])?.text() == *value {
            continue;
        }
        // A person asked for this setting, and it is the only thing that is written.
        if repository.tell(&["config", "--local", key, value], &[], &[])?.code != Some(0) {
            return Err(Error::Refused { key });
        }
        is_set = true;
    }
    list(&mut installed, is_set, "git config merge.planwright");
    Ok(installed)
}

const ATTRIBUTES: &str = ".gitattributes";

/// Adds missing lines; returns whether there were any.
fn attribute(root: &Path) -> Result<bool, Error> {
    let path = root.join(ATTRIBUTES);
    let present = match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(Error::Read { path, source }),
    };
    let old = present.as_deref().unwrap_or_default();
    let has = |pattern: &str| {
        old.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(pattern) && words.any(|word| word.starts_with("merge"))
        })
    };
    // A line of the user's own for the same files wins.
    let missing: String = PATTERNS
        .iter()
        .filter(|pattern| !has(pattern))
        .map(|pattern| format!("{pattern} {ATTRIBUTE}\n"))
        .collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    let text = format!("{old}{gap}{missing}");
    match present {
        Some(old) => plan_file::replace(&path, &old, &text)?,
        None => plan_file::create(&path, &text)?,
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_only_grow_are_told_by_their_names() {
        for place in ["progress.md", ".harness/progress-auth.md", ".pi/plans/sessions/PLAN-1.jsonl"] {
            assert!(only_grows(place), "{place}");
        }
        for place in ["PLAN.md", "plans/progress/a.md", "progress.txt", "docs/in-progress.md"] {
            assert!(!only_grows(place), "{place}");
        }
    }
}
