//! Whether the database is there, whole, and as new as the heads kept outside it: a few small reads that every
//! command makes. `audit` looks at the rest.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use super::{DATABASE, Error, Store, anchor};
use crate::store::journal::anchor::Anchors;

const MAGIC: &[u8] = b"SQLite format 3\0";
/// The header of a database file.
const HEADER_BYTES: usize = 100;
const LOG_HEADER_BYTES: u64 = 32;
/// What precedes each page in a write-ahead log; its first four bytes are the number of the page.
const LOG_FRAME_BYTES: u64 = 24;
/// How often a file that looks cut off is looked at: another process may just be writing it.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// The file that a database was opened as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let data = path.metadata()?;
        Ok(Self { device: data.dev(), inode: data.ino() })
    }
}

/// Whether a record has a database. An empty file is none.
pub(super) fn has_database(folder: &Path) -> bool {
    folder.join(DATABASE).metadata().is_ok_and(|data| data.is_file() && data.len() > 0)
}

/// Whether anything was ever recorded.
pub(crate) fn has_entries(folder: &Path) -> bool {
    Anchors::beside(folder).path().metadata().is_ok_and(|data| data.len() > 0)
}

/// Refuses a record whose database is gone or cut off, before anything is written to it.
pub(super) fn check_file(folder: &Path) -> Result<(), Error> {
    let path = folder.join(DATABASE);
    if !has_database(folder) {
        // Asked again, since another process may just have made it.
        return match has_entries(folder) && !has_database(folder) {
            true => Err(Error::Lost { path, heads: Anchors::beside(folder).path().to_owned() }),
            false => Ok(()),
        };
    }
    let unread = |source| Error::Reach { path: path.clone(), source };
    let mut missing = missing_bytes(&path).map_err(unread)?;
    for _ in 1..LOOKS {
        if missing.is_none() {
            break;
        }
        std::thread::sleep(PAUSE);
        missing = missing_bytes(&path).map_err(unread)?;
    }
    match missing {
        Some((bytes, expected)) => Err(Error::Cut { path, bytes, expected }),
        None => Ok(()),
    }
}

/// The size of a database file and the size it should have, if it is too short and nothing else has the rest.
fn missing_bytes(path: &Path) -> io::Result<Option<(u64, u64)>> {
    let file = File::open(path)?;
    let mut header = [0; HEADER_BYTES];
    let bytes = file.metadata()?.len();
    // Whatever this is, it was not cut off.
    if bytes < HEADER_BYTES as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut header, 0)?;
    if !header.starts_with(MAGIC) {
        return Ok(None);
    }
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    // 1 stands for 65,536, which two bytes cannot hold.
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 1 << 16,
        bytes => u64::from(bytes),
    };
    // The number of pages counts only if it was written with the last change.
    let expected = if number(24) == number(92) { u64::from(number(28)) * page } else { 0 };
    if bytes >= expected {
        return Ok(None);
    }
    // A crash while the log was put into the database leaves it short, and the rest in the log.
    let logged = logged_pages(path, page)?;
    let is_logged = |number: u64| u32::try_from(number).is_ok_and(|number| logged.contains(&number));
    let has_rest = (bytes / page + 1..=expected / page).all(is_logged);
    Ok((!has_rest).then_some((bytes, expected)))
}

/// The numbers of the pages in the write-ahead log of a database.
fn logged_pages(path: &Path, page: u64) -> io::Result<BTreeSet<u32>> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let log = match File::open(&log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        opened => opened?,
    };
    let (frame, bytes) = (LOG_FRAME_BYTES + page, log.metadata()?.len());
    let mut pages = BTreeSet::new();
    let mut at = LOG_HEADER_BYTES;
    while at + frame <= bytes {
        let mut number = [0; 4];
        log.read_exact_at(&mut number, at)?;
        pages.insert(u32::from_be_bytes(number));
        at += frame;
    }
    Ok(pages)
}

impl Store {
    /// Refuses a database that lacks what was recorded last: continuing would repeat or contradict it.
    pub(crate) fn check_heads(&self) -> Result<(), Error> {
        let heads = self.anchors.path();
        // Read before the database, which then contains everything noted here.
        let last = self.anchors.last().map_err(|source| Error::Anchors { path: heads.to_owned(), source })?;
        let lost = self.read("the ends of all books", |connection| {
            for anchor in last {
                if !anchor::is_on_chain(connection, &anchor)? {
                    return Ok(Some(anchor));
                }
            }
            Ok(None)
        })?;
        match lost {
            None => Ok(()),
            Some(lost) => Err(Error::Older {
                path: self.database.clone(),
                heads: heads.to_owned(),
                book: lost.book.to_string(),
                seq: lost.head.seq,
            }),
        }
    }

    /// Refuses to go on with a database that is not where it was opened.
    pub(super) fn check_presence(&self) -> Result<(), Error> {
        match FileId::of(&self.database).is_ok_and(|now| now == self.file) {
            true => Ok(()),
            false => Err(Error::Vanished { path: self.database.clone() }),
        }
    }
}
