//! What only the git directory of a worktree may hold: commits, staged changes, nested repositories. Reads
//! that directory without trusting it; whatever cannot be read is an error, and the worktree is kept.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Error;
use super::inspect::{TOLD_MAX, WorktreeInspection};
use crate::git::base;
use crate::system::process::Repository;

/// The mode of a submodule entry.
const ANOTHER: &str = "160000";
/// The directory of submodules in a worktree's git directory.
const MODULES: &str = "modules";

/// The git directory of a worktree.
pub(super) struct Own<'a> {
    pub(super) look: &'a WorktreeInspection<'a>,
    pub(super) git: Repository,
}

/// An entry of a tree or of an index.
struct Entry {
    mode: String,
    object: String,
    path: PathBuf,
}

impl Own<'_> {
    /// Its HEAD, and its commits that the user's repository lacks, for people: those that a reference
    /// reaches, and those that one reached before.
    pub(super) fn commits(&self) -> Result<(Option<String>, Vec<String>), Error> {
        let asked = self.git.ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?;
        let head = (asked.code == Some(0)).then(|| asked.text());
        let (named, left) = (
            self.ask(&["for-each-ref", "--format=%(objectname)"])?,
            // With only an empty log, git would report a usage error.
            self.ask(&["rev-list", "--no-walk", "--reflog", "--all"])?,
        );
        let (named, left) = (String::from_utf8_lossy(&named), String::from_utf8_lossy(&left));
        let all: BTreeSet<&str> =
            head.as_deref().into_iter().chain(named.lines()).chain(left.lines()).collect();
        // What cannot be checked in a reasonable time is not known to be safe.
        if all.len() > TOLD_MAX {
            let said = format!("{} references and commits, too many to check", all.len());
            return Ok((head, vec![said]));
        }
        let mut lost = Vec::new();
        for commit in all {
            if !self.look.is_reached(commit)? {
                let words =
                    ["log", "-1", "--no-show-signature", "--format=%h %s", "--end-of-options", commit];
                let said = self.git.ask(&words)?;
                lost.push(if said.code == Some(0) { said.text() } else { commit.to_owned() });
            }
        }
        Ok((head, lost))
    }

    /// Checks that the worktree contains no other repository, whose contents are in no commit and no list of
    /// ours.
    pub(super) fn is_alone(&self, kept: &str) -> Result<(), Error> {
        let top = &self.git.tree;
        let is_filled = |folder: &Path| folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        let another = |folder: PathBuf| Error::Another { path: top.clone(), folder };
        if let Some(folder) = base::repositories_in(top).into_iter().next() {
            return Err(another(folder));
        }
        // Nothing looks into a directory that a commit has as a submodule, whatever is there.
        let entries = self.staged_entries()?.into_iter().chain(self.entries_of(kept)?);
        for entry in entries.filter(|entry| entry.mode == ANOTHER) {
            if is_filled(&top.join(&entry.path)) {
                return Err(another(entry.path));
            }
        }
        match is_filled(&self.git.git.join(MODULES)) {
            true => Err(another(Path::new(".git").join(MODULES))),
            false => Ok(()),
        }
    }

    /// Staged contents that are neither in the worktree nor in a commit.
    pub(super) fn staged(&self, head: Option<&str>, kept: &str) -> Result<Vec<String>, Error> {
        let mut staged = self.staged_entries()?;
        if let Some(head) = head {
            let known = objects(entries(&self.ask(&["ls-tree", "-r", "-z", head])?));
            staged.retain(|entry| !known.contains(&entry.object));
        }
        if staged.is_empty() {
            return Ok(Vec::new());
        }
        let lies = self.look.lies(&self.git.tree, kept)?;
        let known: BTreeSet<String> =
            objects(self.entries_of(&lies)?).into_iter().chain(objects(self.entries_of(kept)?)).collect();
        let lost = staged.into_iter().filter(|entry| entry.mode != ANOTHER && !known.contains(&entry.object));
        Ok(lost.map(|entry| format!("{} (staged)", entry.path.display())).collect())
    }

    fn staged_entries(&self) -> Result<Vec<Entry>, Error> {
        Ok(entries(&self.ask(&["ls-files", "--stage", "-z"])?))
    }

    /// The entries of a commit or tree in the user's repository.
    fn entries_of(&self, commit: &str) -> Result<Vec<Entry>, Error> {
        let answer = self.look.theirs().ask(&["ls-tree", "-r", "-z", commit])?;
        match answer.code {
            Some(0) => Ok(entries(&answer.stdout)),
            Some(_) | None => Err(Error::NoBase { path: self.git.tree.clone(), commit: commit.to_owned() }),
        }
    }

    fn ask(&self, words: &[&str]) -> Result<Vec<u8>, Error> {
        let answer = self.git.ask(words)?;
        match answer.code {
            Some(0) => Ok(answer.stdout),
            Some(_) | None => Err(Error::NoGit { path: self.git.tree.clone() }),
        }
    }
}

fn objects(entries: Vec<Entry>) -> BTreeSet<String> {
    entries.into_iter().map(|entry| entry.object).collect()
}

/// Entries as `ls-tree` and `ls-files --stage` print them: the mode first, and the object among the other
/// words.
fn entries(printed: &[u8]) -> Vec<Entry> {
    let lines = printed.split(|&byte| byte == 0);
    let read = lines.filter_map(|line| {
        let tab = line.iter().position(|&byte| byte == b'\t')?;
        let said = String::from_utf8_lossy(&line[..tab]).into_owned();
        let mut words = said.split(' ');
        let (mode, object) = (words.next()?.to_owned(), words.find(|word| word.len() >= 40)?.to_owned());
        Some(Entry { mode, object, path: PathBuf::from(OsStr::from_bytes(&line[tab + 1..])) })
    });
    read.collect()
}
