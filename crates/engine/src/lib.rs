//! The part of planwright that acts: it reads and writes files, starts processes and gathers facts.
//! It never prints and never decides: decisions are made in `planwright_core`, which it re-exports for the faces.

pub use planwright_core as core;

pub mod acp;
pub mod arbiter;
mod attempt;
pub mod audit;
pub mod base;
pub mod binding;
pub mod clock;
pub mod config;
pub mod connect;
pub mod consult;
pub mod contract;
pub mod coordination;
pub mod crew;
pub mod decisions;
pub mod desk;
pub mod doctor;
pub mod driver;
pub mod executor;
pub mod facts;
pub mod feed;
pub mod figures;
pub mod ground;
pub mod hook;
pub mod host;
pub mod integrate;
pub mod keep;
pub mod kind;
pub mod merge;
mod mirror;
pub mod notify;
pub mod planner;
pub mod policy;
pub mod process;
pub mod project;
pub mod red;
pub mod repositories;
pub mod rerun;
pub mod runs;
pub mod scope;
#[cfg(test)]
#[path = "../tests/scratch/folder.rs"]
mod scratch;
pub mod seal;
mod seen;
pub mod session;
pub mod setup;
pub mod signature;
pub mod simulate;
pub mod store;
pub mod submission;
pub mod templates;
mod topic;
pub mod trees;
pub mod versions;
mod walk;
pub mod watch;
pub mod worker;
pub mod workspace;

pub use project::{Project, Verified};
