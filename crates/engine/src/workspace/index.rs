//! What was read of plan files at the last listing, so that ten thousand of them need not be read to be
//! listed again. Kept outside the workspace and trusted only for files that have not changed since; losing it
//! costs one slow listing.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use planwright_core::plan::view::Summary;
use serde::{Deserialize, Serialize};

use crate::store::state_dir;
use crate::workspace::project::Project;

/// Fewer files than this are read again: nobody notices the time.
const FILES_MIN: usize = 200;
/// One file in this many may be new before the record is rewritten.
const NEW_SHARE: usize = 20;
/// A file that changed this shortly before it was read may have changed again without a visible difference.
const RACE: Duration = Duration::from_secs(2);
/// Larger than any project's; a larger record is not ours.
const BYTES_MAX: u64 = 64 << 20;

/// Shows whether a file was touched: device, inode, size, modification and change times. The change time
/// cannot be set by anyone.
pub(crate) type FileStamp = [i64; 7];

pub(crate) struct PlanIndex {
    /// `None` if nothing is to be kept.
    record: Option<PathBuf>,
    head: Head,
    known: HashMap<String, PlanRead>,
    new: Mutex<Vec<PlanRead>>,
    used: AtomicUsize,
    now: SystemTime,
}

/// What invalidates the whole record when it changes: the root, the program, how plans are read.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    root: String,
    program: FileStamp,
    bytes_max: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PlanRead {
    path: String,
    stamp: FileStamp,
    /// `None` if it is not a plan.
    plan: Option<Summary>,
}

pub(crate) enum IndexEntry<'a> {
    /// It must be read.
    Nothing,
    NoPlan,
    Plan(&'a Summary),
}

impl PlanIndex {
    /// The record of the last listing below the root of a project.
    pub(crate) fn of(project: &Project) -> Self {
        let head = Head {
            root: project.root.to_string_lossy().into_owned(),
            program: std::env::current_exe()
                .and_then(|path| path.metadata())
                .map(|data| stamp(&data))
                .unwrap_or_default(),
            bytes_max: project.config.limits.plan_bytes,
        };
        // A forced dialect finds other plans.
        let record = project.dialect.is_none().then(|| record_of(&project.root)).flatten();
        let known = record.as_deref().map(|record| read(record, &head)).unwrap_or_default();
        Self { record, head, known, new: Mutex::default(), used: AtomicUsize::new(0), now: SystemTime::now() }
    }

    /// What is known about the file shown as `path`.
    pub(crate) fn known(&self, path: &str, stamp: &FileStamp) -> IndexEntry<'_> {
        let Some(sight) = self.known.get(path).filter(|sight| sight.stamp == *stamp) else {
            return IndexEntry::Nothing;
        };
        self.used.fetch_add(1, Ordering::Relaxed);
        sight.plan.as_ref().map_or(IndexEntry::NoPlan, IndexEntry::Plan)
    }

    /// Notes what a file is that had this stamp before it was read.
    pub(crate) fn note(&self, path: String, stamp: FileStamp, plan: Option<Summary>) {
        let changed = UNIX_EPOCH + Duration::from_secs(stamp[5].max(stamp[3]).max(0).cast_unsigned());
        let is_settled = self.now.duration_since(changed).is_ok_and(|age| age > RACE);
        // A file that is unreadable now may be readable next time.
        if self.record.is_some() && is_settled && plan.as_ref().is_none_or(|plan| plan.fault.is_none()) {
            self.new.lock().unwrap_or_else(PoisonError::into_inner).push(PlanRead { path, stamp, plan });
        }
    }

    /// Writes the record if that saves more than it costs.
    pub(crate) fn keep(self) {
        let Self { record: Some(record), head, mut known, new, used, .. } = self else { return };
        let new = new.into_inner().unwrap_or_else(PoisonError::into_inner);
        if used.into_inner() + new.len() < FILES_MIN || new.len() * NEW_SHARE <= known.len() {
            return;
        }
        known.extend(new.into_iter().map(|sight| (sight.path.clone(), sight)));
        // Without a record the next listing is slow, and nothing else.
        write(&record, &head, &known).ok();
    }
}

pub(crate) fn stamp(data: &Metadata) -> FileStamp {
    [
        data.dev().cast_signed(),
        data.ino().cast_signed(),
        data.size().cast_signed(),
        data.mtime(),
        data.mtime_nsec(),
        data.ctime(),
        data.ctime_nsec(),
    ]
}

fn record_of(root: &Path) -> Option<PathBuf> {
    let folder = state_dir::of_project(root).ok()?;
    // All worktrees of a repository share the directory.
    let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    Some(folder.join(format!("seen-{}", &name[..16])))
}

fn read(record: &Path, head: &Head) -> HashMap<String, PlanRead> {
    let is_ours = record.symlink_metadata().is_ok_and(|data| data.is_file() && data.len() <= BYTES_MAX);
    let text = is_ours.then(|| std::fs::read_to_string(record).ok()).flatten().unwrap_or_default();
    let mut lines = text.lines();
    if lines.next().and_then(|line| serde_json::from_str::<Head>(line).ok()).as_ref() != Some(head) {
        return HashMap::new();
    }
    let sights = lines.filter_map(|line| serde_json::from_str::<PlanRead>(line).ok());
    sights.map(|sight| (sight.path.clone(), sight)).collect()
}

#[expect(clippy::disallowed_methods, reason = "this record is not a plan file")]
fn write(record: &Path, head: &Head, known: &HashMap<String, PlanRead>) -> std::io::Result<()> {
    let mut text = serde_json::to_string(head)?;
    for sight in known.values() {
        text.push('\n');
        text.push_str(&serde_json::to_string(sight)?);
    }
    let folder = record.parent().unwrap_or(Path::new("/"));
    state_dir::create(folder).map_err(std::io::Error::other)?;
    // Two concurrent listings write two files; either may win.
    let beside = record.with_extension(std::process::id().to_string());
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, record)
}
