//! Programs on the search path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Whether a program can be started by its name or path.
pub fn has_program(name: &str) -> bool {
    programs().have(name)
}

pub(crate) struct Programs {
    folders: Vec<PathBuf>,
}

/// The directories searched for programs.
pub(crate) fn programs() -> Programs {
    Programs { folders: std::env::split_paths(&search_path()).collect() }
}

/// PATH, or the usual one if it is not set.
pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

impl Programs {
    pub(crate) fn have(&self, name: &str) -> bool {
        // A name with a slash is a path, and was checked as one.
        !name.contains('/') && self.folders.iter().any(|folder| is_program(&folder.join(name)))
            || (name.starts_with('/') && is_program(Path::new(name)))
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
