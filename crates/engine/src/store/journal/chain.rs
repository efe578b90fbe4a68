//! The hash chain through a book: every record names the one before it, so that a change of the past shows.
//! Checks rows; never fixes them.

use std::fmt;

use blake3::Hash;
use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::audit::hash_chain;
use planwright_core::run::event::Event;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::de::DeserializeOwned;

use super::{PlanId, RecordedEvent, RunId};

/// How many breaks are listed; more would tell nothing new.
const BREAKS_MAX: usize = 64;

/// The head of a journal. Kept elsewhere, it shows that nothing was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalHead {
    /// The number of the last event; 0 if there is none.
    pub seq: u64,
    pub hash: Hash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// The head of the journal by its rows.
    pub head: JournalHead,
    /// Everything that is not as written, in order; the first 64.
    pub breaks: Vec<Break>,
}

impl ChainReport {
    /// Whether the journal is what was written, as far as it goes.
    pub fn is_whole(&self) -> bool {
        self.breaks.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    pub seq: u64,
    pub fault: ChainFault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainFault {
    /// There is no such event, although there is a later one.
    Missing,
    /// Its text, time or number does not match its hash.
    Changed,
    /// It does not follow the event before it, or the first one the approved text.
    Unlinked,
    Unreadable,
    Misfiled,
    /// The recorded head of the journal differs.
    OtherHead,
    /// A head kept elsewhere is not on the chain: the journal was cut off or rewritten.
    NotKept,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match self.fault {
            ChainFault::Missing => write!(f, "event {seq} is missing"),
            ChainFault::Changed => write!(f, "event {seq} was changed"),
            ChainFault::Unlinked => write!(f, "event {seq} does not follow the one before it"),
            ChainFault::Unreadable => write!(f, "event {seq} is unreadable"),
            ChainFault::Misfiled => write!(f, "event {seq} is filed under another key"),
            ChainFault::OtherHead => write!(f, "the recorded head does not match the journal at event {seq}"),
            ChainFault::NotKept => write!(f, "event {seq} does not match the anchored one"),
        }
    }
}

/// Which chain: the journal of a run, or the ledger of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JournalChain {
    Run(RunId),
    Plan(PlanId),
}

impl JournalChain {
    pub const fn number(self) -> i64 {
        match self {
            Self::Run(run) => run.0,
            Self::Plan(plan) => plan.0,
        }
    }

    /// The table of its records, the column that names the book, and the table of heads.
    pub(super) const fn tables(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Run(_) => ("journal", "run", "head"),
            Self::Plan(_) => ("ledger", "plan", "ledger_head"),
        }
    }
}

impl fmt::Display for JournalChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(run) => run.fmt(f),
            Self::Plan(plan) => plan.fmt(f),
        }
    }
}

pub(super) trait ChainRecord: DeserializeOwned {
    /// What makes it unique in its book.
    fn key(&self) -> Option<String>;
}

impl ChainRecord for Event {
    fn key(&self) -> Option<String> {
        self.key()
    }
}

impl ChainRecord for LedgerEntry {
    fn key(&self) -> Option<String> {
        self.key()
    }
}

pub(super) fn hash_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Hash> {
    row.get::<_, [u8; 32]>(column).map(Hash::from_bytes)
}

/// A consistent view of the database; `None` if the caller already has one.
fn view(connection: &Connection) -> rusqlite::Result<Option<rusqlite::Transaction<'_>>> {
    connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()
}

/// Verifies every record of a book, and that `kept` is among them. `None` if there is no such book.
pub(super) fn check<T: ChainRecord>(
    connection: &Connection,
    book: JournalChain,
    kept: &[JournalHead],
) -> rusqlite::Result<Option<ChainReport>> {
    // One view of the database: an event added meanwhile must not look like a break.
    let view = view(connection)?;
    let view = view.as_deref().unwrap_or(connection);
    let Some(first) = first(view, book)? else { return Ok(None) };
    // A missing head is treated as empty.
    let record =
        recorded_head(view, book)?.unwrap_or(JournalHead { seq: 0, hash: Hash::from_bytes([0; 32]) });
    let mut walk = Walk { book, head: JournalHead { seq: 0, hash: first }, breaks: Vec::new() };
    walk.meet(kept);
    walk.along::<T>(view, |walk, _| walk.meet(kept))?;
    walk.end(record);
    let end = walk.head.seq;
    for head in kept.iter().filter(|head| head.seq > end) {
        walk.note(head.seq, ChainFault::NotKept);
    }
    Ok(Some(ChainReport { head: walk.head, breaks: walk.breaks }))
}

pub(super) type Pages<T> = (Vec<RecordedEvent<T>>, Vec<Break>);

/// The records of a book after one of them, and their faults. `None` if there is no such book.
pub(super) fn read<T: ChainRecord>(
    connection: &Connection,
    book: JournalChain,
    after: u64,
) -> rusqlite::Result<Option<Pages<T>>> {
    let view = view(connection)?;
    let view = view.as_deref().unwrap_or(connection);
    let Some(record) = recorded_head(view, book)? else { return Ok(None) };
    // A caller that knows of more events than exist gets none.
    if after >= record.seq {
        return Ok(Some((Vec::new(), Vec::new())));
    }
    let start = if after == 0 { first(view, book)? } else { hash_of(view, book, after)? };
    let Some(hash) = start else {
        return Ok(Some((Vec::new(), vec![Break { seq: after, fault: ChainFault::Missing }])));
    };
    let mut walk = Walk { book, head: JournalHead { seq: after, hash }, breaks: Vec::new() };
    let mut events = Vec::new();
    walk.along(view, |_, event| events.extend(event))?;
    walk.end(record);
    Ok(Some((events, walk.breaks)))
}

/// What the first record of a book follows.
fn first(connection: &Connection, book: JournalChain) -> rusqlite::Result<Option<Hash>> {
    match book {
        JournalChain::Run(run) => {
            let mut query = connection.prepare_cached("SELECT digest, text FROM run WHERE id = ?1")?;
            let first = |row: &Row<'_>| {
                Ok(hash_chain::run_genesis(&row.get::<_, String>(0)?, row.get::<_, String>(1)?.as_bytes()))
            };
            query.query_row([run.0], first).optional()
        }
        JournalChain::Plan(plan) => {
            let mut query = connection.prepare_cached("SELECT 1 FROM plan WHERE id = ?1")?;
            Ok(query.exists([plan.0])?.then(hash_chain::ledger_genesis))
        }
    }
}

/// The recorded head of a book.
fn recorded_head(connection: &Connection, book: JournalChain) -> rusqlite::Result<Option<JournalHead>> {
    let (_, owner, heads) = book.tables();
    let mut query =
        connection.prepare_cached(&format!("SELECT seq, hash FROM {heads} WHERE {owner} = ?1"))?;
    let head = |row: &Row<'_>| {
        Ok(JournalHead { seq: row.get::<_, i64>(0)?.cast_unsigned(), hash: hash_at(row, 1)? })
    };
    query.query_row([book.number()], head).optional()
}

fn hash_of(connection: &Connection, book: JournalChain, seq: u64) -> rusqlite::Result<Option<Hash>> {
    let (records, owner, _) = book.tables();
    let query = format!("SELECT hash FROM {records} WHERE {owner} = ?1 AND seq = ?2");
    let mut query = connection.prepare_cached(&query)?;
    query.query_row([book.number(), seq.cast_signed()], |row| hash_at(row, 0)).optional()
}

struct Walk {
    book: JournalChain,
    head: JournalHead,
    breaks: Vec<Break>,
}

impl Walk {
    /// Walks to the end of the book and passes on each readable record.
    fn along<T: ChainRecord>(
        &mut self,
        connection: &Connection,
        mut each: impl FnMut(&mut Self, Option<RecordedEvent<T>>),
    ) -> rusqlite::Result<()> {
        let (records, owner, _) = self.book.tables();
        let mut query = connection.prepare_cached(&format!(
            "SELECT seq, at, event, prev, hash, key FROM {records} WHERE {owner} = ?1 AND seq > ?2 ORDER BY seq",
        ))?;
        let mut rows = query.query([self.book.number(), self.head.seq.cast_signed()])?;
        while let Some(row) = rows.next()? {
            match self.step(row) {
                Ok(event) => each(self, event),
                Err(error) if error.sqlite_error().is_some() => return Err(error),
                // The row exists, but a column is not what the store writes.
                Err(_) => self.note(self.head.seq + 1, ChainFault::Unreadable),
            }
        }
        Ok(())
    }

    fn step<T: ChainRecord>(&mut self, row: &Row<'_>) -> rusqlite::Result<Option<RecordedEvent<T>>> {
        let (seq, at_ms) = (row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?.cast_unsigned());
        let text: Vec<u8> = row.get(2)?;
        let (prev, hash) = (hash_at(row, 3)?, hash_at(row, 4)?);
        let key: Option<String> = row.get(5)?;
        if seq != self.head.seq + 1 {
            self.note(self.head.seq + 1, ChainFault::Missing);
        } else if prev != self.head.hash {
            self.note(seq, ChainFault::Unlinked);
        }
        if hash_chain::link(&prev, self.book.number(), (seq, at_ms), &text) != hash {
            self.note(seq, ChainFault::Changed);
        }
        // The walk continues from what is written, so that one change is one break and not the rest of the
        // journal.
        self.head = JournalHead { seq, hash };
        let Ok(event) = serde_json::from_slice::<T>(&text) else {
            self.note(seq, ChainFault::Unreadable);
            return Ok(None);
        };
        if event.key() != key {
            self.note(seq, ChainFault::Misfiled);
        }
        Ok(Some(RecordedEvent { seq, at_ms, event, hash }))
    }

    /// Compares the reached head with the recorded one.
    fn end(&mut self, record: JournalHead) {
        if record != self.head {
            self.note(record.seq, ChainFault::OtherHead);
        }
    }

    fn meet(&mut self, kept: &[JournalHead]) {
        if kept.iter().any(|head| head.seq == self.head.seq && head.hash != self.head.hash) {
            self.note(self.head.seq, ChainFault::NotKept);
        }
    }

    fn note(&mut self, seq: u64, fault: ChainFault) {
        if self.breaks.len() < BREAKS_MAX {
            self.breaks.push(Break { seq, fault });
        }
    }
}
