//! The façade: what front ends call. Everything below it is an implementation detail of the engine.

pub mod agent;
pub mod audit;
pub mod caller;
pub mod decision;
mod driver;
pub mod error;
pub mod merge;
mod next;
pub mod notify;
mod path;
pub mod plan;
pub mod policy;
pub mod proposal;
pub mod review;
pub mod session;
pub mod start;
pub mod target;
pub mod workspace;

pub use agent::{HookAnswer, answer_hook, bridge_acp};
pub use audit::{AnchorView, Audit, AuditFindingView, AuditOptions, AuditView, AuditedPlanView, RerunView};
pub use caller::{Caller, Right};
pub use decision::{
    ApprovalOptions, ApprovalSubjectView, ApprovalView, CancelView, CommentsView, RejectionView, UndoView,
};
pub use error::merge::merge_failed;
pub use error::session::SessionCommands;
pub use error::{Error, ErrorKind, WHAT_IS_A_PLAN, unchanged};
pub use merge::MergeRequest;
pub use next::{NextCommand, shell_word};
pub use notify::Notifications;
pub use path::shown;
pub use plan::Plan;
pub use policy::{PolicyRuleView, PolicyView, ProjectPolicy, RequirementView, WhenView};
pub use proposal::{ProposalView, ProposalsView, propose_written};
pub use review::PlanReview;
pub use session::{
    CommitOutcomeView, DroppedThread, Session, SessionCommit, SessionProblem, SessionView, session_trouble,
};
pub use target::{ChosenPlan, PlanRun, Target, step_of_run};
pub use workspace::{OpenOptions, Workspace};

pub use crate::agent::acp::AcpEnd;
pub use crate::agent::planning_session::{CommitFault, Wrong};
pub use crate::audit::AnchorRefs;
pub use crate::audit::rerun::{Earlier, RerunOptions, RerunScope};
pub use crate::portfolio::merge_queue::{Evicted, MergeAction, MergeNotice, MergeReport, PlannedMerge};
pub use crate::system::clock::local as local_time;
pub use crate::system::process::{Stop, job_above};

// The vocabulary of core that front ends name.
pub use planwright_core::approval::policy::BY_DEFAULT;
pub use planwright_core::approval::review::{
    CommentReview, ContractReview, CostLimits, DiffSign, Difference, Direction, Review, ReviewReason,
};
pub use planwright_core::approval::status::Comment;
pub use planwright_core::audit::HistoryLine;
pub use planwright_core::audit::rerun::{CurrentResult, RerunOutcome};
pub use planwright_core::dialect::proposal::inline as proposal_of_json;
pub use planwright_core::plan::identity::{Identity, Role};
pub use planwright_core::plan::verified::{Contract, Step, slug};
pub use planwright_core::run::baseline::BaselineResult;
pub use planwright_core::run::event::RunOutcome;
pub use planwright_core::syntax::diagnostic::{Diagnostic, Severity};
pub use planwright_core::syntax::invisible::is_unprintable;
pub use planwright_core::workspace::active_plan::ResolvedBy;
pub use planwright_core::workspace::notification::Notification;
