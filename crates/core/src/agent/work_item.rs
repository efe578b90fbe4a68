//! An attempt as a queue item: which agent runs what. Built from the approved plan and the recorded intent;
//! decides nothing.

use serde::{Deserialize, Serialize};

use crate::plan::verified::{Reference, Step};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItem {
    pub agent_id: String,
    #[serde(rename = "type")]
    pub kind: WorkKind,
    /// What the agent is given.
    pub input: WorkInput,
    pub payload: Payload,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WorkKind {
    /// Create or change something.
    Code,
    /// Review something.
    Review,
}

/// What an agent is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkInput {
    pub prompt: String,
}

/// What an attempt belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// The agent's context: `file:PATH`, `topic:NAME`.
    pub subscriptions: Vec<String>,
    pub plan_id: String,
    pub step: u32,
    pub step_id: String,
    pub attempt: u32,
}

impl WorkKind {
    /// The kind of work of a role: reviewers review, everyone else codes.
    pub fn of(target: &str) -> Self {
        match target.to_lowercase().contains("review") {
            true => Self::Review,
            false => Self::Code,
        }
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::Code => "CODE",
            Self::Review => "REVIEW",
        }
    }
}

impl WorkItem {
    pub fn new(plan: &str, step: &Step, attempt: u32, (agent, prompt): (&str, String)) -> Self {
        let subscriptions = step.reads.iter().map(|reference| match reference {
            Reference::File(path) => format!("file:{path}"),
            Reference::Topic(name) => format!("topic:{name}"),
        });
        Self {
            agent_id: agent.to_owned(),
            kind: WorkKind::of(&step.target),
            input: WorkInput { prompt },
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
