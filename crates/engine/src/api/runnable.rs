//! A plan that can run: who does its steps, what is in its way, and where it runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use planwright_core::agent::profile;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified;
use planwright_core::run::event::AgentCommands;
use planwright_core::run::schedule::{HUMAN, SHELL};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::api::start::goes_on;
use crate::approval::Approvals;
use crate::git::worktree;
use crate::git::worktree::{AddOptions, ScriptRun, Setup, Worktrees};
use crate::portfolio::board;
use crate::portfolio::board::Blocker;
use crate::run;
use crate::run::Runs;
use crate::system::program;

/// A plan without errors.
#[derive(Clone)]
pub struct RunnablePlan<'a> {
    pub file: &'a Plan,
    pub plan: &'a verified::Plan,
    pub digest: Digest,
}

/// Who does the steps for one target.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentView {
    /// The target of the steps.
    pub target: String,
    /// The command line; `None` where none is known.
    pub command: Option<Vec<String>>,
}

/// Steps that will need a person because there is no agent for them, by their places.
#[derive(Debug)]
pub enum AgentGap {
    NoCommand {
        target: String,
        /// The agent that the settings name for it.
        agent: Option<String>,
        steps: Vec<usize>,
    },
    NotInstalled {
        target: String,
        program: String,
        steps: Vec<usize>,
    },
}

/// The copy of a plan in its own worktree.
pub struct WorktreePlan {
    pub place: PathBuf,
    /// `None` if the worktree is not set up.
    pub plan: Option<Plan>,
    /// What could not be done; nothing is lost by it.
    pub complaints: Vec<String>,
}

impl Plan {
    /// The plan, if it has no errors.
    pub fn runnable(&self) -> Result<Option<RunnablePlan<'_>>, Error> {
        let plan = self.verified()?.plan.as_ref();
        Ok(plan.map(|plan| RunnablePlan { file: self, plan, digest: Digest::of(plan) }))
    }

    /// The plan that should be done before this one, or is at work on the same files.
    pub fn blocker(&self) -> Result<Option<Blocker>, Error> {
        let project = self.workspace().project();
        let plan = Runs::open(project)?.relative(self.path());
        Ok(board::hindrance(project, (&plan, self.draft()))?)
    }

    /// The same, or the plan that is at work in this directory.
    pub fn blocker_here(&self) -> Result<Option<Blocker>, Error> {
        let occupant = Runs::open(self.workspace().project())?.occupant()?;
        match occupant.filter(|(plan, _)| *plan != self.name()) {
            Some((plan, holder)) => {
                Ok(Some(Blocker { plan, why: format!("is running in this directory ({holder})") }))
            }
            None => self.blocker(),
        }
    }

    /// The copy of the plan in its own worktree, which is made where there is none.
    pub fn in_worktree(&self) -> Result<WorktreePlan, Error> {
        let trees = Worktrees::of(self.workspace().project())?;
        let after = board::unmerged(&trees, self.path());
        let options =
            AddOptions { plan: self.path(), name: None, base: None, after: &after, setup: Setup::Run };
        let added = trees.add(&options)?;
        let setup = added.furnished.as_ref().map(|furnished| &furnished.setup);
        let is_set_up = matches!(setup, None | Some(ScriptRun::Nothing | ScriptRun::Well));
        let path = added.place.join(added.tree.plan.clone().unwrap_or_default());
        let plan = if is_set_up { Some(self.workspace().plan_at(path)?) } else { None };
        Ok(WorktreePlan { place: added.place, plan, complaints: added.complaints })
    }

    /// Refuses a plan that has not failed.
    pub fn may_retry(&self) -> Result<(), Error> {
        self.workspace().caller().may(Right::Retry)?;
        let state = Approvals::open(self.workspace().project())?.case(self.path())?.state();
        let verb = match state {
            PlanState::Failed => return Ok(()),
            PlanState::Waiting(_) => "answer",
            PlanState::Cancelled | PlanState::Done | PlanState::Rejected => "revise",
            PlanState::Draft | PlanState::Proposed | PlanState::Approved | PlanState::Running => "run",
        };
        let message = format!("cannot retry {}: it is {state}, not failed", self.name());
        let next = NextCommand::new(["planwright", verb, self.shown().as_str()]);
        Err(Error::new(ErrorKind::Refused, message).next(next))
    }
}

impl RunnablePlan<'_> {
    /// Refuses a tournament of a step that has no contract to pick the winner.
    pub fn check_tournament(&self, tournament: &(String, u32)) -> Result<(), Error> {
        Ok(run::refuse_unjudged(self.plan, Some(tournament))?)
    }

    /// What the plan waited for is on a branch, and not in its worktree: a new run gets it, unless the plan is proposed or
    /// approved on a base commit, which must then stay the same. Returns what could not be done.
    pub fn catch_up(&self) -> Result<Vec<String>, Error> {
        let (project, path) = (self.file.workspace().project(), self.file.path());
        let decisions = Approvals::open(project)?;
        let (old, case) = (decisions.runs().latest(path)?, decisions.case(path)?);
        let is_new = old.is_none_or(|old| !goes_on(&old, &self.digest.to_string(), &case));
        if !is_new || worktree::plan_of(&project.root)?.is_none() {
            return Ok(Vec::new());
        }
        if matches!(case.state(), PlanState::Proposed | PlanState::Approved) {
            return Ok(Vec::new());
        }
        let trees = Worktrees::of(project)?;
        Ok(trees.catch_up(path, &board::unmerged(&trees, path))?)
    }

    /// The agent commands and other settings that the plan needs and an approval covers.
    pub fn commands(&self) -> AgentCommands {
        let commands = self.file.workspace().project().commands_of(self.plan);
        commands.into_iter().filter(|(_, command)| !command.is_empty()).collect()
    }

    /// Who does the steps; scripts and people have no command line and are left out.
    pub fn agents(&self) -> Vec<AgentView> {
        let known = self.commands().into_iter();
        let known = known.map(|(target, command)| AgentView { target, command: Some(command) });
        let missing = self.without_command().into_keys();
        known.chain(missing.map(|target| AgentView { target: target.to_owned(), command: None })).collect()
    }

    /// The steps whose agent has no command line, by their target.
    fn without_command(&self) -> BTreeMap<&str, Vec<usize>> {
        let config = &self.file.workspace().project().config;
        let known = self.commands();
        let mut missing: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, step) in self.plan.steps.iter().enumerate() {
            let name = config.roles.get(&step.target).unwrap_or(&step.target);
            if name != SHELL && step.target != HUMAN && !known.contains_key(&step.target) {
                missing.entry(&step.target).or_default().push(place);
            }
        }
        missing
    }

    /// The steps without an available agent.
    pub fn agent_gaps(&self) -> Vec<AgentGap> {
        let config = &self.file.workspace().project().config;
        let missing = self.without_command().into_iter().map(|(target, steps)| AgentGap::NoCommand {
            target: target.to_owned(),
            agent: config.roles.get(target).cloned(),
            steps,
        });
        let known = self.commands();
        let mut absent: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (place, step) in self.plan.steps.iter().enumerate() {
            let program = known.get(&step.target).and_then(|command| profile::program(command));
            if let Some(program) = program.filter(|program| !is_there(program)) {
                absent.entry((&step.target, program)).or_default().push(place);
            }
        }
        let absent = absent.into_iter().map(|((target, program), steps)| AgentGap::NotInstalled {
            target: target.to_owned(),
            program: program.to_owned(),
            steps,
        });
        missing.chain(absent).collect()
    }
}

/// Whether a program can be found; one that is named by its path is looked for when it is started.
fn is_there(program: &str) -> bool {
    program == SHELL || program.contains('/') || program::has_program(program)
}
