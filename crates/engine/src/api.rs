//! The façade: what front ends call. Everything below it is an implementation detail of the engine.

pub mod caller;
pub mod error;
mod next;
mod path;
pub mod plan;
pub mod start;
pub mod workspace;

pub use caller::{Caller, Right};
pub use error::merge::merge_failed;
pub use error::{Error, ErrorKind, WHAT_IS_A_PLAN, unchanged};
pub use next::{NextCommand, shell_word};
pub use path::shown;
pub use plan::Plan;
pub use workspace::{OpenOptions, Workspace};

// The vocabulary of core that front ends name.
pub use planwright_core::syntax::invisible::is_unprintable;
