//! The vocabulary of decisions about a plan before and between its runs: proposals, approvals, comments, in
//! order. Owns no state: [`crate::approval::status`] folds entries into one.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::identity::Identity;
use crate::run::baseline::Baseline;
use crate::run::event::{AgentCommands, RunOutcome};
use crate::run::receipt::Blob;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry")]
pub enum LedgerEntry {
    /// Somebody asks for approval. Only for a plan without errors.
    #[serde(rename = "plan.proposed")]
    Proposed {
        /// Counted from 1; a different text with the same meaning is the same revision.
        revision: u32,
        /// Exactly what is proposed.
        subject: ApprovalSubject,
        by: Identity,
        /// The text, byte for byte.
        text: Blob,
        dialect: String,
        /// The number of the checker's warnings.
        warnings: u32,
        /// The results of the contracts before the work.
        #[serde(default)]
        red: Vec<Baseline>,
        /// Whether the proposer wrote the text, rather than found it: an agent may only overwrite its own
        /// texts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_handed_in: bool,
    },
    /// Somebody who may approve does.
    #[serde(rename = "plan.approved")]
    Approved {
        revision: u32,
        /// Exactly what is approved.
        subject: ApprovalSubject,
        by: Identity,
        /// `terminal`, `rev` or `policy`.
        way: String,
        /// A note to the agents that run the plan.
        #[serde(default)]
        note: String,
        /// The rule that authorized the approval.
        rule: String,
        /// How many different people have to approve.
        needed: u32,
        /// The hash of the policy in effect; empty without one.
        #[serde(default)]
        policy: String,
        /// When it expires, in milliseconds since 1970.
        #[serde(default)]
        until_ms: Option<u64>,
        /// The signature over [`statement`], in the format of `ssh-keygen -Y`.
        #[serde(default)]
        signature: Option<String>,
    },
    #[serde(rename = "plan.rejected")]
    Rejected { revision: u32, digest: String, by: Identity, feedback: String },
    /// A comment, which changes no state.
    #[serde(rename = "plan.commented")]
    Commented {
        /// Counted from 1.
        comment: u32,
        revision: u32,
        /// `None` for the whole plan.
        step: Option<String>,
        by: Identity,
        text: String,
    },
    /// A comment was answered.
    #[serde(rename = "comment.answered")]
    Answered { comment: u32, by: Identity, text: String },
    /// Somebody wrote the plan and gives reasons for it. Changes no state.
    #[serde(rename = "plan.drafted")]
    Drafted {
        /// A planner, or whoever submitted its answer.
        by: Identity,
        /// The digest of what they wrote.
        digest: String,
        /// The request, and the planner's comments on its answer.
        drafting: Drafting,
    },
    /// An agent or a person found follow-up work. Changes no state.
    #[serde(rename = "work.discovered")]
    Discovered {
        /// Counted from 1.
        number: u32,
        /// The step they worked on; `None` for the plan as a whole.
        step: Option<String>,
        by: Identity,
        /// One line.
        title: String,
        /// Further details.
        #[serde(default)]
        text: String,
        /// The attempt that reported it, as `run/step/attempt/place`; `None` if a person typed it.
        #[serde(default)]
        source: Option<String>,
    },
    /// Follow-up work became a step of the plan. The edit itself is in the file, and has to be approved.
    #[serde(rename = "work.added")]
    Added {
        /// The number of the follow-up work.
        number: u32,
        /// The id of the new step.
        step: String,
        by: Identity,
    },
    /// The plan goes back to its author.
    #[serde(rename = "plan.reopened")]
    Reopened { by: Identity, why: String },
    /// The plan ended before it ran.
    #[serde(rename = "plan.cancelled")]
    Cancelled {
        /// A person, or age.
        by: Identity,
        why: String,
    },
    /// The approval lapsed: what would run isn't what was approved.
    #[serde(rename = "plan.lapsed")]
    Lapsed {
        /// What changed, in prose.
        moved: Vec<String>,
    },
    /// A run started under the approval.
    #[serde(rename = "plan.started")]
    Started { run: i64, by: Identity },
    /// The run finished.
    #[serde(rename = "plan.ended")]
    Ended {
        run: i64,
        outcome: RunOutcome,
        /// Whether the plan was sent back to its author.
        #[serde(default)]
        is_revised: bool,
    },
    /// A decision was undone before anybody acted on it.
    #[serde(rename = "decision.undone")]
    Undone {
        /// The position of the decision in the ledger.
        seq: u64,
        by: Identity,
    },
    /// The plan was merged into a branch of the repository.
    #[serde(rename = "plan.merged")]
    Merged {
        into: String,
        /// The resulting commit of the branch.
        commit: String,
        /// The merged commit of the plan's own branch.
        tip: String,
        /// The plans merged together, including this one, in merge order.
        with: Vec<String>,
        by: Identity,
    },
    /// The plan could not be merged and needs a person.
    #[serde(rename = "plan.evicted")]
    Evicted {
        /// The target branch.
        into: String,
        /// The commit of the target branch.
        onto: String,
        /// The commit of the plan's own branch.
        tip: String,
        /// The plans in combination with which it fails, or that changed the same lines; empty if it fails
        /// alone.
        #[serde(default)]
        with: Vec<String>,
        /// The contract that fails; `None` if it can't be merged.
        #[serde(default)]
        evidence: Option<Evidence>,
        /// The files in conflict; empty if it could be merged.
        #[serde(default)]
        paths: Vec<String>,
        /// Who requested the merge.
        by: Identity,
    },
    #[serde(rename = "plan.archived")]
    Archived {
        /// The new path, relative to the project.
        to: String,
        by: Identity,
    },
    #[serde(rename = "plan.deleted")]
    Deleted {
        /// Its last text, byte for byte.
        backup: Blob,
        dialect: String,
        by: Identity,
    },
}

impl LedgerEntry {
    /// The name that people and programs see.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Proposed { .. } => "plan.proposed",
            Self::Approved { .. } => "plan.approved",
            Self::Rejected { .. } => "plan.rejected",
            Self::Commented { .. } => "plan.commented",
            Self::Answered { .. } => "comment.answered",
            Self::Drafted { .. } => "plan.drafted",
            Self::Discovered { .. } => "work.discovered",
            Self::Added { .. } => "work.added",
            Self::Reopened { .. } => "plan.reopened",
            Self::Cancelled { .. } => "plan.cancelled",
            Self::Lapsed { .. } => "plan.lapsed",
            Self::Started { .. } => "plan.started",
            Self::Ended { .. } => "plan.ended",
            Self::Undone { .. } => "decision.undone",
            Self::Merged { .. } => "plan.merged",
            Self::Evicted { .. } => "plan.evicted",
            Self::Archived { .. } => "plan.archived",
            Self::Deleted { .. } => "plan.deleted",
        }
    }

    /// What makes the entry unique within its ledger; `None` if it may be repeated.
    pub fn key(&self) -> Option<String> {
        match self {
            Self::Started { run, .. } => Some(format!("{run}/plan.started")),
            Self::Ended { run, .. } => Some(format!("{run}/plan.ended")),
            Self::Undone { seq, .. } => Some(format!("{seq}/decision.undone")),
            Self::Discovered { source: Some(source), .. } => Some(format!("{source}/work.discovered")),
            Self::Added { number, .. } => Some(format!("{number}/work.added")),
            Self::Merged { commit, .. } => Some(format!("{commit}/plan.merged")),
            // The same branches give the same result, however often a merge is requested.
            Self::Evicted { onto, tip, with, .. } => {
                Some(format!("{onto}/{tip}/{}/plan.evicted", with.join(",")))
            }
            Self::Proposed { .. }
            | Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::Commented { .. }
            | Self::Answered { .. }
            | Self::Drafted { .. }
            | Self::Discovered { source: None, .. }
            | Self::Reopened { .. }
            | Self::Cancelled { .. }
            | Self::Lapsed { .. }
            | Self::Archived { .. }
            | Self::Deleted { .. } => None,
        }
    }

    /// `None` if planwright found it.
    pub const fn by(&self) -> Option<&Identity> {
        match self {
            Self::Proposed { by, .. }
            | Self::Approved { by, .. }
            | Self::Rejected { by, .. }
            | Self::Commented { by, .. }
            | Self::Answered { by, .. }
            | Self::Drafted { by, .. }
            | Self::Discovered { by, .. }
            | Self::Added { by, .. }
            | Self::Reopened { by, .. }
            | Self::Cancelled { by, .. }
            | Self::Started { by, .. }
            | Self::Undone { by, .. }
            | Self::Merged { by, .. }
            | Self::Evicted { by, .. }
            | Self::Archived { by, .. }
            | Self::Deleted { by, .. } => Some(by),
            Self::Lapsed { .. } | Self::Ended { .. } => None,
        }
    }
}

/// What a planner was asked for, and its comments on its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Drafting {
    pub task: String,
    /// Why the plan is as it is, in the planner's words.
    pub reasoning: String,
    /// What changed since the previous version, in the planner's words.
    pub changes: String,
    /// How often the planner was asked; 0 if somebody submitted the answer.
    pub tries: u32,
    /// Files of the workspace that changed while the planner ran, which it was not allowed to.
    pub changed: Vec<String>,
    /// Why a new version was needed; `None` for the first one.
    pub after: Option<Setback>,
}

/// What went wrong with the previous version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Setback {
    pub previous: String,
    /// The id of the failed step.
    pub step: String,
    pub error: String,
    /// What was found in the meantime.
    pub discoveries: Vec<String>,
    /// Constraints from then on.
    pub constraints: Vec<String>,
}

/// Exactly what is approved. If any of it changes, the approval is void.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalSubject {
    /// Covers the plan's meaning, and the exact text of its contracts.
    pub digest: String,
    /// The hash of every sealed file, by path.
    #[serde(default)]
    pub sealed: BTreeMap<String, String>,
    /// The base of the work, if it is a repository.
    #[serde(default)]
    pub base: Option<Base>,
    /// The agent commands, by step target.
    #[serde(default)]
    pub agents: AgentCommands,
    /// The programs that contracts call, by name: where each is, and its hash where the approver could replace it. Empty in
    /// approvals by planwright 0.1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
}

/// The base of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    pub commit: String,
    pub tree: String,
    /// `None` for a detached head.
    pub branch: Option<String>,
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let branch = self.branch.as_deref().unwrap_or("HEAD");
        write!(f, "{branch}@{}", &self.commit[..self.commit.len().min(7)])
    }
}

/// What shows that plans don't work together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The plan whose contract failed.
    pub plan: String,
    pub step: String,
    /// Empty if a sealed file is the cause.
    pub contract: String,
    /// Such as `exit 1`.
    pub failure: String,
    /// The end of the contract's output.
    pub output: String,
}

/// The text that an approval signs: one line of JSON with its fields in this order and no newline.
pub fn statement(plan: &str, entry: &LedgerEntry) -> Option<String> {
    let LedgerEntry::Approved { revision, subject, by, note, until_ms, .. } = entry else { return None };
    let statement = serde_json::json!({
        "planwright": "approval/1",
        "plan": plan,
        "revision": revision,
        "subject": subject,
        "by": by.name,
        "note": note,
        "until_ms": until_ms,
    });
    Some(statement.to_string())
}
