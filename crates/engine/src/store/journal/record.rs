//! Everything recorded about one plan, exactly as stored: an audit must see what is wrong with it instead of
//! an error. Checks only the keys, which the record has and its copies lack.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use blake3::Hash;
use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::audit::bundle::{
    Anchor, AuditBundle, Chain as Copy, ChainHead as Kept, ChainLink, NamedBlob as Bytes, NamedHead, Need,
    RunBook,
};
use planwright_core::run::event::Event;
use planwright_core::run::receipt::Blob;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Anchored, Error, JournalChain, RunId, Store, anchor, blob_of, ledger};
use crate::store::plan_file;

/// Everything recorded about one plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recording {
    pub bundle: AuditBundle,
    /// Records filed under another key, for people.
    pub misfiled: Vec<String>,
    /// Heads that are not yet anchored outside the database.
    pub outstanding: Vec<Anchor>,
}

/// Which bytes are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutputs {
    /// Those needed to verify it.
    Left,
    /// Also what agents and contracts printed.
    Taken,
}

impl Store {
    /// Every plan with records, by path.
    pub fn plans(&self) -> Result<Vec<PathBuf>, Error> {
        self.read("the plans", |connection| {
            let mut query = connection.prepare_cached("SELECT plan FROM run UNION SELECT path FROM plan")?;
            let rows = query.query_map([], |row| Ok(path_at(row, 0)?.into()))?;
            rows.collect::<rusqlite::Result<BTreeSet<PathBuf>>>()
        })
        .map(|plans| plans.into_iter().collect())
    }

    /// Everything recorded about a plan, exactly as stored.
    pub fn recording(&self, plan: &Path, outputs: RunOutputs) -> Result<Recording, Error> {
        self.read(&format!("the record of {}", plan.display()), |connection| {
            // One view of the database: what is added meanwhile must not look like a break.
            let view = connection.unchecked_transaction()?;
            let mut recording =
                Recording { outstanding: anchor::outstanding(&view)?, ..Recording::default() };
            recording.bundle.store = identity(&view)?;
            recording.bundle.plan = plan.to_string_lossy().into_owned();
            recording.bundle.name = plan_file::name(plan);
            if let Some(id) = ledger::number(&view, plan.as_os_str().as_bytes())? {
                recording.bundle.ledger = Some(book(&view, JournalChain::Plan(id), &mut recording.misfiled)?);
            }
            recording.bundle.runs = runs(&view, plan, &mut recording.misfiled)?;
            recording.bundle.blobs = blobs(&view, &recording.bundle.named(), outputs)?;
            Ok(recording)
        })
    }

    /// The anchors outside the database.
    pub fn anchored(&self) -> Result<Anchored, Error> {
        self.anchors.read().map_err(|source| Error::Anchors { path: self.anchors.path().to_owned(), source })
    }

    /// The file of the anchors.
    pub fn anchors_path(&self) -> &Path {
        self.anchors.path()
    }

    /// The heads of all books, from their last records.
    pub fn ends(&self) -> Result<Vec<Anchor>, Error> {
        self.read("the ends of all books", |connection| {
            let mut query = connection.prepare_cached(
                "SELECT head.run, journal.seq, journal.hash, journal.at, NULL FROM head \
                 JOIN journal ON journal.run = head.run \
                 AND journal.seq = (SELECT max(seq) FROM journal AS last WHERE last.run = head.run) \
                 UNION ALL \
                 SELECT plan.id, ledger.seq, ledger.hash, ledger.at, plan.path FROM plan \
                 JOIN ledger ON ledger.plan = plan.id \
                 AND ledger.seq = (SELECT max(seq) FROM ledger AS last WHERE last.plan = plan.id)",
            )?;
            query.query_map([], anchor::anchor_at)?.collect()
        })
    }

    /// The id by which copies elsewhere know the store.
    pub fn identity(&self) -> Result<String, Error> {
        self.read("the identity of the store", identity)
    }

    pub fn has_book(&self, named: &NamedHead) -> Result<bool, Error> {
        self.read(&named.to_string(), |connection| match named {
            NamedHead::Run(number) => {
                connection.prepare_cached("SELECT 1 FROM run WHERE id = ?1")?.exists([number])
            }
            NamedHead::Ledger(number, _) => {
                connection.prepare_cached("SELECT 1 FROM plan WHERE id = ?1")?.exists([number])
            }
        })
    }
}

fn identity(connection: &Connection) -> rusqlite::Result<String> {
    let found = connection.query_row("SELECT id FROM identity", [], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or_default())
}

fn path_at(row: &Row<'_>, column: usize) -> rusqlite::Result<std::ffi::OsString> {
    Ok(OsStr::from_bytes(&row.get::<_, Vec<u8>>(column)?).to_owned())
}

/// Bytes in a hash column: invalid ones never match.
fn hash_in(row: &Row<'_>, column: usize) -> rusqlite::Result<Hash> {
    let bytes = row.get_ref(column)?.as_bytes().unwrap_or_default();
    Ok(Hash::from_bytes(bytes.try_into().unwrap_or([0; 32])))
}

fn text_in(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes().unwrap_or_default()).into_owned())
}

fn book(connection: &Connection, book: JournalChain, misfiled: &mut Vec<String>) -> rusqlite::Result<Copy> {
    let (records, owner, heads) = book.tables();
    let mut query = connection.prepare_cached(&format!(
        "SELECT seq, at, event, prev, hash, key FROM {records} WHERE {owner} = ?1 ORDER BY seq"
    ))?;
    let mut rows = query.query([book.number()])?;
    let mut links = Vec::new();
    while let Some(row) = rows.next()? {
        let text = row.get_ref(2)?.as_bytes().unwrap_or_default().to_vec();
        let seq = row.get::<_, i64>(0)?.cast_unsigned();
        let key: Option<String> = row.get(5)?;
        let (own, word) = match book {
            JournalChain::Run(_) => {
                (serde_json::from_slice::<Event>(&text).map(|event| event.key()), "event")
            }
            JournalChain::Plan(_) => {
                (serde_json::from_slice::<LedgerEntry>(&text).map(|entry| entry.key()), "entry")
            }
        };
        if own.is_ok_and(|own| own != key) {
            misfiled.push(format!("{word} {seq} of {book}"));
        }
        links.push(ChainLink {
            seq,
            at_ms: row.get::<_, i64>(1)?.cast_unsigned(),
            text,
            prev: hash_in(row, 3)?,
            hash: hash_in(row, 4)?,
        });
    }
    let query = format!("SELECT seq, hash FROM {heads} WHERE {owner} = ?1");
    let head = connection.prepare_cached(&query)?.query_row([book.number()], |row| {
        Ok(Kept { seq: row.get::<_, i64>(0)?.cast_unsigned(), hash: hash_in(row, 1)? })
    });
    Ok(Copy { number: book.number(), links, head: head.optional()? })
}

fn runs(connection: &Connection, plan: &Path, misfiled: &mut Vec<String>) -> rusqlite::Result<Vec<RunBook>> {
    let mut query = connection.prepare_cached(
        "SELECT id, name, digest, text, dialect, created_at FROM run WHERE plan = ?1 ORDER BY id",
    )?;
    let mut rows = query.query(params![plan.as_os_str().as_bytes()])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        runs.push(RunBook {
            book: book(connection, JournalChain::Run(RunId(row.get(0)?)), misfiled)?,
            name: text_in(row, 1)?,
            digest: text_in(row, 2)?,
            text: text_in(row, 3)?,
            dialect: text_in(row, 4)?,
            created_at_ms: row.get::<_, i64>(5)?.cast_unsigned(),
        });
    }
    Ok(runs)
}

fn blobs(
    connection: &Connection,
    named: &BTreeMap<Blob, Need>,
    outputs: RunOutputs,
) -> rusqlite::Result<BTreeMap<String, Bytes>> {
    let mut query = connection.prepare_cached("SELECT bytes FROM blob WHERE hash = ?1")?;
    let mut gone = connection.prepare_cached("SELECT at FROM gone WHERE hash = ?1")?;
    let mut kept = BTreeMap::new();
    for (blob, need) in named {
        let bytes = query.query_row([&blob.0], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        let Some(bytes) = bytes else {
            let at: Option<i64> = gone.query_row([&blob.0], |row| row.get(0)).optional()?;
            if let (Some(at), Need::Length) = (at, need) {
                let dropped_at_ms = Some(at.cast_unsigned());
                kept.insert(blob.0.clone(), Bytes { bytes: 0, content: None, dropped_at_ms });
            }
            continue;
        };
        // A blob that does not match its name is always included.
        let is_taken = outputs == RunOutputs::Taken || *need == Need::Content || blob_of(&bytes) != *blob;
        let length = bytes.len() as u64;
        let content = is_taken.then_some(bytes);
        kept.insert(blob.0.clone(), Bytes { bytes: length, content, dropped_at_ms: None });
    }
    Ok(kept)
}
