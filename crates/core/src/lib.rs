//! The part of planwright that decides. Pure: no files, processes, clock, environment or threads; what a decision needs
//! from the world comes in as data. Folders are listed bottom up: each imports only those above it in this list.

pub mod syntax;
pub mod plan;
pub mod dialect;
pub mod verify;
pub mod agent;
pub mod run;
pub mod approval;
pub mod audit;
pub mod workspace;
