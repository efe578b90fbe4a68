//! What was seen of plan files when they were last listed, so that ten thousand of them need not be read to be listed again.
//! Kept outside the workspace and believed only of a file that nobody has touched since; thrown away, it costs one slow list.

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

/// Fewer files than this are read again: that takes no longer than a person notices.
const FILES_MIN: usize = 200;
/// One file in so many may be new before the record is written again.
const NEW_SHARE: usize = 20;
/// A file that was changed so shortly before it was read may have been changed again since without its times telling.
const RACE: Duration = Duration::from_secs(2);
/// More than any project has; a record that is larger is not ours.
const BYTES_MAX: u64 = 64 << 20;

/// What tells whether a file was touched: device, inode, size, and the times of the last change of content and of anything.
/// The last one can't be set by anybody.
pub(crate) type Stamp = [i64; 7];

/// What was seen of files below one root.
pub(crate) struct Seen {
    /// Where it is kept; `None` where nothing is to be kept.
    record: Option<PathBuf>,
    head: Head,
    known: HashMap<String, Sight>,
    new: Mutex<Vec<Sight>>,
    used: AtomicUsize,
    now: SystemTime,
}

/// What makes the whole record worthless when it changes: the root, the program, how plans are read.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    root: String,
    program: Stamp,
    bytes_max: usize,
}

/// What was seen of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sight {
    path: String,
    stamp: Stamp,
    /// `None`: it is no plan.
    plan: Option<Summary>,
}

/// What is known of a file.
pub(crate) enum Known<'a> {
    /// It has to be read.
    Nothing,
    /// It is no plan.
    NoPlan,
    /// It is this plan.
    Plan(&'a Summary),
}

impl Seen {
    /// What was seen below the root of a project when it was last listed.
    pub(crate) fn of(project: &Project) -> Self {
        let head = Head {
            root: project.root.to_string_lossy().into_owned(),
            program: std::env::current_exe()
                .and_then(|path| path.metadata())
                .map(|data| stamp(&data))
                .unwrap_or_default(),
            bytes_max: project.config.limits.plan_bytes,
        };
        // Whoever says which dialect plans are written in sees other plans.
        let record = project.dialect.is_none().then(|| record_of(&project.root)).flatten();
        let known = record.as_deref().map(|record| read(record, &head)).unwrap_or_default();
        Self { record, head, known, new: Mutex::default(), used: AtomicUsize::new(0), now: SystemTime::now() }
    }

    /// What is known of the file that is shown as `path`.
    pub(crate) fn known(&self, path: &str, stamp: &Stamp) -> Known<'_> {
        let Some(sight) = self.known.get(path).filter(|sight| sight.stamp == *stamp) else {
            return Known::Nothing;
        };
        self.used.fetch_add(1, Ordering::Relaxed);
        sight.plan.as_ref().map_or(Known::NoPlan, Known::Plan)
    }

    /// Notes what a file is that had this stamp before it was read.
    pub(crate) fn note(&self, path: String, stamp: Stamp, plan: Option<Summary>) {
        let changed = UNIX_EPOCH + Duration::from_secs(stamp[5].max(stamp[3]).max(0).cast_unsigned());
        let is_settled = self.now.duration_since(changed).is_ok_and(|age| age > RACE);
        // What can't be read now may be readable the next time.
        if self.record.is_some() && is_settled && plan.as_ref().is_none_or(|plan| plan.fault.is_none()) {
            self.new.lock().unwrap_or_else(PoisonError::into_inner).push(Sight { path, stamp, plan });
        }
    }

    /// Keeps what was seen, where that saves more than it costs.
    pub(crate) fn keep(self) {
        let Self { record: Some(record), head, mut known, new, used, .. } = self else { return };
        let new = new.into_inner().unwrap_or_else(PoisonError::into_inner);
        if used.into_inner() + new.len() < FILES_MIN || new.len() * NEW_SHARE <= known.len() {
            return;
        }
        known.extend(new.into_iter().map(|sight| (sight.path.clone(), sight)));
        // A record that can't be written makes the next list slow, and nothing else.
        write(&record, &head, &known).ok();
    }
}

/// What tells whether a file was touched.
pub(crate) fn stamp(data: &Metadata) -> Stamp {
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
    let folder = state_dir::folder_of(&state_dir::folder(), root).ok()?;
    // All worktrees of a repository share the folder.
    let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    Some(folder.join(format!("seen-{}", &name[..16])))
}

fn read(record: &Path, head: &Head) -> HashMap<String, Sight> {
    let is_ours = record.symlink_metadata().is_ok_and(|data| data.is_file() && data.len() <= BYTES_MAX);
    let text = is_ours.then(|| std::fs::read_to_string(record).ok()).flatten().unwrap_or_default();
    let mut lines = text.lines();
    if lines.next().and_then(|line| serde_json::from_str::<Head>(line).ok()).as_ref() != Some(head) {
        return HashMap::new();
    }
    let sights = lines.filter_map(|line| serde_json::from_str::<Sight>(line).ok());
    sights.map(|sight| (sight.path.clone(), sight)).collect()
}

#[expect(clippy::disallowed_methods, reason = "this record is no plan file")]
fn write(record: &Path, head: &Head, known: &HashMap<String, Sight>) -> std::io::Result<()> {
    let mut text = serde_json::to_string(head)?;
    for sight in known.values() {
        text.push('\n');
        text.push_str(&serde_json::to_string(sight)?);
    }
    let folder = record.parent().unwrap_or(Path::new("/"));
    state_dir::create(folder).map_err(std::io::Error::other)?;
    // Two lists at once write two files; either may win.
    let beside = record.with_extension(std::process::id().to_string());
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, record)
}
