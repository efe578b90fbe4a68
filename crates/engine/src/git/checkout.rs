//! Working copies with a git directory of their own: no hook, configuration or reference of the user's repository is
//! in it, and whatever git does there stays there. Attempts, contracts and plans' worktrees all work in one.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::base;
use super::base::{Error, Home, asked, name_of};
use super::repository::OwnedRefs;
use super::tree_hash::{FileKind, Look, TreeFiles};
use super::worktree;
use crate::store::state_dir;
use crate::store::temp_dir::TempDir;
use crate::store::worktree_registry;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::system::clock;
use crate::system::process::{GitOutput, Repository};
use crate::workspace::project::Project;

const TREE: &str = "tree";
const ALTERNATES: &str = "objects/info/alternates";
/// The registered name of a checkout for contracts.
const FOR_CONTRACTS: &str = "contracts";

/// What a checkout contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The files of the workspace: tracked ones, and untracked ones that are not ignored.
    Workspace,
    /// A commit by its full id, including the rest of the repository if the project is part of one. Links
    /// stay links.
    ///
    /// No hook, monitor or filter of the repository runs: git-lfs files are pointers here, and a submodule is
    /// an empty directory. Line endings and encodings of `.gitattributes` are applied, since git does that
    /// itself.
    Commit(String),
}

/// Where the objects of a checkout are.
#[derive(Debug, Clone, Copy)]
pub enum Objects<'a> {
    /// In the repository around the project, which is only read. HEAD is detached.
    Borrowed,
    /// In the checkout itself, as copies: nothing done to them reaches the user's. HEAD is on a branch.
    Copied { from: &'a OwnedRefs, branch: &'a str, history: History },
}

/// How much history a checkout with its own objects has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// All ancestors of its commit.
    Whole,
    None,
}

#[derive(Debug, Clone, Copy)]
pub enum Lifetime<'a> {
    /// Outside every workspace, until it is dropped.
    Temporary,
    /// In this new directory, for good.
    Permanent(&'a Path),
}

/// A commit of another repository next to a checkout.
pub(crate) struct Sibling {
    pub(crate) root: PathBuf,
    pub(crate) commit: String,
    /// The name of its directory.
    pub(crate) folder: String,
    /// Its name for the directory of the project.
    pub(crate) own: String,
}

/// A checkout of a project.
#[derive(Debug)]
pub struct Checkout {
    tree: PathBuf,
    part: PathBuf,
    /// The repository that it is registered with, as one of its worktrees.
    registered: Option<OwnedRefs>,
    /// What it was before the first contract.
    original: Option<Contents>,
    /// Removed with it, and after its registration has ended.
    _place: Option<TempDir>,
}

impl Checkout {
    pub fn of(
        root: &Path,
        content: &Content,
        objects: Objects<'_>,
        lifetime: Lifetime<'_>,
    ) -> Result<Self, Error> {
        let home = match objects {
            Objects::Borrowed => Home::of(root)?,
            Objects::Copied { from, .. } => Some(from.home()),
        };
        let (place, tree) = match lifetime {
            Lifetime::Permanent(tree) => (None, tree.to_owned()),
            Lifetime::Temporary => {
                let place = TempDir::new(root)?;
                let failed = |source| Error::File { path: place.path.clone(), source };
                // The registry knows worktrees by paths without links.
                let tree = place.path.canonicalize().map_err(failed)?.join(TREE);
                (Some(place), tree)
            }
        };
        let part = home.as_ref().map(|home| home.part.clone()).unwrap_or_default();
        let checkout = Self { tree, part, registered: None, original: None, _place: place };
        match (content, home) {
            (Content::Commit(commit), Some(home)) => check_out(&checkout.tree, &home, commit, objects)?,
            (Content::Commit(_), None) => return Err(Error::NoRepository { root: root.to_owned() }),
            (Content::Workspace, home) => copy_workspace(root, &checkout.tree, home.as_ref())?,
        }
        let path = checkout.path();
        // The project may exist only in the workspace and not in the commit yet.
        std::fs::create_dir_all(&path).map_err(|source| Error::File { path, source })?;
        Ok(checkout)
    }
    /// A temporary checkout in which contracts of a project run, with these siblings next to it and with the
    /// ports that a worktree has.
    pub(crate) fn for_contracts(
        project: &Project,
        content: &Content,
        siblings: &[Sibling],
    ) -> Result<Self, Error> {
        let mut checkout = Self::of(&project.root, content, Objects::Borrowed, Lifetime::Temporary)?;
        for sibling in siblings {
            checkout.add_sibling(sibling)?;
        }
        checkout.lend_ports(project).map_err(|error| Error::Ports(Box::new(error)))?;
        Ok(checkout)
    }

    /// The checkout for the next contract: the last one without what a contract left there, or a new one if
    /// it changed or removed something. Otherwise a result would depend on the order.
    pub(crate) fn fresh<E>(
        last: &mut Option<Self>,
        new: impl FnOnce() -> Result<Self, E>,
    ) -> Result<&Self, E> {
        // Before the new one, which may need its ports.
        last.take_if(|checkout| !checkout.reset());
        Ok(match last {
            Some(checkout) => checkout,
            none @ None => {
                let mut checkout = new()?;
                checkout.reset();
                none.insert(checkout)
            }
        })
    }

    /// The root of the project in it.
    pub fn path(&self) -> PathBuf {
        worktree::within(&self.tree, &self.part)
    }

    /// The whole checkout: the repository that the project is part of.
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// The directory that contains the checkout and its siblings.
    fn around(&self) -> &Path {
        self.tree.parent().unwrap_or(&self.tree)
    }

    /// Checks out a commit of another repository next to it.
    fn add_sibling(&self, sibling: &Sibling) -> Result<(), Error> {
        let Sibling { root, commit, folder, own } = sibling;
        let (tree, own) = (self.around().join(folder), self.around().join(own));
        let failed = |source| Error::File { path: tree.clone(), source };
        if tree.symlink_metadata().is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        check_out(&tree, &Home::must(root)?, commit, Objects::Borrowed)?;
        match own.symlink_metadata() {
            Ok(_) => Ok(()),
            Err(_) => symlink(TREE, own).map_err(failed),
        }
    }

    /// Makes it a worktree of the repository until it is dropped: planwright in it finds the state of the
    /// project, and it can have ports.
    pub(crate) fn register(
        &mut self,
        refs: &OwnedRefs,
        name: &str,
        base: &str,
    ) -> Result<(), state_dir::Error> {
        worktree_registry::register(&RegisteredWorktree {
            path: self.tree.clone(),
            repository: refs.common().to_owned(),
            origin: refs.top().to_owned(),
            name: name.to_owned(),
            plan: None,
            owner: None,
            branch: None,
            base: base.to_owned(),
            ports: Vec::new(),
            created_at_ms: clock::now(),
        })?;
        self.registered = Some(refs.clone());
        Ok(())
    }

    /// Reserves ports for it, as every worktree of the project has them.
    pub(crate) fn lend_ports(&mut self, project: &Project) -> Result<(), worktree::Error> {
        let settings = &project.config.worktree;
        if settings.ports == 0 {
            return Ok(());
        }
        let Some(refs) = OwnedRefs::find(&project.root)? else { return Ok(()) };
        self.register(&refs, FOR_CONTRACTS, "")?;
        let leased = worktree::lease(&self.tree, settings.ports, settings.port_range);
        if leased.is_err() {
            self.forget();
        }
        leased.map(drop)
    }

    fn forget(&mut self) {
        if let Some(refs) = self.registered.take() {
            // A leftover is forgotten when the directory is gone.
            worktree_registry::forget(&self.tree).ok();
            refs.forget(&self.tree);
        }
    }

    /// Removes what a contract left since the first call; `false` if it changed or removed something.
    fn reset(&mut self) -> bool {
        let now = Contents::of(self.around());
        match &self.original {
            Some(original) => now.restore(original, self.around()),
            None => {
                self.original = Some(now);
                true
            }
        }
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Asks git about commits of a project through a git directory of our own without files: it has no
/// configuration that could name a diff program. Also returns the project's path in its repository.
pub(super) fn ask_apart(
    root: &Path,
    commit: &str,
    act: &'static str,
    words: &[&str],
) -> Result<(GitOutput, PathBuf), Error> {
    let home = Home::must(root)?;
    let place = TempDir::new(root)?;
    let own = git_dir(&place.path.join(TREE), &home, name_of(commit)?, Objects::Borrowed)?;
    Ok((asked(&own, act, words)?, home.part))
}

/// Checks out a commit in a new directory.
fn check_out(tree: &Path, home: &Home, commit: &str, objects: Objects<'_>) -> Result<(), Error> {
    let own = git_dir(tree, home, name_of(commit)?, objects)?;
    if let Objects::Copied { branch, .. } = objects {
        asked(&own, "create a branch", &["update-ref", &format!("refs/heads/{branch}"), commit])?;
    }
    asked(&own, "read the commit", &["read-tree", commit])?;
    asked(&own, "check out the commit", &["checkout-index", "--all", "--force", "--index", "--quiet"])?;
    match objects {
        Objects::Borrowed => Ok(()),
        Objects::Copied { .. } => {
            asked(&own, "copy the objects", &["repack", "-a", "-d", "-q"])?;
            // From here on the objects are its own: nothing done to them reaches the user's.
            let path = own.git.join(ALTERNATES);
            std::fs::remove_file(&path).map_err(|source| Error::File { path, source })
        }
    }
}

/// Copies the files of the workspace into a new directory, with a git directory at its commit if there is one.
fn copy_workspace(root: &Path, tree: &Path, home: Option<&Home>) -> Result<(), Error> {
    let files = TreeFiles::of(root)?;
    let failed = |path: &Path, source| Error::File { path: path.to_owned(), source };
    std::fs::create_dir_all(tree).map_err(|source| failed(tree, source))?;
    for (path, kind) in files.iter() {
        let from = files.top().join(path);
        copy(&from, &tree.join(path), kind).map_err(|source| failed(&from, source))?;
    }
    if let (Some(home), Some(base)) = (home, base::of(root)?) {
        let own = git_dir(tree, home, &base.commit, Objects::Borrowed)?;
        asked(&own, "read the commit", &["read-tree", &base.commit])?;
    }
    Ok(())
}

/// Writes the git directory of a checkout, at a commit and with the objects of the repository.
fn git_dir(tree: &Path, home: &Home, commit: &str, objects: Objects<'_>) -> Result<Repository, Error> {
    let git = tree.join(".git");
    let (lent, shallow) = home.objects()?;
    // A name of 64 digits belongs to a SHA-256 repository.
    let format = match commit.len() {
        64 => "[extensions]\n\tobjectFormat = sha256\n",
        _ => "",
    };
    let config =
        format!("[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tlogallrefupdates = true\n{format}");
    let head = match objects {
        Objects::Borrowed => format!("{commit}\n"),
        Objects::Copied { branch, .. } => format!("ref: refs/heads/{branch}\n"),
    };
    let shallow = match objects {
        Objects::Copied { history: History::None, .. } => Some(format!("{commit}\n").into_bytes()),
        Objects::Copied { history: History::Whole, .. } | Objects::Borrowed => std::fs::read(shallow).ok(),
    };
    let lent = [lent.as_os_str().as_encoded_bytes(), b"\n"].concat();
    let files = [("config", config.into_bytes()), ("HEAD", head.into_bytes()), (ALTERNATES, lent)];
    let written = || -> io::Result<()> {
        for folder in ["objects/info", "refs/heads", "info"] {
            std::fs::create_dir_all(git.join(folder))?;
        }
        for (name, bytes) in files.into_iter().chain(shallow.map(|bytes| ("shallow", bytes))) {
            write_new(&git.join(name), &bytes)?;
        }
        Ok(())
    };
    written().map_err(|source| Error::File { path: git.clone(), source })?;
    Ok(Repository { tree: tree.to_owned(), git })
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
}

/// Copies one file into a checkout, keeping its executable bit.
#[expect(clippy::disallowed_methods, reason = "writes into a temporary checkout, never where plans are")]
fn copy(from: &Path, to: &Path, kind: FileKind) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match kind {
        FileKind::Link => symlink(std::fs::read_link(from)?, to),
        FileKind::File | FileKind::Program => std::fs::copy(from, to).map(|_| ()),
        // A pipe or a socket has no content, and opening it could block forever.
        FileKind::Other => Ok(()),
    }
}

/// The metadata of everything in a directory, including ignored files and git directories.
#[derive(Debug, Default)]
struct Contents {
    seen: BTreeMap<PathBuf, Look>,
    /// The contents of git indexes, which git rewrites even when it only reads.
    indexes: BTreeMap<PathBuf, Vec<u8>>,
}

impl Contents {
    fn of(folder: &Path) -> Self {
        let mut contents = Self::default();
        for entry in WalkBuilder::new(folder).standard_filters(false).build().flatten() {
            let Ok(path) = entry.path().strip_prefix(folder) else { continue };
            let Ok(data) = entry.path().symlink_metadata() else { continue };
            if path.ends_with(".git/index") && data.is_file() {
                contents.indexes.insert(path.to_owned(), std::fs::read(entry.path()).unwrap_or_default());
            } else {
                contents.seen.insert(path.to_owned(), Look::of(&data).without_entries(&data));
            }
        }
        contents
    }

    /// Removes what was added to the original; `false` if anything else differs.
    fn restore(&self, original: &Self, folder: &Path) -> bool {
        let is_kept = original.seen.iter().all(|(path, seen)| self.seen.get(path) == Some(seen));
        // Directories come before their contents.
        let mut added = self.seen.keys().rev().filter(|path| !original.seen.contains_key(*path));
        let put_back = |path: &Path, bytes: &[u8]| remove(path) && write_new(path, bytes).is_ok();
        let mut changed =
            original.indexes.iter().filter(|(path, bytes)| self.indexes.get(*path) != Some(bytes));
        is_kept
            && added.all(|path| remove(&folder.join(path)))
            && changed.all(|(path, bytes)| put_back(&folder.join(path), bytes))
    }
}

/// Removes a file, a link, or an empty directory.
fn remove(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => std::fs::remove_dir(path).is_ok(),
        Ok(_) => std::fs::remove_file(path).is_ok(),
        Err(_) => false,
    }
}
