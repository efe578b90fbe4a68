//! Plans that work in several repositories: next to their worktree is one worktree per other repository, in
//! directories of the same names, so that `../api` means the same there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use planwright_core::workspace::worktree::WorktreeWork;

use super::add::check_out;
use super::inspect::{WorktreeInspection, unknown};
use super::provision::{Setup, furnish};
use super::{Error, Worktrees};
use crate::git::base;
use crate::git::repository::OwnedRefs;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::store::worktree_registry;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::system::clock;
use crate::workspace::project::Project;
use crate::workspace::repository_set;
use crate::workspace::repository_set::OtherRepository;

/// Separates the directory of a repository's worktrees from the name of a worktree with neighbors. No name
/// contains it.
const SIGN: char = '+';

/// Removes the common directory of neighboring worktrees once it is empty.
pub(super) fn clear_site(path: &Path, name: &str) {
    if let Some(above) = path.parent()
        && above.file_name().is_some_and(|folder| is_site(folder, name))
    {
        // A directory that is not empty stays.
        std::fs::remove_dir(above).ok();
    }
}

/// Whether a directory contains the worktree of this name next to those of other repositories.
pub(super) fn is_site(folder: &OsStr, name: &str) -> bool {
    folder.to_string_lossy().strip_suffix(name).is_some_and(|rest| rest.ends_with(SIGN))
}

impl Worktrees {
    /// The repositories that a plan works in apart from the project's own.
    fn repositories_of(&self, plan: &Path) -> Result<Vec<OtherRepository>, Error> {
        if self.project.config.repositories.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.project.root.join(plan);
        match plan_file::read(&path, &plan.to_string_lossy(), self.project.reading())? {
            FileText::Plan(source) => Ok(repository_set::of(&self.project, &source)?),
            FileText::Unreadable(_) => Ok(Vec::new()),
        }
    }

    /// The path of the worktree of this name.
    pub(super) fn site(&self, name: &str) -> PathBuf {
        let known = self.known().into_iter().find(|tree| tree.name == name);
        known.map_or_else(|| self.folder.join(name), |tree| tree.path)
    }

    /// The path of a plan's worktree: among the others, or in a directory of its own if worktrees of other
    /// repositories go next to it.
    pub(super) fn site_of(&self, name: &str, plan: &Path) -> Result<PathBuf, Error> {
        if self.repositories_of(plan)?.is_empty() {
            return Ok(self.folder.join(name));
        }
        let among = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let own = self.keep.top().file_name().unwrap_or_default();
        Ok(self.folder.with_file_name(format!("{among}{SIGN}{name}")).join(own))
    }

    /// Creates a worktree of every other repository of a plan, next to its own. Existing ones stay as they
    /// are.
    pub(super) fn plant_beside(&self, tree: &RegisteredWorktree) -> Result<(), Error> {
        let (Some(plan), Some(above)) = (&tree.plan, tree.path.parent()) else { return Ok(()) };
        for other in self.repositories_of(plan)? {
            let path = above.join(&other.folder);
            if worktree_registry::tree_at(&path)?.is_some() && path.is_dir() {
                continue;
            }
            if path.symlink_metadata().is_ok() {
                return Err(Error::InTheWay { path });
            }
            let keep = OwnedRefs::of(&other.root)?;
            let branch = tree.branch.clone().unwrap_or_default();
            let begun = base::of(&other.root)?.map(|base| base.commit);
            let no_commit = || Error::NoCommit { revision: format!("HEAD of {}", other.root.display()) };
            let begun = begun.ok_or_else(no_commit)?;
            let commit = keep.get(&format!("refs/heads/{branch}"))?.unwrap_or_else(|| begun.clone());
            let staging = above.join(format!(".planting-{}", other.folder));
            check_out(&keep, &commit, &branch, &staging, &path)?;
            worktree_registry::register(&RegisteredWorktree {
                path: path.clone(),
                repository: keep.common().to_owned(),
                origin: keep.top().to_owned(),
                base: begun,
                owner: Some(self.project.root.clone()),
                ports: Vec::new(),
                created_at_ms: clock::now(),
                ..tree.clone()
            })?;
            let project = Project::find(&other.root).map_err(|error| Error::Project(Box::new(error)))?;
            furnish(&project, &path, Setup::Leave)?;
        }
        Ok(())
    }
}

/// The worktrees of other repositories next to one, which go with it.
fn others_of(tree: &RegisteredWorktree) -> Vec<RegisteredWorktree> {
    let is_beside = |other: &RegisteredWorktree| {
        other.plan == tree.plan
            && other.name == tree.name
            && other.repository != tree.repository
            && other.path.parent() == tree.path.parent()
    };
    match tree.owner {
        Some(_) => Vec::new(),
        None => worktree_registry::trees().into_iter().filter(is_beside).collect(),
    }
}

/// The worktree that one of another repository is next to, if known.
pub(super) fn owner_of(tree: &RegisteredWorktree) -> Option<RegisteredWorktree> {
    let root = tree.owner.as_ref()?;
    let is_owner = |other: &RegisteredWorktree| {
        other.owner.is_none()
            && other.name == tree.name
            && root.starts_with(&other.origin)
            && other.path.parent() == tree.path.parent()
    };
    worktree_registry::trees().into_iter().find(is_owner)
}

/// Adds what would be lost with the neighbors of a worktree.
pub(super) fn add_work(tree: &RegisteredWorktree, work: &mut WorktreeWork) {
    for other in others_of(tree).into_iter().filter(|other| other.path.is_dir()) {
        let lost = work_in(&other).unwrap_or_else(|error| unknown(&error));
        let folder = other.path.file_name().unwrap_or_default().to_string_lossy();
        work.files.extend(lost.files.into_iter().map(|path| format!("../{folder}/{path}")));
        work.commits.extend(lost.commits);
        work.unknown = work.unknown.take().or(lost.unknown);
    }
}

fn work_in(tree: &RegisteredWorktree) -> Result<WorktreeWork, Error> {
    let project = Project::find(&tree.origin).map_err(|error| Error::Project(Box::new(error)))?;
    let keep = OwnedRefs::of(&project.root)?;
    Ok(WorktreeInspection::of(&project, &keep)?.work(&tree.path, Some(tree)))
}

/// Removes the neighbors of a worktree that is about to go, unless something would be lost. Nothing may be
/// able to start working there meanwhile.
pub(super) fn take_along(tree: &RegisteredWorktree) -> Result<(), Error> {
    for other in others_of(tree) {
        let project = Project::find(&other.origin).map_err(|error| Error::Project(Box::new(error)))?;
        Worktrees::of(&project)?.remove_with_owner(&other)?;
    }
    Ok(())
}
