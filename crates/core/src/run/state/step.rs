//! The state of one step: what it is doing, and what became of its attempts.

use std::collections::BTreeSet;

use super::Illegal;
use crate::agent::account::Usage;
use crate::agent::report;
use crate::agent::report::ReportFinding;
use crate::plan::draft::Mark;
use crate::plan::verified::{Contract, Step};
use crate::run::event::{
    AskAnswer, AskReason, AttemptEnd, AttemptFinish, AttemptStart, Judged, JudgedBy, StepEvent,
};
use crate::run::judge::JudgeFailure;
use crate::run::receipt::{Blob, Receipt};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepState {
    pub id: String,
    pub status: StepStatus,
    pub history: StepHistory,
    pub(super) judged_by: JudgedBy,
}

/// The status of a step. Ready and blocked follow from the graph and aren't stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepStatus {
    /// Nothing is running.
    Pending(Pending),
    Running {
        attempt: u32,
    },
    /// The work is done; the contract has no result yet.
    Judging {
        of: Judged,
        changed: Vec<String>,
        /// What it becomes if the contract fails.
        otherwise: Pending,
    },
    /// A question is open.
    Waiting {
        ask: String,
        /// What it becomes again if the answer changes nothing.
        before: Pending,
    },
    Passed {
        by: PassedBy,
    },
    Skipped {
        by: String,
        reason: String,
    },
}

/// Why a step is not running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pending {
    /// No attempt since the start, or since it was reopened.
    Fresh,
    /// An attempt ended without success, or a person let it continue.
    Retry {
        /// The agent's question in an attempt that then failed.
        question: Option<String>,
    },
    /// The agent is unavailable.
    Unavailable {
        why: String,
        /// When to retry, in milliseconds since 1970; `None` if a person has to fix it.
        until: Option<u64>,
    },
    /// An agent has finished it and a person has to confirm. Only for manual steps.
    HandedOver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedBy {
    Contract(Judged),
    Person,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepHistory {
    /// Attempts that were started.
    pub attempts: u32,
    /// Failed attempts, which count against `on_fail`; oldest first.
    pub failed: Vec<FailedAttempt>,
    /// Interrupted attempts, which don't count, up to a limit.
    pub lost: u32,
    /// Additional attempts that a person granted.
    pub granted: u32,
    /// How often a person was asked about it.
    pub asked: u32,
    /// How often in a row the agent was unavailable.
    pub unavailable: u32,
    /// A person's hint for all later attempts.
    pub hint: String,
    /// The findings of its last attempt, if that was a reviewer's.
    pub findings: Vec<ReportFinding>,
    /// What its attempts changed outside their scope since a person last let it continue: a new attempt
    /// doesn't revert it.
    pub strayed: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    pub attempt: u32,
    pub failure: JudgeFailure,
    /// `None` if no contract ran.
    pub output: Option<Blob>,
    pub changed: Vec<String>,
}

impl StepHistory {
    /// The number of failed attempts.
    pub fn failures(&self) -> u32 {
        u32::try_from(self.failed.len()).unwrap_or(u32::MAX)
    }

    /// How often in a row the contract failed with the same output.
    pub fn same_failure(&self) -> usize {
        let outputs = || self.failed.iter().rev().map(|failed| &failed.output).skip_while(|it| it.is_none());
        outputs().take_while(|output| Some(*output) == outputs().next()).count()
    }
}

impl StepStatus {
    /// Whether the steps that need this one may start.
    pub const fn is_settled(&self) -> bool {
        match self {
            Self::Passed { .. } | Self::Skipped { .. } => true,
            Self::Pending(_) | Self::Running { .. } | Self::Judging { .. } | Self::Waiting { .. } => false,
        }
    }

    /// The files changed by the attempt that is being judged; empty if there is none.
    pub fn changed(&self) -> &[String] {
        match self {
            Self::Judging { changed, .. } => changed,
            Self::Pending(_)
            | Self::Running { .. }
            | Self::Passed { .. }
            | Self::Waiting { .. }
            | Self::Skipped { .. } => &[],
        }
    }

    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pending(_) => "pending",
            Self::Running { .. } => "running",
            Self::Judging { .. } => "judging",
            Self::Passed { .. } => "passed",
            Self::Waiting { .. } => "waiting",
            Self::Skipped { .. } => "skipped",
        }
    }
}

impl StepState {
    /// A step that the file marks as done is judged before any attempt; a mark on a manual step is ignored.
    pub(super) fn new(step: &Step) -> Self {
        let status = match (step.mark, &step.contract) {
            (Some(Mark::Done), Contract::Shell { .. }) => {
                StepStatus::Judging { of: Judged::Claim, changed: Vec::new(), otherwise: Pending::Fresh }
            }
            (_, Contract::Shell { .. } | Contract::Manual) => StepStatus::Pending(Pending::Fresh),
        };
        let judged_by = JudgedBy::of(Some(&step.contract));
        Self { id: step.id.clone(), status, history: StepHistory::default(), judged_by }
    }

    pub(super) fn illegal(&self, event: &'static str, allowed: &str) -> Illegal {
        let state = format!("step `{}`, which is {}", self.id, self.status.word());
        Illegal { event, state, allowed: allowed.to_owned() }
    }

    /// | status | event | becomes |
    /// |---|---|---|
    /// | pending | attempt.started k+1 | running k+1 |
    /// | running k | attempt.finished k: exited, signalled | judging k; pending if a person is the judge |
    /// | running k | attempt.finished k: timed out | pending, one failure more |
    /// | running k | attempt.finished k: lost, stopped, parked | pending |
    /// | judging a claim | contract.finished, failed | pending, no failure |
    /// | judging k | contract.finished k, failed | pending, one failure more |
    /// | judging | contract.finished, passed | passed |
    pub(super) fn apply(&mut self, event: &StepEvent) -> Result<(), Illegal> {
        match (&self.status, event) {
            (StepStatus::Pending(_), StepEvent::Started(AttemptStart { attempt, .. }))
                if *attempt == self.history.attempts + 1 =>
            {
                self.history.attempts = *attempt;
                self.status = StepStatus::Running { attempt: *attempt };
                Ok(())
            }
            (StepStatus::Running { attempt }, StepEvent::Finished(finish)) if finish.attempt == *attempt => {
                self.finish(finish);
                Ok(())
            }
            (StepStatus::Judging { of, changed, otherwise }, StepEvent::Judged { of: judged, receipt })
                if of == judged =>
            {
                self.status = match receipt.verdict.failure() {
                    None => StepStatus::Passed { by: PassedBy::Contract(*of) },
                    Some(failure) => {
                        // A claim is no attempt: it is void, and nothing else changes.
                        if let Judged::Attempt(attempt) = *of {
                            self.history.failed.push(FailedAttempt {
                                attempt,
                                failure: failure.clone(),
                                output: Some(receipt.output.clone()),
                                changed: changed.clone(),
                            });
                        }
                        StepStatus::Pending(otherwise.clone())
                    }
                };
                Ok(())
            }
            (
                StepStatus::Pending(_)
                | StepStatus::Running { .. }
                | StepStatus::Judging { .. }
                | StepStatus::Waiting { .. }
                | StepStatus::Passed { .. }
                | StepStatus::Skipped { .. },
                StepEvent::Started(_) | StepEvent::Finished(_) | StepEvent::Judged { .. },
            ) => Err(self.illegal(event.name(), event.fits())),
        }
    }

    fn finish(&mut self, finish: &AttemptFinish) {
        let AttemptFinish { attempt, end, changed, account, .. } = finish;
        let (attempt, changed) = (*attempt, changed.clone());
        let history = &mut self.history;
        history.strayed.extend(account.outside.iter().cloned());
        history.findings = report::findings(&account.report).cloned().collect();
        if !matches!(end, AttemptEnd::Parked { .. }) {
            history.unavailable = 0;
        }
        let asked = || Pending::Retry { question: report::question(&account.report).map(str::to_owned) };
        // An agent that was interrupted is retried and may ask again.
        let again = Pending::Retry { question: None };
        self.status = match end {
            AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) => match self.judged_by {
                JudgedBy::Contract => {
                    StepStatus::Judging { of: Judged::Attempt(attempt), changed, otherwise: asked() }
                }
                // There is no contract to run; planwright asks a person.
                JudgedBy::Person => StepStatus::Pending(Pending::HandedOver),
            },
            AttemptEnd::TimedOut(seconds) => {
                let failure = JudgeFailure::Timeout(*seconds);
                history.failed.push(FailedAttempt { attempt, failure, output: None, changed });
                StepStatus::Pending(asked())
            }
            AttemptEnd::Lost => {
                history.lost += 1;
                StepStatus::Pending(again)
            }
            AttemptEnd::Stopped => StepStatus::Pending(again),
            AttemptEnd::Parked { why, until } => {
                history.unavailable += 1;
                StepStatus::Pending(Pending::Unavailable { why: why.clone(), until: *until })
            }
        };
    }

    /// | status | event | becomes |
    /// |---|---|---|
    /// | pending | ask.opened | waiting |
    pub(super) fn ask(&mut self, ask: &str) -> Result<(), Illegal> {
        match &self.status {
            StepStatus::Pending(before) => {
                self.history.asked += 1;
                self.status = StepStatus::Waiting { ask: ask.to_owned(), before: before.clone() };
                Ok(())
            }
            StepStatus::Running { .. }
            | StepStatus::Judging { .. }
            | StepStatus::Waiting { .. }
            | StepStatus::Passed { .. }
            | StepStatus::Skipped { .. } => {
                Err(self.illegal("ask.opened", "a question about a pending step"))
            }
        }
    }

    /// Takes an answer that fits the open question.
    ///
    /// | status | event | becomes |
    /// |---|---|---|
    /// | waiting | ask.answered: retry | pending, one attempt granted where all were spent |
    /// | waiting | ask.answered: take over | judging k+1 |
    /// | waiting | ask.answered: confirm (no contract) | passed |
    /// | waiting | ask.answered: skip | skipped |
    /// | waiting | ask.answered: stop, revise | pending as before; the run is stopped |
    pub(super) fn answer(&mut self, reason: AskReason, answer: &AskAnswer, by: &str) {
        let StepStatus::Waiting { before, .. } = &self.status else {
            unreachable!("step `{}` has an open question and is {}", self.id, self.status.word())
        };
        let history = &mut self.history;
        self.status = match answer {
            AskAnswer::Retry { hint } => {
                // Grant an attempt only if none is left. An attempt that ended in a question doesn't count.
                history.granted +=
                    u32::from(matches!(reason, AskReason::AttemptsSpent | AskReason::Question));
                history.lost = 0;
                history.unavailable = 0;
                history.strayed.clear();
                history.hint.clone_from(hint);
                StepStatus::Pending(Pending::Retry { question: None })
            }
            AskAnswer::TakeOver => {
                history.attempts += 1;
                // A person's attempt doesn't use up those of the agents.
                history.granted += 1;
                history.strayed.clear();
                let otherwise = match before {
                    // The agent still is.
                    Pending::Unavailable { .. } => before.clone(),
                    Pending::Fresh | Pending::Retry { .. } | Pending::HandedOver => {
                        Pending::Retry { question: None }
                    }
                };
                StepStatus::Judging { of: Judged::Attempt(history.attempts), changed: Vec::new(), otherwise }
            }
            AskAnswer::Confirm => StepStatus::Passed { by: PassedBy::Person },
            AskAnswer::Skip { reason } => StepStatus::Skipped { by: by.to_owned(), reason: reason.clone() },
            AskAnswer::Stop | AskAnswer::Revise { .. } => StepStatus::Pending(before.clone()),
            AskAnswer::Budget { .. } => unreachable!("{answer:?} fits no question about a step"),
        };
    }

    pub(super) const fn can_reopen(&self) -> bool {
        match self.status {
            StepStatus::Passed { .. } | StepStatus::Skipped { .. } | StepStatus::Pending(_) => true,
            StepStatus::Running { .. } | StepStatus::Judging { .. } | StepStatus::Waiting { .. } => false,
        }
    }

    /// Back to before the first attempt, except for the numbers of attempts and questions, since two must not
    /// share a name.
    pub(super) fn reopen(&mut self) {
        let StepHistory { attempts, asked, hint, .. } = std::mem::take(&mut self.history);
        self.history = StepHistory { attempts, asked, hint, ..StepHistory::default() };
        self.status = StepStatus::Pending(Pending::Fresh);
    }
}

impl StepEvent {
    /// The only event of its kind that a step takes.
    const fn fits(&self) -> &'static str {
        match self {
            Self::Started(_) => "the next attempt at a pending step",
            Self::Finished(_) => "the end of the running attempt",
            Self::Judged { .. } => "the contract of the attempt being judged",
        }
    }

    /// What it cost: the attempt, or the opinion about it.
    pub(super) fn usage(&self) -> Usage {
        match self {
            Self::Started(_) => Usage::default(),
            Self::Finished(AttemptFinish { usage, .. }) => *usage,
            Self::Judged { receipt: Receipt { opinion, .. }, .. } => {
                opinion.as_ref().map(|opinion| opinion.usage).unwrap_or_default()
            }
        }
    }
}
