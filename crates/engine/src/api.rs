//! The façade: what front ends call. Everything below it is an implementation detail of the engine.

mod ask;
pub mod caller;
pub mod error;
mod inbox;
mod next;
pub mod notify;
mod path;
pub mod plan;
mod queue;
mod run_state;
mod standup;
pub mod start;
mod status;
pub mod target;
pub mod workspace;

pub use ask::{answer_options, answers};
pub use caller::{Caller, Right};
pub use error::merge::merge_failed;
pub use error::{Error, ErrorKind, WHAT_IS_A_PLAN, unchanged};
pub use inbox::{InboxAskView, InboxView, ReviewView};
pub use next::{NextCommand, shell_word};
pub use notify::Notifications;
pub use path::shown;
pub use plan::Plan;
pub use queue::{DashboardView, ParallelView, QueueView, QueuedPlanView, QueuedPlansView, dashboard};
pub use run_state::FindingView;
pub use standup::StandupView;
pub use status::{AskView, CurrentView, RunStatusView, StatusView};
pub use target::{ChosenPlan, PlanRun, Target, step_of_run};
pub use workspace::{OpenOptions, Workspace};

pub use crate::portfolio::merge_queue::EvictedView;
pub use crate::run::simulate::{SimulatedStep, SimulatedTool, Simulation, SimulationInput};

pub use crate::system::clock::{local as local_time, now, read as read_time};

// The vocabulary of core that front ends name.
pub use planwright_core::agent::account::Usage;
pub use planwright_core::agent::work_item::WorkItem;
pub use planwright_core::syntax::invisible::is_unprintable;
pub use planwright_core::workspace::active_plan::ResolvedBy;
pub use planwright_core::workspace::notification::Notification;
