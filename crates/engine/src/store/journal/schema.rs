//! The schema of the store's database: how it is opened, its tables, its migrations. Knows nothing about the
//! meaning of rows.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// How long a connection waits for another process. Short enough to notice a lock that is never released.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long several processes may take to set up a new database concurrently.
const SETUP_TIMEOUT: Duration = Duration::from_secs(15);
const SETUP_PAUSE: Duration = Duration::from_millis(5);

/// Migrations from version n to n + 1. Only ever appended to: databases of every version exist.
///
/// The head of a journal has its own table because it is written with every event: in the row of the run, the
/// approved text would be read and compared each time.
pub(super) const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE run (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        plan BLOB NOT NULL,
        name TEXT NOT NULL,
        digest TEXT NOT NULL,
        text TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX run_of_plan ON run (plan, id);
    CREATE TABLE head (
        run INTEGER PRIMARY KEY REFERENCES run (id),
        seq INTEGER NOT NULL,
        hash BLOB NOT NULL
    ) STRICT;
    CREATE TABLE journal (
        run INTEGER NOT NULL REFERENCES run (id),
        seq INTEGER NOT NULL,
        key TEXT,
        at INTEGER NOT NULL,
        event BLOB NOT NULL,
        prev BLOB NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (run, seq),
        UNIQUE (run, key)
    ) STRICT;
    CREATE TABLE blob (
        hash TEXT PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT;
",
    "
    ALTER TABLE run ADD COLUMN root BLOB;
    CREATE TABLE work (
        run INTEGER NOT NULL,
        step TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        agent TEXT NOT NULL,
        prompt TEXT NOT NULL,
        queued_at INTEGER NOT NULL,
        PRIMARY KEY (run, step, attempt)
    ) STRICT;
    CREATE TABLE ask (
        run INTEGER NOT NULL,
        ask TEXT NOT NULL,
        step TEXT,
        reason TEXT NOT NULL,
        text TEXT NOT NULL,
        opened_at INTEGER NOT NULL,
        PRIMARY KEY (run, ask)
    ) STRICT;
    CREATE TABLE lease (
        fence INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER NOT NULL,
        step TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        worker TEXT NOT NULL,
        claimed_at INTEGER NOT NULL,
        heard_at INTEGER NOT NULL,
        result BLOB,
        UNIQUE (run, step, attempt)
    ) STRICT;
",
    "
    ALTER TABLE run ADD COLUMN dialect TEXT NOT NULL DEFAULT 'native';
",
    "
    CREATE TABLE plan (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        path BLOB NOT NULL UNIQUE,
        state TEXT NOT NULL DEFAULT 'draft',
        since INTEGER NOT NULL DEFAULT 0,
        revision INTEGER NOT NULL DEFAULT 0,
        digest TEXT NOT NULL DEFAULT '',
        proposer TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE TABLE ledger_head (
        plan INTEGER PRIMARY KEY REFERENCES plan (id),
        seq INTEGER NOT NULL,
        hash BLOB NOT NULL
    ) STRICT;
    CREATE TABLE ledger (
        plan INTEGER NOT NULL REFERENCES plan (id),
        seq INTEGER NOT NULL,
        key TEXT,
        at INTEGER NOT NULL,
        event BLOB NOT NULL,
        prev BLOB NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (plan, seq),
        UNIQUE (plan, key)
    ) STRICT;
",
    // The index starts like the one it replaces, and covers all that lists show of a run.
    "
    DROP INDEX run_of_plan;
    CREATE INDEX run_listed ON run (plan, id, root, name, digest, created_at);
    CREATE TABLE tally (
        run INTEGER PRIMARY KEY REFERENCES run (id),
        hash BLOB NOT NULL,
        at INTEGER NOT NULL,
        tally TEXT NOT NULL
    ) STRICT;
",
    // The order of all records across books, which listeners follow. Triggers maintain it, so that no writer
    // can forget to.
    "
    CREATE TABLE news (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER,
        plan INTEGER,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO news (run, plan, seq, at)
        SELECT run, NULL, seq, at FROM journal UNION ALL SELECT NULL, plan, seq, at FROM ledger ORDER BY 4, 1, 2, 3;
    CREATE TRIGGER news_of_run AFTER INSERT ON journal BEGIN
        INSERT INTO news (run, seq, at) VALUES (new.run, new.seq, new.at);
    END;
    CREATE TRIGGER news_of_plan AFTER INSERT ON ledger BEGIN
        INSERT INTO news (plan, seq, at) VALUES (new.plan, new.seq, new.at);
    END;
    CREATE TABLE delivery (
        hook TEXT PRIMARY KEY,
        place INTEGER NOT NULL,
        tries INTEGER NOT NULL,
        skipped INTEGER NOT NULL,
        why TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
",
    // The books whose heads are not yet anchored outside the database, and the id by which its copies know
    // it.
    "
    CREATE TABLE unanchored (
        book TEXT NOT NULL,
        number INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (book, number)
    ) STRICT;
    INSERT INTO unanchored SELECT 'journal', run, seq FROM head WHERE seq > 0;
    INSERT INTO unanchored SELECT 'ledger', plan, seq FROM ledger_head WHERE seq > 0;
    CREATE TABLE identity (id TEXT NOT NULL) STRICT;
    INSERT INTO identity VALUES (lower(hex(randomblob(16))));
",
    // Deleted outputs: their hashes stay in the journals, and this shows that they were not stolen.
    "
    CREATE TABLE gone (
        hash TEXT PRIMARY KEY,
        at INTEGER NOT NULL
    ) STRICT;
",
];

#[derive(Debug)]
pub(super) enum Unready {
    /// A later planwright created it.
    Newer(i64),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Unready {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// Opens the database for writing; creates and migrates it as needed.
pub(super) fn open(path: &Path, migrations: &[&str]) -> Result<Connection, Unready> {
    let begin = Instant::now();
    loop {
        match try_open(path, migrations) {
            // Unlike everything else, turning on WAL does not wait for others.
            Err(Unready::Sql(error)) if is_busy(&error) && begin.elapsed() < SETUP_TIMEOUT => {
                std::thread::sleep(SETUP_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn try_open(path: &Path, migrations: &[&str]) -> Result<Connection, Unready> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Checked before anything is changed: a later version is left alone.
    let version = version(&connection)?;
    if version > newest(migrations) {
        return Err(Unready::Newer(version));
    }
    // An acknowledged verdict must survive a power cut: in WAL mode only FULL syncs every commit.
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
    if version < newest(migrations) {
        migrate(&mut connection, migrations)?;
    }
    Ok(connection)
}

fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<(), Unready> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have done it while this one waited for the lock.
    let version = version(&transaction)?;
    if version > newest(migrations) {
        return Err(Unready::Newer(version));
    }
    for step in migrations.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    // Derived tables are rebuilt whenever the schema changes: once per new planwright.
    if transaction.table_exists(None, "tally")? {
        super::projection::rebuild(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", newest(migrations))?;
    Ok(transaction.commit()?)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn newest(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).expect("a handful of migrations")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const OLD: &[&str] = &["CREATE TABLE note (text TEXT NOT NULL)"];
    const NEW: &[&str] = &[OLD[0], "ALTER TABLE note ADD COLUMN stars INTEGER NOT NULL DEFAULT 3"];
    const TORN: &[&str] = &[OLD[0], "ALTER TABLE note ADD COLUMN stars INTEGER; SELECT * FROM nowhere"];

    #[test]
    fn an_older_database_keeps_its_rows_and_gains_what_is_new() {
        let scratch = Scratch::new("schema-older");
        let path = scratch.path().join("state.db");
        open(&path, OLD).expect("made").execute_batch("INSERT INTO note VALUES ('kept')").expect("written");
        let connection = open(&path, NEW).expect("migrated");
        let row: (String, i64) = connection
            .query_row("SELECT text, stars FROM note", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .expect("a row");
        assert_eq!(row, ("kept".to_owned(), 3));
        assert_eq!(version(&connection).expect("a version"), 2);
        drop(connection);
        assert!(matches!(open(&path, OLD), Err(Unready::Newer(2))));
    }

    #[test]
    fn a_migration_that_fails_half_way_leaves_the_old_database() {
        let scratch = Scratch::new("schema-torn");
        let path = scratch.path().join("state.db");
        open(&path, OLD).expect("made").execute_batch("INSERT INTO note VALUES ('kept')").expect("written");
        assert!(matches!(open(&path, TORN), Err(Unready::Sql(_))));
        let connection = open(&path, OLD).expect("as it was");
        assert_eq!(version(&connection).expect("a version"), 1);
        assert!(connection.prepare("SELECT stars FROM note").is_err(), "half a migration was kept");
        drop(connection);
        open(&path, NEW).expect("the right migration still works");
    }

    #[test]
    fn what_an_older_planwright_recorded_is_told_in_the_order_of_time() {
        let scratch = Scratch::new("schema-news");
        let path = scratch.path().join("state.db");
        let place = MIGRATIONS.iter().position(|step| step.contains("CREATE TABLE news"));
        let (old, _) = MIGRATIONS.split_at(place.expect("there are news"));
        let record = |book: &str, row: &str| {
            format!("INSERT INTO {book}, seq, at, event, prev, hash) VALUES ({row}, x'', x'', x'');")
        };
        let (run, plan) = ("journal (run", "ledger (plan");
        let rows = [
            record(run, "2, 1, 30"),
            record(run, "1, 1, 10"),
            record(plan, "1, 1, 20"),
            record(run, "1, 2, 30"),
        ];
        let books = "INSERT INTO run (id, plan, name, digest, text, created_at) \
                     VALUES (1, x'', '', '', '', 0), (2, x'', '', '', '', 0); INSERT INTO plan (id, path) VALUES (1, x'');";
        open(&path, old).expect("made").execute_batch(&format!("{books}{}", rows.concat())).expect("written");
        let connection = open(&path, MIGRATIONS).expect("migrated");
        // What is recorded from now on comes last, whatever its clock says.
        connection.execute_batch(&record(plan, "1, 2, 5")).expect("written");
        let mut query =
            connection.prepare("SELECT run, plan, seq FROM news ORDER BY id").expect("a question");
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("asked");
        let rows: Vec<(Option<i64>, Option<i64>, i64)> = rows.map(|row| row.expect("a row")).collect();
        let (run, plan) = (|run, seq| (Some(run), None, seq), |plan, seq| (None, Some(plan), seq));
        assert_eq!(rows, [run(1, 1), plan(1, 1), run(1, 2), run(2, 1), plan(1, 2)]);
    }

    // `synchronous=NORMAL` in WAL mode loses acknowledged commits in a power cut.
    #[test]
    fn every_commit_is_synced() {
        let scratch = Scratch::new("schema-synced");
        let connection = open(&scratch.path().join("state.db"), MIGRATIONS).expect("made");
        let ask =
            |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).expect("a value");
        assert_eq!((ask("synchronous"), ask("foreign_keys"), ask("busy_timeout")), (2, 1, 5000));
        let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
        assert_eq!(mode.expect("a value"), "wal");
    }
}
