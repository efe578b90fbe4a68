//! The machine of document B: planning, selecting, executing, evaluating and what comes of it. One table; the picture is drawn
//! of it, and the tests hold every run on paper to it.

use crate::plan::lifecycle::State;
use crate::run::event::Outcome;
use crate::run::state::{Phase, RunState, Status};

/// Where the work on a plan stands, as document B counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The plan is written, checked and approved.
    Planning,
    /// What comes next is chosen.
    Selecting,
    /// An agent is at work.
    Executing,
    /// A contract is at work.
    Evaluating,
    /// Only a person can go on.
    Waiting,
    /// Every step is settled.
    Complete,
    /// The run is over, and not every step is.
    Failed,
}

pub const STAGES: [Stage; 7] = [
    Stage::Planning,
    Stage::Selecting,
    Stage::Executing,
    Stage::Evaluating,
    Stage::Waiting,
    Stage::Complete,
    Stage::Failed,
];

impl Stage {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Selecting => "selecting",
            Self::Executing => "executing",
            Self::Evaluating => "evaluating",
            Self::Waiting => "waiting",
            Self::Complete => "complete",
            Self::Failed => "failed",
        }
    }

    /// Where a run stands; without one the plan is still planned.
    pub fn of(run: Option<&RunState>) -> Self {
        let Some(run) = run else { return Self::Planning };
        let any = |is_it: fn(&Status) -> bool| run.steps.iter().any(|step| is_it(&step.status));
        match run.phase {
            Phase::New => Self::Planning,
            Phase::Finished(_) if run.is_revised => Self::Planning,
            Phase::Finished(Outcome::Done) => Self::Complete,
            Phase::Finished(Outcome::Failed | Outcome::Cancelled) => Self::Failed,
            Phase::Running | Phase::Stopped if any(|status| matches!(status, Status::Running { .. })) => {
                Self::Executing
            }
            Phase::Running | Phase::Stopped if any(|status| matches!(status, Status::Judging { .. })) => {
                Self::Evaluating
            }
            Phase::Running | Phase::Stopped if !run.asks.is_empty() => Self::Waiting,
            Phase::Running | Phase::Stopped => Self::Selecting,
        }
    }

    /// Where it can go on from here, each with what leads there. This is the whole table.
    pub const fn ways(self) -> &'static [(Self, &'static str)] {
        use Stage::{Complete, Evaluating, Executing, Failed, Planning, Selecting, Waiting};
        match self {
            Planning => &[(Selecting, "the run starts"), (Evaluating, "a mark claims that a step is done")],
            Selecting => &[
                (Executing, "an attempt starts"),
                (Waiting, "a person is asked"),
                (Complete, "every step is settled"),
                (Planning, "a person sent it back"),
                (Failed, "its policy says abort, or a person ends it"),
            ],
            Executing => &[
                (Evaluating, "the agent ends"),
                (Selecting, "it ran out of time, was lost, or a person judges"),
                (Failed, "a person ends it"),
            ],
            Evaluating => &[
                (Selecting, "the contract passes: what comes next; it fails: retry"),
                (Executing, "another attempt starts meanwhile"),
                (Waiting, "a person was asked meanwhile"),
                (Failed, "a person ends it"),
            ],
            Waiting => &[
                (Selecting, "a person answers"),
                (Executing, "what waits for nobody starts"),
                (Evaluating, "a person did it by hand"),
                (Planning, "a person sends it back: replan"),
                (Failed, "a person ends it"),
            ],
            Complete | Failed => &[(Planning, "its author takes it up again")],
        }
    }
}

/// The picture of both machines, as Mermaid draws them: the states of a plan, and the stages of the work on it.
pub fn diagram() -> String {
    let mut text = "stateDiagram-v2\n    direction LR\n    state \"the plan\" as plan {\n".to_owned();
    let id =
        |state: State| state.to_string().replace([' ', '(', ')', '-'], "_").trim_end_matches('_').to_owned();
    for state in State::all() {
        text.push_str(&format!("        state \"{state}\" as {}\n", id(state)));
    }
    text.push_str(&format!("        [*] --> {}\n", id(State::Draft)));
    for from in State::all() {
        for (to, actor) in from.ways() {
            text.push_str(&format!("        {} --> {}: {actor}\n", id(from), id(to)));
        }
    }
    text.push_str("    }\n    state \"the work\" as work {\n        [*] --> planning_\n");
    for stage in STAGES {
        text.push_str(&format!("        state \"{0}\" as {0}_\n", stage.word()));
    }
    for from in STAGES {
        for (to, why) in from.ways() {
            // A colon ends the name of a way.
            text.push_str(&format!(
                "        {}_ --> {}_: {}\n",
                from.word(),
                to.word(),
                why.replace(':', " -")
            ));
        }
    }
    text.push_str("    }\n");
    text
}
