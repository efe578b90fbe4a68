//! The checkout that contracts run on: every contract gets it in its original state. Leftovers of one
//! contract are removed before the next, or the checkout is recreated: otherwise a result would depend on the
//! order.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::git::base;
use crate::git::base::{Checkout, tree_of_workspace};
use crate::git::worktree;
use crate::git::worktree::PortLease;
use crate::workspace::project::Project;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot create a checkout to run contracts in")]
    Base(#[from] base::Error),
    /// The ports of a worktree are unavailable.
    #[error("cannot reserve ports for the checkout")]
    Ports(#[source] Box<worktree::Error>),
    /// The workspace changed meanwhile.
    #[error("the workspace changed during the rerun")]
    Moved,
}

impl From<worktree::Error> for Error {
    fn from(error: worktree::Error) -> Self {
        Self::Ports(Box::new(error))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The files of the workspace: tracked ones, and untracked ones that are not ignored.
    Workspace,
    /// A commit, by its full id and that of its tree.
    Commit { commit: String, tree: String },
}

/// A checkout and its original metadata.
pub(crate) struct PristineCheckout {
    project: Project,
    at: Content,
    pub(crate) tree: String,
    /// Commits of other repositories next to it.
    beside: Vec<Other>,
    laid: Option<Laid>,
}

struct Laid {
    /// The ports that contracts may use, until the checkout goes.
    _ports: Option<PortLease>,
    checkout: Checkout,
    look: Look,
}

pub(crate) struct Other {
    pub(crate) root: PathBuf,
    pub(crate) commit: String,
    /// The name of its checkout directory.
    pub(crate) folder: String,
    /// Its name for the directory of the project.
    pub(crate) own: String,
}

impl PristineCheckout {
    /// Nothing is copied before it is needed.
    pub(crate) fn of(project: &Project, at: &Content) -> Result<Self, Error> {
        let tree = match at {
            Content::Workspace => tree_of_workspace(&project.root, &[])?,
            // Another kind of hash than that of a workspace; the same content may have two names, but never
            // the other way round.
            Content::Commit { tree, .. } => format!("git {tree}"),
        };
        Ok(Self { project: project.clone(), at: at.clone(), tree, beside: Vec::new(), laid: None })
    }

    /// A commit that may be in no branch yet, with commits of other repositories next to it.
    pub(crate) fn of_commit(project: &Project, (commit, tree): (&str, &str), beside: Vec<Other>) -> Self {
        let at = Content::Commit { commit: commit.to_owned(), tree: tree.to_owned() };
        Self { project: project.clone(), at, tree: format!("git {tree}"), beside, laid: None }
    }

    /// The project's root in a checkout in its original state.
    pub(crate) fn lay(&mut self) -> Result<PathBuf, Error> {
        if self.laid.is_none() {
            let root = &self.project.root;
            let checkout = match &self.at {
                Content::Workspace => Checkout::of_workspace(root)?,
                Content::Commit { commit, .. } => Checkout::of_commit(root, commit)?,
            };
            // A change during the copy would be judged under another content's name.
            if self.at == Content::Workspace && tree_of_workspace(root, &[])? != self.tree {
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

    /// Removes what a contract left. If it changed or removed something, the next one gets a new checkout.
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

pub(crate) fn at(root: &Path, name: &str) -> Result<Content, Error> {
    let base = base::named(root, name)?;
    Ok(Content::Commit { commit: base.commit, tree: base.tree })
}

/// Removes a file, a link, or an empty directory.
fn remove(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => std::fs::remove_dir(path).is_ok(),
        Ok(_) => std::fs::remove_file(path).is_ok(),
        Err(_) => false,
    }
}

/// The metadata of a checkout, including ignored files and the git directory.
struct Look(BTreeMap<PathBuf, Seen>);

/// One file or directory. The change time of an inode cannot be set back.
#[derive(PartialEq, Eq)]
struct Seen {
    mode: u32,
    inode: u64,
    /// Size and times; `None` for a directory, since its files are checked on their own.
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
            // Git rewrites it even when it only reads.
            let is_index = path.ends_with(".git/index");
            (!is_index).then_some(())?;
            Some((path, Seen::of(&entry.path().symlink_metadata().ok()?)))
        });
        Self(seen.collect())
    }

    /// What was added, directories before their contents; `None` if anything else differs.
    fn added_to(&self, before: &Self) -> Option<Vec<PathBuf>> {
        let is_kept = before.0.iter().all(|(path, seen)| self.0.get(path) == Some(seen));
        is_kept.then(|| self.0.keys().filter(|path| !before.0.contains_key(*path)).cloned().collect())
    }
}
