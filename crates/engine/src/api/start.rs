//! The only beginning of a run, for every face: whether a plan may be run now, and the run with the right to drive it. Asks nobody
//! and words nothing; what a person has to say first is a value.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use planwright_core::approval::status::ApprovalRecord;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{AgentCommands, Event, RunOutcome};
use planwright_core::run::schedule::ScheduleLimits;
use planwright_core::run::state::RunState;
use planwright_core::syntax::diagnostic::Severity;
use planwright_core::workspace::portfolio::CircuitBreaker;

use crate::approval::{Approvals, Error};
use crate::run;
use crate::run::driver::Progress;
use crate::run::{DriveOptions, Isolation, Run, Runs};
use crate::store::journal::{RunId, RunLock};
use crate::system::process::Stop;
use crate::workspace::project::Verified;

/// What is to be run, and how.
pub struct StartOptions<'a> {
    pub path: &'a Path,
    /// The plan, read and verified.
    pub verified: &'a Verified,
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

impl<'a> StartOptions<'a> {
    /// The plan as a whole, as the settings have it.
    pub fn of(path: &'a Path, verified: &'a Verified, by: Identity) -> Self {
        Self {
            path,
            verified,
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

    fn plan(&self) -> Result<&Plan, Error> {
        self.verified.plan.as_ref().ok_or_else(|| Error::Unclean {
            plan: self.path.display().to_string(),
            errors: self.verified.count(Severity::Error),
        })
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
    /// It would begin, on these approvals.
    Begin(Vec<ApprovalRecord>),
    /// This run would go on.
    Resume(Box<Run>),
    /// This one drives it already.
    Follow(Box<Run>, String),
    NeedsApproval(Missing),
    /// The last run failed.
    NeedsRetry(Box<Run>),
    Blocked(Blocker),
}

/// What came of a start.
pub enum Start {
    /// A run that began on these approvals.
    Begun(Box<Run>, Driving, Vec<ApprovalRecord>),
    Resumed(Box<Run>, Driving),
    /// Another process drives it.
    Following(Box<Run>, String),
    NeedsApproval(Missing),
    /// The last run failed.
    NeedsRetry(Box<Run>),
    Blocked(Blocker),
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
        live: Option<Box<Run>>,
    },
    /// The command lines of the agents of a run that would go on.
    Agents { run: Box<Run>, now: AgentCommands },
}

/// What is in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// A step alone that needs others which are not settled; places in the plan.
    Needs { step: usize, open: Vec<usize> },
    /// Another text of the plan is being run.
    OtherText { run: RunId, holder: String },
    /// Another plan is being run in this folder.
    Occupied { plan: String, holder: String },
    /// The plan is not the one that is meant.
    OtherDigest { now: String },
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
        runs: &Runs,
        run: &Run,
        watch: &mut dyn FnMut(&RunState, &Event),
    ) -> Result<(Progress, Vec<String>), run::Error> {
        runs.drive_held(run, &self.path, &self.drive, self.rights, watch)
    }
}

impl Runs {
    /// What would happen if the run were started now. Nothing is begun.
    pub fn readiness(&self, options: &StartOptions<'_>) -> Result<Readiness, Error> {
        let plan = options.plan()?;
        run::refuse_unjudged(plan, options.tournament.as_ref())?;
        let digest = Digest::of(plan).to_string();
        let old = self.latest(options.path)?;
        let holder = old.as_ref().map(|old| self.holder(old)).transpose()?.flatten();
        match (old, holder) {
            (Some(run), Some(holder)) if goes_on(&run, &digest) => {
                Ok(Readiness::Follow(Box::new(run), holder.to_string()))
            }
            // Nothing is asked, and the run is not ended behind its driver's back.
            (Some(run), Some(holder)) => {
                Ok(Readiness::Blocked(Blocker::OtherText { run: run.row.id, holder: holder.to_string() }))
            }
            (Some(run), None) if goes_on(&run, &digest) => {
                if let Some(blocker) = options.steps.unsettled(plan, &run.state) {
                    return Ok(Readiness::Blocked(blocker));
                }
                let lapsed = self.lapsed_agents(&run).filter(|_| run.state.outcome().is_none());
                let run = Box::new(run);
                Ok(match lapsed {
                    Some(now) => Readiness::NeedsApproval(Missing::Agents { run, now }),
                    None => Readiness::Resume(run),
                })
            }
            (old, _) => self.may_begin(options, (plan, &digest), old),
        }
    }

    /// Whether a new run may begin in the place of the old one.
    fn may_begin(
        &self,
        options: &StartOptions<'_>,
        (plan, digest): (&Plan, &str),
        old: Option<Run>,
    ) -> Result<Readiness, Error> {
        if let Some(blocker) = options.steps.unsettled(plan, &RunState::new(plan)) {
            return Ok(Readiness::Blocked(blocker));
        }
        // Before anything is asked or recorded: a run that could not begin here would be in the way of one elsewhere.
        if let Some((plan, holder)) = self.occupant()? {
            return Ok(Readiness::Blocked(Blocker::Occupied { plan, holder }));
        }
        let missing = |lapsed, trip, live| Ok(Readiness::NeedsApproval(Missing::Plan { lapsed, trip, live }));
        match old {
            Some(old) if old.state.outcome() == Some(RunOutcome::Failed) && options.retry == Retry::No => {
                return Ok(Readiness::NeedsRetry(Box::new(old)));
            }
            Some(old) if old.state.outcome().is_none() => {
                return missing(Vec::new(), None, Some(Box::new(old)));
            }
            Some(_) | None => {}
        }
        match Approvals::open(self.project())?.approved(options.path, options.verified) {
            Ok(_) if options.expected.is_some_and(|meant| !digest.starts_with(meant)) => {
                Ok(Readiness::Blocked(Blocker::OtherDigest { now: digest.to_owned() }))
            }
            Ok(approvals) => Ok(Readiness::Begin(approvals)),
            Err(Error::Lapsed { moved, .. }) => missing(moved, None, None),
            Err(Error::Tripped { trip, .. }) => missing(Vec::new(), Some(trip), None),
            Err(Error::Unapproved { .. }) => missing(Vec::new(), None, None),
            Err(error) => Err(error),
        }
    }

    /// Begins a run of a plan that is approved, or goes on with the one that there is, with the right to drive it.
    pub fn start(&self, options: &StartOptions<'_>) -> Result<Start, Error> {
        match self.readiness(options)? {
            Readiness::Begin(_) => self.begin(options),
            Readiness::Resume(run) => self.resume(options, run),
            Readiness::Follow(run, holder) => Ok(Start::Following(run, holder)),
            Readiness::NeedsApproval(missing) => Ok(Start::NeedsApproval(missing)),
            Readiness::NeedsRetry(run) => Ok(Start::NeedsRetry(run)),
            Readiness::Blocked(blocker) => Ok(Start::Blocked(blocker)),
        }
    }

    fn begin(&self, options: &StartOptions<'_>) -> Result<Start, Error> {
        // The folder before the record: somebody may have taken it since it was looked at.
        let folder = match self.occupy() {
            Ok(folder) => folder,
            Err(run::Error::Occupied { plan, holder }) => {
                return Ok(Start::Blocked(Blocker::Occupied { plan, holder }));
            }
            Err(error) => return Err(error.into()),
        };
        let decisions = Approvals::open(self.project())?;
        let started = decisions.start(options.path, options.verified, &options.by)?;
        let right = match self.lock(started.run) {
            Ok(right) => right,
            // Somebody was faster.
            Err(run::Error::Driven { holder, .. }) => {
                return Ok(Start::Following(Box::new(self.run(started.run)?), holder));
            }
            Err(error) => return Err(error.into()),
        };
        let run = self.run(started.run)?;
        let driving = self.driving(options, &run.plan, [folder, right]);
        Ok(Start::Begun(Box::new(run), driving, started.approvals))
    }

    fn resume(&self, options: &StartOptions<'_>, run: Box<Run>) -> Result<Start, Error> {
        let rights = match self.rights(run.row.id) {
            Ok(rights) => rights,
            Err(run::Error::Driven { holder, .. }) => return Ok(Start::Following(run, holder)),
            Err(run::Error::Occupied { plan, holder }) => {
                return Ok(Start::Blocked(Blocker::Occupied { plan, holder }));
            }
            Err(error) => return Err(error.into()),
        };
        // What was recorded before the right was ours is known only now.
        let run = self.run(run.row.id)?;
        let driving = self.driving(options, &run.plan, rights);
        Ok(Start::Resumed(Box::new(run), driving))
    }

    fn driving(&self, options: &StartOptions<'_>, plan: &Plan, rights: [RunLock; 2]) -> Driving {
        let usual = self.project().config.run_limits();
        let jobs = options.jobs.unwrap_or(usual.jobs);
        let is_apart = options.tournament.is_some() || jobs > 1 && self.project().config.run.has_trees;
        let drive = DriveOptions {
            limits: ScheduleLimits { jobs, steps: options.steps.places(plan), ..usual },
            workers: options.workers.unwrap_or(jobs),
            leave: options.leave.clone(),
            spread: if is_apart { Isolation::Apart } else { Isolation::Together },
            tournament: options.tournament.clone(),
        };
        Driving { drive, path: options.path.to_owned(), rights }
    }
}

/// Whether a run goes on with this plan: it is for exactly these bytes, and has neither failed nor been cancelled.
pub fn goes_on(run: &Run, digest: &str) -> bool {
    match run.state.outcome() {
        Some(RunOutcome::Failed | RunOutcome::Cancelled) => false,
        Some(RunOutcome::Done) | None => run.row.digest == digest,
    }
}
