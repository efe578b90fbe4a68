//! The only beginning of a run, for every face: whether a plan may be run now, and the run with the right to drive it. Asks nobody
//! and words nothing; what a person has to say first is a value.

use std::collections::BTreeSet;
use std::path::PathBuf;

use planwright_core::plan::identity::Identity;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{AgentCommands, Event, RunOutcome};
use planwright_core::run::schedule::ScheduleLimits;
use planwright_core::run::state::RunState;
use planwright_core::workspace::portfolio::CircuitBreaker;

use crate::api::caller::{Caller, Right};
use crate::api::error::Error;
use crate::api::runnable::RunnablePlan;
use crate::api::target::PlanRun;
use crate::approval;
use crate::approval::{ApprovalRequest, Approvals};
use crate::run;
use crate::run::driver::Progress;
use crate::run::{DriveOptions, Isolation, Run, RunApproval, Runs};
use crate::store::journal::{RunLock, blob_of};
use crate::system::process;
use crate::system::process::Stop;
use crate::system::user::user;

/// How a plan is to be run.
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
    /// Told when the driver shall leave.
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

/// The steps that may be begun, by their places in the plan.
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
    /// This run would go on.
    Resume(Box<PlanRun>),
    /// This one drives it already.
    Follow(Box<PlanRun>, String),
    NeedsApproval(Missing),
    /// The last run failed.
    NeedsRetry,
    Blocked(Blocker),
}

/// What came of a start.
pub enum Start {
    /// A run that began on these approvals.
    Begun(Box<PlanRun>, Driving, Vec<StartApproval>),
    Resumed(Box<PlanRun>, Driving),
    /// Another process drives it.
    Following(Box<PlanRun>, String),
    NeedsApproval(Missing),
    /// The last run failed.
    NeedsRetry,
    Blocked(Blocker),
}

/// An approval that a run begins on: by whom, and how it was given.
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
    /// The command lines of the agents of a run that would go on.
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

/// What is in the way of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// A step alone that needs others which are not settled; places in the plan.
    Needs { step: usize, open: Vec<usize> },
    /// Another text of the plan, or another plan in this folder, is being run.
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
    pub fn drive(self, run: &PlanRun, watch: &mut dyn FnMut(&RunState, &Event)) -> Result<Rest, Error> {
        let driven = run.runs.drive_held(&run.run, &self.path, &self.drive, self.rights, watch);
        let (progress, complaints) = driven?;
        Ok(Rest { progress, complaints })
    }

    /// What attempts will not find where they work, for people.
    pub fn lacking(&self, run: &PlanRun) -> Result<Vec<String>, Error> {
        match self.drive.spread {
            Isolation::Apart => Ok(run.runs.lacking()?),
            Isolation::Together => Ok(Vec::new()),
        }
    }
}

/// How a run came to rest.
pub struct Rest {
    pub progress: Progress,
    /// What went wrong with the plan file; nothing is lost by it.
    pub complaints: Vec<String>,
}

impl PlanRun {
    /// Follows a run of another process. `watch` sees every event once it is durable.
    pub fn follow(&self, leave: &Stop, watch: &mut dyn FnMut(&RunState, &Event)) -> Result<Rest, Error> {
        Ok(Rest { progress: self.runs.follow(&self.run, leave, watch)?, complaints: Vec::new() })
    }

    /// Approves the current command lines of the agents. Returns who did.
    pub fn approve_agents(&self, way: &'static str) -> Result<String, Error> {
        self.caller.may(Right::Approve)?;
        let approval = RunApproval { way, by: user() };
        self.runs.approve_agents(&self.run, &approval)?;
        Ok(approval.by)
    }
}

/// What came of an approval by the person who starts the plan.
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

    /// What would happen if the run were started now. Nothing is begun.
    pub fn readiness(&self, options: &StartOptions<'_>) -> Result<Readiness, Error> {
        run::refuse_unjudged(self.plan, options.tournament.as_ref())?;
        let (runs, digest) = (self.runs()?, self.digest.to_string());
        let old = runs.latest(self.file.path())?;
        let holder = old.as_ref().map(|old| runs.holder(old)).transpose()?.flatten();
        match (old, holder) {
            (Some(run), Some(holder)) if goes_on(&run, &digest) => {
                Ok(Readiness::Follow(self.run_of(runs, run), holder.to_string()))
            }
            // Nothing is asked, and the run is not ended behind its driver's back.
            (Some(run), Some(holder)) => {
                let driven = run::Error::Driven { run: run.row.id, holder: holder.to_string() };
                Ok(Readiness::Blocked(Blocker::Elsewhere(driven.into())))
            }
            (Some(run), None) if goes_on(&run, &digest) => {
                if let Some(blocker) = options.steps.unsettled(self.plan, &run.state) {
                    return Ok(Readiness::Blocked(blocker));
                }
                let lapsed = runs.lapsed_agents(&run).filter(|_| run.state.outcome().is_none());
                let run = self.run_of(runs, run);
                Ok(match lapsed {
                    Some(now) => Readiness::NeedsApproval(self.missing_agents(run, &now)),
                    None => Readiness::Resume(run),
                })
            }
            (old, _) => self.may_begin(runs, options, old),
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
        old: Option<Run>,
    ) -> Result<Readiness, Error> {
        if let Some(blocker) = options.steps.unsettled(self.plan, &RunState::new(self.plan)) {
            return Ok(Readiness::Blocked(blocker));
        }
        // Before anything is asked or recorded: a run that could not begin here would be in the way of one elsewhere.
        if let Some((plan, holder)) = runs.occupant()? {
            let occupied = run::Error::Occupied { plan, holder };
            return Ok(Readiness::Blocked(Blocker::Elsewhere(occupied.into())));
        }
        let missing = |lapsed, trip, live| Ok(Readiness::NeedsApproval(Missing::Plan { lapsed, trip, live }));
        match old {
            Some(old) if old.state.outcome() == Some(RunOutcome::Failed) && options.retry == Retry::No => {
                return Ok(Readiness::NeedsRetry);
            }
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

    /// Begins a run of a plan that is approved, or goes on with the one that there is, with the right to drive it.
    pub fn start(&self, options: &StartOptions<'_>) -> Result<Start, Error> {
        // The environment of this process decides which `bash` and other programs judge the work.
        if process::job_above().is_some() {
            Caller::of_process().may(Right::ApproveOrRun)?;
        }
        match self.readiness(options)? {
            Readiness::Begin => self.begin(options),
            Readiness::Resume(run) => self.resume(options, run),
            Readiness::Follow(run, holder) => Ok(Start::Following(run, holder)),
            Readiness::NeedsApproval(missing) => Ok(Start::NeedsApproval(missing)),
            Readiness::NeedsRetry => Ok(Start::NeedsRetry),
            Readiness::Blocked(blocker) => Ok(Start::Blocked(blocker)),
        }
    }

    fn begin(&self, options: &StartOptions<'_>) -> Result<Start, Error> {
        let runs = self.runs()?;
        // The folder before the record: somebody may have taken it since it was looked at.
        let folder = match runs.occupy() {
            Ok(folder) => folder,
            Err(error @ run::Error::Occupied { .. }) => {
                return Ok(Start::Blocked(Blocker::Elsewhere(error.into())));
            }
            Err(error) => return Err(error.into()),
        };
        let decisions = Approvals::open(self.file.workspace().project())?;
        let started = decisions.start(self.file.path(), self.file.verified()?, &options.by)?;
        let right = match runs.lock(started.run) {
            Ok(right) => right,
            // Somebody was faster.
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

    fn resume(&self, options: &StartOptions<'_>, mut run: Box<PlanRun>) -> Result<Start, Error> {
        let id = run.run.row.id;
        let rights = match run.runs.rights(id) {
            Ok(rights) => rights,
            Err(run::Error::Driven { holder, .. }) => return Ok(Start::Following(run, holder)),
            Err(error @ run::Error::Occupied { .. }) => {
                return Ok(Start::Blocked(Blocker::Elsewhere(error.into())));
            }
            Err(error) => return Err(error.into()),
        };
        // What was recorded before the right was ours is known only now.
        run.run = run.runs.run(id)?;
        let driving = self.driving(options, &run.run.plan, rights);
        Ok(Start::Resumed(run, driving))
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
            spread: if is_apart { Isolation::Apart } else { Isolation::Together },
            tournament: options.tournament.clone(),
        };
        Driving { drive, path: self.file.path().to_owned(), rights }
    }

    /// Has the plan approved by the person who starts it, in the way that they said yes. A run of another text of it ends.
    pub fn approve_start(&self, way: &'static str, live: Option<&PlanRun>) -> Result<ApprovedStart, Error> {
        let workspace = self.file.workspace();
        workspace.caller().may(Right::Approve)?;
        if let Some(live) = live {
            // Its approval was for another text. It ends only now: without the right to approve, nobody may end a run.
            live.runs.cancel(&live.run, "the plan was revised")?;
        }
        let (path, by) = (self.file.path(), workspace.caller().identity());
        let decisions = Approvals::open(workspace.project())?;
        let digest = self.digest.to_string();
        let mut complaints = Vec::new();
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

/// Whether a run goes on with this plan: it is for exactly these bytes, and has neither failed nor been cancelled.
pub(crate) fn goes_on(run: &Run, digest: &str) -> bool {
    match run.state.outcome() {
        Some(RunOutcome::Failed | RunOutcome::Cancelled) => false,
        Some(RunOutcome::Done) | None => run.row.digest == digest,
    }
}
