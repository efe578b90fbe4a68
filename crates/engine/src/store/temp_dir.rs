//! Temporary directories outside every workspace: removed on drop, and swept if their creator died first.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::store::state_dir;

/// Their directory, below the cache.
const FOLDER: &str = "checkouts";
/// The lock held while a directory is in use. The kernel releases it when the process dies, however that
/// happens.
const LOCK: &str = "lock";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    State(#[from] state_dir::Error),
    #[error("cannot copy or read {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A temporary directory.
#[derive(Debug)]
pub(crate) struct TempDir {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl TempDir {
    /// Creates a directory, and removes those no longer in use.
    pub(crate) fn new(root: &Path) -> Result<Self, Error> {
        let folder = state_dir::cache_of(&state_dir::cache().join(FOLDER), root)?;
        state_dir::create(&folder)?;
        Self::within(&folder).map_err(|source| Error::File { path: folder, source })
    }

    /// The same in a given parent directory.
    pub(crate) fn within(folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        // Between creating a directory and locking it, nobody may take it for a leftover.
        let door = lock_file(&folder.join(LOCK))?;
        door.lock()?;
        sweep(folder);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // A dead process may have had our id, and its leftovers may have this name.
        let names = (0..).map(|again| format!("{}-{count}-{again}", std::process::id()));
        for name in names.take(100) {
            let path = folder.join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    let lock = lock_file(&path.join(LOCK))?;
                    lock.lock()?;
                    return Ok(Self { path, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // The next sweep removes what cannot be removed now.
        remove(&self.path).ok();
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

/// Removes the directories whose creators are dead.
fn sweep(folder: &Path) {
    for path in unused(folder) {
        // The next sweep tries again.
        remove(&path).ok();
    }
}

/// The directories whose creators are dead.
fn unused(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.retain(|path| {
        let held = OpenOptions::new().write(true).open(path.join(LOCK));
        let is_used = held.is_ok_and(|lock| lock.try_lock().is_err());
        !is_used && path.symlink_metadata().is_ok_and(|data| data.is_dir())
    });
    found
}

/// How many unused directories of a project have not been swept yet.
pub(crate) fn abandoned(root: &Path) -> usize {
    state_dir::cache_of(&state_dir::cache().join(FOLDER), root)
        .map(|folder| unused(&folder).len())
        .unwrap_or_default()
}

/// Removes a directory, even one without write permission.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(folder);
            std::fs::remove_dir_all(folder)
        }
        removed => removed,
    }
}

fn open_up(folder: &Path) {
    // If this fails, the second attempt to remove it says why.
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).ok();
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
