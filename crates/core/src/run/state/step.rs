//! The state of one step: what it is doing, and what became of its attempts.

use std::collections::BTreeSet;

use super::Illegal;
use crate::agent::account::Usage;
use crate::agent::report;
use crate::agent::report::ReportFinding;
use crate::plan::draft::Mark;
use crate::plan::verified::{Contract, Step};
use crate::run::event::{
    AskAnswer, AskReason, AttemptEnd, AttemptFinish, AttemptStart, Judged, JudgedBy, MachineFault, StepEvent,
};
use crate::run::judge::JudgeFailure;
use crate::run::receipt::{Blob, Receipt};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepState {
    pub id: String,
    pub status: StepStatus,
    pub history: StepHistory,
    pub(super) judged_by: JudgedBy,
    /// The index of the step after which its contract need not hold any more.
    pub(super) holds_until: Option<usize>,
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
        /// Why the contract has told nothing yet: the last error of the machine.
        fault: Option<MachineFault>,
    },
    /// A question is open.
    Waiting {
        ask: String,
        /// What it becomes again if the answer changes nothing: pending, or judging after errors of the machine.
        before: Box<StepStatus>,
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
    /// The machine failed during an attempt.
    Faulted(MachineFault),
    /// Somebody has finished it and a person has to confirm. Only for manual steps.
    HandedOver,
    /// The step that broke its contract is worked on; then its contract runs again.
    Recheck,
    /// Its contract had passed and doesn't hold on the tree that was there after the end of the run.
    Lapsed { of: Judged },
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
    /// How often in a row the machine failed.
    pub faults: u32,
    /// A person's hint for all later attempts.
    pub hint: String,
    /// The findings of its last attempt, if that was a reviewer's.
    pub findings: Vec<ReportFinding>,
    /// What its attempts changed outside their scope since a person last let it continue: a new attempt
    /// doesn't revert it.
    pub strayed: BTreeSet<String>,
    /// The last verdict that passed.
    pub proof: Option<PassedTree>,
}

/// What passed, by a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedTree {
    /// The attempt that did the work; 0 for a claim.
    pub attempt: u32,
    /// The hash of the whole workspace content that passed last; empty if not recorded.
    pub tree: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    pub attempt: u32,
    pub failure: JudgeFailure,
    /// `None` if no contract ran.
    pub output: Option<Blob>,
    pub changed: Vec<String>,
    /// Set if the attempt had passed before.
    pub regression: Option<Regression>,
}

/// How work that had passed was found wanting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Regression {
    /// Its contract fails on the final tree because of this later step, as far as it is known.
    BrokenBy(Option<String>),
    /// It broke the contract of this step.
    Broke(String),
}

impl StepHistory {
    /// The number of failed attempts.
    pub fn failures(&self) -> u32 {
        u32::try_from(self.failed.len()).unwrap_or(u32::MAX)
    }

    /// What broke its contract after it had passed, if nobody has worked on it since.
    pub fn regressed(&self) -> Option<&Regression> {
        self.failed.last()?.regression.as_ref()
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

    /// Whether nothing is to be done about it before a closing check, and for those that need it.
    pub const fn is_at_rest(&self) -> bool {
        self.is_settled() || matches!(self, Self::Pending(Pending::Recheck))
    }

    /// Whether its contract had passed and doesn't hold on the tree that was there after the end of the run.
    pub const fn is_lapsed(&self) -> bool {
        matches!(self, Self::Pending(Pending::Lapsed { .. }))
    }

    /// The last error of the machine, if that is why nothing is running or judged.
    pub fn fault(&self) -> Option<&MachineFault> {
        match self {
            Self::Pending(Pending::Faulted(fault)) => Some(fault),
            Self::Judging { fault, .. } => fault.as_ref(),
            Self::Waiting { before, .. } => before.fault(),
            Self::Pending(_) | Self::Running { .. } | Self::Passed { .. } | Self::Skipped { .. } => None,
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
    /// A step that the file marks as done is judged before any attempt: by its contract, or by a person.
    pub(super) fn new(step: &Step) -> Self {
        let status = match (step.mark, &step.contract) {
            (Some(Mark::Done), Contract::Shell { .. }) => StepStatus::Judging {
                of: Judged::Claim,
                changed: Vec::new(),
                otherwise: Pending::Fresh,
                fault: None,
            },
            (Some(Mark::Done), Contract::Manual) => StepStatus::Pending(Pending::HandedOver),
            (_, Contract::Shell { .. } | Contract::Manual) => StepStatus::Pending(Pending::Fresh),
        };
        let judged_by = JudgedBy::of(Some(&step.contract));
        let (id, holds_until) = (step.id.clone(), step.holds_until);
        Self { id, status, history: StepHistory::default(), judged_by, holds_until }
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
    /// | running k | attempt.finished k: lost, stopped, parked, faulted | pending |
    /// | judging | contract.faulted | judging |
    /// | judging a claim | contract.finished, failed | pending, no failure |
    /// | judging k | contract.finished k, failed | pending, one failure more |
    /// | judging | contract.finished, passed | passed |
    /// | judging in closing round r | contract.rechecked r, failed | pending, one failure more |
    /// | judging in closing round r | contract.rechecked r, passed | passed |
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
            (StepStatus::Judging { of, .. }, StepEvent::Faulted { of: judged, fault: why })
                if of == judged =>
            {
                self.history.faults += 1;
                if let StepStatus::Judging { fault, .. } = &mut self.status {
                    *fault = Some(why.clone());
                }
                Ok(())
            }
            (StepStatus::Judging { of, .. }, StepEvent::Judged { of: judged, receipt, broken_by })
                if of == judged =>
            {
                self.history.faults = 0;
                self.judge(receipt, broken_by.as_ref());
                Ok(())
            }
            (
                StepStatus::Pending(_)
                | StepStatus::Running { .. }
                | StepStatus::Judging { .. }
                | StepStatus::Waiting { .. }
                | StepStatus::Passed { .. }
                | StepStatus::Skipped { .. },
                StepEvent::Started(_)
                | StepEvent::Finished(_)
                | StepEvent::Faulted { .. }
                | StepEvent::Judged { .. },
            ) => Err(self.illegal(event.name(), event.fits())),
        }
    }

    /// Takes the verdict that the step waits for.
    fn judge(&mut self, receipt: &Receipt, broken_by: Option<&String>) {
        let StepStatus::Judging { of, changed, otherwise, .. } = &self.status else {
            unreachable!("step `{}` is judged and {}", self.id, self.status.word())
        };
        let history = &mut self.history;
        let Some(failure) = receipt.verdict.failure() else {
            let attempt = of.number().or(history.proof.as_ref().map(|proof| proof.attempt));
            let tree = receipt.tree.clone();
            history.proof = Some(PassedTree { attempt: attempt.unwrap_or(history.attempts), tree });
            self.status = StepStatus::Passed { by: PassedBy::Contract(*of) };
            return;
        };
        let failed = |attempt, regression| FailedAttempt {
            attempt,
            failure: failure.clone(),
            output: Some(receipt.output.clone()),
            changed: changed.clone(),
            regression,
        };
        match *of {
            // A claim is no attempt: it is void, and nothing else changes.
            Judged::Claim => {}
            Judged::Attempt(attempt) => history.failed.push(failed(attempt, None)),
            Judged::Closing(_) => {
                // Failures before it passed don't use up the attempts at repairing it.
                history.granted = history.failures();
                let regression = Regression::BrokenBy(broken_by.cloned());
                history.failed.push(failed(history.attempts, Some(regression)));
            }
        }
        self.status = StepStatus::Pending(otherwise.clone());
    }

    /// Has its contract run again, if it passed on another tree than this one or is waiting for it.
    pub(super) fn recheck(&mut self, round: u32, tree: &str) {
        let is_due = match &self.status {
            StepStatus::Passed { by: PassedBy::Contract(_) } => !self.holds_on(tree),
            StepStatus::Pending(Pending::Recheck) => true,
            StepStatus::Passed { by: PassedBy::Person }
            | StepStatus::Skipped { .. }
            | StepStatus::Pending(_)
            | StepStatus::Running { .. }
            | StepStatus::Judging { .. }
            | StepStatus::Waiting { .. } => false,
        };
        if is_due {
            let otherwise = Pending::Retry { question: None };
            let of = Judged::Closing(round);
            self.status = StepStatus::Judging { of, changed: Vec::new(), otherwise, fault: None };
        }
    }

    /// Whether its last verdict is a pass on this tree.
    pub(super) fn holds_on(&self, tree: &str) -> bool {
        !tree.is_empty() && self.history.proof.as_ref().is_some_and(|proof| proof.tree == tree)
    }

    /// Sends it back to work because it broke the contract of another step, whose output this is.
    pub(super) fn send_back(
        &mut self,
        broken: &str,
        (failure, output): (JudgeFailure, Option<Blob>),
        hint: &str,
    ) {
        let history = &mut self.history;
        let regression = Some(Regression::Broke(broken.to_owned()));
        let attempt = history.attempts;
        history.failed.push(FailedAttempt { attempt, failure, output, changed: Vec::new(), regression });
        history.granted = history.failures();
        hint.clone_into(&mut history.hint);
        self.status = StepStatus::Pending(Pending::Retry { question: None });
    }

    fn finish(&mut self, finish: &AttemptFinish) {
        let AttemptFinish { attempt, end, changed, account, .. } = finish;
        let (attempt, changed) = (*attempt, changed.clone());
        let history = &mut self.history;
        history.strayed.extend(account.outside.iter().cloned());
        history.findings = report::findings(&account.report).cloned().collect();
        // An agent that is unavailable says nothing about the machine, nor the other way round.
        if !matches!(end, AttemptEnd::Parked { .. } | AttemptEnd::Faulted(_)) {
            history.unavailable = 0;
            history.faults = 0;
        }
        let asked = || Pending::Retry { question: report::question(&account.report).map(str::to_owned) };
        // An agent that was interrupted is retried and may ask again.
        let again = Pending::Retry { question: None };
        self.status = match end {
            AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) => match self.judged_by {
                JudgedBy::Contract => {
                    let (of, otherwise) = (Judged::Attempt(attempt), asked());
                    StepStatus::Judging { of, changed, otherwise, fault: None }
                }
                // There is no contract to run; planwright asks a person.
                JudgedBy::Person => StepStatus::Pending(Pending::HandedOver),
            },
            AttemptEnd::TimedOut(seconds) => {
                let failure = JudgeFailure::Timeout(*seconds);
                let (output, regression) = (None, None);
                history.failed.push(FailedAttempt { attempt, failure, output, changed, regression });
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
            AttemptEnd::Faulted(fault) => {
                history.faults += 1;
                StepStatus::Pending(Pending::Faulted(fault.clone()))
            }
        };
    }

    /// | status | event | becomes |
    /// |---|---|---|
    /// | pending; judging after an error of the machine | ask.opened | waiting |
    pub(super) fn ask(&mut self, ask: &str) -> Result<(), Illegal> {
        match &self.status {
            StepStatus::Pending(_) | StepStatus::Judging { fault: Some(_), .. } => {
                self.history.asked += 1;
                let before = Box::new(self.status.clone());
                self.status = StepStatus::Waiting { ask: ask.to_owned(), before };
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
    /// | waiting | ask.answered: retry | pending, one attempt granted where all were spent; judging again after an error of the machine |
    /// | waiting | ask.answered: retry another step | pending until that has passed |
    /// | waiting | ask.answered: take over | judging k+1 |
    /// | waiting | ask.answered: confirm (no contract) | passed |
    /// | waiting | ask.answered: skip | skipped |
    /// | waiting | ask.answered: stop, revise | as before; the run is stopped |
    pub(super) fn answer(&mut self, reason: AskReason, answer: &AskAnswer, by: &str) {
        let StepStatus::Waiting { before, .. } = &self.status else {
            unreachable!("step `{}` has an open question and is {}", self.id, self.status.word())
        };
        let history = &mut self.history;
        self.status = match answer {
            AskAnswer::Retry { hint } => {
                // Grant an attempt only if none is left. An attempt that ended in a question doesn't count.
                history.granted += u32::from(matches!(
                    reason,
                    AskReason::AttemptsSpent | AskReason::Question | AskReason::Regressed
                ));
                history.lost = 0;
                history.unavailable = 0;
                history.faults = 0;
                history.hint.clone_from(hint);
                // Whoever was told about the machine was not told about the files.
                if reason != AskReason::Machine {
                    history.strayed.clear();
                }
                match &**before {
                    StepStatus::Judging { of, changed, otherwise, .. } => {
                        let (changed, otherwise) = (changed.clone(), otherwise.clone());
                        StepStatus::Judging { of: *of, changed, otherwise, fault: None }
                    }
                    StepStatus::Pending(_)
                    | StepStatus::Running { .. }
                    | StepStatus::Waiting { .. }
                    | StepStatus::Passed { .. }
                    | StepStatus::Skipped { .. } => StepStatus::Pending(Pending::Retry { question: None }),
                }
            }
            AskAnswer::RetryStep { .. } => StepStatus::Pending(Pending::Recheck),
            AskAnswer::TakeOver => {
                history.attempts += 1;
                // A person's attempt doesn't use up those of the agents.
                history.granted += 1;
                history.faults = 0;
                if reason != AskReason::Machine {
                    history.strayed.clear();
                }
                let otherwise = match &**before {
                    // The agent still is.
                    StepStatus::Pending(unavailable @ Pending::Unavailable { .. }) => unavailable.clone(),
                    StepStatus::Pending(
                        Pending::Fresh
                        | Pending::Retry { .. }
                        | Pending::Faulted(_)
                        | Pending::HandedOver
                        | Pending::Recheck
                        | Pending::Lapsed { .. },
                    )
                    | StepStatus::Judging { .. }
                    | StepStatus::Running { .. }
                    | StepStatus::Waiting { .. }
                    | StepStatus::Passed { .. }
                    | StepStatus::Skipped { .. } => Pending::Retry { question: None },
                };
                let of = Judged::Attempt(history.attempts);
                StepStatus::Judging { of, changed: Vec::new(), otherwise, fault: None }
            }
            AskAnswer::Confirm => StepStatus::Passed { by: PassedBy::Person },
            AskAnswer::Skip { reason } => StepStatus::Skipped { by: by.to_owned(), reason: reason.clone() },
            AskAnswer::Stop | AskAnswer::Revise { .. } => (**before).clone(),
            AskAnswer::Budget { .. } => unreachable!("{answer:?} fits no question about a step"),
        };
    }

    /// What a contract has passed, or had, once the run was over.
    const fn proven_by(&self) -> Option<Judged> {
        match self.status {
            StepStatus::Passed { by: PassedBy::Contract(of) }
            | StepStatus::Pending(Pending::Lapsed { of }) => Some(of),
            StepStatus::Passed { by: PassedBy::Person }
            | StepStatus::Pending(_)
            | StepStatus::Running { .. }
            | StepStatus::Judging { .. }
            | StepStatus::Waiting { .. }
            | StepStatus::Skipped { .. } => None,
        }
    }

    pub(super) const fn can_prove_again(&self) -> bool {
        self.proven_by().is_some()
    }

    /// | status | event | becomes |
    /// |---|---|---|
    /// | passed by its contract, lapsed | run.rechecked, passed | passed |
    /// | passed by its contract, lapsed | run.rechecked, failed | lapsed |
    pub(super) fn prove_again(&mut self, receipt: &Receipt) {
        let Some(of) = self.proven_by() else { return };
        if self.status.is_lapsed() {
            self.history.failed.pop();
        }
        if let Some(proof) = self.history.proof.as_mut().filter(|_| receipt.verdict.is_passed()) {
            proof.tree.clone_from(&receipt.tree);
        }
        self.status = match receipt.verdict.failure() {
            None => StepStatus::Passed { by: PassedBy::Contract(of) },
            Some(failure) => {
                self.history.failed.push(FailedAttempt {
                    attempt: of.number().unwrap_or(self.history.attempts),
                    failure: failure.clone(),
                    output: Some(receipt.output.clone()),
                    changed: Vec::new(),
                    regression: None,
                });
                StepStatus::Pending(Pending::Lapsed { of })
            }
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
            Self::Faulted { .. } => "an error of the machine while something is being judged",
            Self::Judged { .. } => "the contract of what is being judged",
        }
    }

    /// What it cost: the attempt, or the opinion about it.
    pub(super) fn usage(&self) -> Usage {
        match self {
            Self::Started(_) | Self::Faulted { .. } => Usage::default(),
            Self::Finished(AttemptFinish { usage, .. }) => *usage,
            Self::Judged { receipt: Receipt { opinion, .. }, .. } => {
                opinion.as_ref().map(|opinion| opinion.usage).unwrap_or_default()
            }
        }
    }
}
