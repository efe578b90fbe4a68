//! Errors of the store: each names the act, the database and, where there is one, the run.

use std::io;
use std::path::{Path, PathBuf};

use planwright_core::run::receipt::Blob;

use super::writer::Cause;
use super::{BYTES_MAX, Break, JournalChain, RunId, schema};
use crate::store::state_dir;

/// Errors of the store. After a failed write it is unknown whether it happened: repeating the call tells.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot find the state directory of {}", root.display())]
    State {
        /// The project, or the directory.
        root: PathBuf,
        #[source]
        source: state_dir::Error,
    },
    #[error("cannot open the store {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("cannot start a writer for the store {}", path.display())]
    Start {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A later planwright created the database.
    #[error("store {} has version {version}; this planwright supports versions up to {known}", path.display())]
    Newer {
        path: PathBuf,
        version: i64,
        /// The last version supported here.
        known: usize,
    },
    #[error("store {} is damaged", path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// The database was removed or replaced while this process had it open.
    #[error(
        "store {} was removed or replaced while in use: nothing more is recorded; restore it from a backup and continue",
        path.display()
    )]
    Vanished { path: PathBuf },
    /// There is no database, but the heads kept outside it say that there was one.
    #[error(
        "store {} is missing, but {} says that it existed; restore it from a backup, or start with an empty record: \
         planwright doctor --set-aside",
        path.display(),
        heads.display()
    )]
    Lost { path: PathBuf, heads: PathBuf },
    /// The database lacks what the heads kept outside it say was recorded.
    #[error(
        "store {} is older than {}: {book} has lost entry {seq}; restore the latest backup, see what is lost \
         (planwright audit), or start with an empty record: planwright doctor --set-aside",
        path.display(),
        heads.display()
    )]
    Older { path: PathBuf, heads: PathBuf, book: String, seq: u64 },
    /// The file ends before the database does.
    #[error(
        "store {} is cut off: it has {bytes} of {expected} bytes; restore it from a backup, or start with an empty \
         record: planwright doctor --set-aside",
        path.display()
    )]
    Cut { path: PathBuf, bytes: u64, expected: u64 },
    /// Other processes did not release the database in time. Nothing was done.
    #[error("store {} is locked by another process", path.display())]
    Busy {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("cannot record a new run of {} in {}", plan.display(), path.display())]
    Create {
        plan: PathBuf,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("cannot append to the journal of {run} in {}", path.display())]
    Append {
        run: RunId,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("cannot note in {} that {} was moved", path.display(), from.display())]
    Relocate {
        from: PathBuf,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("cannot {act} work in {}", path.display())]
    Queue {
        act: &'static str,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("cannot record in {} the delivery to hook `{hook}`", path.display())]
    Note {
        hook: String,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// An event could not be encoded. Only a bug in planwright causes this.
    #[error("cannot record `{event}` of {book}")]
    Encode {
        book: JournalChain,
        event: &'static str,
        #[source]
        source: serde_json::Error,
    },
    #[error("cannot read {what} in {}", path.display())]
    Read {
        what: String,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("{run} not found in {}", path.display())]
    NoRun { run: RunId, path: PathBuf },
    #[error("ledger of {} not found in {}", plan.display(), path.display())]
    NoLedger { plan: PathBuf, path: PathBuf },
    #[error("cannot append to the ledger of {} in {}", plan.display(), path.display())]
    Say {
        plan: PathBuf,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    /// A journal or a ledger is not what was written; nothing is read from it or added to it.
    #[error("the journal of {book} in {} is corrupt: {at}", path.display())]
    Broken {
        book: JournalChain,
        path: PathBuf,
        /// The first fault.
        at: Break,
    },
    #[error("cannot store {bytes} bytes in {}", path.display())]
    Put {
        bytes: usize,
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("blob {} not found in {}", blob.0, path.display())]
    NoBlob { blob: Blob, path: PathBuf },
    /// It was deleted because its run finished long ago.
    #[error("blob {} was deleted", blob.0)]
    Dropped {
        blob: Blob,
        /// In milliseconds since 1970.
        at_ms: u64,
    },
    #[error("blob {} in {} is corrupt: hash mismatch", blob.0, path.display())]
    BlobChanged { blob: Blob, path: PathBuf },
    #[error("{what} has {bytes} bytes; the limit is {BYTES_MAX}")]
    TooLarge { what: String, bytes: usize },
    #[error("cannot read the heads in {}", path.display())]
    Anchors {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot read the store {}", path.display())]
    Reach {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot use the lock {}", path.display())]
    Lock {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The error for a cause: a problem of the whole database is reported before the failed act.
pub(super) fn failed(path: &Path, source: Cause, otherwise: impl FnOnce(PathBuf, Cause) -> Error) -> Error {
    let path = path.to_owned();
    if source.is_vanished() {
        Error::Vanished { path }
    } else if source.sql().is_some_and(schema::is_damage) {
        Error::Damaged { path, source }
    } else if source.sql().is_some_and(schema::is_busy) {
        Error::Busy { path, source }
    } else {
        otherwise(path, source)
    }
}
