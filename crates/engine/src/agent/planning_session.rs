//! Planner sessions: plan directories outside every repository, handed out, returned and committed together.
//! Core decides what a verb does; this module holds the lock, keeps the record out of planners' reach, and
//! finishes what a dead process started.

mod commit;
mod folder;
mod copy;
mod record;

pub use commit::{Came, CommitFault, CommitOutcome, SessionCommit, Wrong};
pub use copy::name_of_copy;

use std::io;
use std::path::PathBuf;

use planwright_core::plan::identity::Identity;
use planwright_core::workspace::session::{PlanningSession, SessionPlan, SessionRefusal};
use schemars::JsonSchema;
use serde::Serialize;

use crate::approval;
use crate::approval::Approvals;
use crate::store::{plan_file, state_dir};
use crate::workspace::project;
use crate::workspace::project::Project;
use crate::workspace::session_copy;
use record::SessionLock;

/// The variable that gives an agent a session of its own. Without it, each project directory has one session.
pub const VARIABLE: &str = "PLANWRIGHT_SESSION";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The verb does not fit the session.
    #[error("{0}")]
    Refused(SessionRefusal),
    /// The directories would be inside a repository and show up in its status.
    #[error("cannot create plan directories in {}: it is inside repository {}", folder.display(), repository.display())]
    Inside { folder: PathBuf, repository: PathBuf },
    #[error(
        "no place for plan directories: neither HOME nor the setting `session.plans` is an absolute path"
    )]
    Homeless,
    /// Something else is at the place of a session directory.
    #[error("{} is not the directory of this session: it is now a link or a file", path.display())]
    Astray { path: PathBuf },
    #[error("cannot use the session record {}", path.display())]
    Record {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot use the plan directory {}", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A returned plan directory still exists.
    #[error("cannot remove the plan directory {}", path.display())]
    Undiscarded {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    State(#[from] state_dir::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error(transparent)]
    Decisions(#[from] approval::Error),
}

impl From<SessionRefusal> for Error {
    fn from(refusal: SessionRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A thread, and the state of its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadStatus {
    pub thread_id: String,
    /// Its directory.
    pub plan_dir: String,
    /// Whether it is the one that the planner was asked in.
    pub is_current: bool,
    /// The name under which people review its plan; `None`: nothing was committed.
    pub plan: Option<String>,
    /// The state of the plan.
    pub state: Option<String>,
    /// Its newest revision.
    pub revision: Option<u32>,
    /// The digest of that.
    pub digest: Option<String>,
}

/// The session, with the directory of every thread. Created if needed.
pub fn open(project: &Project) -> Result<PlanningSession, Error> {
    let held = SessionLock::take(project)?;
    held.record.desk.threads().try_for_each(|thread| folder::ensure(&thread.folder))?;
    Ok(held.record.desk)
}

/// The session, if there is one, and its threads with the states of their plans.
pub fn existing(project: &Project) -> Result<Option<(PlanningSession, Vec<ThreadStatus>)>, Error> {
    let Some(held) = SessionLock::take_existing(project)? else { return Ok(None) };
    let desk = held.record.desk;
    let decisions = Approvals::open_existing(project)?;
    let folder = session_copy::folder(&project.root)?;
    let threads = desk.threads().map(|thread| {
        let plan = thread.plan.as_ref().zip(decisions.as_ref());
        let case = plan.map(|(plan, decisions)| decisions.case(&folder.join(plan))).transpose()?;
        let newest = case.as_ref().map(|case| case.standing.newest());
        Ok(ThreadStatus {
            thread_id: thread.id.clone(),
            plan_dir: thread.folder.to_string_lossy().into_owned(),
            is_current: thread.id == desk.current.id,
            plan: plan.map(|(plan, _)| plan.clone()),
            state: case.as_ref().map(|case| case.state().to_string()),
            revision: newest.map(|newest| newest.map_or(0, |newest| newest.number)),
            digest: newest
                .map(|newest| newest.map_or_else(String::new, |newest| newest.subject.digest.clone())),
        })
    });
    let threads = threads.collect::<Result<Vec<_>, Error>>()?;
    Ok(Some((desk, threads)))
}

/// Hands out a directory for one more thread.
pub fn add(project: &Project) -> Result<SessionPlan, Error> {
    let mut held = SessionLock::take(project)?;
    held.record.desk.has_room()?;
    let mut thread =
        SessionPlan::new(&crate::store::random_id::chance()?, folder::allocate(&project.config)?);
    while held.record.desk.threads().any(|known| known.id == thread.id) {
        thread = SessionPlan::new(&crate::store::random_id::chance()?, thread.folder);
    }
    held.record.desk.additional.push(thread.clone());
    held.save()?;
    Ok(thread)
}

/// Takes back the directory of an additional thread with its contents. Says why if it cannot be removed.
pub fn drop_thread(project: &Project, id: &str) -> Result<(SessionPlan, Option<Error>), Error> {
    let mut held = SessionLock::take(project)?;
    let thread = held.record.desk.drop_thread(id)?;
    held.record.discarded.push(thread.folder.clone());
    held.save()?;
    let is_it = |error: &Error| matches!(error, Error::Undiscarded { path, .. } if *path == thread.folder);
    let left = held.settle(project)?.into_iter().find(is_it);
    Ok((thread, left))
}

/// Removes the plan from the directory of the current thread; the directory stays.
pub fn clear(project: &Project) -> Result<SessionPlan, Error> {
    let mut held = SessionLock::take(project)?;
    folder::ensure(&held.record.desk.current.folder)?;
    held.record.is_clearing = true;
    held.record.desk.current.is_cleared = true;
    held.save()?;
    let is_other = |error: &Error| matches!(error, Error::Undiscarded { .. });
    match held.settle(project)?.into_iter().find(|error| !is_other(error)) {
        Some(error) => Err(error),
        None => Ok(held.record.desk.current),
    }
}

/// Sets the topic of the session.
pub fn set_topic(project: &Project, topic: &str) -> Result<PlanningSession, Error> {
    let mut held = SessionLock::take(project)?;
    held.record.desk.set_topic(topic)?;
    held.save()?;
    Ok(held.record.desk)
}

/// Checks the directories of all threads and proposes their plans: all or nothing.
pub fn commit(project: &Project, by: &Identity) -> Result<SessionCommit, Error> {
    commit::commit(&mut SessionLock::take(project)?, project, by)
}

/// Finishes what dead processes started in any session of this project, so that people find what was
/// committed. Returns what could not be finished.
pub fn settle(project: &Project) -> Vec<Error> {
    record::settle_all(project)
}

/// Unfinished work of sessions without a process.
#[derive(Debug, Default)]
pub struct Unfinished {
    /// How many sessions the next command has something to finish in.
    pub desks: usize,
    /// Returned plan directories that still exist.
    pub folders: Vec<PathBuf>,
}

/// Unfinished work of this project's sessions without a process. Finishes nothing.
pub fn abandoned(project: &Project) -> Result<Unfinished, Error> {
    record::abandoned(project)
}
