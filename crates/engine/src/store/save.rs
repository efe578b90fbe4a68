//! The only place that writes plans. One is replaced only if it still is what was read, and a plan of several files is replaced
//! whole even if the writer dies in between.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use planwright_core::dialect::Dialect;
use planwright_core::source::Source;
use serde::{Deserialize, Serialize};

use super::writer::Turn;
use super::{Error, atomic};
use crate::clock;

/// How many digits of a hash tell one text from another.
const HASH_DIGITS: usize = 8;

/// Replaces a plan by `new`, if it still is `old`, with all that its dialect adds to every write. Returns what was written.
pub fn save(path: &Path, old: &Source, new: &Source) -> Result<Source, Error> {
    let new = new.dialect().touched(new, &clock::utc_now());
    let version = |text: &str| version(&old.with(text));
    match path.is_dir() {
        true => replace_folder(path, old, &new)?,
        false => swap(path, (old.text(), new.text()), &version)?,
    }
    Ok(new)
}

/// Replaces the text of a file, if it still is `old`.
pub fn replace(path: &Path, old: &str, new: &str) -> Result<(), Error> {
    swap(path, (old, new), &content)
}

/// Makes a new plan, a file or a folder. Never writes over one that is there.
pub fn create_plan(path: &Path, text: &str, dialect: &'static Dialect) -> Result<(), Error> {
    let source = Source::new("plan", text).written_in(dialect);
    if source.parts()[0].path.is_empty() {
        return atomic::create(path, text);
    }
    if path.exists() {
        return Err(Error::Exists { path: path.to_owned() });
    }
    source.parts().iter().try_for_each(|part| atomic::create(&path.join(&part.path), source.slice(part.span)))
}

/// The check and the replacement are one act for everybody who writes through here: a lock is held across both, in a file
/// of its own because the plan file itself is replaced.
fn swap(path: &Path, (old, new): (&str, &str), version: &dyn Fn(&str) -> String) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: path.to_owned(), source };
    // A link is followed first: replacing it would leave the plan that it points to as it was.
    let path = &path.canonicalize().map_err(write_error)?;
    let mut turn = Turn::at(path).map_err(write_error)?;
    let present = std::fs::read(path).map_err(write_error)?;
    if present != old.as_bytes() {
        let present = String::from_utf8_lossy(&present);
        let (by, expected, found) = (turn.author(&present), version(old), version(&present));
        return Err(Error::Moved { path: path.clone(), by, expected, found });
    }
    atomic::put(path, new).and_then(|()| turn.sign(new)).map_err(write_error)
}

/// What tells this text from others: the version that it says, else its content.
fn version(source: &Source) -> String {
    match source.draft().frontmatter.value("version") {
        Some(version) => format!("version {}", version.value),
        None => content(source.text()),
    }
}

fn content(text: &str) -> String {
    format!("content {}", &blake3::hash(text.as_bytes()).to_hex()[..HASH_DIGITS])
}

/// What is about to be done to the files of a folder.
#[derive(Serialize, Deserialize)]
struct Intent {
    files: Vec<Replacement>,
}

#[derive(Serialize, Deserialize)]
struct Replacement {
    path: PathBuf,
    old: String,
    new: String,
}

fn replace_folder(folder: &Path, old: &Source, new: &Source) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: folder.to_owned(), source };
    let folder = &folder.canonicalize().map_err(write_error)?;
    let mut turn = Turn::at(folder).map_err(write_error)?;
    finish(&turn).map_err(write_error)?;
    let paths = |source: &Source| source.parts().iter().map(|part| part.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(old), paths(new), "an edit makes no files and removes none");
    let mut files = Vec::new();
    for (was, is) in old.parts().iter().zip(new.parts()) {
        let path = folder.join(&was.path);
        let present = std::fs::read(&path).map_err(write_error)?;
        let (was, is) = (old.slice(was.span), new.slice(is.span));
        if present != was.as_bytes() {
            let present = String::from_utf8_lossy(&present);
            let by = turn.author(&present);
            return Err(Error::Moved { path, by, expected: content(was), found: content(&present) });
        }
        if was != is {
            files.push(Replacement { path, old: was.to_owned(), new: is.to_owned() });
        }
    }
    intend(&turn, &Intent { files }).and_then(|()| finish(&turn)).map_err(write_error)?;
    turn.sign(new.text()).map_err(write_error)
}

/// Finishes what a writer that died had begun with the plan of this folder.
pub(super) fn recover(folder: &Path) -> io::Result<()> {
    let folder = folder.canonicalize()?;
    finish(&Turn::at(&folder)?)
}

fn intend(turn: &Turn, intent: &Intent) -> io::Result<()> {
    let text = serde_json::to_vec(intent).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(turn.intent())?;
    file.write_all(&text)?;
    file.sync_all()
}

/// Puts every file that was meant to be replaced and still is what it was. One that somebody changed since is left alone.
fn finish(turn: &Turn) -> io::Result<()> {
    let text = match std::fs::read(turn.intent()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    // A record that is cut off was never acted on.
    if let Ok(intent) = serde_json::from_slice::<Intent>(&text) {
        for Replacement { path, old, new } in intent.files {
            if std::fs::read(&path).is_ok_and(|present| present == old.as_bytes()) {
                atomic::put(&path, &new)?;
            }
        }
    }
    atomic::remove(&turn.intent())
}
