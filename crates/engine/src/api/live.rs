//! A run as it is watched: the state of every step, and what happens to it. Decides nothing.

use std::collections::BTreeSet;

use planwright_core::agent::account::Usage;
use planwright_core::plan::verified::{Plan, Step};
use planwright_core::run::event::{AskEvent, Event, Judged, StepEvent};
use planwright_core::run::schedule::{ScheduleLimits, ask_reason};
use planwright_core::run::state::{RunState, StepState, StepStatus};

use crate::api::log::step_of_event;
use crate::api::target::PlanRun;
use crate::run::Run;
use crate::system::clock::now;

/// A recorded event, and the state of its step now. The whole state would be too much to hand over: a plan may
/// have thousands of steps.
pub struct LiveEvent {
    pub event: Event,
    /// The step that it is about, as a place in the plan.
    pub step: Option<(usize, StepState)>,
    pub spent: Usage,
    broken_rounds: u32,
}

impl LiveEvent {
    pub fn of(state: &RunState, event: &Event) -> Self {
        let place = step_of_event(event).and_then(|step| state.place(step));
        let step = place.map(|place| (place, state.steps[place].clone()));
        Self { event: event.clone(), step, spent: state.spent, broken_rounds: state.closing.broken_rounds() }
    }
}

pub struct LiveRun<'a> {
    pub run: &'a Run,
    limits: ScheduleLimits,
    broken_rounds: u32,
    pub rows: Vec<LiveStep>,
    pub spent: Usage,
    /// When watching started, in milliseconds since 1970.
    pub began_ms: u64,
    /// Steps that may start; `None`: all.
    pub steps: Option<BTreeSet<usize>>,
    /// Steps that passed on an attempt after the first, while we watched.
    pub retried: usize,
}

pub struct LiveStep {
    pub state: StepState,
    /// Who made the last attempt.
    pub agent: String,
    /// When the first attempt started, in milliseconds since 1970.
    pub began_ms: Option<u64>,
    /// When the last attempt started.
    pub dispatched_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: Option<u64>,
}

impl PlanRun {
    /// The run before watching starts; `steps` may start.
    pub fn live(&self, steps: Option<BTreeSet<usize>>) -> LiveRun<'_> {
        LiveRun::new(&self.run, self.runs.limits(), steps)
    }
}

impl<'a> LiveRun<'a> {
    /// The state of the run before watching starts.
    fn new(run: &'a Run, limits: ScheduleLimits, steps: Option<BTreeSet<usize>>) -> Self {
        let row = |state: &StepState| LiveStep {
            state: state.clone(),
            agent: String::new(),
            began_ms: None,
            dispatched_ms: None,
            ended_ms: None,
        };
        let rows = run.state.steps.iter().map(row).collect();
        let spent = run.state.spent;
        let broken_rounds = run.state.closing.broken_rounds();
        let mut live = Self { run, limits, broken_rounds, rows, spent, began_ms: now(), steps, retried: 0 };
        for recorded in &run.events {
            if let Some(place) = recorded.event.step().and_then(|step| run.state.place(step)) {
                live.rows[place].note(&recorded.event, recorded.at_ms);
            }
        }
        live
    }

    /// Applies an event.
    pub fn take(&mut self, news: &LiveEvent, now_ms: u64) {
        self.spent = news.spent;
        self.broken_rounds = news.broken_rounds;
        let Some((place, state)) = &news.step else { return };
        let row = &mut self.rows[*place];
        row.state = state.clone();
        row.note(&news.event, now_ms);
        if let Event::Step { event: StepEvent::Judged { of, receipt, .. }, .. } = &news.event {
            let is_retry = matches!(of, Judged::Attempt(2..));
            self.retried += usize::from(receipt.verdict.is_passed() && is_retry);
        }
    }

    pub fn plan(&self) -> &'a Plan {
        &self.run.plan
    }

    pub fn step(&self, place: usize) -> &'a Step {
        &self.run.plan.steps[place]
    }

    /// Whether the options allow the step to start.
    pub fn allows(&self, place: usize) -> bool {
        self.steps.as_ref().is_none_or(|steps| steps.contains(&place))
    }

    /// Number of running attempts.
    pub fn under_way(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.state.status, StepStatus::Running { .. })).count()
    }

    /// How many attempts a step may have.
    fn attempts_max(&self, place: usize) -> u32 {
        let granted = self.rows[place].state.history.granted;
        self.step(place).on_fail.retries.saturating_add(granted).saturating_add(1)
    }

    /// The number of the last attempt that the step may have, seen from this one: those before it that did not count, because
    /// the agent was unavailable or they were interrupted, are made up for.
    pub fn last_attempt(&self, place: usize, attempt: u32) -> u32 {
        let failed = &self.rows[place].state.history.failed;
        let counted = failed.iter().filter(|failed| failed.attempt < attempt).count();
        let uncounted = attempt.saturating_sub(1).saturating_sub(u32::try_from(counted).unwrap_or(u32::MAX));
        self.attempts_max(place).saturating_add(uncounted)
    }

    /// The time of a step's last attempt from its dispatch to its verdict, in milliseconds. `None` if nothing was dispatched.
    pub fn attempt_ms(&self, place: usize) -> Option<u64> {
        let row = &self.rows[place];
        Some(row.ended_ms?.saturating_sub(row.dispatched_ms?))
    }

    /// Whether a failed attempt at the step is followed by another, without a question first.
    pub fn is_tried_again(&self, place: usize) -> bool {
        let state = &self.rows[place].state;
        match state.status {
            StepStatus::Pending(_) => {
                ask_reason(self.step(place), state, &self.limits, self.broken_rounds).is_none()
            }
            StepStatus::Waiting { .. } | StepStatus::Skipped { .. } => false,
            // The state may be ahead of the event: the next attempt has started.
            StepStatus::Running { .. } | StepStatus::Judging { .. } | StepStatus::Passed { .. } => {
                state.history.failures() < self.attempts_max(place)
            }
        }
    }
}

impl LiveStep {
    fn note(&mut self, event: &Event, at_ms: u64) {
        match event {
            Event::Step { event: StepEvent::Started(start), .. } => {
                self.agent.clone_from(&start.agent);
                self.began_ms.get_or_insert(at_ms);
                self.dispatched_ms = Some(at_ms);
                self.ended_ms = None;
            }
            Event::Step { event: StepEvent::Judged { .. }, .. }
            | Event::Ask { event: AskEvent::Opened { .. }, .. } => self.ended_ms = Some(at_ms),
            Event::Step { event: StepEvent::Finished(_) | StepEvent::Faulted { .. }, .. }
            | Event::Ask { event: AskEvent::Answered { .. }, .. }
            | Event::Run(_) => {}
        }
    }
}
