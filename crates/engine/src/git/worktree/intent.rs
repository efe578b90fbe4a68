//! What is about to be done to a worktree, recorded first: after a crash the next process finds the intent
//! and finishes it or reverts it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::store::state_dir;

/// The directory of notes and locks, in the state directory of the repository.
const FOLDER: &str = "worktrees";
const NOTE_BYTES_MAX: u64 = 4096;
/// A process that is just starting has our open files for an instant. It must not be mistaken for a worker.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(4);

/// What is being done to a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorktreeIntent {
    /// It is created, or prepared for work.
    Add,
    Remove,
}

#[derive(Debug, Clone)]
pub(super) struct WorktreeIntents {
    folder: PathBuf,
}

impl WorktreeIntents {
    pub(super) fn of(states: &Path) -> Self {
        Self { folder: states.join(FOLDER) }
    }

    /// What is being done to a worktree, or was when the process died.
    pub(super) fn get(&self, name: &str) -> Option<WorktreeIntent> {
        let text = crate::store::plan_file::read_text(&self.folder.join(name), NOTE_BYTES_MAX).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Records what is about to be done; durable when this returns.
    pub(super) fn set(&self, name: &str, intent: WorktreeIntent) -> Result<(), Error> {
        let text = serde_json::to_vec(&intent).unwrap_or_default();
        Ok(state_dir::keep_durably(&self.folder, name, &text)?)
    }

    pub(super) fn clear(&self, name: &str) -> Result<(), Error> {
        let path = self.folder.join(name);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::File { path, source }),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Everything recorded and not cleared.
    pub(super) fn all(&self) -> Vec<(String, WorktreeIntent)> {
        let entries = self.folder.read_dir().into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut all: Vec<(String, WorktreeIntent)> =
            names.filter_map(|name| self.get(&name).map(|intent| (name, intent))).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    }

    /// Waits for exclusive access to the set of worktrees.
    pub(super) fn lock(&self) -> Result<File, Error> {
        let lock = self.file(".lock")?;
        lock.lock().map_err(|source| Error::File { path: self.folder.clone(), source })?;
        Ok(lock)
    }

    /// The right to change one worktree; `None` while another process has it.
    pub(super) fn lock_tree(&self, name: &str) -> Result<Option<File>, Error> {
        let lock = self.file(&format!(".{name}.lock"))?;
        for _ in 0..TRIES {
            match lock.try_lock() {
                Ok(()) => return Ok(Some(lock)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => {
                    return Err(Error::File { path: self.folder.clone(), source });
                }
            }
        }
        Ok(None)
    }

    fn file(&self, name: &str) -> Result<File, Error> {
        state_dir::create(&self.folder)?;
        let path = self.folder.join(name);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        opened.map_err(|source| Error::File { path, source })
    }
}
