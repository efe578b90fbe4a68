//! Where receipts come from: the local journal, an export next to the code, or nowhere. They are compared
//! with contract results; whether they were forged is for the audit of the record.

use std::path::{Path, PathBuf};

use planwright_core::audit::bundle::{AuditBundle, RunBook};
use planwright_core::audit::rerun::RerunHistory;

use super::Error;
use crate::audit::ExportedBundle;
use crate::store::journal::{RunId, RunOutputs, Store};
use crate::workspace::project::Project;

/// The record of a plan.
#[derive(Debug, Clone, Default)]
pub struct RerunRecord {
    /// The receipts of each step, and who changed what.
    pub history: RerunHistory,
    pub basis: RerunBasis,
    /// Relative to the root of the project.
    pub plan: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RerunBasis {
    #[default]
    Nothing,
    Journal(RunId),
    File(PathBuf),
}

/// The record of a plan: from the journal if it has one, otherwise from a file next to the code.
pub fn record(project: &Project, path: &Path) -> Result<RerunRecord, Error> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let relative = real.strip_prefix(&project.root).unwrap_or(&real).to_owned();
    let mut record = RerunRecord { plan: relative, ..RerunRecord::default() };
    if Store::exists(&project.root)? {
        let bundle = Store::open(&project.root)?.recording(&record.plan, RunOutputs::Left)?.bundle;
        if let Some((number, history)) = newest(&bundle) {
            record.history = history;
            record.basis = RerunBasis::Journal(RunId::new(number));
            return Ok(record);
        }
    }
    if let Some(exported) = ExportedBundle::all(&project.root)?.remove(&record.plan)
        && let Some((_, history)) = newest(&exported.bundle)
    {
        record.history = history;
        record.basis = RerunBasis::File(exported.path);
    }
    Ok(record)
}

/// The newest run with a receipt: one without any says nothing about the one before it.
fn newest(bundle: &AuditBundle) -> Option<(i64, RerunHistory)> {
    let runs = bundle.runs.iter().rev().map(|run| (run.book.number, of_book(run)));
    runs.into_iter().find(|(_, history)| !history.steps.is_empty())
}

/// The history in the journal of a run.
pub(super) fn of_run(store: &Store, run: RunId) -> Result<RerunHistory, Error> {
    let events = store.events(run, 0)?;
    Ok(RerunHistory::of(events.iter().map(|recorded| (recorded.seq, recorded.at_ms, &recorded.event))))
}

fn of_book(run: &RunBook) -> RerunHistory {
    let events: Vec<_> = run.events().map(|(link, event)| (link.seq, link.at_ms, event)).collect();
    RerunHistory::of(events.iter().map(|(seq, at_ms, event)| (*seq, *at_ms, event)))
}
