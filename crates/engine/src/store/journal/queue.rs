//! The work queue: attempts whose intent is recorded and whose result no run has taken yet. A worker claims
//! one for a while, sends heartbeats and delivers a result; a fence keeps out a worker that was given up.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use planwright_core::run::event::Event;
use planwright_core::run::receipt::Blob;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::failed;
use super::{Error, RunId, Store, keep, lock};

/// How long a claim lasts without a heartbeat, in milliseconds.
pub const LEASE_MS: u64 = 15_000;
/// The heartbeat interval of a worker, in milliseconds.
pub const BEAT_MS: u64 = 5_000;

/// The right to make one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkClaim {
    pub run: RunId,
    pub step: String,
    pub attempt: u32,
    pub prompt: Blob,
    /// The number of the claim: higher than that of every earlier one.
    pub fence: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub run: RunId,
    pub step: String,
    pub attempt: u32,
    pub agent: String,
    pub prompt: Blob,
    /// In milliseconds since 1970.
    pub queued_at_ms: u64,
    pub lease: Option<WorkLease>,
}

/// A claim, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkLease {
    /// The worker, by the name of its lock.
    pub worker: String,
    pub fence: i64,
    /// In milliseconds since 1970.
    pub claimed_at_ms: u64,
    /// The last heartbeat, in milliseconds since 1970.
    pub heard_at_ms: u64,
    pub is_delivered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It sent a recent heartbeat.
    Well,
    /// Its last heartbeat is too old, but its process exists: stopped, or starved.
    Silent,
    /// Its process is gone: the kernel released its lock.
    Dead,
}

impl Store {
    /// Claims the oldest unclaimed attempt among the runs in the workspace `root`.
    pub fn claim(&self, worker: &str, root: &Path, now_ms: u64) -> Result<Option<WorkClaim>, Error> {
        let (worker, root) = (worker.to_owned(), root.as_os_str().as_bytes().to_vec());
        self.queue_write("claim", move |connection| {
            let mut query = connection.prepare_cached(
                "SELECT work.run, work.step, work.attempt, work.prompt FROM work \
                 JOIN run ON run.id = work.run AND run.root = ?1 \
                 WHERE NOT EXISTS (SELECT 1 FROM lease WHERE lease.run = work.run \
                 AND lease.step = work.step AND lease.attempt = work.attempt) \
                 ORDER BY work.queued_at, work.rowid LIMIT 1",
            )?;
            let found = query.query_row(params![root], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?))
            });
            let Some((run, step, attempt, prompt)) = found.optional()? else { return Ok(None) };
            let fence = lease(connection, (run, &step, attempt), &worker, now_ms)?;
            Ok(Some(WorkClaim { run: RunId(run), step, attempt, prompt: Blob(prompt), fence }))
        })
    }

    /// Claims one attempt, if it is unclaimed.
    pub fn claim_this(
        &self,
        worker: &str,
        (run, step, attempt): (RunId, &str, u32),
        now_ms: u64,
    ) -> Result<Option<WorkClaim>, Error> {
        let (worker, step) = (worker.to_owned(), step.to_owned());
        self.queue_write("claim", move |connection| {
            let mut query = connection.prepare_cached(
                "SELECT prompt FROM work WHERE run = ?1 AND step = ?2 AND attempt = ?3 \
                 AND NOT EXISTS (SELECT 1 FROM lease WHERE run = ?1 AND step = ?2 AND attempt = ?3)",
            )?;
            let found = query.query_row(params![run.0, step, attempt], |row| row.get(0)).optional()?;
            let Some(prompt) = found else { return Ok(None) };
            let fence = lease(connection, (run.0, &step, attempt), &worker, now_ms)?;
            Ok(Some(WorkClaim { run, step, attempt, prompt: Blob(prompt), fence }))
        })
    }

    /// Sends a heartbeat; `false` if the claim is no longer valid.
    pub fn beat(&self, claim: &WorkClaim, now_ms: u64) -> Result<bool, Error> {
        let fence = claim.fence;
        self.queue_write("renew", move |connection| {
            let mut update = connection.prepare_cached("UPDATE lease SET heard_at = ?2 WHERE fence = ?1")?;
            Ok(update.execute(params![fence, now_ms.cast_signed()])? == 1)
        })
    }

    /// Sends a heartbeat for all claims of a worker.
    pub fn beat_all(&self, worker: &str, now_ms: u64) -> Result<(), Error> {
        let worker = worker.to_owned();
        self.queue_write("renew", move |connection| {
            let mut update = connection.prepare_cached("UPDATE lease SET heard_at = ?2 WHERE worker = ?1")?;
            update.execute(params![worker, now_ms.cast_signed()]).map(drop)
        })
    }

    /// Delivers the result of an attempt with the bytes it names; `false` if the claim is no longer valid.
    pub fn deliver(&self, claim: &WorkClaim, event: &Event, blobs: Vec<Vec<u8>>) -> Result<bool, Error> {
        let text = serde_json::to_vec(event).map_err(|source| Error::Encode {
            book: super::JournalChain::Run(claim.run),
            event: event.name(),
            source,
        })?;
        let fence = claim.fence;
        self.queue_write("deliver", move |connection| {
            let mut update = connection
                .prepare_cached("UPDATE lease SET result = ?2 WHERE fence = ?1 AND result IS NULL")?;
            let is_ours = update.execute(params![fence, text])? == 1;
            if is_ours {
                blobs.iter().try_for_each(|bytes| keep(connection, bytes))?;
            }
            Ok(is_ours)
        })
    }

    /// Delivered results that are not recorded yet.
    pub fn delivered(&self, run: RunId) -> Result<Vec<Event>, Error> {
        let texts = self.read(&format!("the queue of {run}"), |connection| {
            let mut query = connection
                .prepare_cached("SELECT result FROM lease WHERE run = ?1 AND result IS NOT NULL")?;
            let texts = query.query_map(params![run.0], |row| row.get::<_, Vec<u8>>(0))?;
            texts.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        // An unreadable result counts as never delivered: its worker is found dead, and the attempt is
        // interrupted.
        Ok(texts.iter().filter_map(|text| serde_json::from_slice(text).ok()).collect())
    }

    /// Oldest first.
    pub fn queue(&self) -> Result<Vec<Queued>, Error> {
        self.read("the queue", |connection| {
            let mut query = connection.prepare_cached(
                "SELECT work.run, work.step, work.attempt, work.agent, work.prompt, work.queued_at, \
                 lease.worker, lease.fence, lease.claimed_at, lease.heard_at, lease.result IS NOT NULL \
                 FROM work LEFT JOIN lease ON lease.run = work.run AND lease.step = work.step \
                 AND lease.attempt = work.attempt ORDER BY work.queued_at, work.rowid",
            )?;
            query.query_map([], queued)?.collect()
        })
    }

    pub fn health(&self, lease: &WorkLease, now_ms: u64) -> Result<Health, Error> {
        let path = self.worker_lock_path(&lease.worker);
        let holder = lock::holder(&path).map_err(|source| Error::Lock { path, source })?;
        Ok(match holder {
            None => Health::Dead,
            Some(_) if now_ms.saturating_sub(lease.heard_at_ms) > LEASE_MS => Health::Silent,
            Some(_) => Health::Well,
        })
    }

    fn queue_write<T: Send + 'static>(
        &self,
        act: &'static str,
        write: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.writer.write(write).map_err(|source| {
            failed(&self.database, source, |path, source| Error::Queue { act, path, source })
        })
    }
}

/// Records a claim and returns its number.
pub(super) fn lease(
    connection: &Connection,
    (run, step, attempt): (i64, &str, u32),
    worker: &str,
    now_ms: u64,
) -> rusqlite::Result<i64> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO lease (run, step, attempt, worker, claimed_at, heard_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
    )?;
    insert.execute(params![run, step, attempt, worker, now_ms.cast_signed()])?;
    Ok(connection.last_insert_rowid())
}

fn queued(row: &Row<'_>) -> rusqlite::Result<Queued> {
    let lease = match row.get::<_, Option<String>>(6)? {
        None => None,
        Some(worker) => Some(WorkLease {
            worker,
            fence: row.get(7)?,
            claimed_at_ms: row.get::<_, i64>(8)?.cast_unsigned(),
            heard_at_ms: row.get::<_, i64>(9)?.cast_unsigned(),
            is_delivered: row.get(10)?,
        }),
    };
    Ok(Queued {
        run: RunId(row.get(0)?),
        step: row.get(1)?,
        attempt: row.get(2)?,
        agent: row.get(3)?,
        prompt: Blob(row.get(4)?),
        queued_at_ms: row.get::<_, i64>(5)?.cast_unsigned(),
        lease,
    })
}
