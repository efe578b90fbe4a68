//! What an attempt is about, as a queue holds it: which agent is to do what. Made of the approved plan and the recorded
//! intent; decides nothing.

use serde::{Deserialize, Serialize};

use crate::plan::verified::{Reference, Step};

/// One attempt on a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItem {
    /// The agent that is to do it.
    pub agent_id: String,
    /// What kind of work it is.
    #[serde(rename = "type")]
    pub kind: WorkKind,
    /// What the agent is told.
    pub input: Input,
    /// What it belongs to.
    pub payload: Payload,
}

/// What kind of work an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WorkKind {
    /// Something is to be made or changed.
    Code,
    /// Something is to be looked at.
    Review,
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    pub prompt: String,
}

/// What an attempt belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// What the agent was given to read: `file:PATH`, `topic:NAME`.
    pub subscriptions: Vec<String>,
    pub plan_id: String,
    /// The number of the step.
    pub step: u32,
    /// The id of the step.
    pub step_id: String,
    pub attempt: u32,
}

impl WorkKind {
    /// The kind of work that a role does: a reviewer looks, everybody else makes.
    pub fn of(target: &str) -> Self {
        match target.to_lowercase().contains("review") {
            true => Self::Review,
            false => Self::Code,
        }
    }

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Code => "CODE",
            Self::Review => "REVIEW",
        }
    }
}

impl WorkItem {
    /// The item for an attempt at `step` of the plan in the file `plan`.
    pub fn new(plan: &str, step: &Step, attempt: u32, (agent, prompt): (&str, String)) -> Self {
        let subscriptions = step.reads.iter().map(|reference| match reference {
            Reference::File(path) => format!("file:{path}"),
            Reference::Topic(name) => format!("topic:{name}"),
        });
        Self {
            agent_id: agent.to_owned(),
            kind: WorkKind::of(&step.target),
            input: Input { prompt },
            payload: Payload {
                subscriptions: subscriptions.collect(),
                plan_id: plan.to_owned(),
                step: step.number,
                step_id: step.id.clone(),
                attempt,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // the kind of work is inferred from the role.
    #[test]
    fn reviewers_review_and_everybody_else_makes() {
        let kinds = ["coder", "reviewer", "Code-Reviewer", "shell"].map(|role| WorkKind::of(role).word());
        assert_eq!(kinds, ["CODE", "REVIEW", "REVIEW", "CODE"]);
    }
}
