//! Brings a working copy from one commit to another, without losing what somebody wrote meanwhile. It can be done again at
//! any time: a file that is there already is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::repository::{Error, Keep, shown};
use super::snapshot::{ANOTHER, Entries};
use crate::store::state_dir;
use crate::store::temp_dir::Place;

/// How files are called that are about to take the place of others.
pub(super) const FRESH: (&str, &str) = (".planwright.", ".fresh");
/// Where files are laid out before they take their places, in a git folder.
const STAGE: &str = "planwright-stage";

/// What is to be written, and what was seen of it.
#[derive(Default)]
struct Way {
    /// The paths to be written or removed.
    wanted: Vec<PathBuf>,
    /// What is in the way, in words.
    conflicts: Vec<String>,
    /// What lay at each path before it was read.
    seen: BTreeMap<PathBuf, Option<Look>>,
    /// What is wanted at each path.
    target: Entries,
}

/// What is done about a file that somebody changed since it was looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changed {
    /// Nothing is written from there on.
    Stops,
    /// It stays as it is.
    Stays,
}

/// What a file looks like from outside. A folder is none: what lies in it is looked at.
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

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    /// The working copy has all of it.
    Done,
    /// Nothing was written, or nothing of it stays: at these paths lies what is in neither commit.
    Conflict {
        /// The paths, relative to the top of the working copy, for people to read.
        paths: Vec<String>,
    },
}

impl Keep {
    /// Brings the files that differ between two commits from one to the other, in the working copy with this top. All other
    /// files stay as they are, and so does everything where one of these files is neither the one nor the other. Paths
    /// `without` are the harness's, and not looked at; other repositories are nobody's.
    pub fn bring(&self, top: &Path, from: &str, to: &str, without: &[PathBuf]) -> Result<Brought, Error> {
        let way = self.way(top, from, to, without)?;
        if !way.conflicts.is_empty() {
            return Ok(Brought::Conflict { paths: way.conflicts });
        }
        let written = self.write(top, to, &way, Changed::Stops);
        if matches!(&written, Ok(changed) if changed.is_empty()) {
            return Ok(Brought::Done);
        }
        let undone = self.take_back(top, to, from, without);
        let paths = written?.iter().map(|path| shown(path)).collect();
        undone.map(|()| Brought::Conflict { paths })
    }

    /// Takes back what [`Keep::bring`] wrote from `to` to `from`, all of it or the half that somebody died over. What is neither
    /// the one nor the other is somebody's own, and stays.
    pub fn take_back(&self, top: &Path, from: &str, to: &str, without: &[PathBuf]) -> Result<(), Error> {
        let way = self.way(top, from, to, without)?;
        self.write(top, to, &way, Changed::Stays).map(drop)
    }

    /// What is in the way of [`Keep::bring`]; nothing is written.
    pub fn in_the_way(
        &self,
        top: &Path,
        from: &str,
        to: &str,
        without: &[PathBuf],
    ) -> Result<Vec<String>, Error> {
        Ok(self.way(top, from, to, without)?.conflicts)
    }

    /// What has to be written, and what is in the way of it.
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
        // Before the files are read: what is edited from here on looks different when it is to be written over.
        let seen = paths.iter().map(|path| (path.clone(), Look::of(top, path))).collect();
        let now = self.files(&self.snapshot_tree(top, from, without)?)?;
        let filtered = self.filtered(top, &paths)?;
        // A link on the way leads elsewhere, unless it goes itself.
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
                    way.conflicts.push(format!("{} (git filters it, and no filter is run)", shown(path)));
                }
                (false, _) if is_astray(path) => way.conflicts.push(shown(path)),
                (false, true) if now.contains_key(path) || lies.is_none() => way.wanted.push(path.clone()),
                (false, true) if lies.is_some_and(|data| data.is_dir()) => folders.push(path),
                // What is ignored is in no snapshot, and may lie there all the same.
                (false, _) => way.conflicts.push(shown(path)),
            }
        }
        // A folder makes room if everything in it goes.
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

    /// Whether a file lies there as it is in git, though it is one that git filters.
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

    /// The files of a commit or tree: mode and name of the content by path.
    pub(super) fn files(&self, commit: &str) -> Result<Entries, Error> {
        self.entries(&self.own, &["ls-tree", "-r", "-z", commit], &[])
    }

    /// Each file is laid out elsewhere first and takes its place by a rename: whoever dies meanwhile leaves no half of one.
    /// Returns the files that somebody changed meanwhile, which are not written.
    fn write(&self, top: &Path, to: &str, way: &Way, changed: Changed) -> Result<Vec<PathBuf>, Error> {
        if way.wanted.is_empty() {
            return Ok(Vec::new());
        }
        let stage = self.stage(top)?;
        let (stay, go): (Vec<&PathBuf>, Vec<&PathBuf>) =
            way.wanted.iter().partition(|path| way.target.contains_key(*path));
        self.lay_out(top, to, &stay, &stage.path)?;
        let mut left = Vec::new();
        // What goes makes room first: a folder may take the place of a file.
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

    /// A folder to lay out files in: on the disk of the working copy, where there is one that nobody commits.
    fn stage(&self, top: &Path) -> Result<Place, Error> {
        let disk = |path: &Path| path.metadata().map(|data| data.dev()).ok();
        let near = if disk(&self.common) == disk(top) { &self.common } else { &self.own };
        let folder = near.join(STAGE);
        state_dir::create(&folder)?;
        Place::within(&folder).map_err(|source| Error::File { path: folder, source })
    }

    /// Lays out files of a commit in a stage.
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
        self.ours("lay out files", (top, &words), &environment, &list).map(drop)
    }

    /// The same for the index of the user's own working copy, once its branch has moved: entries that were those of the
    /// one commit are now those of the other. What somebody staged stays staged.
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
            // By our own git folder: whoever writes an index may look at files, and would run the filters that the repository says.
            let environment = [("GIT_INDEX_FILE", OsStr::new(&index))];
            let words = ["update-index", "-z", "--index-info"];
            self.ours("bring the index along", (top, &words), &environment, &lines)?;
        }
        Ok(())
    }
}

/// A line that says what an index is to have at a path.
pub(super) fn index_line(entry: &str, path: &Path) -> Vec<u8> {
    [entry.as_bytes(), b"\t", path.as_os_str().as_bytes(), &[0]].concat()
}

/// The folders above a path, relative as it is.
fn above(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty())
}

/// What lies at a path of a working copy. Behind a link on the way lies nothing of it.
pub(super) fn data_at(top: &Path, path: &Path) -> Option<Metadata> {
    let is_link = |above: &Path| top.join(above).symlink_metadata().is_ok_and(|data| data.is_symlink());
    if above(path).any(is_link) {
        return None;
    }
    top.join(path).symlink_metadata().ok()
}

/// Whether everything in a folder is one of these, but for folders.
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

/// Removes a folder that has nothing but folders in it. Whether none is there then.
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

/// Removes a file, and the folders above it that are empty then.
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

/// Puts a file or a link that was laid out in the place of another.
#[expect(clippy::disallowed_methods, reason = "writes what landed into a working copy, never a plan")]
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

/// The same for a file on another disk, by a copy beside the place.
#[expect(clippy::disallowed_methods, reason = "writes what landed into a working copy, never a plan")]
fn replace_from_afar(from: &Path, to: &Path) -> io::Result<()> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let folder = to.parent().unwrap_or(Path::new("/"));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Short, or a long name would not fit; and nobody's: what lies there already is not ours to remove.
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
