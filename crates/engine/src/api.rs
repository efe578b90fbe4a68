//! The façade: what front ends call. Everything below it is an implementation detail of the engine.

mod active_plan;
pub mod agent;
pub mod arbiter;
mod ask;
pub mod audit;
pub mod caller;
pub mod config;
mod convert;
mod create;
pub mod decision;
mod demo;
mod diagnostics;
mod discovery;
mod doctor;
mod draft;
mod edit;
pub mod error;
pub mod events;
mod explain;
mod export;
mod format;
pub mod history;
mod inbox;
pub mod init;
mod input;
mod list;
pub mod live;
pub mod log;
pub mod merge;
mod next;
pub mod notify;
mod path;
pub mod plan;
mod planner;
pub mod policy;
mod prompt;
pub mod proposal;
mod queue;
pub mod review;
mod revise;
pub mod run;
mod run_state;
pub mod run_view;
pub mod runnable;
pub mod session;
mod shelve;
mod show;
mod simulate;
mod standup;
pub mod start;
mod stats;
mod status;
mod submission;
pub mod target;
mod tools;
mod verify;
pub mod worker;
pub mod workspace;
pub mod worktree;

pub use active_plan::{ActivePlanView, BindingView, NamedPlansView, named_plans_of_session};
pub use agent::{HookAnswer, answer_hook, bridge_acp};
pub use arbiter::{ArbiterNews, ArbiterOptions, ArbiterView};
pub use ask::{answer_options, answers};
pub use audit::{AnchorView, Audit, AuditFindingView, AuditOptions, AuditView, AuditedPlanView, RerunView};
pub use caller::{Caller, Confirmation, Right};
pub use convert::{Conversion, ConvertOptions, ConvertOutput, ConvertView, dialect_line};
pub use create::{CopyView, NewPlanOptions, NewPlanView};
pub use decision::{
    ApprovalOptions, ApprovalSubjectView, ApprovalView, CancelView, CommentsView, RejectionView, UndoView,
};
pub use demo::{DemoView, create_demo};
pub use diagnostics::{
    BaselineView, CheckCounts, CheckedFile, DiagnosticView, FileView, FixView, RelatedView,
    ReviewFindingView, SpanView, SuggestionView, TextEditView, VerifyView, Warnings,
};
pub use discovery::DiscoveriesView;
pub use doctor::{DoctorFindingView, DoctorView, Repair, doctor, record_note};
pub use draft::{AnswerOrigin, DraftAnswer, DraftRequest, DraftedView, QuickTask, WrittenDraft};
pub use edit::{EditMode, EditRequest, EditView};
pub use error::session::SessionCommands;
pub use error::{Error, ErrorKind, unchanged};
pub use events::{EventStream, EventsView, HookView, Since};
pub use explain::{RulesView, explain, rules};
pub use export::{ExportOptions, ExportedRecords, ReceiptsView};
pub use format::{FormatMode, FormatView};
pub use history::{DraftView, HistoryView, MergedView, VersionRunView, VersionView};
pub use inbox::{InboxAskView, InboxView, ReviewView, ReviewsView};
pub use input::{STDIN, read_input};
pub use list::{PlanFilter, PlanListView, RecordedPlanView, Shelf};
pub use live::{LiveEvent, LiveRun, LiveStep};
pub use log::{
    AttemptPart, AttemptTimes, AttemptView, LogEntryView, LogView, RecordedPart, RunLog, step_of_event,
};
pub use merge::MergeRequest;
pub use next::{NextCommand, shell_word};
pub use notify::Notifications;
pub use path::shown;
pub use plan::Plan;
pub use planner::{Conversation, PlannerAnswer, ReturnedAnswer};
pub use policy::{PolicyRuleView, PolicyView, ProjectPolicy, RequirementView, WhenView};
pub use proposal::{ProposalView, ProposalsView};
pub use queue::{DashboardView, ParallelView, QueueView, QueuedPlanView, QueuedPlansView, dashboard};
pub use review::PlanReview;
pub use revise::{
    NewVersion, ReopenView, Revision, RevisionAuthor, RevisionOptions, RevisionView, WrittenVersion,
};
pub use run::{AnswerView, RollbackView, RunAsk, StopView, budget_answer};
pub use run_state::FindingView;
pub use run_view::{
    DryRun, FailedStep, RunChoice, RunReport, RunStepView, RunView, Watching, texts_to_compare,
};
pub use runnable::{AgentGap, AgentView, RunnablePlan, WorktreePlan};
pub use session::{CommitOutcomeView, DroppedThread, Session, SessionCommit, SessionProblem, SessionView};
pub use shelve::{Archivable, ArchiveOptions, ArchiveView, DeleteView, Deletion, Outputs, ShelveView};
pub use show::{ShowOptions, ShowView};
pub use standup::StandupView;
pub use start::{
    AgentChange, ApprovedStart, Blocker, DriveResult, Driving, Missing, ProvenRun, Readiness, Retry, Start,
    StartApproval, StartOptions, StepSelection,
};
pub use stats::{CostView, ProjectionView, StatsOptions, StatsView};
pub use status::{AskView, CurrentView, RunStatusView, StatusView};
pub use submission::{AuthorGuide, FeedbackComment, FeedbackRejection, FeedbackView, SubmittedPlan};
pub use target::{ChosenPlan, PlanRun, Target};
pub use tools::{RefusedCallView, ToolsView, TriageView};
pub use verify::{
    BaselineSummary, CheckInput, CheckSummary, CheckedPlan, PlanReviewer, REVIEWER, WarningLevels,
};
pub use worker::{WorkerNews, WorkerView};
pub use workspace::{OpenOptions, Workspace, dialect_named};

pub use crate::agent::acp::AcpEnd;
pub use crate::agent::planner::{Planner, PlannerReply};
pub use crate::agent::planning_session::{CommitFault, Wrong};
pub use crate::audit::AnchorRefs;
pub use crate::audit::rerun::{Earlier, RerunOptions, RerunScope};
pub use crate::config::{ADVISORY_JUDGE_KEY, ENVIRONMENT_KEY, GATE_JUDGE_KEY, LIKE_KEY, TOPICS_KEY};
pub use crate::git::merge_driver::{MergeFiles, MergedFile, drive as merge_files};
pub use crate::portfolio::board::{Blocker as PlanBlocker, DuplicatePlan};
pub use crate::portfolio::merge_queue::{
    Evicted, EvictedView, MergeAction, MergeNotice, MergeReport, PlannedMerge,
};
pub use crate::run::arbiter::Vacancy;
pub use crate::run::remote_worker::{WorkUntil, WorkerOptions};
pub use crate::run::simulate::{SimulatedStep, SimulatedTool, Simulation, SimulationInput};
pub use crate::run::stats::StatsScope;
pub use crate::run::step_tools::StepToolsAttempt;
pub use crate::run::{RolledBack, Run};
pub use crate::store::journal::{OldOutputs, RecordedEvent};
pub use crate::store::plan_count::{PlanCounts, plan_counts};
pub use crate::store::plan_file::create as create_file;
pub use crate::system::clock::{local as local_time, now, read as read_time};
pub use crate::system::process::{Stop, job_above};
pub use crate::system::user::user;
pub use crate::workspace::feed::{FeedItem, FeedSubject};
pub use crate::workspace::project::Verified;
pub use crate::workspace::template::FOLDER as TEMPLATES;

// The vocabulary of core that front ends name.
pub use planwright_core::agent::account::{Account, Usage};
pub use planwright_core::agent::finding::counted as count_findings;
pub use planwright_core::agent::integration::SKILL;
pub use planwright_core::agent::report::findings as findings_of;
pub use planwright_core::agent::report::{FindingSeverity, ReportFinding, ReportLine, TEXT_BYTES_MAX};
pub use planwright_core::agent::work_item::WorkItem;
pub use planwright_core::approval::ledger::Drafting;
pub use planwright_core::approval::ledger::LedgerEntry;
pub use planwright_core::approval::policy::BY_DEFAULT;
pub use planwright_core::approval::review::{
    CommentReview, ContractReview, CostLimits, DiffSign, Difference, Direction, Review, ReviewReason,
};
pub use planwright_core::approval::status::Comment;
pub use planwright_core::audit::HistoryLine;
pub use planwright_core::audit::rerun::{CurrentResult, RerunOutcome};
pub use planwright_core::dialect::NATIVE;
pub use planwright_core::dialect::proposal::inline as proposal_of_json;
pub use planwright_core::plan::budget::seconds as seconds_of;
pub use planwright_core::plan::digest::Digest;
pub use planwright_core::plan::identity::{Identity, Role};
pub use planwright_core::plan::verified::{Contract, Step, slug};
pub use planwright_core::plan::view::{PlanView, StepView, Summary as PlanSummary};
pub use planwright_core::run::baseline::{Baseline, BaselineResult, fail_count};
pub use planwright_core::run::cost::Spent;
pub use planwright_core::run::event::{
    AnswerKind, AskAnswer, AskEvent, AskReason, AttemptEnd, Event, Judged, JudgedBy, RunEvent, RunOutcome,
    StepEvent, StopMode,
};
pub use planwright_core::run::event::{AttemptFinish, RunStart};
pub use planwright_core::run::forecast::Forecast;
pub use planwright_core::run::receipt::Receipt;
pub use planwright_core::run::state::{RunState, StepStatus};
pub use planwright_core::run::stats::{ContractFigures, Figures, Gap, WaitTime};
pub use planwright_core::syntax::count::number;
pub use planwright_core::syntax::diagnostic::{Diagnostic, Fix, Label, Severity};
pub use planwright_core::syntax::invisible::is_unprintable;
pub use planwright_core::syntax::nearest::nearest;
pub use planwright_core::syntax::source::{Edit, Source, Span};
pub use planwright_core::verify::RULES;
pub use planwright_core::workspace::active_plan::ResolvedBy;
pub use planwright_core::workspace::active_plan::session_text::{ShellKind, script as session_start_script};
pub use planwright_core::workspace::notification::Notification;
