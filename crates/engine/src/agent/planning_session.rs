//! Desks of planners: plan folders outside of every repository, given out, taken back and committed together. What a verb does is
//! for core; this holds the lock, keeps the record where no planner writes, and finishes what a process that died had begun.

mod commit;
mod folder;
mod copy;
mod record;

pub use commit::{Came, Commit, Fault, Outcome, Wrong};
pub use copy::name_of_copy;
pub(crate) use copy::plans as kept_plans;

use std::io;
use std::path::PathBuf;

use planwright_core::approval::ledger::Who;
use planwright_core::plan::lifecycle::State;
use planwright_core::workspace::session::{Desk, Refusal, Thread};

use crate::approval;
use crate::approval::Decisions;
use crate::store::{plan_file, state_dir};
use crate::workspace::project;
use crate::workspace::project::Project;
use record::Held;

/// The variable by which whoever starts an agent gives it a session of its own. Without it, a folder with a project has one.
pub const VARIABLE: &str = "PLANWRIGHT_SESSION";

/// What can go wrong at a desk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The verb does not fit.
    #[error("{0}")]
    Refused(Refusal),
    /// The folders would lie in a repository, and show up in its status.
    #[error("plan folders can't be made in {}: it lies in the repository {}", folder.display(), repository.display())]
    Inside {
        /// Where they would lie.
        folder: PathBuf,
        repository: PathBuf,
    },
    #[error(
        "there is no place for plan folders: neither HOME nor the setting `session.plans` is an absolute path"
    )]
    Homeless,
    /// Something else lies where a folder was given out.
    #[error("{} is not the folder that was given out: a link or a file lies there", path.display())]
    Astray { path: PathBuf },
    /// The record of the session.
    #[error("the record of the session, {}, can't be used", path.display())]
    Record {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot use the plan folder {}", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A plan folder that was given back is still there.
    #[error("cannot remove the plan folder {}", path.display())]
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

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Where the plan of a thread stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stood {
    pub plan: String,
    pub state: State,
    /// The newest revision; 0 where there is none.
    pub revision: u32,
    pub digest: String,
}

/// A desk, and where the plans of its threads stand, in their order.
pub type Seen = (Desk, Vec<Option<Stood>>);

/// The desk, with the folder of every thread in its place. It is made where there is none.
pub fn open(project: &Project) -> Result<Desk, Error> {
    let held = Held::take(project)?;
    held.record.desk.threads().try_for_each(|thread| folder::ensure(&thread.folder))?;
    Ok(held.record.desk)
}

/// The desk, if there is one, and where its plans stand.
pub fn existing(project: &Project) -> Result<Option<Seen>, Error> {
    let Some(held) = Held::take_existing(project)? else { return Ok(None) };
    let desk = held.record.desk;
    let decisions = Decisions::open_existing(project)?;
    let folder = copy::folder(&project.root)?;
    let stood = desk.threads().map(|thread| match (&thread.plan, &decisions) {
        (Some(plan), Some(decisions)) => {
            let case = decisions.case(&folder.join(plan))?;
            let newest = case.standing.newest();
            Ok(Some(Stood {
                plan: plan.clone(),
                state: case.state(),
                revision: newest.map_or(0, |newest| newest.number),
                digest: newest.map(|newest| newest.subject.digest.clone()).unwrap_or_default(),
            }))
        }
        (None, _) | (_, None) => Ok(None),
    });
    let stood = stood.collect::<Result<Vec<_>, Error>>()?;
    Ok(Some((desk, stood)))
}

/// Gives out a folder for one more thread.
pub fn add(project: &Project) -> Result<Thread, Error> {
    let mut held = Held::take(project)?;
    held.record.desk.has_room()?;
    let mut thread = Thread::new(&crate::store::random_id::chance()?, folder::allocate(&project.config)?);
    while held.record.desk.threads().any(|known| known.id == thread.id) {
        thread = Thread::new(&crate::store::random_id::chance()?, thread.folder);
    }
    held.record.desk.additional.push(thread.clone());
    held.save()?;
    Ok(thread)
}

/// Takes back the folder of a further thread, with all that lies in it. Says why that is still there, where it can't be removed.
pub fn drop_thread(project: &Project, id: &str) -> Result<(Thread, Option<Error>), Error> {
    let mut held = Held::take(project)?;
    let thread = held.record.desk.drop_thread(id)?;
    held.record.discarded.push(thread.folder.clone());
    held.save()?;
    let is_it = |error: &Error| matches!(error, Error::Undiscarded { path, .. } if *path == thread.folder);
    let left = held.settle(project)?.into_iter().find(is_it);
    Ok((thread, left))
}

/// Removes the plan from the folder of the current thread; the folder stays.
pub fn clear(project: &Project) -> Result<Thread, Error> {
    let mut held = Held::take(project)?;
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

/// Says what the session is about.
pub fn set_topic(project: &Project, topic: &str) -> Result<Desk, Error> {
    let mut held = Held::take(project)?;
    held.record.desk.set_topic(topic)?;
    held.save()?;
    Ok(held.record.desk)
}

/// Checks the folders of all threads and proposes what lies in them: all of it, or nothing.
pub fn commit(project: &Project, by: &Who) -> Result<Commit, Error> {
    commit::commit(&mut Held::take(project)?, project, by)
}

/// Finishes what processes that died had begun at any desk of this project, so that people find what was committed. Returns what
/// could not be finished.
pub fn settle(project: &Project) -> Vec<Error> {
    record::settle_all(project)
}

/// What is to be finished at desks that nobody is at.
#[derive(Debug, Default)]
pub struct Unfinished {
    /// How many desks the next command has something to finish at.
    pub desks: usize,
    /// Plan folders that were given back and are still there.
    pub folders: Vec<PathBuf>,
}

/// What is to be finished at desks of this project that nobody is at. Finishes nothing.
pub fn abandoned(project: &Project) -> Result<Unfinished, Error> {
    record::abandoned(project)
}
