//! What is kept on disk: the state directory, the journal and plan files, all written atomically.

pub(crate) mod file;
pub mod journal;
pub(crate) mod plan_count;
pub(crate) mod plan_dir;
pub mod plan_file;
pub(crate) mod plan_write;
pub(crate) mod random_id;
pub(crate) mod sidecar;
pub mod state_dir;
pub(crate) mod temp_dir;
pub mod worktree_registry;
pub(crate) mod write_lock;
