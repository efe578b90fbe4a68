//! Outputs of old runs: their size, and their deletion. Only what agents and contracts printed in finished
//! runs is deleted; events, receipts and their hashes stay, so every chain remains intact. Deletions are
//! recorded.

use std::collections::BTreeSet;

use planwright_core::run::receipt::Blob;
use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::error::failed;
use super::{Error, Store};

const NAME_CHARS: usize = 64;

/// Outputs of old runs that were or could be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct OldOutputs {
    /// How many runs were over before that time.
    pub runs: usize,
    /// How many outputs only they name.
    pub outputs: usize,
    /// How many bytes these have.
    pub bytes: u64,
}

impl Store {
    /// The outputs of runs that finished before a time, in milliseconds since 1970.
    pub fn old_outputs(&self, before_ms: u64) -> Result<OldOutputs, Error> {
        self.read("the outputs of old runs", |connection| Ok(find(connection, before_ms)?.0))
    }

    /// Deletes the outputs of runs that finished before a time, in milliseconds since 1970.
    pub fn drop_outputs(&self, before_ms: u64, now_ms: u64) -> Result<OldOutputs, Error> {
        let dropped = self.writer.write(move |connection| {
            // Searched again here: a new run may have just named an old output.
            let (old, names) = find(connection, before_ms)?;
            for name in &names {
                connection.prepare_cached("DELETE FROM blob WHERE hash = ?1")?.execute([name])?;
                connection
                    .prepare_cached("INSERT OR REPLACE INTO gone (hash, at) VALUES (?1, ?2)")?
                    .execute(params![name, now_ms.cast_signed()])?;
            }
            Ok(old)
        });
        let error = |path, source| Error::Queue { act: "clean up", path, source };
        dropped.map_err(|source| failed(&self.database, source, error))
    }

    /// When an output was deleted, in milliseconds since 1970; `None` if it was not.
    pub fn dropped_at(&self, blob: &Blob) -> Result<Option<u64>, Error> {
        let query = "SELECT at FROM gone WHERE hash = ?1";
        let at = self.read(&blob.0, |connection| {
            connection.query_row(query, [&blob.0], |row| row.get::<_, i64>(0)).optional()
        })?;
        Ok(at.map(i64::cast_unsigned))
    }
}

/// The outputs that only runs finished before a time name.
fn find(connection: &Connection, before_ms: u64) -> rusqlite::Result<(OldOutputs, BTreeSet<String>)> {
    let mut query = connection.prepare("SELECT run FROM journal WHERE key = 'run.finished' AND at < ?1")?;
    let old = query.query_map([before_ms.cast_signed()], |row| row.get::<_, i64>(0))?;
    let old = old.collect::<rusqlite::Result<BTreeSet<i64>>>()?;
    let (mut outputs, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut query = connection.prepare("SELECT run, event FROM journal")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let event = serde_json::from_slice::<Value>(row.get_ref(1)?.as_bytes()?).unwrap_or_default();
        match old.contains(&row.get(0)?) {
            true => sort("", &event, (&mut outputs, &mut others)),
            false => name_all(&event, &mut others),
        }
    }
    let mut query = connection.prepare("SELECT event FROM ledger")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let entry = serde_json::from_slice::<Value>(row.get_ref(0)?.as_bytes()?).unwrap_or_default();
        name_all(&entry, &mut others);
    }
    let mut found = OldOutputs { runs: old.len(), ..OldOutputs::default() };
    let mut names = BTreeSet::new();
    let mut size = connection.prepare("SELECT length(bytes) FROM blob WHERE hash = ?1")?;
    for name in outputs.difference(&others) {
        if let Some(bytes) = size.query_row([name], |row| row.get::<_, i64>(0)).optional()? {
            found.outputs += 1;
            found.bytes += bytes.cast_unsigned();
            names.insert(name.clone());
        }
    }
    Ok((found, names))
}

/// Separates the names under `output` from all others. What a later planwright names elsewhere is not an
/// output.
fn sort(key: &str, value: &Value, (outputs, others): (&mut BTreeSet<String>, &mut BTreeSet<String>)) {
    match value {
        Value::String(text) if is_name(text) => {
            if key == "output" { outputs } else { others }.insert(text.clone());
        }
        Value::Array(values) => values.iter().for_each(|value| sort("", value, (outputs, others))),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| sort(key, value, (outputs, others))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn name_all(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_name(text) => drop(names.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| name_all(value, names)),
        Value::Object(fields) => fields.values().for_each(|value| name_all(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_name(text: &str) -> bool {
    text.len() == NAME_CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
