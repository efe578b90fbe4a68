//! Waits for file changes. A difference is only a reason to look again, never a fact about what is there.
//!
//! It polls a handful of files several times a second: next to free, and right on network and container file systems,
//! where kernel notifications get lost.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the files are checked. Editors write a file in several steps, which people see as one change: it is complete once two checks
/// in a row see the same.
const LOOK: Duration = Duration::from_millis(100);

/// Tells versions of a file apart without reading it: device, inode, size and change time.
type Version = Option<(u64, u64, u64, (i64, i64))>;

pub struct Watch {
    files: Vec<PathBuf>,
    seen: Vec<Version>,
}

impl Watch {
    /// Watches these files from now on. One that is missing may come.
    pub fn of(files: &[PathBuf]) -> Self {
        Self { files: files.to_vec(), seen: versions(files) }
    }

    /// Waits until one of the files has changed since the last time, and has settled.
    pub fn wait(&mut self) {
        let mut last = versions(&self.files);
        loop {
            std::thread::sleep(LOOK);
            let now = versions(&self.files);
            let is_settled = now == last;
            if is_settled && now != self.seen {
                self.seen = now;
                return;
            }
            last = now;
        }
    }
}

fn versions(files: &[PathBuf]) -> Vec<Version> {
    files.iter().map(|file| version(file)).collect()
}

fn version(file: &Path) -> Version {
    let data = file.metadata().ok()?;
    // The time of the last change of anything about it: nobody can set it back.
    Some((data.dev(), data.ino(), data.len(), (data.ctime(), data.ctime_nsec())))
}
