//! The record of a planner session: one file in the state directory, which planners never write, under a lock
//! that the kernel releases when its holder dies. Actions are recorded before they happen; the next process
//! finishes them by the same path.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::workspace::session::{PlanningSession, SessionPlan, SessionRefusal, session_name};
use serde::{Deserialize, Serialize};

use super::{Error, Unfinished, VARIABLE, commit, folder};
use crate::store::{plan_file, state_dir};
use crate::workspace::project::Project;

/// Their directory, in the state directory of the project.
const DESKS: &str = "desks";
/// The version of the format; a record written by a later planwright is left alone.
const VERSION: u32 = 1;
const RECORD_BYTES_MAX: u64 = 1 << 20;
/// How many digits distinguish project directories.
const TREE_DIGITS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SessionRecord {
    version: u32,
    pub(super) desk: PlanningSession,
    /// The running commit; empty if there is none.
    #[serde(default)]
    pub(super) moves: Vec<SessionMove>,
    /// Directories to remove.
    #[serde(default)]
    pub(super) discarded: Vec<PathBuf>,
    /// Whether the directory of the current thread is being cleared.
    #[serde(default)]
    pub(super) is_clearing: bool,
}

impl SessionRecord {
    const fn is_settled(&self) -> bool {
        self.moves.is_empty() && self.discarded.is_empty() && !self.is_clearing
    }
}

/// What a commit does to the copy of one plan, once the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SessionMove {
    pub(super) plan: String,
    /// Its thread; `None` if that was dropped.
    pub(super) thread: Option<String>,
    pub(super) goal: Goal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Goal {
    /// It contains the plan with this digest, replacing the copy with digest `old`.
    Laid {
        digest: String,
        /// The digest of the copy before; `None` if there was none.
        old: Option<String>,
    },
    /// Removed: its author withdrew the plan.
    Gone,
    /// Kept, but no longer a plan of this session.
    Left,
}

/// A session, and the right to change it while this lives.
pub(super) struct SessionLock {
    // Dropping it releases the right.
    _lock: File,
    path: PathBuf,
    pub(super) record: SessionRecord,
}

impl SessionLock {
    /// Waits for the session of this process; creates it if needed.
    pub(super) fn take(project: &Project) -> Result<Self, Error> {
        state_dir::claim_for_project(&project.root)?;
        let path = path_of(project)?;
        let lock = lock(&path)?;
        let held = match read(&path)? {
            Some(record) => Self { _lock: lock, path, record },
            None => {
                let current =
                    SessionPlan::new(&crate::store::random_id::chance()?, folder::allocate(&project.config)?);
                let record = SessionRecord {
                    version: VERSION,
                    desk: PlanningSession::new(current),
                    moves: Vec::new(),
                    discarded: Vec::new(),
                    is_clearing: false,
                };
                let held = Self { _lock: lock, path, record };
                held.save()?;
                held
            }
        };
        held.settled(project)
    }

    /// Waits for the session of this process, if there is one.
    pub(super) fn take_existing(project: &Project) -> Result<Option<Self>, Error> {
        let path = path_of(project)?;
        if plan_file::is_there(&path) { Self::take(project).map(Some) } else { Ok(None) }
    }

    /// Replaces the record as a whole.
    pub(super) fn save(&self) -> Result<(), Error> {
        let failed = |source| Error::Record { path: self.path.clone(), source };
        let text = serde_json::to_string(&self.record).map_err(|error| failed(io::Error::other(error)))?;
        plan_file::put_private(&self.path, &text).map_err(failed)
    }

    /// Finishes what was noted, and returns what could not be: a directory that cannot be removed blocks
    /// nothing else. Every part may run twice.
    pub(super) fn settle(&mut self, project: &Project) -> Result<Vec<Error>, Error> {
        let mut left = Vec::new();
        let record = &mut self.record;
        if record.is_settled() {
            return Ok(left);
        }
        for path in std::mem::take(&mut record.discarded) {
            if let Err(source) = plan_file::remove_folder(&path) {
                record.discarded.push(path.clone());
                left.push(Error::Undiscarded { path, source });
            }
        }
        // Not retried later: by then a new plan may be there.
        if std::mem::take(&mut record.is_clearing) {
            left.extend(folder::clear(&record.desk.current.folder).err());
        }
        if !record.moves.is_empty() {
            commit::settle(record, project)?;
        }
        self.save()?;
        Ok(left)
    }

    fn settled(mut self, project: &Project) -> Result<Self, Error> {
        self.settle(project)?;
        Ok(self)
    }
}

/// Finishes what is noted in any record of a project, and returns what could not be: one session does not
/// block another.
pub(super) fn settle_all(project: &Project) -> Vec<Error> {
    let paths = match all(project) {
        Ok(paths) => paths,
        Err(error) => return vec![error],
    };
    let settled = paths.into_iter().map(|path| settle_one(path, project));
    settled.flat_map(|settled| settled.unwrap_or_else(|error| vec![error])).collect()
}

fn settle_one(path: PathBuf, project: &Project) -> Result<Vec<Error>, Error> {
    // Most have nothing to finish: wait only for one that has.
    if read(&path)?.is_none_or(|record| record.is_settled()) {
        return Ok(Vec::new());
    }
    let lock = lock(&path)?;
    match read(&path)? {
        Some(record) => SessionLock { _lock: lock, path, record }.settle(project),
        None => Ok(Vec::new()),
    }
}

/// Unfinished work of sessions without a process.
pub(super) fn abandoned(project: &Project) -> Result<Unfinished, Error> {
    let mut unfinished = Unfinished::default();
    for path in all(project)? {
        let Some(mut record) = read(&path)?.filter(|record| !record.is_settled()) else { continue };
        // The lock file exists: whoever noted something held it.
        let lock = OpenOptions::new().write(true).open(path.with_extension("lock"));
        if !lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            continue;
        }
        unfinished.folders.extend(record.discarded.extract_if(.., |folder| is_left(folder)));
        // Everything else that is noted only needs another command.
        unfinished.desks += usize::from(!record.is_settled());
    }
    Ok(unfinished)
}

/// Whether anything is at a path, as far as can be seen.
fn is_left(path: &Path) -> bool {
    !path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn all(project: &Project) -> Result<Vec<PathBuf>, Error> {
    let folder = folder_of(project)?;
    let failed = |source| Error::Record { path: folder.clone(), source };
    let entries = match folder.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            found.push(path);
        }
    }
    Ok(found)
}

fn folder_of(project: &Project) -> Result<PathBuf, Error> {
    Ok(state_dir::of_project(&project.root)?.join(DESKS))
}

/// The record of this process: that of the session it was given, otherwise that of the project directory.
fn path_of(project: &Project) -> Result<PathBuf, Error> {
    let name = match std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        Some(name) => {
            let unfit = || SessionRefusal::Name { name: name.to_string_lossy().into_owned() };
            format!("session-{}", session_name(name.to_str().ok_or_else(unfit)?)?)
        }
        None => {
            let hash = blake3::hash(project.root.as_os_str().as_encoded_bytes()).to_hex();
            format!("tree-{}", &hash[..TREE_DIGITS])
        }
    };
    Ok(folder_of(project)?.join(format!("{name}.json")))
}

fn lock(path: &Path) -> Result<File, Error> {
    state_dir::create(path.parent().unwrap_or(Path::new("/")))?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path.with_extension("lock"));
    let locked = file.and_then(|file| file.lock().map(|()| file));
    locked.map_err(|source| Error::Record { path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<Option<SessionRecord>, Error> {
    let failed = |source| Error::Record { path: path.to_owned(), source };
    let text = match plan_file::read_text(path, RECORD_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(failed)?,
    };
    let record: SessionRecord =
        serde_json::from_str(&text).map_err(|error| failed(io::Error::other(error)))?;
    match record.version <= VERSION {
        true => Ok(Some(record)),
        false => Err(failed(io::Error::other("written by a later planwright"))),
    }
}
