//! Checks the worktrees of plans and attempts, interrupted operations, and the saved work of finished runs.

use planwright_core::run::event::{Event, RunEvent};
use planwright_core::syntax::count::number;
use planwright_core::workspace::worktree::{CreatedBy, PruneDecision, WorktreeState, typed};

use super::{DoctorFinding, RepairKind};
use crate::agent::planning_session;
use crate::agent::planning_session::Unfinished;
use crate::git::repository;
use crate::git::repository::OwnedRefs;
use crate::git::worktree;
use crate::git::worktree::Worktrees;
use crate::portfolio::merge_queue;
use crate::run::checkout;
use crate::store::journal::Store;
use crate::store::state_dir;
use crate::store::temp_dir;
use crate::system::program;
use crate::workspace::project::Project;

/// How many worktrees a sentence names.
const NAMED_MAX: usize = 5;
const PRUNE: &str = "planwright worktree prune";

/// Whether planwright has any state for the project. A check must not create it.
fn is_known(project: &Project) -> bool {
    program::has_program("git") && state_dir::of_project(&project.root).is_ok_and(|folder| folder.is_dir())
}

/// The worktrees of the repository: in use, unused, and those that need attention.
pub(super) fn trees(project: &Project) -> Vec<DoctorFinding> {
    if !is_known(project) {
        return Vec::new();
    }
    let looked = Worktrees::of(project).and_then(|trees| {
        let (all, unfinished, gone) = (trees.inspect()?, trees.unfinished()?, trees.gone()?);
        Ok((all, unfinished, gone))
    });
    let (all, unfinished, gone) = match looked {
        Ok(found) => found,
        Err(worktree::Error::Keep(repository::Error::NoRepository { .. })) => return Vec::new(),
        Err(error @ worktree::Error::Misplaced { .. }) => {
            return vec![DoctorFinding::doubt("worktrees", &error, "planwright config worktree.folder")];
        }
        Err(error) => return vec![DoctorFinding::doubt("worktrees", &error, "planwright worktree list")],
    };
    let mut findings = states(all.iter().filter(|tree| !unfinished.contains(&tree.name)));
    for name in unfinished {
        let what = format!("creating or removing worktree `{name}` was interrupted");
        let done = format!("cleaned up worktree `{name}`");
        findings.push(DoctorFinding::warn(what, PRUNE).repaired_by(RepairKind::Prune, done));
    }
    if !gone.is_empty() {
        let what = format!("registered worktrees of attempts without a directory: {}", gone.len());
        let done = format!("forgot {} of attempts without a directory", number(gone.len(), "worktree"));
        findings.push(DoctorFinding::mendable(what, RepairKind::ForgetTrees, done));
    }
    findings
}

fn states<'a>(all: impl Iterator<Item = &'a worktree::WorktreeFinding>) -> Vec<DoctorFinding> {
    let (mut active, mut safe, mut findings) = (Vec::new(), Vec::new(), Vec::new());
    for tree in all {
        match (tree.state, &tree.reclaim, &tree.mend) {
            (WorktreeState::Active, _, None) if tree.maker == CreatedBy::Git => {}
            (WorktreeState::Active, _, None) => active.push(tree),
            (WorktreeState::Active, _, Some(mend)) => {
                findings.push(DoctorFinding::warn(format!("worktree `{}` is incomplete", tree.name), mend));
            }
            (WorktreeState::Merged | WorktreeState::Orphaned, PruneDecision::Safe, _) => safe.push(tree),
            (state, reclaim, mend) => {
                let why = match reclaim {
                    PruneDecision::Kept { why } => format!(": {why}"),
                    PruneDecision::Safe => String::new(),
                };
                let what = format!("kept worktree `{}`, {}{why}", tree.name, state.word());
                findings.push(DoctorFinding { fix: mend.clone(), ..DoctorFinding::warn(what, "") });
            }
        }
    }
    if !safe.is_empty() {
        let of = |state: WorktreeState| safe.iter().filter(|tree| tree.state == state).count();
        let which = format!(
            "({} merged, {} orphaned, {} MB): {}",
            of(WorktreeState::Merged),
            of(WorktreeState::Orphaned),
            megabytes(&safe),
            names(&safe)
        );
        let what = format!("unused worktrees can be removed without losing work {which}");
        let done = format!("removed unused worktrees {which}");
        findings.insert(0, DoctorFinding::warn(what, PRUNE).repaired_by(RepairKind::Prune, done));
    }
    if !active.is_empty() {
        let what = format!("worktrees in use: {} ({} MB)", names(&active), megabytes(&active));
        findings.insert(0, DoctorFinding::ok(what));
    }
    findings
}

fn megabytes(trees: &[&worktree::WorktreeFinding]) -> u64 {
    trees.iter().map(|tree| tree.bytes).sum::<u64>().div_ceil(1_000_000)
}

fn names(trees: &[&worktree::WorktreeFinding]) -> String {
    let more = trees.len().saturating_sub(NAMED_MAX);
    let names: Vec<&str> = trees.iter().take(NAMED_MAX).map(|tree| tree.name.as_str()).collect();
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

/// Interrupted operations that the next command finishes: merges, and commits of planners.
pub(super) fn unfinished(project: &Project) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    // A store that cannot be opened is reported on its own.
    let store = Store::exists(&project.root).ok().filter(|&is_there| is_there);
    if let Some(store) = store.and_then(|_| Store::open(&project.root).ok()) {
        match merge_queue::unfinished(&store) {
            Ok(None) => {}
            Ok(Some(plans)) => {
                let what = format!("an interrupted merge left these plans unfinished: {}", plans.join(", "));
                findings.push(DoctorFinding::warn(what, merge(project)));
            }
            Err(error) => findings.push(DoctorFinding::doubt("merges", &error, &merge(project))),
        }
    }
    match planning_session::abandoned(project) {
        Ok(Unfinished { desks, folders }) => {
            if desks > 0 {
                let what = format!("interrupted planner sessions: {desks}");
                findings.push(DoctorFinding::warn(what, "planwright status --inbox"));
            }
            findings.extend(folders.iter().map(|folder| {
                let path = folder.to_string_lossy();
                let what = format!("plan directory {path} is still there after its session ended");
                let (open, remove) = (["chmod", "-R", "u+rwx", &*path], ["rm", "-r", &*path]);
                DoctorFinding::warn(what, format!("{} && {}", typed(&open), typed(&remove)))
            }));
        }
        Err(error) => {
            findings.push(DoctorFinding::doubt("planner sessions", &error, "planwright session show"));
        }
    }
    findings
}

/// Plans are merged in the repository their worktree came from.
fn merge(project: &Project) -> String {
    match repository::tree_around(&project.root) {
        Ok(Some(tree)) => format!("{} && planwright merge", typed(&["cd", &tree.origin.to_string_lossy()])),
        Ok(None) | Err(_) => "planwright merge".to_owned(),
    }
}

/// Saved work of finished runs, and directories of killed attempts. Neither needs action: work can be rolled
/// back while it is kept, and the next attempt sweeps the directories.
pub(super) fn kept(project: &Project) -> Vec<DoctorFinding> {
    if !is_known(project) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    // What cannot be read was reported with the repository and the records.
    if let Some((references, bytes)) = of_runs_that_are_over(project).filter(|(count, _)| *count > 0) {
        let megabytes = bytes.div_ceil(1_000_000);
        findings.push(DoctorFinding::ok(format!(
            "the repository keeps work of finished runs ({}, {megabytes} MB)",
            number(references, "reference")
        )));
    }
    let left = temp_dir::abandoned(&project.root);
    if left > 0 {
        findings.push(DoctorFinding::ok(format!(
            "directories of killed attempts, removed by the next attempt: {left}"
        )));
    }
    findings
}

fn of_runs_that_are_over(project: &Project) -> Option<(usize, u64)> {
    let is_there = Store::exists(&project.root).ok()?;
    let store = if is_there { Store::open(&project.root).ok()? } else { return None };
    let keep = OwnedRefs::find(&project.root).ok()??;
    let key = store.key();
    let over: Vec<String> = store
        .runs()
        .ok()?
        .iter()
        .filter(|row| {
            row.last.as_ref().is_some_and(|last| matches!(last.event, Event::Run(RunEvent::Finished { .. })))
        })
        .map(|row| {
            let run = checkout::name_of_run(&key, row.id.number(), row.created_at_ms);
            format!("{}{run}/", repository::REF_NAMESPACE)
        })
        .collect();
    let mut references: Vec<String> =
        keep.list(repository::REF_NAMESPACE).ok()?.into_iter().map(|(name, _)| name).collect();
    references.retain(|name| over.iter().any(|run| name.starts_with(run)));
    let bytes = if references.is_empty() { 0 } else { keep.weight(&references).ok()? };
    Some((references.len(), bytes))
}
