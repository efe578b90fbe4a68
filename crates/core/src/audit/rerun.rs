//! What running contracts again tells: whether what a file claims holds, whether a receipt still does, and who broke it.
//! Marks are read and never written; a receipt is compared and never believed.

mod external_input;
mod claim;
mod finding;
mod history;
mod blame;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::judge::{Failure, Verdict};

pub use blame::{Broke, Known, Suspect, first_bad, suspect};
pub use claim::{AsRead, Claim, as_read};
pub use external_input::beyond;
pub use finding::finding;
pub use history::{History, Proof, Recorded, Work};

/// What a contract says now, on a fresh checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "says", content = "because")]
pub enum Now {
    Passes,
    /// It fails; says how.
    Fails(String),
    /// It could not be run, so nothing is known; says why.
    CannotRun(String),
    /// There is no contract: only a person can tell.
    Manual,
}

impl Now {
    /// What a verdict on the checkout means.
    pub fn of(verdict: &Verdict) -> Self {
        match verdict.failure() {
            None => Self::Passes,
            Some(failure @ (Failure::CannotRun(_) | Failure::NotStarted(_) | Failure::Timeout(_))) => {
                Self::CannotRun(failure.to_string())
            }
            Some(failure @ (Failure::Code(_) | Failure::Signal(_) | Failure::Opinion { .. })) => {
                Self::Fails(failure.to_string())
            }
        }
    }

    /// The word that every face shows.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Fails(_) => "FAILS",
            Self::CannotRun(_) => "cannot run",
            Self::Manual => "manual",
        }
    }

    /// How it fails, or why it can't be run; empty otherwise.
    pub fn because(&self) -> &str {
        match self {
            Self::Fails(because) | Self::CannotRun(because) => because,
            Self::Passes | Self::Manual => "",
        }
    }
}

/// What follows for a step from what its file claims, what is recorded of it, and what its contract says now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Settled {
    Holds,
    /// A person confirmed it, and nobody else can.
    Confirmed,
    /// Nobody says that it is done, and it is not.
    Open,
    /// The file says that it is done, and its contract fails.
    False,
    /// Its receipt says that it passed, and its contract fails now.
    Broken,
    /// Its receipt is about another contract than the plan has now.
    Moved,
    /// It is said to be done, and nobody can tell: no contract, or one that can't be run.
    Unknown,
}

impl Settled {
    /// What follows. `contract` is the hash of the contract that the plan has now, with the exit code that means done.
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
    pub fn of(claim: Claim, recorded: &Recorded, contract: (&str, u8), now: &Now) -> Self {
        let is_claimed = claim == Claim::Done;
        let proof = recorded.proof();
        let is_moved = proof.is_some_and(|proof| {
            proof.contract != contract.0 || proof.expect.is_some_and(|expect| expect != contract.1)
        });
        match now {
            Now::Passes if is_moved => Self::Moved,
            Now::Passes => Self::Holds,
            Now::Fails(_) if proof.is_some() && !is_moved => Self::Broken,
            Now::Fails(_) if is_claimed => Self::False,
            Now::CannotRun(_) if is_claimed || proof.is_some() => Self::Unknown,
            Now::Manual if recorded.is_confirmed() => Self::Confirmed,
            Now::Manual if is_claimed => Self::Unknown,
            Now::Fails(_) | Now::CannotRun(_) | Now::Manual => Self::Open,
        }
    }

    /// The word that every face shows.
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

    /// Whether something is wrong: a claim that does not hold, or a receipt that is about something else.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::False | Self::Broken | Self::Moved => true,
            Self::Holds | Self::Confirmed | Self::Open | Self::Unknown => false,
        }
    }
}
