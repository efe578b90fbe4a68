//! What a contract says before any work was done. One that passes already proves nothing about the step that it judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::judge::{Failure, Verdict};

/// What was found out about the contract of one step on the base tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Red {
    /// The id of the step.
    pub step: String,
    /// The hash of the command that was run.
    pub contract: String,
    pub before: Before,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

/// What a contract says before the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "says", content = "because")]
pub enum Before {
    /// It fails, as it should; says how.
    Fails(String),
    /// It passes: it proves nothing about the step.
    Passes,
    /// It passes, and the plan says why that is right.
    Excused(String),
    /// It could not be run, so nothing is known; says why.
    CannotRun(String),
}

impl Before {
    /// What a verdict on the base tree means, for a step whose author gives this reason for a contract that passes already.
    pub fn of(verdict: &Verdict, excuse: Option<&str>) -> Self {
        match (verdict.failure(), excuse) {
            (None, None) => Self::Passes,
            (None, Some(reason)) => Self::Excused(reason.to_owned()),
            (Some(Failure::CannotRun(_) | Failure::NotStarted(_) | Failure::Timeout(_)), _) => {
                Self::CannotRun(verdict.failure().map(ToString::to_string).unwrap_or_default())
            }
            (Some(failure @ (Failure::Code(_) | Failure::Signal(_) | Failure::Opinion { .. })), _) => {
                Self::Fails(failure.to_string())
            }
        }
    }

    /// The word that every face shows.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Fails(_) => "fails",
            Self::Passes => "PASSES",
            Self::Excused(_) => "excused",
            Self::CannotRun(_) => "cannot run",
        }
    }

    /// What the word means, in a sentence.
    pub fn meaning(&self) -> String {
        match self {
            Self::Fails(how) => format!("fails before the work, as it should ({how})"),
            Self::Passes => "passes before the work: it proves nothing".to_owned(),
            Self::Excused(reason) => format!("passes before the work, for a reason: {reason}"),
            Self::CannotRun(why) => format!("cannot run before the work ({why})"),
        }
    }
}
