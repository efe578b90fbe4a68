//! Merges the work of finished plans into a branch: in merge order, with all of their contracts run again on
//! the result. `planwright_core::integrate` decides which plans are merged; this module gathers them, tests
//! them and moves the branch.
//!
//! No branch is forced or deleted. Before anything moves, an intent is recorded; a crash leaves the old
//! state, or one that the next merge finishes.

mod eviction;
mod candidate;
mod land;
mod trial;

use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::{Evidence, LedgerEntry};
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::workspace::merge_queue::{
    Bisection, EvictionReason, MergeOutcome, NextTrial, QueuedPlan,
};
use planwright_core::workspace::portfolio::Cycle;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

pub use eviction::{EvictedView, evicted};

use crate::approval;
use crate::approval::Approvals;
use crate::git::base;
use crate::git::repository;
use crate::run;
use crate::store::journal::{self, Store};
use crate::store::plan_file;
use crate::store::state_dir;
use crate::system::process::Stop;
use crate::workspace::project;
use crate::workspace::project::Project;
use crate::workspace::repository_set;
use candidate::Batch;
use land::Land;
use trial::Bench;

/// How often a merge restarts because the branch moved meanwhile.
const RESTARTS_MAX: usize = 5;
/// The lock that one merge at a time holds.
const LOCK: &str = "merge";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Decisions(#[from] approval::Error),
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error(transparent)]
    Runs(#[from] run::Error),
    #[error("cannot access the journal")]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Keep(#[from] repository::Error),
    #[error(transparent)]
    Base(#[from] base::Error),
    /// No contract can run on the merged result.
    #[error(transparent)]
    Checkout(base::Error),
    #[error(transparent)]
    Repositories(#[from] repository_set::Error),
    #[error("cannot use the state directory of the project")]
    State(#[from] state_dir::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error("dependency cycle, no merge order: {0}")]
    Cycle(#[from] Cycle),
    /// This is a plan's worktree.
    #[error("cannot merge in worktree `{name}`; merge in {}", origin.display())]
    InTree {
        name: String,
        /// The workspace it was created from.
        origin: PathBuf,
    },
    /// There is no branch to merge into.
    #[error("HEAD is detached in {}", root.display())]
    NoBranch { root: PathBuf },
    #[error("branch `{branch}` not found in {}", root.display())]
    UnknownBranch { branch: String, root: PathBuf },
    /// Its files are in another directory, which would not follow.
    #[error("`{branch}` is checked out in {}", path.display())]
    Elsewhere { branch: String, path: PathBuf },
    /// Git is in the middle of something.
    #[error("{act} is in progress in {}", root.display())]
    Busy { act: &'static str, root: PathBuf },
    #[error("another merge is running in this repository ({holder})")]
    Held { holder: String },
    #[error("{plan} is {state}; only finished plans can be merged")]
    NotDone { plan: String, state: PlanState },
    #[error("{plan} has no branch `{branch}`: it ran in the workspace, where its work already is")]
    NoWork {
        plan: String,
        /// The branch it would have.
        branch: String,
    },
    #[error("local changes would be overwritten by the merge: {}", paths.join(", "))]
    Edited { paths: Vec<String> },
    #[error("`{branch}` moved {RESTARTS_MAX} times while plans were being merged into it")]
    Restless { branch: String },
    #[error("interrupted; nothing was merged")]
    Stopped,
}

#[derive(Debug, Clone, Default)]
pub struct MergeOptions {
    /// Empty: every finished plan with a branch.
    pub plans: Vec<PathBuf>,
    /// `None`: the current branch.
    pub into: Option<String>,
    pub act: MergeAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeAction {
    #[default]
    Land,
    /// Branches are merged in memory, no contract runs, and nothing moves.
    Rehearse,
}

#[derive(Debug, Clone, Copy)]
pub enum MergeNotice<'a> {
    /// An interrupted merge was finished.
    Finished(&'a [String]),
    Order(&'a [PlannedMerge]),
    /// These plans are tested in combination.
    Trying(&'a [&'a str]),
    /// A contract ran on the merged result.
    Contract {
        plan: &'a str,
        step: &'a str,
        /// `None` if it passed.
        failure: Option<&'a str>,
        milliseconds: u64,
    },
    /// The branch moved: the merge restarts.
    Again(&'a str),
}

/// A plan in merge order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedMerge {
    pub plan: String,
    /// Relative to the root of the project.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    pub branch: String,
    /// The commit of the branch.
    pub tip: String,
    /// How many lines it changes.
    pub lines: u64,
    /// The plans of the batch that it depends on.
    pub after: Vec<String>,
    /// Other repositories that contain its work.
    pub repositories: Vec<String>,
}

/// A plan that was not merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evicted {
    pub plan: String,
    /// Relative to the root of the project.
    #[serde(skip)]
    pub path: PathBuf,
    /// Its branch, which stays as it is.
    pub branch: String,
    /// `contract` or `conflict`.
    pub reason: &'static str,
    /// The plans in combination with which it fails, or which changed the same lines.
    pub with: Vec<String>,
    /// The failing contract; `None` if it conflicts.
    pub evidence: Option<Evidence>,
    /// The conflicting files.
    pub paths: Vec<String>,
    /// Other repositories that contain its work.
    #[serde(skip)]
    pub repositories: Vec<String>,
}

/// A plan that must wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldPlan {
    pub plan: String,
    pub why: String,
}

/// A branch that moved, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetMoved {
    /// `None`: the project's own.
    pub repository: Option<String>,
    pub branch: String,
    /// Its commit before.
    pub from: String,
    /// Its commit now.
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct MergeReport {
    /// The branch of the project's own repository.
    pub into: String,
    /// Whether nothing was run and nothing was moved.
    pub is_rehearsal: bool,
    /// The plans in merge order.
    pub order: Vec<PlannedMerge>,
    /// Those that were merged, or would be, in order.
    pub landed: Vec<String>,
    /// Those that were not, and why.
    pub evicted: Vec<Evicted>,
    /// Those that must wait.
    pub held: Vec<HeldPlan>,
    /// Those whose work was already in the branch.
    pub already: Vec<String>,
    /// Those of an interrupted merge that was finished now.
    pub finished: Vec<String>,
    /// The branches that moved, or would.
    pub moved: Vec<TargetMoved>,
    /// How often contracts ran on a merged result.
    pub trials: usize,
}

/// A path as text, whatever its bytes are.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Merges plans. `watch` receives progress.
pub fn merge(
    project: &Project,
    options: &MergeOptions,
    by: &Identity,
    stop: &Stop,
    watch: &mut dyn FnMut(MergeNotice<'_>),
) -> Result<MergeReport, Error> {
    if let Some(tree) = repository::tree_around(&project.root)? {
        return Err(Error::InTree { name: tree.name, origin: tree.origin });
    }
    if options.plans.is_empty() && options.into.is_none() && base::of(&project.root)?.is_none() {
        // Without any commit there is no branch, neither a plan's nor anyone's.
        let is_rehearsal = options.act == MergeAction::Rehearse;
        return Ok(MergeReport { into: "HEAD".to_owned(), is_rehearsal, ..MergeReport::default() });
    }
    let decisions = Approvals::open(project)?;
    let store = decisions.runs().store().clone();
    let Some(_lock) = store.lock_named(LOCK)? else {
        let holder = store.holder_named(LOCK)?.map_or_else(String::new, |holder| holder.to_string());
        return Err(Error::Held { holder });
    };
    let mut finished = Vec::new();
    if options.act == MergeAction::Land {
        finished = land::finish(&decisions)?;
        if !finished.is_empty() {
            watch(MergeNotice::Finished(&finished));
        }
    }
    let mut branch = String::new();
    for _ in 0..RESTARTS_MAX {
        let batch = candidate::batch(&decisions, options)?;
        branch.clone_from(&batch.repositories[0].branch);
        let order = batch.order();
        watch(MergeNotice::Order(&order));
        let mut bench = Bench::new(project, &batch, options.act)?;
        let mut search = Bisection::new(
            batch.members.iter().map(|member| QueuedPlan { after: member.after.clone() }).collect(),
        );
        let settled = loop {
            match search.next() {
                NextTrial::Settled(settled) => break settled,
                NextTrial::Try(plans) => {
                    let trial = bench.try_out(&plans, stop, watch)?;
                    search.learn(plans, trial);
                }
            }
        };
        let mut report = told(&batch, &settled, order);
        report.is_rehearsal = options.act == MergeAction::Rehearse;
        report.finished.clone_from(&finished);
        report.trials = if options.act == MergeAction::Land { search.runs() } else { 0 };
        report.moved = bench.moved(&settled.landed)?;
        if options.act == MergeAction::Rehearse {
            return Ok(report);
        }
        match land::land(&decisions, &batch, (&report.moved, &settled.landed), by)? {
            Land::Done => {}
            Land::Moved => {
                watch(MergeNotice::Again(&branch));
                continue;
            }
            Land::Edited(paths) => return Err(Error::Edited { paths }),
        }
        evict(&decisions, &batch, &report, by)?;
        return Ok(report);
    }
    Err(Error::Restless { branch })
}

/// The plans of an interrupted merge, which the next merge finishes. `None` if there is none, or it is still
/// running.
pub fn unfinished(store: &Store) -> Result<Option<Vec<String>>, Error> {
    let pending = land::pending(store);
    let is_held = pending.is_some() && store.holder_named(LOCK)?.is_some();
    Ok(pending.filter(|_| !is_held))
}

fn told(batch: &Batch, settled: &MergeOutcome, order: Vec<PlannedMerge>) -> MergeReport {
    let name = |place: usize| batch.members[place].name.clone();
    let names = |places: &[usize]| places.iter().map(|&place| name(place)).collect::<Vec<String>>();
    let evicted: Vec<Evicted> = settled
        .evicted
        .iter()
        .map(|(place, why)| {
            let member = &batch.members[*place];
            let (with, evidence, paths) = match why {
                EvictionReason::Alone(evidence) => (Vec::new(), Some(evidence.clone()), Vec::new()),
                EvictionReason::With(others, evidence) => (names(others), Some(evidence.clone()), Vec::new()),
                EvictionReason::Conflict(conflict) => (names(&conflict.with), None, conflict.paths.clone()),
            };
            let (plan, path, branch) = (member.name.clone(), member.path.clone(), member.branch.clone());
            let repositories = order[*place].repositories.clone();
            let reason = if evidence.is_some() { "contract" } else { "conflict" };
            Evicted { plan, path, branch, reason, with, evidence, paths, repositories }
        })
        .collect();
    let held = settled.held.iter().map(|&(place, other)| HeldPlan {
        plan: name(place),
        why: format!("depends on {}, which was not merged", name(other)),
    });
    MergeReport {
        into: batch.repositories[0].branch.clone(),
        order,
        landed: names(&settled.landed),
        evicted,
        held: batch.held.iter().cloned().chain(held).collect(),
        already: batch.already.clone(),
        ..MergeReport::default()
    }
}

/// Records why plans were not merged.
fn evict(decisions: &Approvals, batch: &Batch, report: &MergeReport, by: &Identity) -> Result<(), Error> {
    for evicted in &report.evicted {
        let tip = batch.members.iter().find(|member| member.name == evicted.plan);
        decisions.note(
            &evicted.path,
            &LedgerEntry::Evicted {
                into: report.into.clone(),
                onto: batch.repositories[0].head.clone(),
                tip: tip.map(|member| member.tip().to_owned()).unwrap_or_default(),
                with: evicted.with.clone(),
                evidence: evicted.evidence.clone(),
                paths: evicted.paths.clone(),
                by: by.clone(),
            },
        )?;
    }
    Ok(())
}
