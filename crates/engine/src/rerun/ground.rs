//! The checkout that contracts run on: every contract meets it as it was taken. What one leaves behind is taken away before
//! the next, or the checkout is taken anew: else an answer would hang on the order of the questions.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::Error;
use crate::base::{self, Checkout, tree_of_workspace};

/// What is audited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// What lies in the workspace now: tracked, or not and not ignored either.
    Workspace,
    /// A commit, by its full name and the name of its tree.
    Commit {
        /// The commit.
        commit: String,
        /// Its tree.
        tree: String,
    },
}

/// A checkout and how it looked when it was taken.
pub(super) struct Ground {
    root: PathBuf,
    at: At,
    /// Names the content.
    pub(super) tree: String,
    laid: Option<(Checkout, Look)>,
}

impl Ground {
    /// The ground of an audit. Nothing is copied before it is needed.
    pub(super) fn of(root: &Path, at: &At) -> Result<Self, Error> {
        let tree = match at {
            At::Workspace => tree_of_workspace(root, &[])?,
            // By another hash than that of a workspace; the same content may have two names, never the other way round.
            At::Commit { tree, .. } => format!("git {tree}"),
        };
        Ok(Self { root: root.to_owned(), at: at.clone(), tree, laid: None })
    }

    /// The project's root in a checkout that is as it was taken.
    pub(super) fn lay(&mut self) -> Result<PathBuf, Error> {
        if self.laid.is_none() {
            let checkout = match &self.at {
                At::Workspace => Checkout::of_workspace(&self.root)?,
                At::Commit { commit, .. } => Checkout::of_commit(&self.root, commit)?,
            };
            // What is written while it is copied would be judged under the name of something else.
            if self.at == At::Workspace && tree_of_workspace(&self.root, &[])? != self.tree {
                return Err(Error::Moved);
            }
            let look = Look::of(&checkout.tree());
            self.laid = Some((checkout, look));
        }
        self.laid.as_ref().map(|(checkout, _)| checkout.path()).ok_or(Error::Moved)
    }

    /// Takes away what a contract left. Where it changed or removed something, the next one gets another checkout.
    pub(super) fn tidy(&mut self) {
        let Some((checkout, before)) = self.laid.take() else { return };
        let tree = checkout.tree();
        let is_clean = match Look::of(&tree).added_to(&before) {
            Some(added) => added.iter().rev().all(|path| remove(&tree.join(path))),
            None => false,
        };
        if is_clean {
            self.laid = Some((checkout, before));
        }
    }
}

/// The commit that the name means.
pub(super) fn at(root: &Path, name: &str) -> Result<At, Error> {
    let base = base::named(root, name)?;
    Ok(At::Commit { commit: base.commit, tree: base.tree })
}

/// Removes a file, a link, or a folder in which nothing is left.
fn remove(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => std::fs::remove_dir(path).is_ok(),
        Ok(_) => std::fs::remove_file(path).is_ok(),
        Err(_) => false,
    }
}

/// What a checkout looks like from outside, ignored files and the git folder included.
struct Look(BTreeMap<PathBuf, Seen>);

/// One file or folder. The time of the last change of an inode can't be set back.
#[derive(PartialEq, Eq)]
struct Seen {
    mode: u32,
    inode: u64,
    /// Size and times; a folder has none that count, since what is in it is looked at by itself.
    content: Option<[i64; 5]>,
}

impl Seen {
    fn of(data: &Metadata) -> Self {
        let content = (!data.is_dir()).then(|| {
            [data.size().cast_signed(), data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec()]
        });
        Self { mode: data.mode(), inode: data.ino(), content }
    }
}

impl Look {
    fn of(tree: &Path) -> Self {
        let walk = WalkBuilder::new(tree).standard_filters(false).build();
        let seen = walk.flatten().filter_map(|entry| {
            let path = entry.path().strip_prefix(tree).ok()?.to_owned();
            // Git writes it anew when it only looks.
            let is_index = path == Path::new(".git/index");
            (!is_index).then_some(())?;
            Some((path, Seen::of(&entry.path().symlink_metadata().ok()?)))
        });
        Self(seen.collect())
    }

    /// What is there and was not before, folders in front of what is in them; `None` where anything else is different.
    fn added_to(&self, before: &Self) -> Option<Vec<PathBuf>> {
        let is_kept = before.0.iter().all(|(path, seen)| self.0.get(path) == Some(seen));
        is_kept.then(|| self.0.keys().filter(|path| !before.0.contains_key(*path)).cloned().collect())
    }
}
