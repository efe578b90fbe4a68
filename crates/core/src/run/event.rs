//! The journal's only vocabulary: what happened to a run, in order. Owns no state: [`crate::run::state`] folds
//! events into one.

mod wire;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::agent::account::{Account, Usage};
use crate::plan::verified::Contract;
use crate::run::receipt::{ApprovedBy, Blob, Receipt};

/// Agent commands, by the target of the steps that they run.
pub type AgentCommands = BTreeMap<String, Vec<String>>;

/// What happened, by what it happened to. Journals keep it flat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "wire::Event", into = "wire::Event")]
pub enum Event {
    Run(RunEvent),
    Step {
        step: String,
        event: StepEvent,
    },
    Ask {
        /// Unique within the run.
        ask: String,
        event: AskEvent,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEvent {
    Started(RunStart),
    /// New agent commands were approved.
    AgentsApproved(AgentsApproval),
    /// Most of a budget is spent.
    BudgetWarned {
        /// Which limit: `tokens`, `dollars` or `time`.
        limit: String,
        /// The percentage spent.
        percent: u64,
    },
    /// The run is paused.
    Stopped {
        by: String,
        /// What happens to running attempts.
        mode: StopMode,
    },
    Resumed {
        by: String,
    },
    /// A person rolled the work back: these steps have to run again.
    Reopened {
        steps: Vec<String>,
        by: String,
    },
    Finished {
        outcome: RunOutcome,
        /// Empty if it is done.
        why: String,
    },
}

/// A run started, approved for this digest by this person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    pub digest: String,
    pub approved_by: String,
    /// How: `terminal` or `rev`.
    pub approved_at: String,
    /// The commit of the workspace, if it is a repository.
    pub base: Option<String>,
    /// The agent commands by step target, which are part of what was approved.
    #[serde(default)]
    pub agents: AgentCommands,
    /// The hash of every sealed file, by path.
    #[serde(default)]
    pub sealed: BTreeMap<String, String>,
    /// The approvals that the run started on.
    #[serde(default)]
    pub approvals: Vec<ApprovedBy>,
    /// The approvers' notes to the agents.
    #[serde(default)]
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsApproval {
    pub approved_by: String,
    /// How: `terminal` or `rev`.
    pub approved_at: String,
    /// By step target.
    pub agents: AgentCommands,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEvent {
    /// An attempt is about to start. Written before the agent starts.
    Started(AttemptStart),
    /// An attempt ended, and none of its processes is alive.
    Finished(AttemptFinish),
    /// planwright ran a contract and judged it.
    Judged {
        of: Judged,
        /// The observation and the verdict that follows from it.
        receipt: Receipt,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStart {
    /// Counted from 1.
    pub attempt: u32,
    pub agent: String,
    /// What the agent is given.
    pub prompt: Blob,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFinish {
    pub attempt: u32,
    pub end: AttemptEnd,
    /// What the agent printed.
    pub output: Option<Blob>,
    /// What it cost, as far as the agent reports it.
    pub usage: Usage,
    /// Files of the workspace that it changed.
    pub changed: Vec<String>,
    /// What else is known about it.
    #[serde(default, skip_serializing_if = "Account::is_empty")]
    pub account: Account,
}

/// What a contract judged. As a number, a claim is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub enum Judged {
    /// A mark in the file that says that the step is done.
    Claim,
    /// Counted from 1.
    Attempt(u32),
}

impl From<u32> for Judged {
    fn from(number: u32) -> Self {
        if number == 0 { Self::Claim } else { Self::Attempt(number) }
    }
}

impl From<Judged> for u32 {
    fn from(judged: Judged) -> Self {
        match judged {
            Judged::Claim => 0,
            Judged::Attempt(attempt) => attempt,
        }
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        u32::from(*self).fmt(f)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskEvent {
    /// A question that only a person can answer.
    Opened {
        /// The step that is blocked; `None` for the whole run.
        step: Option<String>,
        reason: AskReason,
        /// The text of the question.
        text: String,
    },
    /// A person answered it.
    Answered { answer: AskAnswer, by: String },
}

impl Event {
    /// The name that people and programs see.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Run(event) => event.name(),
            Self::Step { event, .. } => event.name(),
            Self::Ask { event, .. } => event.name(),
        }
    }

    /// What makes the event unique within its run; `None` if it may happen again.
    pub fn key(&self) -> Option<String> {
        let name = self.name();
        match self {
            Self::Run(RunEvent::Started(_) | RunEvent::Finished { .. }) => Some(name.to_owned()),
            Self::Run(RunEvent::BudgetWarned { limit, .. }) => Some(format!("{limit}/{name}")),
            Self::Run(
                RunEvent::AgentsApproved(_)
                | RunEvent::Stopped { .. }
                | RunEvent::Resumed { .. }
                | RunEvent::Reopened { .. },
            ) => None,
            Self::Step { step, event } => Some(format!("{step}/{}/{name}", event.attempt())),
            Self::Ask { ask, .. } => Some(format!("{ask}/{name}")),
        }
    }

    /// The number of the attempt; 0 for a claim.
    pub fn attempt(&self) -> Option<u32> {
        match self {
            Self::Step { event, .. } => Some(event.attempt()),
            Self::Run(_) | Self::Ask { .. } => None,
        }
    }

    pub fn step(&self) -> Option<&str> {
        match self {
            Self::Step { step, .. } => Some(step),
            Self::Ask { event: AskEvent::Opened { step, .. }, .. } => step.as_deref(),
            Self::Ask { event: AskEvent::Answered { .. }, .. } | Self::Run(_) => None,
        }
    }
}

impl RunEvent {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Started(_) => "run.started",
            Self::AgentsApproved(_) => "agents.approved",
            Self::BudgetWarned { .. } => "budget.warned",
            Self::Stopped { .. } => "run.stopped",
            Self::Resumed { .. } => "run.resumed",
            Self::Reopened { .. } => "steps.reopened",
            Self::Finished { .. } => "run.finished",
        }
    }
}

impl StepEvent {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Started(_) => "attempt.started",
            Self::Finished(_) => "attempt.finished",
            Self::Judged { .. } => "contract.finished",
        }
    }

    /// The number of the attempt; 0 for a claim.
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Started(AttemptStart { attempt, .. }) | Self::Finished(AttemptFinish { attempt, .. }) => {
                *attempt
            }
            Self::Judged { of, .. } => (*of).into(),
        }
    }
}

impl AskEvent {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Opened { .. } => "ask.opened",
            Self::Answered { .. } => "ask.answered",
        }
    }
}

/// What a stop does to running attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopMode {
    /// They end by themselves and are judged; nothing new starts.
    #[default]
    AfterAttempts,
    Now,
}

/// How an attempt ended. None of these is success: only a contract decides that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptEnd {
    Exited(i32),
    Signalled(i32),
    /// It ran longer than allowed, in seconds: a failed attempt.
    TimedOut(u64),
    /// planwright died in the meantime. Not a failure, but capped.
    Lost,
    /// A person ended it by stopping the run immediately. Doesn't count.
    Stopped,
    /// The agent is unavailable: not installed or out of quota. Not a failure.
    Parked {
        why: String,
        /// When to retry, in milliseconds since 1970; `None` if a person has to fix it.
        until: Option<u64>,
    },
}

/// Why a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskReason {
    AttemptsSpent,
    /// The step has no contract, or is manual.
    Manual,
    Budget,
    /// Attempts were interrupted too often.
    Lost,
    /// The agent is unavailable.
    Parked,
    /// The run was started, but no process has been running it for a long time.
    Stalled,
    /// The agent has a question, and the contract failed.
    Question,
    /// An attempt changed files outside its scope, and the settings make that count: no later attempt reverts
    /// it.
    Strayed,
}

/// A person's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum AskAnswer {
    /// Another attempt, with a hint for the agent.
    Retry {
        /// May be empty.
        hint: String,
    },
    /// The person did the work; the contract judges it.
    TakeOver,
    /// The person confirms a step without a contract.
    Confirm,
    /// The step is skipped, for this reason.
    Skip { reason: String },
    /// The run pauses here.
    Stop,
    /// The plan goes back to its author and the run ends.
    Revise {
        /// What should change.
        reason: String,
    },
    /// Raises the budget: millionths of a dollar, tokens, seconds.
    Budget { micro_dollars: u64, tokens: u64, seconds: u64 },
}

/// A kind of answer, without what is said with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    Retry,
    TakeOver,
    Confirm,
    Skip,
    Revise,
    Stop,
    Budget,
}

impl AnswerKind {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::TakeOver => "take-over",
            Self::Confirm => "confirm",
            Self::Skip => "skip",
            Self::Revise => "revise",
            Self::Stop => "stop",
            Self::Budget => "budget",
        }
    }
}

impl AskAnswer {
    pub const fn kind(&self) -> AnswerKind {
        match self {
            Self::Retry { .. } => AnswerKind::Retry,
            Self::TakeOver => AnswerKind::TakeOver,
            Self::Confirm => AnswerKind::Confirm,
            Self::Skip { .. } => AnswerKind::Skip,
            Self::Stop => AnswerKind::Stop,
            Self::Revise { .. } => AnswerKind::Revise,
            Self::Budget { .. } => AnswerKind::Budget,
        }
    }
}

/// Who settles a step: its contract, or a person if it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedBy {
    Contract,
    Person,
}

impl JudgedBy {
    /// A question about the whole run counts as settled by contracts.
    pub fn of(contract: Option<&Contract>) -> Self {
        if contract == Some(&Contract::Manual) { Self::Person } else { Self::Contract }
    }
}

impl AskReason {
    pub const fn words(self) -> &'static str {
        match self {
            Self::AttemptsSpent => "all attempts failed",
            Self::Manual => "manual step: do it or confirm it",
            Self::Budget => "the budget is spent",
            Self::Lost => "attempts were interrupted too often",
            Self::Parked => "agent unavailable",
            Self::Stalled => "stalled: no process is running it",
            Self::Question => "the agent has a question",
            Self::Strayed => "an attempt changed files outside its scope",
        }
    }

    /// The word that programs read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AttemptsSpent => "attempts-spent",
            Self::Manual => "manual",
            Self::Budget => "budget",
            Self::Lost => "lost",
            Self::Parked => "parked",
            Self::Stalled => "stalled",
            Self::Question => "question",
            Self::Strayed => "strayed",
        }
    }

    /// The answers that fit, decided here alone: faces offer these, and a journal accepts no other.
    pub const fn answers(self, judged_by: JudgedBy) -> &'static [AnswerKind] {
        use AnswerKind::{Budget, Confirm, Retry, Revise, Skip, Stop, TakeOver};
        match (self, judged_by) {
            (Self::Budget, _) => &[Budget, Revise, Stop],
            (Self::Stalled, _) => &[Retry, Revise, Stop],
            (
                Self::AttemptsSpent
                | Self::Manual
                | Self::Lost
                | Self::Parked
                | Self::Question
                | Self::Strayed,
                JudgedBy::Person,
            ) => &[Confirm, Retry, Skip, Revise, Stop],
            (
                Self::AttemptsSpent
                | Self::Manual
                | Self::Lost
                | Self::Parked
                | Self::Question
                | Self::Strayed,
                JudgedBy::Contract,
            ) => &[Retry, TakeOver, Skip, Revise, Stop],
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunOutcome {
    /// Every contract passed, or a person confirmed or skipped the step.
    Done,
    /// A step failed and its `on_fail` is abort, or a person ended the run.
    Failed,
    Cancelled,
}

impl RunOutcome {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}
