//! Events as journals keep them: flat, one tag per event. What is written here never changes, so that every
//! journal replays; [`super::Event`] is the same, grouped.

use serde::{Deserialize, Serialize};

use super::{
    AgentsApproval, AskAnswer, AskEvent, AskReason, AttemptFinish, AttemptStart, Judged, RunEvent,
    RunOutcome, RunStart, StepEvent, StopMode,
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
    ContractFinished { step: String, attempt: Judged, receipt: Receipt },
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
    #[serde(rename = "run.finished")]
    RunFinished { outcome: RunOutcome, why: String },
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
            Event::ContractFinished { step, attempt: of, receipt } => {
                Self::Step { step, event: StepEvent::Judged { of, receipt } }
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
            Event::RunFinished { outcome, why } => Self::Run(RunEvent::Finished { outcome, why }),
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
                RunEvent::Finished { outcome, why } => Self::RunFinished { outcome, why },
            },
            super::Event::Step { step, event } => match event {
                StepEvent::Started(start) => Self::AttemptStarted { step, start },
                StepEvent::Finished(finish) => Self::AttemptFinished { step, finish },
                StepEvent::Judged { of: attempt, receipt } => {
                    Self::ContractFinished { step, attempt, receipt }
                }
            },
            super::Event::Ask { ask, event } => match event {
                AskEvent::Opened { step, reason, text } => Self::AskOpened { ask, step, reason, text },
                AskEvent::Answered { answer, by } => Self::AskAnswered { ask, answer, by },
            },
        }
    }
}
