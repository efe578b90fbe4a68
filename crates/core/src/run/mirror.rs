//! What a plan file shows about its run: marks, states, traces and notes. Never authoritative: [`crate::run::state`]
//! folds the journal, and nothing is ever read back from the file.

use std::collections::BTreeMap;

use crate::dialect::{Dialect, Happening};
use crate::plan::draft::{Draft, Mark, Trace};
use crate::plan::edit::Change;
use crate::plan::lifecycle;
use crate::plan::lifecycle::State;
use crate::plan::verified::Plan;
use crate::run::event::{Answer, Event, Outcome, Reason};
use crate::run::state::{RunState, Status};

/// Pending changes to the file.
#[derive(Debug, Default)]
pub struct Reflection {
    marks: BTreeMap<usize, Option<Mark>>,
    traces: BTreeMap<usize, Trace>,
    state: Option<State>,
    /// Open questions with their steps, because an answer only names its question.
    asks: BTreeMap<String, (Option<usize>, Reason)>,
}

/// An event with additional data.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub event: &'a Event,
    /// An RFC 3339 time.
    pub at: &'a str,
    /// The agent's output, for the end of an attempt.
    pub output: Option<&'a str>,
}

impl Reflection {
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.traces.is_empty() && self.state.is_none()
    }

    /// Collects the changes that follow from an event, and reports what is written beside the plan.
    pub fn see(&mut self, plan: &Plan, seen: Seen<'_>, tell: &mut dyn FnMut(&Happening<'_>)) {
        let place = seen.event.step().and_then(|id| plan.steps.iter().position(|step| step.id == id));
        let at = seen.at;
        match seen.event {
            Event::RunStarted { .. } | Event::RunResumed { .. } => self.reach(State::Running, at, tell),
            Event::StepsReopened { steps, by } => {
                for (place, _) in plan.steps.iter().enumerate().filter(|(_, step)| steps.contains(&step.id)) {
                    self.marks.insert(place, None);
                }
                let text = format!("rolled back by {by}: {}", steps.join(", "));
                tell(&Happening::Noted { text: &text, at });
            }
            Event::AttemptStarted { agent, .. } => {
                if let Some(step) = place {
                    self.marks.insert(step, Some(Mark::Running));
                    let trace = self.traces.entry(step).or_default();
                    trace.executed_by = Some(agent.clone());
                    trace.started_at = Some(at.to_owned());
                    trace.error = Some(String::new());
                }
            }
            Event::AttemptFinished { changed, .. } => {
                if let Some(step) = place {
                    let trace = self.traces.entry(step).or_default();
                    trace.output = seen.output.map(str::to_owned);
                    trace.affected_files = Some(changed.clone());
                }
            }
            Event::ContractFinished { receipt, .. } => {
                let failure = receipt.verdict.failure().map(ToString::to_string);
                if let Some(step) = place {
                    self.judged(step, failure.as_deref(), at);
                    let summary = failure.as_deref().unwrap_or("the contract passed");
                    tell(&Happening::Judged { step, passed: failure.is_none(), summary, at });
                }
            }
            Event::AskOpened { ask, reason, .. } => {
                self.asks.insert(ask.clone(), (place, *reason));
                if let (Some(step), Reason::AttemptsSpent | Reason::Lost) = (place, reason) {
                    self.marks.insert(step, Some(Mark::Failed));
                }
                self.reach(State::Waiting(waits_for(*reason)), at, tell);
            }
            Event::AskAnswered { ask, answer, by } => self.answered((ask, answer, by), at, tell),
            Event::RunFinished { outcome, .. } => {
                // A plan that was sent back to its author is a draft again, whatever its run's outcome.
                if self.state != Some(State::Draft) {
                    self.reach(ended(*outcome), at, tell);
                }
            }
            Event::AgentsApproved { .. } | Event::BudgetWarned { .. } | Event::RunStopped { .. } => {}
        }
    }

    fn reach(&mut self, state: State, at: &str, tell: &mut dyn FnMut(&Happening<'_>)) {
        self.state = Some(state);
        tell(&Happening::Became { state, at });
    }

    fn judged(&mut self, step: usize, failure: Option<&str>, at: &str) {
        self.marks.insert(step, failure.is_none().then_some(Mark::Done));
        let trace = self.traces.entry(step).or_default();
        match failure {
            None => trace.completed_at = Some(at.to_owned()),
            Some(failure) => trace.error = Some(failure.to_owned()),
        }
    }

    fn answered(
        &mut self,
        (ask, answer, by): (&str, &Answer, &str),
        at: &str,
        tell: &mut dyn FnMut(&Happening<'_>),
    ) {
        let step = self.asks.get(ask).and_then(|(step, _)| *step);
        match (answer, step) {
            (Answer::Confirm, Some(step)) => {
                self.judged(step, None, at);
                let summary = format!("confirmed by {by}");
                tell(&Happening::Judged { step, passed: true, summary: &summary, at });
            }
            (Answer::Skip { reason }, Some(step)) => {
                self.marks.insert(step, Some(Mark::Skipped));
                self.traces.entry(step).or_default().error = Some(format!("skipped by {by}: {reason}"));
                let summary = format!("skipped by {by}: {reason}");
                tell(&Happening::Noted { text: &summary, at });
            }
            (Answer::Retry { .. } | Answer::TakeOver, Some(step)) => {
                self.marks.insert(step, None);
            }
            (_, _) => {}
        }
        let state = if matches!(answer, Answer::Revise { .. }) { State::Draft } else { State::Running };
        if !matches!(answer, Answer::Stop) {
            self.reach(state, at, tell);
        }
    }

    /// Collects the changes from a run's state: answers given while no process was running it, and what a
    /// killed process could not write.
    pub fn stand(&mut self, state: &RunState) {
        for (step, now) in state.steps.iter().enumerate() {
            let mark = match &now.status {
                Status::Passed { .. } => Some(Mark::Done),
                Status::Skipped { .. } => Some(Mark::Skipped),
                Status::Running { .. } | Status::Judging { .. } => Some(Mark::Running),
                Status::Waiting { .. } if now.failures > 0 => Some(Mark::Failed),
                Status::Waiting { .. } | Status::Pending => continue,
            };
            self.marks.insert(step, mark);
        }
        self.state = Some(state_of(state));
    }

    /// Keeps marks in the file on steps that aren't done yet: somebody set them, and may have done the work.
    pub fn spare(&mut self, draft: &Draft, run: &RunState) {
        for step in unproven(draft, run) {
            if matches!(run.steps[step].status, Status::Pending | Status::Waiting { .. }) {
                self.marks.remove(&step);
            }
        }
    }

    /// Collects the changes for a plan that isn't running.
    pub fn rest(&mut self, state: State, at: &str, tell: &mut dyn FnMut(&Happening<'_>)) {
        self.reach(state, at, tell);
    }

    /// The changes for a plan in this dialect. Omits what the dialect can't express.
    pub fn take(&mut self, dialect: &Dialect) -> Vec<Change> {
        let marks = std::mem::take(&mut self.marks).into_iter().filter_map(|(step, mark)| {
            // Only a dialect with a mark for running steps shows more than done and not done.
            let says_all = dialect.marks.contains(&Mark::Running);
            let mark = match mark {
                Some(Mark::Running | Mark::Skipped) if !says_all => return None,
                Some(Mark::Failed) if !says_all => None,
                mark => mark.filter(|mark| dialect.marks.contains(mark)),
            };
            (!dialect.marks.is_empty()).then_some(Change::Mark { step, mark })
        });
        let traces = std::mem::take(&mut self.traces).into_iter().filter(|_| dialect.has_traces);
        let state = self.state.take().map(|state| Change::Become { state });
        marks.chain(traces.map(|(step, trace)| Change::Trace { step, trace })).chain(state).collect()
    }
}

/// The indexes of steps that the file marks as done, but the run has not proven. The file is that of the
/// running plan.
pub fn unproven(draft: &Draft, run: &RunState) -> Vec<usize> {
    let steps = draft.steps.iter().zip(&run.steps).enumerate();
    let claimed = steps.filter(|(_, (said, now))| {
        said.mark() == Some(Mark::Done) && !matches!(now.status, Status::Passed { .. })
    });
    claimed.map(|(place, _)| place).collect()
}

pub fn state_of(run: &RunState) -> State {
    let is_manual = |reason: Reason| reason == Reason::Manual;
    let asks = || run.asks.values().map(|ask| ask.reason);
    let waits = asks().find(|reason| !is_manual(*reason)).or_else(|| asks().next());
    match (run.outcome(), waits) {
        (Some(_), _) if run.is_revised => State::Draft,
        (Some(outcome), _) => ended(outcome),
        (None, Some(reason)) => State::Waiting(waits_for(reason)),
        (None, None) => State::Running,
    }
}

const fn ended(outcome: Outcome) -> State {
    match outcome {
        Outcome::Done => State::Done,
        Outcome::Failed => State::Failed,
        Outcome::Cancelled => State::Cancelled,
    }
}

const fn waits_for(reason: Reason) -> lifecycle::Reason {
    match reason {
        Reason::AttemptsSpent | Reason::Strayed => lifecycle::Reason::Failed,
        Reason::Manual | Reason::Question => lifecycle::Reason::Question,
        Reason::Budget => lifecycle::Reason::Budget,
        Reason::Lost | Reason::Parked | Reason::Stalled => lifecycle::Reason::Stalled,
    }
}
