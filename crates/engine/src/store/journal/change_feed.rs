//! The order in which everything was recorded, over all books, and how far each hook was told of it. Never decides who is
//! told of what.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, Row, params};

use super::error::failed;
use super::{Book, Error, PlanId, RunId, Store};

/// Where something that was recorded stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its place among everything that was recorded; what comes later has a higher one.
    pub place: u64,
    /// The book that it is in.
    pub book: Book,
    /// The plan, relative to the root of the project.
    pub plan: PathBuf,
    /// The name of the plan, where the book has it.
    pub name: Option<String>,
    /// Its place in the book.
    pub seq: u64,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Only what stands after this place.
    pub after: u64,
    /// Only what stands after this place in its book.
    pub after_seq: u64,
    /// Only what was recorded at this time or later, in milliseconds since 1970.
    pub since_ms: u64,
    /// Only what is about this plan, relative to the root of the project.
    pub plan: Option<&'a Path>,
    /// How much at once.
    pub count_max: usize,
}

/// How far a hook was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Everything up to this place is settled: told, given up, or none of its business.
    pub place: u64,
    /// How often the next one was tried already.
    pub tries: u32,
    /// How many were given up since somebody last looked.
    pub skipped: u64,
    /// Why the last try failed; empty where it did not.
    pub why: String,
    /// When this was written, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Store {
    /// The place of what was recorded last; 0 where nothing was.
    pub fn newest(&self) -> Result<u64, Error> {
        let query = "SELECT max(id) FROM news";
        let newest = self.read("the news", |connection| {
            connection.prepare_cached(query)?.query_row([], |row| row.get::<_, Option<i64>>(0))
        })?;
        Ok(newest.map_or(0, i64::cast_unsigned))
    }

    /// What was recorded, in the order in which it was.
    pub fn news(&self, wanted: Wanted<'_>) -> Result<Vec<Line>, Error> {
        let query = "SELECT news.id, news.run, news.plan, news.seq, coalesce(run.plan, plan.path) AS file, run.name \
                     FROM news LEFT JOIN run ON run.id = news.run LEFT JOIN plan ON plan.id = news.plan \
                     WHERE news.id > ?1 AND news.seq > ?2 AND news.at >= ?3 AND file IS NOT NULL \
                     AND (?4 IS NULL OR file = ?4) ORDER BY news.id LIMIT ?5";
        let Wanted { after, after_seq, since_ms, plan, count_max } = wanted;
        let plan = plan.map(|plan| plan.as_os_str().as_bytes());
        let since = i64::try_from(since_ms).unwrap_or(i64::MAX);
        let count = i64::try_from(count_max).unwrap_or(i64::MAX);
        self.read("the news", |connection| {
            let values = params![after.cast_signed(), after_seq.cast_signed(), since, plan, count];
            connection.prepare_cached(query)?.query_map(values, line)?.collect()
        })
    }

    /// How far a hook was told; `None` where it is not known yet.
    pub fn delivery(&self, hook: &str) -> Result<Option<Delivery>, Error> {
        let query = "SELECT place, tries, skipped, why, at FROM delivery WHERE hook = ?1";
        self.read("what hooks were told", |connection| {
            let delivery = |row: &Row<'_>| {
                Ok(Delivery {
                    place: row.get::<_, i64>(0)?.cast_unsigned(),
                    tries: row.get(1)?,
                    skipped: row.get::<_, i64>(2)?.cast_unsigned(),
                    why: row.get(3)?,
                    at_ms: row.get::<_, i64>(4)?.cast_unsigned(),
                })
            };
            connection.prepare_cached(query)?.query_row([hook], delivery).optional()
        })
    }

    /// Notes how far a hook was told. Durable when this returns.
    pub fn note_delivery(&self, hook: &str, delivery: &Delivery) -> Result<(), Error> {
        let (name, hook, delivery) = (hook.to_owned(), hook.to_owned(), delivery.clone());
        let written = self.writer.write(move |connection| {
            let query = "INSERT INTO delivery (hook, place, tries, skipped, why, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                         ON CONFLICT (hook) DO UPDATE SET place = excluded.place, tries = excluded.tries, \
                         skipped = excluded.skipped, why = excluded.why, at = excluded.at";
            connection.prepare_cached(query)?.execute(params![
                hook,
                delivery.place.cast_signed(),
                delivery.tries,
                delivery.skipped.cast_signed(),
                delivery.why,
                delivery.at_ms.cast_signed(),
            ])
        });
        let note = |path, source| Error::Note { hook: name, path, source };
        written.map(drop).map_err(|source| failed(&self.database, source, note))
    }
}

fn line(row: &Row<'_>) -> rusqlite::Result<Line> {
    let run: Option<i64> = row.get(1)?;
    let book = match run {
        Some(run) => Book::Run(RunId(run)),
        None => Book::Plan(PlanId(row.get(2)?)),
    };
    Ok(Line {
        place: row.get::<_, i64>(0)?.cast_unsigned(),
        book,
        plan: PathBuf::from(OsStr::from_bytes(&row.get::<_, Vec<u8>>(4)?)),
        name: row.get(5)?,
        seq: row.get::<_, i64>(3)?.cast_unsigned(),
    })
}
