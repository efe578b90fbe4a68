//! What lies in a working copy, as a commit. Neither the working copy's git folder nor its configuration is asked: an agent
//! may have written both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::bring::FRESH;
use super::{Error, Keep};
use crate::base::walked;
use crate::store::state;

/// The mode of an entry that is another repository.
const ANOTHER: &str = "160000";

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
        let others: Vec<&PathBuf> =
            known.iter().filter(|(_, entry)| entry.starts_with(ANOTHER)).map(|(path, _)| path).collect();
        let is_left_out = |path: &Path| {
            without.iter().any(|own| path.starts_with(own)) || others.iter().any(|own| path.starts_with(own))
        };
        let mut found = walked(top);
        // A pipe or a socket is no content, and reading it could take for ever. What a dead harness was about to put in its
        // place is nobody's work.
        let is_ours =
            |name: &[u8]| name.starts_with(FRESH.0.as_bytes()) && name.ends_with(FRESH.1.as_bytes());
        found.retain(|path, data| {
            let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
            (data.is_file() || data.is_symlink()) && !is_ours(name)
        });
        let paths: BTreeSet<&PathBuf> = known.keys().chain(found.keys()).collect();
        let mut list = Vec::new();
        for path in paths.into_iter().filter(|path| !is_left_out(path)) {
            list.extend_from_slice(path.as_os_str().as_bytes());
            list.push(0);
        }
        if !list.is_empty() {
            let words = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            self.ours("take up what lies in the tree", (top, &words), &environment, &list)?;
        }
        self.restore(top, parent, without, (&known, &environment))?;
        Ok(self.ours("write a tree", (top, &["write-tree"]), &environment, &[])?.text())
    }

    /// Puts what the parent has into the index for the paths that are left out.
    fn restore(
        &self,
        top: &Path,
        parent: &str,
        without: &[PathBuf],
        (known, environment): (&BTreeMap<PathBuf, String>, &[(&str, &std::ffi::OsStr)]),
    ) -> Result<(), Error> {
        if without.is_empty() {
            return Ok(());
        }
        let theirs = self.entries(top, &["ls-tree", "-r", "-z", parent], environment)?;
        let is_left_out = |path: &&PathBuf| without.iter().any(|own| path.starts_with(own));
        let nothing = "0".repeat(parent.len());
        let mut lines = Vec::new();
        for path in known.keys().filter(is_left_out).filter(|path| !theirs.contains_key(*path)) {
            lines.extend_from_slice(format!("0 {nothing}\t").as_bytes());
            lines.extend_from_slice(path.as_os_str().as_bytes());
            lines.push(0);
        }
        for (path, entry) in theirs.iter().filter(|(path, _)| is_left_out(path)) {
            lines.extend_from_slice(entry.as_bytes());
            lines.push(b'\t');
            lines.extend_from_slice(path.as_os_str().as_bytes());
            lines.push(0);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let words = ["update-index", "-z", "--index-info"];
        self.ours("leave out what is the harness's", (top, &words), environment, &lines).map(drop)
    }

    /// Entries of a tree or an index by path, in the words in which they can be given back.
    fn entries(
        &self,
        top: &Path,
        words: &[&str],
        environment: &[(&str, &std::ffi::OsStr)],
    ) -> Result<BTreeMap<PathBuf, String>, Error> {
        let answer = self.ours("list files", (top, words), environment, &[])?;
        let lines = answer.stdout.split(|&byte| byte == 0);
        let entries = lines.filter_map(|line| {
            let tab = line.iter().position(|&byte| byte == b'\t')?;
            let entry = String::from_utf8_lossy(&line[..tab]).into_owned();
            Some((PathBuf::from(std::ffi::OsStr::from_bytes(&line[tab + 1..])), entry))
        });
        Ok(entries.collect())
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

/// One at a time has an index. A process that dies lets go of it, but may leave git's own lock.
fn locked(index: &Path) -> Result<std::fs::File, Error> {
    let door = index.with_extension("door");
    let failed = |source| Error::File { path: door.clone(), source };
    if let Some(folder) = index.parent() {
        state::create(folder)?;
    }
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&door).map_err(failed)?;
    file.lock().map_err(failed)?;
    std::fs::remove_file(index.with_extension("lock")).ok();
    Ok(file)
}
