//! The contents of a workspace: its files, and one hash over all of them.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::base::{Error, Home, asked};
use crate::store::state_dir;
use crate::system::clock;
use crate::system::walk;

/// The file with known hashes, in the state directory.
const KNOWN: &str = "tree-cache";
/// The most that is read to hash a workspace for the first time; unchanged files are not read again. A disk reads that in a minute.
pub(super) const BYTES_MAX: u64 = 16 << 30;
/// A file that changed this shortly before it was read may change again without looking different.
const RACY_MS: i128 = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    File,
    Program,
    /// A link; its target is its content.
    Link,
    /// A pipe, a socket, a device: a name without content.
    Other,
}

impl FileKind {
    fn of(data: &Metadata) -> Self {
        match (data.is_symlink(), data.is_file(), data.permissions().mode() & 0o100 != 0) {
            (true, ..) => Self::Link,
            (_, true, true) => Self::Program,
            (_, true, false) => Self::File,
            (_, false, _) => Self::Other,
        }
    }

    /// The git mode of such a file.
    const fn mode(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Program => "100755",
            Self::Link => "120000",
            Self::Other => "000000",
        }
    }
}

/// The files of a workspace: tracked ones, and untracked ones that are not ignored. Covers the whole
/// repository if the project is part of one.
pub struct TreeFiles {
    top: PathBuf,
    part: PathBuf,
    found: BTreeMap<PathBuf, Metadata>,
}

impl TreeFiles {
    pub fn of(root: &Path) -> Result<Self, Error> {
        Self::by(root, Lists::Git)
    }

    /// Finds them, using these ignore lists.
    pub(crate) fn by(root: &Path, lists: Lists) -> Result<Self, Error> {
        let home = Home::of(root)?;
        let (top, part) = match &home {
            Some(home) => (home.repository.tree.clone(), home.part.clone()),
            None => {
                let top = root.canonicalize();
                (top.map_err(|source| Error::File { path: root.to_owned(), source })?, PathBuf::new())
            }
        };
        let mut found = walked_by(&top, lists)?;
        if let Some(home) = &home {
            // Tracked files count even if a pattern ignores them.
            let answer = asked(&home.repository, "list its files", &["ls-files", "-z", "--cached"])?;
            for path in answer.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty()) {
                let path = Path::new(std::ffi::OsStr::from_bytes(path));
                if !found.contains_key(path)
                    && let Some(data) = at(&top, path)?
                {
                    found.insert(path.to_owned(), data);
                }
            }
        }
        Ok(Self { top, part, found })
    }

    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The project's path in it; empty at its root.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Their paths below it, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.found.keys().map(PathBuf::as_path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Path, FileKind)> {
        self.found.iter().map(|(path, data)| (path.as_path(), FileKind::of(data)))
    }
}

/// Whose ignore lists count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lists {
    /// All that git uses.
    Git,
    /// All but the one in the repository's own git directory: in a worktree, agents write that one.
    Trusted,
    /// Only the project's `.gitignore` files: the others are not part of it and mean nothing to a reviewer.
    Project,
}

/// The files below a directory that git would not ignore, relative to it.
pub(crate) fn walked(top: &Path) -> Result<BTreeMap<PathBuf, Metadata>, Error> {
    walked_by(top, Lists::Git)
}

fn walked_by(top: &Path, lists: Lists) -> Result<BTreeMap<PathBuf, Metadata>, Error> {
    // Our own walk: git would call monitors and filters, and stops at nested repositories.
    let build = |folder: &Path| by_lists(folder, lists);
    let (mut found, mut failed) = (BTreeMap::new(), None);
    walk::over(top, build, &mut |walk| {
        for entry in walk.build() {
            match seen(top, &entry) {
                Ok(file) => found.extend(file),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
    });
    failed.map_or(Ok(found), Err)
}

/// A file that a walk meets; `None` for a directory, and for a file that has vanished.
fn seen(
    top: &Path,
    entry: &Result<ignore::DirEntry, ignore::Error>,
) -> Result<Option<(PathBuf, Metadata)>, Error> {
    let (path, fault, is_closed) = match entry {
        Ok(entry) => (Some(entry.path()), entry.error(), false),
        // A directory that this user may not list is a name without content.
        Err(error) => (path_in(error), Some(error), error.io_error().is_some_and(is_denied)),
    };
    if let Some(fault) = fault.and_then(|error| fault_in(error, path.unwrap_or(top))) {
        return Err(fault);
    }
    let Some(path) = path else { return Ok(None) };
    let data = known(path, path.symlink_metadata())?.filter(|data| is_closed || !data.is_dir());
    Ok(path.strip_prefix(top).ok().map(Path::to_owned).zip(data))
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// What was found; `None` if there is nothing, or nothing that this user may see. Any other error means that
/// the content of the workspace is unknown.
fn known<T>(path: &Path, found: io::Result<T>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if state_dir::is_absence(&error) => Ok(None),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}

/// The path that an error of a walk is about.
fn path_in(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_in(err),
        ignore::Error::Partial(_)
        | ignore::Error::Loop { .. }
        | ignore::Error::Io(_)
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => None,
    }
}

/// The error of the system in an error of a walk, which may be about an ignore file; `None` if it means that
/// there is nothing to see, or that a line of an ignore file is no pattern.
fn fault_in(error: &ignore::Error, path: &Path) -> Option<Error> {
    match error {
        ignore::Error::Partial(errors) => errors.iter().find_map(|error| fault_in(error, path)),
        ignore::Error::WithPath { path, err } => fault_in(err, path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            fault_in(err, path)
        }
        ignore::Error::Io(error) => {
            let source = error.raw_os_error().map(io::Error::from_raw_os_error)?;
            (!state_dir::is_absence(&source)).then(|| Error::File { path: path.to_owned(), source })
        }
        ignore::Error::Loop { .. }
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => None,
    }
}

/// The files below a directory that only the ignore list in its own git directory ignores.
pub(crate) fn hidden_in(top: &Path) -> Result<Vec<PathBuf>, Error> {
    let seen = walked(top)?;
    Ok(walked_by(top, Lists::Trusted)?.into_keys().filter(|path| !seen.contains_key(path)).collect())
}

/// The nested repositories below a directory, relative to it, that no `.gitignore` ignores.
pub(crate) fn repositories_in(top: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    walk::over(top, |folder| by_lists(folder, Lists::Git), &mut |walk| {
        let inside = walk.build().flatten().map(ignore::DirEntry::into_path);
        let found = inside.filter(|path| path != top && path.join(".git").symlink_metadata().is_ok());
        folders.extend(found.filter_map(|path| path.strip_prefix(top).ok().map(Path::to_owned)));
    });
    folders
}

fn by_lists(folder: &Path, lists: Lists) -> WalkBuilder {
    let mut build = WalkBuilder::new(folder);
    build.hidden(false).ignore(false).parents(false).require_git(false);
    build.git_exclude(lists == Lists::Git).git_global(lists != Lists::Project);
    build
}

/// The file at a path, unless a link on the way leads elsewhere.
fn at(top: &Path, path: &Path) -> Result<Option<Metadata>, Error> {
    let mut way = top.to_owned();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        way.push(part);
        let Some(data) = known(&way, way.symlink_metadata())? else { return Ok(None) };
        match parts.peek() {
            None => return Ok(Some(data).filter(|data| !data.is_dir())),
            Some(_) if data.is_dir() => {}
            Some(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// The hash of the workspace without the files and directories `without` (relative to the root), which
/// planwright writes itself: the plan, and what its dialect keeps next to it.
///
/// It is blake3 over one line per file in path order: the git mode (100644, 100755, 120000), the blake3 of
/// the content (for a link, its target), the path, a zero byte; preceded by the project's path in its
/// repository. The files are the tracked ones, and untracked ones that are not ignored. Nothing of the
/// machine is included: no time, no owner, no location. A known hash is reused if size, times and inode are
/// unchanged; the change time of an inode cannot be set back by someone who may only write to the file.
pub fn tree_of_workspace(root: &Path, without: &[PathBuf]) -> Result<String, Error> {
    let files = TreeFiles::of(root)?;
    let folder = state_dir::of_project(root)?;
    let known = Known::read(&folder);
    let mut now = Known { hashes: BTreeMap::new(), at_ms: i128::from(clock::now()) };
    let without: Vec<PathBuf> = without.iter().map(|path| files.part.join(path)).collect();
    let mut whole = blake3::Hasher::new();
    whole.update(files.part.as_os_str().as_bytes()).update(&[0]);
    let counted =
        || files.found.iter().filter(|(path, _)| !without.iter().any(|left_out| path.starts_with(left_out)));
    check_size(&files.top, counted().filter(|(path, data)| known.get(path, &Look::of(data)).is_none()))?;
    for (path, data) in counted() {
        let look = Look::of(data);
        let full = files.top.join(path);
        let hash = match known.get(path, &look) {
            Some(hash) => hash,
            None => match content(&full, FileKind::of(data)) {
                Ok(hash) => hash,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(Error::File { path: full, source }),
            },
        };
        let line = format!("{} {} ", FileKind::of(data).mode(), hash.to_hex());
        whole.update(line.as_bytes()).update(path.as_os_str().as_bytes()).update(&[0]);
        now.hashes.insert(path.clone(), (look, hash));
    }
    if now.hashes != known.hashes {
        // Without it every file is read again next time; nothing else is lost.
        now.write(&folder).ok();
    }
    Ok(whole.finalize().to_hex().to_string())
}

/// Refuses what would take hours to read: a sparse file takes no space and has any size. Nothing is left out of a
/// hash, or a verdict would not be about the tree that is there.
pub(super) fn check_size<'a>(
    top: &Path,
    files: impl Iterator<Item = (&'a PathBuf, &'a Metadata)>,
) -> Result<(), Error> {
    let (mut bytes, mut largest) = (0_u64, None::<(&PathBuf, u64)>);
    for (path, data) in files.filter(|(_, data)| data.is_file()) {
        bytes = bytes.saturating_add(data.len());
        if largest.is_none_or(|(_, most)| data.len() > most) {
            largest = Some((path, data.len()));
        }
    }
    match largest {
        Some((path, most)) if bytes > BYTES_MAX => {
            Err(Error::TooLarge { path: top.join(path), gibibytes: most >> 30, all: bytes >> 30 })
        }
        Some(_) | None => Ok(()),
    }
}

fn content(path: &Path, kind: FileKind) -> io::Result<blake3::Hash> {
    match kind {
        FileKind::Link => Ok(blake3::hash(std::fs::read_link(path)?.as_os_str().as_bytes())),
        FileKind::Other => Ok(blake3::hash(b"")),
        FileKind::File | FileKind::Program => {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(File::open(path)?)?;
            Ok(hasher.finalize())
        }
    }
}

/// The metadata of a file. The change time of an inode cannot be set back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
    mode: u32,
}

impl Look {
    /// The same for a directory whatever is in it.
    pub(super) fn without_entries(self, data: &Metadata) -> Self {
        match data.is_dir() {
            true => Self { size: 0, modified_ns: 0, changed_ns: 0, ..self },
            false => self,
        }
    }

    pub(super) fn of(data: &Metadata) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            size: data.size(),
            modified_ns: nanoseconds(data.mtime(), data.mtime_nsec()),
            changed_ns: nanoseconds(data.ctime(), data.ctime_nsec()),
            inode: data.ino(),
            mode: data.mode(),
        }
    }
}

/// The hashes known from the last time.
#[derive(Default)]
struct Known {
    hashes: BTreeMap<PathBuf, (Look, blake3::Hash)>,
    at_ms: i128,
}

impl Known {
    fn get(&self, path: &Path, look: &Look) -> Option<blake3::Hash> {
        let (known, hash) = self.hashes.get(path)?;
        let latest_ms = known.changed_ns.max(known.modified_ns) / 1_000_000;
        (known == look && latest_ms + RACY_MS < self.at_ms).then_some(*hash)
    }

    /// A file that is not as we wrote it is ignored.
    fn read(folder: &Path) -> Self {
        let bytes = std::fs::read(folder.join(KNOWN)).unwrap_or_default();
        Self::of(&bytes).unwrap_or_default()
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.split(|&byte| byte == 0);
        let at_ms = std::str::from_utf8(lines.next()?).ok()?.parse().ok()?;
        let mut hashes = BTreeMap::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let mut words = line.splitn(7, |&byte| byte == b' ');
            let mut word = || std::str::from_utf8(words.next()?).ok();
            let hash = blake3::Hash::from_hex(word()?).ok()?;
            let look = Look {
                size: word()?.parse().ok()?,
                modified_ns: word()?.parse().ok()?,
                changed_ns: word()?.parse().ok()?,
                inode: word()?.parse().ok()?,
                mode: word()?.parse().ok()?,
            };
            hashes.insert(PathBuf::from(std::ffi::OsStr::from_bytes(words.next()?)), (look, hash));
        }
        Some(Self { hashes, at_ms })
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        let mut bytes = self.at_ms.to_string().into_bytes();
        bytes.push(0);
        for (path, (look, hash)) in &self.hashes {
            let Look { size, modified_ns, changed_ns, inode, mode } = look;
            let hash = hash.to_hex();
            write!(bytes, "{hash} {size} {modified_ns} {changed_ns} {inode} {mode} ")?;
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        state_dir::keep(folder, KNOWN, &bytes).map_err(io::Error::other)
    }
}
