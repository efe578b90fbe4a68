//! A run as it is watched: the state of every step, and what happens to it. Decides nothing.

use std::collections::BTreeSet;

use planwright_core::agent::account::Usage;
use planwright_core::plan::verified::{Plan, Step};
use planwright_core::run::event::{AskEvent, Event, Judged, StepEvent};
use planwright_core::run::state::{RunState, StepState, StepStatus};

use crate::api::log::step_of_event;
use crate::run::Run;
use crate::system::clock::now;

/// A recorded event, and the state of its step now. The whole state would be too much to hand over: a plan may
/// have thousands of steps.
pub struct LiveEvent {
    pub event: Event,
    /// The step that it is about, as a place in the plan.
    pub step: Option<(usize, StepState)>,
    pub spent: Usage,
}

impl LiveEvent {
    pub fn of(state: &RunState, event: &Event) -> Self {
        let place = step_of_event(event).and_then(|step| state.place(step));
        let step = place.map(|place| (place, state.steps[place].clone()));
        Self { event: event.clone(), step, spent: state.spent }
    }
}

pub struct LiveRun<'a> {
    pub run: &'a Run,
    pub rows: Vec<LiveStep>,
    pub spent: Usage,
    /// When we began to watch, in milliseconds since 1970.
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
    /// When the first attempt began, in milliseconds since 1970.
    pub began_ms: Option<u64>,
    /// When it came to rest.
    pub ended_ms: Option<u64>,
}

impl<'a> LiveRun<'a> {
    /// The state of the run before watching starts.
    pub fn new(run: &'a Run, steps: Option<BTreeSet<usize>>) -> Self {
        let row = |state: &StepState| LiveStep {
            state: state.clone(),
            agent: String::new(),
            began_ms: None,
            ended_ms: None,
        };
        let rows = run.state.steps.iter().map(row).collect();
        let spent = run.state.spent;
        let mut live = Self { run, rows, spent, began_ms: now(), steps, retried: 0 };
        for recorded in &run.events {
            if let Some(place) = recorded.event.step().and_then(|step| run.state.place(step)) {
                live.rows[place].note(&recorded.event, recorded.at_ms);
            }
        }
        live
    }

    /// Takes up what happened.
    pub fn take(&mut self, news: &LiveEvent, now_ms: u64) {
        self.spent = news.spent;
        let Some((place, state)) = &news.step else { return };
        let row = &mut self.rows[*place];
        row.state = state.clone();
        row.note(&news.event, now_ms);
        if let Event::Step { event: StepEvent::Judged { of, receipt }, .. } = &news.event {
            self.retried += usize::from(receipt.verdict.is_passed() && *of > Judged::Attempt(1));
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
    pub fn attempts_max(&self, place: usize) -> u32 {
        let granted = self.rows[place].state.history.granted;
        self.step(place).on_fail.retries.saturating_add(granted).saturating_add(1)
    }

    /// Whether a failed attempt at the step is followed by another.
    pub fn is_tried_again(&self, place: usize) -> bool {
        self.rows[place].state.history.failures() < self.attempts_max(place)
    }
}

impl LiveStep {
    fn note(&mut self, event: &Event, at_ms: u64) {
        match event {
            Event::Step { event: StepEvent::Started(start), .. } => {
                self.agent.clone_from(&start.agent);
                self.began_ms.get_or_insert(at_ms);
                self.ended_ms = None;
            }
            Event::Step { event: StepEvent::Judged { .. }, .. }
            | Event::Ask { event: AskEvent::Opened { .. }, .. } => self.ended_ms = Some(at_ms),
            Event::Step { event: StepEvent::Finished(_), .. }
            | Event::Ask { event: AskEvent::Answered { .. }, .. }
            | Event::Run(_) => {}
        }
    }
}
