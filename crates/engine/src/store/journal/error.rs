//! What can go wrong with the store: every error names the act, the database and, where there is one, the run.

use std::io;
use std::path::{Path, PathBuf};

use planwright_core::run::event::Blob;

use super::writer::Cause;
use super::{BYTES_MAX, Book, Break, RunId, schema};
use crate::store::state_dir;

/// What can go wrong with the store. After an error of a write it is not known whether the write was done: the same call
/// made again tells.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder of the store can't be used.
    #[error("cannot find a place for the state of {}", root.display())]
    State {
        /// The project, or the folder.
        root: PathBuf,
        #[source]
        source: state_dir::Error,
    },
    /// The database can't be opened or made.
    #[error("cannot open the store {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// The thread that writes can't be started.
    #[error("cannot start a writer for the store {}", path.display())]
    Start {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A later planwright made the database.
    #[error("the store {} has version {version}; this planwright knows versions up to {known}", path.display())]
    Newer {
        path: PathBuf,
        version: i64,
        /// The last version that is known here.
        known: usize,
    },
    /// The database is no database any more.
    #[error("the store {} is damaged", path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// Other processes did not let go of the database in time. Nothing was done.
    #[error("the store {} is kept busy by other processes", path.display())]
    Busy {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// A new run can't be recorded.
    #[error("cannot record a new run of {} in {}", plan.display(), path.display())]
    Create {
        plan: PathBuf,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// Events can't be written.
    #[error("cannot append to the journal of {run} in {}", path.display())]
    Append {
        run: RunId,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// The work queue can't be used.
    #[error("cannot {act} work in {}", path.display())]
    Queue {
        /// What was to be done.
        act: &'static str,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// How far a hook was told can't be noted.
    #[error("cannot note in {} what the hook `{hook}` was told", path.display())]
    Note {
        hook: String,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// An event has no text. Only a fault in planwright makes one.
    #[error("cannot write down `{event}` of {book}")]
    Encode {
        /// The run or the plan.
        book: Book,
        /// The name of the event.
        event: &'static str,
        #[source]
        source: serde_json::Error,
    },
    /// Runs or journals can't be read.
    #[error("cannot read {what} in {}", path.display())]
    Read {
        /// What was looked for.
        what: String,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// There is no such run.
    #[error("there is no {run} in {}", path.display())]
    NoRun { run: RunId, path: PathBuf },
    /// Nothing was ever said about a plan.
    #[error("there is no ledger of {} in {}", plan.display(), path.display())]
    NoLedger { plan: PathBuf, path: PathBuf },
    /// What was said about a plan can't be written.
    #[error("cannot add to the ledger of {} in {}", plan.display(), path.display())]
    Say {
        plan: PathBuf,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// A journal or a ledger is not what was written; nothing is read from it and nothing is added.
    #[error("the journal of {book} in {} is broken: {at}", path.display())]
    Broken {
        /// The run or the plan.
        book: Book,
        path: PathBuf,
        /// The first place where it is.
        at: Break,
    },
    /// Bytes can't be kept.
    #[error("cannot keep {bytes} bytes in {}", path.display())]
    Put {
        bytes: usize,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// Nothing is kept under this name.
    #[error("there is nothing named {} in {}", blob.0, path.display())]
    NoBlob { blob: Blob, path: PathBuf },
    /// It was kept, and was let go of because its run was over for long.
    #[error("{} is no longer kept", blob.0)]
    Dropped {
        blob: Blob,
        /// When it was let go of, in milliseconds since 1970.
        at_ms: u64,
    },
    /// What is kept under a name is not what it names.
    #[error("what is kept as {} in {} is not what was kept", blob.0, path.display())]
    BlobChanged { blob: Blob, path: PathBuf },
    /// More than the store takes.
    #[error("{what} has {bytes} bytes; the store takes {BYTES_MAX}")]
    TooLarge {
        /// What was to be written.
        what: String,
        /// How large it is.
        bytes: usize,
    },
    /// What is noted outside of the database can't be read.
    #[error("cannot read the heads that are kept in {}", path.display())]
    Anchors {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The lock of a run can't be used.
    #[error("cannot use the lock {}", path.display())]
    Lock {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The error for a cause: what ails the whole database is said before what was being done with it.
pub(super) fn failed(path: &Path, source: Cause, otherwise: impl FnOnce(PathBuf, Cause) -> Error) -> Error {
    let path = path.to_owned();
    if source.sql().is_some_and(schema::is_damage) {
        Error::Damaged { path, source }
    } else if source.sql().is_some_and(schema::is_busy) {
        Error::Busy { path, source }
    } else {
        otherwise(path, source)
    }
}
