//! All suites over the engine that need no `main` of their own, in one program: each test file that is a program of its own is
//! linked apart, and that costs more than the suites do.

mod base;
mod bash;
mod directions;
#[path = "../../core/tests/extent.rs"]
mod extent;
mod feed;
mod keep;
mod queue;
#[path = "simulation/random.rs"]
mod random;
#[path = "scratch/repository.rs"]
mod repository;
#[path = "conformance/sabotage.rs"]
mod sabotage;
#[path = "../../core/tests/run/sample.rs"]
mod sample;
#[path = "scratch/folder.rs"]
mod scratch;
mod signature;
mod simulation;
mod store;
#[path = "conformance/suite.rs"]
mod suite;
mod tally;
mod trees;
#[path = "conformance/trial.rs"]
mod trial;
