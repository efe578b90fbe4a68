//! What only the git folder of a tree may hold: commits, what was staged, other repositories. The folder is asked and never
//! obeyed; what it can't tell is an error, and then the tree stays.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Error;
use super::inspect::{Look, TOLD_MAX};
use crate::git::base;
use crate::system::process::Repository;

/// The mode of an entry that is another repository.
const ANOTHER: &str = "160000";
/// Where the git folders of submodules are, in that of a tree.
const MODULES: &str = "modules";

/// The git folder of a tree.
pub(super) struct Own<'a> {
    pub(super) look: &'a Look<'a>,
    pub(super) git: Repository,
}

/// An entry of a tree or of an index.
struct Entry {
    mode: String,
    object: String,
    path: PathBuf,
}

impl Own<'_> {
    /// Its HEAD, and the commits of it that the user's repository does not have, in words: those that a reference leads to, and
    /// those that one led to before.
    pub(super) fn commits(&self) -> Result<(Option<String>, Vec<String>), Error> {
        let asked = self.git.ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?;
        let head = (asked.code == Some(0)).then(|| asked.text());
        let (named, left) = (
            self.ask(&["for-each-ref", "--format=%(objectname)"])?,
            // With nothing but a log that is empty, git would say that it was asked nothing.
            self.ask(&["rev-list", "--no-walk", "--reflog", "--all"])?,
        );
        let (named, left) = (String::from_utf8_lossy(&named), String::from_utf8_lossy(&left));
        let all: BTreeSet<&str> =
            head.as_deref().into_iter().chain(named.lines()).chain(left.lines()).collect();
        // What can't be looked at in a reasonable time is not known to be safe.
        if all.len() > TOLD_MAX {
            let said = format!("{} references and commits, too many to look at", all.len());
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

    /// Sees to it that no other repository lies in the tree: what is in one is in no commit and in no list of ours.
    pub(super) fn is_alone(&self, kept: &str) -> Result<(), Error> {
        let top = &self.git.tree;
        let is_filled = |folder: &Path| folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        let another = |folder: PathBuf| Error::Another { path: top.clone(), folder };
        if let Some(folder) = base::repositories_in(top).into_iter().next() {
            return Err(another(folder));
        }
        // A folder that a commit has as another repository is looked into by nobody, whatever lies there.
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

    /// What was staged, and lies neither in the tree nor in a commit.
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

    /// The entries of a commit or tree that the user's repository has.
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

/// Entries as `ls-tree` and `ls-files --stage` print them: with the mode first, and the object among the other words.
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
