//! What proves that a contract was judged, and on whose approval.

use serde::{Deserialize, Serialize};

use crate::plan::identity::Identity;
use crate::run::judge::{ContractRun, Observation, Verdict, judge, judge_observation};
use crate::run::opinion::Opinion;

/// The name of stored bytes: their BLAKE3 hash in hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Blob(pub String);

impl Blob {
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }
}

/// The observation of a contract, the verdict that follows from it, and what both are about. Only
/// [`Receipt::new`] makes one; others can only read one back from the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Receipt {
    pub verdict: Verdict,
    pub observation: Observation,
    /// The digest of the plan that the contract belongs to.
    pub digest: String,
    /// The hash of the command that ran.
    pub contract: String,
    /// How well the attempt was isolated.
    pub tier: String,
    /// Contract output.
    pub output: Blob,
    pub milliseconds: u64,
    /// The hash of the whole workspace content that was judged; empty if not recorded.
    #[serde(default)]
    pub tree: String,
    /// The exit code that means done; `None` if not recorded.
    #[serde(default)]
    pub expect: Option<u8>,
    /// The approvals that the run started on.
    #[serde(default)]
    pub approvals: Vec<ApprovedBy>,
    /// An agent's opinion of the work, if the step asks for one, with its weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
}

/// What a contract was run for: the fields of a receipt that its run does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance {
    pub digest: String,
    pub tier: String,
    pub tree: String,
    pub approvals: Vec<ApprovedBy>,
}

impl Receipt {
    pub fn new(run: &ContractRun, opinion: Option<Opinion>, provenance: Provenance) -> Self {
        let Provenance { digest, tier, tree, approvals } = provenance;
        Self {
            verdict: judge(run, opinion.as_ref()),
            observation: run.observation.clone(),
            digest,
            contract: run.contract.clone(),
            tier,
            output: Blob::of(run.output.as_bytes()),
            milliseconds: run.milliseconds,
            tree,
            expect: run.expect,
            approvals,
            opinion,
        }
    }

    /// Whether the verdict follows from the rest, if exit code `expect` means done.
    pub fn is_consistent(&self, expect: u8) -> bool {
        judge_observation(expect, &self.observation, self.opinion.as_ref()) == self.verdict
    }
}

/// An approval, by its position in the plan's ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedBy {
    pub by: Identity,
    pub seq: u64,
    /// The hash of the entry, which covers everything before it, too.
    pub hash: String,
}
