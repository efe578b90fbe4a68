//! Events as journals keep them: flat, one tag per event. What is written here never changes, so that every
//! journal replays; [`super::Event`] is the same, grouped.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AgentsApproval, AskAnswer, AskEvent, AskReason, AttemptFinish, AttemptStart, Judged, MachineFault,
    RunEvent, RunOutcome, RunStart, StepEvent, StopMode,
};
use crate::run::receipt::Receipt;

#[derive(Serialize, Deserialize)]
#[serde(tag = "event")]
pub(super) enum Event {
    #[serde(rename = "run.started")]
    RunStarted(RunStart),
    #[serde(rename = "agents.approved")]
    AgentsApproved(AgentsApproval),
    #[serde(rename = "attempt.started")]
    AttemptStarted {
        step: String,
        #[serde(flatten)]
        start: AttemptStart,
    },
    #[serde(rename = "attempt.finished")]
    AttemptFinished {
        step: String,
        #[serde(flatten)]
        finish: AttemptFinish,
    },
    #[serde(rename = "contract.finished")]
    ContractFinished { step: String, attempt: u32, receipt: Receipt },
    #[serde(rename = "contract.rechecked")]
    ContractRechecked {
        step: String,
        round: u32,
        receipt: Receipt,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        broken_by: Option<String>,
    },
    #[serde(rename = "contract.faulted")]
    ContractFaulted {
        step: String,
        attempt: u32,
        /// Set if it was to be judged again at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        round: Option<u32>,
        fault: MachineFault,
    },
    #[serde(rename = "ask.opened")]
    AskOpened { ask: String, step: Option<String>, reason: AskReason, text: String },
    #[serde(rename = "ask.answered")]
    AskAnswered { ask: String, answer: AskAnswer, by: String },
    #[serde(rename = "budget.warned")]
    BudgetWarned { limit: String, percent: u64 },
    #[serde(rename = "run.stopped")]
    RunStopped {
        by: String,
        #[serde(default)]
        when: StopMode,
    },
    #[serde(rename = "run.resumed")]
    RunResumed { by: String },
    #[serde(rename = "steps.reopened")]
    StepsReopened { steps: Vec<String>, by: String },
    #[serde(rename = "closing.started")]
    ClosingStarted { round: u32, tree: String },
    #[serde(rename = "run.finished")]
    RunFinished { outcome: RunOutcome, why: String },
    #[serde(rename = "run.rechecked")]
    RunRechecked { receipts: BTreeMap<String, Receipt> },
}

impl From<Event> for super::Event {
    fn from(event: Event) -> Self {
        match event {
            Event::RunStarted(start) => Self::Run(RunEvent::Started(start)),
            Event::AgentsApproved(approval) => Self::Run(RunEvent::AgentsApproved(approval)),
            Event::AttemptStarted { step, start } => Self::Step { step, event: StepEvent::Started(start) },
            Event::AttemptFinished { step, finish } => {
                Self::Step { step, event: StepEvent::Finished(finish) }
            }
            Event::ContractFinished { step, attempt, receipt } => {
                let of = Judged::attempt(attempt);
                Self::Step { step, event: StepEvent::Judged { of, receipt, broken_by: None } }
            }
            Event::ContractRechecked { step, round, receipt, broken_by } => {
                let of = Judged::Closing(round);
                Self::Step { step, event: StepEvent::Judged { of, receipt, broken_by } }
            }
            Event::ContractFaulted { step, attempt, round, fault } => {
                let of = round.map_or(Judged::attempt(attempt), Judged::Closing);
                Self::Step { step, event: StepEvent::Faulted { of, fault } }
            }
            Event::AskOpened { ask, step, reason, text } => {
                Self::Ask { ask, event: AskEvent::Opened { step, reason, text } }
            }
            Event::AskAnswered { ask, answer, by } => {
                Self::Ask { ask, event: AskEvent::Answered { answer, by } }
            }
            Event::BudgetWarned { limit, percent } => Self::Run(RunEvent::BudgetWarned { limit, percent }),
            Event::RunStopped { by, when: mode } => Self::Run(RunEvent::Stopped { by, mode }),
            Event::RunResumed { by } => Self::Run(RunEvent::Resumed { by }),
            Event::StepsReopened { steps, by } => Self::Run(RunEvent::Reopened { steps, by }),
            Event::ClosingStarted { round, tree } => Self::Run(RunEvent::Closing { round, tree }),
            Event::RunFinished { outcome, why } => Self::Run(RunEvent::Finished { outcome, why }),
            Event::RunRechecked { receipts } => Self::Run(RunEvent::Rechecked { receipts }),
        }
    }
}

impl From<super::Event> for Event {
    fn from(event: super::Event) -> Self {
        match event {
            super::Event::Run(event) => match event {
                RunEvent::Started(start) => Self::RunStarted(start),
                RunEvent::AgentsApproved(approval) => Self::AgentsApproved(approval),
                RunEvent::BudgetWarned { limit, percent } => Self::BudgetWarned { limit, percent },
                RunEvent::Stopped { by, mode: when } => Self::RunStopped { by, when },
                RunEvent::Resumed { by } => Self::RunResumed { by },
                RunEvent::Reopened { steps, by } => Self::StepsReopened { steps, by },
                RunEvent::Closing { round, tree } => Self::ClosingStarted { round, tree },
                RunEvent::Finished { outcome, why } => Self::RunFinished { outcome, why },
                RunEvent::Rechecked { receipts } => Self::RunRechecked { receipts },
            },
            super::Event::Step { step, event } => match event {
                StepEvent::Started(start) => Self::AttemptStarted { step, start },
                StepEvent::Finished(finish) => Self::AttemptFinished { step, finish },
                StepEvent::Judged { of: Judged::Claim, receipt, .. } => {
                    Self::ContractFinished { step, attempt: 0, receipt }
                }
                StepEvent::Judged { of: Judged::Attempt(attempt), receipt, .. } => {
                    Self::ContractFinished { step, attempt, receipt }
                }
                StepEvent::Judged { of: Judged::Closing(round), receipt, broken_by } => {
                    Self::ContractRechecked { step, round, receipt, broken_by }
                }
                StepEvent::Faulted { of, fault } => {
                    let round = match of {
                        Judged::Closing(round) => Some(round),
                        Judged::Claim | Judged::Attempt(_) => None,
                    };
                    let attempt = of.number().unwrap_or_default();
                    Self::ContractFaulted { step, attempt, round, fault }
                }
            },
            super::Event::Ask { ask, event } => match event {
                AskEvent::Opened { step, reason, text } => Self::AskOpened { ask, step, reason, text },
                AskEvent::Answered { answer, by } => Self::AskAnswered { ask, answer, by },
            },
        }
    }
}
