//! Worktrees of plans: added, listed and removed without losing work.

pub use planwright_core::workspace::worktree::{CreatedBy, PruneDecision, WorktreeState};

pub use crate::api::error::worktree::{DIGITS_MIN, typed_command};
pub use crate::config::WorktreeScript;
pub use crate::git::worktree::{
    AddOptions, AddedWorktree, Pruned, Removed, ScriptRun, Setup, WorktreeFinding, Worktrees, script_digest,
};
pub use crate::portfolio::board::unmerged;
pub use crate::store::worktree_registry::RegisteredWorktree;

use crate::api::error::Error;
use crate::api::workspace::Workspace;

impl Workspace {
    pub fn worktrees(&self) -> Result<Worktrees, Error> {
        Ok(Worktrees::of(self.project())?)
    }
}
