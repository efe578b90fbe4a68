//! Copies files that a worktree needs and no commit contains, such as environment files and dependencies.
//! Only files that git ignores, never through a link, never over an existing file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Error;
use crate::git::base;
use crate::store::plan_file;

/// The pattern file at the top of a repository, which other tools read as well.
const FILE: &str = ".worktreeinclude";
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The most files copied into a worktree, and the most examined for that.
const FILES_MAX: usize = 1_000_000;
/// Directories that tools fill: they are copied as a whole or not at all.
const FILLED: &[&str] = &["target", "node_modules", "__pycache__", ".venv"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Copied {
    /// Files and directories, relative to the top of the worktree. A directory is named without its contents.
    pub(super) paths: Vec<PathBuf>,
    /// What matched but is not copied, and why.
    pub(super) left_out: Vec<(PathBuf, &'static str)>,
}

/// Copies what the patterns name from the repository of `root` to the worktree at `folder`.
pub(super) fn copy(root: &Path, patterns: &[String], folder: &Path) -> Result<Copied, Error> {
    let mut copied = Copied::default();
    let Some(repository) = base::repository(root)? else { return Ok(copied) };
    let top = repository.tree.as_path();
    let list = List::of(top, root, patterns)?;
    if list.is_empty() {
        return Ok(copied);
    }
    let mut work = Work { top, folder, list: &list, copied: &mut copied, count: 0 };
    for path in ignored(&repository)? {
        work.see(&path)?;
    }
    Ok(copied)
}

/// What git ignores in a repository: files, and directories unknown to it.
fn ignored(repository: &crate::system::process::Repository) -> Result<BTreeSet<PathBuf>, Error> {
    let words = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let answer = repository.ask(&words).map_err(base::Error::from)?;
    if answer.code != Some(0) {
        let said = answer.stderr.lines().next().unwrap_or_default().to_owned();
        return Err(
            base::Error::Git { act: "list ignored files", tree: repository.tree.clone(), said }.into()
        );
    }
    let paths = answer.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path)))).collect())
}

/// The patterns, each with its directory.
struct List(Vec<Gitignore>);

impl List {
    fn of(top: &Path, root: &Path, patterns: &[String]) -> Result<Self, Error> {
        let file = top.join(FILE);
        let is_file = file.symlink_metadata().is_ok_and(|data| data.is_file());
        let text = match is_file {
            true => plan_file::read_text(&file, FILE_BYTES_MAX)
                .map_err(|source| Error::File { path: file.clone(), source })?,
            false => String::new(),
        };
        let shared = built(top, text.lines())?;
        Ok(Self(vec![shared, built(root, patterns.iter().map(String::as_str))?]))
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(Gitignore::is_empty)
    }

    /// Whether a path matches, itself or by a parent directory.
    fn names(&self, path: &Path, data: &Metadata) -> bool {
        let within = |rules: &&Gitignore| path.starts_with(rules.path());
        let mut all = self.0.iter().filter(within);
        all.any(|rules| matches!(rules.matched_path_or_any_parents(path, data.is_dir()), Match::Ignore(_)))
    }

    /// Whether a path in a matching directory is explicitly excluded.
    fn leaves_out(&self, path: &Path, data: &Metadata) -> bool {
        let within = |rules: &&Gitignore| path.starts_with(rules.path());
        let mut all = self.0.iter().filter(within);
        all.any(|rules| matches!(rules.matched(path, data.is_dir()), Match::Whitelist(_)))
    }
}

fn built<'a>(folder: &Path, lines: impl Iterator<Item = &'a str>) -> Result<Gitignore, Error> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in lines {
        let pattern = |source| Error::Pattern { pattern: line.to_owned(), source };
        builder.add_line(None, line).map_err(pattern)?;
    }
    builder.build().map_err(|source| Error::Pattern { pattern: String::new(), source })
}

struct Work<'a> {
    top: &'a Path,
    folder: &'a Path,
    list: &'a List,
    copied: &'a mut Copied,
    count: usize,
}

impl Work<'_> {
    /// Visits an ignored path, and copies it or its matching contents.
    fn see(&mut self, path: &Path) -> Result<(), Error> {
        let from = self.top.join(path);
        // A file that vanishes meanwhile is not there.
        let Ok(data) = from.symlink_metadata() else { return Ok(()) };
        if self.list.names(&from, &data) {
            if !data.is_dir() {
                if self.one(path)? {
                    self.copied.paths.push(path.to_owned());
                }
            } else if from.join(".git").symlink_metadata().is_ok() {
                self.leave_out(path, "it is a repository");
            } else {
                self.whole(path)?;
            }
            return Ok(());
        }
        let is_filled = path.file_name().is_some_and(|name| FILLED.iter().any(|filled| name == *filled));
        if !data.is_dir() || is_filled {
            return Ok(());
        }
        for name in self.names_in(&from)? {
            self.see(&path.join(name))?;
        }
        Ok(())
    }

    /// Copies a directory with its contents.
    fn whole(&mut self, path: &Path) -> Result<(), Error> {
        let mut folders = vec![path.to_owned()];
        let mut is_any = false;
        while let Some(folder) = folders.pop() {
            for name in self.names_in(&self.top.join(&folder))? {
                let inner = folder.join(name);
                let from = self.top.join(&inner);
                let Ok(data) = from.symlink_metadata() else { continue };
                if self.list.leaves_out(&from, &data) {
                    continue;
                }
                match data.is_dir() {
                    true => folders.push(inner),
                    false => is_any |= self.one(&inner)?,
                }
            }
        }
        if is_any {
            self.copied.paths.push(path.to_owned());
        }
        Ok(())
    }

    /// Copies one file or link; returns whether it did.
    fn one(&mut self, path: &Path) -> Result<bool, Error> {
        let (from, to) = (self.top.join(path), self.folder.join(path));
        let failed = |source| Error::File { path: from.clone(), source };
        let data = match from.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            data => data.map_err(failed)?,
        };
        // It came with the commit, or an earlier try: files in a worktree are the worktree's own.
        if to.symlink_metadata().is_ok() {
            return Ok(false);
        }
        if let Some(above) = path.parent() {
            match plan_file::folder_within(self.folder, above) {
                Err(plan_file::Error::Astray { .. }) => {
                    self.leave_out(path, "a link with this name exists in the worktree");
                    return Ok(false);
                }
                made => made?,
            };
        }
        if data.is_symlink() {
            let target = std::fs::read_link(&from).map_err(failed)?;
            if !stays_within(path, &target) {
                self.leave_out(path, "it is a link that leaves the workspace");
                return Ok(false);
            }
            symlink(target, &to).map_err(failed)?;
        } else if data.is_file() {
            duplicate(&from, &to).map_err(failed)?;
        } else {
            self.leave_out(path, "not a file");
            return Ok(false);
        }
        Ok(true)
    }

    fn leave_out(&mut self, path: &Path, why: &'static str) {
        self.copied.left_out.push((path.to_owned(), why));
    }

    fn names_in(&mut self, folder: &Path) -> Result<Vec<std::ffi::OsString>, Error> {
        let failed = |source| Error::File { path: folder.to_owned(), source };
        let entries = folder.read_dir().map_err(failed)?;
        let mut names =
            entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<Vec<_>>>();
        if let Ok(names) = &mut names {
            names.retain(|name| name != ".git");
            names.sort();
            self.count += names.len();
        }
        match self.count > FILES_MAX {
            true => Err(failed(io::Error::other(format!("more than {FILES_MAX} files to copy")))),
            false => names.map_err(failed),
        }
    }
}

/// Whether a link at a path below a directory stays below it, by its text alone.
fn stays_within(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return false,
            Component::CurDir => {}
            Component::ParentDir if depth == 0 => return false,
            Component::ParentDir => depth -= 1,
            Component::Normal(name) if name == ".git" => return false,
            Component::Normal(_) => depth += 1,
        }
    }
    true
}

/// A separate file with the same content and mode. With a hard link, the worktree would write into the
/// workspace.
pub(super) fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    let mut open = OpenOptions::new();
    // A link or a pipe may have replaced it meanwhile.
    open.read(true).custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK);
    let mut source = open.open(from)?;
    let data = source.metadata()?;
    if !data.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    // Secrets are copied: nobody else may read them before the mode is set.
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut target)?;
    target.set_permissions(Permissions::from_mode(data.permissions().mode() & 0o777))
}
