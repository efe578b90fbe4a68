//! The ledgers of plans: what was proposed, decided and remarked, each a chain of its own beside the journals of the runs.
//! Never decides what an entry means.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use planwright_core::chain::ledger_genesis;
use planwright_core::ledger::Entry;
use planwright_core::standing::Said;
use rusqlite::{Connection, OptionalExtension, params};

use super::error::failed;
use super::{
    Appended, Book, ChainReport, Error, Found, Head, Line, Recorded, Store, chain, extend, keep, within_limit,
};

/// The number of a plan, counted in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanId(pub(super) i64);

impl PlanId {
    /// The number.
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plan {}", self.0)
    }
}

/// A ledger and where it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// The number of the plan.
    pub id: PlanId,
    /// The plan, relative to the root of the project.
    pub plan: PathBuf,
    /// The end of the ledger.
    pub head: Head,
}

/// What is to be added to a ledger, all of it or nothing.
#[derive(Debug, Clone)]
pub struct Statement<'a> {
    /// The last entry that the caller knows of; 0 when none.
    pub after: u64,
    /// What is said.
    pub entries: &'a [Entry],
    /// Bytes that the entries name, kept in the same act.
    pub blobs: Vec<Vec<u8>>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Store {
    /// Adds entries to the ledger of a plan, if `after` is its last one. They are durable when this returns.
    pub fn say(&self, plan: &Path, statement: Statement<'_>) -> Result<Appended, Error> {
        let Statement { after, entries, blobs, at_ms } = statement;
        let lines = entries.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
        within_limit("what is said", lines.iter().map(|line| line.text.len()).sum())?;
        for bytes in &blobs {
            within_limit("what is to be kept", bytes.len())?;
        }
        let path = plan.as_os_str().as_bytes().to_vec();
        let written = self.writer.write(move |connection| {
            let book = Book::Plan(enter(connection, &path)?);
            let found = extend(connection, book, (after, at_ms), &lines.iter().collect::<Vec<_>>())?;
            if let Found::Book(Appended::Written { .. }) = found {
                blobs.iter().try_for_each(|bytes| keep(connection, bytes))?;
            }
            Ok((book, found))
        });
        let say = |path, source| Error::Say { plan: plan.to_owned(), path, source };
        let (book, found) = written.map_err(|source| failed(&self.database, source, say))?;
        match found {
            Found::Book(appended) => Ok(appended),
            Found::Broken(at) => Err(self.broken(book, at)),
            Found::Nothing => Err(Error::NoLedger { plan: plan.to_owned(), path: self.database.clone() }),
        }
    }

    /// Everything that was said about a plan, each entry checked against its hash; nothing where nothing was.
    pub fn ledger(&self, plan: &Path) -> Result<Vec<Said>, Error> {
        let said = |recorded: Recorded<Entry>| Said {
            seq: recorded.seq,
            at_ms: recorded.at_ms,
            entry: recorded.event,
        };
        Ok(self.ledger_after(plan, 0)?.into_iter().map(said).collect())
    }

    /// The entries of a ledger after the one with the number `after`, with their hashes.
    pub fn ledger_after(&self, plan: &Path, after: u64) -> Result<Vec<Recorded<Entry>>, Error> {
        let what = format!("the ledger of {}", plan.display());
        let path = plan.as_os_str().as_bytes();
        let found = self.read(&what, |connection| {
            let Some(id) = number(connection, path)? else { return Ok(None) };
            let book = Book::Plan(id);
            Ok(chain::read::<Entry>(connection, book, after)?.map(|pages| (book, pages)))
        })?;
        let Some((book, (entries, breaks))) = found else { return Ok(Vec::new()) };
        match breaks.first() {
            Some(at) => Err(self.broken(book, *at)),
            None => Ok(entries),
        }
    }

    /// Every ledger, the oldest first.
    pub fn ledgers(&self) -> Result<Vec<LedgerRow>, Error> {
        let query = "SELECT plan.id, plan.path, ledger_head.seq, ledger_head.hash FROM plan \
                     JOIN ledger_head ON ledger_head.plan = plan.id ORDER BY plan.id";
        self.read("the ledgers", |connection| {
            let mut query = connection.prepare_cached(query)?;
            let rows = query.query_map([], |row| {
                Ok(LedgerRow {
                    id: PlanId(row.get(0)?),
                    plan: PathBuf::from(OsStr::from_bytes(&row.get::<_, Vec<u8>>(1)?)),
                    head: Head { seq: row.get::<_, i64>(2)?.cast_unsigned(), hash: chain::hash_at(row, 3)? },
                })
            })?;
            rows.collect()
        })
    }

    /// Checks every entry of a ledger, and that heads that were kept elsewhere are still among them.
    pub fn verify_ledger(&self, plan: PlanId, kept: &[Head]) -> Result<ChainReport, Error> {
        let report = self.read(&format!("the ledger of {plan}"), |connection| {
            chain::check::<Entry>(connection, Book::Plan(plan), kept)
        })?;
        report.ok_or_else(|| Error::NoLedger { plan: plan.to_string().into(), path: self.database.clone() })
    }

    /// Gives everything that is known about a plan to the path where it lies now.
    pub fn move_plan(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let (old, new) = (from.as_os_str().as_bytes().to_vec(), to.as_os_str().as_bytes().to_vec());
        let moved = self.writer.write(move |connection| {
            connection.execute("UPDATE run SET plan = ?2 WHERE plan = ?1", params![old, new])?;
            connection.execute("UPDATE plan SET path = ?2 WHERE path = ?1", params![old, new])
        });
        let say = |path, source| Error::Say { plan: from.to_owned(), path, source };
        moved.map(drop).map_err(|source| failed(&self.database, source, say))
    }
}

fn line(entry: &Entry) -> Result<Line, Error> {
    let encode = |source| Error::Encode { book: Book::Plan(PlanId(0)), event: entry.name(), source };
    Ok(Line { key: entry.key(), text: serde_json::to_vec(entry).map_err(encode)? })
}

fn number(connection: &Connection, path: &[u8]) -> rusqlite::Result<Option<PlanId>> {
    let mut query = connection.prepare_cached("SELECT id FROM plan WHERE path = ?1")?;
    query.query_row([path], |row| row.get(0).map(PlanId)).optional()
}

/// The number of a plan, which it gets now where it has none.
fn enter(connection: &Connection, path: &[u8]) -> rusqlite::Result<PlanId> {
    if let Some(known) = number(connection, path)? {
        return Ok(known);
    }
    connection.execute("INSERT INTO plan (path) VALUES (?1)", [path])?;
    let id = connection.last_insert_rowid();
    connection.execute(
        "INSERT INTO ledger_head (plan, seq, hash) VALUES (?1, 0, ?2)",
        params![id, ledger_genesis().as_bytes()],
    )?;
    Ok(PlanId(id))
}
