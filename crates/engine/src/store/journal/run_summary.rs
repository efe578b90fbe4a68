//! One row of state per run, so that listing ten thousand runs reads ten thousand rows and no journal. The
//! caller folds: whoever appends events has folded them. A row names the event it includes; if that is not
//! the last one, the row is ignored and the run is folded instead.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use blake3::Hash;
use planwright_core::run::event::AskReason;
use planwright_core::run::state::RunState;
use planwright_core::run::summary::RunSummary;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Error, RunId, Store, approved, chain, source_of};

/// A run as lists show it: without its plan and journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRun {
    pub id: RunId,
    /// Relative to the root of the project.
    pub plan: PathBuf,
    pub name: String,
    pub digest: String,
    /// In milliseconds since 1970.
    pub created_at_ms: u64,
    /// Its state and since when, in milliseconds since 1970; `None` if not stored.
    pub tally: Option<(RunSummary, u64)>,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskRow {
    pub run: RunId,
    /// Unique in the run.
    pub ask: String,
    /// `None` if the whole run waits.
    pub step: Option<String>,
    pub reason: AskReason,
    /// What the person should know.
    pub text: String,
    /// In milliseconds since 1970.
    pub opened_at_ms: u64,
}

impl Store {
    /// The newest run of every plan in any working copy, oldest first.
    pub fn newest_runs_anywhere(&self) -> Result<Vec<ListedRun>, Error> {
        self.newest_of("?1 IS NULL", None)
    }

    /// The newest run of every plan in the workspace `root`, oldest first.
    pub fn newest_runs(&self, root: &Path) -> Result<Vec<ListedRun>, Error> {
        self.newest_of("root = ?1 OR root IS NULL", Some(root))
    }

    fn newest_of(&self, condition: &str, root: Option<&Path>) -> Result<Vec<ListedRun>, Error> {
        let mut rows = self.read("runs", |connection| {
            // One index covers all columns: the row would bring the approved text along. Columns next to a
            // maximum are those of its row.
            let mut query = connection.prepare_cached(&format!(
                "WITH newest AS (SELECT max(id) AS id, plan, name, digest, created_at FROM run INDEXED BY run_listed \
                 WHERE {condition} GROUP BY plan) \
                 SELECT newest.id, newest.plan, newest.name, newest.digest, newest.created_at, tally.tally, tally.at \
                 FROM newest LEFT JOIN head ON head.run = newest.id \
                 LEFT JOIN tally ON tally.run = newest.id AND tally.hash = head.hash"
            ))?;
            let rows = query.query_map(params![root.map(|root| root.as_os_str().as_bytes())], listed)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        rows.sort_by_key(|row| row.id);
        Ok(rows)
    }

    /// The newest run of a plan and its root, if known.
    pub fn latest_anywhere(&self, plan: &Path) -> Result<Option<(RunId, Option<PathBuf>)>, Error> {
        self.read("runs", |connection| {
            let mut query = connection
                .prepare_cached("SELECT id, root FROM run WHERE plan = ?1 ORDER BY id DESC LIMIT 1")?;
            let mut rows = query.query_map(params![plan.as_os_str().as_bytes()], |row| {
                let root: Option<Vec<u8>> = row.get(1)?;
                Ok((RunId(row.get(0)?), root.map(|root| PathBuf::from(std::ffi::OsStr::from_bytes(&root)))))
            })?;
            rows.next().transpose()
        })
    }

    /// The runs with queued attempts: name of the plan, and their state if stored.
    pub fn queued_runs(&self) -> Result<BTreeMap<RunId, (String, Option<RunSummary>)>, Error> {
        self.read("the queue", |connection| {
            let mut query = connection.prepare_cached(
                "SELECT run.id, run.name, tally.tally FROM run LEFT JOIN head ON head.run = run.id \
                 LEFT JOIN tally ON tally.run = run.id AND tally.hash = head.hash \
                 WHERE run.id IN (SELECT run FROM work)",
            )?;
            let rows =
                query.query_map([], |row| Ok((RunId(row.get(0)?), (row.get(1)?, tally_at(row, 2)?))))?;
            rows.collect()
        })
    }

    /// Every open question, by run and name.
    pub fn asks(&self) -> Result<Vec<AskRow>, Error> {
        self.read("the questions", |connection| {
            let query = "SELECT run, ask, step, reason, text, opened_at FROM ask ORDER BY run, ask";
            let mut query = connection.prepare_cached(query)?;
            let rows = query.query_map([], asked)?;
            rows.filter_map(Result::transpose).collect()
        })
    }
}

fn listed(row: &Row<'_>) -> rusqlite::Result<ListedRun> {
    let at_ms = row.get::<_, Option<i64>>(6)?.map(i64::cast_unsigned);
    Ok(ListedRun {
        id: RunId(row.get(0)?),
        plan: PathBuf::from(OsStr::from_bytes(row.get_ref(1)?.as_bytes()?)),
        name: row.get(2)?,
        digest: row.get(3)?,
        created_at_ms: row.get::<_, i64>(4)?.cast_unsigned(),
        tally: tally_at(row, 5)?.zip(at_ms),
    })
}

/// A stored tally. An unreadable one is ignored: the run is folded.
fn tally_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<RunSummary>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    Ok(text.and_then(|text| serde_json::from_str(text).ok()))
}

/// A question; `None` for a reason of a later planwright.
fn asked(row: &Row<'_>) -> rusqlite::Result<Option<AskRow>> {
    let word: String = row.get(3)?;
    let Ok(reason) = serde_json::from_value(serde_json::Value::String(word)) else { return Ok(None) };
    Ok(Some(AskRow {
        run: RunId(row.get(0)?),
        ask: row.get(1)?,
        step: row.get(2)?,
        reason,
        text: row.get(4)?,
        opened_at_ms: row.get::<_, i64>(5)?.cast_unsigned(),
    }))
}

pub(super) fn text_of(tally: &RunSummary) -> String {
    serde_json::to_string(tally).expect("letters, names and numbers can be written")
}

/// Stores the state of a run after the event with this hash and time.
pub(super) fn put(
    connection: &Connection,
    run: i64,
    (hash, at): (&Hash, i64),
    tally: Option<&str>,
) -> rusqlite::Result<()> {
    match tally {
        Some(tally) => connection
            .prepare_cached("INSERT OR REPLACE INTO tally (run, hash, at, tally) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![run, hash.as_bytes(), at, tally]),
        None => connection.prepare_cached("DELETE FROM tally WHERE run = ?1")?.execute([run]),
    }
    .map(drop)
}

/// The expected rows: hash and time of the last event, and the fold.
type Rows = BTreeMap<i64, (Hash, i64, String)>;

/// The folds of the journals. A run whose plan or journal is unreadable has no row: that is reported
/// elsewhere.
fn expected(connection: &Connection) -> rusqlite::Result<Rows> {
    let mut query = connection.prepare("SELECT id FROM run")?;
    let ids = query.query_map([], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut rows = Rows::new();
    for id in ids {
        if let Some(row) = fold(connection, id)? {
            rows.insert(id, row);
        }
    }
    Ok(rows)
}

fn fold(connection: &Connection, run: i64) -> rusqlite::Result<Option<(Hash, i64, String)>> {
    let mut query =
        connection.prepare_cached("SELECT name, plan, text, dialect, digest FROM run WHERE id = ?1")?;
    let plan = query.query_row([run], |row| {
        let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
        let path = Path::new(OsStr::from_bytes(row.get_ref(1)?.as_bytes()?));
        let source = source_of((text(0)?, path), (text(2)?, text(3)?));
        Ok(source.and_then(|source| approved(&source, row.get_ref(4).ok()?.as_str().ok()?)))
    });
    let Some(plan) = plan.optional()?.flatten() else { return Ok(None) };
    let Some((events, breaks)) = chain::read(connection, super::JournalChain::Run(RunId(run)), 0)? else {
        return Ok(None);
    };
    let Some(last) = events.last().filter(|_| breaks.is_empty()) else { return Ok(None) };
    let mut state = RunState::new(&plan);
    if events.iter().any(|recorded| state.apply(&recorded.event).is_err()) {
        return Ok(None);
    }
    Ok(Some((last.hash, last.at_ms.cast_signed(), text_of(&RunSummary::of(&plan, &state)))))
}

fn found(connection: &Connection) -> rusqlite::Result<Rows> {
    let mut query = connection.prepare("SELECT run, hash, at, tally FROM tally")?;
    let rows =
        query.query_map([], |row| Ok((row.get(0)?, (chain::hash_at(row, 1)?, row.get(2)?, row.get(3)?))))?;
    rows.collect()
}

/// Every difference between the rows and the folds, for people.
pub(super) fn check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let (expected, found) = (expected(connection)?, found(connection)?);
    let missing = expected.keys().filter(|run| !found.contains_key(*run));
    let missing = missing.map(|run| format!("`tally {run}` is missing"));
    // An unreadable journal cannot contradict its row; its faults are reported elsewhere.
    let is_other =
        |(run, row): &(&i64, &(Hash, i64, String))| expected.get(run).is_some_and(|meant| meant != *row);
    let other = found.iter().filter(is_other);
    let other = other.map(|(run, _)| format!("`tally {run}` does not match the journal"));
    Ok(missing.chain(other).collect())
}

pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("DELETE FROM tally")?;
    for (run, (hash, at, tally)) in expected(connection)? {
        put(connection, run, (&hash, at), Some(&tally))?;
    }
    Ok(())
}
