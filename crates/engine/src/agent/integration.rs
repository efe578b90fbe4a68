//! Connects agents with planwright: finds out what their files say, what they should, and writes it when it is told to. Core says
//! what is missing; a file that moved meanwhile is left alone.

use std::io;
use std::path::{Path, PathBuf};

use planwright_core::agent::integration::{Connection, Piece, Wanted};

use crate::store::plan_file;

/// More than any file of settings has; half a file must not be taken for the whole.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What is to be done about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The agent that it is for.
    pub agent: &'static str,
    /// The file, relative to the root of the project.
    pub file: &'static str,
    /// What is to be done.
    pub deed: Deed,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Nothing: it says what it should.
    Keep,
    Write {
        /// What it says now; `None`: there is no such file.
        old: Option<String>,
        /// What it would say.
        new: String,
    },
    /// A person has to add this.
    ByHand {
        lines: String,
        /// Why planwright does not.
        why: String,
    },
}

/// A file that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct Unreadable {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// What has to be done so that these agents are connected. Writes nothing.
pub fn look(root: &Path, agents: &[&'static Connection]) -> Result<Vec<Change>, Unreadable> {
    let mut changes: Vec<Change> = Vec::new();
    for connection in agents {
        for piece in connection.pieces {
            // Agents share files; one change is enough.
            if changes.iter().any(|change| change.file == piece.file) {
                continue;
            }
            changes.push(Change { agent: connection.agent, file: piece.file, deed: deed(root, piece)? });
        }
    }
    Ok(changes)
}

fn deed(root: &Path, piece: &Piece) -> Result<Deed, Unreadable> {
    let by_hand = |why: String| Deed::ByHand { lines: piece.by_hand(), why };
    if piece.is_by_hand() {
        return Ok(by_hand("it is not a file of this project".to_owned()));
    }
    // What is behind a link is somebody else's file, and every project that links to it would be connected at once.
    if let Some(link) = link_on_the_way(root, piece.file) {
        return Ok(by_hand(format!("{} is a link", link.display())));
    }
    let path = root.join(piece.file);
    let unreadable = |source| Unreadable { path: path.clone(), source };
    let old = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(unreadable(source)),
        // Nobody named this file: a pipe in its place would be waited for without end.
        Ok(data) if !data.is_file() || data.len() > FILE_BYTES_MAX => {
            return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "not a file of settings")));
        }
        Ok(_) => Some(plan_file::read_text(&path, FILE_BYTES_MAX).map_err(unreadable)?),
    };
    Ok(match piece.applied(old.as_deref()) {
        Err(refusal) => by_hand(refusal.to_string()),
        Ok(None) => Deed::Keep,
        Ok(Some(new)) if is_sound(piece, &new) => Deed::Write { old, new },
        Ok(Some(_)) => by_hand("it is not TOML that takes a table at its end".to_owned()),
    })
}

/// The first part of the way from the root to a file that is a link.
fn link_on_the_way<'a>(root: &Path, file: &'a str) -> Option<&'a Path> {
    let mut parts: Vec<&Path> = Path::new(file).ancestors().filter(|part| *part != Path::new("")).collect();
    parts.reverse();
    parts.into_iter().find(|part| root.join(part).is_symlink())
}

/// Whether what would be written can be read; JSON was looked at by core.
fn is_sound(piece: &Piece, new: &str) -> bool {
    match piece.wanted {
        Wanted::Table { .. } => new.parse::<toml_edit::DocumentMut>().is_ok(),
        Wanted::Json(_) | Wanted::Text(_) => true,
    }
}

/// Makes a change, if the file still is what was looked at.
pub fn write(root: &Path, change: &Change) -> Result<(), plan_file::Error> {
    let Deed::Write { old, new } = &change.deed else { return Ok(()) };
    let path = root.join(change.file);
    // A link may have been put there since it was looked at.
    if link_on_the_way(root, change.file).is_some() {
        return Err(plan_file::Error::Astray { path });
    }
    match old {
        Some(old) => plan_file::replace(&path, old, new),
        None => {
            let folder = Path::new(change.file).parent().unwrap_or(Path::new(""));
            let folder = plan_file::folder_within(root, folder)?;
            plan_file::create(&folder.join(path.file_name().unwrap_or_default()), new)
        }
    }
}
