//! What lies in a working copy, as a commit. Neither the working copy's git folder nor its configuration is asked: an agent
//! may have written both.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{Metadata, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::repository::{Error, Keep};
use super::sync::{FRESH, data_at, index_line};
use crate::git::base::walked;
use crate::store::{state_dir, worktree_registry};
use crate::system::process::{Repository, filters};

/// The mode of an entry that is another repository.
pub(super) const ANOTHER: &str = "160000";
/// How a file is marked that a sparse checkout leaves out.
const SKIPPED: &[u8] = b"S ";

/// How many lines git notes about a file.
const LOOKS: usize = 5;
/// The files that say what git has filtered.
const ATTRIBUTES: &str = ".gitattributes";

/// Entries of a tree or an index by path, in the words in which they can be given back.
pub(super) type Entries = BTreeMap<PathBuf, String>;

impl Keep {
    /// What lies in the working copy with this top, as a commit after `parent`. Files and folders `without` (relative to the
    /// top) are as they are in the parent: the harness writes there itself. Other repositories in it stay as they are.
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

    /// The same as a tree alone.
    pub fn snapshot_tree(&self, top: &Path, parent: &str, without: &[PathBuf]) -> Result<String, Error> {
        let index = self.index_of(top);
        let _lock = locked(&index)?;
        match self.take_up(top, &index, parent, without) {
            // Objects that only our index names may be gone, and a dead process may have left half of one.
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
        let mut found = walked(top);
        // A pipe or a socket is no content, and reading it could take for ever. What a dead harness was about to put in its
        // place is nobody's work.
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
        // What is not read from the files, and what is there instead.
        let mut settled = self.unread(top, (&known, &theirs), &found)?;
        let is_gone = |path: &PathBuf| !found.contains_key(path) && data_at(top, path).is_none();
        for path in known.keys().chain(theirs.keys()) {
            if is_left_out(path) || is_other(known.get(path)) {
                settled.insert(path.clone(), theirs.get(path).cloned());
            } else if !settled.contains_key(path) && known.contains_key(path) && is_gone(path) {
                // Git would not look behind a link that a folder has become.
                settled.insert(path.clone(), None);
            }
        }
        let paths: BTreeSet<&PathBuf> = known.keys().chain(found.keys()).collect();
        let read = paths.into_iter().filter(|path| !is_left_out(path) && !settled.contains_key(*path));
        let list: Vec<u8> = read.flat_map(|path| [path.as_os_str().as_bytes(), &[0]].concat()).collect();
        if !list.is_empty() {
            let words = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            self.ours("take up what lies in the tree", (top, &words), &environment, &list)?;
        }
        let nothing = format!("0 {}", "0".repeat(parent.len()));
        let line =
            |(path, entry): (&PathBuf, &Option<String>)| index_line(entry.as_ref().unwrap_or(&nothing), path);
        // What goes makes room first.
        let (go, stay): (Vec<_>, Vec<_>) = settled.iter().partition(|(_, entry)| entry.is_none());
        let lines: Vec<u8> = go.into_iter().chain(stay).flat_map(line).collect();
        if !lines.is_empty() {
            let words = ["update-index", "-z", "--index-info"];
            self.ours("take up what is not read", (top, &words), &environment, &lines)?;
        }
        Ok(self.ours("write a tree", (top, &["write-tree"]), &environment, &[])?.text())
    }

    /// What of the user's own working copy its files do not tell: what a sparse checkout leaves out, which is as in the parent,
    /// and what went through a filter, which nobody runs here, and was not touched since: it is as in the index.
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
            let listed = self.must("list what is left out", user.ask(&["ls-files", "-t", "-z"])?)?;
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

    /// The user's own repository, if this is the working copy that the project lies in and no tree of ours: what lies in the
    /// git folder of a tree is an agent's word.
    fn user_at(&self, top: &Path) -> Result<Option<Repository>, Error> {
        let is_theirs = top == self.top && worktree_registry::tree_at(top)?.is_none();
        Ok(is_theirs.then(|| Repository { tree: top.to_owned(), git: top.join(".git") }))
    }

    /// What is staged in a working copy of the user.
    pub(super) fn staged(&self, user: &Repository) -> Result<Entries, Error> {
        let listed = self.must("list what is staged", user.ask(&["ls-files", "--stage", "-z"])?)?;
        let mut entries = entries_of(&listed.stdout);
        // What is in conflict has no entry.
        entries.retain(|_, entry| entry.ends_with(" 0"));
        Ok(entries)
    }

    /// What the index has at these paths, as far as their files look as they did when git wrote or read them.
    fn untouched(&self, user: &Repository, paths: &BTreeSet<PathBuf>) -> Result<Entries, Error> {
        let words = ["ls-files", "--stage", "--debug", "-z"];
        let listed = self.must("list what is staged", user.ask(&words)?)?;
        let (mut entries, mut before) = (Entries::new(), None::<(PathBuf, String)>);
        // Behind the zero of an entry come lines about its file, and then the next entry.
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

    /// Those of some paths of the user's own working copy that git has a program of the user read and write.
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
        let answer = self.ours("tell what is filtered", (top, &words), &[], &list)?;
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

    /// The index of a working copy that we keep, so that only what changed has to be read again.
    pub(super) fn index_of(&self, top: &Path) -> PathBuf {
        let name = blake3::hash(top.as_os_str().as_bytes()).to_hex();
        self.own.join("indexes").join(&name[..32])
    }

    /// Forgets a working copy that is gone.
    pub fn forget(&self, top: &Path) {
        let index = self.index_of(top);
        // What stays takes a little room, and is looked at by nobody.
        std::fs::remove_file(&index).ok();
        std::fs::remove_file(index.with_extension("door")).ok();
    }
}

/// Whether a file is still as git saw it, by what it noted about it. What is noted in other words is no file of ours.
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

/// One at a time has an index. A process that dies lets go of it, but may leave git's own lock.
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
