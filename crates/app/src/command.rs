//! The commands, one file each, with the schemas of their answers. No command knows another.

pub(crate) mod acp;
pub(crate) mod answer;
pub(crate) mod approve;
pub(crate) mod arbiter;
pub(crate) mod archive;
pub(crate) mod audit;
pub(crate) mod cancel;
pub(crate) mod comment;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod discover;
pub(crate) mod doctor;
pub(crate) mod draft;
pub(crate) mod edit;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fmt;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod list_plans;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod merge_driver;
pub(crate) mod new;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod propose;
pub(crate) mod quick;
pub(crate) mod reject;
pub(crate) mod review;
pub(crate) mod revise;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod shelve;
pub(crate) mod should_plan;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod tools;
pub(crate) mod undo;
pub(crate) mod r#use;
pub(crate) mod verify;
pub(crate) mod worker;
pub(crate) mod worktree;

use planwright_engine::api;
use planwright_engine::api::{
    AcpEnd, ApprovalView, AuditView, CancelView, CommentsView, HookAnswer, InboxView, MergeReport,
    Notification, PolicyView, ProposalsView, RejectionView, Review, ReviewsView, SessionView, Simulation,
    StatusView, UndoView,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::output::{Envelope, ErrorEnvelope, Page};

/// How a schema is made.
pub(crate) type Make = fn(SchemaGenerator) -> Value;

/// Every schema with its name. A command that prints an envelope has a line here.
pub(crate) const SCHEMAS: &[(&str, Make)] = &[
    ("acp", made::<Envelope<AcpEnd>>),
    ("activate", made::<Envelope<api::ShelveView>>),
    ("active", made::<Envelope<api::ActivePlanView>>),
    ("answer", made::<Envelope<api::AnswerView>>),
    ("approve", made::<Envelope<ApprovalView>>),
    ("arbiter", made::<Envelope<api::ArbiterView>>),
    ("archive", made::<Envelope<api::ArchiveView>>),
    ("audit", made::<Envelope<AuditView>>),
    ("cancel", made::<Envelope<CancelView>>),
    ("clone", made::<Envelope<api::CopyView>>),
    ("comment", made::<Envelope<CommentsView>>),
    ("completions", made::<Envelope<Page>>),
    ("config", made::<Envelope<config::Configured>>),
    ("convert", made::<Envelope<api::ConvertView>>),
    ("delete", made::<Envelope<api::DeleteView>>),
    ("demo", made::<Envelope<api::DemoView>>),
    ("discover", made::<Envelope<api::DiscoveriesView>>),
    ("doctor", made::<Envelope<api::DoctorView>>),
    ("draft", made::<Envelope<api::DraftedView>>),
    ("edit", made::<Envelope<api::EditView>>),
    ("error", made::<ErrorEnvelope>),
    ("event", made::<Envelope<Notification>>),
    ("events", made::<Envelope<api::EventsView>>),
    ("explain", made::<Envelope<api::RulesView>>),
    ("export", made::<Envelope<export::Exported>>),
    ("fmt", made::<Envelope<api::FormatView>>),
    ("help", made::<Envelope<Page>>),
    ("history", made::<Envelope<api::HistoryView>>),
    ("hook", made::<Envelope<HookAnswer>>),
    ("import", made::<Envelope<api::ConvertView>>),
    ("inbox", made::<Envelope<InboxView>>),
    ("init", made::<Envelope<init::Initialised>>),
    ("list", made::<Envelope<api::PlanListView>>),
    ("list-plans", made::<Envelope<api::NamedPlansView>>),
    ("log", made::<Envelope<api::LogView>>),
    ("man", made::<Envelope<Page>>),
    ("mcp", made::<Envelope<mcp::Served>>),
    ("merge", made::<Envelope<MergeReport>>),
    ("merge-driver", made::<Envelope<api::MergedFile>>),
    ("new", made::<Envelope<api::NewPlanView>>),
    ("policy", made::<Envelope<PolicyView>>),
    ("prompt", made::<Envelope<prompt::Prompted>>),
    ("propose", made::<Envelope<ProposalsView>>),
    ("queue", made::<Envelope<api::QueueView>>),
    ("queue-status", made::<Envelope<api::DashboardView>>),
    ("quick", made::<Envelope<api::RunView>>),
    ("reject", made::<Envelope<RejectionView>>),
    ("reopen", made::<Envelope<api::ReopenView>>),
    ("replan", made::<Envelope<api::RevisionView>>),
    ("retry", made::<Envelope<api::RunView>>),
    ("review", made::<Envelope<Review>>),
    ("reviews", made::<Envelope<ReviewsView>>),
    ("run", made::<Envelope<api::RunView>>),
    ("schema", made::<Envelope<schema::Schemas>>),
    ("session", made::<Envelope<SessionView>>),
    ("should-plan", made::<Envelope<api::TriageView>>),
    ("show", made::<Envelope<api::ShowView>>),
    ("simulate", made::<Envelope<Simulation>>),
    ("stage", made::<Envelope<api::ShelveView>>),
    ("standup", made::<Envelope<api::StandupView>>),
    ("stats", made::<Envelope<api::StatsView>>),
    ("status", made::<Envelope<StatusView>>),
    ("rollback", made::<Envelope<api::RollbackView>>),
    ("stop", made::<Envelope<api::StopView>>),
    ("tools", made::<Envelope<api::ToolsView>>),
    ("undo", made::<Envelope<UndoView>>),
    ("use", made::<Envelope<api::BindingView>>),
    ("verify", made::<Envelope<api::VerifyView>>),
    ("worker", made::<Envelope<api::WorkerView>>),
    ("worktree", made::<Envelope<worktree::Worktrees>>),
];

fn made<T: JsonSchema>(generator: SchemaGenerator) -> Value {
    generator.into_root_schema_for::<T>().into()
}
