//! The record of a plan's steps, as far as running contracts again needs it: which receipt a step has, and
//! which attempt changed which files when.

use std::collections::BTreeMap;

use crate::run::event::{AskAnswer, AskEvent, Event, Judged, RecordedVerdict, RunEvent, StepEvent};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RerunHistory {
    /// By step id.
    pub steps: BTreeMap<String, Recorded>,
    /// Attempts that changed files, in the order of their ends.
    pub work: Vec<RecordedWork>,
    /// The trees that receipts are for, in order: position, step and tree. Omits receipts without a tree.
    pub trees: Vec<(u64, String, String)>,
    /// The approved digest; empty if nothing is recorded.
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Recorded {
    /// Nothing that shows it is done.
    #[default]
    Nothing,
    Passed(Proof),
    Confirmed {
        by: String,
    },
    Skipped {
        by: String,
        reason: String,
    },
}

/// The receipt of a contract that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    pub step: String,
    pub attempt: u32,
    pub contract: String,
    /// The exit code that meant done; `None` if not recorded.
    pub expect: Option<u8>,
    /// The tree that was judged; empty if not recorded.
    pub tree: String,
    /// The position of the receipt in the journal.
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
}

/// An attempt that changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedWork {
    pub step: String,
    pub attempt: u32,
    /// The position of its end in the journal.
    pub seq: u64,
    /// In milliseconds since 1970.
    pub began_ms: u64,
    pub ended_ms: u64,
    pub changed: Vec<String>,
    /// The plan it belongs to, if that is another one.
    pub plan: Option<String>,
}

impl Recorded {
    pub const fn proof(&self) -> Option<&Proof> {
        match self {
            Self::Passed(proof) => Some(proof),
            Self::Nothing | Self::Confirmed { .. } | Self::Skipped { .. } => None,
        }
    }

    pub const fn is_confirmed(&self) -> bool {
        match self {
            Self::Confirmed { .. } => true,
            Self::Nothing | Self::Passed(_) | Self::Skipped { .. } => false,
        }
    }
}

impl RecordedWork {
    /// Whether it ended after a receipt was recorded. Positions restart with each run, so across runs only
    /// the clock can tell.
    pub fn is_after(&self, proof: &Proof) -> bool {
        match self.plan {
            None => self.seq > proof.seq,
            Some(_) => self.ended_ms > proof.at_ms,
        }
    }
}

impl RerunHistory {
    /// Reads the journal of a run: position, time and event, in order.
    pub fn of<'a>(events: impl IntoIterator<Item = (u64, u64, &'a Event)>) -> Self {
        let mut history = Self::default();
        let mut begun: BTreeMap<(&str, u32), u64> = BTreeMap::new();
        let mut asked: BTreeMap<&str, &str> = BTreeMap::new();
        for (seq, at_ms, event) in events {
            match event {
                Event::Run(RunEvent::Started(start)) => history.digest.clone_from(&start.digest),
                Event::Step { step, event: StepEvent::Started(start) } => {
                    begun.insert((step, start.attempt), at_ms);
                }
                Event::Step { step, event: StepEvent::Finished(finish) } => history.work.push(RecordedWork {
                    step: step.clone(),
                    attempt: finish.attempt,
                    seq,
                    began_ms: begun.get(&(step.as_str(), finish.attempt)).copied().unwrap_or(at_ms),
                    ended_ms: at_ms,
                    changed: finish.changed.clone(),
                    plan: None,
                }),
                Event::Step { event: StepEvent::Judged { .. }, .. }
                | Event::Run(RunEvent::Rechecked { .. }) => {
                    for verdict in event.verdicts() {
                        history.judged(verdict, (seq, at_ms));
                    }
                }
                Event::Ask { ask, event: AskEvent::Opened { step, .. } } => {
                    asked.extend(step.as_deref().map(|step| (ask.as_str(), step)));
                }
                Event::Ask { ask, event: AskEvent::Answered { answer, by } } => {
                    if let Some(step) = asked.get(ask.as_str()) {
                        history.answered(step, answer, by);
                    }
                }
                Event::Run(RunEvent::Reopened { steps, .. }) => {
                    history.steps.extend(steps.iter().map(|step| (step.clone(), Recorded::Nothing)));
                }
                Event::Run(
                    RunEvent::AgentsApproved(_)
                    | RunEvent::BudgetWarned { .. }
                    | RunEvent::Stopped { .. }
                    | RunEvent::Resumed { .. }
                    | RunEvent::Closing { .. }
                    | RunEvent::Finished { .. },
                )
                // A machine that failed has proven nothing and refuted nothing.
                | Event::Step { event: StepEvent::Faulted { .. }, .. } => {}
            }
        }
        history.work.retain(|work| !work.changed.is_empty());
        history
    }

    /// Adds the attempts of another plan in the same workspace, which can break things, too.
    pub fn beside(&mut self, plan: &str, other: Self) {
        let others = other.work.into_iter().map(|work| RecordedWork { plan: Some(plan.to_owned()), ..work });
        self.work.extend(others);
        self.work.sort_by_key(|work| work.ended_ms);
    }

    pub fn step(&self, id: &str) -> &Recorded {
        self.steps.get(id).unwrap_or(&Recorded::Nothing)
    }

    fn judged(
        &mut self,
        RecordedVerdict { step, of, receipt }: RecordedVerdict<'_>,
        (seq, at_ms): (u64, u64),
    ) {
        if !receipt.tree.is_empty() {
            self.trees.push((seq, step.to_owned(), receipt.tree.clone()));
        }
        let before = self.steps.get(step);
        let attempt = match (of.and_then(Judged::number), before) {
            (Some(attempt), _) => attempt,
            // The same work, looked at again.
            (None, Some(Recorded::Passed(before))) => before.attempt,
            (None, _) => 0,
        };
        let proof = Proof {
            step: step.to_owned(),
            attempt,
            contract: receipt.contract.clone(),
            expect: receipt.expect,
            tree: receipt.tree.clone(),
            seq,
            at_ms,
        };
        // A later failure supersedes an earlier pass.
        let recorded = match receipt.verdict.is_passed() {
            true => Recorded::Passed(proof),
            false => Recorded::Nothing,
        };
        self.steps.insert(step.to_owned(), recorded);
    }

    fn answered(&mut self, step: &str, answer: &AskAnswer, by: &str) {
        let recorded = match answer {
            AskAnswer::Confirm => Recorded::Confirmed { by: by.to_owned() },
            AskAnswer::Skip { reason } => Recorded::Skipped { by: by.to_owned(), reason: reason.clone() },
            AskAnswer::Retry { .. }
            | AskAnswer::RetryStep { .. }
            | AskAnswer::TakeOver
            | AskAnswer::Stop
            | AskAnswer::Revise { .. }
            | AskAnswer::Budget { .. } => return,
        };
        self.steps.insert(step.to_owned(), recorded);
    }
}
