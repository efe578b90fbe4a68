//! Processes, programs, time and file watching. Knows nothing about plans.

pub mod clock;
pub(crate) mod fault;
pub(crate) mod parallel;
pub mod process;
pub mod program;
pub mod user;
pub(crate) mod walk;
pub mod watch;
