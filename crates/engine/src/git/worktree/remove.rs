//! Removes worktrees, by name or all that lose nothing. A worktree is moved aside first, checked again where
//! nothing else finds it, and only then deleted. Never deletes a branch.

use std::path::{Path, PathBuf};

use planwright_core::workspace::worktree;
use planwright_core::workspace::worktree::{KeepReason, PruneDecision, WorktreeFacts, WorktreeFolder};

use super::add::place;
use super::copy_ignored;
use super::inspect::{WorktreeInspection, folder_at, is_same, measure, progress_of};
use super::intent::WorktreeIntent;
use super::setup_script;
use super::setup_script::{ScriptRun, ScriptTarget};
use super::sibling;
use super::{Error, WorktreeFinding, Worktrees};
use crate::store::journal::lock::workspace_lock;
use crate::store::journal::{RunLock, Store};
use crate::store::state_dir;
use crate::store::temp_dir;
use crate::store::worktree_registry;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::system::clock;

/// Where plans and progress of removed worktrees are saved, in the state directory of the repository.
const SAVED: &str = "removed";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    pub name: String,
    pub path: PathBuf,
    /// `None` if there is none.
    pub branch: Option<String>,
    /// Bytes freed.
    pub bytes: u64,
    /// Its plan and progress, if they had changed.
    pub saved: Vec<PathBuf>,
}

#[derive(Debug, Default)]
pub struct Pruned {
    pub removed: Vec<Removed>,
    pub kept: Vec<WorktreeFinding>,
    /// Those that could have been removed, and why they were not.
    pub failed: Vec<(WorktreeFinding, Error)>,
}

impl Worktrees {
    /// Removes a named worktree with its neighbors, unless something would be lost.
    pub fn remove(&self, name: &str) -> Result<Removed, Error> {
        let _door = self.notes.lock()?;
        self.settle()?;
        let tree = self.find(name)?;
        self.take_away(&tree.name, &tree.path, Some(&tree))
    }

    /// Removes a neighbor of a worktree that goes and whose lock the caller holds.
    pub(super) fn remove_with_owner(&self, tree: &RegisteredWorktree) -> Result<(), Error> {
        let _door = self.notes.lock()?;
        self.settle()?;
        let name = &tree.name;
        let _turn = self.notes.lock_tree(name)?.ok_or_else(|| Error::AtWork { name: name.clone() })?;
        let look = WorktreeInspection::of(&self.project, &self.keep)?;
        let facts = WorktreeFacts { beside: None, busy: None, ..look.facts(tree, &tree.path)? };
        let kept = |why| Error::Kept { name: name.clone(), path: tree.path.clone(), why };
        worktree::may_remove(&facts).map_err(kept)?;
        self.clear_away((name, &tree.path), Some(tree), (&look, facts.folder)).map(drop)
    }

    /// Removes every worktree that loses nothing.
    pub fn prune(&self) -> Result<Pruned, Error> {
        let _door = self.notes.lock()?;
        self.settle()?;
        let mut pruned = Pruned::default();
        for finding in self.inspect()? {
            match finding.reclaim {
                PruneDecision::Kept { .. } => pruned.kept.push(finding),
                PruneDecision::Safe => {
                    let tree = worktree_registry::tree_at(&finding.path)?;
                    match self.take_away(&finding.name, &finding.path, tree.as_ref()) {
                        Ok(removed) => pruned.removed.push(removed),
                        Err(error) => pruned.failed.push((finding, error)),
                    }
                }
            }
        }
        Ok(pruned)
    }

    /// Removes a directory of ours: a registered one, or an unknown one among the worktrees.
    fn take_away(
        &self,
        name: &str,
        path: &Path,
        tree: Option<&RegisteredWorktree>,
    ) -> Result<Removed, Error> {
        let at_work = || Error::AtWork { name: name.to_owned() };
        let _turn = self.notes.lock_tree(name)?.ok_or_else(at_work)?;
        let look = WorktreeInspection::of(&self.project, &self.keep)?;
        let kept = |why| Error::Kept { name: name.to_owned(), path: path.to_owned(), why };
        let facts = match tree {
            Some(tree) => look.facts(tree, path)?,
            None => look.facts_of_stranger(path)?,
        };
        worktree::may_remove(&facts).map_err(kept)?;
        // Nothing may start working there meanwhile.
        let _workspace =
            self.occupy(path).map_err(|who| who.map_or_else(at_work, |who| kept(KeepReason::Busy(who))))?;
        if let Some(tree) = tree {
            sibling::take_along(tree)?;
        }
        self.clear_away((name, path), tree, (&look, facts.folder))
    }

    /// Removes a directory that loses nothing and in which nothing can start to work.
    fn clear_away(
        &self,
        (name, path): (&str, &Path),
        tree: Option<&RegisteredWorktree>,
        (look, folder): (&WorktreeInspection<'_>, WorktreeFolder),
    ) -> Result<Removed, Error> {
        if folder == WorktreeFolder::There && tree.is_some() {
            self.tear_down(name, path)?;
        }
        let removed = Removed {
            name: name.to_owned(),
            path: path.to_owned(),
            branch: self.branch(tree)?,
            bytes: measure(path).0,
            saved: Vec::new(),
        };
        self.notes.set(name, WorktreeIntent::Remove)?;
        let saved = match folder {
            WorktreeFolder::There => {
                let aside = self.aside(name);
                state_dir::create(&self.folder)?;
                place(path, &aside)?;
                self.delete_aside((name, path), tree, look)?
            }
            WorktreeFolder::Absent | WorktreeFolder::Other => {
                self.forget(path)?;
                Vec::new()
            }
        };
        self.notes.clear(name)?;
        sibling::clear_site(path, name);
        Ok(Removed { saved, ..removed })
    }

    /// Checks a directory that was moved aside again, and deletes it; moves it back if something would be
    /// lost after all.
    fn delete_aside(
        &self,
        (name, path): (&str, &Path),
        tree: Option<&RegisteredWorktree>,
        look: &WorktreeInspection<'_>,
    ) -> Result<Vec<PathBuf>, Error> {
        let aside = self.aside(name);
        let work = look.work(&aside, tree);
        if !work.is_nothing() {
            place(&aside, path)?;
            self.notes.clear(name)?;
            return Err(Error::Kept {
                name: name.to_owned(),
                path: path.to_owned(),
                why: KeepReason::Work(work),
            });
        }
        let saved = self.save(name, tree, look)?;
        self.forget(path)?;
        temp_dir::remove(&aside).map_err(|source| Error::File { path: aside.clone(), source })?;
        self.keep.forget(&aside);
        Ok(saved)
    }

    fn forget(&self, path: &Path) -> Result<(), Error> {
        worktree_registry::forget(path)?;
        self.keep.forget(path);
        Ok(())
    }

    /// Saves what planwright wrote in a worktree and is nowhere else: the plan with its marks, and its
    /// progress.
    fn save(
        &self,
        name: &str,
        tree: Option<&RegisteredWorktree>,
        look: &WorktreeInspection<'_>,
    ) -> Result<Vec<PathBuf>, Error> {
        let Some(plan) = tree.and_then(|tree| tree.plan.as_deref()) else { return Ok(Vec::new()) };
        let root = self.place(&self.aside(name));
        let folder = self.states.join(SAVED).join(format!("{name}-{}", clock::now()));
        let mut saved = Vec::new();
        let own = look.excused(&root, plan);
        for path in
            std::iter::once(plan.to_owned()).chain(progress_of(plan)).filter(|path| own.contains(path))
        {
            let from = root.join(&path);
            let is_file = from.symlink_metadata().is_ok_and(|data| data.is_file());
            if !is_file || is_same(&from, &self.project.root.join(&path)) {
                continue;
            }
            state_dir::create(&folder)?;
            let to = folder.join(path.file_name().unwrap_or_default());
            copy_ignored::duplicate(&from, &to).map_err(|source| Error::File { path: from, source })?;
            saved.push(to);
        }
        Ok(saved)
    }

    /// The branch of a worktree in the user's repository, if it exists.
    fn branch(&self, tree: Option<&RegisteredWorktree>) -> Result<Option<String>, Error> {
        let Some(branch) = tree.and_then(|tree| tree.branch.clone()) else { return Ok(None) };
        Ok(self.keep.get(&format!("refs/heads/{branch}"))?.map(|_| branch))
    }

    /// Locks a workspace so that no run starts in it. The error names the holder.
    fn occupy(&self, path: &Path) -> Result<Option<RunLock>, Option<String>> {
        let root = &self.project.root;
        if !Store::exists(root).map_err(|_| None)? {
            return Ok(None);
        }
        let store = Store::open(root).map_err(|_| None)?;
        let name = workspace_lock(&self.place(path));
        match store.lock_named(&name).map_err(|_| None)? {
            Some(lock) => Ok(Some(lock)),
            None => Err(store.holder_named(&name).ok().flatten().map(|holder| holder.to_string())),
        }
    }

    fn tear_down(&self, name: &str, path: &Path) -> Result<(), Error> {
        let settings = &self.project.config.worktree;
        let ports = worktree_registry::tree_at(path)?.map(|tree| tree.ports).unwrap_or_default();
        let place = self.place(path);
        let ground = ScriptTarget {
            root: &self.project.root,
            folder: &place,
            ports: &ports,
            seconds: settings.seconds,
        };
        let name = name.to_owned();
        match setup_script::run(&settings.teardown, ground)? {
            ScriptRun::Nothing | ScriptRun::Well => Ok(()),
            ScriptRun::Unallowed { command } => Err(Error::Unallowed { name, command }),
            ScriptRun::Badly { how, said } => Err(Error::TearDown { name, how, said }),
        }
    }

    /// Finishes or reverts interrupted operations. Called with the lock held.
    pub(super) fn settle(&self) -> Result<(), Error> {
        for (name, intent) in self.notes.all() {
            // A live process is doing it, and finishes it.
            let Some(_turn) = self.notes.lock_tree(&name)? else { continue };
            match intent {
                WorktreeIntent::Add => self.settle_add(&name)?,
                WorktreeIntent::Remove => self.settle_remove(&name)?,
            }
        }
        self.forget_gone()
    }

    /// The registered worktrees of attempts whose directories are gone. The next attempt sweeps them; nothing
    /// else reports them.
    pub fn gone(&self) -> Result<Vec<PathBuf>, Error> {
        let is_attempts =
            |tree: &RegisteredWorktree| tree.branch.is_none() && tree.repository == self.keep.common();
        let mut gone = Vec::new();
        for tree in worktree_registry::trees().into_iter().filter(is_attempts) {
            if folder_at(&tree.path)? == WorktreeFolder::Absent {
                gone.push(tree.path);
            }
        }
        Ok(gone)
    }

    /// Forgets the worktrees of attempts whose directories are gone.
    pub fn forget_gone(&self) -> Result<(), Error> {
        self.gone()?.iter().try_for_each(|path| self.forget(path))
    }

    /// The worktrees whose creation or removal was interrupted; the next removal finishes it.
    /// [`Worktrees::inspect`] reports one that is complete but not provisioned.
    pub fn unfinished(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for (name, intent) in self.notes.all() {
            let path = self.site(&name);
            let is_whole =
                worktree_registry::tree_at(&path)?.is_some() && folder_at(&path)? == WorktreeFolder::There;
            // A live process is doing it, and finishes it.
            if !(intent == WorktreeIntent::Add && is_whole) && self.notes.lock_tree(&name)?.is_some() {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// An interrupted creation: an incomplete worktree goes, a complete one waits for its next user.
    fn settle_add(&self, name: &str) -> Result<(), Error> {
        let (staging, path) = (self.staging(name), self.site(name));
        if folder_at(&staging)? == WorktreeFolder::There {
            // Nothing ever worked in it: it was never where a worktree is found.
            temp_dir::remove(&staging).map_err(|source| Error::File { path: staging, source })?;
        }
        let is_ours = worktree_registry::tree_at(&path)?.is_some();
        if is_ours && folder_at(&path)? == WorktreeFolder::Absent {
            self.forget(&path)?;
            self.notes.clear(name)?;
        }
        if !is_ours {
            self.notes.clear(name)?;
        }
        Ok(())
    }

    /// An interrupted removal: the worktree is checked again and goes, or comes back.
    fn settle_remove(&self, name: &str) -> Result<(), Error> {
        let (aside, path) = (self.aside(name), self.site(name));
        if folder_at(&aside)? == WorktreeFolder::Absent {
            return self.notes.clear(name);
        }
        let tree = worktree_registry::tree_at(&path)?;
        let look = WorktreeInspection::of(&self.project, &self.keep)?;
        match self.delete_aside((name, &path), tree.as_ref(), &look) {
            Ok(_) => {
                sibling::clear_site(&path, name);
                self.notes.clear(name)
            }
            // It is back in place; the next removal says why.
            Err(Error::Kept { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
