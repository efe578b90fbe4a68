//! Decisions about a plan: who may make them is checked here, whatever front end asks.

use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::approval::status::Comment;
use planwright_core::plan::lifecycle::{PlanState, WaitReason};
use planwright_core::plan::verified;
use planwright_core::plan::verified::Step;
use planwright_core::run::event::RunOutcome;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::plan::Plan;
use crate::api::workspace::Workspace;
use crate::approval::{ApprovalRequest, Approvals, Approved};
use crate::run::{Run, Runs};
use crate::store::plan_file;

/// Exactly what an approval would cover.
pub struct ApprovalSubjectView<'a> {
    pub digest: String,
    pub steps: &'a [Step],
}

/// How a person approves.
#[derive(Debug, Clone, Default)]
pub struct ApprovalOptions<'a> {
    /// The digest that they have seen.
    pub digest: &'a str,
    /// How: `terminal` or `rev`.
    pub way: &'static str,
    /// A note to whoever runs it.
    pub note: &'a str,
    /// The signing key.
    pub key: Option<PathBuf>,
}

/// An approval.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApprovalView {
    pub plan: String,
    pub revision: u32,
    pub digest: String,
    /// Who approved it.
    pub by: String,
    /// The rule that gave them the right.
    pub rule: String,
    /// Whether the approval is signed.
    pub is_signed: bool,
    /// What the approval is worth: `signed`, or `unprotected`.
    pub worth: &'static str,
    /// How many more have to approve.
    pub missing: u32,
    /// Until when it holds, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// The branch and the commit the work starts from, for people.
    #[serde(skip)]
    pub on: Option<String>,
    /// What could not be written to the plan file.
    #[serde(skip)]
    pub complaints: Vec<String>,
}

/// A rejection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RejectionView {
    pub plan: String,
    pub revision: u32,
    /// Rejections since it was last a draft.
    pub rejections: u32,
    /// Its state now.
    pub state: String,
    /// Whether a person has to revise it before it is proposed again.
    #[serde(skip)]
    pub is_spent: bool,
    /// What could not be written to the plan file.
    #[serde(skip)]
    pub complaints: Vec<String>,
}

/// The comments on a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommentsView {
    pub plan: String,
    /// Every comment, the oldest first.
    pub comments: Vec<Comment>,
}

/// A plan or a run that was cancelled.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CancelView {
    pub plan: String,
    /// The number of the run; `None` where the plan was not run.
    pub run: Option<i64>,
    /// What was running and was ended.
    pub under_way: Vec<String>,
    /// The process that still runs it, because something has not ended.
    pub driven_by: Option<String>,
    /// What could not be written to the plan file.
    #[serde(skip)]
    pub complaints: Vec<String>,
}

/// A decision that was undone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UndoView {
    pub plan: String,
    /// What was taken back: `plan.approved`, for example.
    pub took_back: String,
    /// When that was said, in milliseconds since 1970.
    pub said_at_ms: u64,
    /// What it said.
    pub text: String,
    /// The state of the plan now.
    pub state: String,
    #[serde(skip)]
    pub path: String,
    /// What could not be written to the plan file.
    #[serde(skip)]
    pub complaints: Vec<String>,
}

impl Plan {
    fn approvals(&self) -> Result<Approvals, Error> {
        Ok(Approvals::open(self.workspace().project())?)
    }

    /// Exactly what an approval would cover now.
    pub fn approval_subject(&self) -> Result<ApprovalSubjectView<'_>, Error> {
        may_approve(self.workspace())?;
        let Some(plan) = &self.verified()?.plan else {
            let message = format!("{} has errors; fix them before approving", self.name());
            let next = NextCommand::new(["planwright", "verify", self.shown().as_str()]);
            return Err(Error::new(ErrorKind::Refused, message).next(next));
        };
        let subject = self.approvals()?.subject(plan)?;
        Ok(ApprovalSubjectView { digest: subject.digest, steps: &plan.steps })
    }

    /// The key that approvals are signed with, if the settings name one.
    pub fn signing_key(&self) -> Option<PathBuf> {
        self.workspace().project().config.approve.key.clone()
    }

    /// Approves exactly what was proposed, if that is what the person has seen.
    pub fn approve(&self, options: &ApprovalOptions<'_>) -> Result<ApprovalView, Error> {
        approve(self.workspace(), self.path(), options)
    }

    /// Rejects what was proposed; only if it is `seen`, where that is given.
    pub fn reject(&self, seen: Option<&str>, feedback: &str) -> Result<RejectionView, Error> {
        reject(self.workspace(), self.path(), seen, feedback)
    }

    /// Comments on the plan, or on the step that was named with it.
    pub fn comment(&self, text: &str) -> Result<(), Error> {
        let by = self.workspace().caller().identity();
        let approvals = self.approvals()?;
        approvals.comment(self.path(), self.step_id().as_deref(), &by, commented(text)?)?;
        Ok(())
    }

    /// Answers a comment.
    pub fn answer_comment(&self, number: u32, text: &str) -> Result<(), Error> {
        let by = self.workspace().caller().identity();
        self.approvals()?.answer(self.path(), number, &by, commented(text)?)?;
        Ok(())
    }

    /// The comments on the plan, or on the step that was named with it.
    pub fn comments(&self) -> Result<CommentsView, Error> {
        let step = self.step_id();
        let comments = self.approvals()?.case(self.path())?.standing.comments.into_iter();
        let wanted = comments.filter(|comment| step.is_none() || comment.step == step);
        Ok(CommentsView { plan: self.name(), comments: wanted.collect() })
    }

    fn step_id(&self) -> Option<String> {
        self.step().map(|place| verified::ids(self.draft()).swap_remove(place))
    }

    /// Ends the plan or its run for good. A run ends as cancelled or as failed.
    pub fn cancel(&self, outcome: RunOutcome, why: &str) -> Result<CancelView, Error> {
        self.workspace().caller().may(Right::Cancel)?;
        refuse_no_reason("cancel", why)?;
        let runs = Runs::open(self.workspace().project())?;
        if let Some(run) = runs.latest(self.path())?.filter(|run| run.state.outcome().is_none()) {
            return self.end(&runs, &run, outcome, why);
        }
        let (name, path) = (self.name(), self.shown());
        let refused = |message: String, next: &str| {
            Error::new(ErrorKind::Refused, message).next(NextCommand::new([
                "planwright",
                next,
                path.as_str(),
            ]))
        };
        if outcome == RunOutcome::Failed {
            return Err(refused(format!("{name} is not running"), "log"));
        }
        let approvals = self.approvals()?;
        let state = approvals.case(self.path())?.state();
        if state == PlanState::Draft {
            let message = format!("cannot cancel {name}: it was neither proposed nor run");
            return Err(refused(message, "propose"));
        }
        if matches!(state, PlanState::Done | PlanState::Failed | PlanState::Cancelled) {
            return Err(refused(format!("cannot cancel {name}: it has already finished ({state})"), "log"));
        }
        let by = self.workspace().caller().identity();
        let (_, complaints) = approvals.cancel(self.path(), &by, why)?;
        Ok(CancelView { plan: name, run: None, under_way: Vec::new(), driven_by: None, complaints })
    }

    fn end(&self, runs: &Runs, run: &Run, outcome: RunOutcome, why: &str) -> Result<CancelView, Error> {
        let under_way = run.under_way();
        runs.end(run, outcome, why)?;
        let holder = runs.wait_for_driver(run)?;
        let complaints = match &holder {
            None => runs.mirror(run.row.id, self.path())?,
            Some(_) => Vec::new(),
        };
        Ok(CancelView {
            plan: run.row.name.clone(),
            run: Some(run.row.id.number()),
            under_way,
            driven_by: holder.map(|holder| holder.to_string()),
            complaints,
        })
    }
}

impl Workspace {
    /// Undoes the caller's last decision about a plan, unless it has been acted on. The file of a deleted plan comes back.
    pub fn undo(&self, address: &str) -> Result<UndoView, Error> {
        self.caller().may(Right::Undo)?;
        let (workspace, path) = match self.project().address(address) {
            Ok(address) => {
                let own = Self::open_for(&address.plan, self.options()).ok();
                let own = own.filter(|own| !own.root().as_os_str().is_empty());
                (own.unwrap_or_else(|| self.clone()), address.plan)
            }
            // Only the path of a deleted plan is known.
            Err(_) => (self.clone(), self.root().join(address)),
        };
        let approvals = Approvals::open(workspace.project())?;
        let (said, case, complaints) = approvals.undo(&path, &self.caller().identity())?;
        Ok(UndoView {
            plan: plan_file::name(&path),
            took_back: said.entry.name().to_owned(),
            said_at_ms: said.at_ms,
            text: undone_text(&said.entry),
            state: case.state().to_string(),
            path: shown(&path),
            complaints,
        })
    }
}

fn may_approve(workspace: &Workspace) -> Result<(), Error> {
    let may = workspace.caller().may(Right::Approve);
    may.map_err(|error| error.hint("a person must review it first: planwright review"))
}

pub(super) fn approve(
    workspace: &Workspace,
    path: &Path,
    options: &ApprovalOptions<'_>,
) -> Result<ApprovalView, Error> {
    may_approve(workspace)?;
    let yes = ApprovalRequest {
        by: workspace.caller().identity(),
        way: options.way,
        note: options.note.to_owned(),
        key: options.key.clone(),
    };
    let approvals = Approvals::open(workspace.project())?;
    let Approved { approval, missing, complaints } = approvals.approve(path, options.digest, &yes)?;
    let is_signed = approval.signature.is_some();
    Ok(ApprovalView {
        plan: plan_file::name(path),
        revision: approval.revision,
        on: approval.subject.base.as_ref().map(ToString::to_string),
        digest: approval.subject.digest,
        by: approval.by.name,
        rule: approval.rule,
        is_signed,
        worth: if is_signed { "signed" } else { "unprotected" },
        missing,
        until_ms: approval.until_ms,
        complaints,
    })
}

pub(super) fn reject(
    workspace: &Workspace,
    path: &Path,
    seen: Option<&str>,
    feedback: &str,
) -> Result<RejectionView, Error> {
    workspace.caller().may(Right::Reject)?;
    refuse_no_reason("reject", feedback)?;
    let approvals = Approvals::open(workspace.project())?;
    let (case, complaints) = approvals.reject(path, seen, &workspace.caller().identity(), feedback)?;
    let state = case.state();
    Ok(RejectionView {
        plan: plan_file::name(path),
        revision: case.standing.newest().map_or(0, |newest| newest.number),
        rejections: case.standing.rejected,
        is_spent: state == PlanState::Waiting(WaitReason::RevisionsSpent),
        state: state.to_string(),
        complaints,
    })
}

fn refuse_no_reason(command: &str, why: &str) -> Result<(), Error> {
    match why.trim().is_empty() {
        true => Err(Error::new(ErrorKind::Usage, "missing reason: pass -m").next(NextCommand::new([
            "planwright",
            "help",
            command,
        ]))),
        false => Ok(()),
    }
}

fn commented(text: &str) -> Result<&str, Error> {
    match text.trim().is_empty() {
        true => Err(Error::new(ErrorKind::Usage, "empty comment")),
        false => Ok(text),
    }
}

/// What was said in an entry that was undone, in one line.
fn undone_text(entry: &LedgerEntry) -> String {
    match entry {
        LedgerEntry::Approved { revision, subject, note, .. } => {
            format!("r{revision} {} {note}", &subject.digest[..subject.digest.len().min(8)])
                .trim_end()
                .to_owned()
        }
        LedgerEntry::Rejected { feedback, .. } => feedback.clone(),
        LedgerEntry::Commented { text, .. } | LedgerEntry::Answered { text, .. } => text.clone(),
        LedgerEntry::Reopened { why, .. } | LedgerEntry::Cancelled { why, .. } => why.clone(),
        LedgerEntry::Deleted { .. } => "plan restored".to_owned(),
        LedgerEntry::Proposed { .. }
        | LedgerEntry::Drafted { .. }
        | LedgerEntry::Discovered { .. }
        | LedgerEntry::Added { .. }
        | LedgerEntry::Lapsed { .. }
        | LedgerEntry::Started { .. }
        | LedgerEntry::Ended { .. }
        | LedgerEntry::Undone { .. }
        | LedgerEntry::Merged { .. }
        | LedgerEntry::Evicted { .. }
        | LedgerEntry::Archived { .. } => String::new(),
    }
}
