//! A summary of a run, small enough to store next to its journal, for lists of many runs. Derived from the
//! fold of the journal, without rules of its own; no decision is ever based on it.

use serde::{Deserialize, Serialize};

use crate::agent::account::Usage;
use crate::agent::work_item::WorkKind;
use crate::plan::verified::{Contract, Plan};
use crate::run::event::{Judged, JudgedBy, RunOutcome};
use crate::run::state::{Phase, RunState, StepStatus};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    pub phase: SummaryPhase,
    /// One letter per step, in plan order: see [`RunSummary::statuses`].
    pub steps: String,
    /// Running attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<ActiveAttempt>,
    /// Open questions, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<OpenAsk>,
    pub spent: Usage,
    /// Who paused it, if it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    #[serde(default, skip_serializing_if = "is_none")]
    pub findings: usize,
}

/// The phase of a run, as far as lists need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SummaryPhase {
    New,
    Running,
    Stopped,
    Finished(RunOutcome),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// A running attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveAttempt {
    pub number: u32,
    pub step: String,
    pub attempt: u32,
    pub kind: WorkKind,
}

/// An open question. Its text is in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAsk {
    pub ask: String,
    /// Whether the step is manual, so that only a person can confirm it.
    pub is_manual: bool,
}

/// The letters of [`RunSummary::steps`] and the words that people see.
const LETTERS: &[(char, &str)] = &[
    ('o', "pending"),
    ('r', "running"),
    // A mark in the file claims that the step is done; this is not verified yet.
    ('c', "judging"),
    ('j', "judging"),
    ('p', "passed"),
    ('w', "waiting"),
    ('s', "skipped"),
];

const fn letter(status: &StepStatus) -> char {
    match status {
        StepStatus::Pending(_) => 'o',
        StepStatus::Running { .. } => 'r',
        StepStatus::Judging { of: Judged::Claim, .. } => 'c',
        StepStatus::Judging { of: Judged::Attempt(_) | Judged::Closing(_), .. } => 'j',
        StepStatus::Passed { .. } => 'p',
        StepStatus::Waiting { .. } => 'w',
        StepStatus::Skipped { .. } => 's',
    }
}

impl RunSummary {
    /// Who settles what an open question is about.
    pub fn judged_by(&self, ask: &str) -> JudgedBy {
        let is_manual = self.asks.iter().any(|open| open.ask == ask && open.is_manual);
        if is_manual { JudgedBy::Person } else { JudgedBy::Contract }
    }

    pub fn of(plan: &Plan, state: &RunState) -> Self {
        let steps = || plan.steps.iter().zip(&state.steps);
        let attempts = steps().filter_map(|(step, now)| match now.status {
            StepStatus::Running { attempt } => Some(ActiveAttempt {
                number: step.number,
                step: step.id.clone(),
                attempt,
                kind: WorkKind::of(&step.target),
            }),
            StepStatus::Pending(_)
            | StepStatus::Judging { .. }
            | StepStatus::Passed { .. }
            | StepStatus::Waiting { .. }
            | StepStatus::Skipped { .. } => None,
        });
        let is_manual = |place: usize| plan.steps[place].contract == Contract::Manual;
        let asks = state
            .asks
            .iter()
            .map(|(name, ask)| OpenAsk { ask: name.clone(), is_manual: ask.step.is_some_and(is_manual) });
        let (phase, stopped_by) = match &state.phase {
            Phase::New => (SummaryPhase::New, None),
            Phase::Running => (SummaryPhase::Running, None),
            Phase::Stopped { by, .. } => (SummaryPhase::Stopped, Some(by.clone())),
            Phase::Finished { outcome, .. } => (SummaryPhase::Finished(*outcome), None),
        };
        Self {
            phase,
            steps: state.steps.iter().map(|step| letter(&step.status)).collect(),
            attempts: attempts.collect(),
            asks: asks.collect(),
            spent: state.spent,
            stopped_by,
            findings: state.findings().count(),
        }
    }

    /// `None` if the run isn't finished.
    pub const fn outcome(&self) -> Option<RunOutcome> {
        match self.phase {
            SummaryPhase::Finished(outcome) => Some(outcome),
            SummaryPhase::New | SummaryPhase::Running | SummaryPhase::Stopped => None,
        }
    }

    /// The status of every step, in plan order, as people see it.
    pub fn statuses(&self) -> impl Iterator<Item = &'static str> {
        let word =
            |letter| LETTERS.iter().find(|(known, _)| *known == letter).map_or("pending", |(_, word)| word);
        self.steps.chars().map(word)
    }

    /// How many steps are done.
    pub fn settled(&self) -> usize {
        self.steps.chars().filter(|letter| matches!(letter, 'p' | 's')).count()
    }

    /// How many steps are proven: a contract passed, or a person confirmed them.
    pub fn passed(&self) -> usize {
        self.steps.chars().filter(|letter| *letter == 'p').count()
    }

    /// Whether a contract is running.
    pub fn is_judging(&self) -> bool {
        self.steps.contains('j')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::state::{PassedBy, Pending};

    // Only statuses of the fold are shown: there must be no letter without a status.
    #[test]
    fn a_letter_is_the_word_of_its_status() {
        let judging =
            |of| StepStatus::Judging { of, changed: Vec::new(), otherwise: Pending::Fresh, fault: None };
        let statuses = [
            StepStatus::Pending(Pending::Fresh),
            StepStatus::Running { attempt: 1 },
            judging(Judged::Claim),
            judging(Judged::Attempt(1)),
            StepStatus::Passed { by: PassedBy::Person },
            StepStatus::Waiting {
                ask: "a/1".to_owned(),
                before: Box::new(StepStatus::Pending(Pending::Fresh)),
            },
            StepStatus::Skipped { by: "ada".to_owned(), reason: "no".to_owned() },
        ];
        assert_eq!(statuses.len(), LETTERS.len());
        for (status, (known, word)) in statuses.iter().zip(LETTERS) {
            assert_eq!((letter(status), status.word()), (*known, *word));
            assert_eq!(matches!(known, 'p' | 's'), status.is_settled(), "{word}");
        }
    }
}
