//! What a plan claims about its steps, however its dialect or author expresses it. Read generously: a false
//! positive costs one run of a contract, while a missed claim is never checked.

use crate::plan::draft::{Draft, Mark, StepDraft};
use crate::plan::lifecycle::PlanState;
use crate::plan::verified;
use crate::plan::verified::Step;
use crate::syntax::source::Source;
use crate::verify::step_as_read;

/// Keys that authors use for progress, also in dialects that don't define them.
const KEYS: &[&str] = &["status", "state", "progress", "done", "complete", "completed"];
/// Values that mean done.
const WORDS: &[&str] = &[
    "done",
    "complete",
    "completed",
    "finished",
    "passed",
    "success",
    "true",
    "yes",
    "x",
    "[x]",
    "100%",
    "✅",
    "✓",
    "✔",
];
/// Marks in a title that mean done.
const TICKS: &[&str] = &["✅", "☑", "✔", "✓", "[x]", "[X]"];

/// A file's claim about a step. Proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkClaim {
    Done,
    /// No claim that it is done.
    Nothing,
}

/// A step as parsed, even from an invalid plan: enough to run its contract, but not to run the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsRead {
    /// As in the heading.
    pub number: String,
    /// Unique within the plan.
    pub id: String,
    pub title: String,
    /// The claim in the file: by a mark, by the plan's progress, or because the whole plan is marked as done.
    pub claim: MarkClaim,
    /// The error says why its contract is unknown.
    pub step: Result<Step, &'static str>,
}

/// The steps of a plan with the file's claims. Checks nothing: claims can be verified in an invalid plan, and
/// most unchecked plans are invalid.
pub fn as_read(source: &Source, draft: &Draft) -> Vec<AsRead> {
    let said = draft.frontmatter.value("status").is_some_and(|status| is_done(&status.value));
    let is_all_done = said || draft.state.as_ref().is_some_and(|state| state.value == PlanState::Done);
    // The record dialect counts the next step from 0: the steps before it are done.
    let next =
        draft.frontmatter.value("currentStepIndex").and_then(|next| next.value.parse().ok()).unwrap_or(0);
    let read = draft.steps.iter().zip(verified::ids(draft)).enumerate().map(|(place, (step, id))| {
        let claim = match step.mark() {
            Some(Mark::Done) => MarkClaim::Done,
            None if is_all_done || place < next || is_ticked(source, step) => MarkClaim::Done,
            None | Some(Mark::Running | Mark::Failed | Mark::Skipped) => MarkClaim::Nothing,
        };
        let number = step.number.value.to_string();
        let lowered = step_as_read(step, id.clone());
        AsRead { number, id, title: step.title.value.clone(), claim, step: lowered }
    });
    read.collect()
}

/// Whether a title or an unknown field claims that a step is done.
fn is_ticked(source: &Source, step: &StepDraft) -> bool {
    let is_said = |name: &str, value: &str| KEYS.contains(&name.to_lowercase().as_str()) && is_done(value);
    TICKS.iter().any(|tick| step.title.value.contains(tick))
        || step.fields.0.iter().any(|field| is_said(&field.name.value, source.slice(field.value)))
}

fn is_done(value: &str) -> bool {
    let plain = value.trim().trim_matches(['"', '\'', '`', '*']).to_lowercase();
    WORDS.contains(&plain.as_str())
}
