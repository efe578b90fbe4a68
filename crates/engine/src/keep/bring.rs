//! Brings a working copy from one commit to another, without losing what somebody wrote meanwhile. It can be done again at
//! any time: a file that is there already is left alone.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Error, Keep};
use crate::store::state;

/// The mode of an entry that is another repository.
const ANOTHER: &str = "160000";
/// How files are called that are about to take the place of others.
pub(super) const FRESH: (&str, &str) = (".planwright.", ".fresh");

/// What is to be written, and what was seen of it.
#[derive(Default)]
struct Way {
    /// The paths to be written or removed.
    wanted: Vec<String>,
    /// The paths that are in the way.
    conflicts: Vec<String>,
    /// What lay at each path before it was read.
    seen: BTreeMap<String, Option<Look>>,
    /// What is wanted at each path.
    target: BTreeMap<String, String>,
}

/// What a file looks like from outside.
#[derive(PartialEq, Eq)]
struct Look {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Look {
    fn of(path: &Path) -> Option<Self> {
        let data = path.symlink_metadata().ok()?;
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
    /// Nothing was written: at these paths lies what is in neither commit.
    Conflict {
        /// The paths, relative to the top of the working copy.
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
        if way.wanted.is_empty() {
            return Ok(Brought::Done);
        }
        match self.write(top, to, &way)? {
            None => Ok(Brought::Done),
            Some(path) => Ok(Brought::Conflict { paths: vec![path] }),
        }
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
        let is_theirs = |path: &String| !without.iter().any(|own| Path::new(path).starts_with(own));
        let (from_files, target) = (self.files(from)?, self.files(to)?);
        let is_file = |path: &String| {
            let is_other = |files: &BTreeMap<String, String>| {
                files.get(path).is_some_and(|entry| entry.starts_with(ANOTHER))
            };
            !is_other(&from_files) && !is_other(&target)
        };
        let paths = self.changed(from, to)?.into_iter().filter(is_theirs).filter(is_file);
        let paths: Vec<String> = paths.collect();
        if paths.is_empty() {
            return Ok(Way::default());
        }
        // Before the files are read: what is edited from here on looks different when it is to be written over.
        let seen: BTreeMap<String, Option<Look>> =
            paths.iter().map(|path| (path.clone(), Look::of(&top.join(path)))).collect();
        let now = self.files(&self.snapshot_tree(top, from, without)?)?;
        // A link on the way leads elsewhere, unless it goes itself.
        let is_astray = |path: &str| {
            let above = Path::new(path).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            let stays = above.filter(|above| !paths.iter().any(|own| Path::new(own) == *above));
            stays
                .into_iter()
                .any(|above| top.join(above).symlink_metadata().is_ok_and(|data| data.is_symlink()))
        };
        let mut way = Way { seen, target: target.clone(), ..Way::default() };
        for path in paths.clone() {
            let is = |files: &BTreeMap<String, String>| now.get(&path) == files.get(&path);
            match (is(&target), is(&from_files)) {
                (true, _) => {}
                (false, _) if is_astray(&path) => way.conflicts.push(path),
                // What is ignored is in no snapshot, and may lie there all the same.
                (false, true) if now.contains_key(&path) || !is_there(&top.join(&path)) => {
                    way.wanted.push(path);
                }
                (false, _) => way.conflicts.push(path),
            }
        }
        Ok(way)
    }

    /// The files of a commit or tree: mode and name of the content by path.
    fn files(&self, commit: &str) -> Result<BTreeMap<String, String>, Error> {
        let answer = self.look("list files", &["ls-tree", "-r", "-z", commit])?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let lines = text.split('\0').filter_map(|line| line.split_once('\t'));
        Ok(lines.map(|(entry, path)| (path.to_owned(), entry.to_owned())).collect())
    }

    /// Each file is laid out elsewhere first and takes its place by a rename: whoever dies meanwhile leaves no half of one.
    /// Returns a file that somebody changed meanwhile, if there is one; from there on nothing is written.
    fn write(&self, top: &Path, to: &str, way: &Way) -> Result<Option<String>, Error> {
        let stage = self.own.join(format!("stage-{}", std::process::id()));
        state::create_fresh(&stage)?;
        let index = stage.join("index");
        let environment = [("GIT_INDEX_FILE", index.as_os_str())];
        self.ours("read a commit", (top, &["read-tree", to]), &environment, &[])?;
        let (stay, go): (Vec<&String>, Vec<&String>) =
            way.wanted.iter().partition(|path| way.target.contains_key(*path));
        let list: Vec<u8> = stay.iter().flat_map(|path| path.bytes().chain([0])).collect();
        let prefix = format!("--prefix={}/files/", stage.display());
        if !list.is_empty() {
            let words = ["checkout-index", "--force", "--quiet", &prefix, "-z", "--stdin"];
            self.ours("lay out files", (top, &words), &environment, &list)?;
        }
        let is_changed = |path: &String| way.seen.get(path) != Some(&Look::of(&top.join(path)));
        let mut changed = None;
        // What goes makes room first: a folder may take the place of a file.
        for path in go.into_iter().chain(stay) {
            if is_changed(path) {
                changed = Some(path.clone());
                break;
            }
            let file = top.join(path);
            let done = match way.target.contains_key(path) {
                true => replace(&stage.join("files").join(path), &file),
                false => remove(top, &file),
            };
            done.map_err(|source| Error::File { path: file, source })?;
        }
        // What can't be removed now is removed by the next one with this number.
        std::fs::remove_dir_all(&stage).ok();
        Ok(changed)
    }

    /// The same for the index of the user's own working copy, once its branch has moved: entries that were those of the
    /// one commit are now those of the other. What somebody staged stays staged.
    pub fn bring_index(&self, top: &Path, from: &str, to: &str) -> Result<(), Error> {
        let user = crate::process::Repository { tree: top.to_owned(), git: top.join(".git") };
        let listed = self.must("list what is staged", user.ask(&["ls-files", "--stage", "-z"])?)?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let staged: BTreeMap<&str, &str> = text
            .split('\0')
            .filter_map(|line| line.split_once('\t'))
            .map(|(entry, path)| (path, entry))
            .collect();
        let (from_files, target) = (self.files(from)?, self.files(to)?);
        let words_of = |entry: &str| -> Option<(String, String)> {
            let mut words = entry.split(' ');
            let (mode, name) = (words.next()?, words.next()?);
            let name = if name.len() < 40 { words.next()? } else { name };
            Some((mode.to_owned(), name.to_owned()))
        };
        let nothing = "0".repeat(to.len());
        let mut lines = Vec::new();
        for path in self.changed(from, to)? {
            let is = staged.get(path.as_str()).and_then(|entry| words_of(entry));
            if is != from_files.get(&path).and_then(|entry| words_of(entry)) {
                continue;
            }
            match target.get(&path) {
                Some(entry) => lines.extend_from_slice(format!("{entry}\t{path}\0").as_bytes()),
                None => lines.extend_from_slice(format!("0 {nothing}\t{path}\0").as_bytes()),
            }
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

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
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

/// Puts a copy of a file or a link in the place of another.
#[expect(clippy::disallowed_methods, reason = "writes what landed into a working copy, never a plan")]
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let folder = to.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
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
