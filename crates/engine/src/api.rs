//! The façade: what front ends call. Everything below it is an implementation detail of the engine.

pub mod caller;
pub mod error;
mod next;
pub mod notify;
mod path;
pub mod plan;
pub mod start;
pub mod target;
pub mod workspace;

pub use caller::{Caller, Right};
pub use error::merge::merge_failed;
pub use error::{Error, ErrorKind, WHAT_IS_A_PLAN, unchanged};
pub use next::{NextCommand, shell_word};
pub use notify::Notifications;
pub use path::shown;
pub use plan::Plan;
pub use target::{ChosenPlan, PlanRun, Target, step_of_run};
pub use workspace::{OpenOptions, Workspace};

// The vocabulary of core that front ends name.
pub use planwright_core::syntax::invisible::is_unprintable;
pub use planwright_core::workspace::active_plan::ResolvedBy;
pub use planwright_core::workspace::notification::Notification;
