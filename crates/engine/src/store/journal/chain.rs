//! The chain through a journal: every event names the one before it by hash, so that a change of the past shows. Checks
//! rows; never mends them.

use std::fmt;

use blake3::Hash;
use planwright_core::event::Event;
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Recorded, RunId};

/// How many breaks are listed; after that many, one more tells nothing new.
const BREAKS_MAX: usize = 64;

/// The end of a journal. Kept elsewhere, it shows that nothing was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The sequence number of the last event; 0 when there is none.
    pub seq: u64,
    /// The hash of the last event.
    pub hash: Hash,
}

/// What a check of a journal found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// The end of the journal, as its rows have it.
    pub head: Head,
    /// Everything that is not as it was written, in order; the first 64 of it.
    pub breaks: Vec<Break>,
}

impl ChainReport {
    /// Whether the journal is what was written, as far as it goes.
    pub fn is_whole(&self) -> bool {
        self.breaks.is_empty()
    }
}

/// One place where a journal is not as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    /// The event.
    pub seq: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with an event of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is no such event, though there is a later one.
    Missing,
    /// Its text, time or number is not what its hash was made of.
    Changed,
    /// It does not follow the event before it; the first one does not follow the approved text.
    Unlinked,
    /// It can't be read as an event.
    Unreadable,
    /// It is filed under another key than its own.
    Misfiled,
    /// The run's own record of the end of its journal is different.
    OtherHead,
    /// A head that was kept elsewhere is not on the chain: the journal was cut off or written anew.
    NotKept,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match self.fault {
            Fault::Missing => write!(f, "event {seq} is missing"),
            Fault::Changed => write!(f, "event {seq} is not what was written"),
            Fault::Unlinked => write!(f, "event {seq} does not follow the one before it"),
            Fault::Unreadable => write!(f, "event {seq} can't be read"),
            Fault::Misfiled => write!(f, "event {seq} is filed under the key of another"),
            Fault::OtherHead => write!(f, "the run's record ends elsewhere than its journal, at event {seq}"),
            Fault::NotKept => write!(f, "event {seq} is not the one that was kept"),
        }
    }
}

/// What the first event follows: the approval, in digest and text.
pub(super) fn genesis(digest: &str, text: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    // The length in front: no other digest and text run together to the same bytes.
    hasher.update(&(digest.len() as u64).to_le_bytes()).update(digest.as_bytes()).update(text);
    hasher.finalize()
}

/// The hash of one event.
pub(super) fn link(prev: &Hash, run: RunId, (seq, at_ms): (u64, u64), event: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    // Everything before the event has a fixed length, so the parts can't run into each other.
    hasher.update(prev.as_bytes()).update(&run.0.to_le_bytes());
    hasher.update(&seq.to_le_bytes()).update(&at_ms.to_le_bytes()).update(event);
    hasher.finalize()
}

/// A hash as a column holds it.
pub(super) fn hash_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Hash> {
    row.get::<_, [u8; 32]>(column).map(Hash::from_bytes)
}

/// Checks every event of a run, and that `kept` is among them. `None` where there is no such run.
pub(super) fn check(
    connection: &Connection,
    run: RunId,
    kept: &[Head],
) -> rusqlite::Result<Option<ChainReport>> {
    // One view of the database: an event that is added meanwhile must not look like a break.
    let view = connection.unchecked_transaction()?;
    let Some(first) = first(&view, run)? else { return Ok(None) };
    // A record that is gone ends nowhere.
    let record = recorded_head(&view, run)?.unwrap_or(Head { seq: 0, hash: Hash::from_bytes([0; 32]) });
    let mut walk = Walk { run, head: Head { seq: 0, hash: first }, breaks: Vec::new() };
    walk.meet(kept);
    walk.along(&view, |walk, _| walk.meet(kept))?;
    walk.end(record);
    let end = walk.head.seq;
    for head in kept.iter().filter(|head| head.seq > end) {
        walk.note(head.seq, Fault::NotKept);
    }
    Ok(Some(ChainReport { head: walk.head, breaks: walk.breaks }))
}

/// The events of a run after one of them, and what is wrong with them. `None` where there is no such run.
pub(super) fn read(
    connection: &Connection,
    run: RunId,
    after: u64,
) -> rusqlite::Result<Option<(Vec<Recorded>, Vec<Break>)>> {
    let view = connection.unchecked_transaction()?;
    let Some(record) = recorded_head(&view, run)? else { return Ok(None) };
    // Whoever knows of more events than there are is told of none.
    if after >= record.seq {
        return Ok(Some((Vec::new(), Vec::new())));
    }
    let start = if after == 0 { first(&view, run)? } else { hash_of(&view, run, after)? };
    let Some(hash) = start else {
        return Ok(Some((Vec::new(), vec![Break { seq: after, fault: Fault::Missing }])));
    };
    let mut walk = Walk { run, head: Head { seq: after, hash }, breaks: Vec::new() };
    let mut events = Vec::new();
    walk.along(&view, |_, event| events.extend(event))?;
    walk.end(record);
    Ok(Some((events, walk.breaks)))
}

/// What the first event of a run follows.
fn first(connection: &Connection, run: RunId) -> rusqlite::Result<Option<Hash>> {
    let mut query = connection.prepare_cached("SELECT digest, text FROM run WHERE id = ?1")?;
    let first = |row: &Row<'_>| Ok(genesis(&row.get::<_, String>(0)?, row.get::<_, String>(1)?.as_bytes()));
    query.query_row([run.0], first).optional()
}

/// The run's own record of the end of its journal.
fn recorded_head(connection: &Connection, run: RunId) -> rusqlite::Result<Option<Head>> {
    let mut query = connection.prepare_cached("SELECT seq, hash FROM head WHERE run = ?1")?;
    let head =
        |row: &Row<'_>| Ok(Head { seq: row.get::<_, i64>(0)?.cast_unsigned(), hash: hash_at(row, 1)? });
    query.query_row([run.0], head).optional()
}

fn hash_of(connection: &Connection, run: RunId, seq: u64) -> rusqlite::Result<Option<Hash>> {
    let mut query = connection.prepare_cached("SELECT hash FROM journal WHERE run = ?1 AND seq = ?2")?;
    query.query_row([run.0, seq.cast_signed()], |row| hash_at(row, 0)).optional()
}

struct Walk {
    run: RunId,
    head: Head,
    breaks: Vec<Break>,
}

impl Walk {
    /// Goes to the end of the journal and shows each event that can be read.
    fn along(
        &mut self,
        connection: &Connection,
        mut each: impl FnMut(&mut Self, Option<Recorded>),
    ) -> rusqlite::Result<()> {
        let mut query = connection.prepare_cached(
            "SELECT seq, at, event, prev, hash, key FROM journal WHERE run = ?1 AND seq > ?2 ORDER BY seq",
        )?;
        let mut rows = query.query([self.run.0, self.head.seq.cast_signed()])?;
        while let Some(row) = rows.next()? {
            match self.step(row) {
                Ok(event) => each(self, event),
                Err(error) if error.sqlite_error().is_some() => return Err(error),
                // The row is there, but a column of it is not what the store writes.
                Err(_) => self.note(self.head.seq + 1, Fault::Unreadable),
            }
        }
        Ok(())
    }

    fn step(&mut self, row: &Row<'_>) -> rusqlite::Result<Option<Recorded>> {
        let (seq, at_ms) = (row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?.cast_unsigned());
        let text: Vec<u8> = row.get(2)?;
        let (prev, hash) = (hash_at(row, 3)?, hash_at(row, 4)?);
        let key: Option<String> = row.get(5)?;
        if seq != self.head.seq + 1 {
            self.note(self.head.seq + 1, Fault::Missing);
        } else if prev != self.head.hash {
            self.note(seq, Fault::Unlinked);
        }
        if link(&prev, self.run, (seq, at_ms), &text) != hash {
            self.note(seq, Fault::Changed);
        }
        // The walk goes on from what is written, so that one change is one break and not the rest of the journal.
        self.head = Head { seq, hash };
        let Ok(event) = serde_json::from_slice::<Event>(&text) else {
            self.note(seq, Fault::Unreadable);
            return Ok(None);
        };
        if event.key() != key {
            self.note(seq, Fault::Misfiled);
        }
        Ok(Some(Recorded { seq, at_ms, event, hash }))
    }

    /// Compares the end that was reached with the run's own record of it.
    fn end(&mut self, record: Head) {
        if record != self.head {
            self.note(record.seq, Fault::OtherHead);
        }
    }

    fn meet(&mut self, kept: &[Head]) {
        if kept.iter().any(|head| head.seq == self.head.seq && head.hash != self.head.hash) {
            self.note(self.head.seq, Fault::NotKept);
        }
    }

    fn note(&mut self, seq: u64, fault: Fault) {
        if self.breaks.len() < BREAKS_MAX {
            self.breaks.push(Break { seq, fault });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_and_text_do_not_run_together() {
        assert_ne!(genesis("ab", b"c"), genesis("a", b"bc"));
    }

    #[test]
    fn every_part_of_an_event_counts_for_its_hash() {
        let (zero, one) = (Hash::from_bytes([0; 32]), Hash::from_bytes([1; 32]));
        let hash = link(&zero, RunId(1), (1, 1), b"x");
        let others = [
            link(&one, RunId(1), (1, 1), b"x"),
            link(&zero, RunId(2), (1, 1), b"x"),
            link(&zero, RunId(1), (2, 1), b"x"),
            link(&zero, RunId(1), (1, 2), b"x"),
            link(&zero, RunId(1), (1, 1), b"y"),
        ];
        assert!(others.iter().all(|other| *other != hash), "{others:?}");
    }
}
