//! The stages of work on a plan, as the record dialect names them: planning, selecting, executing, evaluating
//! and their outcomes. One table, from which the diagram is drawn; the tests check every run against it.

use crate::plan::lifecycle::PlanState;
use crate::run::event::RunOutcome;
use crate::run::state::{Phase, RunState, StepStatus};

/// The stage of the work on a plan, as the record dialect counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiagramStage {
    /// The plan is being written, checked or approved.
    Planning,
    /// planwright is choosing what to do next.
    Selecting,
    /// An agent is running.
    Executing,
    /// A contract is running.
    Evaluating,
    /// Blocked until a person answers.
    Waiting,
    /// Every step is done.
    Complete,
    /// The run finished before every step was done.
    Failed,
}

pub const STAGES: [DiagramStage; 7] = [
    DiagramStage::Planning,
    DiagramStage::Selecting,
    DiagramStage::Executing,
    DiagramStage::Evaluating,
    DiagramStage::Waiting,
    DiagramStage::Complete,
    DiagramStage::Failed,
];

impl DiagramStage {
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

    /// The stage of a run; without one, the plan is still being planned.
    pub fn of(run: Option<&RunState>) -> Self {
        let Some(run) = run else { return Self::Planning };
        let any = |is_it: fn(&StepStatus) -> bool| run.steps.iter().any(|step| is_it(&step.status));
        match run.phase {
            Phase::New | Phase::Finished { is_revised: true, .. } => Self::Planning,
            Phase::Finished { outcome: RunOutcome::Done, .. } => Self::Complete,
            Phase::Finished { outcome: RunOutcome::Failed | RunOutcome::Cancelled, .. } => Self::Failed,
            Phase::Running | Phase::Stopped { .. } => {
                if any(|status| matches!(status, StepStatus::Running { .. })) {
                    Self::Executing
                } else if any(|status| matches!(status, StepStatus::Judging { .. })) {
                    Self::Evaluating
                } else if run.asks.is_empty() {
                    Self::Selecting
                } else {
                    Self::Waiting
                }
            }
        }
    }

    /// The transitions from here, each with its cause. This is the whole table.
    pub const fn ways(self) -> &'static [(Self, &'static str)] {
        use DiagramStage::{Complete, Evaluating, Executing, Failed, Planning, Selecting, Waiting};
        match self {
            Planning => &[(Selecting, "the run starts"), (Evaluating, "a mark claims that a step is done")],
            Selecting => &[
                (Executing, "an attempt starts"),
                (Waiting, "a person is asked"),
                (Complete, "every step is done"),
                (Planning, "a person sent it back"),
                (Failed, "`on_fail` is abort, or a person ends it"),
            ],
            Executing => &[
                (Evaluating, "the agent exits"),
                (Selecting, "it timed out or was interrupted, or a person judges"),
                (Failed, "a person ends it"),
            ],
            Evaluating => &[
                (Selecting, "the contract passed, or failed and is retried"),
                (Executing, "another attempt starts meanwhile"),
                (Waiting, "a person was asked meanwhile"),
                (Failed, "a person ends it"),
            ],
            Waiting => &[
                (Selecting, "a person answers"),
                (Executing, "a step that is not blocked starts"),
                (Evaluating, "a person did it by hand"),
                (Planning, "a person sends it back: replan"),
                (Failed, "a person ends it"),
            ],
            Complete | Failed => &[(Planning, "its author revises it")],
        }
    }
}

/// Both state machines as a Mermaid diagram: the states of a plan, and the stages of the work on it.
pub fn diagram() -> String {
    let mut text = "stateDiagram-v2\n    direction LR\n    state \"the plan\" as plan {\n".to_owned();
    let id = |state: PlanState| {
        state.to_string().replace([' ', '(', ')', '-'], "_").trim_end_matches('_').to_owned()
    };
    for state in PlanState::all() {
        text.push_str(&format!("        state \"{state}\" as {}\n", id(state)));
    }
    text.push_str(&format!("        [*] --> {}\n", id(PlanState::Draft)));
    for from in PlanState::all() {
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
            // In Mermaid, a colon ends the label of a transition.
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
