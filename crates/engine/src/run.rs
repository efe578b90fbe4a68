//! Runs of plans: what a person approves, starts, follows and answers. The façade that faces use.

pub mod arbiter;
pub(crate) mod attempt_dir;
pub mod baseline;
pub mod checkout;
pub mod consult;
pub mod contract;
pub mod driver;
pub mod host;
pub(crate) mod mirror;
pub mod permission;
pub mod remote_worker;
pub mod simulate;
pub mod stats;
pub mod step_tools;
pub mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use planwright_core::agent::work_item::{WorkItem, WorkKind};
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{Agents, Answer, ApprovedBy, Event, Outcome, Reason, StopWhen};
use planwright_core::run::schedule::Limits;
use planwright_core::run::state::{Illegal, Phase, RunState};
use planwright_core::run::summary::{Tally, UnderWay};

use crate::run::checkout::{Ground, Plot, Restored};
use crate::run::driver::Progress;
use crate::run::host::{Embedded, Hands};
use crate::run::mirror::Mirror;
use crate::run::worker::Worker;
use crate::store::journal::{
    self, Addition, Appended, Health, Holder, Queued, Recorded, RunId, RunLock, RunRow, Store,
};
use crate::system::process::{Stop, Supervisors};
use crate::workspace::project;
use crate::workspace::project::Project;

/// How long somebody who follows a run waits for news before they look whether it is still driven.
const FOLLOW: Duration = Duration::from_millis(250);

/// What can go wrong with a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The project or its plan.
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error("the journal failed")]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Drive(#[from] driver::Error<host::Error>),
    /// The recorded plan can't be read any more.
    #[error("the plan that {run} was approved for can't be read")]
    Plan { run: RunId },
    /// Somebody else drives the run.
    #[error("{run} is driven by another process ({holder})")]
    Driven { run: RunId, holder: String },
    /// Somebody drives another run in the same workspace.
    #[error("{plan} is being run in this folder ({holder})")]
    Occupied { plan: String, holder: String },
    /// Where the run works, or what is kept of it.
    #[error("the work of the run can't be kept")]
    Ground(#[from] checkout::Error),
    /// Nothing of a step is kept.
    #[error("nothing of `{step}` is kept")]
    Unlanded { step: String },
    /// An answer that does not fit.
    #[error("that can't be recorded")]
    Illegal(#[source] Illegal),
    /// The journal does not fit the plan.
    #[error("the journal of {run} is broken")]
    Broken {
        run: RunId,
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
    pub state: RunState,
    pub events: Vec<Recorded>,
}

impl Run {
    /// The command lines that were approved for the agents.
    pub fn agents(&self) -> Agents {
        let approved = self.events.iter().rev().find_map(|recorded| match &recorded.event {
            Event::RunStarted { agents, .. } | Event::AgentsApproved { agents, .. } => Some(agents.clone()),
            Event::AttemptStarted { .. }
            | Event::AttemptFinished { .. }
            | Event::ContractFinished { .. }
            | Event::AskOpened { .. }
            | Event::AskAnswered { .. }
            | Event::BudgetWarned { .. }
            | Event::RunStopped { .. }
            | Event::RunResumed { .. }
            | Event::StepsReopened { .. }
            | Event::RunFinished { .. } => None,
        });
        approved.unwrap_or_default()
    }

    /// The hash of every sealed file, as it was approved.
    pub fn sealed(&self) -> BTreeMap<String, String> {
        match self.events.first().map(|first| &first.event) {
            Some(Event::RunStarted { sealed, .. }) => sealed.clone(),
            Some(_) | None => BTreeMap::new(),
        }
    }

    /// The approvals that it began on.
    pub fn approvals(&self) -> Vec<ApprovedBy> {
        match self.events.first().map(|recorded| &recorded.event) {
            Some(Event::RunStarted { approvals, .. }) => approvals.clone(),
            Some(_) | None => Vec::new(),
        }
    }
}

/// How a run is to be driven.
#[derive(Debug, Clone)]
pub struct Drive {
    /// Limits of the run.
    pub limits: Limits,
    /// How many attempts this process makes at once; 0 leaves them to `planwright worker`.
    pub workers: usize,
    /// Told when the user wants to leave: what this process has under way is ended, and nothing is lost.
    pub leave: Stop,
    pub spread: Spread,
    /// A step that several agents do against each other, by its id, and how many.
    pub tournament: Option<(String, u32)>,
}

impl Drive {
    /// One after the other, in the workspace.
    pub const fn together(limits: Limits, workers: usize, leave: Stop) -> Self {
        Self { limits, workers, leave, spread: Spread::Together, tournament: None }
    }
}

/// Where the attempts of a run work. A run whose attempts worked apart once goes on so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// In the workspace, all of them.
    Together,
    /// Each in a tree of its own, if there is a repository to make trees of.
    Apart,
}

/// The newest run of a plan, as lists show it: from a row, without its plan and without its journal. Never the ground for a
/// decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    pub run: RunId,
    /// The plan file, relative to the root of the project.
    pub path: PathBuf,
    /// The name of the plan.
    pub plan: String,
    /// The digest that was approved.
    pub digest: String,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// When something was last recorded, in milliseconds since 1970.
    pub changed_at_ms: u64,
    pub tally: Tally,
}

/// An attempt on the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// What the queue has.
    pub queued: Queued,
    /// The name of the plan.
    pub plan: String,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// How well the one is who is at it.
    pub health: Option<Health>,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// The steps that are to be done again.
    pub reopened: Vec<String>,
    /// The files that were put back or removed.
    pub files: Vec<String>,
    /// Those that were removed.
    pub removed: Vec<String>,
    /// The commit that keeps what lay in the workspace before.
    pub kept: String,
}

/// Who approved, and in which way.
pub struct Approval {
    pub by: String,
    /// `terminal` or `rev`.
    pub way: &'static str,
}

impl Runs {
    /// Opens the runs of a project.
    pub fn open(project: &Project) -> Result<Self, Error> {
        Ok(Self { project: project.clone(), store: Arc::new(Store::open(&project.root)?) })
    }

    /// Opens the runs of a project that has some. Nothing is made where it has none.
    pub fn open_existing(project: &Project) -> Result<Option<Self>, Error> {
        if Store::exists(&project.root)? { Self::open(project).map(Some) } else { Ok(None) }
    }

    /// The newest run of a plan file.
    pub fn latest(&self, path: &Path) -> Result<Option<Run>, Error> {
        self.store.latest_run(&self.project.root, &self.relative(path))?.map(|row| self.load(row)).transpose()
    }

    /// The newest run of a plan, also one whose working copy is gone.
    pub fn last(&self, path: &Path) -> Result<Option<Run>, Error> {
        let latest = self.store.latest_anywhere(&self.relative(path))?;
        latest.map(|(run, _)| self.run(run)).transpose()
    }

    /// Every run of a plan, the newest last.
    pub fn of_plan(&self, path: &Path) -> Result<Vec<Run>, Error> {
        let plan = self.relative(path);
        self.store.runs_of(&plan)?.into_iter().map(|row| self.load(row)).collect()
    }

    /// Every run, newest last.
    pub fn all(&self) -> Result<Vec<Run>, Error> {
        self.store.runs()?.into_iter().map(|row| self.load(row)).collect()
    }

    /// The newest run of every plan, in whichever working copy it was made, the oldest first.
    pub fn everywhere(&self) -> Result<Vec<Glance>, Error> {
        self.glances(self.store.newest_runs_anywhere()?)
    }

    /// Where the newest run of a plan was made, if that is another working copy than this and is still there, and its number.
    pub fn elsewhere(&self, path: &Path) -> Result<Option<(PathBuf, RunId)>, Error> {
        let latest = self.store.latest_anywhere(&self.relative(path))?;
        let is_other = |root: &PathBuf| *root != self.project.root && root.is_dir();
        Ok(latest.and_then(|(run, root)| Some((root.filter(is_other)?, run))))
    }

    /// The newest run of every plan of this workspace, the oldest first.
    pub fn newest(&self) -> Result<Vec<Glance>, Error> {
        self.glances(self.store.newest_runs(&self.project.root)?)
    }

    fn glances(&self, rows: Vec<journal::Listed>) -> Result<Vec<Glance>, Error> {
        let mut glances = Vec::new();
        for row in rows {
            let (tally, changed_at_ms) = match row.tally {
                Some(tally) => tally,
                None => {
                    let run = self.run(row.id)?;
                    let changed = run.events.last().map_or(row.created_at_ms, |last| last.at_ms);
                    (Tally::of(&run.plan, &run.state), changed)
                }
            };
            glances.push(Glance {
                run: row.id,
                path: row.plan,
                plan: row.name,
                digest: row.digest,
                started_at_ms: row.created_at_ms,
                changed_at_ms,
                tally,
            });
        }
        Ok(glances)
    }

    /// Whether a process drives the run now.
    pub fn is_driven(&self, run: &Run) -> Result<bool, Error> {
        Ok(self.store.holder(run.row.id)?.is_some())
    }

    pub fn run(&self, run: RunId) -> Result<Run, Error> {
        self.load(self.store.run(run)?)
    }

    /// Who drives the run now.
    pub fn holder(&self, run: &Run) -> Result<Option<Holder>, Error> {
        self.holder_of(run.row.id)
    }

    /// Who drives the run with this number now.
    pub fn holder_of(&self, run: RunId) -> Result<Option<Holder>, Error> {
        Ok(self.store.holder(run)?)
    }

    /// Where all of it is kept.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn project(&self) -> &Project {
        &self.project
    }

    /// What was kept under a name.
    pub fn blob(&self, blob: &planwright_core::run::event::Blob) -> Result<Vec<u8>, Error> {
        Ok(self.store.get(blob)?)
    }

    /// The path of a plan as the store has it: relative to the root of the project.
    pub fn relative(&self, path: &Path) -> PathBuf {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        path.strip_prefix(&self.project.root).map(Path::to_owned).unwrap_or(path)
    }

    /// The plan is read from the bytes that the store keeps, never from the workspace.
    fn load(&self, row: RunRow) -> Result<Run, Error> {
        let plan = row.approved().ok_or(Error::Plan { run: row.id })?;
        let events = self.store.events(row.id, 0)?;
        let mut state = RunState::new(&plan);
        for recorded in &events {
            state.apply(&recorded.event).map_err(|source| Error::Broken { run: row.id, source })?;
        }
        Ok(Run { row, plan, state, events })
    }

    /// The command lines of the agents as the settings have them now, where they are not what was approved.
    pub fn lapsed_agents(&self, run: &Run) -> Option<Agents> {
        let now = self.project.commands_of(&run.plan);
        (now != run.agents()).then_some(now)
    }

    /// Approves the command lines of the agents as the settings have them now.
    pub fn approve_agents(&self, run: &Run, approval: &Approval) -> Result<(), Error> {
        let agents = self.project.commands_of(&run.plan);
        let (approved_by, approved_at) = (approval.by.clone(), approval.way.to_owned());
        self.record(run, &Event::AgentsApproved { approved_by, approved_at, agents })
    }

    /// Drives a run as far as it goes. `watch` sees every event once it is durable.
    pub fn drive(
        &self,
        run: &Run,
        path: &Path,
        drive: &Drive,
        watch: &mut dyn FnMut(&RunState, &Event),
    ) -> Result<(Progress, Vec<String>), Error> {
        let hands = Hands {
            workers: drive.workers,
            leave: drive.leave.clone(),
            tournament: drive.tournament.clone(),
        };
        let mut host = self.host(run, path, hands)?;
        let ground = self.ground(run)?;
        if drive.spread == Spread::Apart && (ground.is_kept() || drive.tournament.is_some()) {
            ground.part()?;
        }
        let begun = ground.begin(&run.state);
        if ground.is_apart()? {
            begun?;
        } else if let Err(error) = begun {
            // Without it there is no way back to before a step; nothing else is lost.
            host.mirror.complaints.push(format!("what the steps change is not kept: {error}"));
        }
        if run.state.phase == Phase::Stopped {
            self.record(run, &Event::RunResumed { by: user() })?;
        }
        for (ask, _) in run.state.asks.iter().filter(|(_, ask)| ask.reason == Reason::Stalled) {
            self.answer(run, ask, Answer::Retry { hint: String::new() })?;
        }
        host.mirror.show(&run.plan, &run.state, &run.events);
        let progress = driver::drive(&run.plan, &drive.limits, &mut host, watch)?;
        let now = self.load(run.row.clone())?;
        host.mirror.show(&now.plan, &now.state, &now.events);
        Ok((progress, std::mem::take(&mut host.mirror.complaints)))
    }

    /// A host for a run, with the right to drive it: as long as it lives nobody else drives this run, nor another one in
    /// the same workspace.
    pub fn host(&self, run: &Run, path: &Path, hands: Hands) -> Result<Embedded, Error> {
        let rights = [self.lock(run.row.id)?, self.occupy()?];
        let source = run.row.source().ok_or(Error::Plan { run: run.row.id })?;
        let worker = Worker { tournament: hands.tournament.clone(), ..self.worker(run)? };
        Ok(Embedded::new((worker, rights), run.row.id, (path, source), hands))
    }

    /// What carries out the commands of a run.
    pub(crate) fn worker(&self, run: &Run) -> Result<Worker, Error> {
        Ok(Worker {
            root: self.project.root.clone(),
            ground: self.ground(run)?,
            tournament: None,
            config: self.project.config.clone(),
            agents: run.agents(),
            plan: Arc::new(run.plan.clone()),
            plan_file: run.row.plan.clone(),
            digest: run.row.digest.clone(),
            approvals: run.approvals(),
            sealed: run.sealed(),
            tag: format!("{}/{}", self.store.key(), run.row.id.number()),
            store: Arc::clone(&self.store),
            for_agents: Supervisors::new(),
            for_contracts: Supervisors::new(),
        })
    }

    /// Where a run works.
    pub fn ground(&self, run: &Run) -> Result<Ground, Error> {
        let name = run.row.plan.file_name().unwrap_or_default().to_string_lossy();
        let fresh = run.row.plan.with_file_name(format!(".{name}.planwright"));
        let plot = Plot {
            project: self.project.clone(),
            run: checkout::name_of_run(&self.store.key(), run.row.id.number(), run.row.created_at_ms),
            own: vec![run.row.plan.clone(), fresh],
        };
        Ok(Ground::of(plot)?)
    }

    /// Follows a run that another process drives, until that one lets go of it or the user leaves.
    pub fn follow(
        &self,
        run: &Run,
        leave: &Stop,
        watch: &mut dyn FnMut(&RunState, &Event),
    ) -> Result<Progress, Error> {
        let id = run.row.id;
        let mut state = run.state.clone();
        let mut seen = run.events.last().map_or(0, |last| last.seq);
        loop {
            // Asked before the events are: what the driver recorded last is still seen.
            let is_driven = self.store.holder(id)?.is_some();
            for recorded in self.store.events(id, seen)? {
                seen = recorded.seq;
                state.apply(&recorded.event).map_err(|source| Error::Broken { run: id, source })?;
                watch(&state, &recorded.event);
            }
            match state.phase {
                Phase::Finished(outcome) => return Ok(Progress::Finished(outcome)),
                _ if leave.is_requested() => return Ok(Progress::Left),
                _ if is_driven => drop(self.store.wait(id, seen, FOLLOW)?),
                Phase::Stopped => return Ok(Progress::Stopped),
                Phase::New | Phase::Running if state.asks.is_empty() => return Ok(Progress::Left),
                Phase::New | Phase::Running => return Ok(Progress::NeedsPerson),
            }
        }
    }

    /// Everything on the queue, the oldest first.
    pub fn pending(&self) -> Result<Vec<Pending>, Error> {
        let runs = self.store.queued_runs()?;
        let mut pending = Vec::new();
        for queued in self.store.queue()? {
            // An attempt that was queued since is in the next list.
            let Some((plan, tally)) = runs.get(&queued.run) else { continue };
            let is_it = |one: &&UnderWay| one.step == queued.step && one.attempt == queued.attempt;
            let known = tally.as_ref().and_then(|tally| tally.attempts.iter().find(is_it));
            let kind = match known {
                Some(attempt) => attempt.kind,
                None => self.kind_of(&queued)?,
            };
            let health = queued.lease.as_ref().map(|lease| self.store.health(lease, now())).transpose()?;
            pending.push(Pending { plan: plan.clone(), kind, health, queued });
        }
        Ok(pending)
    }

    /// What the agent of an attempt of `run` is given.
    pub fn work_item(&self, run: &Run, queued: &Queued) -> Result<WorkItem, Error> {
        let prompt = String::from_utf8_lossy(&self.store.get(&queued.prompt)?).into_owned();
        let step = run.plan.steps.iter().find(|step| step.id == queued.step);
        let step = step.ok_or(Error::Plan { run: queued.run })?;
        Ok(WorkItem::new(&run.row.plan.to_string_lossy(), step, queued.attempt, (&queued.agent, prompt)))
    }

    fn kind_of(&self, queued: &Queued) -> Result<WorkKind, Error> {
        let run = self.run(queued.run)?;
        let step = run.plan.steps.iter().find(|step| step.id == queued.step);
        step.map(|step| WorkKind::of(&step.target)).ok_or(Error::Plan { run: queued.run })
    }

    fn lock(&self, run: RunId) -> Result<RunLock, Error> {
        if let Some(lock) = self.store.lock(run)? {
            return Ok(lock);
        }
        let holder = self.store.holder(run)?.map_or_else(String::new, |holder| holder.to_string());
        Err(Error::Driven { run, holder })
    }

    /// Which plan is at work in this workspace now, and who drives it.
    pub fn occupant(&self) -> Result<Option<(String, String)>, Error> {
        let Some(holder) = self.store.holder_named(&self.workspace())? else { return Ok(None) };
        let mut plan = "another plan".to_owned();
        for row in self.store.runs()?.into_iter().rev() {
            if self.store.holder(row.id)?.as_ref() == Some(&holder) {
                plan = row.name;
                break;
            }
        }
        Ok(Some((plan, holder.to_string())))
    }

    /// The name of the lock of this workspace.
    fn workspace(&self) -> String {
        workspace_lock(&self.project.root)
    }

    /// Takes the workspace for one run: two plans that work in the same folder would judge each other's work.
    pub(crate) fn occupy(&self) -> Result<RunLock, Error> {
        if let Some(lock) = self.store.lock_named(&self.workspace())? {
            return Ok(lock);
        }
        let (plan, holder) = self.occupant()?.unwrap_or_else(|| ("another plan".to_owned(), String::new()));
        Err(Error::Occupied { plan, holder })
    }

    /// What attempts that work in trees of their own will not find there, in words. Nothing where a set-up makes such things.
    pub fn lacking(&self) -> Result<Vec<String>, Error> {
        if !self.project.config.worktree.setup.command.is_empty() {
            return Ok(Vec::new());
        }
        checkout::lacking(&self.project.root).map_err(Error::from)
    }

    /// Takes the work of a run back to before a step: it, everything that landed after it and what waits for any of these are
    /// to be done again. Nobody else may be at work here meanwhile.
    pub fn roll_back(&self, run: &Run, path: &Path, step: &str) -> Result<RolledBack, Error> {
        let _rights = [self.lock(run.row.id)?, self.occupy()?];
        let run = self.run(run.row.id)?;
        let ground = self.ground(&run)?;
        let landings = ground.history()?.unwrap_or_default();
        let unlanded = || Error::Unlanded { step: step.to_owned() };
        let first = landings.iter().position(|landing| landing.step == step).ok_or_else(unlanded)?;
        let reach = run.plan.graph().reach();
        let undone: Vec<usize> =
            landings[first..].iter().filter_map(|landing| run.state.place(&landing.step)).collect();
        let reopened: Vec<String> = run
            .state
            .steps
            .iter()
            .enumerate()
            .filter(|(place, now)| {
                let is_behind =
                    undone.iter().any(|&before| before == *place || reach.is_before(before, *place));
                is_behind && now.status.is_settled()
            })
            .map(|(_, now)| now.id.clone())
            .collect();
        ground.can_roll_back(&landings[first].before)?;
        // The journal first: whoever goes on after a crash does the steps again, on whatever lies there.
        self.record(&run, &Event::StepsReopened { steps: reopened.clone(), by: user() })?;
        let Restored { kept, files, removed } = ground.roll_back(&landings[first].before)?;
        self.mirror(run.row.id, path)?;
        Ok(RolledBack { reopened, files, removed, kept })
    }

    /// Records an answer, a stop or a cancellation by a person.
    pub fn record(&self, run: &Run, event: &Event) -> Result<(), Error> {
        self.record_all(run, std::slice::from_ref(event))
    }

    fn record_all(&self, run: &Run, news: &[Event]) -> Result<(), Error> {
        loop {
            let events = self.store.events(run.row.id, 0)?;
            let mut state = RunState::new(&run.plan);
            for recorded in &events {
                state.apply(&recorded.event).map_err(|source| Error::Broken { run: run.row.id, source })?;
            }
            // They must fit what is recorded now, not what the person saw.
            news.iter().try_for_each(|event| state.apply(event)).map_err(Error::Illegal)?;
            let seen = events.last().map_or(0, |last| last.seq);
            let tally = Some(Tally::of(&run.plan, &state));
            let addition = Addition {
                after: seen,
                events: news,
                blobs: Vec::new(),
                claim_for: None,
                tally,
                at_ms: now(),
            };
            match self.store.add(run.row.id, addition)? {
                Appended::Written { .. } | Appended::Known => return Ok(()),
                Appended::Moved => {}
            }
        }
    }

    /// Answers an ask. One that sends the plan back to its author ends the run.
    pub fn answer(&self, run: &Run, ask: &str, answer: Answer) -> Result<(), Error> {
        self.answer_as(run, ask, answer, &user())
    }

    /// The same, for who is not at this terminal.
    pub fn answer_as(&self, run: &Run, ask: &str, answer: Answer, by: &str) -> Result<(), Error> {
        let end = match &answer {
            Answer::Revise { reason } => Some(Event::RunFinished {
                outcome: Outcome::Cancelled,
                why: format!("sent back to be revised: {reason}"),
            }),
            Answer::Retry { .. }
            | Answer::TakeOver
            | Answer::Confirm
            | Answer::Skip { .. }
            | Answer::Stop
            | Answer::Budget { .. } => None,
        };
        let answered = Event::AskAnswered { ask: ask.to_owned(), answer, by: by.to_owned() };
        let news: Vec<Event> = std::iter::once(answered).chain(end).collect();
        self.record_all(run, &news)
    }

    /// Stops a run for now.
    pub fn stop(&self, run: &Run, when: StopWhen) -> Result<(), Error> {
        self.stop_as(run, when, &user())
    }

    /// The same, for who is not at this terminal.
    pub fn stop_as(&self, run: &Run, when: StopWhen, by: &str) -> Result<(), Error> {
        self.record(run, &Event::RunStopped { by: by.to_owned(), when })
    }

    /// Ends a run for good. Whoever drives it ends what is under way.
    pub fn cancel(&self, run: &Run, why: &str) -> Result<(), Error> {
        self.end(run, Outcome::Cancelled, why)
    }

    /// Ends a run for good, in this way.
    pub fn end(&self, run: &Run, outcome: Outcome, why: &str) -> Result<(), Error> {
        self.record(run, &Event::RunFinished { outcome, why: why.to_owned() })
    }

    /// Asks what shall become of runs that nobody has driven for a long time; `minutes_of` says how long that is for a plan.
    /// Returns those that were asked about now, each with what is asked.
    pub fn ask_about_stalled(
        &self,
        minutes_of: impl Fn(&Path) -> u64,
    ) -> Result<Vec<(PathBuf, String)>, Error> {
        let now = now();
        let mut asked = Vec::new();
        for glance in self.newest()? {
            let patience_ms = minutes_of(&glance.path).saturating_mul(60_000);
            let is_silent = now.saturating_sub(glance.changed_at_ms) >= patience_ms;
            if glance.tally.phase != Phase::Running || !glance.tally.asks.is_empty() || !is_silent {
                continue;
            }
            if self.holder_of(glance.run)?.is_some() {
                continue;
            }
            let hours = now.saturating_sub(glance.started_at_ms) / 3_600_000;
            let (settled, steps) = (glance.tally.settled(), glance.tally.steps.len());
            let text =
                format!("Started {hours} h ago, {settled} of {steps} steps done, and nobody drives it.");
            let run = self.run(glance.run)?;
            let opened = Event::AskOpened {
                ask: format!("stalled/{}", run.state.asked + 1),
                step: None,
                reason: Reason::Stalled,
                text: text.clone(),
            };
            self.record(&run, &opened)?;
            self.mirror(glance.run, &self.project.root.join(&glance.path))?;
            asked.push((glance.path, text));
        }
        Ok(asked)
    }

    /// Sets marks and status in the plan file to where the run stands; says what went wrong. For when nobody drives it.
    pub fn mirror(&self, run: RunId, path: &Path) -> Result<Vec<String>, Error> {
        let run = self.run(run)?;
        let mut mirror = self.mirror_of(&run, path)?;
        mirror.show(&run.plan, &run.state, &run.events);
        Ok(mirror.complaints)
    }

    /// The same while nobody can begin to drive it. Marks that somebody set on steps that are still to be done stay.
    pub(crate) fn mend_mirror(&self, run: RunId, path: &Path) -> Result<Vec<String>, Error> {
        let _right = self.lock(run)?;
        let run = self.run(run)?;
        let mut mirror = self.mirror_of(&run, path)?;
        mirror.mend(&run);
        Ok(mirror.complaints)
    }

    pub(crate) fn mirror_of(&self, run: &Run, path: &Path) -> Result<Mirror, Error> {
        let source = run.row.source().ok_or(Error::Plan { run: run.row.id })?;
        Ok(Mirror::new(path, source, &self.store, self.project.config.limits.plan_bytes))
    }
}

/// The time, in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The name of the lock that whoever works in a workspace holds.
pub(crate) fn workspace_lock(root: &Path) -> String {
    let root = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    format!("workspace-{}", &root[..16])
}

/// Who is at the machine, as far as it says.
pub fn user() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("USER").or_else(|| set("LOGNAME")).unwrap_or_else(|| "somebody".to_owned())
}
