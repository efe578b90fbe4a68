//! Trees of plans and attempts, what somebody who died left half done, and what is kept of work that is over.

use planwright_core::run::event::Event;
use planwright_core::workspace::worktree::{Maker, Reclaim, State, typed};

use super::{Finding, Repair};
use crate::agent::planning_session;
use crate::agent::planning_session::Unfinished;
use crate::git::base;
use crate::git::repository;
use crate::git::repository::Keep;
use crate::git::worktree;
use crate::git::worktree::Trees;
use crate::portfolio::merge_queue;
use crate::run::checkout;
use crate::store::journal::Store;
use crate::store::state_dir;
use crate::workspace::facts;
use crate::workspace::project::Project;

/// How many trees a sentence names.
const NAMED_MAX: usize = 5;
const PRUNE: &str = "planwright worktree prune";

/// Whether planwright has kept anything of the project. Looking must not make what is not there.
fn is_known(project: &Project) -> bool {
    facts::has_program("git")
        && state_dir::folder_of(&state_dir::folder(), &project.root).is_ok_and(|folder| folder.is_dir())
}

/// The trees of the repository: those that are in use, those that are done with, and those that somebody has to look at.
pub(super) fn trees(project: &Project) -> Vec<Finding> {
    if !is_known(project) {
        return Vec::new();
    }
    let looked = Trees::of(project).and_then(|trees| {
        let (all, unfinished, gone) = (trees.inspect()?, trees.unfinished()?, trees.gone()?);
        Ok((all, unfinished, gone))
    });
    let (all, unfinished, gone) = match looked {
        Ok(found) => found,
        Err(worktree::Error::Keep(repository::Error::NoRepository { .. })) => return Vec::new(),
        Err(error @ worktree::Error::Misplaced { .. }) => {
            return vec![Finding::doubt("trees", &error, "planwright config worktree.folder")];
        }
        Err(error) => return vec![Finding::doubt("trees", &error, "planwright worktree list")],
    };
    let mut findings = states(all.iter().filter(|tree| !unfinished.contains(&tree.name)));
    for name in unfinished {
        let what = format!("whoever made or removed the tree `{name}` died over it");
        findings.push(Finding { repair: Some(Repair::Prune), ..Finding::warn(what, PRUNE) });
    }
    if !gone.is_empty() {
        let what = format!("trees of attempts are registered whose folders are gone: {}", gone.len());
        findings.push(Finding::mendable(what, Repair::ForgetTrees));
    }
    findings
}

fn states<'a>(all: impl Iterator<Item = &'a worktree::Finding>) -> Vec<Finding> {
    let (mut active, mut safe, mut findings) = (Vec::new(), Vec::new(), Vec::new());
    for tree in all {
        match (tree.state, &tree.reclaim, &tree.mend) {
            (State::Active, _, None) if tree.maker == Maker::Git => {}
            (State::Active, _, None) => active.push(tree),
            (State::Active, _, Some(mend)) => {
                findings.push(Finding::warn(format!("the tree `{}` was never finished", tree.name), mend));
            }
            (State::Merged | State::Orphaned, Reclaim::Safe, _) => safe.push(tree),
            (state, reclaim, mend) => {
                let why = match reclaim {
                    Reclaim::Kept { why } => format!(": {why}"),
                    Reclaim::Safe => String::new(),
                };
                let what = format!("the tree `{}` is {}, and stays{why}", tree.name, state.word());
                findings.push(Finding { fix: mend.clone(), ..Finding::warn(what, "") });
            }
        }
    }
    if !safe.is_empty() {
        let of = |state: State| safe.iter().filter(|tree| tree.state == state).count();
        let what = format!(
            "trees that are done with can go, and nothing is lost (merged: {}, orphaned: {}, MB: {}): {}",
            of(State::Merged),
            of(State::Orphaned),
            megabytes(&safe),
            names(&safe)
        );
        findings.insert(0, Finding { repair: Some(Repair::Prune), ..Finding::warn(what, PRUNE) });
    }
    if !active.is_empty() {
        let what = format!("trees in use: {} (MB: {})", names(&active), megabytes(&active));
        findings.insert(0, Finding::ok(what));
    }
    findings
}

fn megabytes(trees: &[&worktree::Finding]) -> u64 {
    trees.iter().map(|tree| tree.bytes).sum::<u64>().div_ceil(1_000_000)
}

fn names(trees: &[&worktree::Finding]) -> String {
    let more = trees.len().saturating_sub(NAMED_MAX);
    let names: Vec<&str> = trees.iter().take(NAMED_MAX).map(|tree| tree.name.as_str()).collect();
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

/// What somebody who died had begun and the next command finishes: merges, and what planners committed.
pub(super) fn unfinished(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A store that can't be opened is told of by itself.
    let store = Store::exists(&project.root).ok().filter(|&is_there| is_there);
    if let Some(store) = store.and_then(|_| Store::open(&project.root).ok()) {
        match merge_queue::unfinished(&store) {
            Ok(None) => {}
            Ok(Some(plans)) => {
                let what = format!("whoever merged these plans died over it: {}", plans.join(", "));
                findings.push(Finding::warn(what, merge(project)));
            }
            Err(error) => findings.push(Finding::doubt("merges", &error, &merge(project))),
        }
    }
    match planning_session::abandoned(project) {
        Ok(Unfinished { desks, folders }) => {
            if desks > 0 {
                let what =
                    format!("planners' sessions have something to finish that somebody died over: {desks}");
                findings.push(Finding::warn(what, "planwright inbox"));
            }
            findings.extend(folders.iter().map(|folder| {
                let path = folder.to_string_lossy();
                let what = format!("a plan folder that was given back is still there: {path}");
                let (open, remove) = (["chmod", "-R", "u+rwx", &*path], ["rm", "-r", &*path]);
                Finding::warn(what, format!("{} && {}", typed(&open), typed(&remove)))
            }));
        }
        Err(error) => findings.push(Finding::doubt("planners' sessions", &error, "planwright session show")),
    }
    findings
}

/// Plans are merged where they come from.
fn merge(project: &Project) -> String {
    match repository::tree_around(&project.root) {
        Ok(Some(tree)) => format!("{} && planwright merge", typed(&["cd", &tree.origin.to_string_lossy()])),
        Ok(None) | Err(_) => "planwright merge".to_owned(),
    }
}

/// What is kept in the repository of runs that are over, and folders of attempts that were killed. Neither needs anybody: work can be
/// taken back for as long as it is kept, and whoever makes the next attempt sweeps the folders.
pub(super) fn kept(project: &Project) -> Vec<Finding> {
    if !is_known(project) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    // What can't be read was told of with the repository and the records.
    if let Some((references, bytes)) = of_runs_that_are_over(project).filter(|(count, _)| *count > 0) {
        let megabytes = bytes.div_ceil(1_000_000);
        findings.push(Finding::ok(format!(
            "work of runs that are over is kept in the repository (references: {references}, MB: {megabytes})"
        )));
    }
    let left = base::abandoned(&project.root);
    if left > 0 {
        findings.push(Finding::ok(format!(
            "folders of attempts that were killed, which the next one sweeps: {left}"
        )));
    }
    findings
}

fn of_runs_that_are_over(project: &Project) -> Option<(usize, u64)> {
    let is_there = Store::exists(&project.root).ok()?;
    let store = if is_there { Store::open(&project.root).ok()? } else { return None };
    let keep = Keep::find(&project.root).ok()??;
    let key = store.key();
    let over: Vec<String> = store
        .runs()
        .ok()?
        .iter()
        .filter(|row| row.last.as_ref().is_some_and(|last| matches!(last.event, Event::RunFinished { .. })))
        .map(|row| {
            let run = checkout::name_of_run(&key, row.id.number(), row.created_at_ms);
            format!("{}{run}/", repository::HIDDEN)
        })
        .collect();
    let mut references: Vec<String> =
        keep.list(repository::HIDDEN).ok()?.into_iter().map(|(name, _)| name).collect();
    references.retain(|name| over.iter().any(|run| name.starts_with(run)));
    let bytes = if references.is_empty() { 0 } else { keep.weight(&references).ok()? };
    Some((references.len(), bytes))
}
