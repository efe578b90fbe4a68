//! The worktrees that planwright created for a repository: their directories and owners. Kept in the state
//! directory, outside every worktree, so that nothing in a worktree can claim a repository.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::state_dir;
use super::state_dir::Error;

const FOLDER: &str = "trees";
const ENTRY_BYTES_MAX: u64 = 1 << 16;

/// A working copy of a repository, with its own git directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredWorktree {
    /// The top of the working copy, with links resolved.
    pub path: PathBuf,
    /// The git directory that all worktrees of the user's repository share.
    pub repository: PathBuf,
    /// The top of the user's working copy that it was created from.
    pub origin: PathBuf,
    pub name: String,
    /// Its plan, relative to the root of the project.
    pub plan: Option<PathBuf>,
    /// The root of the plan's project, if that is another one: the worktree is next to that project's.
    #[serde(default)]
    pub owner: Option<PathBuf>,
    /// The branch of the user's repository that receives its work.
    pub branch: Option<String>,
    /// The commit it started with.
    pub base: String,
    /// Its reserved ports.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// In milliseconds since 1970.
    pub created_at_ms: u64,
}

/// All registered worktrees, by path. Unreadable entries are skipped.
pub fn trees() -> Vec<RegisteredWorktree> {
    let entries = folder().ok().and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
    let mut trees: Vec<RegisteredWorktree> =
        entries.filter_map(|entry| read(&entry.path()).ok().flatten()).collect();
    trees.sort_by(|one, other| one.path.cmp(&other.path));
    trees
}

/// The worktree whose top is exactly this directory.
pub fn tree_at(top: &Path) -> Result<Option<RegisteredWorktree>, Error> {
    // Without a state directory there are none.
    let Ok(entry) = entry_of(top) else { return Ok(None) };
    let tree = read(&entry).map_err(|source| Error::Repository { path: entry, source })?;
    // A hash collision is not expected, but the path is authoritative.
    Ok(tree.filter(|tree| tree.path == top))
}

/// Registers a worktree, or updates its entry.
pub fn register(tree: &RegisteredWorktree) -> Result<(), Error> {
    let text = serde_json::to_vec_pretty(tree).map_err(|source| Error::Folder {
        path: tree.path.clone(),
        source: io::Error::new(io::ErrorKind::InvalidData, source),
    })?;
    state_dir::keep_durably(&folder()?, &name_of(&tree.path), &text)
}

/// Forgets a worktree. Succeeds for an unknown one.
pub fn forget(top: &Path) -> Result<(), Error> {
    let entry = entry_of(top)?;
    match std::fs::remove_file(&entry) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Folder { path: entry, source }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Notes that the working copy at `from` is now at `to`: its worktrees belong to it as before.
pub(super) fn relocate(from: &Path, to: &Path) -> Result<(), Error> {
    let moved = |path: &Path| path.strip_prefix(from).map_or_else(|_| path.to_owned(), |rest| to.join(rest));
    for tree in trees() {
        let new = RegisteredWorktree {
            repository: moved(&tree.repository),
            origin: moved(&tree.origin),
            owner: tree.owner.as_deref().map(moved),
            ..tree.clone()
        };
        if new != tree {
            register(&new)?;
        }
    }
    Ok(())
}

fn folder() -> Result<PathBuf, Error> {
    Ok(state_dir::folder()?.join(FOLDER))
}

fn name_of(top: &Path) -> String {
    blake3::hash(top.as_os_str().as_encoded_bytes()).to_hex()[..32].to_owned()
}

fn entry_of(top: &Path) -> Result<PathBuf, Error> {
    Ok(folder()?.join(name_of(top)))
}

fn read(entry: &Path) -> io::Result<Option<RegisteredWorktree>> {
    if entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
        return Ok(None);
    }
    match entry.symlink_metadata() {
        Ok(data) if data.is_file() && data.len() <= ENTRY_BYTES_MAX => {}
        Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    Ok(Some(serde_json::from_slice(&std::fs::read(entry)?)?))
}
