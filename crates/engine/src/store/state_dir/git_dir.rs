//! The git directory of a working copy, found without running git. What a working copy says about itself is a
//! claim: only the repository that it names can confirm it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Error, is_absence, record};
use crate::store::worktree_registry;

/// How much of a `.git`, `commondir` or `config` file is read: a few lines, with room to spare.
const POINTER_BYTES_MAX: u64 = 8192;

/// How a working copy is connected to its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GitDir {
    /// There is no repository.
    None,
    /// Its own `.git` is the repository.
    Own(PathBuf),
    /// The repository lists it as one of its worktrees or submodules.
    Listed(PathBuf),
    /// Only the working copy says so, and whoever works in it can write that.
    Claimed(PathBuf),
}

impl GitDir {
    /// How the working copy with this top is connected to its repository.
    pub(super) fn of(top: &Path) -> Result<Self, Error> {
        let git = top.join(".git");
        let error = |source| Error::Repository { path: git.clone(), source };
        if !is_repository(&git).map_err(error)? {
            return Ok(Self::None);
        }
        let own = own_git_folder(top)?.canonicalize().map_err(error)?;
        let common = common_of(&own)?;
        let is_plain = git.symlink_metadata().map_err(error)?.is_dir();
        Ok(match common == own {
            true if is_plain => Self::Own(common),
            true if is_confirmed(&own, top, "config") => Self::Listed(common),
            // The list has to be the repository's: a `commondir` can be written anywhere.
            false
                if own.parent() == Some(&common.join("worktrees")) && is_confirmed(&own, &git, "gitdir") =>
            {
                Self::Listed(common)
            }
            true | false => Self::Claimed(common),
        })
    }
}

/// The nearest directory with a `.git`. A read error is not a "no": that would lead to another state
/// directory, where nothing of the past is known.
pub(crate) fn tree_of(root: &Path) -> Result<Option<&Path>, Error> {
    for folder in root.ancestors() {
        // In a worktree of ours it may have been removed, and the next one above is another repository.
        if worktree_registry::tree_at(folder)?.is_some() {
            return Ok(Some(folder));
        }
        let git = folder.join(".git");
        match is_repository(&git) {
            Ok(true) => return Ok(Some(folder)),
            // The same goes for every repository with a record.
            Ok(false) if record::had_repository(folder) => return Ok(Some(folder)),
            Ok(false) => {}
            Err(source) => return Err(Error::Repository { path: git, source }),
        }
    }
    Ok(None)
}

/// Whether a `.git` exists and is not empty: sandboxes leave empty ones as mount points.
pub(crate) fn is_repository(git: &Path) -> io::Result<bool> {
    match git.symlink_metadata() {
        Ok(data) if data.is_dir() => match git.read_dir() {
            Ok(mut entries) => Ok(entries.next().is_some()),
            // An unreadable directory is not known to be empty.
            Err(error) if is_absence(&error) => Ok(true),
            Err(error) => Err(error),
        },
        Ok(_) => Ok(true),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The git directory that all worktrees of a repository share.
pub(crate) fn common_git_folder(tree: &Path) -> Result<PathBuf, Error> {
    // A worktree of ours belongs to the repository it was created from, whatever is in it.
    if let Some(known) = worktree_registry::tree_at(tree)? {
        return known
            .repository
            .canonicalize()
            .map_err(|source| Error::Repository { path: known.repository, source });
    }
    common_of(&own_git_folder(tree)?)
}

/// The git directory that a working copy names.
fn own_git_folder(tree: &Path) -> Result<PathBuf, Error> {
    let git = tree.join(".git");
    let error = |source| Error::Repository { path: git.clone(), source };
    if git.is_dir() {
        return Ok(git);
    }
    let text = pointer(&git).map_err(error)?;
    let target = text.strip_prefix(b"gitdir:").map(path_in).filter(|target| !target.as_os_str().is_empty());
    let target = target
        .ok_or_else(|| error(io::Error::new(io::ErrorKind::InvalidData, "it contains no `gitdir:`")))?;
    Ok(tree.join(target))
}

/// The repository of a git directory: itself, unless it is that of a worktree.
fn common_of(own: &Path) -> Result<PathBuf, Error> {
    let error = |path: &Path, source| Error::Repository { path: path.to_owned(), source };
    let common = own.join("commondir");
    let is_worktree = common.try_exists().map_err(|source| error(&common, source))?;
    let folder = match is_worktree {
        true => own.join(path_in(&pointer(&common).map_err(|source| error(&common, source))?)),
        false => own.to_owned(),
    };
    folder.canonicalize().map_err(|source| error(own, source))
}

/// Whether a git directory names the working copy that names it: a worktree's in `gitdir`, a submodule's as
/// `core.worktree` in `config`.
fn is_confirmed(own: &Path, named: &Path, file: &str) -> bool {
    let Ok(text) = pointer(&own.join(file)) else { return false };
    let back = match file {
        "config" => {
            let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            lines.find_map(|line| line.strip_prefix(b"worktree = "))
        }
        _ => Some(text.as_slice()),
    };
    let back = back.and_then(|back| own.join(path_in(back)).canonicalize().ok());
    back.is_some() && back == named.canonicalize().ok()
}

/// The path in a pointer file: any bytes, as the file system has them.
fn path_in(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text.trim_ascii()))
}

/// The text of a small pointer file. Opening a pipe in its place would block forever.
fn pointer(path: &Path) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
    }
    let mut text = Vec::new();
    File::open(path)?.take(POINTER_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}
