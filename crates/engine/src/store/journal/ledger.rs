//! The ledgers of plans: proposals, decisions and comments, each a chain of its own next to the journals of
//! the runs. Never decides what an entry means.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::approval::status::{ApprovalStatus, RecordedEntry};
use planwright_core::audit::hash_chain::ledger_genesis;
use planwright_core::plan::identity::Identity;
use planwright_core::run::event::Event;
use planwright_core::run::summary::RunSummary;
use rusqlite::{Connection, OptionalExtension, params};

use super::error::failed;
use super::{
    AppendResult, Error, Found, Happened, JournalChain, JournalHead, Line, NewRun, RecordedEvent, RunId,
    Store, chain, extend, insert_run, keep, run_summary, within_limit,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanId(pub(super) i64);

impl PlanId {
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plan {}", self.0)
    }
}

/// A ledger and its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    pub id: PlanId,
    /// Relative to the root of the project.
    pub plan: PathBuf,
    /// The resulting state of the plan. Good for lists, never for a decision.
    pub summary: LedgerSummary,
    pub head: JournalHead,
}

/// The state of a plan by its ledger, as a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerSummary {
    /// In the words of core.
    pub state: String,
    /// In milliseconds since 1970.
    pub since_ms: u64,
    /// 0 if there is none.
    pub revision: u32,
    pub digest: String,
    pub proposer: String,
}

impl LedgerSummary {
    pub fn of(standing: &ApprovalStatus) -> Self {
        let newest = standing.newest();
        Self {
            state: standing.state(None).to_string(),
            since_ms: standing.since_ms,
            revision: newest.map_or(0, |newest| newest.number),
            digest: newest.map(|newest| newest.subject.digest.clone()).unwrap_or_default(),
            proposer: newest.map(|newest| newest.by.name.clone()).unwrap_or_default(),
        }
    }
}

/// A run that an approval permits.
#[derive(Debug, Clone, Copy)]
pub struct LedgerStart<'a> {
    pub new: &'a NewRun,
    pub first: &'a Event,
    /// Its resulting state.
    pub tally: &'a RunSummary,
    /// The last ledger entry that the caller knows.
    pub after: u64,
    /// Entries that must be recorded first.
    pub due: &'a [LedgerEntry],
    pub by: &'a Identity,
}

/// Additions to a ledger, all or nothing.
#[derive(Debug, Clone)]
pub struct Statement<'a> {
    /// The last entry that the caller knows; 0 if none.
    pub after: u64,
    pub entries: &'a [LedgerEntry],
    /// Bytes that the entries name, stored in the same transaction.
    pub blobs: Vec<Vec<u8>>,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// The resulting state of the plan.
    pub summary: LedgerSummary,
}

impl Store {
    /// Starts an approved run: run, first event and ledger entry are one transaction. `None` if the ledger
    /// grew since the caller read it: then nothing started.
    pub fn begin_approved(&self, beginning: &LedgerStart<'_>) -> Result<Option<RunId>, Error> {
        let (new, by) = (beginning.new.clone(), beginning.by.clone());
        within_limit("the plan", new.text.len())?;
        let first = Happened::of(RunId(0), beginning.first)?;
        let due = beginning.due.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
        let tally = run_summary::text_of(beginning.tally);
        let (after, at_ms) = (beginning.after, new.created_at_ms);
        let plan = new.plan.clone();
        let begun = self.writer.write(move |connection| {
            let id = enter(connection, new.plan.as_os_str().as_bytes())?;
            // Checked first: an inserted run could not be undone in the middle of a transaction.
            let found =
                extend(connection, JournalChain::Plan(id), (after, at_ms), &due.iter().collect::<Vec<_>>())?;
            let Found::Written(head) = found else { return Ok((id, None, found)) };
            let run = insert_run(connection, &new, (&[first], Some(&tally)))?;
            let started = LedgerEntry::Started { run: run.0, by };
            let text = serde_json::to_vec(&started)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            let started = Line { key: started.key(), text };
            let found = extend(connection, JournalChain::Plan(id), (head.seq, at_ms), &[&started])?;
            connection
                .prepare_cached("UPDATE plan SET state = 'running', since = ?2 WHERE id = ?1")?
                .execute(params![id.0, at_ms.cast_signed()])?;
            Ok((id, Some(run), found))
        });
        let say = |path, source| Error::Say { plan: plan.clone(), path, source };
        let (id, run, found) = begun.map_err(|source| failed(&self.database, source, say))?;
        match found {
            Found::Written(_) => Ok(run),
            Found::Known | Found::Moved => Ok(None),
            Found::Broken(at) => Err(self.broken(JournalChain::Plan(id), at)),
            Found::Nothing => Err(Error::NoLedger { plan: plan.clone(), path: self.database.clone() }),
        }
    }

    /// Appends entries to the ledger of a plan if `after` is its last one. They are durable when this
    /// returns.
    pub fn say(&self, plan: &Path, statement: Statement<'_>) -> Result<AppendResult, Error> {
        let Statement { after, entries, blobs, at_ms, summary } = statement;
        let lines = entries.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
        within_limit("what is said", lines.iter().map(|line| line.text.len()).sum())?;
        for bytes in &blobs {
            within_limit("what is to be kept", bytes.len())?;
        }
        let path = plan.as_os_str().as_bytes().to_vec();
        let written = self.writer.write(move |connection| {
            let id = enter(connection, &path)?;
            let book = JournalChain::Plan(id);
            let found = extend(connection, book, (after, at_ms), &lines.iter().collect::<Vec<_>>())?;
            if let Found::Written(_) = found {
                summarise(connection, id, &summary)?;
                blobs.iter().try_for_each(|bytes| keep(connection, bytes))?;
            }
            Ok((book, found))
        });
        let say = |path, source| Error::Say { plan: plan.to_owned(), path, source };
        let (book, found) = written.map_err(|source| failed(&self.database, source, say))?;
        match found {
            Found::Written(head) => Ok(AppendResult::Written { seq: head.seq }),
            Found::Known => Ok(AppendResult::Known),
            Found::Moved => Ok(AppendResult::Moved),
            Found::Broken(at) => Err(self.broken(book, at)),
            Found::Nothing => Err(Error::NoLedger { plan: plan.to_owned(), path: self.database.clone() }),
        }
    }

    /// Appends entries to the ledgers of several plans, all or nothing. Returns the first plan whose ledger
    /// grew since the caller read it: then nothing was written.
    pub fn say_together(&self, statements: &[(PathBuf, Statement<'_>)]) -> Result<Option<PathBuf>, Error> {
        let mut prepared = Vec::new();
        for (plan, statement) in statements {
            let lines = statement.entries.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
            within_limit("what is said", lines.iter().map(|line| line.text.len()).sum())?;
            for bytes in &statement.blobs {
                within_limit("what is to be kept", bytes.len())?;
            }
            let Statement { after, at_ms, blobs, summary, .. } = statement;
            prepared.push((plan.clone(), lines, (*after, *at_ms), blobs.clone(), summary.clone()));
        }
        let written = self.writer.write(move |connection| {
            // All of them are checked before anything is written, since it could not be undone.
            for (plan, _, at, ..) in &prepared {
                let book = JournalChain::Plan(enter(connection, plan.as_os_str().as_bytes())?);
                match extend(connection, book, *at, &[])? {
                    Found::Written(_) => {}
                    found @ (Found::Known | Found::Moved | Found::Broken(_) | Found::Nothing) => {
                        return Ok(Some((plan.clone(), book, found)));
                    }
                }
            }
            for (plan, lines, at, blobs, summary) in &prepared {
                let id = enter(connection, plan.as_os_str().as_bytes())?;
                extend(connection, JournalChain::Plan(id), *at, &lines.iter().collect::<Vec<_>>())?;
                summarise(connection, id, summary)?;
                blobs.iter().try_for_each(|bytes| keep(connection, bytes))?;
            }
            Ok(None)
        });
        let first = statements.first().map(|(plan, _)| plan.clone()).unwrap_or_default();
        let say = |path, source| Error::Say { plan: first, path, source };
        match written.map_err(|source| failed(&self.database, source, say))? {
            None => Ok(None),
            Some((_, book, Found::Broken(at))) => Err(self.broken(book, at)),
            Some((plan, _, Found::Nothing)) => Err(Error::NoLedger { plan, path: self.database.clone() }),
            Some((plan, _, Found::Known | Found::Moved | Found::Written(_))) => Ok(Some(plan)),
        }
    }

    /// The ledger of a plan, each entry verified against its hash; empty if there is none.
    pub fn ledger(&self, plan: &Path) -> Result<Vec<RecordedEntry>, Error> {
        let said = |recorded: RecordedEvent<LedgerEntry>| RecordedEntry {
            seq: recorded.seq,
            at_ms: recorded.at_ms,
            entry: recorded.event,
        };
        Ok(self.ledger_after(plan, 0)?.into_iter().map(said).collect())
    }

    /// The entries of a ledger after number `after`, with their hashes.
    pub fn ledger_after(&self, plan: &Path, after: u64) -> Result<Vec<RecordedEvent<LedgerEntry>>, Error> {
        let what = format!("the ledger of {}", plan.display());
        let path = plan.as_os_str().as_bytes();
        let found = self.read(&what, |connection| {
            let Some(id) = number(connection, path)? else { return Ok(None) };
            let book = JournalChain::Plan(id);
            Ok(chain::read::<LedgerEntry>(connection, book, after)?.map(|pages| (book, pages)))
        })?;
        let Some((book, (entries, breaks))) = found else { return Ok(Vec::new()) };
        match breaks.first() {
            Some(at) => Err(self.broken(book, *at)),
            None => Ok(entries),
        }
    }

    /// Oldest first.
    pub fn ledgers(&self) -> Result<Vec<LedgerRow>, Error> {
        let query = "SELECT plan.id, plan.path, ledger_head.seq, ledger_head.hash, plan.state, plan.since, \
                     plan.revision, plan.digest, plan.proposer FROM plan \
                     JOIN ledger_head ON ledger_head.plan = plan.id ORDER BY plan.id";
        self.read("the ledgers", |connection| {
            let mut query = connection.prepare_cached(query)?;
            let rows = query.query_map([], |row| {
                Ok(LedgerRow {
                    id: PlanId(row.get(0)?),
                    plan: PathBuf::from(OsStr::from_bytes(&row.get::<_, Vec<u8>>(1)?)),
                    head: JournalHead {
                        seq: row.get::<_, i64>(2)?.cast_unsigned(),
                        hash: chain::hash_at(row, 3)?,
                    },
                    summary: LedgerSummary {
                        state: row.get(4)?,
                        since_ms: row.get::<_, i64>(5)?.cast_unsigned(),
                        revision: row.get(6)?,
                        digest: row.get(7)?,
                        proposer: row.get(8)?,
                    },
                })
            })?;
            rows.collect()
        })
    }

    /// The plans that were ever evicted from a merge.
    pub fn plans_evicted(&self) -> Result<Vec<PathBuf>, Error> {
        // By the keys, which are indexed: entries are long, and this runs with every status query.
        let query = "SELECT DISTINCT plan.path FROM ledger JOIN plan ON plan.id = ledger.plan \
                     WHERE ledger.key LIKE '%/plan.evicted' ORDER BY plan.path";
        self.read("the ledgers", |connection| {
            let mut query = connection.prepare_cached(query)?;
            let rows = query
                .query_map([], |row| Ok(PathBuf::from(OsStr::from_bytes(&row.get::<_, Vec<u8>>(0)?))))?;
            rows.collect()
        })
    }

    /// Moves everything known about a plan to its new path.
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

fn summarise(connection: &Connection, plan: PlanId, summary: &LedgerSummary) -> rusqlite::Result<()> {
    let update =
        "UPDATE plan SET state = ?2, since = ?3, revision = ?4, digest = ?5, proposer = ?6 WHERE id = ?1";
    let LedgerSummary { state, since_ms, revision, digest, proposer } = summary;
    let values = params![plan.0, state, since_ms.cast_signed(), revision, digest, proposer];
    connection.prepare_cached(update)?.execute(values).map(drop)
}

fn line(entry: &LedgerEntry) -> Result<Line, Error> {
    let encode = |source| Error::Encode { book: JournalChain::Plan(PlanId(0)), event: entry.name(), source };
    Ok(Line { key: entry.key(), text: serde_json::to_vec(entry).map_err(encode)? })
}

pub(super) fn number(connection: &Connection, path: &[u8]) -> rusqlite::Result<Option<PlanId>> {
    let mut query = connection.prepare_cached("SELECT id FROM plan WHERE path = ?1")?;
    query.query_row([path], |row| row.get(0).map(PlanId)).optional()
}

/// The number of a plan; assigns one if needed.
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
