//! The checkout that contracts run on: every contract meets it as it was taken. What one leaves behind is taken away before
//! the next, or the checkout is taken anew: else an answer would hang on the order of the questions.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::audit::rerun::Error;
use crate::git::base;
use crate::git::base::{Checkout, tree_of_workspace};
use crate::git::worktree;
use crate::git::worktree::Lease;
use crate::workspace::project::Project;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// What lies in the workspace now: tracked, or not and not ignored either.
    Workspace,
    /// A commit, by its full name and the name of its tree.
    Commit { commit: String, tree: String },
}

/// A checkout and how it looked when it was taken.
pub(crate) struct Ground {
    project: Project,
    at: At,
    pub(crate) tree: String,
    /// Commits of other repositories that lie beside it.
    beside: Vec<Other>,
    laid: Option<Laid>,
}

struct Laid {
    /// The ports that contracts may use, until the checkout goes.
    _ports: Option<Lease>,
    checkout: Checkout,
    look: Look,
}

/// A commit of another repository.
pub(crate) struct Other {
    /// The top of its working copy.
    pub(crate) root: PathBuf,
    pub(crate) commit: String,
    /// The name of the folder that it is laid out in.
    pub(crate) folder: String,
    /// What it calls the folder of the project.
    pub(crate) own: String,
}

impl Ground {
    /// The ground of an audit. Nothing is copied before it is needed.
    pub(crate) fn of(project: &Project, at: &At) -> Result<Self, Error> {
        let tree = match at {
            At::Workspace => tree_of_workspace(&project.root, &[])?,
            // By another hash than that of a workspace; the same content may have two names, never the other way round.
            At::Commit { tree, .. } => format!("git {tree}"),
        };
        Ok(Self { project: project.clone(), at: at.clone(), tree, beside: Vec::new(), laid: None })
    }

    /// A commit that may be in no branch yet, with commits of other repositories beside it.
    pub(crate) fn of_commit(project: &Project, (commit, tree): (&str, &str), beside: Vec<Other>) -> Self {
        let at = At::Commit { commit: commit.to_owned(), tree: tree.to_owned() };
        Self { project: project.clone(), at, tree: format!("git {tree}"), beside, laid: None }
    }

    /// The project's root in a checkout that is as it was taken.
    pub(crate) fn lay(&mut self) -> Result<PathBuf, Error> {
        if self.laid.is_none() {
            let root = &self.project.root;
            let checkout = match &self.at {
                At::Workspace => Checkout::of_workspace(root)?,
                At::Commit { commit, .. } => Checkout::of_commit(root, commit)?,
            };
            // What is written while it is copied would be judged under the name of something else.
            if self.at == At::Workspace && tree_of_workspace(root, &[])? != self.tree {
                return Err(Error::Moved);
            }
            for Other { root, commit, folder, own } in &self.beside {
                checkout.beside(root, commit, (folder, own))?;
            }
            let look = Look::of(checkout.around());
            self.laid =
                Some(Laid { _ports: worktree::lend(&self.project, &checkout.tree())?, checkout, look });
        }
        self.laid.as_ref().map(|laid| laid.checkout.path()).ok_or(Error::Moved)
    }

    /// Takes away what a contract left. Where it changed or removed something, the next one gets another checkout.
    pub(crate) fn tidy(&mut self) {
        let Some(laid) = self.laid.take() else { return };
        let around = laid.checkout.around();
        let is_clean = match Look::of(around).added_to(&laid.look) {
            Some(added) => added.iter().rev().all(|path| remove(&around.join(path))),
            None => false,
        };
        if is_clean {
            self.laid = Some(laid);
        }
    }
}

/// The commit that the name means.
pub(crate) fn at(root: &Path, name: &str) -> Result<At, Error> {
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
            let is_index = path.ends_with(".git/index");
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
