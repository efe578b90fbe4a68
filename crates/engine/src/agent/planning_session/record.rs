//! The record of a desk: one file in the state folder, which planners don't write, under a lock that the kernel gives back when
//! its holder dies. What is about to be done is noted first; whoever comes next finishes it, by the same path.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::workspace::session::{Desk, Refusal, Thread, session_name};
use serde::{Deserialize, Serialize};

use super::{Error, Unfinished, VARIABLE, commit, folder};
use crate::store::{plan_file, state_dir};
use crate::workspace::project::Project;

/// Where the records are, in the state folder of the project.
const DESKS: &str = "desks";
/// How a record is spelled; one that a later planwright wrote is left alone.
const VERSION: u32 = 1;
const RECORD_BYTES_MAX: u64 = 1 << 20;
/// How many digits tell one folder with a project from another.
const TREE_DIGITS: usize = 16;

/// What is kept of a desk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub(super) desk: Desk,
    /// The commit that is under way: empty where none is.
    #[serde(default)]
    pub(super) moves: Vec<Move>,
    /// Folders that are to be removed.
    #[serde(default)]
    pub(super) discarded: Vec<PathBuf>,
    /// Whether the folder of the current thread is being cleared.
    #[serde(default)]
    pub(super) is_clearing: bool,
}

impl Record {
    /// Whether nothing is left to be finished.
    const fn is_settled(&self) -> bool {
        self.moves.is_empty() && self.discarded.is_empty() && !self.is_clearing
    }
}

/// What a commit does to the copy of one plan, once the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move {
    /// The name of the plan.
    pub(super) plan: String,
    /// The thread that it is the plan of; `None`: of one that was dropped.
    pub(super) thread: Option<String>,
    /// What becomes of it.
    pub(super) goal: Goal,
}

/// What becomes of the copy of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Goal {
    /// It holds the plan with this digest, in the place of the copy with the digest `old`.
    Laid {
        digest: String,
        /// The digest of the copy before; `None`: there was none.
        old: Option<String>,
    },
    /// It goes: its author has taken the plan back.
    Gone,
    /// It stays, and is no plan of this desk any more.
    Left,
}

/// A desk, and the right to change it as long as this lives.
pub(super) struct Held {
    // Dropping it gives the right back.
    _lock: File,
    path: PathBuf,
    pub(super) record: Record,
}

impl Held {
    /// Waits for the desk of this process, which is made where there is none.
    pub(super) fn take(project: &Project) -> Result<Self, Error> {
        let path = path_of(project)?;
        let lock = lock(&path)?;
        let held = match read(&path)? {
            Some(record) => Self { _lock: lock, path, record },
            None => {
                let current =
                    Thread::new(&crate::store::random_id::chance()?, folder::allocate(&project.config)?);
                let record = Record {
                    version: VERSION,
                    desk: Desk::new(current),
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

    /// Waits for the desk of this process, if there is one.
    pub(super) fn take_existing(project: &Project) -> Result<Option<Self>, Error> {
        let path = path_of(project)?;
        if plan_file::is_there(&path) { Self::take(project).map(Some) } else { Ok(None) }
    }

    /// Puts the record in the place of the one before, whole.
    pub(super) fn save(&self) -> Result<(), Error> {
        let failed = |source| Error::Record { path: self.path.clone(), source };
        let text = serde_json::to_string(&self.record).map_err(|error| failed(io::Error::other(error)))?;
        plan_file::put_private(&self.path, &text).map_err(failed)
    }

    /// Finishes what was noted, and returns what could not be: a folder that can't be removed holds up nothing else. Every part
    /// of it may be done twice.
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
        // Not tried again by itself: by then a new plan may lie there.
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

/// Finishes what is noted in any record of a project, and returns what could not be: one desk holds up no other.
pub(super) fn settle_all(project: &Project) -> Vec<Error> {
    let paths = match all(project) {
        Ok(paths) => paths,
        Err(error) => return vec![error],
    };
    let settled = paths.into_iter().map(|path| settle_one(path, project));
    settled.flat_map(|settled| settled.unwrap_or_else(|error| vec![error])).collect()
}

fn settle_one(path: PathBuf, project: &Project) -> Result<Vec<Error>, Error> {
    // Most have nothing to finish: only one that has is waited for.
    if read(&path)?.is_none_or(|record| record.is_settled()) {
        return Ok(Vec::new());
    }
    let lock = lock(&path)?;
    match read(&path)? {
        Some(record) => Held { _lock: lock, path, record }.settle(project),
        None => Ok(Vec::new()),
    }
}

/// What is to be finished at desks that nobody is at.
pub(super) fn abandoned(project: &Project) -> Result<Unfinished, Error> {
    let mut unfinished = Unfinished::default();
    for path in all(project)? {
        let Some(mut record) = read(&path)?.filter(|record| !record.is_settled()) else { continue };
        // The lock file is there: whoever noted something had it.
        let lock = OpenOptions::new().write(true).open(path.with_extension("lock"));
        if !lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            continue;
        }
        unfinished.folders.extend(record.discarded.extract_if(.., |folder| is_left(folder)));
        // Whatever else is noted needs nothing but another command.
        unfinished.desks += usize::from(!record.is_settled());
    }
    Ok(unfinished)
}

/// Whether anything lies at a path, for all that can be seen.
fn is_left(path: &Path) -> bool {
    !path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// The records of a project.
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
    Ok(state_dir::folder_of(&state_dir::folder(), &project.root)?.join(DESKS))
}

/// The record of the desk of this process: that of the session which it was given, else that of the folder with the project.
fn path_of(project: &Project) -> Result<PathBuf, Error> {
    let name = match std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        Some(name) => {
            let unfit = || Refusal::Name { name: name.to_string_lossy().into_owned() };
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

fn read(path: &Path) -> Result<Option<Record>, Error> {
    let failed = |source| Error::Record { path: path.to_owned(), source };
    let text = match plan_file::read_text(path, RECORD_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(failed)?,
    };
    let record: Record = serde_json::from_str(&text).map_err(|error| failed(io::Error::other(error)))?;
    match record.version <= VERSION {
        true => Ok(Some(record)),
        false => Err(failed(io::Error::other("a later planwright wrote it"))),
    }
}
