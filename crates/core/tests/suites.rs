//! All suites over core in one program: each test file that is a program of its own is linked apart, and that costs more than
//! the suites do.

mod agents;
mod audit;
mod dialects;
mod digest;
#[expect(clippy::disallowed_methods, reason = "the nightly run asks for everything by a variable")]
mod extent;
mod foreign;
mod foreign_tasks;
mod fuzz;
mod integrate;
mod merge;
mod native;
#[path = "literate/page.rs"]
mod page;
mod patch;
mod policy;
mod review;
mod run;
mod source;
mod standing;
mod verify;
