//! The order in which everything was recorded, across all books, and how far each hook has read it. Never
//! decides which hook gets what.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, Row, params};

use super::error::failed;
use super::{Error, JournalChain, PlanId, RunId, Store};

/// The position of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedLine {
    /// Its position in the overall order; later records have higher ones.
    pub place: u64,
    pub book: JournalChain,
    /// Relative to the root of the project.
    pub plan: PathBuf,
    /// The name of the plan, if the book has it.
    pub name: Option<String>,
    /// Its position in the book.
    pub seq: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct FeedFilter<'a> {
    /// Only after this position.
    pub after: u64,
    /// Only after this position in its book.
    pub after_seq: u64,
    /// Only from this time on, in milliseconds since 1970.
    pub since_ms: u64,
    /// Only this plan, relative to the root of the project.
    pub plan: Option<&'a Path>,
    pub count_max: usize,
}

/// How far a hook has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Everything up to this position is done: delivered, given up, or skipped.
    pub place: u64,
    /// How often the next one was tried.
    pub tries: u32,
    /// How many were given up since the last report.
    pub skipped: u64,
    /// Why the last try failed; empty if it did not.
    pub why: String,
    /// In milliseconds since 1970.
    pub at_ms: u64,
}

impl Store {
    /// The newest position; 0 if nothing is recorded.
    pub fn newest(&self) -> Result<u64, Error> {
        let query = "SELECT max(id) FROM news";
        let newest = self.read("the news", |connection| {
            connection.prepare_cached(query)?.query_row([], |row| row.get::<_, Option<i64>>(0))
        })?;
        Ok(newest.map_or(0, i64::cast_unsigned))
    }

    /// The records, in the order of writing.
    pub fn news(&self, wanted: FeedFilter<'_>) -> Result<Vec<FeedLine>, Error> {
        let query = "SELECT news.id, news.run, news.plan, news.seq, coalesce(run.plan, plan.path) AS file, run.name \
                     FROM news LEFT JOIN run ON run.id = news.run LEFT JOIN plan ON plan.id = news.plan \
                     WHERE news.id > ?1 AND news.seq > ?2 AND news.at >= ?3 AND file IS NOT NULL \
                     AND (?4 IS NULL OR file = ?4) ORDER BY news.id LIMIT ?5";
        let FeedFilter { after, after_seq, since_ms, plan, count_max } = wanted;
        let plan = plan.map(|plan| plan.as_os_str().as_bytes());
        let since = i64::try_from(since_ms).unwrap_or(i64::MAX);
        let count = i64::try_from(count_max).unwrap_or(i64::MAX);
        self.read("the news", |connection| {
            let values = params![after.cast_signed(), after_seq.cast_signed(), since, plan, count];
            connection.prepare_cached(query)?.query_map(values, line)?.collect()
        })
    }

    /// How far a hook has read; `None` if it is unknown.
    pub fn delivery(&self, hook: &str) -> Result<Option<Delivery>, Error> {
        let query = "SELECT place, tries, skipped, why, at FROM delivery WHERE hook = ?1";
        self.read("the deliveries to hooks", |connection| {
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

    /// Records how far a hook has read. Durable when this returns.
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

fn line(row: &Row<'_>) -> rusqlite::Result<FeedLine> {
    let run: Option<i64> = row.get(1)?;
    let book = match run {
        Some(run) => JournalChain::Run(RunId(run)),
        None => JournalChain::Plan(PlanId(row.get(2)?)),
    };
    Ok(FeedLine {
        place: row.get::<_, i64>(0)?.cast_unsigned(),
        book,
        plan: PathBuf::from(OsStr::from_bytes(&row.get::<_, Vec<u8>>(4)?)),
        name: row.get(5)?,
        seq: row.get::<_, i64>(3)?.cast_unsigned(),
    })
}
