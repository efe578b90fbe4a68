//! The vocabulary of what was said about a plan before and between its runs: proposals, decisions, comments, in the order in
//! which they were made. Owns no state: [`crate::approval::status`] folds entries into one.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::baseline::Red;
use crate::run::event::{Agents, Blob, Outcome};
use crate::workspace::merge_queue::Evidence;

/// One thing that was said about a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry")]
pub enum Entry {
    /// Somebody asks for an approval. Only a plan without errors gets here.
    #[serde(rename = "plan.proposed")]
    Proposed {
        /// The revision, counted from 1; another text with the same meaning is the same revision.
        revision: u32,
        /// Exactly what is proposed.
        subject: Subject,
        by: Who,
        /// The text, byte for byte.
        text: Blob,
        /// The dialect that it is written in.
        dialect: String,
        /// How many warnings the checker has.
        warnings: u32,
        /// What the contracts say before the work.
        #[serde(default)]
        red: Vec<Red>,
        /// Whether who asks wrote the text, and did not only find it there: an agent writes over its own texts alone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_handed_in: bool,
    },
    /// Somebody who may says yes.
    #[serde(rename = "plan.approved")]
    Approved {
        revision: u32,
        /// Exactly what is approved.
        subject: Subject,
        by: Who,
        /// In which way: `terminal`, `rev` or `policy`.
        way: String,
        /// What they say to whoever carries it out.
        #[serde(default)]
        note: String,
        /// The rule that gave them the right.
        rule: String,
        /// How many different people have to say yes.
        needed: u32,
        /// The hash of the policy that held; empty where there is none.
        #[serde(default)]
        policy: String,
        /// Until when it holds, in milliseconds since 1970.
        #[serde(default)]
        until_ms: Option<u64>,
        /// The signature over [`statement`], in the format of `ssh-keygen -Y`.
        #[serde(default)]
        signature: Option<String>,
    },
    #[serde(rename = "plan.rejected")]
    Rejected {
        revision: u32,
        /// The digest of the plan.
        digest: String,
        by: Who,
        feedback: String,
    },
    /// A remark, which moves nothing.
    #[serde(rename = "plan.commented")]
    Commented {
        /// Its number, counted from 1.
        comment: u32,
        /// The revision that it is about.
        revision: u32,
        /// The id of the step that it is about; `None`: the whole plan.
        step: Option<String>,
        by: Who,
        text: String,
    },
    /// A remark was seen to.
    #[serde(rename = "comment.answered")]
    Answered { comment: u32, by: Who, text: String },
    /// Somebody wrote the plan and says why it is as it is. Moves nothing.
    #[serde(rename = "plan.drafted")]
    Drafted {
        /// Who wrote it: a planner, or whoever handed its answer in.
        by: Who,
        /// The digest of what they wrote.
        digest: String,
        /// What they were asked for, and what they say to it.
        drafting: Drafting,
    },
    /// Somebody who was at work on a step came upon other work. Moves nothing.
    #[serde(rename = "work.discovered")]
    Discovered {
        /// Its number, counted from 1.
        number: u32,
        /// The id of the step that they were at; `None`: the plan as a whole.
        step: Option<String>,
        by: Who,
        /// What is to be done, in a line.
        title: String,
        /// What else they say of it.
        #[serde(default)]
        text: String,
        /// The attempt that reported it: `run/step/attempt/place`; `None`: somebody typed it.
        #[serde(default)]
        source: Option<String>,
    },
    /// Discovered work became a step of the plan. The edit itself is in the file, and has to be approved.
    #[serde(rename = "work.added")]
    Added {
        /// The number of the discovery.
        number: u32,
        /// The id of the new step.
        step: String,
        by: Who,
    },
    /// The plan goes back to its author.
    #[serde(rename = "plan.reopened")]
    Reopened { by: Who, why: String },
    /// The plan is over before it ran.
    #[serde(rename = "plan.cancelled")]
    Cancelled {
        /// Who says so: a person, or age.
        by: Who,
        why: String,
    },
    /// What was approved is not what would be run.
    #[serde(rename = "plan.lapsed")]
    Lapsed {
        /// What moved, in words.
        moved: Vec<String>,
    },
    /// A run began on the strength of the approval.
    #[serde(rename = "plan.started")]
    Started {
        /// The number of the run.
        run: i64,
        by: Who,
    },
    /// That run is over.
    #[serde(rename = "plan.ended")]
    Ended {
        /// The number of the run.
        run: i64,
        outcome: Outcome,
        /// Whether the plan was sent back to its author.
        #[serde(default)]
        is_revised: bool,
    },
    /// A decision was taken back before anybody acted on it.
    #[serde(rename = "decision.undone")]
    Undone {
        /// The place of the decision in the ledger.
        seq: u64,
        /// Who took it back.
        by: Who,
    },
    /// The work of the plan is in a branch of the repository.
    #[serde(rename = "plan.merged")]
    Merged {
        into: String,
        /// The commit that the branch stood at then.
        commit: String,
        /// The commit of the plan's own branch that was merged.
        tip: String,
        /// The plans that landed in the same act, this one included, in merge order.
        with: Vec<String>,
        /// Who had it merged.
        by: Who,
    },
    /// The work of the plan could not be merged, and somebody has to look at it.
    #[serde(rename = "plan.evicted")]
    Evicted {
        /// The branch that it was to go into.
        into: String,
        /// The commit that the branch stood at.
        onto: String,
        /// The commit of the plan's own branch.
        tip: String,
        /// The plans together with which it breaks, or that changed the same lines; none: it does so by itself.
        #[serde(default)]
        with: Vec<String>,
        /// The contract that fails; `None`: it can't be merged.
        #[serde(default)]
        evidence: Option<Evidence>,
        /// The files that two sides changed; none where it could be merged.
        #[serde(default)]
        paths: Vec<String>,
        /// Who wanted it merged.
        by: Who,
    },
    /// The plan was put out of the way.
    #[serde(rename = "plan.archived")]
    Archived {
        /// Where it lies now, relative to the project.
        to: String,
        by: Who,
    },
    /// The plan was deleted.
    #[serde(rename = "plan.deleted")]
    Deleted {
        /// Its last text, byte for byte.
        backup: Blob,
        /// The dialect that it is written in.
        dialect: String,
        by: Who,
    },
}

impl Entry {
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

    /// What makes the entry unique in its ledger: the same thing happens once. `None` for what may be said again.
    pub fn key(&self) -> Option<String> {
        match self {
            Self::Started { run, .. } => Some(format!("{run}/plan.started")),
            Self::Ended { run, .. } => Some(format!("{run}/plan.ended")),
            Self::Undone { seq, .. } => Some(format!("{seq}/decision.undone")),
            Self::Discovered { source: Some(source), .. } => Some(format!("{source}/work.discovered")),
            Self::Added { number, .. } => Some(format!("{number}/work.added")),
            Self::Merged { commit, .. } => Some(format!("{commit}/plan.merged")),
            // The same branches come to the same end, however often that is asked for.
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

    /// Who said it; `None`: the harness found it.
    pub const fn by(&self) -> Option<&Who> {
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

/// What a planner was asked for, and what it says to its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Drafting {
    /// What was wished for.
    pub task: String,
    /// Why the plan is as it is, in the planner's words.
    pub reasoning: String,
    /// What is different from the version before, in the planner's words.
    pub changes: String,
    /// How often the planner was asked; 0: somebody handed the answer in.
    pub tries: u32,
    /// Files of the workspace that changed while the planner was at work, which it had no business with.
    pub changed: Vec<String>,
    /// Why there had to be another version; `None` for the first one.
    pub after: Option<Setback>,
}

/// What went wrong with the version before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Setback {
    pub previous: String,
    /// The id of the step that failed.
    pub step: String,
    pub error: String,
    /// What was found out meanwhile.
    pub discoveries: Vec<String>,
    /// What has to be kept to from then on.
    pub constraints: Vec<String>,
}

/// Exactly what somebody says yes to. If any of it moves, the yes is void.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// The digest of the plan: what it says, and the exact text of its contracts.
    pub digest: String,
    /// The hash of every sealed file, by its path.
    #[serde(default)]
    pub sealed: BTreeMap<String, String>,
    /// Where the work begins, if that is a repository.
    #[serde(default)]
    pub base: Option<Base>,
    /// The command lines of the agents, by the target of the steps that they do.
    #[serde(default)]
    pub agents: Agents,
}

/// Where the work begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    pub commit: String,
    pub tree: String,
    /// The branch that stood there; `None`: none did.
    pub branch: Option<String>,
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let branch = self.branch.as_deref().unwrap_or("HEAD");
        write!(f, "{branch}@{}", &self.commit[..self.commit.len().min(7)])
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Who {
    /// The name, as far as it is known.
    pub name: String,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Somebody at a terminal, or with a key.
    Person,
    /// A program that writes or carries out plans.
    Agent,
    /// A rule that a person wrote.
    Policy,
    /// planwright itself, because time went by.
    Age,
}

impl Who {
    pub fn person(name: impl Into<String>) -> Self {
        Self { name: name.into(), role: Role::Person }
    }

    pub fn agent(name: impl Into<String>) -> Self {
        Self { name: name.into(), role: Role::Agent }
    }

    pub fn policy(rule: impl Into<String>) -> Self {
        Self { name: rule.into(), role: Role::Policy }
    }

    /// Nobody: time went by.
    pub fn age() -> Self {
        Self { name: "age".to_owned(), role: Role::Age }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Person | Role::Age => f.write_str(&self.name),
            Role::Agent => write!(f, "{} (an agent)", self.name),
            Role::Policy => write!(f, "policy rule `{}`", self.name),
        }
    }
}

/// The text that is signed with an approval: one line of JSON whose fields stand in this order, without a line break.
pub fn statement(plan: &str, entry: &Entry) -> Option<String> {
    let Entry::Approved { revision, subject, by, note, until_ms, .. } = entry else { return None };
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
