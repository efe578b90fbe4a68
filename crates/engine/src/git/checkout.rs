//! Throw-away trees. Each has a git folder of its own, without configuration and hooks, which borrows the objects of the
//! user's repository and writes nothing into it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::base::{Error, Home, asked, name_of};
use super::tree_hash::{Files, Kind};
use crate::store::temp_dir::Place;
use crate::system::process::Repository;

/// The folder with the tree.
const TREE: &str = "tree";

/// A throw-away tree of a project, outside the workspace. It is gone when this is dropped.
#[derive(Debug)]
pub struct Checkout {
    place: Place,
    part: PathBuf,
}

impl Checkout {
    /// The tree of a commit, with the rest of the repository around it where the project is a part of one. Links stay links.
    ///
    /// No hook, monitor or filter of the repository runs: what git-lfs would fetch is a pointer here, and a submodule is an
    /// empty folder. What `.gitattributes` says about line ends and encodings is done, as git does it itself.
    pub fn of_commit(root: &Path, commit: &str) -> Result<Self, Error> {
        let home = Home::must(root)?;
        let checkout = Self { place: Place::new(root)?, part: home.part.clone() };
        let own = repository(&checkout.tree(), &home, name_of(commit)?)?;
        asked(&own, "read the commit", &["read-tree", commit])?;
        asked(&own, "lay out the commit", &["checkout-index", "--all", "--force", "--index", "--quiet"])?;
        let path = checkout.path();
        // A project may have been made in the workspace and not be in the commit yet.
        std::fs::create_dir_all(&path).map_err(|source| Error::File { path, source })?;
        Ok(checkout)
    }

    /// The files as they lie in the workspace: what is tracked, and what is not and not ignored either.
    pub fn of_workspace(root: &Path) -> Result<Self, Error> {
        let files = Files::of(root)?;
        let home = Home::of(root)?;
        let part = home.as_ref().map(|home| home.part.clone()).unwrap_or_default();
        let checkout = Self { place: Place::new(root)?, part };
        let tree = checkout.tree();
        std::fs::create_dir_all(&tree).map_err(|source| Error::File { path: tree.clone(), source })?;
        for (path, kind) in files.iter() {
            let (from, to) = (files.top().join(path), tree.join(path));
            copy(&from, &to, kind).map_err(|source| Error::File { path: from, source })?;
        }
        if let (Some(home), Some(base)) = (home, super::base::of(root)?) {
            let own = repository(&tree, &home, &base.commit)?;
            asked(&own, "read the commit", &["read-tree", &base.commit])?;
        }
        Ok(checkout)
    }

    /// Lays out a commit of another repository beside the tree, in a folder of this name. What is in there finds the project's
    /// own tree under the name `own`.
    pub fn beside(&self, root: &Path, commit: &str, (folder, own): (&str, &str)) -> Result<(), Error> {
        let home = Home::must(root)?;
        let tree = self.place.path.join(folder);
        let failed = |source| Error::File { path: tree.clone(), source };
        if tree.symlink_metadata().is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        let git = repository(&tree, &home, name_of(commit)?)?;
        asked(&git, "read the commit", &["read-tree", commit])?;
        asked(&git, "lay out the commit", &["checkout-index", "--all", "--force", "--index", "--quiet"])?;
        let own = self.place.path.join(own);
        match own.symlink_metadata() {
            Ok(_) => Ok(()),
            Err(_) => symlink(TREE, own).map_err(failed),
        }
    }

    /// The folder around the tree and what lies beside it.
    pub(crate) fn around(&self) -> &Path {
        &self.place.path
    }

    /// The root of the project in it.
    pub fn path(&self) -> PathBuf {
        self.tree().join(&self.part)
    }

    /// The whole tree: the repository that the project is a part of.
    pub fn tree(&self) -> PathBuf {
        self.place.path.join(TREE)
    }
}

/// A git folder of our own without a tree, to ask about commits.
pub(super) fn bare(place: &Place, home: &Home, commit: &str) -> Result<Repository, Error> {
    repository(&place.path.join(TREE), home, commit)
}

/// Makes a git folder of our own in a tree: it stands at the commit, and finds the objects where they are.
fn repository(tree: &Path, home: &Home, commit: &str) -> Result<Repository, Error> {
    let git = tree.join(".git");
    let (objects, shallow) = home.objects()?;
    // A name of 64 digits is one of a repository that hashes with SHA-256.
    let format = match commit.len() {
        64 => "[extensions]\n\tobjectFormat = sha256\n",
        _ => "",
    };
    let written = || -> io::Result<()> {
        for folder in ["objects/info", "refs/heads", "info"] {
            std::fs::create_dir_all(git.join(folder))?;
        }
        lay(
            &git.join("config"),
            &format!("[core]\n\trepositoryformatversion = 1\n\tbare = false\n{format}"),
        )?;
        lay(&git.join("HEAD"), &format!("{commit}\n"))?;
        let mut borrowed = objects.as_os_str().as_encoded_bytes().to_vec();
        borrowed.push(b'\n');
        lay_bytes(&git.join("objects/info/alternates"), &borrowed)?;
        match std::fs::read(&shallow) {
            Ok(cut) => lay_bytes(&git.join("shallow"), &cut),
            Err(_) => Ok(()),
        }
    };
    written().map_err(|source| Error::File { path: git.clone(), source })?;
    Ok(Repository { tree: tree.to_owned(), git })
}

fn lay(path: &Path, text: &str) -> io::Result<()> {
    lay_bytes(path, text.as_bytes())
}

fn lay_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
}

/// Copies one file into a throw-away tree, new and with its right to be run.
#[expect(clippy::disallowed_methods, reason = "writes into a throw-away tree, never where plans are")]
fn copy(from: &Path, to: &Path, kind: Kind) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match kind {
        Kind::Link => symlink(std::fs::read_link(from)?, to),
        Kind::File | Kind::Program => std::fs::copy(from, to).map(|_| ()),
        // A pipe or a socket is no content, and opening it could take for ever.
        Kind::Other => Ok(()),
    }
}
