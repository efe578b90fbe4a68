//! Moves a working copy from one commit to another without losing concurrent edits. Repeatable at any time: a
//! file that is already there is not touched.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::repository::{Error, OwnedRefs, shown};
use super::snapshot::{ANOTHER, Entries};
use crate::store::state_dir;
use crate::store::temp_dir::TempDir;

/// Prefix and suffix of files that are about to replace others.
pub(super) const FRESH: (&str, &str) = (".planwright.", ".fresh");
/// Where files are checked out before they are moved into place, in a git directory.
const STAGE: &str = "planwright-stage";

/// What will be written, and the state it is based on.
#[derive(Default)]
struct Way {
    /// The paths to write or remove.
    wanted: Vec<PathBuf>,
    /// Conflicts, for people.
    conflicts: Vec<String>,
    /// The metadata of each path before it was read.
    seen: BTreeMap<PathBuf, Option<Look>>,
    /// What each path should contain.
    target: Entries,
}

/// What to do about a file that changed since it was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changed {
    /// Stop writing.
    Stops,
    /// Keep it as it is.
    Stays,
}

/// The metadata of a file. A directory has none: its files are checked.
#[derive(PartialEq, Eq)]
struct Look {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Look {
    fn of(top: &Path, path: &Path) -> Option<Self> {
        let data = data_at(top, path).filter(|data| !data.is_dir())?;
        Some(Self {
            inode: data.ino(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncResult {
    Done,
    /// Nothing was written, or all of it was reverted: these paths contain what is in neither commit.
    Conflict {
        /// Relative to the top of the working copy, for people.
        paths: Vec<String>,
    },
}

impl OwnedRefs {
    /// Updates the files that differ between two commits, in the working copy with this top. Other files stay
    /// as they are, and so does everything if one of these files matches neither commit. Paths `without` are
    /// planwright's and ignored; nested repositories are not touched.
    pub fn bring(&self, top: &Path, from: &str, to: &str, without: &[PathBuf]) -> Result<SyncResult, Error> {
        let way = self.way(top, from, to, without)?;
        if !way.conflicts.is_empty() {
            return Ok(SyncResult::Conflict { paths: way.conflicts });
        }
        let written = self.write(top, to, &way, Changed::Stops);
        if matches!(&written, Ok(changed) if changed.is_empty()) {
            return Ok(SyncResult::Done);
        }
        let undone = self.take_back(top, to, from, without);
        let paths = written?.iter().map(|path| shown(path)).collect();
        undone.map(|()| SyncResult::Conflict { paths })
    }

    /// Reverts what [`OwnedRefs::bring`] wrote, from `to` to `from`, wholly or partly. A file that matches neither
    /// is an edit, and stays.
    pub fn take_back(&self, top: &Path, from: &str, to: &str, without: &[PathBuf]) -> Result<(), Error> {
        let way = self.way(top, from, to, without)?;
        self.write(top, to, &way, Changed::Stays).map(drop)
    }

    /// What conflicts with [`OwnedRefs::bring`]; nothing is written.
    pub fn in_the_way(
        &self,
        top: &Path,
        from: &str,
        to: &str,
        without: &[PathBuf],
    ) -> Result<Vec<String>, Error> {
        Ok(self.way(top, from, to, without)?.conflicts)
    }

    /// What must be written, and its conflicts.
    fn way(&self, top: &Path, from: &str, to: &str, without: &[PathBuf]) -> Result<Way, Error> {
        let (from_files, target) = (self.files(from)?, self.files(to)?);
        let is_theirs = |path: &PathBuf| !without.iter().any(|own| path.starts_with(own));
        let is_file = |path: &PathBuf| {
            let is_other = |files: &Entries| files.get(path).is_some_and(|entry| entry.starts_with(ANOTHER));
            !is_other(&from_files) && !is_other(&target)
        };
        let paths = self.differing(from, to)?.into_iter().filter(is_theirs).filter(is_file);
        let paths: BTreeSet<PathBuf> = paths.collect();
        if paths.is_empty() {
            return Ok(Way::default());
        }
        // Before the files are read: later edits show when they would be overwritten.
        let seen = paths.iter().map(|path| (path.clone(), Look::of(top, path))).collect();
        let now = self.files(&self.snapshot_tree(top, from, without)?)?;
        let filtered = self.filtered(top, &paths)?;
        // A link on the way leads elsewhere, unless it is removed itself.
        let is_astray = |path: &Path| {
            let mut stays = above(path).filter(|above| !paths.contains(*above));
            stays.any(|above| top.join(above).symlink_metadata().is_ok_and(|data| data.is_symlink()))
        };
        let mut way = Way { seen, target: target.clone(), ..Way::default() };
        let is_unlike = |path: &PathBuf| -> Result<bool, Error> {
            let is_concerned = filtered.contains(path) && target.contains_key(path);
            Ok(is_concerned && !self.is_plain(top, path, now.get(path))?)
        };
        let mut folders = Vec::new();
        for path in &paths {
            let is = |files: &Entries| now.get(path) == files.get(path);
            let lies = data_at(top, path);
            match (is(&target), is(&from_files)) {
                (true, _) => {}
                (false, _) if is_unlike(path)? => {
                    way.conflicts
                        .push(format!("{} (has a git filter, which planwright does not run)", shown(path)));
                }
                (false, _) if is_astray(path) => way.conflicts.push(shown(path)),
                (false, true) if now.contains_key(path) || lies.is_none() => way.wanted.push(path.clone()),
                (false, true) if lies.is_some_and(|data| data.is_dir()) => folders.push(path),
                // An ignored file is in no snapshot, but may still be there.
                (false, _) => way.conflicts.push(shown(path)),
            }
        }
        // A directory makes room if everything in it goes.
        let goes: BTreeSet<PathBuf> =
            way.wanted.iter().filter(|path| !target.contains_key(*path)).cloned().collect();
        for path in folders {
            match holds_only(top, path, &goes) {
                true => way.wanted.push(path.clone()),
                false => way.conflicts.push(shown(path)),
            }
        }
        Ok(way)
    }

    /// Whether a file matches its git content, although git filters it.
    fn is_plain(&self, top: &Path, path: &Path, entry: Option<&String>) -> Result<bool, Error> {
        let (Some(name), Some(data)) = (entry.and_then(|entry| entry.split(' ').nth(2)), data_at(top, path))
        else {
            return Ok(false);
        };
        let size = self.look("measure a file", &["cat-file", "-s", name])?.text();
        if !data.is_file() || size != data.len().to_string() {
            return Ok(false);
        }
        let file = top.join(path);
        let bytes = std::fs::read(&file).map_err(|source| Error::File { path: file, source })?;
        let words = ["hash-object", "--stdin"];
        Ok(self.ours("name a file", (&self.own, &words), &[], &bytes)?.text() == name)
    }

    /// The files of a commit or tree: mode and object id by path.
    pub(super) fn files(&self, commit: &str) -> Result<Entries, Error> {
        self.entries(&self.own, &["ls-tree", "-r", "-z", commit], &[])
    }

    /// Each file is checked out elsewhere first and renamed into place: a crash leaves no half of one.
    /// Returns the files that changed meanwhile, which are not written.
    fn write(&self, top: &Path, to: &str, way: &Way, changed: Changed) -> Result<Vec<PathBuf>, Error> {
        if way.wanted.is_empty() {
            return Ok(Vec::new());
        }
        let stage = self.stage(top)?;
        let (stay, go): (Vec<&PathBuf>, Vec<&PathBuf>) =
            way.wanted.iter().partition(|path| way.target.contains_key(*path));
        self.lay_out(top, to, &stay, &stage.path)?;
        let mut left = Vec::new();
        // Removals make room first: a directory may replace a file.
        for path in go.into_iter().chain(stay) {
            let file = top.join(path);
            let failed = |source| Error::File { path: file.clone(), source };
            let is_as_seen = way.seen.get(path) == Some(&Look::of(top, path));
            if !is_as_seen || !vacated(&file).map_err(failed)? {
                left.push(path.clone());
                match changed {
                    Changed::Stops => break,
                    Changed::Stays => continue,
                }
            }
            let done = match way.target.contains_key(path) {
                true => replace(&stage.path.join("files").join(path), &file),
                false => remove(top, &file),
            };
            done.map_err(failed)?;
        }
        Ok(left)
    }

    /// A directory to check out files in: on the disk of the working copy, if there is one that nobody
    /// commits.
    fn stage(&self, top: &Path) -> Result<TempDir, Error> {
        let disk = |path: &Path| path.metadata().map(|data| data.dev()).ok();
        let near = if disk(&self.common) == disk(top) { &self.common } else { &self.own };
        let folder = near.join(STAGE);
        state_dir::create(&folder)?;
        TempDir::within(&folder).map_err(|source| Error::File { path: folder, source })
    }

    /// Checks out files of a commit in a staging directory.
    fn lay_out(&self, top: &Path, commit: &str, paths: &[&PathBuf], stage: &Path) -> Result<(), Error> {
        if paths.is_empty() {
            return Ok(());
        }
        let index = stage.join("index");
        let environment = [("GIT_INDEX_FILE", index.as_os_str())];
        self.ours("read a commit", (top, &["read-tree", commit]), &environment, &[])?;
        let bytes = |path: &&PathBuf| [path.as_os_str().as_bytes(), &[0]].concat();
        let list: Vec<u8> = paths.iter().flat_map(bytes).collect();
        let prefix = format!("--prefix={}/files/", stage.display());
        let words = ["checkout-index", "--force", "--quiet", &prefix, "-z", "--stdin"];
        self.ours("check out files", (top, &words), &environment, &list).map(drop)
    }

    /// The same for the index of the user's own working copy, once its branch has moved: entries of the one
    /// commit become those of the other. Staged changes stay staged.
    pub fn bring_index(&self, top: &Path, from: &str, to: &str) -> Result<(), Error> {
        let user = crate::system::process::Repository { tree: top.to_owned(), git: top.join(".git") };
        let staged = self.staged(&user)?;
        let (from_files, target) = (self.files(from)?, self.files(to)?);
        let words_of = |entry: &String| -> Option<(String, String)> {
            let mut words = entry.split(' ');
            let (mode, name) = (words.next()?, words.next()?);
            let name = if name.len() < 40 { words.next()? } else { name };
            Some((mode.to_owned(), name.to_owned()))
        };
        let nothing = format!("0 {}", "0".repeat(to.len()));
        let mut lines = Vec::new();
        for path in self.differing(from, to)? {
            let is = staged.get(&path).and_then(words_of);
            if is != from_files.get(&path).and_then(words_of) {
                continue;
            }
            lines.extend(index_line(target.get(&path).unwrap_or(&nothing), &path));
        }
        if !lines.is_empty() {
            let words = ["rev-parse", "--path-format=absolute", "--git-path", "index"];
            let index = self.must("find the index", user.ask(&words)?)?.text();
            // Through our own git directory: writing an index may read files, and would run the repository's
            // filters.
            let environment = [("GIT_INDEX_FILE", OsStr::new(&index))];
            let words = ["update-index", "-z", "--index-info"];
            self.ours("update the index", (top, &words), &environment, &lines)?;
        }
        Ok(())
    }
}

/// The input line for an index entry at a path.
pub(super) fn index_line(entry: &str, path: &Path) -> Vec<u8> {
    [entry.as_bytes(), b"\t", path.as_os_str().as_bytes(), &[0]].concat()
}

/// The directories above a path, relative as it is.
fn above(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty())
}

/// What is at a path of a working copy. Nothing behind a link is part of it.
pub(super) fn data_at(top: &Path, path: &Path) -> Option<Metadata> {
    let is_link = |above: &Path| top.join(above).symlink_metadata().is_ok_and(|data| data.is_symlink());
    if above(path).any(is_link) {
        return None;
    }
    top.join(path).symlink_metadata().ok()
}

/// Whether a directory contains only these files, apart from directories.
fn holds_only(top: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> bool {
    let Ok(entries) = top.join(folder).read_dir() else { return false };
    entries.into_iter().all(|entry| {
        let Ok(entry) = entry else { return false };
        let path = folder.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => holds_only(top, &path, files),
            Ok(_) => files.contains(&path),
            Err(_) => false,
        }
    })
}

/// Removes a directory that contains only directories. Returns whether it is gone.
fn vacated(path: &Path) -> io::Result<bool> {
    if !path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
        return Ok(true);
    }
    for entry in path.read_dir()? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() || !vacated(&entry.path())? {
            return Ok(false);
        }
    }
    match std::fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// Removes a file, and directories above it that become empty.
fn remove(top: &Path, file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    for folder in file.ancestors().skip(1).take_while(|folder| *folder != top) {
        if std::fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// Moves a checked-out file or link into place.
#[expect(clippy::disallowed_methods, reason = "writes merged files into a working copy, never a plan")]
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to.parent().unwrap_or(Path::new("/")))?;
    if !from.symlink_metadata()?.is_symlink() {
        std::fs::File::open(from)?.sync_all()?;
    }
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => replace_from_afar(from, to),
        renamed => renamed,
    }
}

/// The same from another disk, through a copy next to the target.
#[expect(clippy::disallowed_methods, reason = "writes merged files into a working copy, never a plan")]
fn replace_from_afar(from: &Path, to: &Path) -> io::Result<()> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let folder = to.parent().unwrap_or(Path::new("/"));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Short, so that a long name fits; and unique: an existing file is not ours to remove.
    let fresh = folder.join(format!("{}{}-{count}{}", FRESH.0, std::process::id(), FRESH.1));
    let data = from.symlink_metadata()?;
    if data.is_symlink() {
        symlink(std::fs::read_link(from)?, &fresh)?;
    } else {
        let mode = data.permissions().mode() & 0o777;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh)?;
        io::copy(&mut std::fs::File::open(from)?, &mut file)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()?;
    }
    std::fs::rename(&fresh, to)
}
