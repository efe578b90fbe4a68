//! Shelved plans: files in `queued-plans/` wait until someone moves them into place. A shelved plan is never
//! proposed and never run. Moves them whole or not at all, and never over another.

use std::path::{Path, PathBuf};

use planwright_core::dialect::named::{self, BadSlug};
use planwright_core::workspace::portfolio::{PlanProgress, key};

use super::board::{Archived, Board, board};
use crate::run;
use crate::run::Runs;
use crate::store::plan_file;
use crate::store::plan_file::STAGED;
use crate::workspace::project;
use crate::workspace::project::Project;
use crate::workspace::staging::{aside, is_staged, name_of};

/// What may be shelved: a plan nobody was asked about, or one that was sent back.
const STAGEABLE: &[&str] = &["", "draft", "rejected"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShelveResult {
    pub name: String,
    pub from: PathBuf,
    pub to: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ShelveError {
    #[error("{0}")]
    Name(BadSlug),
    #[error("shelved plan `{name}` not found")]
    Missing { name: String, staged: Vec<String> },
    #[error("`{name}` is ambiguous: {} shelved plans match", paths.len())]
    Ambiguous { name: String, paths: Vec<PathBuf> },
    #[error("{} already exists", path.display())]
    Clobber { path: PathBuf },
    #[error("`{name}` is already done: {how}")]
    Shipped {
        name: String,
        /// The proof of that.
        how: String,
    },
    #[error("{} is already shelved", path.display())]
    Staged { path: PathBuf },
    /// It is pending review, or running.
    #[error("`{name}` is {state}; only drafts can be shelved")]
    Busy { name: String, state: String },
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error(transparent)]
    Runs(#[from] run::Error),
}

impl From<project::Error> for ShelveError {
    fn from(error: project::Error) -> Self {
        Self::Runs(error.into())
    }
}

/// Shelves a plan: moves it into the directory `queued-plans/` next to it.
pub fn stage(project: &Project, plan: &Path) -> Result<ShelveResult, ShelveError> {
    if is_staged(plan) {
        return Err(ShelveError::Staged { path: plan.to_owned() });
    }
    let name = name_of(plan);
    if let Some(runs) = Runs::open_existing(project)? {
        let path = runs.relative(plan);
        let ledgers = runs.store().ledgers().map_err(run::Error::from)?;
        let said = ledgers.into_iter().find(|row| row.plan == path).map(|row| row.summary.state);
        let said = said.unwrap_or_default();
        // The next command on the plan records in the ledger how a run ended.
        let state = match runs.latest(plan)?.map(|run| run.state.outcome()) {
            Some(None) => "running".to_owned(),
            Some(Some(outcome)) if said == "running" => outcome.word().to_owned(),
            Some(Some(_)) | None => said,
        };
        if !STAGEABLE.contains(&state.as_str()) {
            return Err(ShelveError::Busy { name, state });
        }
    }
    let real = plan.canonicalize().map_err(|_| plan_file::Error::Missing { path: plan.to_owned() })?;
    let home = real.parent().unwrap_or(Path::new("/"));
    let to = plan_file::folder_within(home, Path::new(STAGED))?.join(real.file_name().unwrap_or_default());
    shift(name, (plan, &to))
}

/// Unshelves a plan: moves it one directory up. Accepts slug, stem or file name.
pub fn activate(project: &Project, called: &str) -> Result<ShelveResult, ShelveError> {
    let name = match named::slug(called) {
        Ok(slug) => slug.as_str().to_owned(),
        Err(BadSlug::Unnamed) => key(called).to_owned(),
        Err(bad) => return Err(ShelveError::Name(bad)),
    };
    let (staged, _) = aside(project)?;
    let board = board(project)?;
    if let Some(how) = shipped(&board, &name) {
        return Err(ShelveError::Shipped { name, how });
    }
    let mut paths: Vec<PathBuf> = staged.iter().filter(|path| name_of(path) == name).cloned().collect();
    let from = match (paths.pop(), paths.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => {
            paths.push(last);
            return Err(ShelveError::Ambiguous { name, paths });
        }
        (None, _) => {
            let staged = staged.iter().map(|path| name_of(path)).collect();
            return Err(ShelveError::Missing { name, staged });
        }
    };
    let home = from.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let to = home.join(from.file_name().unwrap_or_default());
    shift(name, (&from, &to))
}

/// The proof that a plan was already run, if it was.
fn shipped(board: &Board, name: &str) -> Option<String> {
    let is_it = |own: &str| own == name;
    let done =
        board.cards.iter().find(|card| is_it(&card.entry.name) && card.entry.status == PlanProgress::Done);
    let done = done.map(|card| format!("the journal proves that {} is done", card.path.display()));
    let archived = board.archived.iter().find(|archived| is_it(&archived.entry.name));
    let archived = archived.map(|Archived { path, entry }| match entry.status == PlanProgress::Done {
        true => format!("archived as {}; the journal proves that it is done", path.display()),
        false => format!("archived as {}", path.display()),
    });
    done.or(archived)
}

fn shift(name: String, (from, to): (&Path, &Path)) -> Result<ShelveResult, ShelveError> {
    match plan_file::shift(from, to) {
        Ok(()) => Ok(ShelveResult { name, from: from.to_owned(), to: to.to_owned() }),
        Err(plan_file::Error::Exists { path }) => Err(ShelveError::Clobber { path }),
        Err(error) => Err(error.into()),
    }
}
