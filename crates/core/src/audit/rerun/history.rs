//! What is recorded of the steps of a plan, as far as running contracts again needs it: which receipt a step has, and who
//! changed which files when.

use std::collections::BTreeMap;

use crate::run::event::{Answer, Event};

/// What is recorded of the steps of one plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// What is recorded of each step, by its id.
    pub steps: BTreeMap<String, Recorded>,
    /// Attempts that changed files, in the order in which they ended.
    pub work: Vec<Work>,
    /// The content that receipts are about, in the order of the receipts: place, step and tree. Those without are left out.
    pub trees: Vec<(u64, String, String)>,
    /// The digest that was approved; empty where nothing is recorded.
    pub digest: String,
}

/// What is recorded of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Recorded {
    /// Nothing that says it is done.
    #[default]
    Nothing,
    /// A receipt says that its contract passed.
    Passed(Proof),
    /// A person confirmed it.
    Confirmed { by: String },
    /// A person left it out.
    Skipped { by: String, reason: String },
}

/// The receipt of a contract that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    pub step: String,
    /// The attempt that was judged.
    pub attempt: u32,
    /// The hash of the contract.
    pub contract: String,
    /// The exit code that meant done; `None` where it was not recorded.
    pub expect: Option<u8>,
    /// What was judged; empty where it was not recorded.
    pub tree: String,
    /// The place of the receipt in the journal.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: u64,
}

/// An attempt that changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub step: String,
    pub attempt: u32,
    /// The place of its end in the journal.
    pub seq: u64,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    pub ended_ms: u64,
    pub changed: Vec<String>,
    /// The plan that it was made for, where that is another one.
    pub plan: Option<String>,
}

impl Recorded {
    /// The receipt, if there is one.
    pub const fn proof(&self) -> Option<&Proof> {
        match self {
            Self::Passed(proof) => Some(proof),
            Self::Nothing | Self::Confirmed { .. } | Self::Skipped { .. } => None,
        }
    }

    /// Whether a person confirmed the step.
    pub const fn is_confirmed(&self) -> bool {
        match self {
            Self::Confirmed { .. } => true,
            Self::Nothing | Self::Passed(_) | Self::Skipped { .. } => false,
        }
    }
}

impl Work {
    /// Whether it ended after a receipt was made. Another run counts from one, so there only the clock can tell.
    pub fn is_after(&self, proof: &Proof) -> bool {
        match self.plan {
            None => self.seq > proof.seq,
            Some(_) => self.ended_ms > proof.at_ms,
        }
    }
}

impl History {
    /// What the journal of a run says: place, time and event, in their order.
    pub fn of<'a>(events: impl IntoIterator<Item = (u64, u64, &'a Event)>) -> Self {
        let mut history = Self::default();
        let mut begun: BTreeMap<(&str, u32), u64> = BTreeMap::new();
        let mut asked: BTreeMap<&str, &str> = BTreeMap::new();
        for (seq, at_ms, event) in events {
            match event {
                Event::RunStarted { digest, .. } => history.digest.clone_from(digest),
                Event::AttemptStarted { step, attempt, .. } => {
                    begun.insert((step, *attempt), at_ms);
                }
                Event::AttemptFinished { step, attempt, changed, .. } => history.work.push(Work {
                    step: step.clone(),
                    attempt: *attempt,
                    seq,
                    began_ms: begun.get(&(step.as_str(), *attempt)).copied().unwrap_or(at_ms),
                    ended_ms: at_ms,
                    changed: changed.clone(),
                    plan: None,
                }),
                Event::ContractFinished { step, attempt, receipt } => {
                    if !receipt.tree.is_empty() {
                        history.trees.push((seq, step.clone(), receipt.tree.clone()));
                    }
                    let proof = Proof {
                        step: step.clone(),
                        attempt: *attempt,
                        contract: receipt.contract.clone(),
                        expect: receipt.expect,
                        tree: receipt.tree.clone(),
                        seq,
                        at_ms,
                    };
                    // A later no takes an earlier yes back.
                    let recorded = match receipt.verdict.is_passed() {
                        true => Recorded::Passed(proof),
                        false => Recorded::Nothing,
                    };
                    history.steps.insert(step.clone(), recorded);
                }
                Event::AskOpened { ask, step: Some(step), .. } => {
                    asked.insert(ask, step);
                }
                Event::AskAnswered { ask, answer, by } => {
                    if let Some(step) = asked.get(ask.as_str()) {
                        history.answered(step, answer, by);
                    }
                }
                Event::StepsReopened { steps, .. } => {
                    history.steps.extend(steps.iter().map(|step| (step.clone(), Recorded::Nothing)));
                }
                Event::AskOpened { step: None, .. }
                | Event::AgentsApproved { .. }
                | Event::BudgetWarned { .. }
                | Event::RunStopped { .. }
                | Event::RunResumed { .. }
                | Event::RunFinished { .. } => {}
            }
        }
        history.work.retain(|work| !work.changed.is_empty());
        history
    }

    /// Adds what was done for another plan in the same workspace: that breaks things, too.
    pub fn beside(&mut self, plan: &str, other: Self) {
        let others = other.work.into_iter().map(|work| Work { plan: Some(plan.to_owned()), ..work });
        self.work.extend(others);
        self.work.sort_by_key(|work| work.ended_ms);
    }

    /// What is recorded of a step.
    pub fn step(&self, id: &str) -> &Recorded {
        self.steps.get(id).unwrap_or(&Recorded::Nothing)
    }

    fn answered(&mut self, step: &str, answer: &Answer, by: &str) {
        let recorded = match answer {
            Answer::Confirm => Recorded::Confirmed { by: by.to_owned() },
            Answer::Skip { reason } => Recorded::Skipped { by: by.to_owned(), reason: reason.clone() },
            Answer::Retry { .. }
            | Answer::TakeOver
            | Answer::Stop
            | Answer::Revise { .. }
            | Answer::Budget { .. } => return,
        };
        self.steps.insert(step.to_owned(), recorded);
    }
}
