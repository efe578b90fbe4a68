//! Plans that are put aside: on the shelf and back, into the archive, or away for good.

use std::path::{Path, PathBuf};

use planwright_core::plan::draft::Draft;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::plan::Plan;
use crate::api::workspace::Workspace;
use crate::approval::Approvals;
use crate::portfolio::board;
use crate::portfolio::board::{DuplicatePlan, ShelveError, ShelveResult};
use crate::run;
use crate::run::{Runs, stats};
use crate::store::journal::OldOutputs;
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::{ARCHIVE, FileText};
use crate::system::clock::now;

/// A plan that was moved to the shelf, or back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShelveView {
    /// What others call the plan.
    pub name: String,
    /// Where it was.
    pub from: String,
    /// Where it is.
    pub to: String,
    /// Other plans that may be the same work.
    #[serde(skip)]
    pub duplicates: Vec<DuplicatePlan>,
}

/// What is archived.
#[derive(Debug)]
pub struct ArchiveOptions<'a> {
    pub what: Archivable<'a>,
    pub is_dry_run: bool,
}

#[derive(Debug)]
pub enum Archivable<'a> {
    /// This plan.
    Plan(&'a str),
    /// What finished before a time in milliseconds since 1970.
    Before { before_ms: u64, outputs: Outputs },
}

/// What becomes of the outputs of agents and contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outputs {
    Kept,
    Deleted,
}

/// What was archived.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArchiveView {
    /// The plans that were moved, or would be.
    pub plans: Vec<MovedPlan>,
    /// The outputs that were deleted, or would be; `null` without `--outputs`.
    pub outputs: Option<OldOutputs>,
    /// Whether it was only looked at.
    pub is_dry_run: bool,
}

/// A plan that was moved.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MovedPlan {
    /// Where it was.
    pub from: String,
    /// Where it is.
    pub to: String,
}

/// A plan that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteView {
    /// The plan.
    pub plan: String,
    /// Where it was.
    pub path: String,
}

/// A plan that may be deleted once its name is repeated.
pub struct Deletion(Plan);

impl Workspace {
    /// Other plans with the same name or similar work; the author decides.
    pub fn duplicates(&self, path: &Path, draft: &Draft) -> Result<Vec<DuplicatePlan>, Error> {
        Ok(board::duplicates(self.project(), path, draft)?)
    }

    /// Moves a plan to the shelf.
    pub fn shelve(&self, address: &str) -> Result<ShelveView, Error> {
        self.caller().may(Right::Shelve)?;
        let plan = self.plan(address)?;
        let moved = board::stage(plan.workspace().project(), plan.path())?;
        let duplicates = plan.workspace().duplicates(&moved.to, plan.draft())?;
        Ok(ShelveView::of(moved, duplicates))
    }

    /// Moves a shelved plan back.
    pub fn unshelve(&self, name: &str) -> Result<ShelveView, Error> {
        self.caller().may(Right::Unshelve)?;
        let moved = board::activate(self.project(), name)?;
        let duplicates = match plan_file::read(&moved.to, &shown(&moved.to), self.project().reading())? {
            FileText::Plan(source) => self.duplicates(&moved.to, &parse(&source))?,
            // The plan was moved; `verify` reports its errors.
            FileText::Unreadable(_) => Vec::new(),
        };
        Ok(ShelveView::of(moved, duplicates))
    }

    /// Moves finished plans to the archive next to them.
    pub fn archive(&self, options: &ArchiveOptions<'_>) -> Result<ArchiveView, Error> {
        if !options.is_dry_run {
            self.caller().may(Right::Archive)?;
        }
        let mut view = ArchiveView { plans: Vec::new(), outputs: None, is_dry_run: options.is_dry_run };
        match options.what {
            Archivable::Plan(address) => {
                let plan = self.plan(address)?;
                view.plans.push(plan.workspace().put_away(plan.path(), options)?);
            }
            Archivable::Before { before_ms, outputs } => {
                // Without any runs or decisions, no plan has finished.
                let Some(runs) = Runs::open_existing(self.project())? else { return Ok(view) };
                for plan in stats::over_before(&runs, before_ms)? {
                    view.plans.push(self.put_away(&self.root().join(plan), options)?);
                }
                if outputs == Outputs::Deleted {
                    let found = match options.is_dry_run {
                        true => runs.store().old_outputs(before_ms),
                        false => runs.store().drop_outputs(before_ms, now()),
                    };
                    view.outputs = Some(found.map_err(run::Error::from)?);
                }
            }
        }
        Ok(view)
    }

    fn put_away(&self, path: &Path, options: &ArchiveOptions<'_>) -> Result<MovedPlan, Error> {
        let from = shown(path);
        let to: PathBuf = match options.is_dry_run {
            true => path.with_file_name(ARCHIVE).join(path.file_name().unwrap_or_default()),
            false => Approvals::open(self.project())?.archive(path, &self.caller().identity())?,
        };
        Ok(MovedPlan { from, to: shown(&to) })
    }

    /// A plan that somebody wants to delete. `undo` restores it.
    pub fn deletion(&self, address: &str) -> Result<Deletion, Error> {
        self.caller().may(Right::Delete)?;
        self.plan(address).map(Deletion)
    }
}

impl Deletion {
    /// What has to be repeated.
    pub fn name(&self) -> String {
        self.0.name()
    }

    pub fn carry_out(&self) -> Result<DeleteView, Error> {
        let Self(plan) = self;
        let by = plan.workspace().caller().identity();
        Approvals::open(plan.workspace().project())?.delete(plan.path(), plan.verified()?, &by)?;
        Ok(DeleteView { plan: plan.name(), path: plan.shown() })
    }
}

impl ShelveView {
    fn of(moved: ShelveResult, duplicates: Vec<DuplicatePlan>) -> Self {
        Self { name: moved.name, from: shown(&moved.from), to: shown(&moved.to), duplicates }
    }
}

impl From<ShelveError> for Error {
    fn from(refused: ShelveError) -> Self {
        let failure = |kind| Self::from_error(kind, &refused);
        let shelved = || NextCommand::new(["planwright", "list", "--shelved"]);
        match refused {
            ShelveError::Name(_) | ShelveError::Staged { .. } => {
                failure(ErrorKind::Usage).hint("nothing was moved").next(shelved())
            }
            ShelveError::Missing { ref staged, .. } => {
                let hint = match staged.is_empty() {
                    true => "no plans are shelved; shelved plans are in queued-plans/".to_owned(),
                    false => format!("shelved plans: {}", staged.join(", ")),
                };
                failure(ErrorKind::Usage).hint(hint).next(shelved())
            }
            ShelveError::Ambiguous { ref paths, .. } => {
                let paths: Vec<String> = paths.iter().map(|path| shown(path)).collect();
                failure(ErrorKind::Usage)
                    .hint(format!("found {}; move all but one away", paths.join(", ")))
                    .next(shelved())
            }
            ShelveError::Clobber { path } => {
                Self::new(ErrorKind::Usage, format!("{} already exists", shown(&path)))
                    .hint("nothing was moved")
                    .next(NextCommand::new(["planwright", "show", shown(&path).as_str()]))
            }
            ShelveError::Shipped { ref name, .. } => failure(ErrorKind::NeedsPerson)
                .hint("nothing was moved; to run it again, create a plan with another name")
                .next(NextCommand::new(["planwright", "new", &format!("{name}-2")])),
            ShelveError::Busy { ref name, .. } => failure(ErrorKind::Refused)
                .hint("nothing was moved; revise it first")
                .next(NextCommand::new(["planwright", "revise", name.as_str()])),
            ShelveError::Store(error) => error.into(),
            ShelveError::Runs(error) => error.into(),
        }
    }
}
