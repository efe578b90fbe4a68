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
    /// Every step is done: the contracts whose verdict is for another tree than this one run again.
    Closing {
        /// Counted from 1.
        round: u32,
        /// The hash of the whole workspace content; empty if not known.
        tree: String,
    },
    Finished {
        outcome: RunOutcome,
        /// Empty if it is done.
        why: String,
    },
    /// After the end of a run that was done: these contracts ran again, because the tree is another one.
    Rechecked {
        /// By step.
        receipts: BTreeMap<String, Receipt>,
    },
}

/// A verdict and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedVerdict<'a> {
    pub step: &'a str,
    /// `None` if the run was over and the contract ran again on another tree.
    pub of: Option<Judged>,
    pub receipt: &'a Receipt,
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
    /// The programs that contracts call, as they were approved. Empty in runs of planwright 0.1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
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
    /// The machine failed before a contract could tell anything. Nobody's failure: the contract runs again.
    Faulted { of: Judged, fault: MachineFault },
    /// planwright ran a contract and judged it.
    Judged {
        of: Judged,
        /// The observation and the verdict that follows from it.
        receipt: Receipt,
        /// The later step that broke a contract that had passed, as far as it is known.
        broken_by: Option<String>,
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

/// An error of the machine while planwright was working on a step: a full disk, an I/O error, no more files or
/// processes. It is neither a failure of the agent nor an observation of its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFault {
    /// What failed and on which path, with the system's own words.
    pub why: String,
    /// The error number, if the system gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// When to retry, in milliseconds since 1970; `None` if a person has to look first.
    pub until: Option<u64>,
}

/// What a contract judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judged {
    /// A mark in the file that says that the step is done.
    Claim,
    /// Counted from 1.
    Attempt(u32),
    /// The final tree, in this round of the closing check.
    Closing(u32),
}

impl Judged {
    /// An attempt by its number; 0 is a claim.
    pub const fn attempt(number: u32) -> Self {
        if number == 0 { Self::Claim } else { Self::Attempt(number) }
    }

    /// The number of the attempt, 0 for a claim; `None` for a closing check, which judges none.
    pub const fn number(self) -> Option<u32> {
        match self {
            Self::Claim => Some(0),
            Self::Attempt(attempt) => Some(attempt),
            Self::Closing(_) => None,
        }
    }
}

/// As in keys and addresses: `2`, `closing-1`.
impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim => f.write_str("0"),
            Self::Attempt(attempt) => attempt.fmt(f),
            Self::Closing(round) => write!(f, "closing-{round}"),
        }
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
            Self::Run(RunEvent::Closing { round, .. }) => Some(format!("{round}/{name}")),
            Self::Run(
                RunEvent::AgentsApproved(_)
                | RunEvent::Stopped { .. }
                | RunEvent::Resumed { .. }
                | RunEvent::Reopened { .. }
                | RunEvent::Rechecked { .. },
            )
            | Self::Step { event: StepEvent::Faulted { .. }, .. } => None,
            Self::Step { step, event } => Some(format!("{step}/{}/{name}", event.of())),
            Self::Ask { ask, .. } => Some(format!("{ask}/{name}")),
        }
    }

    /// Whether others may record it while a process drives the run: answers,
    /// approvals, stops and an early end. Attempts, verdicts,
    /// questions and success come from the driver alone.
    pub const fn may_come_from_others(&self) -> bool {
        match self {
            Self::Ask { event: AskEvent::Answered { .. }, .. }
            | Self::Run(RunEvent::AgentsApproved(_) | RunEvent::Stopped { .. } | RunEvent::Resumed { .. }) => {
                true
            }
            Self::Run(RunEvent::Finished { outcome, .. }) => match outcome {
                RunOutcome::Failed | RunOutcome::Cancelled => true,
                RunOutcome::Done => false,
            },
            Self::Run(
                RunEvent::Started(_)
                | RunEvent::BudgetWarned { .. }
                | RunEvent::Closing { .. }
                | RunEvent::Reopened { .. }
                | RunEvent::Rechecked { .. },
            )
            | Self::Step { .. }
            | Self::Ask { event: AskEvent::Opened { .. }, .. } => false,
        }
    }

    /// The number of the attempt; 0 for a claim, `None` for what is about none.
    pub fn attempt(&self) -> Option<u32> {
        match self {
            Self::Step { event, .. } => event.of().number(),
            Self::Run(_) | Self::Ask { .. } => None,
        }
    }

    /// The verdicts that it records.
    pub fn verdicts(&self) -> Vec<RecordedVerdict<'_>> {
        match self {
            Self::Step { step, event: StepEvent::Judged { of, receipt, .. } } => {
                vec![RecordedVerdict { step, of: Some(*of), receipt }]
            }
            Self::Run(RunEvent::Rechecked { receipts }) => {
                receipts.iter().map(|(step, receipt)| RecordedVerdict { step, of: None, receipt }).collect()
            }
            Self::Step { .. } | Self::Run(_) | Self::Ask { .. } => Vec::new(),
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
            Self::Closing { .. } => "closing.started",
            Self::Finished { .. } => "run.finished",
            Self::Rechecked { .. } => "run.rechecked",
        }
    }
}

impl StepEvent {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Started(_) => "attempt.started",
            Self::Finished(_) => "attempt.finished",
            Self::Faulted { .. } => "contract.faulted",
            Self::Judged { of: Judged::Claim | Judged::Attempt(_), .. } => "contract.finished",
            Self::Judged { of: Judged::Closing(_), .. } => "contract.rechecked",
        }
    }

    /// What it is about: an attempt, a claim or a closing check.
    pub const fn of(&self) -> Judged {
        match self {
            Self::Started(AttemptStart { attempt, .. }) | Self::Finished(AttemptFinish { attempt, .. }) => {
                Judged::Attempt(*attempt)
            }
            Self::Judged { of, .. } | Self::Faulted { of, .. } => *of,
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
    /// The machine failed. Not a failure, but retries are capped.
    Faulted(MachineFault),
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
    /// A contract that had passed fails on the final tree, and repairing it did not help or is not allowed.
    Regressed,
    /// Contracts change the files that they judge, so that no tree has a verdict of all of them.
    Unsettled,
    /// The machine failed too often, or in a way that a person has to see.
    Machine,
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
    /// Another attempt at the step that broke the contract, with a hint for its agent. The contract runs again
    /// after it.
    RetryStep {
        step: String,
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

/// A kind of answer, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    Retry,
    RetryStep,
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
            Self::RetryStep => "retry-step",
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
            Self::RetryStep { .. } => AnswerKind::RetryStep,
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
            Self::Regressed => "a contract that had passed fails again",
            Self::Unsettled => "contracts change the files that they judge",
            Self::Machine => "the machine failed",
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
            Self::Regressed => "regressed",
            Self::Unsettled => "unsettled",
            Self::Machine => "machine",
        }
    }

    /// The answers that fit, decided here alone: faces offer these, and a journal accepts no other.
    pub const fn answers(self, judged_by: JudgedBy) -> &'static [AnswerKind] {
        use AnswerKind::{Budget, Confirm, Retry, RetryStep, Revise, Skip, Stop, TakeOver};
        match (self, judged_by) {
            (Self::Budget, _) => &[Budget, Revise, Stop],
            (Self::Stalled | Self::Unsettled, _) => &[Retry, Revise, Stop],
            (Self::Regressed, _) => &[Retry, RetryStep, TakeOver, Skip, Revise, Stop],
            (
                Self::AttemptsSpent
                | Self::Manual
                | Self::Lost
                | Self::Parked
                | Self::Question
                | Self::Strayed
                | Self::Machine,
                JudgedBy::Person,
            ) => &[Confirm, Retry, Skip, Revise, Stop],
            (
                Self::AttemptsSpent
                | Self::Manual
                | Self::Lost
                | Self::Parked
                | Self::Question
                | Self::Strayed
                | Self::Machine,
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
