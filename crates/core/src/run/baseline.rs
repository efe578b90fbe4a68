//! The result of a contract before any work was done. A contract that already passes proves nothing about its
//! step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::judge::Verdict;
use crate::syntax::count::number;

/// The result of one step's contract on the base commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    pub step: String,
    /// The hash of the command that ran.
    pub contract: String,
    pub before: BaselineResult,
    pub milliseconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "says", content = "because")]
pub enum BaselineResult {
    /// It fails, as it should; contains the failure.
    Fails(String),
    /// It passes, so it proves nothing about the step.
    Passes,
    /// It passes, and the plan gives a reason.
    Excused(String),
    /// It could not run, so the result is unknown; contains the reason.
    CannotRun(String),
}

/// How many contracts fail before the work: `1 of 1 contract fails before the work`.
pub fn fail_count(fails: usize, all: usize) -> String {
    let verb = if all == 1 { "fails" } else { "fail" };
    format!("{fails} of {} {verb} before the work", number(all, "contract"))
}

impl BaselineResult {
    /// Classifies a verdict on the base commit, given the author's excuse for a contract that already passes.
    pub fn of(verdict: &Verdict, excuse: Option<&str>) -> Self {
        match (verdict.failure(), excuse) {
            (None, None) => Self::Passes,
            (None, Some(reason)) => Self::Excused(reason.to_owned()),
            (Some(failure), _) if failure.is_inconclusive() => Self::CannotRun(failure.to_string()),
            (Some(failure), _) => Self::Fails(failure.to_string()),
        }
    }

    pub const fn word(&self) -> &'static str {
        match self {
            Self::Fails(_) => "fails",
            Self::Passes => "PASSES",
            Self::Excused(_) => "excused",
            Self::CannotRun(_) => "cannot run",
        }
    }

    /// One sentence.
    pub fn meaning(&self) -> String {
        match self {
            Self::Fails(how) => format!("fails before the work, as it should ({how})"),
            Self::Passes => "passes before the work, so it proves nothing".to_owned(),
            Self::Excused(reason) => format!("passes before the work; reason given: {reason}"),
            Self::CannotRun(why) => format!("cannot run before the work ({why})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fail_count;

    #[test]
    fn one_contract_has_a_singular() {
        assert_eq!(fail_count(1, 1), "1 of 1 contract fails before the work");
        assert_eq!(fail_count(0, 1), "0 of 1 contract fails before the work");
        assert_eq!(fail_count(1, 2), "1 of 2 contracts fail before the work");
    }
}
