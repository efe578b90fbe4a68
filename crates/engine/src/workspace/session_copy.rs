//! Where the copies of committed plans are that people review: in the state directory of the project.

use std::path::{Path, PathBuf};

use crate::store::file::ARCHIVE;
use crate::store::state_dir;

pub(crate) const THREADS: &str = "threads";

/// The directory of the copies of a project, with links resolved.
pub(crate) fn folder(root: &Path) -> Result<PathBuf, state_dir::Error> {
    let folder = state_dir::of_project(root)?.join(THREADS);
    Ok(folder.canonicalize().unwrap_or(folder))
}

pub(crate) fn plans(root: &Path) -> Vec<PathBuf> {
    let Ok(folder) = folder(root) else { return Vec::new() };
    // The directory does not exist before the first commit.
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let is_plan = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        !is_hidden && name != ARCHIVE && path.symlink_metadata().is_ok_and(|data| data.is_dir())
    };
    let mut plans: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_plan).collect();
    plans.sort();
    plans
}
