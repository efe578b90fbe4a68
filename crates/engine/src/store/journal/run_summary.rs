//! A row for each run with where it stands, so that a list of ten thousand runs reads ten thousand rows and no journal. The
//! fold is the caller's: who adds events has folded them. A row names the event that it follows; where that is not the last
//! one it is worth nothing, and the run is folded instead.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use blake3::Hash;
use planwright_core::run::event::Reason;
use planwright_core::run::state::RunState;
use planwright_core::run::summary::Tally;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Error, RunId, Store, approved, chain, source_of};

/// A run as lists show it: without its plan and without its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: RunId,
    /// The plan file, relative to the root of the project.
    pub plan: PathBuf,
    /// The name of the plan.
    pub name: String,
    /// The digest that was approved.
    pub digest: String,
    /// When it was recorded, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// Where it stands and since when, in milliseconds since 1970; `None` where nobody put that down.
    pub tally: Option<(Tally, u64)>,
}

/// Something that was asked and not answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub run: RunId,
    /// The name of the ask, unique in the run.
    pub ask: String,
    /// The step that waits for it; `None` where the whole run does.
    pub step: Option<String>,
    /// What it is about.
    pub reason: Reason,
    /// What the person should know.
    pub text: String,
    /// Since when, in milliseconds since 1970.
    pub opened_at_ms: u64,
}

impl Store {
    /// The newest run of every plan, in whichever working copy it was made, the oldest first.
    pub fn newest_runs_anywhere(&self) -> Result<Vec<Listed>, Error> {
        self.newest_of("?1 IS NULL", None)
    }

    /// The newest run of every plan in the workspace `root`, the oldest first.
    pub fn newest_runs(&self, root: &Path) -> Result<Vec<Listed>, Error> {
        self.newest_of("root = ?1 OR root IS NULL", Some(root))
    }

    fn newest_of(&self, condition: &str, root: Option<&Path>) -> Result<Vec<Listed>, Error> {
        let mut rows = self.read("runs", |connection| {
            // One index has all that is asked of a run: its row would bring the approved text along. Columns beside a
            // maximum are those of the row that has it.
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

    /// The newest run of a plan and the root that it was made in, as far as that is known.
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

    /// The runs that have attempts on the queue: name of the plan, and where they stand as far as that was put down.
    pub fn queued_runs(&self) -> Result<BTreeMap<RunId, (String, Option<Tally>)>, Error> {
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

    /// Everything that was asked and not answered yet, by run and name.
    pub fn asks(&self) -> Result<Vec<Asked>, Error> {
        self.read("the asks", |connection| {
            let query = "SELECT run, ask, step, reason, text, opened_at FROM ask ORDER BY run, ask";
            let mut query = connection.prepare_cached(query)?;
            let rows = query.query_map([], asked)?;
            rows.filter_map(Result::transpose).collect()
        })
    }
}

fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let at_ms = row.get::<_, Option<i64>>(6)?.map(i64::cast_unsigned);
    Ok(Listed {
        id: RunId(row.get(0)?),
        plan: PathBuf::from(OsStr::from_bytes(row.get_ref(1)?.as_bytes()?)),
        name: row.get(2)?,
        digest: row.get(3)?,
        created_at_ms: row.get::<_, i64>(4)?.cast_unsigned(),
        tally: tally_at(row, 5)?.zip(at_ms),
    })
}

/// A tally as a column holds it. One that can't be read says nothing: the run is folded.
fn tally_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Tally>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    Ok(text.and_then(|text| serde_json::from_str(text).ok()))
}

/// An ask; `None` where it is about something that a later planwright asks.
fn asked(row: &Row<'_>) -> rusqlite::Result<Option<Asked>> {
    let word: String = row.get(3)?;
    let Ok(reason) = serde_json::from_value(serde_json::Value::String(word)) else { return Ok(None) };
    Ok(Some(Asked {
        run: RunId(row.get(0)?),
        ask: row.get(1)?,
        step: row.get(2)?,
        reason,
        text: row.get(4)?,
        opened_at_ms: row.get::<_, i64>(5)?.cast_unsigned(),
    }))
}

/// A tally as a row holds it.
pub(super) fn text_of(tally: &Tally) -> String {
    serde_json::to_string(tally).expect("letters, names and numbers can be written")
}

/// Puts down where a run stands after the event with this hash and time.
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

/// The rows as they should be: the hash and time of the last event, and the fold.
type Rows = BTreeMap<i64, (Hash, i64, String)>;

/// What the journals come to. A run whose plan or journal can't be read has no row: that is told elsewhere.
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
    let Some((events, breaks)) = chain::read(connection, super::Book::Run(RunId(run)), 0)? else {
        return Ok(None);
    };
    let Some(last) = events.last().filter(|_| breaks.is_empty()) else { return Ok(None) };
    let mut state = RunState::new(&plan);
    if events.iter().any(|recorded| state.apply(&recorded.event).is_err()) {
        return Ok(None);
    }
    Ok(Some((last.hash, last.at_ms.cast_signed(), text_of(&Tally::of(&plan, &state)))))
}

fn found(connection: &Connection) -> rusqlite::Result<Rows> {
    let mut query = connection.prepare("SELECT run, hash, at, tally FROM tally")?;
    let rows =
        query.query_map([], |row| Ok((row.get(0)?, (chain::hash_at(row, 1)?, row.get(2)?, row.get(3)?))))?;
    rows.collect()
}

/// Everything in which the rows differ from what the journals come to, in words.
pub(super) fn check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let (expected, found) = (expected(connection)?, found(connection)?);
    let missing = expected.keys().filter(|run| !found.contains_key(*run));
    let missing = missing.map(|run| format!("`tally {run}` is missing"));
    // A journal that can't be read can't contradict its row; what is wrong with it is told elsewhere.
    let is_other =
        |(run, row): &(&i64, &(Hash, i64, String))| expected.get(run).is_some_and(|meant| meant != *row);
    let other = found.iter().filter(is_other);
    let other = other.map(|(run, _)| format!("`tally {run}` is not what the journal says"));
    Ok(missing.chain(other).collect())
}

/// Makes the rows anew.
pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("DELETE FROM tally")?;
    for (run, (hash, at, tally)) in expected(connection)? {
        put(connection, run, (&hash, at), Some(&tally))?;
    }
    Ok(())
}
