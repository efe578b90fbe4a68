//! Processes, programs, time and file watching. Knows nothing about plans.

pub mod clock;
pub mod process;
pub mod program;
pub mod user;
pub(crate) mod walk;
pub mod watch;
