//! Connects agents to planwright: compares their files with what they should contain, and writes on request.
//! Core says what is missing; a file that changed meanwhile is not touched.

use std::io;
use std::path::{Path, PathBuf};

use planwright_core::agent::integration::{ConfigEdit, Expected, Integration};

use crate::store::plan_file;

/// Larger than any settings file; half a file must not be taken for the whole.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrationChange {
    pub agent: &'static str,
    /// Relative to the root of the project.
    pub file: &'static str,
    pub deed: Deed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Nothing: it is up to date.
    Keep,
    Write {
        /// The current text; `None` without a file.
        old: Option<String>,
        /// The new text.
        new: String,
    },
    /// The user must add this.
    ByHand {
        lines: String,
        /// Why planwright does not.
        why: String,
    },
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct UnreadableConfig {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// What must change to connect these agents. Writes nothing.
pub fn look(
    root: &Path,
    agents: &[&'static Integration],
) -> Result<Vec<IntegrationChange>, UnreadableConfig> {
    let mut changes: Vec<IntegrationChange> = Vec::new();
    for connection in agents {
        for piece in connection.pieces {
            // Agents share files; one change is enough.
            if changes.iter().any(|change| change.file == piece.file) {
                continue;
            }
            changes.push(IntegrationChange {
                agent: connection.agent,
                file: piece.file,
                deed: deed(root, piece)?,
            });
        }
    }
    Ok(changes)
}

fn deed(root: &Path, piece: &ConfigEdit) -> Result<Deed, UnreadableConfig> {
    let by_hand = |why: String| Deed::ByHand { lines: piece.by_hand(), why };
    if piece.is_by_hand() {
        return Ok(by_hand("it is not a file in this project".to_owned()));
    }
    // A linked file belongs to someone else, and every project that links to it would be connected as well.
    if let Some(link) = link_on_the_way(root, piece.file) {
        return Ok(by_hand(format!("{} is a link", link.display())));
    }
    let path = root.join(piece.file);
    let unreadable = |source| UnreadableConfig { path: path.clone(), source };
    let old = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(unreadable(source)),
        // The user did not name this file: reading a pipe in its place would block forever.
        Ok(data) if !data.is_file() || data.len() > FILE_BYTES_MAX => {
            return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "not a settings file")));
        }
        Ok(_) => Some(plan_file::read_text(&path, FILE_BYTES_MAX).map_err(unreadable)?),
    };
    Ok(match piece.applied(old.as_deref()) {
        Err(refusal) => by_hand(refusal.to_string()),
        Ok(None) => Deed::Keep,
        Ok(Some(new)) if is_sound(piece, &new) => Deed::Write { old, new },
        Ok(Some(_)) => by_hand("cannot append a table to this TOML".to_owned()),
    })
}

/// The first component of a path below the root that is a link.
fn link_on_the_way<'a>(root: &Path, file: &'a str) -> Option<&'a Path> {
    let mut parts: Vec<&Path> = Path::new(file).ancestors().filter(|part| *part != Path::new("")).collect();
    parts.reverse();
    parts.into_iter().find(|part| root.join(part).is_symlink())
}

/// Whether the new text parses; core has checked JSON.
fn is_sound(piece: &ConfigEdit, new: &str) -> bool {
    match piece.wanted {
        Expected::Table { .. } => new.parse::<toml_edit::DocumentMut>().is_ok(),
        Expected::Json(_) | Expected::Text(_) => true,
    }
}

/// Makes a change, if the file is unchanged since it was read.
pub fn write(root: &Path, change: &IntegrationChange) -> Result<(), plan_file::Error> {
    let Deed::Write { old, new } = &change.deed else { return Ok(()) };
    let path = root.join(change.file);
    // A link may have been put there since.
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
