//! Worktrees of plans: added, listed and removed without losing work.

pub use planwright_core::workspace::worktree::{CreatedBy, PruneDecision, WorktreeState};

pub use crate::api::error::worktree::{DIGITS_MIN, typed_command};
pub use crate::config::WorktreeScript;
pub use crate::git::worktree::{
    AddOptions, AddedWorktree, Pruned, Removed, ScriptRun, Setup, WorktreeFinding, script_digest,
};
pub use crate::store::worktree_registry::RegisteredWorktree;

use std::path::{Path, PathBuf};

use crate::api::caller::{Caller, Right};
use crate::api::error::Error;
use crate::api::plan::Plan;
use crate::api::workspace::Workspace;
use crate::git::worktree;
use crate::portfolio::board;

/// The worktrees of a repository, and who asks for them.
pub struct Worktrees {
    trees: worktree::Worktrees,
    caller: Caller,
}

impl Workspace {
    pub fn worktrees(&self) -> Result<Worktrees, Error> {
        Ok(Worktrees { trees: worktree::Worktrees::of(self.project())?, caller: self.caller().clone() })
    }
}

impl Worktrees {
    /// Creates the worktree of a plan on this base commit; without one, on top of the plans that it needs.
    pub fn add(
        &self,
        plan: &Plan,
        name: Option<&str>,
        base: Option<&str>,
        setup: Setup,
    ) -> Result<AddedWorktree, Error> {
        let plan = plan.path();
        let after = if base.is_none() { board::unmerged(&self.trees, plan) } else { Vec::new() };
        Ok(self.trees.add(&AddOptions { plan, name, base, after: &after, setup })?)
    }

    /// The setup command that only the project sets and nobody has allowed.
    pub fn unallowed_setup(&self) -> Result<Option<&WorktreeScript>, Error> {
        Ok(self.trees.unallowed_setup()?)
    }

    pub fn unallowed_teardown(&self) -> Result<Option<&WorktreeScript>, Error> {
        Ok(self.trees.unallowed_teardown()?)
    }

    pub fn may_allow(&self, right: Right) -> Result<(), Error> {
        self.caller.may(right)
    }

    /// Allows exactly this command, from now on.
    pub fn allow(&self, script: &WorktreeScript, right: Right) -> Result<(), Error> {
        self.caller.may(right)?;
        Ok(self.trees.allow(script)?)
    }

    pub fn inspect(&self) -> Result<Vec<WorktreeFinding>, Error> {
        Ok(self.trees.inspect()?)
    }

    pub fn look_at(&self, tree: &RegisteredWorktree) -> Result<WorktreeFinding, Error> {
        Ok(self.trees.look_at(tree)?)
    }

    pub fn find(&self, name: &str) -> Result<RegisteredWorktree, Error> {
        Ok(self.trees.find(name)?)
    }

    /// The root of the project in a worktree.
    pub fn place(&self, path: &Path) -> PathBuf {
        self.trees.place(path)
    }

    pub fn is_there(&self, tree: &RegisteredWorktree) -> bool {
        self.trees.is_there(tree)
    }

    /// Whether its creation never finished.
    pub fn is_unfinished(&self, name: &str) -> bool {
        self.trees.is_unfinished(name)
    }

    pub fn remove(&self, name: &str) -> Result<Removed, Error> {
        self.caller.may(Right::RemoveWorktree)?;
        Ok(self.trees.remove(name)?)
    }

    pub fn prune(&self) -> Result<Pruned, Error> {
        self.caller.may(Right::PruneWorktrees)?;
        Ok(self.trees.prune()?)
    }
}
