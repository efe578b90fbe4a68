//! Repositories, commits, checkouts and worktrees. Runs git only through the hardened `system::process`.

pub mod base;
pub mod changes;
pub mod checkout;
mod log;
mod merge_attributes;
pub mod merge_driver;
pub mod repository;
pub mod sealed;
mod snapshot;
mod sync;
mod tree_hash;
pub mod worktree;
