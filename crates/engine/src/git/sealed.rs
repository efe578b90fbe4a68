//! Sealed files: their current contents, and what changed. An approval covers their contents, and a contract
//! counts only while they are what was approved.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use planwright_core::plan::verified::Plan;
use planwright_core::syntax::glob;
use planwright_core::syntax::glob::Glob;

use crate::git::base;
use crate::git::base::{Lists, TreeFiles};
use crate::system::fault;

/// The most files that a plan may seal. A plan that seals everything seals its own work.
pub const FILES_MAX: usize = 10_000;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("step `{step}` seals {path}: file not found")]
    Missing { step: String, path: String },
    /// A pattern without a match seals nothing.
    #[error("step `{step}` seals {pattern}, which matches no file")]
    Nothing { step: String, pattern: String },
    /// The checker refuses such plans.
    #[error("invalid `sealed` pattern {pattern} in step `{step}`")]
    Pattern {
        step: String,
        pattern: String,
        #[source]
        source: glob::Error,
    },
    #[error("the plan seals more than {FILES_MAX} files")]
    TooMany,
    /// A sealed path that is not a file: a directory, a pipe, or behind a link.
    #[error("step `{step}` seals {path}, which is not a file of the workspace")]
    NoFile { step: String, path: String },
    #[error("cannot read the sealed file {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot list the files of the workspace")]
    Base(#[from] base::Error),
}

/// The files that a plan seals, as they were approved.
#[derive(Debug, Clone, Copy)]
pub struct Seal<'a> {
    pub plan: &'a Plan,
    pub approved: &'a BTreeMap<String, String>,
}

impl Seal<'_> {
    /// What differs from what was approved, for people. Further files below a sealed pattern differ if
    /// `counts` says so.
    ///
    /// An error of the machine is not a difference.
    pub fn broken(&self, root: &Path, counts: impl Fn(&str) -> bool) -> Result<Vec<String>, Error> {
        match of(root, self.plan) {
            Err(error) if fault::errno_in(&error).is_some() => Err(error),
            Err(error) => Ok(vec![error.to_string()]),
            Ok(mut now) => {
                now.retain(|path, _| self.approved.contains_key(path) || counts(path));
                Ok(moved(self.approved, &now))
            }
        }
    }
}

/// The current hash of every file that the plan seals, by its path relative to the root.
///
/// A link's content is its target. A file below a linked directory is refused, since the link could be
/// changed to another directory. Patterns match files that are not ignored; a literal path is looked up on
/// disk.
pub fn of(root: &Path, plan: &Plan) -> Result<BTreeMap<String, String>, Error> {
    let mut sealed = BTreeMap::new();
    let mut files: Option<Vec<String>> = None;
    for step in &plan.steps {
        for pattern in &step.sealed {
            let named = |source| Error::Pattern { step: step.id.clone(), pattern: pattern.clone(), source };
            let glob = Glob::new(pattern).map_err(named)?;
            if glob.is_literal() {
                let path = pattern.trim_start_matches("./").to_owned();
                let hash = hash(root, &path, &step.id)?;
                sealed.insert(path, hash);
                continue;
            }
            let files = match &mut files {
                Some(files) => files,
                none @ None => none.insert(names(root)?),
            };
            let mut found = files.iter().filter(|path| glob.matches(path)).peekable();
            if found.peek().is_none() {
                return Err(Error::Nothing { step: step.id.clone(), pattern: pattern.clone() });
            }
            for path in found {
                if !sealed.contains_key(path) {
                    let hash = hash(root, path, &step.id)?;
                    sealed.insert(path.clone(), hash);
                }
                if sealed.len() > FILES_MAX {
                    return Err(Error::TooMany);
                }
            }
        }
    }
    Ok(sealed)
}

/// The files of the project that a pattern can match, relative to its root.
fn names(root: &Path) -> Result<Vec<String>, Error> {
    // An ignore list that no reviewer sees must not hide a file from the seal.
    let files = TreeFiles::by(root, Lists::Project)?;
    let own = files.paths().filter_map(|path| path.strip_prefix(files.part()).ok());
    Ok(own.map(|path| path.to_string_lossy().into_owned()).collect())
}

fn hash(root: &Path, path: &str, step: &str) -> Result<String, Error> {
    let full = root.join(path);
    let read = |source| Error::Read { path: full.clone(), source };
    let step = || step.to_owned();
    let data = match full.symlink_metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(Error::Missing { step: step(), path: path.to_owned() });
        }
        data => data.map_err(read)?,
    };
    let mut is_straight = true;
    for above in Path::new(path).ancestors().skip(1).filter(|above| *above != Path::new("")) {
        is_straight &= !root.join(above).symlink_metadata().map_err(read)?.is_symlink();
    }
    if !is_straight || !(data.is_file() || data.is_symlink()) {
        return Err(Error::NoFile { step: step(), path: path.to_owned() });
    }
    let hash = if data.is_symlink() {
        let to = std::fs::read_link(&full).map_err(read)?;
        // A link differs from a file with the same text.
        blake3::Hasher::new().update(b"link\0").update(to.as_os_str().as_bytes()).finalize()
    } else {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(&full).map_err(read)?).map_err(read)?;
        hasher.finalize()
    };
    Ok(hash.to_hex().to_string())
}

/// What changed between two sets of sealed files, for people.
pub fn moved(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let gone = before.iter().filter_map(|(path, hash)| match now.get(path) {
        None => Some(format!("sealed file {path} is missing")),
        Some(found) if found != hash => Some(format!("sealed file {path} was changed")),
        Some(_) => None,
    });
    let new = now.keys().filter(|path| !before.contains_key(*path));
    gone.chain(new.map(|path| format!("sealed file {path} is new"))).collect()
}
