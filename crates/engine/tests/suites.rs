//! All suites over the engine that need no `main` of their own, in one program: each test file that is a program of its own is
//! linked apart, and that costs more than the suites do.

mod base;
mod bash;
mod feed;
mod identity;
mod owned_refs;
mod queue;
#[path = "simulation/random.rs"]
mod random;
#[path = "scratch/repository.rs"]
mod repository;
mod run_summary;
#[path = "conformance/sabotage.rs"]
mod sabotage;
#[path = "../../core/tests/run/sample.rs"]
mod sample;
#[path = "scratch/folder.rs"]
mod scratch;
mod signature;
mod simulation;
mod store;
mod strictness;
#[path = "conformance/suite.rs"]
mod suite;
#[path = "../../core/tests/sweep.rs"]
mod sweep;
#[path = "conformance/trial.rs"]
mod trial;
mod worktree;
