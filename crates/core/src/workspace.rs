//! Many plans side by side in one repository: the active plan, overlaps, the merge queue, worktrees and sessions.

pub mod active_plan;
pub mod merge_queue;
pub mod notification;
pub mod portfolio;
pub mod reminder;
pub mod session;
pub mod worktree;
