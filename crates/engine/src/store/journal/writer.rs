//! The only writer of a store: one thread that puts all pending jobs into one transaction, so that many
//! callers share one sync. Knows nothing about what it writes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

/// How many jobs share a transaction, and how many may wait for the next one.
const BATCH_MAX: usize = 512;

/// Why a write failed. Every job of a failed transaction gets the same cause.
#[derive(Debug, Clone)]
pub struct Cause(Arc<Reason>);

#[derive(Debug)]
enum Reason {
    Sql(rusqlite::Error),
    /// The database is not where it was opened: what was written to it is lost.
    Vanished,
    /// It is durable, but its anchor outside the database could not be written.
    Anchor {
        path: PathBuf,
        source: io::Error,
    },
}

impl Cause {
    pub(super) fn anchor(path: &Path, source: io::Error) -> Self {
        Self(Arc::new(Reason::Anchor { path: path.to_owned(), source }))
    }

    pub(super) fn vanished() -> Self {
        Self(Arc::new(Reason::Vanished))
    }

    pub(super) fn is_vanished(&self) -> bool {
        match &*self.0 {
            Reason::Vanished => true,
            Reason::Sql(_) | Reason::Anchor { .. } => false,
        }
    }

    pub(super) fn sql(&self) -> Option<&rusqlite::Error> {
        match &*self.0 {
            Reason::Sql(error) => Some(error),
            Reason::Vanished | Reason::Anchor { .. } => None,
        }
    }
}

impl From<rusqlite::Error> for Cause {
    fn from(error: rusqlite::Error) -> Self {
        Self(Arc::new(Reason::Sql(error)))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Sql(error) => error.fmt(f),
            Reason::Vanished => f.write_str("it is not where it was opened"),
            Reason::Anchor { path, .. } => write!(f, "cannot note its end in {}", path.display()),
        }
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Reason::Sql(error) => error.source(),
            Reason::Vanished => None,
            Reason::Anchor { source, .. } => Some(source),
        }
    }
}

/// Runs once a transaction is durable, before the callers are told.
type After = Box<dyn Fn(&Connection) -> Result<(), Cause> + Send>;

type Act = Box<dyn FnOnce(&Connection) -> rusqlite::Result<()> + Send>;

struct Job {
    act: Act,
    /// Signals that the outcome is durable, or why it is not.
    settled: SyncSender<Result<(), Cause>>,
}

/// The writing thread. Dropping it finishes all pending writes.
#[derive(Debug)]
pub(super) struct Writer {
    // Some until the drop: the thread ends when the last sender is gone.
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. `after` runs when a transaction is durable, before the callers are told.
    pub(super) fn start(
        connection: Connection,
        after: impl Fn(&Connection) -> Result<(), Cause> + Send + 'static,
    ) -> io::Result<Self> {
        let (jobs, waiting) = sync_channel(BATCH_MAX);
        let after: After = Box::new(after);
        let serve = move || serve(&connection, &waiting, &after);
        let thread = thread::Builder::new().name("store".to_owned()).spawn(serve)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs `act` in a transaction and returns its result once that is durable. A failed act leaves nothing
    /// behind.
    pub(super) fn write<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Cause> {
        let (found, finding) = sync_channel(1);
        let (settled, settling) = sync_channel(1);
        let act: Act = Box::new(move |connection| {
            found.send(act(connection)?).expect("the caller waits");
            Ok(())
        });
        let jobs = self.jobs.as_ref().expect("the writer lives as long as the store");
        jobs.send(Job { act, settled }).expect("the writer never ends by itself");
        settling.recv().expect("the writer answers every job")?;
        Ok(finding.recv().expect("a job that was settled has found something"))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has reached the caller whose job it was.
            thread.join().ok();
        }
    }
}

fn serve(connection: &Connection, waiting: &Receiver<Job>, after: &After) {
    while let Ok(first) = waiting.recv() {
        let more = waiting.try_iter().take(BATCH_MAX - 1);
        settle(connection, std::iter::once(first).chain(more).collect(), after);
    }
}

/// Runs all jobs in one transaction and tells each its outcome.
fn settle(connection: &Connection, jobs: Vec<Job>, after: &After) {
    let (acts, callers): (Vec<Act>, Vec<_>) = jobs.into_iter().map(|job| (job.act, job.settled)).unzip();
    let committed = commit(connection, acts).map_err(Cause::from);
    // A caller told that the follow-up failed asks again, and finds what was written.
    let settled = committed.and_then(|outcomes| after(connection).map(|()| outcomes));
    let outcomes = settled.unwrap_or_else(|cause| callers.iter().map(|_| Err(cause.clone())).collect());
    for (caller, outcome) in callers.iter().zip(outcomes) {
        // A caller that is gone has panicked; its job is done anyway.
        caller.send(outcome).ok();
    }
}

/// One transaction. An error means that nothing of it was done; inside, each act fails on its own.
fn commit(connection: &Connection, acts: Vec<Act>) -> rusqlite::Result<Vec<Result<(), Cause>>> {
    // A full disk can leave a transaction open that could not be rolled back then.
    abandon(connection)?;
    // An acknowledged verdict must survive a power cut, whatever was done since the last one.
    connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
    let outcomes = perform(connection, acts).and_then(|outcomes| {
        connection.execute_batch("COMMIT")?;
        Ok(outcomes)
    });
    if outcomes.is_err() {
        // The first error is reported. The next batch rolls back what cannot be rolled back now.
        abandon(connection).ok();
    }
    outcomes
}

fn perform(connection: &Connection, acts: Vec<Act>) -> rusqlite::Result<Vec<Result<(), Cause>>> {
    let mut outcomes = Vec::with_capacity(acts.len());
    for act in acts {
        connection.execute_batch("SAVEPOINT job")?;
        let outcome = act(connection);
        if let Err(source) = outcome {
            // Disk errors end the whole transaction, including the work of others.
            if connection.is_autocommit() {
                return Err(source);
            }
            connection.execute_batch("ROLLBACK TO job")?;
            outcomes.push(Err(source.into()));
        } else {
            outcomes.push(Ok(()));
        }
        connection.execute_batch("RELEASE job")?;
    }
    Ok(outcomes)
}

fn abandon(connection: &Connection) -> rusqlite::Result<()> {
    match connection.is_autocommit() {
        true => Ok(()),
        false => connection.execute_batch("ROLLBACK"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Connection {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch("CREATE TABLE number (value INTEGER UNIQUE)").expect("a table");
        connection
    }

    fn insert(values: &'static [i64]) -> Act {
        Box::new(move |connection| {
            for value in values {
                connection.execute("INSERT INTO number VALUES (?1)", [value])?;
            }
            Ok(())
        })
    }

    fn values(connection: &Connection) -> Vec<i64> {
        let mut query = connection.prepare("SELECT value FROM number ORDER BY value").expect("a query");
        let rows = query.query_map([], |row| row.get(0)).expect("rows");
        rows.map(|row| row.expect("a number")).collect()
    }

    #[test]
    fn one_refused_job_takes_no_other_down_and_leaves_nothing_of_itself() {
        let connection = memory();
        let outcomes =
            commit(&connection, vec![insert(&[1]), insert(&[2, 1]), insert(&[3])]).expect("committed");
        assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(values(&connection), [1, 3], "2 belongs to the job that was refused");
    }

    #[test]
    fn when_the_transaction_ends_early_nobody_is_told_that_it_worked() {
        let connection = memory();
        let end: Act = Box::new(|connection| {
            connection.execute_batch("ROLLBACK")?;
            Err(rusqlite::Error::InvalidQuery)
        });
        let failed = commit(&connection, vec![insert(&[1]), end, insert(&[3])]);
        assert!(
            matches!(failed, Err(rusqlite::Error::InvalidQuery)),
            "the first cause is the one to report: {failed:?}"
        );
        assert_eq!(values(&connection), [] as [i64; 0]);
        commit(&connection, vec![insert(&[4])]).expect("the next one works");
        assert_eq!(values(&connection), [4]);
    }

    #[test]
    fn a_transaction_that_was_left_open_is_ended_first() {
        let connection = memory();
        connection.execute_batch("BEGIN; INSERT INTO number VALUES (9)").expect("begun");
        commit(&connection, vec![insert(&[1])]).expect("committed");
        assert_eq!(values(&connection), [1]);
    }

    #[test]
    fn every_caller_gets_its_own_answer() {
        let writer = Writer::start(memory(), |_| Ok(())).expect("a thread");
        thread::scope(|scope| {
            for number in 0..64_i64 {
                let writer = &writer;
                scope.spawn(move || {
                    let found = writer.write(move |connection| {
                        connection.execute("INSERT INTO number VALUES (?1)", [number])?;
                        Ok(number * 2)
                    });
                    assert_eq!(found.expect("written"), number * 2);
                });
            }
        });
        let query = "SELECT count(*) FROM number";
        let count = writer.write(|connection| connection.query_row(query, [], |row| row.get::<_, i64>(0)));
        assert_eq!(count.expect("counted"), 64);
    }
}
