//! The part of planwright that acts: it reads and writes files, starts processes and gathers facts.
//! It never prints and never decides: decisions are made in `planwright_core`, which it re-exports for the faces.

pub use planwright_core as core;

pub mod clock;
pub mod config;
pub mod crew;
pub mod doctor;
pub mod driver;
pub mod facts;
pub mod host;
pub mod kind;
pub mod merge;
mod mirror;
pub mod policy;
pub mod process;
pub mod project;
pub mod runs;
#[cfg(test)]
#[path = "../tests/scratch/folder.rs"]
mod scratch;
pub mod setup;
pub mod signature;
pub mod store;
mod topic;
pub mod versions;
pub mod watch;
pub mod worker;
pub mod workspace;

pub use project::{Project, Verified};
