//! The journal's only vocabulary: what happened to a run, in order. Owns no state: [`crate::run::state`] folds
//! events into one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::account::{Account, Usage};
use crate::plan::verified::Contract;
use crate::run::receipt::{ApprovedBy, Blob, Receipt};

/// Agent commands, by the target of the steps that they run.
pub type AgentCommands = BTreeMap<String, Vec<String>>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Event {
    /// The run started, approved for this digest by this person.
    #[serde(rename = "run.started")]
    RunStarted {
        digest: String,
        approved_by: String,
        /// How: `terminal` or `rev`.
        approved_at: String,
        /// The commit of the workspace, if it is a repository.
        base: Option<String>,
        /// The agent commands by step target, which are part of what was approved.
        #[serde(default)]
        agents: AgentCommands,
        /// The hash of every sealed file, by path.
        #[serde(default)]
        sealed: BTreeMap<String, String>,
        /// The approvals that the run started on.
        #[serde(default)]
        approvals: Vec<ApprovedBy>,
        /// The approvers' notes to the agents.
        #[serde(default)]
        note: String,
    },
    /// New agent commands were approved.
    #[serde(rename = "agents.approved")]
    AgentsApproved {
        approved_by: String,
        /// How: `terminal` or `rev`.
        approved_at: String,
        /// By step target.
        agents: AgentCommands,
    },
    /// An attempt is about to start. Written before the agent starts.
    #[serde(rename = "attempt.started")]
    AttemptStarted {
        step: String,
        /// Counted from 1.
        attempt: u32,
        agent: String,
        /// What the agent is given.
        prompt: Blob,
    },
    /// An attempt ended, and none of its processes is alive.
    #[serde(rename = "attempt.finished")]
    AttemptFinished {
        step: String,
        attempt: u32,
        end: AttemptEnd,
        /// What the agent printed.
        output: Option<Blob>,
        /// What it cost, as far as the agent reports it.
        usage: Usage,
        /// Files of the workspace that it changed.
        changed: Vec<String>,
        /// What else is known about it.
        #[serde(default, skip_serializing_if = "Account::is_empty")]
        account: Account,
    },
    /// planwright ran a contract and judged it.
    #[serde(rename = "contract.finished")]
    ContractFinished {
        step: String,
        /// The attempt that was judged.
        attempt: u32,
        /// The observation and the verdict that follows from it.
        receipt: Receipt,
    },
    /// A question that only a person can answer.
    #[serde(rename = "ask.opened")]
    AskOpened {
        /// Unique within the run.
        ask: String,
        /// The step that is blocked; `None` for the whole run.
        step: Option<String>,
        reason: AskReason,
        /// The text of the question.
        text: String,
    },
    /// A person answered it.
    #[serde(rename = "ask.answered")]
    AskAnswered { ask: String, answer: AskAnswer, by: String },
    /// Most of a budget is spent.
    #[serde(rename = "budget.warned")]
    BudgetWarned {
        /// Which limit: `tokens`, `dollars` or `time`.
        limit: String,
        /// The percentage spent.
        percent: u64,
    },
    /// The run is paused.
    #[serde(rename = "run.stopped")]
    RunStopped {
        by: String,
        /// What happens to running attempts.
        #[serde(default)]
        when: StopMode,
    },
    /// The run resumes.
    #[serde(rename = "run.resumed")]
    RunResumed { by: String },
    /// A person rolled the work back: these steps have to run again.
    #[serde(rename = "steps.reopened")]
    StepsReopened { steps: Vec<String>, by: String },
    /// The run is finished.
    #[serde(rename = "run.finished")]
    RunFinished {
        outcome: RunOutcome,
        /// Empty if it is done.
        why: String,
    },
}

impl Event {
    /// The name that people and programs see.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run.started",
            Self::AgentsApproved { .. } => "agents.approved",
            Self::AttemptStarted { .. } => "attempt.started",
            Self::AttemptFinished { .. } => "attempt.finished",
            Self::ContractFinished { .. } => "contract.finished",
            Self::AskOpened { .. } => "ask.opened",
            Self::AskAnswered { .. } => "ask.answered",
            Self::BudgetWarned { .. } => "budget.warned",
            Self::RunStopped { .. } => "run.stopped",
            Self::RunResumed { .. } => "run.resumed",
            Self::StepsReopened { .. } => "steps.reopened",
            Self::RunFinished { .. } => "run.finished",
        }
    }

    /// What makes the event unique within its run; `None` if it may happen again.
    pub fn key(&self) -> Option<String> {
        match self {
            Self::RunStarted { .. } => Some("run.started".to_owned()),
            Self::AttemptStarted { step, attempt, .. } => Some(format!("{step}/{attempt}/attempt.started")),
            Self::AttemptFinished { step, attempt, .. } => Some(format!("{step}/{attempt}/attempt.finished")),
            Self::ContractFinished { step, attempt, .. } => {
                Some(format!("{step}/{attempt}/contract.finished"))
            }
            Self::AskOpened { ask, .. } => Some(format!("{ask}/ask.opened")),
            Self::AskAnswered { ask, .. } => Some(format!("{ask}/ask.answered")),
            Self::BudgetWarned { limit, .. } => Some(format!("{limit}/budget.warned")),
            Self::RunFinished { .. } => Some("run.finished".to_owned()),
            Self::AgentsApproved { .. }
            | Self::RunStopped { .. }
            | Self::RunResumed { .. }
            | Self::StepsReopened { .. } => None,
        }
    }

    pub const fn attempt(&self) -> Option<u32> {
        match self {
            Self::AttemptStarted { attempt, .. }
            | Self::AttemptFinished { attempt, .. }
            | Self::ContractFinished { attempt, .. } => Some(*attempt),
            Self::RunStarted { .. }
            | Self::AgentsApproved { .. }
            | Self::AskOpened { .. }
            | Self::AskAnswered { .. }
            | Self::BudgetWarned { .. }
            | Self::RunStopped { .. }
            | Self::RunResumed { .. }
            | Self::StepsReopened { .. }
            | Self::RunFinished { .. } => None,
        }
    }

    pub fn step(&self) -> Option<&str> {
        match self {
            Self::AttemptStarted { step, .. }
            | Self::AttemptFinished { step, .. }
            | Self::ContractFinished { step, .. } => Some(step),
            Self::AskOpened { step, .. } => step.as_deref(),
            Self::RunStarted { .. }
            | Self::AgentsApproved { .. }
            | Self::AskAnswered { .. }
            | Self::BudgetWarned { .. }
            | Self::RunStopped { .. }
            | Self::RunResumed { .. }
            | Self::StepsReopened { .. }
            | Self::RunFinished { .. } => None,
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
