//! What a plan file shows about its run: marks, states, traces and notes. Never authoritative: [`crate::run::state`]
//! folds the journal, and nothing is ever read back from the file.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::{Dialect, PlanEvent, record};
use crate::plan::draft::{Draft, Mark, Trace};
use crate::plan::edit::PlanEdit;
use crate::plan::lifecycle;
use crate::plan::lifecycle::PlanState;
use crate::plan::verified;
use crate::plan::verified::Plan;
use crate::run::event::{
    AskAnswer, AskEvent, AskReason, AttemptEnd, AttemptFinish, Event, Judged, RunEvent, RunOutcome, StepEvent,
};
use crate::run::receipt::Receipt;
use crate::run::state::{Pending, RunState, StepStatus};
use crate::syntax::source::Source;

/// Pending changes to the file.
#[derive(Debug, Default)]
pub struct MirrorState {
    marks: BTreeMap<usize, Option<Mark>>,
    traces: BTreeMap<usize, Trace>,
    state: Option<PlanState>,
    /// Steps that the file claimed to be done before the run, and that nobody worked on since: what it says about them stays.
    claimed: BTreeSet<usize>,
    /// Open questions with their steps, because an answer only names its question.
    asks: BTreeMap<String, (Option<usize>, AskReason)>,
}

/// An event with additional data.
#[derive(Debug, Clone, Copy)]
pub struct EventWithContext<'a> {
    pub event: &'a Event,
    /// An RFC 3339 time.
    pub at: &'a str,
    /// The agent's output, for the end of an attempt.
    pub output: Option<&'a str>,
}

impl MirrorState {
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.traces.is_empty() && self.state.is_none()
    }

    /// Collects the changes that follow from an event, and reports what is written next to the plan.
    pub fn see(&mut self, plan: &Plan, seen: EventWithContext<'_>, tell: &mut dyn FnMut(&PlanEvent<'_>)) {
        let place = |id: &str| plan.steps.iter().position(|step| step.id == id);
        match seen.event {
            Event::Run(event) => self.see_run(plan, event, seen.at, tell),
            Event::Step { step, event } => {
                if let Some(step) = place(step) {
                    self.see_step(step, event, seen, tell);
                }
            }
            Event::Ask { ask, event: AskEvent::Opened { step, reason, .. } } => {
                let step = step.as_deref().and_then(place);
                self.asks.insert(ask.clone(), (step, *reason));
                if let (Some(step), AskReason::AttemptsSpent | AskReason::Lost | AskReason::Regressed) =
                    (step, reason)
                {
                    self.marks.insert(step, Some(Mark::Failed));
                }
                self.reach(PlanState::Waiting(waits_for(*reason)), seen.at, tell);
            }
            Event::Ask { ask, event: AskEvent::Answered { answer, by } } => {
                self.answered((ask, answer, by), seen.at, tell);
            }
        }
    }

    fn see_run(&mut self, plan: &Plan, event: &RunEvent, at: &str, tell: &mut dyn FnMut(&PlanEvent<'_>)) {
        match event {
            RunEvent::Started(_) => {
                // What an earlier run came to says nothing about this one; a claim is judged first.
                let is_old =
                    |mark: Option<Mark>| matches!(mark, Some(Mark::Failed | Mark::Skipped | Mark::Running));
                let claimed = plan.steps.iter().enumerate().filter(|(_, step)| step.mark == Some(Mark::Done));
                self.claimed = claimed.map(|(place, _)| place).collect();
                let old = plan.steps.iter().enumerate().filter(|(_, step)| is_old(step.mark));
                self.marks.extend(old.map(|(place, _)| (place, None)));
                self.reach(PlanState::Running, at, tell);
            }
            RunEvent::Resumed { .. } => self.reach(PlanState::Running, at, tell),
            RunEvent::Reopened { steps, by } => {
                for (place, _) in plan.steps.iter().enumerate().filter(|(_, step)| steps.contains(&step.id)) {
                    self.marks.insert(place, None);
                }
                let text = format!("rolled back by {by}: {}", steps.join(", "));
                tell(&PlanEvent::Noted { text: &text, at });
            }
            RunEvent::Finished { outcome, .. } => {
                // A plan that was sent back to its author is a draft again, whatever its run's outcome.
                if self.state != Some(PlanState::Draft) {
                    self.reach(ended(*outcome), at, tell);
                }
            }
            RunEvent::Rechecked { receipts } => self.see_recheck(plan, receipts, at, tell),
            RunEvent::AgentsApproved(_)
            | RunEvent::BudgetWarned { .. }
            | RunEvent::Stopped { .. }
            | RunEvent::Closing { .. } => {}
        }
    }

    /// A mark is for a contract that holds on the tree that is there.
    fn see_recheck(
        &mut self,
        plan: &Plan,
        receipts: &BTreeMap<String, Receipt>,
        at: &str,
        tell: &mut dyn FnMut(&PlanEvent<'_>),
    ) {
        for (step, _) in plan.steps.iter().enumerate().filter(|(_, step)| receipts.contains_key(&step.id)) {
            let failure = receipts[&plan.steps[step].id].verdict.failure().map(ToString::to_string);
            self.marks.insert(step, failure.is_none().then_some(Mark::Done));
            if let Some(failure) = failure {
                let summary = format!("the contract no longer holds ({failure})");
                tell(&PlanEvent::Judged { step, passed: false, summary: &summary, at });
            }
        }
        let holds = receipts.values().all(|receipt| receipt.verdict.is_passed());
        let state = ended(if holds { RunOutcome::Done } else { RunOutcome::Failed });
        if self.state != Some(state) {
            self.reach(state, at, tell);
        }
    }

    fn see_step(
        &mut self,
        step: usize,
        event: &StepEvent,
        EventWithContext { at, output, .. }: EventWithContext<'_>,
        tell: &mut dyn FnMut(&PlanEvent<'_>),
    ) {
        let trace = self.traces.entry(step).or_default();
        match event {
            StepEvent::Started(start) => {
                self.claimed.remove(&step);
                trace.executed_by = Some(start.agent.clone());
                trace.started_at = Some(at.to_owned());
                trace.error = Some(String::new());
                self.marks.insert(step, Some(Mark::Running));
            }
            StepEvent::Finished(finish) => {
                trace.output = output.map(str::to_owned);
                trace.affected_files = Some(finish.changed.clone());
            }
            // It was done before and still is: nothing to tell.
            StepEvent::Judged { of: Judged::Closing(_), receipt, .. } if receipt.verdict.is_passed() => {
                self.marks.insert(step, Some(Mark::Done));
            }
            StepEvent::Judged { receipt, .. } => {
                let failure = receipt.verdict.failure().map(ToString::to_string);
                self.judged(step, failure.as_deref(), at);
                let summary = failure.as_deref().unwrap_or("the contract passed");
                tell(&PlanEvent::Judged { step, passed: failure.is_none(), summary, at });
            }
            // Nothing became of the step.
            StepEvent::Faulted { .. } => {}
        }
    }

    fn reach(&mut self, state: PlanState, at: &str, tell: &mut dyn FnMut(&PlanEvent<'_>)) {
        self.state = Some(state);
        tell(&PlanEvent::Became { state, at });
    }

    fn judged(&mut self, step: usize, failure: Option<&str>, at: &str) {
        self.marks.insert(step, failure.is_none().then_some(Mark::Done));
        if failure.is_none() && self.claimed.contains(&step) {
            return;
        }
        let trace = self.traces.entry(step).or_default();
        match failure {
            None => trace.completed_at = Some(at.to_owned()),
            Some(failure) => trace.error = Some(failure.to_owned()),
        }
    }

    fn answered(
        &mut self,
        (ask, answer, by): (&str, &AskAnswer, &str),
        at: &str,
        tell: &mut dyn FnMut(&PlanEvent<'_>),
    ) {
        let step = self.asks.get(ask).and_then(|(step, _)| *step);
        match (answer, step) {
            (AskAnswer::Confirm, Some(step)) => {
                self.judged(step, None, at);
                let summary = format!("confirmed by {by}");
                tell(&PlanEvent::Judged { step, passed: true, summary: &summary, at });
            }
            (AskAnswer::Skip { reason }, Some(step)) => {
                self.marks.insert(step, Some(Mark::Skipped));
                self.traces.entry(step).or_default().error = Some(format!("skipped by {by}: {reason}"));
                let summary = format!("skipped by {by}: {reason}");
                tell(&PlanEvent::Noted { text: &summary, at });
            }
            (AskAnswer::Retry { .. } | AskAnswer::RetryStep { .. } | AskAnswer::TakeOver, Some(step)) => {
                self.marks.insert(step, None);
            }
            (_, _) => {}
        }
        let state =
            if matches!(answer, AskAnswer::Revise { .. }) { PlanState::Draft } else { PlanState::Running };
        if !matches!(answer, AskAnswer::Stop) {
            self.reach(state, at, tell);
        }
    }

    /// Collects the changes from a run's state: answers given while no process was running it, and what a
    /// killed process could not write.
    pub fn stand(&mut self, state: &RunState) {
        let is_over = state.outcome().is_some();
        for (step, now) in state.steps.iter().enumerate() {
            let has_failed = !now.history.failed.is_empty();
            let mark = match &now.status {
                StepStatus::Passed { .. } => Some(Mark::Done),
                StepStatus::Skipped { .. } => Some(Mark::Skipped),
                StepStatus::Running { .. } | StepStatus::Judging { .. } => Some(Mark::Running),
                StepStatus::Pending(Pending::Lapsed { .. }) => None,
                StepStatus::Waiting { .. } if has_failed => Some(Mark::Failed),
                StepStatus::Pending(_) if has_failed && is_over => Some(Mark::Failed),
                StepStatus::Waiting { .. } | StepStatus::Pending(_) => continue,
            };
            self.marks.insert(step, mark);
        }
        self.state = Some(state_of(state));
    }

    /// Keeps marks in the file on steps that aren't done yet: somebody set them, and may have done the work.
    pub fn spare(&mut self, draft: &Draft, run: &RunState) {
        for step in unproven(draft, run) {
            let status = &run.steps[step].status;
            // The mark of a contract that no longer holds is ours, and it is wrong.
            let is_open = matches!(status, StepStatus::Pending(_) | StepStatus::Waiting { .. });
            if is_open && !status.is_lapsed() {
                self.marks.remove(&step);
            }
        }
    }

    /// Collects the changes for a plan that isn't running.
    pub fn rest(&mut self, state: PlanState, at: &str, tell: &mut dyn FnMut(&PlanEvent<'_>)) {
        self.reach(state, at, tell);
    }

    /// The changes for a plan in this dialect. Omits what the dialect can't express.
    pub fn take(&mut self, dialect: &Dialect) -> Vec<PlanEdit> {
        let marks = std::mem::take(&mut self.marks).into_iter().filter_map(|(step, mark)| {
            let mark = mark.filter(|mark| dialect.marks.contains(mark));
            (!dialect.marks.is_empty()).then_some(PlanEdit::Mark { step, mark })
        });
        let traces = std::mem::take(&mut self.traces).into_iter().filter(|_| dialect.has_traces);
        let state = self.state.take().map(|state| PlanEdit::Become { state });
        marks.chain(traces.map(|(step, trace)| PlanEdit::Trace { step, trace })).chain(state).collect()
    }
}

/// The indexes of steps that the file marks as done, but the run has not proven. The file is that of the
/// running plan.
pub fn unproven(draft: &Draft, run: &RunState) -> Vec<usize> {
    let steps = draft.steps.iter().zip(&run.steps).enumerate();
    let claimed = steps.filter(|(_, (said, now))| {
        said.mark() == Some(Mark::Done) && !matches!(now.status, StepStatus::Passed { .. })
    });
    claimed.map(|(place, _)| place).collect()
}

pub fn state_of(run: &RunState) -> PlanState {
    let is_manual = |reason: AskReason| reason == AskReason::Manual;
    let asks = || run.asks.values().map(|ask| ask.reason);
    let waits = asks().find(|reason| !is_manual(*reason)).or_else(|| asks().next());
    match (run.outcome(), waits) {
        (Some(_), _) if run.is_revised() => PlanState::Draft,
        (Some(outcome), _) => ended(outcome),
        (None, Some(reason)) => PlanState::Waiting(waits_for(reason)),
        (None, None) => PlanState::Running,
    }
}

const fn ended(outcome: RunOutcome) -> PlanState {
    match outcome {
        RunOutcome::Done => PlanState::Done,
        RunOutcome::Failed => PlanState::Failed,
        RunOutcome::Cancelled => PlanState::Cancelled,
    }
}

const fn waits_for(reason: AskReason) -> lifecycle::WaitReason {
    match reason {
        AskReason::AttemptsSpent | AskReason::Strayed => lifecycle::WaitReason::Failed,
        AskReason::Manual | AskReason::Question => lifecycle::WaitReason::Question,
        AskReason::Budget => lifecycle::WaitReason::Budget,
        AskReason::Regressed | AskReason::Unsettled => lifecycle::WaitReason::Regressed,
        AskReason::Lost | AskReason::Parked | AskReason::Stalled => lifecycle::WaitReason::Stalled,
        AskReason::Machine => lifecycle::WaitReason::Machine,
    }
}

/// The name of an event in the record dialect; `None` if it has none.
pub fn event_name(event: &Event) -> Option<&'static str> {
    match event {
        Event::Run(RunEvent::Started(_)) => Some("PLAN_CREATED"),
        Event::Step { event: StepEvent::Started(_), .. } => Some("STEP_STARTED"),
        Event::Step { event: StepEvent::Judged { of: Judged::Closing(_), receipt, .. }, .. }
            if receipt.verdict.is_passed() =>
        {
            None
        }
        Event::Step { event: StepEvent::Judged { receipt, .. }, .. } => {
            Some(if receipt.verdict.is_passed() { "STEP_COMPLETED" } else { "STEP_FAILED" })
        }
        // After a timeout no contract runs: the attempt has failed.
        Event::Step {
            event: StepEvent::Finished(AttemptFinish { end: AttemptEnd::TimedOut(_), .. }),
            ..
        } => Some("STEP_FAILED"),
        Event::Step { event: StepEvent::Finished(_) | StepEvent::Faulted { .. }, .. }
        | Event::Run(_)
        | Event::Ask { .. } => None,
    }
}

/// The line of the record dialect for an event of a run; `None` if the dialect has no such event, or the plan no such step.
/// `said` is the agent's output, or the reason of a failure.
pub fn event_line(source: &Source, event: &Event, said: &str) -> Option<String> {
    let name = event_name(event)?;
    let Some(step) = event.step() else { return Some(record::created_line(source)) };
    let index = verified::ids(&source.draft()).iter().position(|id| id == step)?;
    Some(record::step_line(name, index, said))
}
