//! The façade: what front ends call. Everything below it is an implementation detail of the engine.

pub mod arbiter;
pub mod caller;
pub mod error;
pub mod events;
pub mod history;
pub mod live;
pub mod log;
mod next;
pub mod notify;
mod path;
pub mod plan;
pub mod run;
mod run_state;
pub mod run_view;
pub mod runnable;
pub mod start;
pub mod worker;
pub mod target;
pub mod workspace;

pub use arbiter::{ArbiterNews, ArbiterOptions, ArbiterView};
pub use caller::{Caller, Right};
pub use error::merge::merge_failed;
pub use error::{Error, ErrorKind, WHAT_IS_A_PLAN, unchanged};
pub use events::{EventStream, EventsView, HookView, Since};
pub use history::{DraftView, HistoryView, MergedView, VersionRunView, VersionView};
pub use live::{LiveEvent, LiveRun, LiveStep};
pub use log::{AttemptPart, AttemptView, LogEntryView, LogView, RecordedPart, RunLog, step_of_event};
pub use next::{NextCommand, shell_word};
pub use notify::Notifications;
pub use path::shown;
pub use plan::Plan;
pub use run::{AnswerView, RollbackView, RunAsk, StopView, budget_answer};
pub use run_state::FindingView;
pub use run_view::{DryRun, FailedStep, RunChoice, RunRest, RunView, StepView, texts_to_compare};
pub use runnable::{AgentGap, AgentView, RunnablePlan, WorktreePlan};
pub use start::{
    AgentChange, ApprovedStart, Blocker, Driving, Missing, Readiness, Rest, Retry, Start, StartApproval,
    StartOptions, StepSelection,
};
pub use target::{ChosenPlan, PlanRun, Target, step_of_run};
pub use worker::{WorkerNews, WorkerView};
pub use workspace::{OpenOptions, Workspace};

pub use crate::portfolio::board::Blocker as PlanBlocker;
pub use crate::run::arbiter::Vacancy;
pub use crate::run::remote_worker::{WorkUntil, WorkerOptions};
pub use crate::run::simulate::{SimulatedStep, Simulation, SimulationInput};
pub use crate::run::step_tools::StepToolsAttempt;
pub use crate::run::{RolledBack, Run};
pub use crate::store::journal::RecordedEvent;
pub use crate::system::clock::local as local_time;
pub use crate::system::process::Stop;
pub use crate::workspace::feed::{FeedItem, FeedSubject};

// The vocabulary of core that front ends name.
pub use planwright_core::agent::account::Account;
pub use planwright_core::agent::report::{FindingSeverity, ReportFinding, ReportLine, TEXT_BYTES_MAX};
pub use planwright_core::approval::ledger::Drafting;
pub use planwright_core::plan::digest::Digest;
pub use planwright_core::plan::identity::Identity;
pub use planwright_core::plan::verified::{Contract, Step};
pub use planwright_core::run::event::{
    AnswerKind, AskAnswer, AskReason, AttemptEnd, Event, JudgedBy, RunOutcome, StopMode,
};
pub use planwright_core::run::receipt::Receipt;
pub use planwright_core::run::state::{CLAIM, RunState, RunStatus};
pub use planwright_core::syntax::invisible::is_unprintable;
pub use planwright_core::syntax::nearest::nearest;
pub use planwright_core::syntax::source::Source;
pub use planwright_core::workspace::active_plan::ResolvedBy;
pub use planwright_core::workspace::notification::Notification;
