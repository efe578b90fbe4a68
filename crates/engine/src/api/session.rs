//! A planner's session: directories outside the repository where it writes plans, proposed together.

use std::path::PathBuf;

use planwright_core::plan::identity::{Identity, Role};
use planwright_core::workspace::session::prompt::PROGRAM;
use planwright_core::workspace::session::{PlanningSession, SessionPlan};
use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::planning_session;
use crate::agent::planning_session::{Came, CommitFault, CommitOutcome, Error as SessionError, ThreadStatus};
use crate::api::error::Error;
use crate::api::error::session::{SessionCommands, session_failed};
use crate::api::proposal::ProposalView;
use crate::api::workspace::Workspace;
use crate::workspace::project::Project;

/// The session of the caller.
pub struct Session<'a> {
    workspace: &'a Workspace,
    commands: SessionCommands,
}

/// A session, or what came of its commit.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SessionView {
    /// What the session is about.
    pub topic: Option<String>,
    /// Its threads, the current one first; empty where there is no session yet.
    pub threads: Vec<ThreadStatus>,
    /// What the commit came to, thread by thread.
    pub outcomes: Vec<CommitOutcomeView>,
    /// Everything that is wrong: then nothing was committed.
    pub problems: Vec<SessionProblem>,
}

/// What became of a thread.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommitOutcomeView {
    /// The thread; `None`: it was removed before.
    pub thread_id: Option<String>,
    /// The name of its plan; `None`: it never had one.
    pub plan: Option<String>,
    /// `proposed`, `unchanged`, `withdrawn`, `empty` or `stays`.
    pub came: &'static str,
    /// The state of what is unchanged or stays.
    pub state: Option<String>,
    /// The revision that was proposed.
    pub revision: Option<u32>,
    pub digest: Option<String>,
    /// The policy rule that approved it.
    pub approved_by_rule: Option<String>,
    /// All about what was proposed.
    #[serde(skip)]
    pub proposed: Option<ProposalView>,
}

/// One thing that is wrong with a thread.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionProblem {
    pub thread_id: String,
    pub plan_dir: String,
    /// What, with its place.
    pub message: String,
}

/// A thread that was removed.
pub struct DroppedThread {
    pub thread: SessionPlan,
    /// Why its directory is still there, if it is.
    pub left: Option<String>,
}

/// What a commit came to.
pub enum SessionCommit {
    /// All problems in all directories. Nothing was submitted.
    Refused(Vec<CommitFault>),
    Done(SessionView),
}

impl Workspace {
    /// The caller's session, worded for who types these commands.
    pub fn session(&self, commands: SessionCommands) -> Session<'_> {
        Session { workspace: self, commands }
    }
}

impl Session<'_> {
    fn done<T>(&self, done: impl FnOnce(&Project) -> Result<T, SessionError>) -> Result<T, Error> {
        done(self.workspace.project()).map_err(|error| session_failed(error, self.commands))
    }

    /// The session, with the directory of every thread. Created if needed.
    pub fn open(&self) -> Result<PlanningSession, Error> {
        self.done(planning_session::open)
    }

    /// The directory of the current thread. Created if needed.
    pub fn folder(&self) -> Result<PathBuf, Error> {
        Ok(self.open()?.current.folder)
    }

    /// Hands out a directory for one more thread.
    pub fn add(&self) -> Result<SessionPlan, Error> {
        self.done(planning_session::add)
    }

    /// Takes back the directory of an additional thread with its contents.
    pub fn drop_thread(&self, id: &str) -> Result<DroppedThread, Error> {
        let (thread, left) = self.done(|project| planning_session::drop_thread(project, id))?;
        Ok(DroppedThread { thread, left: left.map(session_trouble) })
    }

    /// Removes the plan from the directory of the current thread; the directory stays.
    pub fn clear(&self) -> Result<SessionPlan, Error> {
        self.done(planning_session::clear)
    }

    /// Sets the topic of the session, and returns it.
    pub fn set_topic(&self, topic: &str) -> Result<String, Error> {
        let session = self.done(|project| planning_session::set_topic(project, topic))?;
        Ok(session.topic.unwrap_or_default())
    }

    /// The session as it is, if there is one.
    pub fn view(&self) -> Result<SessionView, Error> {
        let (session, threads) = self.done(planning_session::existing)?.unzip();
        let topic = session.and_then(|session| session.topic);
        Ok(SessionView { topic, threads: threads.unwrap_or_default(), ..SessionView::default() })
    }

    /// Checks the directories of all threads and proposes their plans: all or nothing.
    pub fn commit(&self) -> Result<SessionCommit, Error> {
        let by = self.planner();
        Ok(match self.done(|project| planning_session::commit(project, &by))? {
            planning_session::SessionCommit::Refused(faults) => SessionCommit::Refused(faults),
            planning_session::SessionCommit::Done(outcomes) => SessionCommit::Done(SessionView {
                outcomes: outcomes.into_iter().map(CommitOutcomeView::from).collect(),
                ..SessionView::default()
            }),
        })
    }

    fn planner(&self) -> Identity {
        let who = self.workspace.caller().identity();
        match (self.commands, who.role) {
            // That program is for agents: what it commits is always an agent's.
            (SessionCommands::Agentctl, Role::Person | Role::Policy | Role::Age) => Identity::agent(PROGRAM),
            (SessionCommands::Agentctl, Role::Agent) | (SessionCommands::Planwright, _) => who,
        }
    }
}

/// What blocks nothing in a session, and is good to know.
pub(super) fn session_trouble(error: SessionError) -> String {
    let error = session_failed(error, SessionCommands::Planwright);
    format!("{error}; run `planwright doctor` for a fix")
}

impl From<CommitOutcome> for CommitOutcomeView {
    fn from(outcome: CommitOutcome) -> Self {
        let (came, state, proposed) = match outcome.came {
            Came::Proposed(proposed) => {
                let view = ProposalView::new(outcome.plan.as_ref(), *proposed);
                ("proposed", None, Some(ProposalView { plan: outcome.plan.clone(), ..view }))
            }
            Came::Unchanged(state) => ("unchanged", Some(state.to_string()), None),
            Came::Withdrawn => ("withdrawn", None, None),
            Came::Empty => ("empty", None, None),
            Came::Stays(state) => ("stays", Some(state.to_string()), None),
        };
        Self {
            thread_id: outcome.thread,
            plan: Some(outcome.plan).filter(|plan| !plan.is_empty()),
            came,
            state,
            revision: proposed.as_ref().map(|proposed| proposed.revision),
            digest: proposed.as_ref().map(|proposed| proposed.digest.clone()),
            approved_by_rule: proposed.as_ref().and_then(|proposed| proposed.approved_by_rule.clone()),
            proposed,
        }
    }
}
