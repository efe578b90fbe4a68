//! Where receipts come from: the journal of this machine, or what was exported beside the code, or nowhere. What is read here
//! is compared with what contracts say; whether it was forged is for the audit of the record itself.

use std::path::{Path, PathBuf};

use planwright_core::receipts::{Bundle, RunBook};
use planwright_core::rerun::History;

use super::Error;
use crate::project::Project;
use crate::store::journal::{RunId, RunRow, Store};

/// Where exported receipts lie, below the root of the project.
const FOLDER: &str = ".planwright/receipts";
/// The most bytes of an exported file that are read.
const BYTES_MAX: u64 = 256 << 20;
/// The most exported files that are looked at.
const FILES_MAX: usize = 10_000;

/// What is recorded of a plan.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// What each step has, and who changed what.
    pub history: History,
    /// Where that comes from.
    pub basis: Basis,
    /// The plan, relative to the root of the project.
    pub plan: PathBuf,
}

/// Where receipts come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Basis {
    /// There are none.
    #[default]
    Nothing,
    /// The journal of a run.
    Journal(RunId),
    /// A file beside the code.
    File(PathBuf),
}

/// What is recorded of a plan: by the journal where it knows the plan, else by a file beside the code.
pub fn record(project: &Project, path: &Path) -> Result<Record, Error> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let relative = real.strip_prefix(&project.root).unwrap_or(&real).to_owned();
    if Store::exists(&project.root)? {
        let store = Store::open(&project.root)?;
        let mut rows: Vec<RunRow> = store.runs()?;
        rows.retain(|row| row.plan == relative);
        // A run that came to no receipt says nothing about the one before it.
        for row in rows.iter().rev() {
            let history = of_run(&store, row.id)?;
            if !history.steps.is_empty() {
                return Ok(Record { history, basis: Basis::Journal(row.id), plan: relative });
            }
        }
    }
    let found = exported(&project.root, &relative);
    Ok(found.unwrap_or_else(|| Record { plan: relative, ..Record::default() }))
}

/// What the journal of a run says.
pub(super) fn of_run(store: &Store, run: RunId) -> Result<History, Error> {
    let events = store.events(run, 0)?;
    Ok(History::of(events.iter().map(|recorded| (recorded.seq, recorded.at_ms, &recorded.event))))
}

/// What was exported about a plan. A file that can't be read is none: that it is broken is found by the audit of the record.
fn exported(root: &Path, plan: &Path) -> Option<Record> {
    let entries = root.join(FOLDER).read_dir().ok()?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(FILES_MAX).collect();
    files.sort();
    files.into_iter().find_map(|file| {
        let text = crate::store::read_text(&file, BYTES_MAX).ok()?;
        let (bundle, _) = Bundle::read(text.as_bytes());
        (Path::new(&bundle.plan) == plan).then_some(())?;
        let history = bundle.runs.iter().rev().map(of_book).find(|history| !history.steps.is_empty())?;
        Some(Record { history, basis: Basis::File(file), plan: plan.to_owned() })
    })
}

fn of_book(run: &RunBook) -> History {
    let events: Vec<_> = run.events().map(|(link, event)| (link.seq, link.at_ms, event)).collect();
    History::of(events.iter().map(|(seq, at_ms, event)| (*seq, *at_ms, event)))
}
