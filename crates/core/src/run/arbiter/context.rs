//! What an arbiter is given to read, in the layout of the record dialect's reference, followed by the
//! history.

use std::collections::BTreeMap;

use crate::dialect::record;
use crate::plan::lifecycle::PlanState;
use crate::plan::verified::Plan;
use crate::run::event::{AttemptEnd, Event, Judged, StepEvent};
use crate::run::mirror;
use crate::run::state::{RunState, StepStatus};

/// The newest entries of the history are kept.
const HISTORY_MAX: usize = 50;

#[derive(Debug, Clone, Copy)]
pub struct ArbiterContext<'a> {
    pub plan: &'a Plan,
    /// `None` if the plan has not been run.
    pub state: Option<&'a RunState>,
    /// The index of the step to act on.
    pub current: Option<usize>,
    /// The attempts so far, oldest first.
    pub history: &'a [PriorAttempt],
    /// The last error that is not resolved.
    pub last_error: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorAttempt {
    /// The index of the step.
    pub step: usize,
    pub attempt: u32,
    /// Empty for a person.
    pub agent: String,
    pub result: String,
}

/// The attempts of a run, oldest first.
pub fn history<'a>(plan: &Plan, events: impl Iterator<Item = &'a Event>) -> Vec<PriorAttempt> {
    let places: BTreeMap<&str, usize> = plan.steps.iter().map(|step| step.id.as_str()).zip(0..).collect();
    let mut tried: Vec<PriorAttempt> = Vec::new();
    for event in events {
        let Event::Step { step, event } = event else { continue };
        let (Some(&step), Some(attempt)) = (places.get(step.as_str()), event.of().number()) else { continue };
        let (agent, result) = match event {
            StepEvent::Started(start) => (start.agent.clone(), "running".to_owned()),
            StepEvent::Finished(finish) => (String::new(), ended(&finish.end)),
            StepEvent::Judged { of: Judged::Attempt(_), receipt, .. } => {
                let failure = receipt.verdict.failure().map(|failure| format!("failed: {failure}"));
                (String::new(), failure.unwrap_or_else(|| "passed".to_owned()))
            }
            StepEvent::Judged { of: Judged::Claim | Judged::Closing(_), .. } | StepEvent::Faulted { .. } => {
                continue;
            }
        };
        match tried.iter_mut().rfind(|known| known.step == step && known.attempt == attempt) {
            Some(known) => known.result = result,
            None => tried.push(PriorAttempt { step, attempt, agent, result }),
        }
    }
    tried
}

fn ended(end: &AttemptEnd) -> String {
    match end {
        AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) => "not judged yet".to_owned(),
        AttemptEnd::TimedOut(seconds) => format!("failed: timed out after {seconds} s"),
        AttemptEnd::Lost => "lost".to_owned(),
        AttemptEnd::Stopped => "stopped".to_owned(),
        AttemptEnd::Parked { why, .. } => format!("agent unavailable: {why}"),
        AttemptEnd::Faulted(fault) => format!("the machine failed: {}", fault.why),
    }
}

/// The context as text: the sections of the record dialect's reference in their order, then history and last
/// error.
pub fn context(context: &ArbiterContext<'_>) -> String {
    let ArbiterContext { plan, state, current, history, last_error } = *context;
    let status = |place: usize| state.map(|state| &state.steps[place].status);
    let word = record::spelled(state.map_or(PlanState::Draft, mirror::state_of));
    let is_complete = |place: &usize| matches!(status(*place), Some(StepStatus::Passed { .. }));
    let complete = (0..plan.steps.len()).filter(is_complete).count();
    let mut text = format!("## Current Task\n\n{}\n\n", plan.title);
    text.push_str(&format!(
        "## Plan Status\n\nStatus: {word}\nProgress: {complete}/{} steps\n\n",
        plan.steps.len()
    ));
    text.push_str("## Current Step\n\n");
    if let Some(place) = current {
        let step = &plan.steps[place];
        text.push_str(&format!("Step {}: {}\nSuggested agent: {}\n", place + 1, step.title, step.target));
        if !step.accept.is_empty() {
            text.push_str("Acceptance criteria:\n");
            step.accept.iter().for_each(|criterion| text.push_str(&format!("- {criterion}\n")));
        }
    }
    text.push_str("\n## Remaining Steps\n\n");
    let is_pending = |place: &usize| matches!(status(*place), None | Some(StepStatus::Pending(_)));
    for place in (0..plan.steps.len()).filter(is_pending) {
        text.push_str(&format!("- Step {}: {}\n", place + 1, plan.steps[place].title));
    }
    if !history.is_empty() {
        text.push_str("\n## History\n\n");
        let more = history.len().saturating_sub(HISTORY_MAX);
        if more > 0 {
            text.push_str(&format!("- earlier attempts not shown: {more}\n"));
        }
        for PriorAttempt { step, attempt, agent, result } in &history[more..] {
            let by = if agent.is_empty() { "a person" } else { agent };
            text.push_str(&format!("- Step {}, attempt {attempt} by {by}: {result}\n", step + 1));
        }
    }
    if let Some(error) = last_error {
        text.push_str(&format!("\n## Last Error\n\n{}\n", error.trim_end()));
    }
    text
}
