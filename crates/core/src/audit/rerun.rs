//! What running contracts again shows: whether a file's claims hold, whether a receipt still does, and what
//! broke it. Reads marks and never writes them; compares receipts and never trusts them.

mod external_input;
mod claim;
mod finding;
mod history;
mod blame;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::judge::Verdict;

pub use blame::{Broke, KnownTree, Suspect, first_bad, suspect};
pub use claim::{AsRead, MarkClaim, as_read};
pub use external_input::reads_outside;
pub use finding::finding;
pub use history::{Proof, Recorded, RecordedWork, RerunHistory};

/// The result of a contract now, on a fresh checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "says", content = "because")]
pub enum CurrentResult {
    Passes,
    /// With the failure.
    Fails(String),
    /// It could not run, so the result is unknown; contains the reason.
    CannotRun(String),
    /// A manual step: only a person can tell.
    Manual,
}

impl CurrentResult {
    /// Classifies a verdict on the checkout.
    pub fn of(verdict: &Verdict) -> Self {
        match verdict.failure() {
            None => Self::Passes,
            Some(failure) if failure.is_inconclusive() => Self::CannotRun(failure.to_string()),
            Some(failure) => Self::Fails(failure.to_string()),
        }
    }

    pub const fn word(&self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Fails(_) => "FAILS",
            Self::CannotRun(_) => "cannot run",
            Self::Manual => "manual",
        }
    }

    /// The failure, or why it can't run; empty otherwise.
    pub fn because(&self) -> &str {
        match self {
            Self::Fails(because) | Self::CannotRun(because) => because,
            Self::Passes | Self::Manual => "",
        }
    }
}

/// The conclusion about a step from its file's claim, its record, and the result of its contract now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RerunOutcome {
    Holds,
    /// A person confirmed it, and only a person can.
    Confirmed,
    /// Neither claimed nor done.
    Open,
    /// The file marks it as done, but its contract fails.
    False,
    /// Its receipt shows a pass, but its contract fails now.
    Broken,
    /// Its receipt is for a contract that the plan no longer has.
    Moved,
    /// Claimed as done, but unverifiable: it has no contract, or one that can't run.
    Unknown,
}

impl RerunOutcome {
    /// `contract` is the hash of the plan's current contract, with the exit code that means done.
    ///
    /// | claimed or recorded | contract now | settled |
    /// |---|---|---|
    /// | anything, receipt for another contract | passes | moved |
    /// | anything | passes | holds |
    /// | receipt, same contract | fails | broken |
    /// | mark | fails | false |
    /// | nothing | fails | open |
    /// | receipt or mark | cannot run | unknown |
    /// | nothing | cannot run | open |
    /// | confirmed by a person | manual | confirmed |
    /// | mark alone | manual | unknown |
    /// | nothing | manual | open |
    pub fn of(claim: MarkClaim, recorded: &Recorded, contract: (&str, u8), now: &CurrentResult) -> Self {
        let is_claimed = claim == MarkClaim::Done;
        let proof = recorded.proof();
        let is_moved = proof.is_some_and(|proof| {
            proof.contract != contract.0 || proof.expect.is_some_and(|expect| expect != contract.1)
        });
        match now {
            CurrentResult::Passes if is_moved => Self::Moved,
            CurrentResult::Passes => Self::Holds,
            CurrentResult::Fails(_) if proof.is_some() && !is_moved => Self::Broken,
            CurrentResult::Fails(_) if is_claimed => Self::False,
            CurrentResult::CannotRun(_) if is_claimed || proof.is_some() => Self::Unknown,
            CurrentResult::Manual if recorded.is_confirmed() => Self::Confirmed,
            CurrentResult::Manual if is_claimed => Self::Unknown,
            CurrentResult::Fails(_) | CurrentResult::CannotRun(_) | CurrentResult::Manual => Self::Open,
        }
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Confirmed => "confirmed",
            Self::Open => "open",
            Self::False => "FALSE",
            Self::Broken => "BROKEN",
            Self::Moved => "MOVED",
            Self::Unknown => "unknown",
        }
    }

    /// Whether something is wrong: a claim that doesn't hold, or a receipt for something else.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::False | Self::Broken | Self::Moved => true,
            Self::Holds | Self::Confirmed | Self::Open | Self::Unknown => false,
        }
    }
}
