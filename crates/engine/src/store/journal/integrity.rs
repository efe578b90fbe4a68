//! Whether the database is still what was written: its pages, its references and its content-addressed blobs.
//! Only reads.

use rusqlite::Connection;

use super::{Error, Store, blob_of};

/// How many faults are listed; more would tell nothing new.
const FAULTS_MAX: usize = 20;

impl Store {
    /// Every fault of the database file; empty if it is intact.
    pub fn check_integrity(&self) -> Result<Vec<String>, Error> {
        self.read("the whole database", |connection| {
            let mut faults = pages(connection)?;
            if faults.is_empty() {
                faults.extend(references(connection)?);
                faults.extend(blobs(connection)?);
            }
            faults.truncate(FAULTS_MAX);
            Ok(faults)
        })
    }
}

fn pages(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = connection.prepare(&format!("PRAGMA integrity_check({FAULTS_MAX})"))?;
    let rows = query.query_map([], |row| row.get::<_, String>(0))?;
    let said = rows.collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(said.into_iter().filter(|line| line != "ok").collect())
}

fn references(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = connection.prepare("PRAGMA foreign_key_check")?;
    let rows = query
        .query_map([], |row| Ok(format!("a row of `{}` refers to nothing", row.get::<_, String>(0)?)))?;
    rows.take(FAULTS_MAX).collect()
}

/// Blobs whose bytes do not match their name.
fn blobs(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = connection.prepare("SELECT hash, bytes FROM blob")?;
    let mut rows = query.query([])?;
    let mut faults = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if blob_of(&bytes).0 != name && faults.len() < FAULTS_MAX {
            faults.push(format!("blob {name} is corrupt: hash mismatch"));
        }
    }
    Ok(faults)
}
