//! All suites over core in one program: each test file that is a program of its own is linked apart, and that costs more than
//! the suites do.

mod agents;
mod approval_status;
mod audit;
mod dialects;
mod digest;
mod fuzz;
mod import;
mod import_tasks;
mod lost_step;
mod merge;
mod merge_queue;
mod native;
#[path = "literate/page.rs"]
mod page;
mod patch;
mod policy;
mod review;
mod run;
mod source;
#[expect(clippy::disallowed_methods, reason = "the nightly run asks for everything by a variable")]
mod sweep;
mod verify;
