//! Whether the database still is what was written to it: its pages, its references and the bytes that it keeps by name. Looks;
//! never mends.

use rusqlite::Connection;

use super::{Error, Store, blob_of};

/// How many faults are listed; after that many, one more tells nothing new.
const FAULTS_MAX: usize = 20;

impl Store {
    /// Everything that is wrong with the database file; nothing where it is whole.
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
    let rows =
        query.query_map([], |row| Ok(format!("a row of `{}` is about nothing", row.get::<_, String>(0)?)))?;
    rows.take(FAULTS_MAX).collect()
}

/// Kept bytes that are not those that their name was made of.
fn blobs(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = connection.prepare("SELECT hash, bytes FROM blob")?;
    let mut rows = query.query([])?;
    let mut faults = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if blob_of(&bytes).0 != name && faults.len() < FAULTS_MAX {
            faults.push(format!("what is kept as {name} is not what was written"));
        }
    }
    Ok(faults)
}
