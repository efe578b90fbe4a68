//! State of every step of a watched run. Receives events from the process that runs it; decides nothing.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use planwright_engine::core::agent::account::Usage;
use planwright_engine::core::plan::verified::{Plan, Step};
use planwright_engine::core::run::event::{AskEvent, Event, Judged, StepEvent};
use planwright_engine::core::run::state::{RunState, StepState, StepStatus};
use planwright_engine::run::Run;

/// A recorded event, and the state of its step now. The whole state would be too much to hand over: a plan may
/// have thousands of steps.
pub(super) struct News {
    pub(super) event: Event,
    /// The step that it is about, as a place in the plan.
    pub(super) step: Option<(usize, StepState)>,
    pub(super) spent: Usage,
}

impl News {
    pub(super) fn of(state: &RunState, event: &Event) -> Self {
        let place = match event {
            // A question that was answered is gone from the state; its name says which step it was about.
            Event::Ask { ask, event: AskEvent::Answered { .. } } => {
                ask.rsplit_once('/').and_then(|(step, _)| state.place(step))
            }
            Event::Ask { event: AskEvent::Opened { .. }, .. } | Event::Run(_) | Event::Step { .. } => {
                event.step().and_then(|step| state.place(step))
            }
        };
        let step = place.map(|place| (place, state.steps[place].clone()));
        Self { event: event.clone(), step, spent: state.spent }
    }
}

/// The state of every step.
pub(super) struct Board<'a> {
    pub(super) run: &'a Run,
    pub(super) rows: Vec<Row>,
    pub(super) spent: Usage,
    /// When we began to watch, in milliseconds since 1970.
    pub(super) began_ms: u64,
    /// Steps that may start; `None`: all.
    pub(super) steps: Option<BTreeSet<usize>>,
    /// Steps that passed on an attempt after the first, while we watched.
    pub(super) retried: usize,
}

/// The state of one step.
pub(super) struct Row {
    pub(super) state: StepState,
    /// Who made the last attempt.
    pub(super) agent: String,
    /// When the first attempt began, in milliseconds since 1970.
    pub(super) began_ms: Option<u64>,
    /// When it came to rest.
    pub(super) ended_ms: Option<u64>,
}

impl<'a> Board<'a> {
    /// The state of the run before watching starts.
    pub(super) fn new(run: &'a Run, steps: Option<BTreeSet<usize>>) -> Self {
        let row = |state: &StepState| Row {
            state: state.clone(),
            agent: String::new(),
            began_ms: None,
            ended_ms: None,
        };
        let rows = run.state.steps.iter().map(row).collect();
        let spent = run.state.spent;
        let mut board = Self { run, rows, spent, began_ms: now_ms(), steps, retried: 0 };
        for recorded in &run.events {
            if let Some(place) = recorded.event.step().and_then(|step| run.state.place(step)) {
                board.rows[place].note(&recorded.event, recorded.at_ms);
            }
        }
        board
    }

    /// Takes up what happened.
    pub(super) fn take(&mut self, news: &News, now_ms: u64) {
        self.spent = news.spent;
        let Some((place, state)) = &news.step else { return };
        let row = &mut self.rows[*place];
        row.state = state.clone();
        row.note(&news.event, now_ms);
        if let Event::Step { event: StepEvent::Judged { of, receipt }, .. } = &news.event {
            self.retried += usize::from(receipt.verdict.is_passed() && *of > Judged::Attempt(1));
        }
    }

    pub(super) fn plan(&self) -> &'a Plan {
        &self.run.plan
    }

    pub(super) fn step(&self, place: usize) -> &'a Step {
        &self.run.plan.steps[place]
    }

    /// Whether the options allow the step to start.
    pub(super) fn allows(&self, place: usize) -> bool {
        self.steps.as_ref().is_none_or(|steps| steps.contains(&place))
    }

    /// Number of running attempts.
    pub(super) fn under_way(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.state.status, StepStatus::Running { .. })).count()
    }

    /// How many attempts a step may have.
    pub(super) fn attempts_max(&self, place: usize) -> u32 {
        self.step(place)
            .on_fail
            .retries
            .saturating_add(self.rows[place].state.history.granted)
            .saturating_add(1)
    }

    /// Whether a failed attempt at the step is followed by another.
    pub(super) fn is_tried_again(&self, place: usize) -> bool {
        self.rows[place].state.history.failures() < self.attempts_max(place)
    }
}

impl Row {
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

/// The time, in milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
