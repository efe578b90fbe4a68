//! Brings a working copy from one commit to another, without losing what somebody wrote meanwhile. It can be done again at
//! any time: a file that is there already is left alone.

use std::collections::BTreeMap;
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Error, Keep};
use crate::store::state;

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
    /// `without` are the harness's, and not looked at.
    pub fn bring(&self, top: &Path, from: &str, to: &str, without: &[PathBuf]) -> Result<Brought, Error> {
        let is_theirs = |path: &String| !without.iter().any(|own| Path::new(path).starts_with(own));
        let paths: Vec<String> = self.changed(from, to)?.into_iter().filter(is_theirs).collect();
        if paths.is_empty() {
            return Ok(Brought::Done);
        }
        let now = self.snapshot_tree(top, from, without)?;
        let (all, (now, from, target)) =
            (paths.clone(), (self.files(&now)?, self.files(from)?, self.files(to)?));
        // A link on the way leads elsewhere, unless it goes itself.
        let is_astray = |path: &str| {
            let above = Path::new(path).ancestors().skip(1);
            above.filter(|above| !all.iter().any(|own| Path::new(own) == *above)).any(|above| {
                top.join(above).symlink_metadata().is_ok_and(|data| data.is_symlink())
                    && !above.as_os_str().is_empty()
            })
        };
        let (mut wanted, mut conflicts) = (Vec::new(), Vec::new());
        for path in paths {
            let is = |files: &BTreeMap<String, String>| now.get(&path) == files.get(&path);
            match (is(&target), is(&from)) {
                (true, _) => {}
                (false, _) if is_astray(&path) => conflicts.push(path),
                // What is ignored is in no snapshot, and may lie there all the same.
                (false, true) if now.contains_key(&path) || !is_there(&top.join(&path)) => wanted.push(path),
                (false, _) => conflicts.push(path),
            }
        }
        if !conflicts.is_empty() {
            return Ok(Brought::Conflict { paths: conflicts });
        }
        self.write(top, to, &wanted, &target)?;
        Ok(Brought::Done)
    }

    /// The files of a commit or tree: mode and name of the content by path.
    fn files(&self, commit: &str) -> Result<BTreeMap<String, String>, Error> {
        let answer = self.look("list files", &["ls-tree", "-r", "-z", commit])?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let lines = text.split('\0').filter_map(|line| line.split_once('\t'));
        Ok(lines.map(|(entry, path)| (path.to_owned(), entry.to_owned())).collect())
    }

    /// Each file is laid out elsewhere first and takes its place by a rename: whoever dies meanwhile leaves no half of one.
    fn write(
        &self,
        top: &Path,
        to: &str,
        paths: &[String],
        target: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let stage = self.own.join(format!("stage-{}", std::process::id()));
        state::create_fresh(&stage)?;
        let index = stage.join("index");
        let environment = [("GIT_INDEX_FILE", index.as_os_str())];
        self.ours("read a commit", (top, &["read-tree", to]), &environment, &[])?;
        let mut list = Vec::new();
        for path in paths.iter().filter(|path| target.contains_key(*path)) {
            list.extend_from_slice(path.as_bytes());
            list.push(0);
        }
        let prefix = format!("--prefix={}/files/", stage.display());
        if !list.is_empty() {
            let words = ["checkout-index", "--force", "--quiet", &prefix, "-z", "--stdin"];
            self.ours("lay out files", (top, &words), &environment, &list)?;
        }
        // What goes makes room first: a folder may take the place of a file.
        let (stay, go): (Vec<&String>, Vec<&String>) =
            paths.iter().partition(|path| target.contains_key(*path));
        for path in go {
            let file = top.join(path);
            remove(top, &file).map_err(|source| Error::File { path: file, source })?;
        }
        for path in stay {
            let file = top.join(path);
            replace(&stage.join("files").join(path), &file)
                .map_err(|source| Error::File { path: file, source })?;
        }
        // What can't be removed now is removed by the next one with this number.
        std::fs::remove_dir_all(&stage).ok();
        Ok(())
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
            let told = user.tell(&["update-index", "-z", "--index-info"], &[], &lines)?;
            self.must("bring the index along", told)?;
        }
        // Only what git remembers of times and sizes; it finds that out by itself otherwise.
        user.ask(&["update-index", "-q", "--refresh"])?;
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
    let folder = to.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let fresh = folder.join(format!(".{name}.planwright"));
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
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
