//! The only way to start a run, for all front ends: decides whether a plan may run now and returns the run with the lock to drive
//! it. Prompts nobody; what a person must decide first is returned as a value.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{AgentCommands, Event, RunOutcome};
use planwright_core::run::schedule::ScheduleLimits;
use planwright_core::run::state::RunState;
use planwright_core::workspace::portfolio::CircuitBreaker;

use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::runnable::RunnablePlan;
use crate::api::target::PlanRun;
use crate::approval;
use crate::approval::{ApprovalRequest, Approvals, PlanRecord, Started};
use crate::run;
use crate::run::driver::Progress;
use crate::run::{DriveOptions, Isolation, Recheck, Run, RunApproval, Runs};
use crate::store::journal::{RunLock, blob_of};
use crate::system::process;
use crate::system::process::Stop;
use crate::system::user::user;

/// How long a start waits for somebody who works in this folder on nothing that is known yet: another start that is about to
/// record its run, or a merge.
const OTHERS_MAX: Duration = Duration::from_secs(5);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(20);
/// How often a start is decided again because the ledger of the plan grew while it was decided.
const DECISIONS_MAX: usize = 100;

/// How to run a plan.
pub struct StartOptions<'a> {
    pub steps: StepSelection,
    /// Steps under way at once; `None`: `run.jobs` of the settings.
    pub jobs: Option<usize>,
    /// Attempts that this process makes at once; `None`: as many as jobs.
    pub workers: Option<usize>,
    /// A step that several agents do against each other, by its id, and how many.
    pub tournament: Option<(String, u32)>,
    pub retry: Retry,
    /// The digest that is meant, or its first digits.
    pub expected: Option<&'a str>,
    pub by: Identity,
    /// Requested to make the driver return early; the run can be resumed.
    pub leave: Stop,
}

impl StartOptions<'_> {
    /// The plan as a whole, as the settings have it.
    pub fn by(by: Identity) -> Self {
        Self {
            steps: StepSelection::All,
            jobs: None,
            workers: None,
            tournament: None,
            retry: Retry::No,
            expected: None,
            by,
            leave: Stop::new(),
        }
    }
}

/// The steps that may start, by their positions in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepSelection {
    All,
    /// This one alone.
    Only(usize),
    /// This one and everything that it needs.
    Until(usize),
}

impl StepSelection {
    /// The places; `None`: all of them.
    pub fn places(self, plan: &Plan) -> Option<BTreeSet<usize>> {
        let mut open = match self {
            Self::All => return None,
            Self::Only(place) => return Some(BTreeSet::from([place])),
            Self::Until(place) => vec![place],
        };
        let mut steps = BTreeSet::new();
        while let Some(place) = open.pop() {
            if steps.insert(place) {
                open.extend(&plan.steps[place].needs);
            }
        }
        Some(steps)
    }

    /// What a step alone needs that is not settled: it would never begin.
    pub fn unsettled(self, plan: &Plan, state: &RunState) -> Option<Blocker> {
        let Self::Only(step) = self else { return None };
        let needs = plan.steps[step].needs.iter().copied();
        let open: Vec<usize> = needs.filter(|&before| !state.steps[before].status.is_settled()).collect();
        (!open.is_empty()).then_some(Blocker::Needs { step, open })
    }
}

/// Whether a plan whose last run failed is tried again, on the strength of the approval that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    No,
    Yes,
}

/// What would happen if the run were started now.
pub enum Readiness {
    Begin,
    /// This run would resume.
    Resume(Box<PlanRun>),
    /// It is done, and every contract has a receipt for the tree that is there.
    Proven(Box<PlanRun>),
    /// It is done for another tree: its contracts would run again.
    Unproven(Box<PlanRun>),
    /// This one drives it already.
    Follow(Box<PlanRun>, String),
    NeedsApproval(Missing),
    /// The last run failed.
    NeedsRetry,
    Blocked(Blocker),
}

/// The result of a start.
pub enum Start {
    /// A run that began on these approvals.
    Begun(Box<PlanRun>, Driving, Vec<StartApproval>),
    Resumed(Box<PlanRun>, Driving),
    /// It is done, and every contract has a receipt for the tree that is there. Nothing was started.
    Proven(ProvenRun),
    /// It was done, and contracts don't hold on the tree that is there.
    Lapsed(ProvenRun),
    /// Another process drives it.
    Following(Box<PlanRun>, String),
    NeedsApproval(Missing),
    /// The last run failed.
    NeedsRetry,
    Blocked(Blocker),
}

/// A run that is over, compared with the tree that is there.
pub struct ProvenRun {
    pub run: Box<PlanRun>,
    /// How many contracts ran again for it; 0: it has a receipt for this tree.
    pub rechecked: usize,
    /// What could not be written to the plan file.
    pub complaints: Vec<String>,
}

impl ProvenRun {
    /// One that has a receipt for this tree.
    const fn known(run: Box<PlanRun>) -> Self {
        Self { run, rechecked: 0, complaints: Vec::new() }
    }
}

/// Who may begin in the folder of the project while a start is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    /// This start alone.
    Ours,
    Anybodys,
}

/// Who has the folder of the project.
enum Occupied {
    ByUs(RunLock),
    /// And that is what came of the start.
    ByOthers(Start),
}

/// The approval that a run starts with: by whom, and how it was given.
pub struct StartApproval {
    pub by: String,
    /// `terminal`, `rev` or `policy`.
    pub way: String,
}

/// What a person has to approve first.
pub enum Missing {
    /// The plan.
    Plan {
        /// What an approval lapsed for, in words.
        lapsed: Vec<String>,
        /// Why it is held although it was approved.
        trip: Option<CircuitBreaker>,
        /// A run of another text of it that is not over: it ends once this one is approved.
        live: Option<Box<PlanRun>>,
    },
    /// The agents' command lines of a run that would resume.
    Agents {
        run: Box<PlanRun>,
        /// The name of exactly these command lines for exactly this plan, in hex.
        digest: String,
        changes: Vec<AgentChange>,
    },
}

/// The command line for a target that is not what was approved.
pub struct AgentChange {
    pub target: String,
    /// Empty if there was none.
    pub before: Vec<String>,
    /// Empty if there is none.
    pub now: Vec<String>,
}

/// What blocks a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// A step alone that needs others which are not settled; places in the plan.
    Needs { step: usize, open: Vec<usize> },
    /// Another revision of the plan, or another plan in this directory, is running.
    Elsewhere(Error),
    /// The plan is not the one that is meant.
    OtherDigest,
}

/// The right to drive a run, and how. Dropping it leaves the run to the next driver.
pub struct Driving {
    pub drive: DriveOptions,
    path: PathBuf,
    rights: [RunLock; 2],
}

impl Driving {
    /// Drives the run as far as it goes. `watch` sees every event once it is durable.
    pub fn drive(
        self,
        run: &PlanRun,
        watch: &mut dyn FnMut(&RunState, &Event),
    ) -> Result<DriveResult, Error> {
        process::guard_memory();
        let driven = run.runs.drive_held(&run.run, &self.path, &self.drive, self.rights, watch);
        let (progress, complaints) = driven?;
        Ok(DriveResult { progress, complaints })
    }

    /// What attempts will not find where they work, for people.
    pub fn lacking(&self, run: &PlanRun) -> Result<Vec<String>, Error> {
        match self.drive.isolation {
            Isolation::Apart => Ok(run.runs.lacking()?),
            Isolation::Together => Ok(Vec::new()),
        }
    }
}

/// Why driving or following a run ended.
pub struct DriveResult {
    pub progress: Progress,
    /// What went wrong with the plan file; nothing is lost by it.
    pub complaints: Vec<String>,
}

impl PlanRun {
    /// Follows a run of another process. `watch` sees every event once it is durable.
    pub fn follow(
        &self,
        leave: &Stop,
        watch: &mut dyn FnMut(&RunState, &Event),
    ) -> Result<DriveResult, Error> {
        Ok(DriveResult { progress: self.runs.follow(&self.run, leave, watch)?, complaints: Vec::new() })
    }

    /// Approves the current command lines of the agents. Returns who did.
    pub fn approve_agents(&self, way: &'static str) -> Result<String, Error> {
        self.caller.may(Right::Approve)?;
        let approval = RunApproval { way, by: user() };
        self.runs.approve_agents(&self.run, &approval)?;
        Ok(approval.by)
    }
}

/// The result of an approval by the person who starts the plan.
pub struct ApprovedStart {
    /// Who approved; `None` if a rule of the policy did.
    pub by: Option<String>,
    /// Approvals still needed.
    pub missing: u32,
    pub rule: String,
    /// What could not be written to the plan file.
    pub complaints: Vec<String>,
}

impl RunnablePlan<'_> {
    fn runs(&self) -> Result<Runs, Error> {
        Ok(Runs::open(self.file.workspace().project())?)
    }

    fn run_of(&self, runs: Runs, run: Run) -> Box<PlanRun> {
        let (path, caller) = (self.file.path().to_owned(), self.file.workspace().caller().clone());
        Box::new(PlanRun { path, caller, runs, run, step: None })
    }

    /// What would happen if the run were started now. Starts nothing.
    pub fn readiness(&self, options: &StartOptions<'_>) -> Result<Readiness, Error> {
        self.decide(options, Folder::Anybodys)
    }

    /// Whoever is to begin or resume a run decides while the folder is theirs: until it is recorded, nobody else begins here.
    fn decide(&self, options: &StartOptions<'_>, folder: Folder) -> Result<Readiness, Error> {
        run::refuse_unjudged(self.plan, options.tournament.as_ref())?;
        let (runs, digest) = (self.runs()?, self.digest.to_string());
        let case = Approvals::open(self.file.workspace().project())?.case(self.file.path())?;
        let old = runs.latest(self.file.path())?;
        let holder = match (&old, folder) {
            (Some(old), Folder::Anybodys) => runs.holder(old)?,
            // Who drives a run has its folder. What holds the run without it is only looking, and soon gone.
            (Some(_), Folder::Ours) | (None, _) => None,
        };
        match (old, holder) {
            (Some(run), Some(holder)) if goes_on(&run, &digest, &case) => {
                Ok(Readiness::Follow(self.run_of(runs, run), holder.to_string()))
            }
            // Nothing is asked, and the run is not ended behind its driver's back.
            (Some(run), Some(holder)) => {
                let driven = run::Error::Driven { run: run.row.id, holder: holder.to_string() };
                Ok(Readiness::Blocked(Blocker::Elsewhere(driven.into())))
            }
            (Some(run), None) if goes_on(&run, &digest, &case) && run.state.outcome().is_some() => {
                let is_proven = runs.unproven(&run)?.is_empty();
                let run = self.run_of(runs, run);
                Ok(if is_proven { Readiness::Proven(run) } else { Readiness::Unproven(run) })
            }
            (Some(run), None) if goes_on(&run, &digest, &case) => {
                if let Some(blocker) = options.steps.unsettled(self.plan, &run.state) {
                    return Ok(Readiness::Blocked(blocker));
                }
                let lapsed = runs.lapsed_agents(&run);
                let run = self.run_of(runs, run);
                Ok(match lapsed {
                    Some(now) => Readiness::NeedsApproval(self.missing_agents(run, &now)),
                    None => Readiness::Resume(run),
                })
            }
            (old, _) => self.may_begin(runs, options, (old, case.state(), folder)),
        }
    }

    fn missing_agents(&self, run: Box<PlanRun>, now: &AgentCommands) -> Missing {
        let before = run.run.agents();
        let targets: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let changed = targets.into_iter().filter(|&target| before.get(target) != now.get(target));
        let of = |agents: &AgentCommands, target| agents.get(target).cloned().unwrap_or_default();
        let changes = changed.map(|target| AgentChange {
            target: target.clone(),
            before: of(&before, target),
            now: of(now, target),
        });
        let changes = changes.collect();
        let text = serde_json::to_string(&(self.digest.to_string(), now))
            .expect("text and lists of text can be written as JSON");
        Missing::Agents { run, digest: blob_of(text.as_bytes()).0, changes }
    }

    /// Whether a new run may begin in the place of the old one.
    fn may_begin(
        &self,
        runs: Runs,
        options: &StartOptions<'_>,
        (old, state, folder): (Option<Run>, PlanState, Folder),
    ) -> Result<Readiness, Error> {
        if let Some(blocker) = options.steps.unsettled(self.plan, &RunState::new(self.plan)) {
            return Ok(Readiness::Blocked(blocker));
        }
        // Before anything is asked or recorded: a run that can't start here would block one elsewhere.
        if folder == Folder::Anybodys
            && let Some((plan, holder)) = runs.occupant()?
        {
            let occupied = run::Error::Occupied { plan, holder };
            return Ok(Readiness::Blocked(Blocker::Elsewhere(occupied.into())));
        }
        let missing = |lapsed, trip, live| Ok(Readiness::NeedsApproval(Missing::Plan { lapsed, trip, live }));
        if state == PlanState::Failed && options.retry == Retry::No {
            return Ok(Readiness::NeedsRetry);
        }
        match old {
            Some(old) if old.state.outcome().is_none() => {
                return missing(Vec::new(), None, Some(self.run_of(runs, old)));
            }
            Some(_) | None => {}
        }
        let is_other = |meant: &str| !self.digest.to_string().starts_with(meant);
        let decisions = Approvals::open(self.file.workspace().project())?;
        match decisions.approved(self.file.path(), self.file.verified()?) {
            Ok(_) if options.expected.is_some_and(is_other) => Ok(Readiness::Blocked(Blocker::OtherDigest)),
            Ok(_) => Ok(Readiness::Begin),
            Err(approval::Error::Lapsed { moved, .. }) => missing(moved, None, None),
            Err(approval::Error::Tripped { trip, .. }) => missing(Vec::new(), Some(trip), None),
            Err(approval::Error::Unapproved { .. }) => missing(Vec::new(), None, None),
            Err(error) => Err(error.into()),
        }
    }

    /// Starts a run of an approved plan, or resumes the existing one, with the right to run it. Decided
    /// and recorded while the folder is ours; a run in another working copy that is begun meanwhile shows in the ledger, and
    /// then it is decided again.
    pub fn start(&self, options: &StartOptions<'_>) -> Result<Start, Error> {
        // The environment of this process decides which `bash` and other programs judge the work.
        if process::job_above().is_some() {
            self.file.workspace().caller().may(Right::ApproveOrRun)?;
        }
        let runs = self.runs()?;
        let folder = match self.occupied(&runs, options)? {
            Occupied::ByUs(folder) => folder,
            Occupied::ByOthers(start) => return Ok(start),
        };
        for _ in 0..DECISIONS_MAX {
            match self.decide(options, Folder::Ours)? {
                Readiness::Begin => {
                    if let Some(started) = self.record(options)? {
                        return self.begin(options, runs, (folder, started));
                    }
                }
                Readiness::Resume(run) => return self.resume(options, run, folder),
                Readiness::Proven(run) | Readiness::Unproven(run) => {
                    return self.check_again(options, run, folder);
                }
                Readiness::Follow(run, holder) => return Ok(Start::Following(run, holder)),
                Readiness::NeedsApproval(missing) => return Ok(Start::NeedsApproval(missing)),
                Readiness::NeedsRetry => return Ok(Start::NeedsRetry),
                Readiness::Blocked(blocker) => return Ok(Start::Blocked(blocker)),
            }
        }
        Ok(Start::Blocked(Blocker::OtherDigest))
    }

    /// Takes the folder, or says what is to be done because somebody else has it.
    fn occupied(&self, runs: &Runs, options: &StartOptions<'_>) -> Result<Occupied, Error> {
        let since = Instant::now();
        loop {
            let error = match runs.occupy() {
                Ok(folder) => return Ok(Occupied::ByUs(folder)),
                Err(error @ run::Error::Occupied { .. }) => error,
                Err(error) => return Err(error.into()),
            };
            let is_known = runs.occupying_run()?.is_some();
            let start = match self.readiness(options)? {
                Readiness::Follow(run, holder) => Start::Following(run, holder),
                Readiness::Proven(run) => Start::Proven(ProvenRun::known(run)),
                Readiness::NeedsApproval(missing) if is_known => Start::NeedsApproval(missing),
                Readiness::NeedsRetry if is_known => Start::NeedsRetry,
                Readiness::Blocked(blocker) if is_known => Start::Blocked(blocker),
                // They have left meanwhile, or they are about to record what they do.
                Readiness::Begin
                | Readiness::Resume(_)
                | Readiness::Unproven(_)
                | Readiness::NeedsApproval(_)
                | Readiness::NeedsRetry
                | Readiness::Blocked(_)
                    if since.elapsed() < OTHERS_MAX =>
                {
                    std::thread::sleep(LOOK);
                    continue;
                }
                Readiness::Begin
                | Readiness::Resume(_)
                | Readiness::Unproven(_)
                | Readiness::NeedsApproval(_)
                | Readiness::NeedsRetry
                | Readiness::Blocked(_) => Start::Blocked(Blocker::Elsewhere(error.into())),
            };
            return Ok(Occupied::ByOthers(start));
        }
    }

    /// Records the start of a run. `None` if the ledger is not the one that it was decided on.
    fn record(&self, options: &StartOptions<'_>) -> Result<Option<Started>, Error> {
        let decisions = Approvals::open(self.file.workspace().project())?;
        match decisions.start(self.file.path(), self.file.verified()?, &options.by) {
            Ok(started) => Ok(Some(started)),
            Err(approval::Error::Moved { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn begin(
        &self,
        options: &StartOptions<'_>,
        runs: Runs,
        (folder, started): (RunLock, Started),
    ) -> Result<Start, Error> {
        let right = match runs.lock_soon(started.run) {
            Ok(right) => right,
            Err(run::Error::Driven { holder, .. }) => {
                let run = runs.run(started.run)?;
                return Ok(Start::Following(self.run_of(runs, run), holder));
            }
            Err(error) => return Err(error.into()),
        };
        let run = runs.run(started.run)?;
        let driving = self.driving(options, &run.plan, [folder, right]);
        let approvals = started.approvals.into_iter();
        let approvals =
            approvals.map(|approval| StartApproval { by: approval.by.to_string(), way: approval.way });
        Ok(Start::Begun(self.run_of(runs, run), driving, approvals.collect()))
    }

    fn resume(
        &self,
        options: &StartOptions<'_>,
        mut run: Box<PlanRun>,
        folder: RunLock,
    ) -> Result<Start, Error> {
        let id = run.run.row.id;
        let right = match run.runs.lock_soon(id) {
            Ok(right) => right,
            Err(run::Error::Driven { holder, .. }) => return Ok(Start::Following(run, holder)),
            Err(error) => return Err(error.into()),
        };
        // What was recorded before the right was ours is known only now.
        run.run = run.runs.run(id)?;
        let driving = self.driving(options, &run.run.plan, [folder, right]);
        Ok(Start::Resumed(run, driving))
    }

    /// Runs the contracts of a run that is done again, those without a receipt for the tree that is there. If they don't hold and it is tried again, what
    /// a person has to say first is the answer.
    fn check_again(
        &self,
        options: &StartOptions<'_>,
        mut run: Box<PlanRun>,
        folder: RunLock,
    ) -> Result<Start, Error> {
        let id = run.run.row.id;
        let right = match run.runs.lock_soon(id) {
            Ok(right) => right,
            Err(run::Error::Driven { holder, .. }) => return Ok(Start::Following(run, holder)),
            Err(error) => return Err(error.into()),
        };
        run.run = run.runs.run(id)?;
        let steps = run.runs.unproven(&run.run)?;
        if !steps.is_empty()
            && let Recheck::Interrupted = run.runs.recheck(&run.run, &steps, &options.leave)?
        {
            return Err(Error::new(ErrorKind::Interrupted, "the contracts were interrupted")
                .hint("nothing was recorded")
                .next(NextCommand::new(["planwright", "run", self.file.shown().as_str()])));
        }
        run.run = run.runs.run(id)?;
        // The driver may have been killed between its last event and the file.
        let complaints = run.runs.mirror(id, self.file.path())?;
        drop([folder, right]);
        let is_lapsed = run.run.state.is_lapsed();
        match (is_lapsed, options.retry) {
            (false, _) => Ok(Start::Proven(ProvenRun { run, rechecked: steps.len(), complaints })),
            (true, Retry::No) => Ok(Start::Lapsed(ProvenRun { run, rechecked: steps.len(), complaints })),
            // Its approval ended with the run.
            (true, Retry::Yes) => {
                Ok(Start::NeedsApproval(Missing::Plan { lapsed: Vec::new(), trip: None, live: None }))
            }
        }
    }

    fn driving(&self, options: &StartOptions<'_>, plan: &Plan, rights: [RunLock; 2]) -> Driving {
        let config = &self.file.workspace().project().config;
        let usual = config.run_limits();
        let jobs = options.jobs.unwrap_or(usual.jobs);
        let is_apart = options.tournament.is_some() || jobs > 1 && config.run.has_trees;
        let drive = DriveOptions {
            limits: ScheduleLimits { jobs, steps: options.steps.places(plan), ..usual },
            workers: options.workers.unwrap_or(jobs),
            leave: options.leave.clone(),
            isolation: if is_apart { Isolation::Apart } else { Isolation::Together },
            tournament: options.tournament.clone(),
        };
        Driving { drive, path: self.file.path().to_owned(), rights }
    }

    /// Records the approval of the person who starts the plan, and how they gave it. A run of another revision ends.
    pub fn approve_start(&self, way: &'static str, live: Option<&PlanRun>) -> Result<ApprovedStart, Error> {
        let workspace = self.file.workspace();
        workspace.caller().may(Right::Approve)?;
        if let Some(live) = live {
            // Its approval was for another revision. It ends only now: nobody may end a run without the right to approve.
            live.runs.cancel(&live.run, "the plan was revised")?;
        }
        let (path, by) = (self.file.path(), workspace.caller().identity());
        let decisions = Approvals::open(workspace.project())?;
        let digest = self.digest.to_string();
        let mut complaints = Vec::new();
        // What a person cancelled stays so until it is reopened in so many words; a run that ended just now is no such case.
        match live {
            Some(_) => decisions.reopen_to_run(path, &by, &[PlanState::Cancelled])?,
            None => decisions.reopen_to_run(path, &by, &[PlanState::Failed, PlanState::Done])?,
        }
        if !decisions.is_proposed(path, &digest)? {
            let proposed = decisions.propose(path, self.file.verified()?, &by)?;
            complaints = proposed.complaints;
            if let Some(rule) = proposed.rule {
                return Ok(ApprovedStart { by: None, missing: 0, rule, complaints });
            }
        }
        let key = workspace.project().config.approve.key.clone();
        let yes = ApprovalRequest { by, way, note: String::new(), key };
        let approved = decisions.approve(path, &digest, &yes)?;
        Ok(ApprovedStart {
            by: Some(approved.approval.by.to_string()),
            missing: approved.missing,
            rule: approved.approval.rule,
            complaints,
        })
    }
}

/// Whether a run goes on with this plan: it is for exactly these bytes, and has neither failed nor been cancelled. One that was
/// done goes on until somebody takes the plan back: then an approval starts a new one.
pub(crate) fn goes_on(run: &Run, digest: &str, case: &PlanRecord) -> bool {
    let is_standing = match run.state.outcome() {
        None => true,
        Some(RunOutcome::Done) => case.is_standing(run),
        Some(RunOutcome::Failed) => run.state.is_lapsed() && case.is_standing(run),
        Some(RunOutcome::Cancelled) => false,
    };
    is_standing && run.row.digest == digest
}
