//! The part of planwright that acts: it reads and writes files, starts processes and gathers facts. It never prints and
//! never decides: decisions are made in `planwright_core`. Folders are listed bottom up: each imports only those above it.

pub mod system;
pub mod store;
pub mod config;
pub mod workspace;
pub mod git;
pub mod run;
pub mod approval;
pub mod portfolio;
pub mod agent;
pub mod audit;
pub mod api;
pub mod host;
#[cfg(test)]
#[path = "../tests/scratch/folder.rs"]
mod scratch;
