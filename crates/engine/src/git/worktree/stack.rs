//! Worktrees that start with the work of other plans: finished, not merged yet, and possibly touching the
//! same files. Work done in parallel to theirs would conflict when merged after it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::add::WorktreeStart;
use super::inspect::{WorktreeInspection, progress_of};
use super::{Error, POINTER, Worktrees, marker};
use crate::git::repository::{MergeCommit, SyncResult};
use crate::store::worktree_registry;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::system::process::Repository;

/// A finished plan whose work is on a branch and not merged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedPlan {
    pub name: String,
    /// Of its branch.
    pub commit: String,
}

impl Worktrees {
    /// A commit with the work of the plans that a plan follows by what it touches. Conflicting work is left
    /// out, and reported.
    pub(super) fn joined(&self, after: &[UnmergedPlan], from: &str) -> Result<WorktreeStart, Error> {
        let mut begun = WorktreeStart { commit: from.to_owned(), complaints: Vec::new() };
        for UnmergedPlan { name, commit: tip } in after {
            if self.keep.is_ancestor(tip, &begun.commit)? {
                continue;
            }
            if self.keep.is_ancestor(&begun.commit, tip)? {
                begun.commit.clone_from(tip);
                continue;
            }
            match self.keep.merge(&begun.commit, tip)? {
                MergeCommit::Clean { tree } => {
                    let message = format!("Start with the work of {name}");
                    begun.commit = self.keep.commit(&tree, &[&begun.commit, tip], &message)?;
                }
                MergeCommit::Conflict { paths, .. } => begun.complaints.push(format!(
                    "it starts without the work of {name}, which is done but not merged: conflicts in {}",
                    paths.join(", ")
                )),
            }
        }
        Ok(begun)
    }

    /// Updates the worktree of a plan that is about to run with the work of the plans it follows, if nothing
    /// was done in it yet. Returns conflicts.
    pub fn catch_up(&self, plan: &Path, after: &[UnmergedPlan]) -> Result<Vec<String>, Error> {
        let plan = self.plan_in(plan)?;
        let is_its = |tree: &RegisteredWorktree| tree.owner.is_none() && tree.plan.as_ref() == Some(&plan);
        let Some(tree) = self.known().into_iter().find(|tree| is_its(tree) && tree.path.is_dir()) else {
            return Ok(Vec::new());
        };
        let Some(_turn) = self.notes.lock_tree(&tree.name)? else { return Ok(Vec::new()) };
        let branch = format!("refs/heads/{}", tree.branch.clone().unwrap_or_default());
        let tip = self.keep.get(&branch)?;
        let is_begun = tip.as_ref().is_some_and(|tip| *tip != tree.base);
        let look = WorktreeInspection::of(&self.project, &self.keep)?;
        if is_begun || !look.work(&tree.path, Some(&tree)).is_nothing() {
            return Ok(Vec::new());
        }
        let WorktreeStart { commit, mut complaints } = self.joined(after, &tree.base)?;
        if commit == tree.base {
            return Ok(complaints);
        }
        let part = self.keep.part();
        let own = [PathBuf::from(marker::MARKER), PathBuf::from(POINTER), plan.clone()];
        let own: Vec<PathBuf> =
            own.into_iter().chain(progress_of(&plan)).map(|path| part.join(path)).collect();
        // The branch comes last: a worktree behind its branch would revert what is there.
        match self.keep.bring(&tree.path, &tree.base, &commit, &own)? {
            SyncResult::Conflict { paths } => {
                complaints.push(format!("files in its worktree would be overwritten: {}", paths.join(", ")));
                return Ok(complaints);
            }
            SyncResult::Done => {}
        }
        self.move_own(&tree, &commit)?;
        worktree_registry::register(&RegisteredWorktree { base: commit.clone(), ..tree })?;
        self.keep.set(&branch, &commit, tip.as_deref())?;
        Ok(complaints)
    }

    /// Moves the git directory of an unused worktree to another commit, with its own objects.
    fn move_own(&self, tree: &RegisteredWorktree, commit: &str) -> Result<(), Error> {
        let git = tree.path.join(".git");
        let borrowed = git.join("objects/info/alternates");
        let failed = |source| Error::File { path: borrowed.clone(), source };
        let mut objects = self.keep.common().join("objects").into_os_string().into_encoded_bytes();
        objects.push(b'\n');
        let lend = || -> io::Result<()> {
            let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&borrowed)?;
            file.write_all(&objects)
        };
        lend().map_err(failed)?;
        let own = Repository { tree: tree.path.clone(), git };
        let branch = format!("refs/heads/{}", tree.branch.clone().unwrap_or_default());
        let told = (|| {
            for words in
                [&["update-ref", &branch, commit][..], &["read-tree", commit], &["repack", "-a", "-d", "-q"]]
            {
                if own.ask(words)?.code != Some(0) {
                    return Err(Error::NoGit { path: tree.path.clone() });
                }
            }
            Ok(())
        })();
        // A worktree refers to the user's repository only while it copies what it needs.
        std::fs::remove_file(&borrowed).map_err(failed)?;
        told
    }
}
