//! The tripwire: a plan or step that failed too often in a row, over all runs, doesn't start again under an
//! earlier approval. Only a person's decision resets it.

use std::collections::BTreeMap;
use std::fmt;

use super::FAILURES_MAX;
use crate::approval::ledger::LedgerEntry;
use crate::approval::status::RecordedEntry;
use crate::plan::identity::Role;
use crate::run::event::{
    AskAnswer, AskEvent, AttemptEnd, AttemptFinish, Event, Judged, RunEvent, RunOutcome, StepEvent,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitBreaker {
    /// `None` if whole runs failed.
    pub step: Option<String>,
    /// Consecutive failures.
    pub failures: u32,
}

impl fmt::Display for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures = self.failures;
        match &self.step {
            Some(step) => write!(f, "step `{step}` failed {failures} times in a row"),
            None => write!(f, "it failed {failures} times in a row"),
        }
    }
}

/// Counts failures since a person's last decision. `events` are those of all runs of the plan, with their
/// times, oldest first. A passed step and a completed run reset the count.
pub fn tripped<'a>(
    ledger: &[RecordedEntry],
    events: impl IntoIterator<Item = (u64, &'a Event)>,
) -> Option<CircuitBreaker> {
    let is_word = |said: &&RecordedEntry| matches!(&said.entry, LedgerEntry::Approved { by, .. } if by.role == Role::Person);
    let last_word_ms = ledger.iter().filter(is_word).map(|said| said.at_ms).max();
    let mut steps: BTreeMap<&str, u32> = BTreeMap::new();
    let mut runs = 0;
    for (_, event) in events.into_iter().filter(|(at_ms, _)| last_word_ms.is_none_or(|word| *at_ms >= word)) {
        match event {
            Event::Step { step, event } => match event {
                StepEvent::Judged { receipt, .. } if receipt.verdict.is_passed() => {
                    steps.remove(step.as_str());
                }
                StepEvent::Judged { of: Judged::Attempt(_), .. }
                | StepEvent::Finished(AttemptFinish { end: AttemptEnd::TimedOut(_), .. }) => {
                    *steps.entry(step).or_default() += 1;
                }
                StepEvent::Judged { of: Judged::Claim | Judged::Closing(_), .. }
                | StepEvent::Started(_)
                | StepEvent::Finished(_)
                | StepEvent::Faulted { .. } => {}
            },
            Event::Ask { ask, event: AskEvent::Answered { answer, .. } } if *answer != AskAnswer::Stop => {
                steps.remove(ask.rsplit_once('/').map_or("", |(step, _)| step));
            }
            Event::Run(RunEvent::Reopened { steps: again, .. }) => {
                steps.retain(|step, _| !again.iter().any(|own| own == step));
            }
            Event::Run(RunEvent::Finished { outcome: RunOutcome::Failed, .. }) => runs += 1,
            Event::Run(RunEvent::Finished { outcome: RunOutcome::Done, .. }) => {
                steps.clear();
                runs = 0;
            }
            Event::Run(_) | Event::Ask { .. } => {}
        }
    }
    let worst = steps.into_iter().max_by_key(|(_, failures)| *failures);
    let worst = worst.map(|(step, failures)| CircuitBreaker { step: Some(step.to_owned()), failures });
    let whole = CircuitBreaker { step: None, failures: runs };
    worst.into_iter().chain([whole]).find(|trip| trip.failures >= FAILURES_MAX)
}
