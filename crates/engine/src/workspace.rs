//! The place where the work is done. Tells what an attempt changed, by looking at the files themselves: git is not asked,
//! because in a folder that an agent can write to, git runs what the agent configured.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use ignore::WalkBuilder;

/// The most files that are looked at.
const FILES_MAX: usize = 200_000;
/// The most changed files that are named.
const NAMED_MAX: usize = 200;

/// What the files of a workspace looked like at one moment.
pub struct Snapshot(BTreeMap<String, (u64, Option<SystemTime>, u64)>);

impl Snapshot {
    /// Looks at every file that is not ignored.
    pub fn of(root: &Path) -> Self {
        use std::os::unix::fs::MetadataExt;
        let walk =
            WalkBuilder::new(root).hidden(false).filter_entry(|entry| entry.file_name() != ".git").build();
        // A file that vanishes while we look is a file that is not there.
        let files = walk.flatten().filter_map(|entry| {
            let data = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let path = entry.path().strip_prefix(root).ok()?.to_string_lossy().into_owned();
            Some((path, (data.len(), data.modified().ok(), data.ino())))
        });
        Self(files.take(FILES_MAX).collect())
    }

    /// The files that were made, changed or removed since `earlier`.
    pub fn changed_since(&self, earlier: &Self) -> Vec<String> {
        let changed =
            self.0.iter().filter(|(path, look)| earlier.0.get(*path) != Some(look)).map(|(path, _)| path);
        let gone = earlier.0.keys().filter(|path| !self.0.contains_key(*path));
        let mut paths: Vec<String> = changed.chain(gone).cloned().collect();
        paths.sort();
        paths.truncate(NAMED_MAX);
        paths
    }
}
