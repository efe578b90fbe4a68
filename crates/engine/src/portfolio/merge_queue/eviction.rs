//! Plans that were evicted and have not been merged since, so that someone attends to them.

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::plan::lifecycle::PlanState;
use schemars::JsonSchema;
use serde::Serialize;

use super::Error;
use super::candidate::exact;
use crate::approval::Approvals;
use crate::git::repository::{BRANCH_PREFIX, OwnedRefs};
use crate::store::plan_file;
use crate::store::worktree_registry;

/// A plan that is done, was evicted from a merge, and has not landed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvictedView {
    /// The plan.
    pub plan: String,
    /// Its file, relative to the root of the project.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// The branch that it was to go into.
    pub into: String,
    /// Why it did not.
    pub why: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
}

/// The plans that the last merge evicted and whose branches still exist and were not merged by hand either;
/// oldest first.
pub fn evicted(decisions: &Approvals) -> Result<Vec<EvictedView>, Error> {
    let plans = decisions.runs().store().plans_evicted()?;
    if plans.is_empty() {
        return Ok(Vec::new());
    }
    let Some(keep) = OwnedRefs::find(&decisions.runs().project().root)? else { return Ok(Vec::new()) };
    let mut outcasts = Vec::new();
    for path in plans {
        let case = decisions.case_of(path.clone())?;
        let (PlanState::Done, Some(said)) = (case.state(), &case.standing.evicted) else { continue };
        let LedgerEntry::Evicted { into, with, evidence, paths, .. } = &said.entry else { continue };
        let plan = plan_file::name(&path);
        let is_its = |tree: &worktree_registry::RegisteredWorktree| {
            tree.owner.is_none() && tree.repository == keep.common() && tree.plan.as_ref() == Some(&path)
        };
        let of_tree = worktree_registry::trees().into_iter().find(is_its).and_then(|tree| tree.branch);
        let branch = of_tree.unwrap_or_else(|| format!("{BRANCH_PREFIX}{plan}"));
        let (Some(tip), Some(head)) = (exact(&keep, &branch)?, exact(&keep, into)?) else { continue };
        if keep.is_ancestor(&tip, &head)? {
            continue;
        }
        let with = if with.is_empty() { into.clone() } else { with.join(" and ") };
        let why = match evidence {
            Some(evidence) if evidence.plan == plan => {
                format!("was evicted: it fails in combination with {with}")
            }
            Some(evidence) => format!("was evicted: it breaks {} in combination with {with}", evidence.plan),
            None => format!("was evicted: {with} changed the same lines of {}", paths.join(", ")),
        };
        let since_ms = said.at_ms;
        let path = path.to_string_lossy().into_owned();
        outcasts.push(EvictedView { plan, path, branch, into: into.clone(), why, since_ms });
    }
    outcasts.sort_by_key(|outcast| outcast.since_ms);
    Ok(outcasts)
}
