//! Programs on the search path: whether there is one, where planwright's own tools are, and which ones an approval has to name.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::{Access, access};

/// In the place of a hash.
const UNREADABLE: &str = "unreadable";

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

/// A program that planwright itself relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Bash,
    Git,
}

impl Tool {
    pub(crate) const ALL: [Self; 2] = [Self::Bash, Self::Git];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Git => "git",
        }
    }

    /// Where it is. Looked for once, before any agent runs: what an agent puts on the search path later is not found. Never in
    /// one of these directories, into which an agent writes.
    pub(crate) fn path(self, closed: &[&Path]) -> PathBuf {
        static FOUND: [OnceLock<Option<PathBuf>>; 2] = [OnceLock::new(), OnceLock::new()];
        let place = match self {
            Self::Bash => &FOUND[0],
            Self::Git => &FOUND[1],
        };
        let is_open = |path: &&PathBuf| !closed.iter().any(|root| path.starts_with(root));
        let known = place.get_or_init(|| find(self.name(), &outside(closed)));
        let found = known.as_ref().filter(is_open).cloned();
        // By name where there is none: whoever starts it says that it is missing.
        found.or_else(|| find(self.name(), &outside(closed))).unwrap_or_else(|| self.name().into())
    }
}

/// PATH without directories that somebody could put a program into: relative ones and those below the roots.
pub(crate) fn outside(roots: &[&Path]) -> OsString {
    let path = search_path();
    let is_outside =
        |folder: &PathBuf| folder.is_absolute() && !roots.iter().any(|root| folder.starts_with(root));
    std::env::join_paths(std::env::split_paths(&path).filter(is_outside)).unwrap_or_default()
}

/// A program as an approval names it: where it is, and its hash if this user could replace it. `None` if there is none.
pub(crate) fn pin(name: &str, path: &OsStr) -> io::Result<Option<String>> {
    let found = match name.starts_with('/') {
        true => Some(PathBuf::from(name)).filter(|file| is_program(file)),
        false => find(name, path),
    };
    let Some(found) = found else { return Ok(None) };
    let real = found.canonicalize().unwrap_or_else(|_| found.clone());
    let mut before = std::env::split_paths(path).take_while(|folder| !found.starts_with(folder));
    let shadows = !name.starts_with('/') && before.any(|folder| is_ours(&folder));
    let places = [Some(found.as_path()), found.parent(), Some(real.as_path()), real.parent()];
    let shown = found.to_string_lossy().into_owned();
    if !shadows && !places.into_iter().flatten().any(is_ours) {
        return Ok(Some(shown));
    }
    match hash(&real) {
        Ok(hash) => Ok(Some(format!("{shown} {hash}"))),
        // It may be run and not read.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(Some(format!("{shown} {UNREADABLE}")))
        }
        Err(error) => Err(error),
    }
}

/// Whether this user may write there.
fn is_ours(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// What tells that a file is the one that was read before. No user can set the time of the last change.
type Stamp = (u64, u64, u64, i64, i64);

fn hash(file: &Path) -> io::Result<String> {
    static KNOWN: OnceLock<Mutex<HashMap<Stamp, String>>> = OnceLock::new();
    let known = || KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let data = file.metadata()?;
    let stamp = (data.dev(), data.ino(), data.size(), data.ctime(), data.ctime_nsec());
    if let Some(hash) = known().get(&stamp) {
        return Ok(hash.clone());
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(file)?)?;
    let hash = hasher.finalize().to_hex().to_string();
    known().insert(stamp, hash.clone());
    Ok(hash)
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
