//! The journal's only vocabulary: what happened to a run, in the order in which it happened. Owns no state: [`crate::run::state`]
//! folds events into one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::profile::Account;
use crate::approval::ledger::Who;
use crate::run::judge::{Observation, Verdict};
use crate::run::opinion::Opinion;

/// The name of some bytes that the store keeps: their BLAKE3 hash in hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Blob(pub String);

/// The command lines of agents, by the target of the steps that they do.
pub type Agents = BTreeMap<String, Vec<String>>;

/// One thing that happened to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Event {
    /// The run began: this digest was approved by this person in this way.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The digest of the plan.
        digest: String,
        approved_by: String,
        /// How: `terminal` or `rev`.
        approved_at: String,
        /// The commit that the workspace stood at, if it is a repository.
        base: Option<String>,
        /// The command lines of the agents, by the target of the steps that they do: they are a part of what was approved.
        #[serde(default)]
        agents: Agents,
        /// The hash of every sealed file, by its path.
        #[serde(default)]
        sealed: BTreeMap<String, String>,
        /// The approvals that the run began on.
        #[serde(default)]
        approvals: Vec<ApprovedBy>,
        /// What those who approved say to whoever carries it out.
        #[serde(default)]
        note: String,
    },
    /// Other command lines were approved for the agents.
    #[serde(rename = "agents.approved")]
    AgentsApproved {
        approved_by: String,
        /// How: `terminal` or `rev`.
        approved_at: String,
        /// The command lines, by the target of the steps.
        agents: Agents,
    },
    /// An attempt is about to be made. Written before the agent is started.
    #[serde(rename = "attempt.started")]
    AttemptStarted {
        step: String,
        /// The attempt, counted from 1.
        attempt: u32,
        /// The agent that makes it.
        agent: String,
        /// What the agent is told.
        prompt: Blob,
    },
    /// An attempt ended, and nothing that it started is alive.
    #[serde(rename = "attempt.finished")]
    AttemptFinished {
        step: String,
        attempt: u32,
        end: AttemptEnd,
        /// What the agent said.
        output: Option<Blob>,
        /// What it cost, as far as the agent says.
        usage: Usage,
        /// Files of the workspace that it changed.
        changed: Vec<String>,
        /// What else is known of it.
        #[serde(default, skip_serializing_if = "Account::is_empty")]
        account: Account,
    },
    /// A contract was run and judged.
    #[serde(rename = "contract.finished")]
    ContractFinished {
        step: String,
        /// The attempt that was judged.
        attempt: u32,
        /// What was seen and what follows from it.
        receipt: Receipt,
    },
    /// Something that only a person can settle.
    #[serde(rename = "ask.opened")]
    AskOpened {
        /// The name of the ask, unique in the run.
        ask: String,
        /// The step that waits for it; `None` when the whole run does.
        step: Option<String>,
        /// What it is about.
        reason: Reason,
        /// What the person should know.
        text: String,
    },
    /// A person settled it.
    #[serde(rename = "ask.answered")]
    AskAnswered { ask: String, answer: Answer, by: String },
    /// Most of a budget is spent.
    #[serde(rename = "budget.warned")]
    BudgetWarned {
        /// Which limit: `tokens`, `dollars` or `time`.
        limit: String,
        /// The share that is spent, in percent.
        percent: u64,
    },
    /// The run is to go no further for now.
    #[serde(rename = "run.stopped")]
    RunStopped {
        by: String,
        /// What becomes of the attempts that are under way.
        #[serde(default)]
        when: StopWhen,
    },
    /// The run goes on.
    #[serde(rename = "run.resumed")]
    RunResumed { by: String },
    /// Steps that were done are to be done again: a person took the work back to before them.
    #[serde(rename = "steps.reopened")]
    StepsReopened { steps: Vec<String>, by: String },
    /// The run is over.
    #[serde(rename = "run.finished")]
    RunFinished {
        outcome: Outcome,
        /// Why, where it is not done.
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

    /// What makes the event unique in its run: the same thing happens once. `None` for what may happen again.
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

    /// The attempt that it is about.
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

    /// The step that it is about.
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

/// What a stop does to the attempts that are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopWhen {
    /// They end by themselves and are judged; nothing new begins.
    #[default]
    AfterAttempts,
    Now,
}

/// How an attempt ended. None of these is success: only a contract tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptEnd {
    /// The agent ended by itself.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It took longer than allowed, in seconds: a failed attempt.
    TimedOut(u64),
    /// The harness died meanwhile. Not a failure, but capped.
    Lost,
    /// A person ended it: they stopped the run at once, or left. Counts for nothing.
    Stopped,
    /// The agent can't be had now: it is missing or out of quota. Not a failure.
    Parked {
        why: String,
        /// When to try again, in milliseconds since 1970; `None`: a person must see to it.
        until: Option<u64>,
    },
}

/// What an attempt cost, as far as the agent says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens; `None`: not said.
    pub tokens: Option<u64>,
    /// Money, in millionths of a dollar; `None`: not said.
    pub micro_dollars: Option<u64>,
    /// Time by the clock on the wall, in milliseconds.
    pub milliseconds: u64,
}

impl Usage {
    /// Both together. What neither says is not known; what one says counts.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        Self {
            tokens: add(self.tokens, more.tokens),
            micro_dollars: add(self.micro_dollars, more.micro_dollars),
            milliseconds: self.milliseconds.saturating_add(more.milliseconds),
        }
    }
}

/// What was seen of a contract, what follows from it, and what it was about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub verdict: Verdict,
    pub observation: Observation,
    /// The digest of the plan that the contract belongs to.
    pub digest: String,
    /// The hash of the command that was run.
    pub contract: String,
    /// How well the attempt was isolated.
    pub tier: String,
    /// What the contract printed.
    pub output: Blob,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
    /// The hash of everything in the workspace that was judged; empty where it was not recorded.
    #[serde(default)]
    pub tree: String,
    /// The exit code that means done; `None` where it was not recorded.
    #[serde(default)]
    pub expect: Option<u8>,
    /// The approvals that the run began on.
    #[serde(default)]
    pub approvals: Vec<ApprovedBy>,
    /// What an agent thinks of the work, where the step asks for it; says whether it counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
}

/// An approval, by its place in the ledger of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedBy {
    pub by: Who,
    /// The place of the entry.
    pub seq: u64,
    /// The hash of the entry, which names everything before it, too.
    pub hash: String,
}

/// What an ask is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    AttemptsSpent,
    /// The step has no contract, or is a person's to do.
    Manual,
    /// The budget is spent.
    Budget,
    /// Attempts were lost too often.
    Lost,
    /// The agent can't be had.
    Parked,
    /// The run was begun, and nobody has driven it for a long time.
    Stalled,
    /// The agent has a question, and the contract failed.
    Question,
    /// An attempt changed what it may not touch, and that is to count: no later one takes it back.
    Strayed,
}

/// What a person says to an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer {
    /// One more attempt, with a hint for the agent.
    Retry {
        /// The hint; may be empty.
        hint: String,
    },
    /// The person has done it by hand; the contract judges.
    TakeOver,
    /// The person confirms a step that has no contract.
    Confirm,
    /// The step is left out, for this reason.
    Skip { reason: String },
    /// The run ends here.
    Stop,
    /// The plan goes back to its author; the run is over.
    Revise {
        /// What is to change.
        reason: String,
    },
    /// More money, in millionths of a dollar, more tokens, more seconds.
    Budget { micro_dollars: u64, tokens: u64, seconds: u64 },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every contract passed, or a person settled it.
    Done,
    /// A step failed and its policy says abort, or a person stopped the run.
    Failed,
    /// A person cancelled it.
    Cancelled,
}

impl Outcome {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}
