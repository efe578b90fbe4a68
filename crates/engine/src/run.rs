//! Runs of plans: what a person approves, starts, follows and answers. A façade for the user interfaces.

pub mod arbiter;
pub(crate) mod attempt_dir;
pub mod baseline;
pub mod checkout;
pub(crate) mod circuit_breaker;
pub mod consult;
pub mod contract;
pub mod driver;
pub mod host;
pub(crate) mod mirror;
pub mod permission;
pub(crate) mod pinned;
mod recheck;
pub mod remote_worker;
mod right;
pub mod simulate;
pub mod stats;
pub mod step_tools;
pub mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::agent::work_item::{WorkItem, WorkKind};
use planwright_core::plan::verified::{Contract, Plan, Step};
use planwright_core::run::event::{
    AgentCommands, AgentsApproval, AskAnswer, AskEvent, AskReason, Event, RunEvent, RunOutcome, RunStart,
    StopMode,
};
use planwright_core::run::receipt::ApprovedBy;
use planwright_core::run::schedule::ScheduleLimits;
use planwright_core::run::state::{Illegal, Phase, RunState};
use planwright_core::run::summary::{ActiveAttempt, RunSummary, SummaryPhase};
use planwright_core::syntax::count::number;
use schemars::JsonSchema;
use serde::Serialize;

use crate::run::checkout::{Restored, RunCheckout, RunContext};
use crate::run::driver::Progress;
use crate::run::host::{DriveSetup, LocalHost};
use crate::run::mirror::Mirror;
pub(crate) use crate::run::recheck::Recheck;
use crate::run::worker::Worker;
use crate::store::journal;
use crate::store::journal::{
    Append, AppendResult, Health, LockHolder, Queued, RecordedEvent, RunId, RunLock, RunRow, Store,
};
use crate::system::clock::now;
use crate::system::fault::Fault;
use crate::system::process::{Stop, Supervisors};
use crate::system::user::user;
use crate::workspace::project;
use crate::workspace::project::Project;

/// How long a follower waits for events before it checks whether the run is still running.
const FOLLOW: Duration = Duration::from_millis(250);

/// How often recording an event is retried while other processes record theirs. Far more than the processes
/// that ever write to one run: each retry means that another one made progress.
const RECORD_TRIES_MAX: usize = 1000;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error("cannot access the journal")]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Drive(#[from] driver::Error<host::Error>),
    /// The recorded plan can no longer be read.
    #[error("cannot read the approved plan of {run}")]
    Plan { run: RunId },
    /// Another process is running the run.
    #[error("{run} is already running ({holder})")]
    Driven { run: RunId, holder: String },
    /// Another run is running in the same workspace.
    #[error("{plan} is running in this directory ({holder})")]
    Occupied { plan: String, holder: String },
    /// Where the run works, or its saved work.
    #[error("cannot save the work of the run")]
    Ground(#[from] checkout::Error),
    /// The machine failed while a finished run was compared with the tree that is there: nothing is said of it.
    #[error("cannot tell whether the contracts of the run still hold")]
    Unchecked(#[from] Fault),
    #[error("no checkpoint for step `{step}`")]
    Unlanded { step: String },
    /// An answer that does not fit.
    #[error("cannot record the event")]
    Illegal(#[source] Illegal),
    #[error(
        "cannot record in the journal of {run}: other processes wrote to it {RECORD_TRIES_MAX} times in a row"
    )]
    Contended { run: RunId },
    /// A tournament of a step that has no contract to pick the winner.
    #[error("step `{step}` has no contract that could pick the winner of a tournament")]
    NoJudge { step: String },
    /// A worker thread panicked: a bug.
    #[error("internal error while working on step `{step}`: {panic}")]
    Panicked { step: String, panic: String },
    /// The journal does not fit the plan.
    #[error("the journal of {run} is corrupt")]
    Broken {
        run: RunId,
        #[source]
        source: Illegal,
    },
}

pub struct Runs {
    project: Project,
    store: Arc<Store>,
}

/// A run and its state.
pub struct Run {
    pub row: RunRow,
    /// The approved plan.
    pub plan: Plan,
    pub state: RunState,
    pub events: Vec<RecordedEvent>,
}

impl Run {
    /// The approved commands of the agents.
    pub fn agents(&self) -> AgentCommands {
        let approved = self.events.iter().rev().find_map(|recorded| match &recorded.event {
            Event::Run(
                RunEvent::Started(RunStart { agents, .. })
                | RunEvent::AgentsApproved(AgentsApproval { agents, .. }),
            ) => Some(agents.clone()),
            Event::Run(_) | Event::Step { .. } | Event::Ask { .. } => None,
        });
        approved.unwrap_or_default()
    }

    /// The approved hash of every sealed file.
    pub fn sealed(&self) -> BTreeMap<String, String> {
        match self.events.first().map(|first| &first.event) {
            Some(Event::Run(RunEvent::Started(RunStart { sealed, .. }))) => sealed.clone(),
            Some(_) | None => BTreeMap::new(),
        }
    }

    /// The approved programs of contracts.
    pub fn programs(&self) -> BTreeMap<String, String> {
        match self.events.first().map(|first| &first.event) {
            Some(Event::Run(RunEvent::Started(RunStart { programs, .. }))) => programs.clone(),
            Some(_) | None => BTreeMap::new(),
        }
    }

    /// The approvals that permitted it.
    pub fn approvals(&self) -> Vec<ApprovedBy> {
        match self.events.first().map(|recorded| &recorded.event) {
            Some(Event::Run(RunEvent::Started(RunStart { approvals, .. }))) => approvals.clone(),
            Some(_) | None => Vec::new(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct DriveOptions {
    pub limits: ScheduleLimits,
    /// Parallel attempts in this process; 0 leaves them to `planwright worker`.
    pub workers: usize,
    /// Requested when the user wants to leave: running work is ended, and nothing is lost.
    pub leave: Stop,
    pub isolation: Isolation,
    /// A step on which several agents compete, by id, and how many.
    pub tournament: Option<(String, u32)>,
}

impl DriveOptions {
    /// One after the other, in the workspace.
    pub const fn together(limits: ScheduleLimits, workers: usize, leave: Stop) -> Self {
        Self { limits, workers, leave, isolation: Isolation::Together, tournament: None }
    }
}

/// Where the attempts of a run work. A run whose attempts were isolated once stays so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// All in the workspace.
    Together,
    /// Each in its own worktree, if there is a repository.
    Apart,
}

/// The newest run of a plan, as lists show it: from a row, without its plan and journal. Never the basis of a
/// decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummaryRow {
    pub run: RunId,
    /// Relative to the root of the project.
    pub path: PathBuf,
    pub plan: String,
    pub digest: String,
    /// In milliseconds since 1970.
    pub started_at_ms: u64,
    /// In milliseconds since 1970.
    pub changed_at_ms: u64,
    pub tally: RunSummary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedAttempt {
    pub queued: Queued,
    pub plan: String,
    pub kind: WorkKind,
    /// The health of the worker running it.
    pub health: Option<Health>,
}

/// The result of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RolledBack {
    /// The steps to do again.
    pub reopened: Vec<String>,
    /// The files that were put back or removed, relative to the top of the working copy.
    pub files: Vec<String>,
    /// Those of them that were removed: they were not there before the step.
    pub removed: Vec<String>,
    /// The commit with the previous workspace files.
    pub kept: String,
}

/// Who approved, and how.
pub struct RunApproval {
    pub by: String,
    /// `terminal` or `rev`.
    pub way: &'static str,
}

impl Runs {
    /// The limits that the settings put on runs.
    pub fn limits(&self) -> ScheduleLimits {
        self.project.config.run_limits()
    }

    pub fn open(project: &Project) -> Result<Self, Error> {
        Ok(Self { project: project.clone(), store: Arc::new(Store::open(&project.root)?) })
    }

    /// Opens the runs of a project that has some. Creates nothing.
    pub fn open_existing(project: &Project) -> Result<Option<Self>, Error> {
        if Store::exists(&project.root)? { Self::open(project).map(Some) } else { Ok(None) }
    }

    pub fn latest(&self, path: &Path) -> Result<Option<Run>, Error> {
        self.store.latest_run(&self.project.root, &self.relative(path))?.map(|row| self.load(row)).transpose()
    }

    /// The newest run of a plan, including one whose working copy is gone.
    pub fn last(&self, path: &Path) -> Result<Option<Run>, Error> {
        let latest = self.store.latest_anywhere(&self.relative(path))?;
        latest.map(|(run, _)| self.run(run)).transpose()
    }

    /// Newest last.
    pub fn of_plan(&self, path: &Path) -> Result<Vec<Run>, Error> {
        let plan = self.relative(path);
        self.store.runs_of(&plan)?.into_iter().map(|row| self.load(row)).collect()
    }

    /// Newest last.
    pub fn all(&self) -> Result<Vec<Run>, Error> {
        self.store.runs()?.into_iter().map(|row| self.load(row)).collect()
    }

    /// The newest run of every plan in any working copy, oldest first.
    pub fn everywhere(&self) -> Result<Vec<RunSummaryRow>, Error> {
        self.glances(self.store.newest_runs_anywhere()?)
    }

    /// The working copy and number of a plan's newest run, if that is another one than this and still exists.
    pub fn elsewhere(&self, path: &Path) -> Result<Option<(PathBuf, RunId)>, Error> {
        let latest = self.store.latest_anywhere(&self.relative(path))?;
        let is_other = |root: &PathBuf| *root != self.project.root && root.is_dir();
        Ok(latest.and_then(|(run, root)| Some((root.filter(is_other)?, run))))
    }

    /// The newest run of every plan of this workspace, oldest first.
    pub fn newest(&self) -> Result<Vec<RunSummaryRow>, Error> {
        self.glances(self.store.newest_runs(&self.project.root)?)
    }

    fn glances(&self, rows: Vec<journal::ListedRun>) -> Result<Vec<RunSummaryRow>, Error> {
        let mut glances = Vec::new();
        for row in rows {
            let (tally, changed_at_ms) = match row.tally {
                Some(tally) => tally,
                None => {
                    let run = self.run(row.id)?;
                    let changed = run.events.last().map_or(row.created_at_ms, |last| last.at_ms);
                    (RunSummary::of(&run.plan, &run.state), changed)
                }
            };
            glances.push(RunSummaryRow {
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

    /// Whether a process is running the run now.
    pub fn is_driven(&self, run: &Run) -> Result<bool, Error> {
        Ok(self.store.holder(run.row.id)?.is_some())
    }

    pub fn run(&self, run: RunId) -> Result<Run, Error> {
        self.load(self.store.run(run)?)
    }

    /// The process that runs the run now.
    pub fn holder(&self, run: &Run) -> Result<Option<LockHolder>, Error> {
        self.holder_of(run.row.id)
    }

    /// The process that runs the run with this number now.
    pub fn holder_of(&self, run: RunId) -> Result<Option<LockHolder>, Error> {
        Ok(self.store.holder(run)?)
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn project(&self) -> &Project {
        &self.project
    }

    pub fn blob(&self, blob: &planwright_core::run::receipt::Blob) -> Result<Vec<u8>, Error> {
        Ok(self.store.get(blob)?)
    }

    /// The path of a plan as stored: relative to the root of the project.
    pub fn relative(&self, path: &Path) -> PathBuf {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        path.strip_prefix(&self.project.root).map(Path::to_owned).unwrap_or(path)
    }

    /// The plan is read from the stored bytes, never from the workspace.
    fn load(&self, row: RunRow) -> Result<Run, Error> {
        let plan = row.approved().ok_or(Error::Plan { run: row.id })?;
        let events = self.store.events(row.id, 0)?;
        let mut state = RunState::new(&plan);
        for recorded in &events {
            state.apply(&recorded.event).map_err(|source| Error::Broken { run: row.id, source })?;
        }
        Ok(Run { row, plan, state, events })
    }

    /// The current commands of the agents, if they are not what was approved.
    pub fn lapsed_agents(&self, run: &Run) -> Option<AgentCommands> {
        let now = self.project.commands_of(&run.plan);
        (now != run.agents()).then_some(now)
    }

    /// Approves the current commands of the agents.
    pub fn approve_agents(&self, run: &Run, approval: &RunApproval) -> Result<(), Error> {
        let agents = self.project.commands_of(&run.plan);
        let (approved_by, approved_at) = (approval.by.clone(), approval.way.to_owned());
        let approval = AgentsApproval { approved_by, approved_at, agents };
        self.record(run, &Event::Run(RunEvent::AgentsApproved(approval)))
    }

    /// Runs a plan as far as it goes. `watch` sees every event once it is durable.
    pub fn drive(
        &self,
        run: &Run,
        path: &Path,
        drive: &DriveOptions,
        watch: &mut dyn FnMut(&RunState, &Event),
    ) -> Result<(Progress, Vec<String>), Error> {
        let rights = self.rights(run.row.id)?;
        // What was recorded before the right was ours is known only now.
        let run = self.run(run.row.id)?;
        self.drive_held(&run, path, drive, rights, watch)
    }

    /// The same for who has the right to drive it, and has read the run since.
    pub(crate) fn drive_held(
        &self,
        run: &Run,
        path: &Path,
        drive: &DriveOptions,
        rights: [RunLock; 2],
        watch: &mut dyn FnMut(&RunState, &Event),
    ) -> Result<(Progress, Vec<String>), Error> {
        refuse_unjudged(&run.plan, drive.tournament.as_ref())?;
        let hands = DriveSetup {
            workers: drive.workers,
            leave: drive.leave.clone(),
            tournament: drive.tournament.clone(),
        };
        let mut host = self.host_held(run, path, hands, rights)?;
        let ground = self.ground(run)?;
        if drive.isolation == Isolation::Apart && (ground.is_kept() || drive.tournament.is_some()) {
            ground.part()?;
        }
        let begun = ground.begin(&run.state);
        if ground.is_apart()? {
            begun?;
        } else if let Err(error) = begun {
            // Without it there is no rollback to before a step; nothing else is lost.
            host.mirror.complaints.push(format!("changes of steps are not saved: {error}"));
        }
        if run.state.is_stopped() {
            self.record(run, &Event::Run(RunEvent::Resumed { by: user() }))?;
        }
        for (ask, _) in run.state.asks.iter().filter(|(_, ask)| ask.reason == AskReason::Stalled) {
            self.answer(run, ask, AskAnswer::Retry { hint: String::new() })?;
        }
        host.mirror.show(&run.plan, &run.state, &run.events);
        let progress = driver::drive(&run.plan, &drive.limits, &mut host, watch)?;
        let now = self.load(run.row.clone())?;
        host.mirror.show(&now.plan, &now.state, &now.events);
        Ok((progress, std::mem::take(&mut host.mirror.complaints)))
    }

    /// A host for a run, with the right to run it: while it lives, no other process runs this run, or another
    /// one in the same workspace.
    pub fn host(&self, run: &Run, path: &Path, hands: DriveSetup) -> Result<LocalHost, Error> {
        let rights = self.rights(run.row.id)?;
        self.host_held(run, path, hands, rights)
    }

    fn host_held(
        &self,
        run: &Run,
        path: &Path,
        hands: DriveSetup,
        rights: [RunLock; 2],
    ) -> Result<LocalHost, Error> {
        let source = run.row.source().ok_or(Error::Plan { run: run.row.id })?;
        let worker = Worker { tournament: hands.tournament.clone(), ..self.worker(run)? };
        Ok(LocalHost::new((worker, rights), run.row.id, (path, source), hands))
    }

    /// Executes the commands of a run.
    pub(crate) fn worker(&self, run: &Run) -> Result<Worker, Error> {
        Ok(Worker {
            root: self.project.root.clone(),
            ground: self.ground(run)?,
            tournament: None,
            config: self.project.config.clone(),
            agents: run.agents(),
            plan: Arc::new(run.plan.clone()),
            plan_file: run.row.plan.clone(),
            own: mirror::written_files(
                &run.row.plan,
                &run.row.source().ok_or(Error::Plan { run: run.row.id })?,
            ),
            digest: run.row.digest.clone(),
            approvals: run.approvals(),
            sealed: run.sealed(),
            programs: run.programs(),
            tag: format!("{}/{}", self.store.key(), run.row.id.number()),
            store: Arc::clone(&self.store),
            for_agents: Supervisors::new(),
            for_contracts: Supervisors::guarded(),
        })
    }

    pub fn ground(&self, run: &Run) -> Result<RunCheckout, Error> {
        let name = run.row.plan.file_name().unwrap_or_default().to_string_lossy();
        let fresh = run.row.plan.with_file_name(format!(".{name}.planwright"));
        let plot = RunContext {
            project: self.project.clone(),
            run: checkout::name_of_run(&self.store.key(), run.row.id.number(), run.row.created_at_ms),
            own: vec![run.row.plan.clone(), fresh],
        };
        Ok(RunCheckout::of(plot)?)
    }

    /// Follows a run of another process until that one releases it or the user leaves.
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
            // Checked before the events are read: the last events of the owner are still seen.
            let is_driven = self.store.holder(id)?.is_some();
            for recorded in self.store.events(id, seen)? {
                seen = recorded.seq;
                state.apply(&recorded.event).map_err(|source| Error::Broken { run: id, source })?;
                watch(&state, &recorded.event);
            }
            match state.phase {
                Phase::Finished { outcome, .. } => return Ok(Progress::Finished(outcome)),
                _ if leave.is_requested() => return Ok(Progress::Left),
                _ if is_driven => drop(self.store.wait(id, seen, FOLLOW)?),
                Phase::Stopped { .. } => return Ok(Progress::Stopped),
                Phase::New | Phase::Running if state.asks.is_empty() => return Ok(Progress::Left),
                Phase::New | Phase::Running => return Ok(Progress::NeedsPerson),
            }
        }
    }

    /// Oldest first.
    pub fn pending(&self) -> Result<Vec<QueuedAttempt>, Error> {
        let runs = self.store.queued_runs()?;
        let mut pending = Vec::new();
        for queued in self.store.queue()? {
            // An attempt queued since is in the next list.
            let Some((plan, tally)) = runs.get(&queued.run) else { continue };
            let is_it = |one: &&ActiveAttempt| one.step == queued.step && one.attempt == queued.attempt;
            let known = tally.as_ref().and_then(|tally| tally.attempts.iter().find(is_it));
            let kind = match known {
                Some(attempt) => attempt.kind,
                None => self.kind_of(&queued)?,
            };
            let health = queued.lease.as_ref().map(|lease| self.store.health(lease, now())).transpose()?;
            pending.push(QueuedAttempt { plan: plan.clone(), kind, health, queued });
        }
        Ok(pending)
    }

    /// The agent's assignment for an attempt of `run`.
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

    /// What isolated attempts will not find in their worktrees, for people. Empty if a setup command provides
    /// it.
    pub fn lacking(&self) -> Result<Vec<String>, Error> {
        if !self.project.config.worktree.setup.command.is_empty() {
            return Ok(Vec::new());
        }
        checkout::lacking(&self.project.root).map_err(Error::from)
    }

    /// Rolls the work of a run back to before a step: it, everything merged after it, and everything that
    /// needs any of these must be done again. Nothing else may run here meanwhile.
    pub fn roll_back(&self, run: &Run, path: &Path, step: &str) -> Result<RolledBack, Error> {
        let _rights = self.rights(run.row.id)?;
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
        // The journal first: after a crash, the steps are done again on whatever is there.
        self.record(&run, &Event::Run(RunEvent::Reopened { steps: reopened.clone(), by: user() }))?;
        let Restored { kept, files, removed } = ground.roll_back(&landings[first].before)?;
        self.mirror(run.row.id, path)?;
        Ok(RolledBack { reopened, files, removed, kept })
    }

    /// Records an answer, a stop or a cancellation by a person.
    pub fn record(&self, run: &Run, event: &Event) -> Result<(), Error> {
        self.record_all(run, std::slice::from_ref(event), &[])
    }

    fn record_all(&self, run: &Run, news: &[Event], blobs: &[Vec<u8>]) -> Result<(), Error> {
        until_recorded(run.row.id, || {
            let events = self.store.events(run.row.id, 0)?;
            let mut state = RunState::new(&run.plan);
            for recorded in &events {
                state.apply(&recorded.event).map_err(|source| Error::Broken { run: run.row.id, source })?;
            }
            // They must fit what is recorded now, not what the person saw.
            news.iter().try_for_each(|event| state.apply(event)).map_err(Error::Illegal)?;
            let seen = events.last().map_or(0, |last| last.seq);
            let tally = Some(RunSummary::of(&run.plan, &state));
            let (after, blobs) = (seen, blobs.to_vec());
            let addition = Append { after, events: news, blobs, claim_for: None, tally, at_ms: now() };
            Ok(self.store.add(run.row.id, addition)?)
        })
    }

    /// Answers a question. An answer that sends the plan back to its author ends the run.
    pub fn answer(&self, run: &Run, ask: &str, answer: AskAnswer) -> Result<(), Error> {
        self.answer_as(run, ask, answer, &user())
    }

    /// The same for a caller that is not at this terminal.
    pub fn answer_as(&self, run: &Run, ask: &str, answer: AskAnswer, by: &str) -> Result<(), Error> {
        let end = match &answer {
            AskAnswer::Revise { reason } => Some(Event::Run(RunEvent::Finished {
                outcome: RunOutcome::Cancelled,
                why: format!("sent back for revision: {reason}"),
            })),
            AskAnswer::Retry { .. }
            | AskAnswer::RetryStep { .. }
            | AskAnswer::TakeOver
            | AskAnswer::Confirm
            | AskAnswer::Skip { .. }
            | AskAnswer::Stop
            | AskAnswer::Budget { .. } => None,
        };
        let answered =
            Event::Ask { ask: ask.to_owned(), event: AskEvent::Answered { answer, by: by.to_owned() } };
        let news: Vec<Event> = std::iter::once(answered).chain(end).collect();
        self.record_all(run, &news, &[])
    }

    /// Pauses a run.
    pub fn stop(&self, run: &Run, when: StopMode) -> Result<(), Error> {
        self.stop_as(run, when, &user())
    }

    /// The same for a caller that is not at this terminal.
    pub fn stop_as(&self, run: &Run, when: StopMode, by: &str) -> Result<(), Error> {
        self.record(run, &Event::Run(RunEvent::Stopped { by: by.to_owned(), mode: when }))
    }

    /// Ends a run for good. Its owner ends what is running.
    pub fn cancel(&self, run: &Run, why: &str) -> Result<(), Error> {
        self.end(run, RunOutcome::Cancelled, why)
    }

    /// Ends a run for good with this outcome.
    pub fn end(&self, run: &Run, outcome: RunOutcome, why: &str) -> Result<(), Error> {
        self.record(run, &Event::Run(RunEvent::Finished { outcome, why: why.to_owned() }))
    }

    /// Asks what to do about runs that no process has run for a long time; `minutes_of` says how long that is
    /// for a plan. Returns the new questions.
    pub fn ask_about_stalled(
        &self,
        minutes_of: impl Fn(&Path) -> u64,
    ) -> Result<Vec<(PathBuf, String)>, Error> {
        let now = now();
        let mut asked = Vec::new();
        for glance in self.newest()? {
            let patience_ms = minutes_of(&glance.path).saturating_mul(60_000);
            let is_silent = now.saturating_sub(glance.changed_at_ms) >= patience_ms;
            if glance.tally.phase != SummaryPhase::Running || !glance.tally.asks.is_empty() || !is_silent {
                continue;
            }
            // Nobody drives it, and nobody begins to until the question is recorded.
            let _right = match self.lock(glance.run) {
                Ok(right) => right,
                Err(Error::Driven { .. }) => continue,
                Err(error) => return Err(error),
            };
            let run = self.run(glance.run)?;
            let is_running = matches!(run.state.phase, Phase::Running) && run.state.asks.is_empty();
            let changed_at_ms = run.events.last().map_or(glance.started_at_ms, |last| last.at_ms);
            if !is_running || now.saturating_sub(changed_at_ms) < patience_ms {
                continue;
            }
            let age = ago(now.saturating_sub(glance.started_at_ms));
            let (settled, steps) = (glance.tally.settled(), number(glance.tally.steps.len(), "step"));
            let text = format!("Started {age} ago, {settled} of {steps} done, and no process is running it.");
            let opened = Event::Ask {
                ask: format!("stalled/{}", run.state.asked + 1),
                event: AskEvent::Opened { step: None, reason: AskReason::Stalled, text: text.clone() },
            };
            self.record(&run, &opened)?;
            self.mirror(glance.run, &self.project.root.join(&glance.path))?;
            asked.push((glance.path, text));
        }
        Ok(asked)
    }

    /// Writes the run's state into the plan file; returns problems. For a run that is not running.
    pub fn mirror(&self, run: RunId, path: &Path) -> Result<Vec<String>, Error> {
        let run = self.run(run)?;
        let mut mirror = self.mirror_of(&run, path)?;
        mirror.show(&run.plan, &run.state, &run.events);
        Ok(mirror.complaints)
    }

    /// The same while nobody can start to run it. Marks that somebody set on open steps stay.
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

/// A time that has passed, in milliseconds, in the unit that tells it.
fn ago(milliseconds: u64) -> String {
    match milliseconds / 60_000 {
        minutes @ 0..60 => format!("{minutes} min"),
        minutes => format!("{} h", minutes / 60),
    }
}

/// Refuses a tournament of a step that has no contract to pick the winner.
pub(crate) fn refuse_unjudged(plan: &Plan, tournament: Option<&(String, u32)>) -> Result<(), Error> {
    let Some((id, _)) = tournament else { return Ok(()) };
    let is_unjudged = |step: &Step| step.id == *id && step.contract == Contract::Manual;
    if plan.steps.iter().any(is_unjudged) { Err(Error::NoJudge { step: id.clone() }) } else { Ok(()) }
}

/// Retries until no other process recorded anything in between.
fn until_recorded(run: RunId, mut add: impl FnMut() -> Result<AppendResult, Error>) -> Result<(), Error> {
    for _ in 0..RECORD_TRIES_MAX {
        match add()? {
            AppendResult::Written { .. } | AppendResult::Known => return Ok(()),
            AppendResult::Moved => {}
        }
    }
    Err(Error::Contended { run })
}

#[cfg(test)]
mod tests {
    use super::*;

    // "Started 0 h ago" was said of a run that began 31 minutes ago.
    #[test]
    fn what_began_less_than_an_hour_ago_is_told_in_minutes() {
        assert_eq!(
            [31, 59, 60, 150].map(|minutes| ago(minutes * 60_000 + 59_000)),
            ["31 min", "59 min", "1 h", "2 h"]
        );
    }

    #[test]
    fn a_journal_that_never_rests_is_given_up() {
        let mut tries = 0;
        let never = until_recorded(RunId::new(7), || {
            tries += 1;
            Ok(AppendResult::Moved)
        });
        let said = never.expect_err("it gives up").to_string();
        assert_eq!(tries, RECORD_TRIES_MAX);
        assert!(said.contains("run 7") && said.contains("1000 times"), "{said}");
        let mut moves = [AppendResult::Written { seq: 9 }, AppendResult::Moved, AppendResult::Moved].to_vec();
        until_recorded(RunId::new(7), || Ok(moves.pop().expect("recorded by then"))).expect("recorded");
    }
}
