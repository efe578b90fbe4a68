//! Moves branches to the tested result, together with the files of the workspaces in which they are checked
//! out.
//!
//! The order makes a crash harmless. The intent is recorded first. Then come the files and the index: anyone
//! who looks now sees what is about to be committed, and committing it loses nothing. Then the branches, each
//! only if it has not moved; and when all have moved, plan files that were marked meanwhile, the ledger, and
//! the end of the intent.

use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::plan::identity::Identity;
use serde::{Deserialize, Serialize};

use super::candidate::{Batch, is_record};
use super::{Error, TargetMoved};
use crate::approval::Approvals;
use crate::git::base;
use crate::git::merge_driver;
use crate::git::repository::{OwnedRefs, SyncResult};
use crate::run::Runs;
use crate::store::journal::{RunLock, Store};
use crate::store::{plan_file, state_dir};
use crate::workspace::project::Project;

/// The directory of the intent, in the state directory of the project.
const FOLDER: &str = "merge";
const FILE: &str = "intent.json";
const INTENT_BYTES_MAX: u64 = 16 << 20;

pub(super) enum Land {
    Done,
    /// A branch moved; nothing was changed.
    Moved,
    /// These files were edited; nothing was changed.
    Edited(Vec<String>),
}

/// What is about to be done. Everything in it is repeatable.
#[derive(Debug, Serialize, Deserialize)]
struct Intent {
    branches: Vec<Branch>,
    plans: Vec<Landed>,
    by: Identity,
}

/// A branch that is about to move.
#[derive(Debug, Serialize, Deserialize)]
struct Branch {
    /// The root of the project, or the top of another repository.
    root: PathBuf,
    branch: String,
    from: String,
    to: String,
    /// Whether the files in the workspace follow.
    is_checked_out: bool,
    /// Plan files in the workspace with newer marks: both sides are merged by meaning.
    records: Vec<Record>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    path: String,
    /// The common ancestor.
    base: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Landed {
    plan: PathBuf,
    name: String,
    tip: String,
}

/// Where a branch is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stands {
    Before,
    After,
    Elsewhere(Option<String>),
}

impl Branch {
    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn stands(&self, keep: &OwnedRefs) -> Result<Stands, Error> {
        Ok(match keep.get(&self.reference())? {
            Some(commit) if commit == self.from => Stands::Before,
            Some(commit) if keep.is_ancestor(&self.to, &commit)? => Stands::After,
            other => Stands::Elsewhere(other),
        })
    }

    fn without(&self) -> Vec<PathBuf> {
        self.records.iter().map(|record| PathBuf::from(&record.path)).collect()
    }

    /// The top of the workspace whose files follow, while the branch is checked out there.
    fn workspace(&self, keep: &OwnedRefs) -> Result<Option<PathBuf>, Error> {
        let is_still = || {
            Ok::<_, Error>(base::of(&self.root)?.and_then(|base| base.branch) == Some(self.branch.clone()))
        };
        Ok((self.is_checked_out && is_still()?).then(|| keep.top().to_owned()))
    }
}

/// Merges the plans with these indexes by moving these branches.
pub(super) fn land(
    decisions: &Approvals,
    batch: &Batch,
    (moved, landed): (&[TargetMoved], &[usize]),
    by: &Identity,
) -> Result<Land, Error> {
    if moved.is_empty() {
        return Ok(Land::Done);
    }
    let (mut branches, mut conflicts) = (Vec::new(), Vec::new());
    for repo in &batch.repositories {
        let Some(to) = moved.iter().find(|moved| moved.repository == repo.name) else { continue };
        let (records, edited) = match repo.is_checked_out {
            true => records(batch, landed, (&repo.keep, to))?,
            false => (Vec::new(), Vec::new()),
        };
        let seen = seen_from(&batch.repositories[0].root, (&repo.root, &repo.keep));
        conflicts.extend(edited.into_iter().map(|path| format!("{seen}{path}")));
        branches.push(Branch {
            root: repo.root.clone(),
            branch: repo.branch.clone(),
            from: to.from.clone(),
            to: to.to.clone(),
            is_checked_out: repo.is_checked_out,
            records,
        });
    }
    if !conflicts.is_empty() {
        return Ok(Land::Edited(conflicts));
    }
    let plans = landed.iter().map(|&place| {
        let member = &batch.members[place];
        Landed { plan: member.path.clone(), name: member.name.clone(), tip: member.tip().to_owned() }
    });
    let intent = Intent { branches, plans: plans.collect(), by: by.clone() };
    let text = serde_json::to_vec(&intent).unwrap_or_else(|error| panic!("an intent is plain data: {error}"));
    state_dir::keep_durably(&folder(decisions), FILE, &text)?;
    perform(decisions, &intent)
}

/// Finishes an interrupted merge; returns the plans it merged.
pub(super) fn finish(decisions: &Approvals) -> Result<Vec<String>, Error> {
    let Some(intent) = noted(&folder(decisions)) else { return Ok(Vec::new()) };
    match perform(decisions, &intent) {
        Ok(Land::Done) => Ok(intent.plans.into_iter().map(|plan| plan.name).collect()),
        Ok(Land::Moved | Land::Edited(_)) => Ok(Vec::new()),
        // It was reverted and blocks nobody: the next merge of these plans reports it.
        Err(_) if noted(&folder(decisions)).is_none() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The plans that were about to be merged.
pub(super) fn pending(store: &Store) -> Option<Vec<String>> {
    let intent = noted(&store.folder().join(FOLDER))?;
    Some(intent.plans.into_iter().map(|plan| plan.name).collect())
}

/// The recorded intent that is not done.
fn noted(folder: &Path) -> Option<Intent> {
    let text = plan_file::read_text(&folder.join(FILE), INTENT_BYTES_MAX).ok()?;
    // It was written whole or not at all; one of another version says nothing that git does not know.
    serde_json::from_str(&text).ok()
}

/// Nothing else may run in a workspace whose files change.
fn occupied(decisions: &Approvals, intent: &Intent) -> Result<Vec<RunLock>, Error> {
    let runs = decisions.runs();
    let mut locks = Vec::new();
    for branch in intent.branches.iter().filter(|branch| branch.is_checked_out) {
        if branch.root == runs.project().root {
            locks.push(runs.occupy()?);
        } else if let Some(others) = Runs::open_existing(&Project::find(&branch.root)?)? {
            locks.push(others.occupy()?);
        }
    }
    Ok(locks)
}

fn perform(decisions: &Approvals, intent: &Intent) -> Result<Land, Error> {
    let _occupied = occupied(decisions, intent)?;
    let keeps =
        intent.branches.iter().map(|branch| OwnedRefs::of(&branch.root)).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<(&Branch, &OwnedRefs)> = intent.branches.iter().zip(&keeps).collect();
    let stand = all.iter().map(|(branch, keep)| branch.stands(keep)).collect::<Result<Vec<_>, _>>()?;
    if stand.iter().any(|stands| matches!(stands, Stands::Elsewhere(_))) {
        return give_back(decisions, &all).map(|()| Land::Moved);
    }
    let ahead: Vec<(&Branch, &OwnedRefs)> = all
        .iter()
        .zip(&stand)
        .filter(|(_, stands)| **stands == Stands::Before)
        .map(|(pair, _)| *pair)
        .collect();
    match lay_out(&decisions.runs().project().root, &ahead) {
        Ok(edited) if edited.is_empty() => {}
        Ok(edited) => return give_back(decisions, &all).map(|()| Land::Edited(edited)),
        // An intent that cannot be done and has moved nothing must not block every other merge.
        Err(error) if ahead.len() == all.len() => return give_back(decisions, &all).and(Err(error)),
        Err(error) => return Err(error),
    }
    for (branch, keep) in &ahead {
        if !keep.set(&branch.reference(), &branch.to, Some(&branch.from))? {
            return give_back(decisions, &all).map(|()| Land::Moved);
        }
    }
    for (branch, keep) in &all {
        if let Some(top) = branch.workspace(keep)? {
            branch.records.iter().try_for_each(|record| settle(keep, &top, branch, record))?;
        }
    }
    let names: Vec<String> = intent.plans.iter().map(|plan| plan.name.clone()).collect();
    let own = intent.branches.first();
    for Landed { plan, tip, .. } in &intent.plans {
        let (into, commit) = own.map(|own| (own.branch.clone(), own.to.clone())).unwrap_or_default();
        let (tip, with, by) = (tip.clone(), names.clone(), intent.by.clone());
        decisions.note(plan, &LedgerEntry::Merged { into, commit, tip, with, by })?;
    }
    forget(decisions)?;
    Ok(Land::Done)
}

/// Updates files and index of workspaces to where their branches are about to be; returns edited files,
/// relative to the project.
fn lay_out(own: &Path, ahead: &[(&Branch, &OwnedRefs)]) -> Result<Vec<String>, Error> {
    for (branch, keep) in ahead {
        let Some(top) = branch.workspace(keep)? else { continue };
        if let SyncResult::Conflict { paths } =
            keep.bring(&top, &branch.from, &branch.to, &branch.without())?
        {
            let seen = seen_from(own, (&branch.root, keep));
            return Ok(paths.iter().map(|path| format!("{seen}{path}")).collect());
        }
    }
    for (branch, keep) in ahead {
        if let Some(top) = branch.workspace(keep)? {
            keep.bring_index(&top, &branch.from, &branch.to)?;
        }
    }
    Ok(Vec::new())
}

/// Reverts everything: a branch that only we moved goes back, with its files. Edits stay.
fn give_back(decisions: &Approvals, all: &[(&Branch, &OwnedRefs)]) -> Result<(), Error> {
    for (branch, keep) in all {
        if keep.get(&branch.reference())?.as_deref() == Some(branch.to.as_str()) {
            keep.set(&branch.reference(), &branch.from, Some(&branch.to))?;
        }
        let (Some(top), Some(now)) = (branch.workspace(keep)?, keep.get(&branch.reference())?) else {
            continue;
        };
        keep.take_back(&top, &branch.to, &now, &branch.without())?;
        keep.bring_index(&top, &branch.to, &now)?;
    }
    forget(decisions)
}

fn folder(decisions: &Approvals) -> PathBuf {
    decisions.runs().store().folder().join(FOLDER)
}

fn forget(decisions: &Approvals) -> Result<(), Error> {
    let path = folder(decisions).join(FILE);
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::State(state_dir::Error::Folder { path, source }))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The prefix of a repository's paths relative to the project's own.
fn seen_from(own: &Path, (root, keep): (&Path, &OwnedRefs)) -> String {
    match root == own {
        true => String::new(),
        false => format!("../{}/", keep.top().file_name().unwrap_or_default().to_string_lossy()),
    }
}

/// The changed plan files with newer marks in the workspace, and those of them that conflict.
fn records(
    batch: &Batch,
    landed: &[usize],
    (keep, moved): (&OwnedRefs, &TargetMoved),
) -> Result<(Vec<Record>, Vec<String>), Error> {
    let (mut records, mut conflicts) = (Vec::new(), Vec::new());
    for path in keep.changed(&moved.from, &moved.to)? {
        let members = landed.iter().map(|&place| &batch.members[place]);
        let mut members = members.filter(|member| is_record(keep.part(), &member.path, &path));
        let Some(member) = members.next() else { continue };
        let (before, after) = (keep.text_of(&moved.from, &path)?, keep.text_of(&moved.to, &path)?);
        let (Some(after), Some(here)) = (after, text_at(keep.top(), &path)) else { continue };
        if here == after || Some(&here) == before.as_ref() {
            continue;
        }
        let is_plan = keep.part().join(&member.path) == Path::new(&path);
        // An uncommitted plan started with what was approved.
        let approved = is_plan.then(|| member.run.row.text.clone());
        let record = Record { base: before.or(approved).unwrap_or_default(), path };
        match merge_driver::texts([&record.base, &here, &after], &record.path).conflicts {
            0 => records.push(record),
            _ => conflicts.push(record.path),
        }
    }
    Ok((records, conflicts))
}

/// The text of a file in a workspace, without following links.
fn text_at(top: &Path, path: &str) -> Option<String> {
    let file = top.join(path);
    let is_file = file.symlink_metadata().is_ok_and(|data| data.is_file());
    is_file.then(|| plan_file::read_text(&file, INTENT_BYTES_MAX).ok()).flatten()
}

/// Merges a plan file of the workspace with what was merged. Concurrent edits survive.
fn settle(keep: &OwnedRefs, top: &Path, branch: &Branch, record: &Record) -> Result<(), Error> {
    let (Some(after), Some(here)) = (keep.text_of(&branch.to, &record.path)?, text_at(top, &record.path))
    else {
        return Ok(());
    };
    let merged = merge_driver::texts([&record.base, &here, &after], &record.path);
    if merged.conflicts > 0 || merged.text == here {
        return Ok(());
    }
    match plan_file::replace(&top.join(&record.path), &here, &merged.text) {
        Ok(()) | Err(plan_file::Error::Moved { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
