//! Where attempts of a run work and where contracts run: in the workspace, or each attempt in its own
//! worktree whose work is merged onto what was merged before. What has passed is saved in the repository, one
//! commit per step.
//!
//! Isolated work is judged where it would be merged: on a clean checkout of the merged work plus the
//! attempt's changes. Only if the contract passes there, and nothing else was merged meanwhile, is it merged
//! and the workspace updated.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use planwright_core::plan::verified::Step;
use planwright_core::run::state::RunState;

use crate::git::base;
use crate::git::checkout::{Checkout, Content, History, Lifetime, Objects};
use crate::git::repository;
use crate::git::repository::{MergeCommit, OwnedRefs, SyncResult};
use crate::git::worktree;
use crate::git::worktree::{ScriptRun, Setup};
use crate::store::state_dir;
use crate::workspace::project::Project;

/// The trailer of a commit that names its attempt.
const TRAILER: &str = "Attempt: ";
/// The branch checked out in the worktree of an attempt.
const BRANCH: &str = "work";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Keep(#[from] repository::Error),
    #[error(transparent)]
    Base(#[from] base::Error),
    #[error(transparent)]
    State(#[from] state_dir::Error),
    #[error(transparent)]
    Trees(#[from] worktree::Error),
    /// Something else is at the place of a file to restore.
    #[error("untracked files would be overwritten: {paths}")]
    InTheWay { paths: String },
    /// Somebody moved a reference of the run between our look and our move.
    #[error("something other than planwright moved {reference}")]
    MovedByOthers { reference: String },
    #[error("worktree setup failed: {how}")]
    SetUp { how: String },
    #[error("{} is not in a git repository with a commit, so steps cannot have their own worktrees", root.display())]
    NoRepository { root: PathBuf },
}

/// The run that works here.
#[derive(Debug, Clone)]
pub struct RunContext {
    pub project: Project,
    /// Identifies the run within the repository.
    pub run: String,
    /// What planwright itself writes, relative to the root: the plan.
    pub own: Vec<PathBuf>,
}

/// Where a run works.
#[derive(Debug)]
pub struct RunCheckout {
    plot: RunContext,
    /// `None` without a repository or a commit.
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    keep: OwnedRefs,
    /// What planwright itself writes, relative to the top of the working copy.
    own: Vec<PathBuf>,
    /// The branch that receives the work, if the workspace is a plan's worktree.
    branch: Option<String>,
    /// The commit before all of it.
    base: String,
}

/// A place to work or to run a contract.
#[derive(Debug)]
pub struct AttemptCheckout {
    pub root: PathBuf,
    /// A worktree created for this and removed with it; `None` in the workspace.
    checkout: Option<Checkout>,
    /// The commit it was created from.
    commit: String,
    /// Files copied into it, relative to its top: not part of the work.
    given: Vec<PathBuf>,
}

/// A place where a contract runs, and what is merged if it passes.
#[derive(Debug)]
pub struct JudgeCheckout {
    field: AttemptCheckout,
    /// What was merged so far.
    head: Option<String>,
}

impl JudgeCheckout {
    pub fn root(&self) -> &Path {
        &self.field.root
    }

    /// Whether it is not the workspace itself.
    pub const fn is_apart(&self) -> bool {
        self.head.is_some()
    }
}

/// The merged work of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingPlan {
    pub step: String,
    /// The commit that contains it and everything before it.
    pub commit: String,
    pub before: String,
}

/// A restored workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The commit that saves what was there before.
    pub kept: String,
    /// The files that were restored or removed.
    pub files: Vec<String>,
    pub removed: Vec<String>,
}

/// What became of the work of a step that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandResult {
    Yes,
    /// Something else was merged meanwhile: it must be judged on top of that.
    Again,
    /// It cannot be merged, for this reason.
    No(String),
}

impl RunCheckout {
    /// Writes nothing.
    pub fn of(plot: RunContext) -> Result<Self, Error> {
        let kept = match OwnedRefs::find(&plot.project.root)? {
            None => None,
            Some(keep) => {
                let tree = repository::tree_around(&plot.project.root)?;
                let branch = tree
                    .as_ref()
                    .and_then(|tree| tree.branch.as_deref())
                    .map(|name| format!("refs/heads/{name}"));
                let begun = match &branch {
                    Some(branch) => keep.get(branch)?,
                    None => base::of(&plot.project.root)?.map(|base| base.commit),
                };
                let own = plot.own.iter().map(|path| keep.part().join(path)).collect();
                let base = begun.or(tree.map(|tree| tree.base));
                base.map(|base| Kept { keep, own, branch, base })
            }
        };
        Ok(Self { plot, kept })
    }

    fn kept(&self) -> Result<&Kept, Error> {
        self.kept.as_ref().ok_or_else(|| Error::NoRepository { root: self.plot.project.root.clone() })
    }

    /// Whether there is a repository to save work in.
    pub const fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Held while merging or reading the workspace as a whole, across processes, so that nobody sees half of
    /// a change.
    fn door(&self, kept: &Kept) -> Result<File, Error> {
        let path = kept.keep.door(&self.plot.run);
        let failed = |source| repository::Error::File { path: path.clone(), source };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    fn reference(&self, name: &str) -> String {
        format!("{}{}/{name}", repository::REF_NAMESPACE, self.plot.run)
    }

    /// The reference to the work of an attempt.
    fn attempt(&self, step: &str, attempt: &str) -> String {
        self.reference(&format!("attempts/{}/{attempt}", word(step)))
    }

    /// Whether attempts of this run are isolated.
    pub fn is_apart(&self) -> Result<bool, Error> {
        let Some(kept) = &self.kept else { return Ok(false) };
        Ok(kept.keep.get(&self.reference("apart"))?.is_some())
    }

    /// Isolates all attempts of this run from now on.
    pub fn part(&self) -> Result<(), Error> {
        let kept = self.kept()?;
        let name = self.reference("apart");
        match kept.keep.get(&name)? {
            Some(_) => Ok(()),
            None => kept.advance(&name, &kept.base, None),
        }
    }

    /// Records the workspace before the first step; after a crash, reverts what was merged but never
    /// recorded, and updates the workspace to what was.
    pub fn begin(&self, state: &RunState) -> Result<(), Error> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let _door = self.door(kept)?;
        let name = self.reference("head");
        let Some(mut head) = kept.keep.get(&name)? else {
            let first = kept.snapshot("Start of the run")?;
            kept.point(&self.reference("synced"), &first)?;
            kept.point(&self.reference("first"), &first)?;
            return kept.advance(&name, &first, None);
        };
        let found = head.clone();
        while let Some((step, attempt)) = landed_by(&kept.keep.message_of(&head)?) {
            let is_recorded = state.steps.iter().any(|now| {
                // Its contract may have failed since, in a closing check: the work is recorded all the same.
                let passed = now.history.proof.as_ref().map(|proof| proof.attempt.to_string());
                now.id == step && passed.as_deref() == Some(attempt.as_str())
            });
            let parents = kept.keep.parents_of(&head)?;
            let (false, Some(parent)) = (is_recorded, parents.first()) else { break };
            head.clone_from(parent);
        }
        if head != found {
            kept.advance(&name, &head, Some(&found))?;
            kept.follow(&found, &head)?;
        }
        if self.is_apart()? {
            self.settle(kept)?;
        }
        Ok(())
    }

    /// A place for an attempt to work in. `None` means the workspace.
    pub fn field(&self, name: &str) -> Result<Option<AttemptCheckout>, Error> {
        if !self.is_apart()? {
            return Ok(None);
        }
        let kept = self.kept()?;
        let head = self.take_up(kept)?;
        self.plant(kept, &head, name).map(Some)
    }

    /// The merged work plus later edits in the workspace: a person does a step there.
    fn take_up(&self, kept: &Kept) -> Result<String, Error> {
        let _door = self.door(kept)?;
        let (name, synced) = (self.reference("head"), self.reference("synced"));
        let Some(head) = kept.keep.get(&name)? else { return Ok(kept.base.clone()) };
        // Half of an update that could not be finished is nobody's work.
        self.settle(kept)?;
        if kept.keep.get(&synced)?.as_ref() != Some(&head) {
            return Ok(head);
        }
        let tree = kept.keep.snapshot_tree(kept.keep.top(), &head, &kept.own)?;
        if kept.keep.tree_of(&head)? == tree {
            return Ok(head);
        }
        let commit = kept.keep.commit(&tree, &[&head], "Changes in the workspace")?;
        // In this order: after a crash, what the workspace is said to contain and was not merged is reverted.
        kept.advance(&name, &commit, Some(&head))?;
        kept.advance(&synced, &commit, Some(&head))?;
        kept.follow(&head, &commit)?;
        Ok(commit)
    }

    fn plant(&self, kept: &Kept, commit: &str, name: &str) -> Result<AttemptCheckout, Error> {
        let project = &self.plot.project;
        let objects = Objects::Copied { from: &kept.keep, branch: BRANCH, history: History::None };
        let content = Content::Commit(commit.to_owned());
        let mut checkout = Checkout::of(&project.root, &content, objects, Lifetime::Temporary)?;
        checkout.register(&kept.keep, name, commit)?;
        let furnished = worktree::furnish(project, checkout.tree(), Setup::Run)?;
        let how = match furnished.setup {
            ScriptRun::Nothing | ScriptRun::Well => None,
            ScriptRun::Badly { how, .. } => Some(how),
            ScriptRun::Unallowed { .. } => {
                Some("it is not allowed yet; run planwright worktree add".to_owned())
            }
        };
        if let Some(how) = how {
            return Err(Error::SetUp { how });
        }
        Ok(AttemptCheckout {
            root: checkout.path(),
            checkout: Some(checkout),
            commit: commit.to_owned(),
            given: furnished.copied,
        })
    }

    /// Saves what an attempt left in its worktree, under this name.
    pub fn keep_work(&self, field: &AttemptCheckout, step: &Step, attempt: &str) -> Result<(), Error> {
        let (kept, Some(checkout)) = (self.kept()?, &field.checkout) else { return Ok(()) };
        let message = said(step, attempt);
        let without: Vec<PathBuf> = kept.own.iter().chain(&field.given).cloned().collect();
        let commit = kept.keep.snapshot(checkout.tree(), &field.commit, &without, &message)?;
        kept.point(&self.attempt(&step.id, attempt), &commit)
    }

    /// Makes work saved under one name the attempt's.
    pub fn choose(&self, step: &str, from: &str, attempt: &str) -> Result<(), Error> {
        let kept = self.kept()?;
        let Some(commit) = kept.keep.get(&self.attempt(step, from))? else { return Ok(()) };
        kept.point(&self.attempt(step, attempt), &commit)
    }

    /// How many lines the work saved under a name changes.
    pub fn size(&self, step: &str, attempt: &str) -> Result<u64, Error> {
        let kept = self.kept()?;
        let Some(commit) = kept.keep.get(&self.attempt(step, attempt))? else { return Ok(0) };
        Ok(kept.keep.size(&format!("{commit}^"), &commit)?)
    }

    /// The merged work as it is: what a closing check judges.
    pub fn merged(&self, name: &str) -> Result<AttemptCheckout, Error> {
        if !self.is_apart()? {
            return Ok(self.workspace());
        }
        let kept = self.kept()?;
        let head = self.take_up(kept)?;
        self.plant(kept, &head, name)
    }

    /// A throw-away checkout of a commit of [`RunCheckout::history`].
    pub fn at(&self, commit: &str, name: &str) -> Result<AttemptCheckout, Error> {
        self.plant(self.kept()?, commit, name)
    }

    fn workspace(&self) -> AttemptCheckout {
        let root = self.plot.project.root.clone();
        AttemptCheckout { root, checkout: None, commit: String::new(), given: Vec::new() }
    }

    /// Where the contract of an attempt runs, or why it cannot run.
    pub fn stand(&self, step: &Step, attempt: &str) -> Result<Result<JudgeCheckout, String>, Error> {
        if !self.is_apart()? {
            return Ok(Ok(JudgeCheckout { field: self.workspace(), head: None }));
        }
        let kept = self.kept()?;
        let head = self.take_up(kept)?;
        let tree = match kept.keep.get(&self.attempt(&step.id, attempt))? {
            // A person did it, in the workspace.
            None => kept.keep.tree_of(&head)?,
            Some(theirs) => match kept.keep.merge(&head, &theirs)? {
                MergeCommit::Clean { tree } => tree,
                MergeCommit::Conflict { paths, .. } => {
                    let paths = paths.join(", ");
                    return Ok(Err(format!("its changes conflict with changes made meanwhile: {paths}")));
                }
            },
        };
        let commit = kept.keep.commit(&tree, &[&head], &said(step, attempt))?;
        let field = self.plant(kept, &commit, &format!("contract of {}", step.id))?;
        Ok(Ok(JudgeCheckout { field, head: Some(head) }))
    }

    /// Merges what passed: the next attempts start with it, and the workspace gets it.
    pub fn land(&self, stand: &JudgeCheckout, step: &Step, attempt: &str) -> Result<LandResult, Error> {
        let Some(kept) = &self.kept else { return Ok(LandResult::Yes) };
        let _door = self.door(kept)?;
        let name = self.reference("head");
        let Some(head) = &stand.head else {
            let old = kept.keep.get(&name)?;
            let after = old.clone().unwrap_or_else(|| kept.base.clone());
            let commit = kept.keep.snapshot(kept.keep.top(), &after, &kept.own, &said(step, attempt))?;
            kept.advance(&name, &commit, old.as_deref())?;
            kept.follow(&after, &commit)?;
            return Ok(LandResult::Yes);
        };
        let commit = &stand.field.commit;
        if kept.keep.get(&name)?.as_ref() != Some(head) {
            return Ok(LandResult::Again);
        }
        if let Some(paths) = self.bring(kept, commit)? {
            let paths = paths.join(", ");
            return Ok(LandResult::No(format!("the workspace has conflicting changes: {paths}")));
        }
        if !kept.keep.set(&name, commit, Some(head))? {
            self.settle(kept)?;
            return Ok(LandResult::Again);
        }
        kept.follow(head, commit)?;
        Ok(LandResult::Yes)
    }

    /// Updates the workspace to a commit; returns the files that conflict.
    fn bring(&self, kept: &Kept, to: &str) -> Result<Option<Vec<String>>, Error> {
        let name = self.reference("synced");
        let from = kept.keep.get(&name)?.unwrap_or_else(|| kept.base.clone());
        // Recorded first: after a crash, half of the update is recognized and not taken for anyone's work.
        kept.point(&name, to)?;
        match kept.keep.bring(kept.keep.top(), &from, to, &kept.own)? {
            SyncResult::Done => Ok(None),
            SyncResult::Conflict { paths } => {
                kept.point(&name, &from)?;
                Ok(Some(paths))
            }
        }
    }

    /// Reverts what was brought to the workspace, wholly or partly, and was not merged. A person's edits
    /// stay, and the next attempt includes them.
    fn settle(&self, kept: &Kept) -> Result<(), Error> {
        let name = self.reference("synced");
        let (Some(head), Some(synced)) = (kept.keep.get(&self.reference("head"))?, kept.keep.get(&name)?)
        else {
            return Ok(());
        };
        if synced != head {
            kept.keep.take_back(kept.keep.top(), &synced, &head, &kept.own)?;
            kept.point(&name, &head)?;
        }
        Ok(())
    }

    /// What was merged, oldest first. `None` if nothing is saved.
    pub fn history(&self) -> Result<Option<Vec<LandingPlan>>, Error> {
        let Some(kept) = &self.kept else { return Ok(None) };
        let Some(mut commit) = kept.keep.get(&self.reference("head"))? else { return Ok(None) };
        let first = kept.keep.get(&self.reference("first"))?;
        let mut landings = Vec::new();
        while Some(&commit) != first.as_ref() {
            let Some(before) = kept.keep.parents_of(&commit)?.into_iter().next() else { break };
            if let Some((step, _)) = landed_by(&kept.keep.message_of(&commit)?) {
                landings.push(LandingPlan { step, commit, before: before.clone() });
            }
            commit = before;
        }
        landings.reverse();
        Ok(Some(landings))
    }

    /// Whether [`RunCheckout::roll_back`] could restore every file.
    pub fn can_roll_back(&self, to: &str) -> Result<(), Error> {
        let kept = self.kept()?;
        let now = kept.keep.snapshot_tree(kept.keep.top(), to, &kept.own)?;
        let now = kept.keep.commit(&now, &[to], "State of the workspace")?;
        let paths = kept.keep.in_the_way(kept.keep.top(), &now, to, &kept.own)?;
        if paths.is_empty() { Ok(()) } else { Err(Error::InTheWay { paths: paths.join(", ") }) }
    }

    /// Restores the workspace to a commit of [`RunCheckout::history`]. Saves and returns what was there.
    pub fn roll_back(&self, to: &str) -> Result<Restored, Error> {
        let kept = self.kept()?;
        let _door = self.door(kept)?;
        let name = self.reference("head");
        let old = kept.keep.get(&name)?;
        let now = kept.keep.snapshot(
            kept.keep.top(),
            old.as_deref().unwrap_or(to),
            &kept.own,
            "State of the workspace before rollback",
        )?;
        kept.point(&self.reference(&format!("before-rollback/{}", crate::system::clock::now())), &now)?;
        let (files, removed) = (kept.keep.changed(&now, to)?, kept.keep.removed(&now, to)?);
        match kept.keep.bring(kept.keep.top(), &now, to, &kept.own)? {
            SyncResult::Done => {}
            SyncResult::Conflict { paths } => return Err(Error::InTheWay { paths: paths.join(", ") }),
        }
        kept.point(&self.reference("synced"), to)?;
        kept.advance(&name, to, old.as_deref())?;
        if let Some(old) = old {
            kept.follow(&old, to)?;
        }
        Ok(Restored { kept: now, files, removed })
    }
}

impl Kept {
    /// Moves the branch of a plan's worktree along with merged work.
    fn follow(&self, from: &str, to: &str) -> Result<(), Error> {
        let Some(branch) = &self.branch else { return Ok(()) };
        let now = self.keep.get(branch)?;
        // A branch that somebody else moved stays: a merge finds both.
        let is_ours = now.as_deref().is_none_or(|now| now == from || now == self.base);
        if is_ours {
            self.keep.set(branch, to, now.as_deref())?;
        }
        Ok(())
    }

    /// Moves our own reference to a commit, wherever it was.
    fn point(&self, reference: &str, commit: &str) -> Result<(), Error> {
        let old = self.keep.get(reference)?;
        self.advance(reference, commit, old.as_deref())
    }

    /// Moves our own reference from where it was seen. Nobody else has a right to move it meanwhile.
    fn advance(&self, reference: &str, to: &str, from: Option<&str>) -> Result<(), Error> {
        match self.keep.set(reference, to, from)? {
            true => Ok(()),
            false => Err(Error::MovedByOthers { reference: reference.to_owned() }),
        }
    }

    /// The contents of the workspace as a commit, or the commit before if nothing changed.
    fn snapshot(&self, message: &str) -> Result<String, Error> {
        let tree = self.keep.snapshot_tree(self.keep.top(), &self.base, &self.own)?;
        match self.keep.tree_of(&self.base)? == tree {
            true => Ok(self.base.clone()),
            false => Ok(self.keep.commit(&tree, &[&self.base], message)?),
        }
    }
}

/// What worktrees of the project at a root lack, for people.
pub(crate) fn lacking(root: &Path) -> Result<Vec<String>, Error> {
    let (Some(keep), Some(base)) = (OwnedRefs::find(root)?, base::of(root)?) else { return Ok(Vec::new()) };
    Ok(keep.submodules(&base.commit)?.iter().map(|path| repository::is_empty_there(path)).collect())
}

/// The commit message of a step.
fn said(step: &Step, attempt: &str) -> String {
    format!("{}\n\n{TRAILER}{}/{attempt}", step.title.trim(), step.id)
}

/// The step and attempt of a commit.
fn landed_by(message: &str) -> Option<(String, String)> {
    let line = message.lines().rev().find_map(|line| line.strip_prefix(TRAILER))?;
    let (step, attempt) = line.rsplit_once('/')?;
    Some((step.to_owned(), attempt.to_owned()))
}

/// An id as part of a reference. An id that git would refuse gets a unique name.
fn word(id: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    match !id.is_empty() && id.chars().all(is_plain) && !id.starts_with('-') {
        true => id.to_owned(),
        false => blake3::hash(id.as_bytes()).to_hex()[..32].to_owned(),
    }
}

/// The name of a run within a repository: several projects may be in one, and a state directory may be lost.
pub fn name_of_run(key: &str, number: i64, created_at_ms: u64) -> String {
    format!("{}/{number}-{created_at_ms}", word(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_commit_names_its_attempt() {
        let message = "Add it\n\nAttempt: not/this\n\nAttempt: a/b/3\n";
        assert_eq!(landed_by(message), Some(("a/b".to_owned(), "3".to_owned())));
        assert_eq!(landed_by("Start of the run"), None);
    }

    #[test]
    fn any_id_is_a_part_of_a_reference() {
        assert_eq!(word("add-tests_2"), "add-tests_2");
        for id in ["a/b", "a..b", "x.lock", "-x", "", "ä", "a b", "~"] {
            assert!(
                word(id).len() == 32 && word(id).bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{id}"
            );
        }
        assert_ne!(word("a/b"), word("a.b"));
    }
}
