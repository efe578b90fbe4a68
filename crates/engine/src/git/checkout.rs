//! Temporary checkouts. Each has its own git directory without configuration or hooks; it borrows the objects
//! of the user's repository and never writes to it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::base::{Error, Home, asked, name_of};
use super::tree_hash::{FileKind, TreeFiles};
use crate::store::temp_dir::TempDir;
use crate::system::process::Repository;

const TREE: &str = "tree";

/// A temporary checkout of a project, outside the workspace. Dropping it removes it.
#[derive(Debug)]
pub struct Checkout {
    place: TempDir,
    part: PathBuf,
}

impl Checkout {
    /// Checks out a commit, including the rest of the repository if the project is part of one. Links stay
    /// links.
    ///
    /// No hook, monitor or filter of the repository runs: git-lfs files are pointers here, and a submodule is
    /// an empty directory. Line endings and encodings of `.gitattributes` are applied, since git does that
    /// itself.
    pub fn of_commit(root: &Path, commit: &str) -> Result<Self, Error> {
        let home = Home::must(root)?;
        let checkout = Self { place: TempDir::new(root)?, part: home.part.clone() };
        let own = repository(&checkout.tree(), &home, name_of(commit)?)?;
        asked(&own, "read the commit", &["read-tree", commit])?;
        asked(&own, "check out the commit", &["checkout-index", "--all", "--force", "--index", "--quiet"])?;
        let path = checkout.path();
        // The project may exist only in the workspace and not in the commit yet.
        std::fs::create_dir_all(&path).map_err(|source| Error::File { path, source })?;
        Ok(checkout)
    }

    /// Copies the files of the workspace: tracked ones, and untracked ones that are not ignored.
    pub fn of_workspace(root: &Path) -> Result<Self, Error> {
        let files = TreeFiles::of(root)?;
        let home = Home::of(root)?;
        let part = home.as_ref().map(|home| home.part.clone()).unwrap_or_default();
        let checkout = Self { place: TempDir::new(root)?, part };
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

    /// Checks out a commit of another repository next to the checkout, in a directory of this name. From
    /// there the project's own checkout has the name `own`.
    pub fn beside(&self, root: &Path, commit: &str, (folder, own): (&str, &str)) -> Result<(), Error> {
        let home = Home::must(root)?;
        let tree = self.place.path.join(folder);
        let failed = |source| Error::File { path: tree.clone(), source };
        if tree.symlink_metadata().is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        let git = repository(&tree, &home, name_of(commit)?)?;
        asked(&git, "read the commit", &["read-tree", commit])?;
        asked(&git, "check out the commit", &["checkout-index", "--all", "--force", "--index", "--quiet"])?;
        let own = self.place.path.join(own);
        match own.symlink_metadata() {
            Ok(_) => Ok(()),
            Err(_) => symlink(TREE, own).map_err(failed),
        }
    }

    /// The directory that contains the checkout and its neighbors.
    pub(crate) fn around(&self) -> &Path {
        &self.place.path
    }

    /// The root of the project in it.
    pub fn path(&self) -> PathBuf {
        self.tree().join(&self.part)
    }

    /// The whole checkout: the repository that the project is part of.
    pub fn tree(&self) -> PathBuf {
        self.place.path.join(TREE)
    }
}

/// A git directory of our own without files, to query commits.
pub(super) fn bare(place: &TempDir, home: &Home, commit: &str) -> Result<Repository, Error> {
    repository(&place.path.join(TREE), home, commit)
}

/// Creates a git directory of our own in a checkout, at the commit and with the objects of the repository.
fn repository(tree: &Path, home: &Home, commit: &str) -> Result<Repository, Error> {
    let git = tree.join(".git");
    let (objects, shallow) = home.objects()?;
    // A name of 64 digits belongs to a SHA-256 repository.
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

/// Copies one file into a temporary checkout, keeping its executable bit.
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
