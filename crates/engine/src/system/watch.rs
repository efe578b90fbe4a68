//! Waits for file changes. An event is only a reason to look again, never a fact about what is there.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify_debouncer_full::notify::{self, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};

/// Editors write a file in several steps; to people they are one change.
const SETTLED: Duration = Duration::from_millis(150);

pub struct Watch {
    /// Dropping it ends the watching.
    _debouncer: Debouncer<notify::RecommendedWatcher, RecommendedCache>,
    changes: mpsc::Receiver<()>,
}

impl Watch {
    /// Watches the directories of these files, since editors replace files by new ones.
    pub fn of(files: &[PathBuf]) -> Result<Self, notify::Error> {
        let (tell, changes) = mpsc::channel();
        let wanted: Vec<_> =
            files.iter().filter_map(|file| file.file_name().map(ToOwned::to_owned)).collect();
        let mut debouncer = new_debouncer(SETTLED, None, move |result: DebounceEventResult| {
            let is_ours = result.is_ok_and(|events| {
                let paths =
                    events.iter().filter(|event| !event.kind.is_access()).flat_map(|event| &event.paths);
                paths
                    .filter_map(|path| path.file_name())
                    .any(|name| wanted.iter().any(|wanted| wanted == name))
            });
            if is_ours {
                // Nothing listens any more once the watch is being dropped.
                tell.send(()).ok();
            }
        })?;
        let mut folders: Vec<&Path> = files.iter().filter_map(|file| file.parent()).collect();
        folders.sort();
        folders.dedup();
        for folder in folders {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            debouncer.watch(folder, RecursiveMode::NonRecursive)?;
        }
        Ok(Self { _debouncer: debouncer, changes })
    }

    /// Waits until one of the files may have changed. `false` if no more events can come.
    pub fn wait(&self) -> bool {
        let is_alive = self.changes.recv().is_ok();
        while self.changes.try_recv().is_ok() {}
        is_alive
    }
}
