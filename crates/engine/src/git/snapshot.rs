//! The contents of a working copy as a commit. Uses neither the working copy's git directory nor its
//! configuration: an agent may have written both.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{Metadata, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::repository::{Error, OwnedRefs};
use super::sync::{FRESH, data_at, index_line};
use crate::git::base::walked;
use crate::git::tree_hash::check_size;
use crate::store::{state_dir, worktree_registry};
use crate::system::process::{Repository, filters};

/// The mode of a submodule entry.
pub(super) const ANOTHER: &str = "160000";
/// The mark of a file that a sparse checkout leaves out.
const SKIPPED: &[u8] = b"S ";

/// How many lines git prints about a file.
const LOOKS: usize = 5;
/// The files that configure git filters.
const ATTRIBUTES: &str = ".gitattributes";

/// Entries of a tree or an index by path, in the format in which they can be written back.
pub(super) type Entries = BTreeMap<PathBuf, String>;

impl OwnedRefs {
    /// The contents of the working copy with this top, as a commit after `parent`. Files and directories
    /// `without` (relative to the top) are as in the parent, since planwright writes there itself. Nested
    /// repositories stay as they are.
    pub fn snapshot(
        &self,
        top: &Path,
        parent: &str,
        without: &[PathBuf],
        message: &str,
    ) -> Result<String, Error> {
        let tree = self.snapshot_tree(top, parent, without)?;
        self.commit(&tree, &[parent], message)
    }

    /// The same as a tree.
    pub fn snapshot_tree(&self, top: &Path, parent: &str, without: &[PathBuf]) -> Result<String, Error> {
        let index = self.index_of(top);
        let _lock = locked(&index)?;
        match self.take_up(top, &index, parent, without) {
            // Objects that only our index names may be gone, and a dead process may have left a partial one.
            Err(Error::Git { .. }) if index.exists() => {
                std::fs::remove_file(&index).map_err(|source| Error::File { path: index.clone(), source })?;
                self.take_up(top, &index, parent, without)
            }
            taken => taken,
        }
    }

    fn take_up(&self, top: &Path, index: &Path, parent: &str, without: &[PathBuf]) -> Result<String, Error> {
        let environment = [("GIT_INDEX_FILE", index.as_os_str())];
        if !index.exists() {
            self.ours("read a commit", (top, &["read-tree", parent]), &environment, &[])?;
        }
        let known = self.entries(top, &["ls-files", "--stage", "-z"], &environment)?;
        let theirs = self.entries(top, &["ls-tree", "-r", "-z", parent], &environment)?;
        let mut found = walked(top)?;
        check_size(top, found.iter())?;
        // A pipe or a socket has no content, and reading it could block forever. A temporary file of a dead
        // planwright is nobody's work.
        let is_ours =
            |name: &[u8]| name.starts_with(FRESH.0.as_bytes()) && name.ends_with(FRESH.1.as_bytes());
        found.retain(|path, data| {
            let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
            (data.is_file() || data.is_symlink()) && !is_ours(name)
        });
        let is_other = |entry: Option<&String>| entry.is_some_and(|entry| entry.starts_with(ANOTHER));
        let others: Vec<&PathBuf> =
            theirs.iter().filter(|(_, entry)| is_other(Some(entry))).map(|(path, _)| path).collect();
        let is_left_out = |path: &Path| {
            without.iter().any(|own| path.starts_with(own)) || others.iter().any(|own| path.starts_with(own))
        };
        // What is not read from the files, and what to use instead.
        let mut settled = self.unread(top, (&known, &theirs), &found)?;
        let is_gone = |path: &PathBuf| !found.contains_key(path) && data_at(top, path).is_none();
        for path in known.keys().chain(theirs.keys()) {
            if is_left_out(path) || is_other(known.get(path)) {
                settled.insert(path.clone(), theirs.get(path).cloned());
            } else if !settled.contains_key(path) && known.contains_key(path) && is_gone(path) {
                // Git would not look behind a link that a directory has become.
                settled.insert(path.clone(), None);
            }
        }
        let paths: BTreeSet<&PathBuf> = known.keys().chain(found.keys()).collect();
        let read = paths.into_iter().filter(|path| !is_left_out(path) && !settled.contains_key(*path));
        let list: Vec<u8> = read.flat_map(|path| [path.as_os_str().as_bytes(), &[0]].concat()).collect();
        if !list.is_empty() {
            let words = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            self.ours("add the files of the worktree", (top, &words), &environment, &list)?;
        }
        let nothing = format!("0 {}", "0".repeat(parent.len()));
        let line =
            |(path, entry): (&PathBuf, &Option<String>)| index_line(entry.as_ref().unwrap_or(&nothing), path);
        // Removals make room first.
        let (go, stay): (Vec<_>, Vec<_>) = settled.iter().partition(|(_, entry)| entry.is_none());
        let lines: Vec<u8> = go.into_iter().chain(stay).flat_map(line).collect();
        if !lines.is_empty() {
            let words = ["update-index", "-z", "--index-info"];
            self.ours("add unreadable files", (top, &words), &environment, &lines)?;
        }
        Ok(self.ours("write a tree", (top, &["write-tree"]), &environment, &[])?.text())
    }

    /// What the files of the user's own working copy do not show: files left out by a sparse checkout, which
    /// are as in the parent, and filtered files that were not touched, which are as in the index, since no
    /// filter runs here.
    fn unread(
        &self,
        top: &Path,
        (known, theirs): (&Entries, &Entries),
        found: &BTreeMap<PathBuf, Metadata>,
    ) -> Result<BTreeMap<PathBuf, Option<String>>, Error> {
        let mut settled = BTreeMap::new();
        let Some(user) = self.user_at(top)? else { return Ok(settled) };
        let is_gone = |path: &PathBuf| !found.contains_key(path) && data_at(top, path).is_none();
        if theirs.keys().any(is_gone) {
            let listed = self.must("list ignored files", user.ask(&["ls-files", "-t", "-z"])?)?;
            let lines = listed.stdout.split(|&byte| byte == 0);
            let skipped = lines.filter_map(|line| line.strip_prefix(SKIPPED));
            let skipped = skipped.map(|path| PathBuf::from(OsStr::from_bytes(path))).filter(is_gone);
            settled.extend(skipped.map(|path| (path.clone(), theirs.get(&path).cloned())));
        }
        let paths = known.keys().chain(theirs.keys()).chain(found.keys()).cloned().collect();
        let filtered = self.filtered(top, &paths)?;
        if !filtered.is_empty() {
            let untouched = self.untouched(&user, &filtered)?;
            settled.extend(untouched.into_iter().map(|(path, entry)| (path, Some(entry))));
        }
        Ok(settled)
    }

    /// The user's own repository, if this is the project's working copy and not a worktree of ours: the git
    /// directory of a worktree is within reach of agents.
    fn user_at(&self, top: &Path) -> Result<Option<Repository>, Error> {
        let is_theirs = top == self.top && worktree_registry::tree_at(top)?.is_none();
        Ok(is_theirs.then(|| Repository { tree: top.to_owned(), git: top.join(".git") }))
    }

    /// The index of a working copy of the user.
    pub(super) fn staged(&self, user: &Repository) -> Result<Entries, Error> {
        let listed = self.must("list the index", user.ask(&["ls-files", "--stage", "-z"])?)?;
        let mut entries = entries_of(&listed.stdout);
        // A conflicting path has no entry.
        entries.retain(|_, entry| entry.ends_with(" 0"));
        Ok(entries)
    }

    /// The index entries of these paths, if their files look as they did when git wrote or read them.
    fn untouched(&self, user: &Repository, paths: &BTreeSet<PathBuf>) -> Result<Entries, Error> {
        let words = ["ls-files", "--stage", "--debug", "-z"];
        let listed = self.must("list the index", user.ask(&words)?)?;
        let (mut entries, mut before) = (Entries::new(), None::<(PathBuf, String)>);
        // After the zero of an entry come lines about its file, and then the next entry.
        for (place, part) in listed.stdout.split(|&byte| byte == 0).enumerate() {
            let mut ends =
                part.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end + 1);
            let (about, entry) = part.split_at(if place == 0 { 0 } else { ends.nth(LOOKS - 1).unwrap_or(0) });
            if let Some((path, entry)) = before.take()
                && looks_so(&user.tree, &path, &String::from_utf8_lossy(about))
            {
                entries.insert(path, entry);
            }
            let next = entries_of(entry).pop_first();
            before = next.filter(|(path, entry)| entry.ends_with(" 0") && paths.contains(path));
        }
        Ok(entries)
    }

    /// Those of some paths of the user's own working copy that git filters through a program.
    pub(super) fn filtered(&self, top: &Path, paths: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, Error> {
        let folders: BTreeSet<&Path> = paths.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        let mut says = folders.into_iter().filter(|folder| top.join(folder).join(ATTRIBUTES).exists());
        if self.user_at(top)?.is_none() || says.next().is_none() {
            return Ok(BTreeSet::new());
        }
        let drivers = filters(&self.repository());
        if drivers.is_empty() {
            return Ok(BTreeSet::new());
        }
        let list: Vec<u8> =
            paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), &[0]].concat()).collect();
        let words = ["check-attr", "-z", "--stdin", "filter"];
        let answer = self.ours("read the attributes of files", (top, &words), &[], &list)?;
        let parts: Vec<&[u8]> = answer.stdout.split(|&byte| byte == 0).collect();
        let filtered =
            parts.chunks_exact(3).filter(|said| drivers.contains(&*String::from_utf8_lossy(said[2])));
        Ok(filtered.map(|said| PathBuf::from(OsStr::from_bytes(said[0]))).collect())
    }

    /// The entries that git lists.
    pub(super) fn entries(
        &self,
        top: &Path,
        words: &[&str],
        environment: &[(&str, &OsStr)],
    ) -> Result<Entries, Error> {
        Ok(entries_of(&self.ours("list files", (top, words), environment, &[])?.stdout))
    }

    /// The index of a working copy that we keep, so that only changes must be read again.
    pub(super) fn index_of(&self, top: &Path) -> PathBuf {
        let name = blake3::hash(top.as_os_str().as_bytes()).to_hex();
        self.own.join("indexes").join(&name[..32])
    }

    /// The paths of submodules in a commit: worktrees have nothing there.
    pub fn submodules(&self, commit: &str) -> Result<Vec<PathBuf>, Error> {
        let files = self.files(commit)?.into_iter();
        Ok(files.filter(|(_, entry)| entry.starts_with(ANOTHER)).map(|(path, _)| path).collect())
    }

    /// Forgets a working copy that is gone.
    pub fn forget(&self, top: &Path) {
        let index = self.index_of(top);
        // A leftover takes a little space, and nothing reads it.
        std::fs::remove_file(&index).ok();
        std::fs::remove_file(index.with_extension("door")).ok();
    }
}

/// Whether a file still looks as git noted it. An unknown format counts as changed.
fn looks_so(top: &Path, path: &Path, noted: &str) -> bool {
    data_at(top, path).is_some_and(|data| {
        let changed = format!("ctime: {}:{}\n", data.ctime(), data.ctime_nsec());
        let modified = format!("mtime: {}:{}\n", data.mtime(), data.mtime_nsec());
        // The index has 32 bits for these.
        let (inode, size) = (data.ino() & 0xffff_ffff, data.size() & 0xffff_ffff);
        let marks = [changed, modified, format!("ino: {inode}\n"), format!("size: {size}\t")];
        marks.iter().all(|mark| noted.contains(mark.as_str()))
    })
}

fn entries_of(listed: &[u8]) -> Entries {
    let lines = listed.split(|&byte| byte == 0);
    let entries = lines.filter_map(|line| {
        let tab = line.iter().position(|&byte| byte == b'\t')?;
        let entry = String::from_utf8_lossy(&line[..tab]).into_owned();
        Some((PathBuf::from(OsStr::from_bytes(&line[tab + 1..])), entry))
    });
    entries.collect()
}

/// Locks an index. A process that dies releases it, but may leave git's own lock.
fn locked(index: &Path) -> Result<std::fs::File, Error> {
    let door = index.with_extension("door");
    let failed = |source| Error::File { path: door.clone(), source };
    if let Some(folder) = index.parent() {
        state_dir::create(folder)?;
    }
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&door).map_err(failed)?;
    file.lock().map_err(failed)?;
    std::fs::remove_file(index.with_extension("lock")).ok();
    Ok(file)
}
