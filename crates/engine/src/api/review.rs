//! A plan as its reviewer sees it, and what they can decide about exactly that.

use std::path::PathBuf;

use planwright_core::approval::review::Review;
use planwright_core::dialect::directory::PLAN_FILE;
use planwright_core::plan::lifecycle::{PlanState, WaitReason};

use crate::api::caller::Right;
use crate::api::decision;
use crate::api::decision::{ApprovalOptions, ApprovalView, RejectionView};
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::workspace::Workspace;
use crate::approval::{Approvals, Reviewed};
use crate::run::baseline;
use crate::system::process;

pub struct PlanReview {
    workspace: Workspace,
    path: PathBuf,
    reviewed: Reviewed,
}

impl Workspace {
    /// The review of a plan, compared with revision `since` or the one that the caller read last. Reviews what was
    /// proposed, even if its file can no longer be read.
    pub fn review(&self, address: &str, since: Option<u32>) -> Result<PlanReview, Error> {
        let path = self.project().plan(address)?;
        let workspace = Self::open_for(&path, self.options())?;
        let file = baseline::verify(workspace.project(), &path, &shown(&path))?;
        let reader = workspace.caller().identity();
        let reviewed = Approvals::open(workspace.project())?.review(&path, &file, &reader, since)?;
        Ok(PlanReview { workspace, path, reviewed })
    }
}

impl PlanReview {
    pub fn review(&self) -> &Review {
        &self.reviewed.review
    }

    /// The text that is reviewed.
    pub fn text(&self) -> &str {
        self.reviewed.source.text()
    }

    /// How its file is shown to people.
    pub fn shown(&self) -> String {
        shown(&self.path)
    }

    /// Whether a decision about it is due.
    pub fn is_pending(&self) -> bool {
        self.reviewed.state == PlanState::Proposed && self.reviewed.subject.is_some()
    }

    /// The next command for the plan's state.
    pub fn next(&self) -> NextCommand {
        let plan = self.shown();
        let review = self.review();
        // What is not as it was proposed can't be approved.
        let is_stale = review.drift.is_some() || !review.moved.is_empty();
        let words: Vec<&str> = match self.reviewed.state {
            PlanState::Proposed if is_stale => vec!["propose", &plan],
            PlanState::Draft | PlanState::Rejected if self.reviewed.subject.is_some() => {
                vec!["verify", &plan]
            }
            PlanState::Draft | PlanState::Rejected | PlanState::Waiting(WaitReason::Lapsed) => {
                vec!["propose", &plan]
            }
            PlanState::Proposed => vec!["approve", &plan, "--rev", review.short()],
            PlanState::Approved => vec!["run", &plan],
            PlanState::Running | PlanState::Waiting(_) => vec!["status", &plan],
            PlanState::Done | PlanState::Failed | PlanState::Cancelled => vec!["log", &plan],
        };
        NextCommand::new(std::iter::once("planwright").chain(words))
    }

    /// Opens the plan file in the caller's editor and waits for it. What was proposed stays as it is.
    pub fn edit(&self) -> Result<(), Error> {
        self.workspace.caller().may(Right::OpenEditor)?;
        let file = if self.path.is_dir() { self.path.join(PLAN_FILE) } else { self.path.clone() };
        let failed = || Error::new(ErrorKind::Machine, format!("cannot edit {}", self.shown()));
        let ended = process::edit(&file).map_err(|error| failed().because(&error))?;
        if ended.success() { Ok(()) } else { Err(failed().hint(format!("the editor failed: {ended}"))) }
    }

    /// Approves exactly what was reviewed.
    pub fn approve(&self, way: &'static str) -> Result<ApprovalView, Error> {
        let digest = self.reviewed.subject.as_ref().map_or(self.review().digest.as_str(), |it| &it.digest);
        let options = ApprovalOptions { digest, way, ..ApprovalOptions::default() };
        decision::approve(&self.workspace, &self.path, &options)
    }

    /// Rejects exactly what was reviewed.
    pub fn reject(&self, feedback: &str) -> Result<RejectionView, Error> {
        decision::reject(&self.workspace, &self.path, Some(&self.review().digest), feedback)
    }
}
