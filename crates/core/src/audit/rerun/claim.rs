//! What a plan claims about its steps, in whatever way its dialect or its author says it. Claims are read generously: one that
//! is none costs a run of a contract, and one that is missed stands for ever.

use crate::plan::draft::{Draft, Mark, StepDraft, StepNumber};
use crate::plan::lifecycle::State;
use crate::plan::verified;
use crate::plan::verified::Step;
use crate::syntax::source::Source;
use crate::verify::step_as_read;

/// Keys by which authors say how far something is, also in dialects that have no place for it.
const KEYS: &[&str] = &["status", "state", "progress", "done", "complete", "completed"];
/// Words that say that it is done.
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
/// Ticks that say the same in a title.
const TICKS: &[&str] = &["✅", "☑", "✔", "✓", "[x]", "[X]"];

/// What a file claims about a step. It proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// That it is done.
    Done,
    /// Nothing, or something else.
    Nothing,
}

/// A step as its plan has it, faults of the plan or not: enough to say what its contract does, and no reason to run the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsRead {
    /// The number in the heading, as people read it.
    pub number: String,
    /// The name that is unique in the plan.
    pub id: String,
    pub title: String,
    /// What the file says about it: by a mark, by how far the plan is said to be, or because all of it is said to be done.
    pub claim: Claim,
    /// The step; `Err` says why nobody can tell what would judge it.
    pub step: Result<Step, &'static str>,
}

/// The steps of a plan with what the file claims about them. Nothing is checked: a mark can be settled in a plan that has
/// faults, and most plans that nobody checked have some.
pub fn as_read(source: &Source, draft: &Draft) -> Vec<AsRead> {
    let said = draft.frontmatter.value("status").is_some_and(|status| is_done(&status.value));
    let is_all_done = said || draft.state.as_ref().is_some_and(|state| state.value == State::Done);
    // Document B counts from 0 the step that is next: those before it are behind.
    let next =
        draft.frontmatter.value("currentStepIndex").and_then(|next| next.value.parse().ok()).unwrap_or(0);
    let read = draft.steps.iter().zip(verified::ids(draft)).enumerate().map(|(place, (step, id))| {
        let claim = match step.mark() {
            Some(Mark::Done) => Claim::Done,
            None if is_all_done || place < next || is_ticked(source, step) => Claim::Done,
            None | Some(Mark::Running | Mark::Failed | Mark::Skipped) => Claim::Nothing,
        };
        let number = match &step.number.value {
            StepNumber::Counted(number) => number.to_string(),
            StepNumber::Template(number) => number.clone(),
        };
        let lowered = step_as_read(step, id.clone());
        AsRead { number, id, title: step.title.value.clone(), claim, step: lowered }
    });
    read.collect()
}

/// Whether a title or a field that the dialect does not know says that a step is done.
fn is_ticked(source: &Source, step: &StepDraft) -> bool {
    let is_said = |name: &str, value: &str| KEYS.contains(&name.to_lowercase().as_str()) && is_done(value);
    TICKS.iter().any(|tick| step.title.value.contains(tick))
        || step.fields.0.iter().any(|field| is_said(&field.name.value, source.slice(field.value)))
}

fn is_done(value: &str) -> bool {
    let plain = value.trim().trim_matches(['"', '\'', '`', '*']).to_lowercase();
    WORDS.contains(&plain.as_str())
}
