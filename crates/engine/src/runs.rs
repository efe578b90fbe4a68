//! Runs of plans: what a person approves, starts, follows and answers. The façade that faces use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use planwright_core::decide::Limits;
use planwright_core::digest::Digest;
use planwright_core::event::{Answer, Event, Outcome};
use planwright_core::plan::Plan;
use planwright_core::run::{Illegal, Phase, RunState};

use crate::driver::{self, Progress};
use crate::host::{self, Embedded};
use crate::process::{Stop, Supervisors};
use crate::project::{self, Project, Verified};
use crate::store::journal::{self, Appended, NewRun, Recorded, RunId, RunLock, RunRow, Store};
use crate::worker::Worker;

/// What can go wrong with a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The project or its plan.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// The journal.
    #[error("the journal failed")]
    Journal(#[from] journal::Error),
    /// The drive.
    #[error(transparent)]
    Drive(#[from] driver::Error<host::Error>),
    /// The recorded plan can't be read any more.
    #[error("the plan that {run} was approved for can't be read")]
    Plan {
        /// The run.
        run: RunId,
    },
    /// Somebody else drives the run.
    #[error("{run} is driven by another process ({holder})")]
    Driven {
        /// The run.
        run: RunId,
        /// Who.
        holder: String,
    },
    /// An answer that does not fit.
    #[error("that can't be recorded")]
    Illegal(#[source] Illegal),
    /// The journal does not fit the plan.
    #[error("the journal of {run} is broken")]
    Broken {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: Illegal,
    },
}

/// The runs of a project.
pub struct Runs {
    project: Project,
    store: Arc<Store>,
}

/// A run and where it stands.
pub struct Run {
    /// What the store knows of it.
    pub row: RunRow,
    /// The plan that was approved.
    pub plan: Plan,
    /// Where it stands.
    pub state: RunState,
    /// Everything that happened.
    pub events: Vec<Recorded>,
}

/// Who approved, and in which way.
pub struct Approval {
    /// Who.
    pub by: String,
    /// `terminal` or `rev`.
    pub way: &'static str,
}

impl Runs {
    /// Opens the runs of a project.
    pub fn open(project: &Project) -> Result<Self, Error> {
        Ok(Self { project: project.clone(), store: Arc::new(Store::open(&project.root)?) })
    }

    /// The newest run of a plan file.
    pub fn latest(&self, path: &Path) -> Result<Option<Run>, Error> {
        self.store.latest_run(&self.relative(path))?.map(|row| self.load(row)).transpose()
    }

    /// Every run, newest last.
    pub fn all(&self) -> Result<Vec<Run>, Error> {
        self.store.runs()?.into_iter().map(|row| self.load(row)).collect()
    }

    /// Whether a process drives the run now.
    pub fn is_driven(&self, run: &Run) -> Result<bool, Error> {
        Ok(self.store.holder(run.row.id)?.is_some())
    }

    /// What was kept under a name.
    pub fn blob(&self, blob: &planwright_core::event::Blob) -> Result<Vec<u8>, Error> {
        Ok(self.store.get(blob)?)
    }

    fn relative(&self, path: &Path) -> PathBuf {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        path.strip_prefix(&self.project.root).map(Path::to_owned).unwrap_or(path)
    }

    fn load(&self, row: RunRow) -> Result<Run, Error> {
        let plan = Self::approved_plan(&row)?;
        let events = self.store.events(row.id, 0)?;
        let mut state = RunState::new(&plan);
        for recorded in &events {
            state.apply(&recorded.event).map_err(|source| Error::Broken { run: row.id, source })?;
        }
        Ok(Run { row, plan, state, events })
    }

    /// The plan that was approved: read from the bytes that the store keeps, never from the workspace.
    fn approved_plan(row: &RunRow) -> Result<Plan, Error> {
        let plan = planwright_core::verify::trusted(&row.name, &row.text);
        plan.filter(|plan| Digest::of(plan).to_string() == row.digest).ok_or(Error::Plan { run: row.id })
    }

    /// Begins a run of a plan that somebody approved.
    pub fn begin(
        &self,
        path: &Path,
        verified: &Verified,
        approval: &Approval,
    ) -> Result<Option<RunId>, Error> {
        let Some(plan) = &verified.plan else { return Ok(None) };
        let digest = Digest::of(plan).to_string();
        let now = now();
        let run = self.store.create_run(&NewRun {
            plan: self.relative(path),
            name: project::name(path),
            digest: digest.clone(),
            text: verified.source.text().to_owned(),
            created_at_ms: now,
        })?;
        let started = Event::RunStarted {
            digest,
            approved_by: approval.by.clone(),
            approved_at: approval.way.to_owned(),
            base: None,
        };
        self.store.append(run, 0, &[started], now)?;
        Ok(Some(run))
    }

    /// Drives a run as far as it goes. `watch` sees every event once it is durable.
    pub fn drive(
        &self,
        run: &Run,
        path: &Path,
        limits: &Limits,
        watch: &mut dyn FnMut(&RunState, &Event),
    ) -> Result<(Progress, Vec<String>), Error> {
        let id = run.row.id;
        let _lock = self.lock(id)?;
        if run.state.phase == Phase::Stopped {
            self.record(run, &Event::RunResumed { by: user() })?;
        }
        let worker = Arc::new(Worker {
            root: self.project.root.clone(),
            config: self.project.config.clone(),
            plan: Arc::new(run.plan.clone()),
            digest: run.row.digest.clone(),
            tag: format!("{}/{}", self.store.key(), id.number()),
            store: Arc::clone(&self.store),
            stop: Stop::default(),
            for_agents: Supervisors::new(),
            for_contracts: Supervisors::new(),
        });
        let mut host = Embedded::new(worker, id, path.to_owned(), run.row.text.clone());
        host.mirror_state(&run.state);
        let progress = driver::drive(&run.plan, limits, &mut host, watch)?;
        host.mirror_state(&self.load(run.row.clone())?.state);
        Ok((progress, host.complaints))
    }

    fn lock(&self, run: RunId) -> Result<RunLock, Error> {
        if let Some(lock) = self.store.lock(run)? {
            return Ok(lock);
        }
        let holder = self.store.holder(run)?;
        let holder =
            holder.map_or_else(String::new, |holder| format!("pid {} on {}", holder.pid, holder.host));
        Err(Error::Driven { run, holder })
    }

    /// Records an answer, a stop or a cancellation by a person.
    pub fn record(&self, run: &Run, event: &Event) -> Result<(), Error> {
        loop {
            let events = self.store.events(run.row.id, 0)?;
            let mut state = RunState::new(&run.plan);
            for recorded in &events {
                state.apply(&recorded.event).map_err(|source| Error::Broken { run: run.row.id, source })?;
            }
            // The event must fit what is recorded now, not what the person saw.
            state.apply(event).map_err(Error::Illegal)?;
            let seen = events.last().map_or(0, |last| last.seq);
            match self.store.append(run.row.id, seen, std::slice::from_ref(event), now())? {
                Appended::Written { .. } | Appended::Known => return Ok(()),
                Appended::Moved => {}
            }
        }
    }

    /// Answers an ask.
    pub fn answer(&self, run: &Run, ask: &str, answer: Answer) -> Result<(), Error> {
        self.record(run, &Event::AskAnswered { ask: ask.to_owned(), answer, by: user() })
    }

    /// Ends a run for good that nobody drives.
    pub fn cancel(&self, run: &Run, why: &str) -> Result<(), Error> {
        let _lock = self.lock(run.row.id)?;
        self.record(run, &Event::RunFinished { outcome: Outcome::Cancelled, why: why.to_owned() })
    }
}

/// The time, in milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Who is at the machine, as far as it says.
pub fn user() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("USER").or_else(|| set("LOGNAME")).unwrap_or_else(|| "somebody".to_owned())
}
