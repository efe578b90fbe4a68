//! The time that runs spent waiting for a person.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::median;
use crate::run::event::{AskEvent, AttemptEnd, Event, RunEvent, StepEvent};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct WaitTime {
    /// The total duration of runs.
    pub run_ms: u64,
    /// The part of it with an open question and nothing running.
    pub waiting_ms: u64,
    /// The same as a percentage; `None` if no time passed.
    pub percent: Option<u64>,
    pub answered: usize,
    /// The median time to an answer; `None` without answers.
    pub median_ms: Option<u64>,
    pub open: usize,
}

#[derive(Debug, Default)]
pub(super) struct Waits {
    run_ms: u64,
    waiting_ms: u64,
    answers_ms: Vec<u64>,
    open: usize,
}

impl Waits {
    /// Counts the part of a run between two times.
    pub(super) fn count(&mut self, events: &[(u64, Event)], (since_ms, now_ms): (u64, u64)) {
        let mut asks: Vec<(&str, u64)> = Vec::new();
        let mut under_way: BTreeSet<(&str, u32)> = BTreeSet::new();
        let mut is_over = false;
        let mut before = events.first().map_or(0, |(at_ms, _)| *at_ms);
        for (at_ms, event) in events {
            self.pass((before, *at_ms), since_ms, &asks, &under_way);
            before = *at_ms;
            match event {
                Event::Ask { ask, event: AskEvent::Opened { .. } } => asks.push((ask, *at_ms)),
                Event::Ask { ask, event: AskEvent::Answered { .. } } => {
                    if let Some(place) = asks.iter().position(|(open, _)| open == ask) {
                        let (_, opened_ms) = asks.remove(place);
                        let is_counted = *at_ms >= since_ms;
                        self.answers_ms.extend(is_counted.then(|| at_ms.saturating_sub(opened_ms)));
                    }
                }
                Event::Step { step, event } => match event {
                    StepEvent::Started(start) => drop(under_way.insert((step.as_str(), start.attempt))),
                    // A finished attempt is judged immediately; the time of the contract isn't waiting either.
                    StepEvent::Finished(finish)
                        if matches!(finish.end, AttemptEnd::Exited(_) | AttemptEnd::Signalled(_)) => {}
                    StepEvent::Finished(_) | StepEvent::Faulted { .. } | StepEvent::Judged { .. } => {
                        under_way.remove(&(step.as_str(), event.of().number().unwrap_or_default()));
                    }
                },
                Event::Run(RunEvent::Finished { .. }) => is_over = true,
                Event::Run(_) => {}
            }
        }
        if !is_over {
            self.open += asks.len();
            // A run without a process and without a question takes no time.
            if !asks.is_empty() {
                self.pass((before, now_ms), since_ms, &asks, &under_way);
            }
        }
    }

    fn pass(
        &mut self,
        (from, to): (u64, u64),
        since_ms: u64,
        asks: &[(&str, u64)],
        busy: &BTreeSet<(&str, u32)>,
    ) {
        let passed = to.saturating_sub(from.max(since_ms));
        self.run_ms += passed;
        if !asks.is_empty() && busy.is_empty() {
            self.waiting_ms += passed;
        }
    }

    pub(super) fn figures(self) -> WaitTime {
        WaitTime {
            run_ms: self.run_ms,
            waiting_ms: self.waiting_ms,
            percent: (self.run_ms > 0).then(|| self.waiting_ms.saturating_mul(100) / self.run_ms),
            answered: self.answers_ms.len(),
            median_ms: median(self.answers_ms),
            open: self.open,
        }
    }
}
