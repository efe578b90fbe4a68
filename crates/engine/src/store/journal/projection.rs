//! Tables derived from the journal: queued attempts, open questions, the state of each run (`tally`). Written
//! in the same transaction as their events, so that neither is seen without the other; rebuilding them from
//! the journal gives the same rows.

use std::collections::BTreeMap;

use planwright_core::run::event::{AskEvent, AskReason, AttemptStart, Event, RunEvent, StepEvent};
use rusqlite::{Connection, params};

enum Effect<'a> {
    /// An attempt waits for a worker.
    Queue {
        step: &'a str,
        attempt: u32,
        agent: &'a str,
        prompt: &'a str,
    },
    /// It no longer waits.
    Unqueue {
        step: &'a str,
        attempt: u32,
    },
    /// A question is open.
    Ask {
        ask: &'a str,
        step: Option<&'a str>,
        reason: AskReason,
        text: &'a str,
    },
    Settle {
        ask: &'a str,
    },
    /// The run has finished: nothing of it waits.
    Clear,
    Nothing,
}

fn effect(event: &Event) -> Effect<'_> {
    match event {
        Event::Step { step, event: StepEvent::Started(AttemptStart { attempt, agent, prompt }) } => {
            Effect::Queue { step, attempt: *attempt, agent, prompt: &prompt.0 }
        }
        Event::Step { step, event: StepEvent::Finished(finish) } => {
            Effect::Unqueue { step, attempt: finish.attempt }
        }
        Event::Ask { ask, event: AskEvent::Opened { step, reason, text } } => {
            Effect::Ask { ask, step: step.as_deref(), reason: *reason, text }
        }
        Event::Ask { ask, event: AskEvent::Answered { .. } } => Effect::Settle { ask },
        Event::Run(RunEvent::Finished { .. }) => Effect::Clear,
        Event::Run(_) | Event::Step { event: StepEvent::Faulted { .. } | StepEvent::Judged { .. }, .. } => {
            Effect::Nothing
        }
    }
}

/// The word for a reason, stored and shown: the same as in the journal.
pub(super) fn reason_word(reason: AskReason) -> String {
    let word = serde_json::to_value(reason).ok();
    word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Updates the tables for an event that is recorded in the same transaction.
pub(super) fn project(connection: &Connection, run: i64, at: i64, event: &Event) -> rusqlite::Result<()> {
    let execute = |query: &str, values: &[&dyn rusqlite::ToSql]| {
        connection.prepare_cached(query)?.execute(values).map(drop)
    };
    match effect(event) {
        Effect::Nothing => Ok(()),
        Effect::Queue { step, attempt, agent, prompt } => execute(
            "INSERT INTO work (run, step, attempt, agent, prompt, queued_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![run, step, attempt, agent, prompt, at],
        ),
        Effect::Unqueue { step, attempt } => {
            let key = params![run, step, attempt];
            execute("DELETE FROM lease WHERE run = ?1 AND step = ?2 AND attempt = ?3", key)?;
            execute("DELETE FROM work WHERE run = ?1 AND step = ?2 AND attempt = ?3", key)
        }
        Effect::Ask { ask, step, reason, text } => execute(
            "INSERT INTO ask (run, ask, step, reason, text, opened_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![run, ask, step, reason_word(reason), text, at],
        ),
        Effect::Settle { ask } => execute("DELETE FROM ask WHERE run = ?1 AND ask = ?2", params![run, ask]),
        Effect::Clear => {
            for table in ["lease", "work", "ask"] {
                execute(&format!("DELETE FROM {table} WHERE run = ?1"), params![run])?;
            }
            Ok(())
        }
    }
}

/// The actual or expected rows of the tables as text: a key and its value.
type Rows = BTreeMap<String, String>;

fn work_key(run: i64, step: &str, attempt: u32) -> String {
    format!("work {run} {step} {attempt}")
}

fn ask_key(run: i64, ask: &str) -> String {
    format!("ask {run} {ask}")
}

fn expected(connection: &Connection) -> rusqlite::Result<Rows> {
    let mut rows = Rows::new();
    each_event(connection, |run, at, event| {
        match effect(event) {
            Effect::Nothing => {}
            Effect::Queue { step, attempt, agent, prompt } => {
                rows.insert(work_key(run, step, attempt), format!("{agent} {prompt} {at}"));
            }
            Effect::Unqueue { step, attempt } => {
                rows.remove(&work_key(run, step, attempt));
            }
            Effect::Ask { ask, step, reason, text } => {
                let row = format!("{step:?} {} {text} {at}", reason_word(reason));
                rows.insert(ask_key(run, ask), row);
            }
            Effect::Settle { ask } => {
                rows.remove(&ask_key(run, ask));
            }
            Effect::Clear => {
                let prefixes = [format!("work {run} "), format!("ask {run} ")];
                rows.retain(|key, _| !prefixes.iter().any(|prefix| key.starts_with(prefix)));
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

fn found(connection: &Connection) -> rusqlite::Result<Rows> {
    let mut rows = Rows::new();
    let mut query = connection.prepare("SELECT run, step, attempt, agent, prompt, queued_at FROM work")?;
    let mut work = query.query([])?;
    while let Some(row) = work.next()? {
        let key = work_key(row.get(0)?, &row.get::<_, String>(1)?, row.get(2)?);
        let (agent, prompt, at): (String, String, i64) = (row.get(3)?, row.get(4)?, row.get(5)?);
        rows.insert(key, format!("{agent} {prompt} {at}"));
    }
    let mut query = connection.prepare("SELECT run, ask, step, reason, text, opened_at FROM ask")?;
    let mut asks = query.query([])?;
    while let Some(row) = asks.next()? {
        let key = ask_key(row.get(0)?, &row.get::<_, String>(1)?);
        let step: Option<String> = row.get(2)?;
        let (reason, text, at): (String, String, i64) = (row.get(3)?, row.get(4)?, row.get(5)?);
        rows.insert(key, format!("{:?} {reason} {text} {at}", step.as_deref()));
    }
    Ok(rows)
}

/// Every difference between the tables and the journal, for people.
pub(super) fn check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let view = connection.unchecked_transaction()?;
    let (expected, found) = (expected(&view)?, found(&view)?);
    let missing = expected.iter().filter(|(key, _)| !found.contains_key(*key));
    let missing = missing.map(|(key, _)| format!("`{key}` is missing"));
    let other = found.iter().filter_map(|(key, row)| match expected.get(key) {
        None => Some(format!("`{key}` is not in the journal")),
        Some(meant) if meant != row => Some(format!("`{key}` does not match the journal")),
        Some(_) => None,
    });
    let tallies = super::run_summary::check(&view)?;
    Ok(missing.chain(other).chain(tallies).collect())
}

pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("DELETE FROM work; DELETE FROM ask;")?;
    each_event(connection, |run, at, event| project(connection, run, at, event))?;
    // Leases are not derived: they are kept for what still waits.
    connection.execute_batch(
        "DELETE FROM lease WHERE NOT EXISTS (SELECT 1 FROM work WHERE work.run = lease.run \
         AND work.step = lease.step AND work.attempt = lease.attempt);",
    )?;
    super::run_summary::rebuild(connection)
}

/// Passes on every readable event of every run, in order.
fn each_event(
    connection: &Connection,
    mut show: impl FnMut(i64, i64, &Event) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut query = connection.prepare("SELECT run, at, event FROM journal ORDER BY run, seq")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        // An unreadable event is a break of the chain, which is reported elsewhere.
        if let Ok(event) = serde_json::from_slice::<Event>(&row.get::<_, Vec<u8>>(2)?) {
            show(row.get(0)?, row.get(1)?, &event)?;
        }
    }
    Ok(())
}
