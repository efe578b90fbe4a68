//! What happened: runs, their journals and the blobs these name, in one database outside the workspace.
//! Whatever a call has reported as written is durable. Never decides what an event means, and never writes a
//! plan file.

mod anchor;
mod chain;
mod error;
mod integrity;
mod ledger;
pub(crate) mod lock;
mod change_feed;
mod presence;
mod projection;
mod queue;
mod record;
mod retention;
mod schema;
mod run_summary;
mod writer;

pub use anchor::Anchored;
pub use chain::{Break, ChainFault, ChainReport, JournalChain, JournalHead};
pub use change_feed::{Delivery, FeedFilter, FeedLine as NewsLine};
pub use error::Error;
pub use ledger::{LedgerRow, LedgerStart, LedgerSummary, PlanId, Statement};
pub use lock::{LockHolder, RunLock};
use presence::has_database;
pub(crate) use presence::has_entries;
pub use queue::{BEAT_MS, Health, LEASE_MS, Queued, WorkClaim, WorkLease};
pub use record::{Recording, RunOutputs};
pub use retention::OldOutputs;
pub use run_summary::{AskRow, ListedRun};

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;
use planwright_core::audit::hash_chain::{link, run_genesis};
use planwright_core::dialect;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{Event, StepEvent};
use planwright_core::run::receipt::Blob;
use planwright_core::run::summary::RunSummary;
use planwright_core::syntax::source::Source;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::state_dir;
use super::state_dir::ProjectRecord;
use anchor::Anchors;
use error::failed;
use presence::FileId;
use schema::Unready;
use writer::{Cause, Writer};

/// The maximum size of a blob, an approved plan, or one append.
pub const BYTES_MAX: usize = 8 * 1024 * 1024;
const DATABASE: &str = "state.db";
/// How many idle read connections are kept.
const IDLE_READERS_MAX: usize = 4;
/// How often a waiting reader polls for events of other processes.
const POLL: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(i64);

impl RunId {
    /// The run with this number, which need not exist.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}", self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// The root of the project, where the work is done.
    pub root: PathBuf,
    /// Relative to the root of the project.
    pub plan: PathBuf,
    pub name: String,
    pub digest: String,
    /// Byte for byte.
    pub text: String,
    pub dialect: String,
    /// In milliseconds since 1970.
    pub created_at_ms: u64,
}

/// A recorded run. Its state follows from its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub id: RunId,
    /// Relative to the root of the project.
    pub plan: PathBuf,
    pub name: String,
    pub digest: String,
    /// Byte for byte.
    pub text: String,
    pub dialect: String,
    /// In milliseconds since 1970.
    pub created_at_ms: u64,
    pub head: JournalHead,
    /// The last event; nothing follows `run.finished`.
    pub last: Option<RecordedEvent>,
}

impl RunRow {
    /// The source of the approved plan; `None` for a dialect of a later planwright.
    pub fn source(&self) -> Option<Source> {
        source_of((&self.name, &self.plan), (&self.text, &self.dialect))
    }

    /// The approved plan; `None` if it cannot be read or does not match the digest.
    pub fn approved(&self) -> Option<Plan> {
        approved(&self.source()?, &self.digest)
    }
}

fn source_of((name, plan): (&str, &Path), (text, dialect): (&str, &str)) -> Option<Source> {
    let dialect = dialect::named(dialect)?;
    Some(Source::new(name, text).at(plan.to_string_lossy()).written_in(dialect))
}

fn approved(source: &Source, digest: &str) -> Option<Plan> {
    super::plan_count::trusted(source).filter(|plan| Digest::of(plan).to_string() == digest)
}

/// A recorded event, or an entry of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEvent<T = Event> {
    /// Its position in the book, from 1.
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub event: T,
    /// The hash over it and everything before it.
    pub hash: Hash,
}

/// Additions to a journal, all or nothing.
#[derive(Debug, Clone)]
pub struct Append<'a> {
    /// The last event that the caller knows; 0 if none.
    pub after: u64,
    pub events: &'a [Event],
    /// Bytes that the events name (see [`blob_of`]), stored in the same transaction: one sync for all.
    pub blobs: Vec<Vec<u8>>,
    /// The worker that claims the intended attempts; `None` leaves them to others.
    pub claim_for: Option<String>,
    /// The resulting state of the run, for long lists; `None` if the caller has not folded the journal.
    pub tally: Option<RunSummary>,
    /// In milliseconds since 1970.
    pub at_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendResult {
    Written {
        seq: u64,
    },
    /// One of the events was recorded before; nothing was written, and the earlier record counts.
    Known,
    /// There are events that the caller does not know; nothing was written.
    Moved,
}

/// The name of the worker inside the process that runs a run: that of the lock it holds.
pub fn driver_name(run: RunId) -> String {
    format!("run-{}", run.0)
}

/// The name under which bytes are stored.
pub fn blob_of(bytes: &[u8]) -> Blob {
    Blob::of(bytes)
}

/// Everything known about the runs of one repository. Can be shared between threads.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    database: PathBuf,
    /// The file that the database was opened as.
    file: FileId,
    anchors: Anchors,
    writer: Writer,
    readers: Mutex<Vec<Connection>>,
}

impl Store {
    /// Opens the store of the project at `root`, creating what is missing.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let error = |source| Error::State { root: root.to_owned(), source };
        let states = state_dir::folder().map_err(error)?;
        let record = ProjectRecord::find(&states, root).map_err(error)?;
        state_dir::create(&states).map_err(error)?;
        let store = Self::open_folder(&record.folder())?;
        store.check_heads()?;
        if let Some((from, to)) = record.moved() {
            store.relocate(&from, &to)?;
        }
        // Once everything in it is about the project at its new place.
        record.claim().map_err(error)?;
        Ok(store)
    }

    /// The store of the project at `root` even if it lacks something, to find out what; `None` without one.
    pub fn open_for_audit(root: &Path) -> Result<Option<Self>, Error> {
        let folder = state_dir::of_project(root);
        let folder = folder.map_err(|source| Error::State { root: root.to_owned(), source })?;
        presence::check_file(&folder)?;
        has_database(&folder).then(|| Self::open_folder(&folder)).transpose()
    }

    pub fn exists(root: &Path) -> Result<bool, Error> {
        let error = |source| Error::State { root: root.to_owned(), source };
        let folder = state_dir::of_project(root).map_err(error)?;
        presence::check_file(&folder)?;
        Ok(has_database(&folder))
    }

    /// Opens the store in a directory, creating what is missing.
    pub fn open_folder(folder: &Path) -> Result<Self, Error> {
        presence::check_file(folder)?;
        for folder in [folder, &folder.join("locks")] {
            state_dir::create(folder).map_err(|source| Error::State { root: folder.to_owned(), source })?;
        }
        let path = folder.join(DATABASE);
        let connection = schema::open(&path, schema::MIGRATIONS).map_err(|unready| match unready {
            Unready::Newer(version) => {
                Error::Newer { path: path.clone(), version, known: schema::MIGRATIONS.len() }
            }
            Unready::Sql(source) => failed(&path, source.into(), |path, source| Error::Open { path, source }),
        })?;
        let file = FileId::of(&path).map_err(|source| Error::Reach { path: path.clone(), source })?;
        let anchors = Anchors::beside(folder);
        let (catch_up, database) = (anchors.clone(), path.clone());
        let after = move |connection: &Connection| match FileId::of(&database).is_ok_and(|now| now == file) {
            true => catch_up.catch_up(connection),
            // Nobody will ever read what was just written.
            false => Err(Cause::vanished()),
        };
        let writer =
            Writer::start(connection, after).map_err(|source| Error::Start { path: path.clone(), source })?;
        Ok(Self {
            folder: folder.to_owned(),
            database: path,
            file,
            anchors,
            writer,
            readers: Mutex::default(),
        })
    }

    /// Notes that the workspace at `from` is now at `root`. Where a run worked is not part of what it proves.
    fn relocate(&self, from: &Path, root: &Path) -> Result<(), Error> {
        let [old, new] = [from, root].map(|path| path.as_os_str().as_bytes().to_vec());
        let moved = self.writer.write(move |connection| {
            connection.execute("UPDATE run SET root = ?2 WHERE root = ?1", params![old, new])
        });
        moved.map(drop).map_err(|source| {
            failed(&self.database, source, |path, source| Error::Relocate {
                from: from.to_owned(),
                path,
                source,
            })
        })
    }

    /// Identifies the repository: the last part of the store's directory.
    pub fn key(&self) -> Cow<'_, str> {
        self.folder.file_name().unwrap_or_default().to_string_lossy()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Records a new run with its approved text.
    pub fn create_run(&self, new: &NewRun) -> Result<RunId, Error> {
        self.record_run(new, (Vec::new(), None))
    }

    /// Records a new run together with its first event: without one it could not continue, and nobody could
    /// tell why.
    pub fn begin_run(&self, new: &NewRun, first: &Event, tally: &RunSummary) -> Result<RunId, Error> {
        // The number of a run that does not exist yet is unknown.
        let news = vec![Happened::of(RunId(0), first)?];
        self.record_run(new, (news, Some(run_summary::text_of(tally))))
    }

    fn record_run(
        &self,
        new: &NewRun,
        (events, tally): (Vec<Happened>, Option<String>),
    ) -> Result<RunId, Error> {
        within_limit("the plan", new.text.len())?;
        let run = new.clone();
        let created =
            self.writer.write(move |connection| insert_run(connection, &run, (&events, tally.as_deref())));
        created.map_err(|source| {
            failed(&self.database, source, |path, source| Error::Create {
                plan: new.plan.clone(),
                path,
                source,
            })
        })
    }

    /// Oldest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, Error> {
        self.rows("runs", "ORDER BY run.id", params![])
    }

    /// The number of every run, or of every run of one plan, oldest first.
    pub fn run_ids(&self, plan: Option<&Path>) -> Result<Vec<RunId>, Error> {
        let plan = plan.map(|plan| plan.as_os_str().as_bytes());
        self.read("runs", |connection| {
            let query = "SELECT id FROM run WHERE ?1 IS NULL OR plan = ?1 ORDER BY id";
            let mut query = connection.prepare_cached(query)?;
            query.query_map(params![plan], |row| row.get(0).map(RunId))?.collect()
        })
    }

    /// Every run of a plan, by its path relative to the project, oldest first.
    pub fn runs_of(&self, plan: &Path) -> Result<Vec<RunRow>, Error> {
        let what = format!("the runs of {}", plan.display());
        self.rows(&what, "WHERE run.plan = ?1 ORDER BY run.id", params![plan.as_os_str().as_bytes()])
    }

    pub fn run(&self, run: RunId) -> Result<RunRow, Error> {
        let found = self.rows(&run.to_string(), "WHERE run.id = ?1", params![run.0])?.pop();
        found.ok_or_else(|| self.no_run(run))
    }

    /// The last run of a plan in the workspace `root`, by its path relative to that.
    pub fn latest_run(&self, root: &Path, plan: &Path) -> Result<Option<RunRow>, Error> {
        let what = format!("the runs of {}", plan.display());
        // Runs from before the root was recorded belong to every workspace.
        let order =
            "WHERE run.plan = ?1 AND (run.root = ?2 OR run.root IS NULL) ORDER BY run.id DESC LIMIT 1";
        let values = params![plan.as_os_str().as_bytes(), root.as_os_str().as_bytes()];
        Ok(self.rows(&what, order, values)?.pop())
    }

    /// Appends events to a journal if `after` is its last event. They are durable when this returns.
    pub fn append(
        &self,
        run: RunId,
        after: u64,
        events: &[Event],
        now_ms: u64,
    ) -> Result<AppendResult, Error> {
        self.add(
            run,
            Append { after, events, blobs: Vec::new(), claim_for: None, tally: None, at_ms: now_ms },
        )
    }

    /// Appends events together with the bytes they name, if nothing was added meanwhile.
    pub fn add(&self, run: RunId, addition: Append<'_>) -> Result<AppendResult, Error> {
        let Append { after, events, blobs, claim_for, tally, at_ms } = addition;
        let events =
            events.iter().map(|event| Happened::of(run, event)).collect::<Result<Vec<_>, Error>>()?;
        within_limit("what happened", events.iter().map(|new| new.line.text.len()).sum())?;
        for bytes in &blobs {
            within_limit("what is to be kept", bytes.len())?;
        }
        let tally = tally.as_ref().map(run_summary::text_of);
        let written = self.writer.write(move |connection| {
            let news = News { after, at_ms, events: &events, tally: tally.as_deref() };
            let found = extend_run(connection, run, &news)?;
            if let Found::Written(_) = found {
                blobs.iter().try_for_each(|bytes| keep(connection, bytes))?;
                if let Some(worker) = claim_for {
                    for (step, attempt) in events.iter().filter_map(|new| intent(&new.event)) {
                        queue::lease(connection, (run.0, step, attempt), &worker, at_ms)?;
                    }
                }
            }
            Ok(found)
        });
        let append = |path, source| Error::Append { run, path, source };
        match written.map_err(|source| failed(&self.database, source, append))? {
            Found::Written(head) => Ok(AppendResult::Written { seq: head.seq }),
            Found::Known => Ok(AppendResult::Known),
            Found::Moved => Ok(AppendResult::Moved),
            Found::Nothing => Err(self.no_run(run)),
            Found::Broken(at) => Err(self.broken(JournalChain::Run(run), at)),
        }
    }

    /// The events of a run after number `after`, each verified against its hash.
    pub fn events(&self, run: RunId, after: u64) -> Result<Vec<RecordedEvent>, Error> {
        let found = self.read(&format!("the journal of {run}"), |connection| {
            chain::read(connection, JournalChain::Run(run), after)
        })?;
        let (events, breaks) = found.ok_or_else(|| self.no_run(run))?;
        match breaks.first() {
            Some(at) => Err(self.broken(JournalChain::Run(run), *at)),
            None => Ok(events),
        }
    }

    /// Waits for an event after number `after`; `false` on timeout.
    pub fn wait(&self, run: RunId, after: u64, timeout: Duration) -> Result<bool, Error> {
        let begin = Instant::now();
        let more = self.read(&format!("the journal of {run}"), |connection| {
            let version = || connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0));
            loop {
                // The version first: a write between the two queries changes it.
                let seen = version()?;
                let query = "SELECT seq FROM head WHERE run = ?1";
                let seq = connection.query_row(query, [run.0], |row| row.get::<_, i64>(0)).optional()?;
                match seq.map(i64::cast_unsigned) {
                    None => return Ok(None),
                    Some(seq) if seq > after => return Ok(Some(true)),
                    Some(_) => {}
                }
                while version()? == seen {
                    let left = timeout.saturating_sub(begin.elapsed());
                    if left.is_zero() {
                        return Ok(Some(false));
                    }
                    std::thread::sleep(left.min(POLL));
                }
            }
        })?;
        more.ok_or_else(|| self.no_run(run))
    }

    /// Stores bytes. The same bytes are stored once; they are durable when this returns.
    pub fn put(&self, bytes: &[u8]) -> Result<Blob, Error> {
        within_limit("what is to be kept", bytes.len())?;
        let kept = bytes.to_vec();
        self.writer.write(move |connection| keep(connection, &kept)).map_err(|source| {
            failed(&self.database, source, |path, source| Error::Put { bytes: bytes.len(), path, source })
        })?;
        Ok(blob_of(bytes))
    }

    /// The bytes stored under a name, verified against it.
    pub fn get(&self, blob: &Blob) -> Result<Vec<u8>, Error> {
        let query = "SELECT bytes FROM blob WHERE hash = ?1";
        let found = self.read(&blob.0, |connection| {
            connection.query_row(query, [&blob.0], |row| row.get::<_, Vec<u8>>(0)).optional()
        })?;
        let path = || self.database.clone();
        match found {
            None => Err(match self.dropped_at(blob)? {
                Some(at_ms) => Error::Dropped { blob: blob.clone(), at_ms },
                None => Error::NoBlob { blob: blob.clone(), path: path() },
            }),
            Some(bytes) if blob_of(&bytes) != *blob => {
                Err(Error::BlobChanged { blob: blob.clone(), path: path() })
            }
            Some(bytes) => Ok(bytes),
        }
    }

    /// Takes the right to run a run; `None` if another process has it.
    pub fn lock(&self, run: RunId) -> Result<Option<RunLock>, Error> {
        let path = self.lock_path(run);
        lock::acquire(&path).map_err(|source| Error::Lock { path, source })
    }

    /// Takes a lock of another kind: the life of a worker, the use of a workspace. `None` if another process
    /// has it.
    pub fn lock_named(&self, name: &str) -> Result<Option<RunLock>, Error> {
        let path = self.worker_lock_path(name);
        lock::acquire(&path).map_err(|source| Error::Lock { path, source })
    }

    pub fn holder_named(&self, name: &str) -> Result<Option<LockHolder>, Error> {
        let path = self.worker_lock_path(name);
        lock::holder(&path).map_err(|source| Error::Lock { path, source })
    }

    /// Removes the lock file of a finished worker. Its name is never used again.
    pub fn forget_lock(&self, name: &str) {
        // A leftover is a small empty file, which `doctor` finds.
        std::fs::remove_file(self.worker_lock_path(name)).ok();
    }

    /// Every difference between the tables and the journals, for people.
    pub fn check_projection(&self) -> Result<Vec<String>, Error> {
        self.read("the tables that follow from the journals", projection::check)
    }

    /// Rebuilds the tables derived from the journals.
    pub fn rebuild_projection(&self) -> Result<(), Error> {
        self.writer.write(projection::rebuild).map_err(|source| {
            failed(&self.database, source, |path, source| Error::Queue { act: "rebuild", path, source })
        })
    }

    /// The process that runs a run now.
    pub fn holder(&self, run: RunId) -> Result<Option<LockHolder>, Error> {
        let path = self.lock_path(run);
        lock::holder(&path).map_err(|source| Error::Lock { path, source })
    }

    /// Verifies every event of a run, and its recorded head.
    ///
    /// Whoever can write the database can cut off the last events and the head. Only a head kept elsewhere
    /// shows that: [`Store::verify_chain_with`].
    pub fn verify_chain(&self, run: RunId) -> Result<ChainReport, Error> {
        self.check_chain(run, &[])
    }

    /// Verifies every event of a run, and that a head kept elsewhere is still among them.
    pub fn verify_chain_with(&self, run: RunId, kept: JournalHead) -> Result<ChainReport, Error> {
        self.check_chain(run, &[kept])
    }

    fn check_chain(&self, run: RunId, kept: &[JournalHead]) -> Result<ChainReport, Error> {
        let report = self.read(&format!("the journal of {run}"), |connection| {
            chain::check::<Event>(connection, JournalChain::Run(run), kept)
        })?;
        report.ok_or_else(|| self.no_run(run))
    }

    fn rows(&self, what: &str, which: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<RunRow>, Error> {
        let query = format!(
            "SELECT run.id, run.plan, run.name, run.digest, run.text, run.created_at, head.seq, head.hash, \
             coalesce(first.prev, head.hash), last.at, last.event, run.dialect FROM run \
             LEFT JOIN head ON head.run = run.id \
             LEFT JOIN journal AS first ON first.run = run.id AND first.seq = 1 \
             LEFT JOIN journal AS last ON last.run = run.id AND last.seq = head.seq {which}"
        );
        let found = self.read(what, |connection| {
            let mut query = connection.prepare_cached(&query)?;
            let rows = query.query_map(values, stored_run)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        found
            .into_iter()
            .map(|stored| stored.check().map_err(|(run, at)| self.broken(JournalChain::Run(run), at)))
            .collect()
    }

    /// Uses a read-only connection. Readers never wait for the writer or for each other.
    fn read<T>(&self, what: &str, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        self.check_presence()?;
        let idle = || self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let answer = known.map_or_else(|| schema::open_reader(&self.database), Ok).and_then(|connection| {
            let answer = act(&connection)?;
            let mut idle = idle();
            if idle.len() < IDLE_READERS_MAX {
                idle.push(connection);
            }
            Ok(answer)
        });
        answer.map_err(|source| {
            failed(&self.database, source.into(), |path, source| Error::Read {
                what: what.to_owned(),
                path,
                source,
            })
        })
    }

    fn lock_path(&self, run: RunId) -> PathBuf {
        self.worker_lock_path(&driver_name(run))
    }

    fn worker_lock_path(&self, name: &str) -> PathBuf {
        self.folder.join("locks").join(name)
    }

    fn no_run(&self, run: RunId) -> Error {
        Error::NoRun { run, path: self.database.clone() }
    }

    fn broken(&self, book: JournalChain, at: Break) -> Error {
        Error::Broken { book, path: self.database.clone(), at }
    }
}

enum Found {
    Nothing,
    Broken(Break),
    /// One of the records was there before.
    Known,
    /// There are records that the caller does not know.
    Moved,
    /// They were added, and this is the new head.
    Written(JournalHead),
}

struct Line {
    key: Option<String>,
    text: Vec<u8>,
}

struct Happened {
    line: Line,
    event: Event,
}

impl Happened {
    fn of(run: RunId, event: &Event) -> Result<Self, Error> {
        let encode = |source| Error::Encode { book: JournalChain::Run(run), event: event.name(), source };
        let text = serde_json::to_vec(event).map_err(encode)?;
        Ok(Self { line: Line { key: event.key(), text }, event: event.clone() })
    }
}

fn intent(event: &Event) -> Option<(&str, u32)> {
    match event {
        Event::Step { step, event: StepEvent::Started(start) } => Some((step, start.attempt)),
        Event::Step {
            event: StepEvent::Finished(_) | StepEvent::Faulted { .. } | StepEvent::Judged { .. },
            ..
        }
        | Event::Run(_)
        | Event::Ask { .. } => None,
    }
}

/// Creates a run with its first events. A new journal contains nothing that could conflict.
fn insert_run(
    connection: &Connection,
    run: &NewRun,
    (events, tally): (&[Happened], Option<&str>),
) -> rusqlite::Result<RunId> {
    let head = run_genesis(&run.digest, run.text.as_bytes());
    connection.execute(
        "INSERT INTO run (plan, name, digest, text, created_at, root, dialect) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            run.plan.as_os_str().as_bytes(),
            run.name,
            run.digest,
            run.text,
            run.created_at_ms.cast_signed(),
            run.root.as_os_str().as_bytes(),
            run.dialect,
        ],
    )?;
    let id = connection.last_insert_rowid();
    let insert = "INSERT INTO head (run, seq, hash) VALUES (?1, 0, ?2)";
    connection.execute(insert, params![id, head.as_bytes()])?;
    extend_run(connection, RunId(id), &News { after: 0, at_ms: run.created_at_ms, events, tally })?;
    Ok(RunId(id))
}

struct News<'a> {
    after: u64,
    at_ms: u64,
    events: &'a [Happened],
    tally: Option<&'a str>,
}

/// Appends events to a journal, with the tables derived from them.
fn extend_run(connection: &Connection, run: RunId, news: &News<'_>) -> rusqlite::Result<Found> {
    let News { after, at_ms, events, tally } = *news;
    let lines: Vec<&Line> = events.iter().map(|new| &new.line).collect();
    let found = extend(connection, JournalChain::Run(run), (after, at_ms), &lines)?;
    if let Found::Written(head) = &found {
        for new in events {
            projection::project(connection, run.0, at_ms.cast_signed(), &new.event)?;
        }
        if !events.is_empty() {
            run_summary::put(connection, run.0, (&head.hash, at_ms.cast_signed()), tally)?;
        }
    }
    Ok(found)
}

fn extend(
    connection: &Connection,
    book: JournalChain,
    (after, at_ms): (u64, u64),
    lines: &[&Line],
) -> rusqlite::Result<Found> {
    let (records, owner, heads) = book.tables();
    let mut query = connection.prepare_cached(&format!(
        "SELECT {heads}.seq, {heads}.hash, {records}.hash IS {heads}.hash FROM {heads} \
         LEFT JOIN {records} ON {records}.{owner} = {heads}.{owner} AND {records}.seq = {heads}.seq \
         WHERE {heads}.{owner} = ?1",
    ))?;
    let number = book.number();
    let found = query.query_row([number], |row| {
        let seq = row.get::<_, i64>(0)?.cast_unsigned();
        Ok((JournalHead { seq, hash: chain::hash_at(row, 1)? }, row.get::<_, bool>(2)?))
    });
    let Some((mut head, is_last)) = found.optional()? else { return Ok(Found::Nothing) };
    if head.seq > 0 && !is_last {
        // Appending after a lost record would hide the loss.
        return Ok(Found::Broken(Break { seq: head.seq, fault: ChainFault::OtherHead }));
    }
    let query = format!("SELECT 1 FROM {records} WHERE {owner} = ?1 AND key = ?2");
    let mut query = connection.prepare_cached(&query)?;
    // Checked before the number: a caller that reports something twice has usually missed what came between.
    for key in lines.iter().filter_map(|line| line.key.as_ref()) {
        if query.exists(params![number, key])? {
            return Ok(Found::Known);
        }
    }
    if head.seq != after {
        return Ok(Found::Moved);
    }
    let mut insert = connection.prepare_cached(&format!(
        "INSERT INTO {records} ({owner}, seq, key, at, event, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    ))?;
    for Line { key, text } in lines {
        let seq = head.seq + 1;
        let hash = link(&head.hash, number, (seq, at_ms), text);
        let (place, at) = (seq.cast_signed(), at_ms.cast_signed());
        insert.execute(params![number, place, key, at, text, head.hash.as_bytes(), hash.as_bytes()])?;
        head = JournalHead { seq, hash };
    }
    let update = format!("UPDATE {heads} SET seq = ?2, hash = ?3 WHERE {owner} = ?1");
    connection.prepare_cached(&update)?.execute(params![
        number,
        head.seq.cast_signed(),
        head.hash.as_bytes()
    ])?;
    if !lines.is_empty() {
        anchor::note(connection, book, head.seq)?;
    }
    Ok(Found::Written(head))
}

fn keep(connection: &Connection, bytes: &[u8]) -> rusqlite::Result<()> {
    // Bytes that the disk has changed are corrected.
    let mut insert = connection.prepare_cached(
        "INSERT INTO blob (hash, bytes) VALUES (?1, ?2) \
         ON CONFLICT (hash) DO UPDATE SET bytes = excluded.bytes WHERE bytes IS NOT excluded.bytes",
    )?;
    insert.execute(params![blob_of(bytes).0, bytes])?;
    Ok(())
}

/// A run as stored, not yet verified.
struct StoredRun {
    row: RunRow,
    first: Hash,
    last: Option<(u64, Vec<u8>)>,
}

impl StoredRun {
    fn check(mut self) -> Result<RunRow, (RunId, Break)> {
        let JournalHead { seq, hash } = self.row.head;
        let broken = |seq, fault| (self.row.id, Break { seq, fault });
        if run_genesis(&self.row.digest, self.row.text.as_bytes()) != self.first {
            return Err(broken(1, ChainFault::Unlinked));
        }
        self.row.last = match self.last {
            None if seq == 0 => None,
            None => return Err(broken(seq, ChainFault::Missing)),
            Some((at_ms, text)) => {
                let event = serde_json::from_slice(&text).map_err(|_| broken(seq, ChainFault::Unreadable))?;
                Some(RecordedEvent { seq, at_ms, event, hash })
            }
        };
        Ok(self.row)
    }
}

fn stored_run(row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    let run = RunRow {
        id: RunId(row.get(0)?),
        plan: PathBuf::from(OsStr::from_bytes(&row.get::<_, Vec<u8>>(1)?)),
        name: row.get(2)?,
        digest: row.get(3)?,
        text: row.get(4)?,
        dialect: row.get(11)?,
        created_at_ms: row.get::<_, i64>(5)?.cast_unsigned(),
        head: JournalHead { seq: row.get::<_, i64>(6)?.cast_unsigned(), hash: chain::hash_at(row, 7)? },
        last: None,
    };
    let at_ms = row.get::<_, Option<i64>>(9)?.map(i64::cast_unsigned);
    Ok(StoredRun { row: run, first: chain::hash_at(row, 8)?, last: at_ms.zip(row.get(10)?) })
}

fn within_limit(what: &str, bytes: usize) -> Result<(), Error> {
    match bytes > BYTES_MAX {
        true => Err(Error::TooLarge { what: what.to_owned(), bytes }),
        false => Ok(()),
    }
}
