//! Working copies with a git directory of their own. Nothing in them leads to the user's repository: objects
//! are copies, and no hook, configuration or reference is shared. Whatever git does there stays there.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::repository::{Error, OwnedRefs};
use super::snapshot::ANOTHER;
use crate::system::process::Repository;

/// How much history a worktree has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloneHistory {
    /// All ancestors of its first commit.
    Whole,
    None,
}

impl OwnedRefs {
    /// Checks out a commit in a new directory, on a branch of this name in a git directory of its own.
    pub fn plant(
        &self,
        commit: &str,
        folder: &Path,
        branch: &str,
        history: CloneHistory,
    ) -> Result<(), Error> {
        let git = folder.join(".git");
        let failed = |source| Error::File { path: folder.to_owned(), source };
        let format = match commit.len() {
            64 => "[extensions]\n\tobjectFormat = sha256\n",
            _ => "",
        };
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tlogallrefupdates = true\n{format}"
        );
        let mut borrowed = self.objects.as_os_str().as_encoded_bytes().to_vec();
        borrowed.push(b'\n');
        let prepared = || -> io::Result<()> {
            for inside in ["objects/info", "refs/heads", "info"] {
                std::fs::create_dir_all(git.join(inside))?;
            }
            lay(&git.join("config"), config.as_bytes())?;
            lay(&git.join("HEAD"), format!("ref: refs/heads/{branch}\n").as_bytes())?;
            lay(&git.join("objects/info/alternates"), &borrowed)?;
            match history {
                CloneHistory::None => lay(&git.join("shallow"), format!("{commit}\n").as_bytes()),
                CloneHistory::Whole => match std::fs::read(self.common.join("shallow")) {
                    Ok(cut) => lay(&git.join("shallow"), &cut),
                    Err(_) => Ok(()),
                },
            }
        };
        prepared().map_err(failed)?;
        let own = Repository { tree: folder.to_owned(), git: git.clone() };
        let told = |act, words: &[&str]| self.must(act, own.tell(words, &[], &[])?);
        told("create a branch", &["update-ref", &format!("refs/heads/{branch}"), commit])?;
        told("read a commit", &["read-tree", commit])?;
        told("check out a commit", &["checkout-index", "--all", "--force", "--index", "--quiet"])?;
        // From here on the objects are its own: nothing done to them reaches the user's.
        told("copy the objects", &["repack", "-a", "-d", "-q"])?;
        std::fs::remove_file(git.join("objects/info/alternates")).map_err(failed)
    }

    /// The paths of submodules in a commit: worktrees have nothing there.
    pub fn others(&self, commit: &str) -> Result<Vec<PathBuf>, Error> {
        let files = self.files(commit)?.into_iter();
        Ok(files.filter(|(_, entry)| entry.starts_with(ANOTHER)).map(|(path, _)| path).collect())
    }
}

fn lay(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
}
