//! The heads of all books, kept outside the database: truncating the database is detected by comparing them.
//! Lines are only appended, and compacted once they are certain. Never says what a difference means.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use planwright_core::audit::bundle::{Anchor, ChainHead as Kept, NamedHead};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::chain;
use super::writer::Cause;
use crate::store::{file, state_dir};

const FOLDER: &str = "anchors";
/// Ends a torn line: the next writer marks it, since a torn line cannot be distinguished from a changed one
/// otherwise.
const TORN: &str = " torn";
/// From this size on the file is compacted, if that halves it.
const COMPACT_BYTES: u64 = 1 << 20;
/// The most bytes read: far more than the heads of all books a database may have.
const READ_BYTES_MAX: u64 = 256 << 20;
/// How much is read to learn what was noted last: some twenty lines.
const TAIL_BYTES: u64 = 4096;
/// How often a line is rewritten because the file was compacted meanwhile.
const TRIES: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Anchors {
    path: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Anchored {
    /// Every readable line, in order.
    pub anchors: Vec<Anchor>,
    /// The numbers of unreadable lines.
    pub unreadable: Vec<usize>,
}

impl Anchors {
    /// The file for the store in this directory.
    pub(super) fn beside(folder: &Path) -> Self {
        let mut name = folder.file_name().unwrap_or(OsStr::new("store")).to_owned();
        name.push(".log");
        Self { path: folder.with_file_name(FOLDER).join(name) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends the heads of all books that moved since they were last appended, and clears that note.
    pub(super) fn catch_up(&self, connection: &Connection) -> Result<(), Cause> {
        let moved = outstanding(connection)?;
        if moved.is_empty() {
            return Ok(());
        }
        let anchor = |source| Cause::anchor(&self.path, source);
        let lines: String = moved.iter().map(|anchor| anchor.line() + "\n").collect();
        let length = self.append(&lines).map_err(anchor)?;
        forget(connection, &moved);
        if length > COMPACT_BYTES {
            self.compact(connection).map_err(anchor)?;
        }
        Ok(())
    }

    /// Appends lines durably, and returns the length of the file.
    fn append(&self, lines: &str) -> io::Result<u64> {
        for _ in 0..TRIES {
            let (mut file, is_new) = self.open()?;
            let length = file.metadata()?.len();
            let mut text = String::new();
            if length > 0 && !ends_with_line_break(&file, length)? {
                text = format!("{TORN}\n");
            }
            text.push_str(lines);
            // One call: concurrent appends come before or after it, never within.
            file.write_all(text.as_bytes())?;
            file.sync_data()?;
            if is_new && let Some(folder) = self.path.parent() {
                File::open(folder)?.sync_all()?;
            }
            // Compaction keeps what was appended before the new file took over. Later lines are in a file
            // that nobody reads: they are appended again.
            if self.path.metadata().is_ok_and(|now| now.ino() == inode(&file)) {
                return Ok(length);
            }
        }
        Err(io::Error::other("it is replaced all the time"))
    }

    fn open(&self) -> io::Result<(File, bool)> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).mode(0o600);
        match options.open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map(|file| (file, false)),
        }
        if let Some(folder) = self.path.parent() {
            state_dir::create(folder).map_err(io::Error::other)?;
        }
        options.create(true).open(&self.path).map(|file| (file, true))
    }

    /// What was noted last; empty without a file.
    pub(super) fn last(&self) -> io::Result<Vec<Anchor>> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let start = file.metadata()?.len().saturating_sub(TAIL_BYTES);
        let text = text_from(&mut file, start)?;
        // The first line may be the rest of one.
        let begin =
            if start == 0 { 0 } else { text.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1) };
        Ok(read_lines(&text[begin..]).anchors)
    }

    /// The contents of the file; empty without one.
    pub(super) fn read(&self) -> io::Result<Anchored> {
        match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Anchored::default()),
            opened => Ok(read_lines(&text_from(&mut opened?, 0)?)),
        }
    }

    /// Drops what a later line repeats. What the database lacks stays: that is what this file is for.
    fn compact(&self, connection: &Connection) -> io::Result<()> {
        let mut lock = OpenOptions::new();
        lock.create(true).truncate(false).write(true).mode(0o600);
        let lock = lock.open(self.path.with_extension("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            // Another process is compacting.
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(source)) => return Err(source),
        }
        let mut old = File::open(&self.path)?;
        let text = text_from(&mut old, 0)?;
        let kept = compacted(&text, |anchor| is_on_chain(connection, anchor).unwrap_or(false));
        if kept.len() * 2 > text.len() {
            return Ok(());
        }
        file::put(&self.path, &kept)?;
        // What was appended to the old file meanwhile.
        let rest = text_from(&mut old, text.len() as u64)?;
        if !rest.is_empty() {
            self.append(&String::from_utf8_lossy(&rest))?;
        }
        Ok(())
    }
}

fn inode(file: &File) -> u64 {
    file.metadata().map_or(0, |data| data.ino())
}

fn ends_with_line_break(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    file.read_exact_at(&mut last, length - 1)?;
    Ok(last == *b"\n")
}

fn text_from(file: &mut File, start: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_lines(bytes: &[u8]) -> Anchored {
    let mut anchored = Anchored::default();
    for (place, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        // A line without an end is being written, or was torn by a crash: the next line repeats it.
        let Some(line) = line.strip_suffix(b"\n") else { break };
        if line.is_empty() || line.ends_with(TORN.as_bytes()) {
            continue;
        }
        match std::str::from_utf8(line).ok().and_then(Anchor::read) {
            Some(anchor) => anchored.anchors.push(anchor),
            None => anchored.unreadable.push(place + 1),
        }
    }
    anchored
}

/// The last line of every book, preceded by everything that is not certain, in its original order.
fn compacted(bytes: &[u8], mut is_certain: impl FnMut(&Anchor) -> bool) -> String {
    let read = read_lines(bytes);
    let mut last = std::collections::BTreeMap::new();
    for (place, anchor) in read.anchors.iter().enumerate() {
        last.insert(anchor.book.clone(), place);
    }
    let lines = bytes.split(|byte| *byte == b'\n').map(String::from_utf8_lossy);
    let mut place = 0;
    let mut kept = String::new();
    for line in lines.filter(|line| !line.is_empty() && !line.ends_with(TORN)) {
        let anchor = Anchor::read(&line);
        let stays = anchor.as_ref().is_none_or(|anchor| last[&anchor.book] == place || !is_certain(anchor));
        place += usize::from(anchor.is_some());
        if stays {
            kept.push_str(&line);
            kept.push('\n');
        }
    }
    kept
}

/// Notes that a book moved: its head is appended once this transaction is durable.
pub(super) fn note(connection: &Connection, book: super::JournalChain, seq: u64) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO unanchored (book, number, seq) VALUES (?1, ?2, ?3) \
         ON CONFLICT (book, number) DO UPDATE SET seq = excluded.seq",
    )?;
    insert.execute(params![book.tables().0, book.number(), seq.cast_signed()]).map(drop)
}

/// Every book whose head is not appended yet.
pub(super) fn outstanding(connection: &Connection) -> rusqlite::Result<Vec<Anchor>> {
    let mut query = connection.prepare_cached(
        "SELECT unanchored.number, journal.seq, journal.hash, journal.at, NULL FROM unanchored \
         JOIN journal ON journal.run = unanchored.number AND journal.seq = unanchored.seq \
         WHERE unanchored.book = 'journal' \
         UNION ALL \
         SELECT unanchored.number, ledger.seq, ledger.hash, ledger.at, plan.path FROM unanchored \
         JOIN ledger ON ledger.plan = unanchored.number AND ledger.seq = unanchored.seq \
         JOIN plan ON plan.id = unanchored.number WHERE unanchored.book = 'ledger'",
    )?;
    query.query_map([], anchor_at)?.collect()
}

pub(super) fn anchor_at(row: &Row<'_>) -> rusqlite::Result<Anchor> {
    let number = row.get(0)?;
    let book = match row.get::<_, Option<Vec<u8>>>(4)? {
        None => NamedHead::Run(number),
        Some(path) => NamedHead::Ledger(number, OsStr::from_bytes(&path).to_string_lossy().into_owned()),
    };
    let head = Kept { seq: row.get::<_, i64>(1)?.cast_unsigned(), hash: chain::hash_at(row, 2)? };
    Ok(Anchor { book, head, at_ms: row.get::<_, i64>(3)?.cast_unsigned() })
}

/// Clears the note that books moved. If that is lost, they are appended again, which does no harm: so it is
/// not synced.
fn forget(connection: &Connection, moved: &[Anchor]) {
    let forget = || -> rusqlite::Result<()> {
        // In WAL mode this commit is synced with the next one, which turns syncing on again before it starts.
        connection.execute_batch("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE")?;
        let mut delete = connection
            .prepare_cached("DELETE FROM unanchored WHERE book = ?1 AND number = ?2 AND seq = ?3")?;
        for Anchor { book, head, .. } in moved {
            let (table, number) = match book {
                NamedHead::Run(number) => ("journal", number),
                NamedHead::Ledger(number, _) => ("ledger", number),
            };
            delete.execute(params![table, number, head.seq.cast_signed()])?;
        }
        connection.execute_batch("COMMIT")
    };
    if forget().is_err() {
        // The next batch first ends what was left open.
        connection.execute_batch("ROLLBACK").ok();
    }
}

pub(super) fn is_on_chain(connection: &Connection, anchor: &Anchor) -> rusqlite::Result<bool> {
    let (query, number) = match &anchor.book {
        NamedHead::Run(number) => ("SELECT hash, at FROM journal WHERE run = ?1 AND seq = ?2", number),
        NamedHead::Ledger(number, _) => ("SELECT hash, at FROM ledger WHERE plan = ?1 AND seq = ?2", number),
    };
    let mut query = connection.prepare_cached(query)?;
    let found = query.query_row(params![number, anchor.head.seq.cast_signed()], |row| {
        Ok((chain::hash_at(row, 0)?, row.get::<_, i64>(1)?.cast_unsigned()))
    });
    Ok(found.optional()? == Some((anchor.head.hash, anchor.at_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn anchor(number: i64, seq: u64) -> Anchor {
        let head = Kept { seq, hash: blake3::hash(&seq.to_le_bytes()) };
        Anchor { book: NamedHead::Run(number), head, at_ms: seq }
    }

    fn line(number: i64, seq: u64) -> String {
        anchor(number, seq).line() + "\n"
    }

    fn place(name: &str) -> (Scratch, Anchors) {
        let scratch = Scratch::new(name);
        let anchors = Anchors::beside(&scratch.path().join("store"));
        (scratch, anchors)
    }

    #[test]
    fn a_torn_line_is_no_line_and_spoils_no_other() {
        let (_scratch, anchors) = place("anchor-torn");
        anchors.append(&line(1, 1)).expect("added");
        anchors.append(&line(1, 2)[..20]).expect("a writer that was killed");
        assert_eq!(anchors.read().expect("read").anchors, [anchor(1, 1)]);
        anchors.append(&line(1, 3)).expect("added");
        let read = anchors.read().expect("read");
        assert_eq!((read.anchors, read.unreadable), (vec![anchor(1, 1), anchor(1, 3)], Vec::new()));
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let (_scratch, anchors) = place("anchor-none");
        anchors.append(&format!("{}garbage\n{}", line(1, 1), line(1, 2))).expect("added");
        assert_eq!(anchors.read().expect("read").unreadable, [2]);
    }

    #[test]
    fn only_the_last_line_of_a_book_stays_and_all_that_is_not_certain() {
        let text = [line(1, 1), line(2, 1), line(1, 2), "garbage\n".to_owned(), line(1, 3)].concat();
        assert_eq!(compacted(text.as_bytes(), |_| true), line(2, 1) + "garbage\n" + &line(1, 3));
        let kept = compacted(text.as_bytes(), |anchor| anchor.head.seq != 2);
        assert_eq!(kept, line(2, 1) + &line(1, 2) + "garbage\n" + &line(1, 3));
    }

    // Who adds a line to the old file while it is replaced adds it to the new one, too.
    #[test]
    fn nothing_is_lost_while_the_file_is_put_together() {
        let (_scratch, anchors) = place("anchor-together");
        let connection = Connection::open_in_memory().expect("a database");
        connection
            .execute_batch("CREATE TABLE journal (run INTEGER, seq INTEGER, hash BLOB, at INTEGER)")
            .expect("a table");
        for seq in 0..200_u64 {
            let Anchor { head, .. } = anchor(1, seq);
            let values = params![seq.cast_signed(), head.hash.as_bytes(), seq.cast_signed()];
            connection.execute("INSERT INTO journal VALUES (1, ?1, ?2, ?3)", values).expect("a row");
        }
        anchors.append(&(0..200).map(|seq| line(1, seq)).collect::<String>()).expect("added");
        std::thread::scope(|scope| {
            for number in 2..6 {
                let anchors = anchors.clone();
                scope.spawn(move || {
                    for seq in 0..50 {
                        anchors.append(&line(number, seq)).expect("added");
                    }
                });
            }
            for _ in 0..20 {
                anchors.compact(&connection).expect("put together");
            }
        });
        let read = anchors.read().expect("read");
        assert_eq!(read.unreadable, [] as [usize; 0]);
        assert!(read.anchors.contains(&anchor(1, 199)));
        for number in 2..6 {
            for seq in 0..50 {
                assert!(read.anchors.contains(&anchor(number, seq)), "{number} {seq}");
            }
        }
    }
}
