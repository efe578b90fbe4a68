//! The trees that planwright made of a repository: which folder is one, and whose. It lies in the state folder, outside of
//! every tree, so that nothing in a tree can say to which repository it belongs.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::state_dir;
use super::state_dir::Error;

/// The folder of the registry, below the state folder.
const FOLDER: &str = "trees";
/// How much of an entry is read.
const ENTRY_BYTES_MAX: u64 = 1 << 16;

/// A working copy of a repository, with a git folder of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// The folder: the top of the working copy, without links on the way.
    pub path: PathBuf,
    /// The git folder that all worktrees of the user's repository have in common.
    pub repository: PathBuf,
    /// The folder that it is a copy of: the top of the user's working copy.
    pub origin: PathBuf,
    /// What it is called.
    pub name: String,
    /// The plan that it is for, relative to the root of the project.
    pub plan: Option<PathBuf>,
    /// The root of the project that the plan is in, where that is another: the tree lies beside the one of that project.
    #[serde(default)]
    pub owner: Option<PathBuf>,
    /// The branch of the user's repository that its work goes to.
    pub branch: Option<String>,
    /// The commit that it began with.
    pub base: String,
    /// The ports that it has for itself.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// When it was made, in milliseconds since 1970.
    pub created_at_ms: u64,
}

/// All trees that are known, by path. An entry that can't be read is none.
pub fn trees() -> Vec<Tree> {
    let entries = folder().read_dir().into_iter().flatten().flatten();
    let mut trees: Vec<Tree> = entries.filter_map(|entry| read(&entry.path()).ok().flatten()).collect();
    trees.sort_by(|one, other| one.path.cmp(&other.path));
    trees
}

/// The tree whose top is exactly this folder.
pub fn tree_at(top: &Path) -> Result<Option<Tree>, Error> {
    let entry = entry_of(top);
    let tree = read(&entry).map_err(|source| Error::Repository { path: entry, source })?;
    // Two paths with one hash are not to be expected; but a path says more than its hash.
    Ok(tree.filter(|tree| tree.path == top))
}

/// Makes a tree known, or what is known of it new.
pub fn register(tree: &Tree) -> Result<(), Error> {
    let text = serde_json::to_vec_pretty(tree).map_err(|source| Error::Folder {
        path: tree.path.clone(),
        source: io::Error::new(io::ErrorKind::InvalidData, source),
    })?;
    state_dir::keep_durably(&folder(), &name_of(&tree.path), &text)
}

/// Forgets a tree. One that is not known is forgotten already.
pub fn forget(top: &Path) -> Result<(), Error> {
    let entry = entry_of(top);
    match std::fs::remove_file(&entry) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Folder { path: entry, source }),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn folder() -> PathBuf {
    state_dir::folder().join(FOLDER)
}

fn name_of(top: &Path) -> String {
    blake3::hash(top.as_os_str().as_encoded_bytes()).to_hex()[..32].to_owned()
}

fn entry_of(top: &Path) -> PathBuf {
    folder().join(name_of(top))
}

fn read(entry: &Path) -> io::Result<Option<Tree>> {
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
