//! The directory where work is done. Finds what an attempt changed by reading the files themselves: git is
//! not used, because where an agent can write, git runs what the agent configured.

mod git;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::store::{plan_file, state_dir};
use crate::system::fault;

/// The most files examined.
const FILES_MAX: usize = 200_000;
/// The most changed files that are named.
const NAMED_MAX: usize = 200;
const RULES_BYTES_MAX: u64 = 1 << 20;
/// Directories that tools fill. Only these may be hidden by rules that are new or outside the project: a new
/// project has just got the rule about its dependencies.
const FILLED: &[&str] = &["target", "node_modules", "__pycache__", ".venv"];

/// The workspace cannot be read, so what was changed is unknown: neither nothing, nor something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    State(#[from] state_dir::Error),
}

/// The ignore rules, by their directory.
type Rules = BTreeMap<PathBuf, Gitignore>;

/// The state of the files of a workspace at one moment.
pub struct FileSnapshot {
    files: BTreeMap<String, Look>,
    rules: Rules,
}

#[derive(PartialEq, Eq)]
enum Look {
    /// Its metadata. The change time of an inode cannot be set back by someone who may only write to it.
    Outside { size: u64, modified: (i64, i64), changed: (i64, i64), inode: u64 },
    /// Its relevant lines.
    Lines(Vec<String>),
}

impl Look {
    fn of(data: &Metadata) -> Self {
        Self::Outside {
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
            inode: data.ino(),
        }
    }
}

impl FileSnapshot {
    /// Reads every file that the project's own `.gitignore` files do not ignore, and what steers its git.
    pub fn of(root: &Path) -> Result<Self, Error> {
        Self::look(root, None)
    }

    /// Reads again by the earlier rules: writing a `.gitignore` hides nothing.
    pub fn again(&self, root: &Path) -> Result<Self, Error> {
        Self::look(root, Some(&self.rules))
    }

    fn look(root: &Path, earlier: Option<&Rules>) -> Result<Self, Error> {
        // Without a repository the ignore files mean nothing.
        let tree = state_dir::tree_of(root)?;
        let above =
            root.ancestors().skip(1).filter(|folder| tree.is_some_and(|tree| folder.starts_with(tree)));
        let mut rules = Rules::new();
        for folder in above {
            rules.extend(rules_in(folder)?);
        }
        let mut files = git::steering(root)?;
        let own_git = root.join(".git");
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            if tree.is_some() {
                rules.extend(rules_in(&folder)?);
            }
            let Some(names) = names_in(&folder)? else {
                // Whoever may not look into it sees at least whether somebody else did.
                files.extend(closed(root, &folder)?);
                continue;
            };
            for name in names {
                let path = folder.join(&name);
                let found = path.symlink_metadata();
                if found.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
                    files.extend(closed(root, &folder)?);
                    continue;
                }
                // A file that vanishes meanwhile is not there.
                let Some(data) = known(&path, found)? else { continue };
                let is_filled = || data.is_dir() && FILLED.iter().any(|filled| name == *filled);
                let is_hidden = path == own_git
                    || is_ignored((&path, data.is_dir()), earlier.unwrap_or(&rules), root)
                    || is_filled() && is_ignored((&path, true), &rules, Path::new("/"));
                if is_hidden || files.len() >= FILES_MAX {
                    continue;
                }
                if data.is_dir() {
                    folders.push(path);
                } else if let Ok(inner) = path.strip_prefix(root) {
                    files.insert(inner.to_string_lossy().into_owned(), Look::of(&data));
                }
            }
        }
        Ok(Self { files, rules })
    }

    /// The files and links created, changed or removed since `earlier`, all of them in order.
    pub fn changed_since(&self, earlier: &Self) -> Vec<String> {
        let is_changed = |(path, look): &(&String, &Look)| earlier.files.get(*path) != Some(*look);
        let changed = self.files.iter().filter(is_changed).map(|(path, _)| path);
        let gone = earlier.files.keys().filter(|path| !self.files.contains_key(*path));
        let mut paths: Vec<String> = changed.chain(gone).cloned().collect();
        paths.sort();
        paths
    }
}

/// The changed files that are named, up to a limit. Those outside the scope come first if there are more.
pub fn named(mut changed: Vec<String>, outside: &[String]) -> Vec<String> {
    if changed.len() > NAMED_MAX {
        changed.sort_by_cached_key(|path| (outside.binary_search(path).is_err(), path.clone()));
        changed.truncate(NAMED_MAX);
        changed.sort();
    }
    changed
}

/// The metadata of a file; `None` if it is not there.
fn data_of(path: &Path) -> Result<Option<Metadata>, Error> {
    known(path, path.symlink_metadata())
}

/// The names in a directory; `None` if it is not there or closed to this user.
fn names_in(folder: &Path) -> Result<Option<Vec<OsString>>, Error> {
    let names = folder.read_dir().and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    known(folder, names)
}

/// What was found; `None` if there is nothing, or nothing that this user may see. Any other error means that
/// it is unknown.
fn known<T>(path: &Path, found: io::Result<T>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if state_dir::is_absence(&error) => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// The text of a file; `None` if it is not there, closed to this user, or no text.
fn text_of(path: &Path, bytes_max: u64) -> Result<Option<String>, Error> {
    match plan_file::read_text(path, bytes_max) {
        Ok(text) => Ok(Some(text)),
        Err(source) if fault::is_fault(&source) => Err(Error::Read { path: path.to_owned(), source }),
        Err(_) => Ok(None),
    }
}

/// A directory that this user may not list.
fn closed(root: &Path, folder: &Path) -> Result<Option<(String, Look)>, Error> {
    let inner = folder.strip_prefix(root).ok().map(|inner| inner.to_string_lossy().into_owned());
    Ok(inner.zip(data_of(folder)?.as_ref().map(Look::of)))
}

/// The rules in a directory; `None` if there are none.
fn rules_in(folder: &Path) -> Result<Option<(PathBuf, Gitignore)>, Error> {
    let file = folder.join(".gitignore");
    // Git follows no link here either.
    if !data_of(&file)?.is_some_and(|data| data.is_file()) {
        return Ok(None);
    }
    let Some(text) = text_of(&file, RULES_BYTES_MAX)? else { return Ok(None) };
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // A line that is not a pattern ignores nothing.
        builder.add_line(None, line).ok();
    }
    Ok(builder.build().ok().map(|rules| (folder.to_owned(), rules)))
}

/// Whether the rules from `top` down ignore a path; the nearest matching rule decides.
fn is_ignored((path, is_folder): (&Path, bool), rules: &Rules, top: &Path) -> bool {
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    for rules in folders.filter_map(|folder| rules.get(folder)) {
        match rules.matched(path, is_folder) {
            Match::None => {}
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
        }
    }
    false
}
