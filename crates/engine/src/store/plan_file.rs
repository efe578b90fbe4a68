//! Plan files on disk: reads one consistently, replaces one as a whole. Never half a file, never over a
//! change made in between. The record of what happened is in [`crate::store::journal`].

pub use crate::store::file::{
    ARCHIVE, STAGED, archive, create, create_folder, fill_in, fill_or_create, folder_within, put_private,
};
pub use crate::store::journal::Store;
pub use crate::store::plan_dir::{plan_at, read_foreign};
pub use crate::store::plan_write::{
    create_plan, delete_plan, move_overflow, remove_folder, remove_laid, replace, replace_copy, save, shift,
};
pub use crate::store::random_id::chance;
pub use crate::store::sidecar::{append, keep};

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use crate::store::plan_count;
use planwright_core::dialect::Dialect;
use planwright_core::syntax::source::Source;
use planwright_core::verify::{self, Unreadable};

/// How often a file that changes during the read is read again.
const READ_TRIES: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("file {} not found", path.display())]
    Missing { path: PathBuf },
    /// It is a directory, a pipe or a device.
    #[error("{} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It changed on every read.
    #[error("{} keeps changing while it is read", path.display())]
    Restless { path: PathBuf },
    /// It changed since it was read.
    #[error("{} was changed by {by}: expected {expected}, found {found}", path.display())]
    Moved {
        path: PathBuf,
        /// Who did it, as far as that is known.
        by: String,
        /// What it was when it was read: `version 3`, or the start of its content hash.
        expected: String,
        found: String,
    },
    /// It is a directory, but plans of the forced dialect are files.
    #[error("{} is a directory; a {dialect} plan is a file", path.display())]
    NoFolder { path: PathBuf, dialect: &'static str },
    /// Something could lead out of the plan's directory.
    #[error("{} is a link that leaves the plan's directory", path.display())]
    Astray { path: PathBuf },
    #[error("{} already exists", path.display())]
    Exists { path: PathBuf },
    /// The old file is still there.
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// The file it is about, so that a user interface can show the user's name for it.
    pub fn path_mut(&mut self) -> &mut PathBuf {
        match self {
            Self::Missing { path }
            | Self::NotAFile { path }
            | Self::Read { path, .. }
            | Self::Restless { path }
            | Self::Moved { path, .. }
            | Self::Astray { path }
            | Self::NoFolder { path, .. }
            | Self::Exists { path }
            | Self::Write { path, .. } => path,
        }
    }
}

pub enum FileText {
    /// Text that can be parsed.
    Plan(Source),
    /// Bytes that cannot, and why.
    Unreadable(Box<Unreadable>),
}

#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The maximum size of a plan.
    pub bytes_max: usize,
    /// The forced dialect; otherwise it is detected by content and place.
    pub dialect: Option<&'static Dialect>,
}

/// Whether anything is there, including a dangling link: a new plan cannot be created there.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The name of a plan: its file name without the extension, or the name of its directory.
pub fn name(path: &Path) -> String {
    let path = match path.file_name() {
        Some(_) => path.to_owned(),
        None => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    };
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a plan, a file or a directory; `name` is the user's name for it.
pub fn read(path: &Path, name: &str, reading: ReadOptions) -> Result<FileText, Error> {
    plan_count::count_read();
    let is_folder = path.is_dir();
    if let Some(dialect) =
        reading.dialect.filter(|dialect| is_folder && dialect.name != crate::store::plan_dir::DIALECT)
    {
        return Err(Error::NoFolder { path: path.to_owned(), dialect: dialect.name });
    }
    let text = match is_folder {
        true => crate::store::plan_dir::read(path, name, reading.bytes_max)?,
        false => read_file(path, name, reading.bytes_max)?,
    };
    // A plan's real path tells more than the path it was given by.
    let place = path.canonicalize().map_err(|source| read_error(path, source))?;
    Ok(match text {
        FileText::Plan(source) => {
            FileText::Plan(source.at(place.to_string_lossy()).recognised(reading.dialect))
        }
        unreadable @ FileText::Unreadable(_) => unreadable,
    })
}

pub(super) fn read_file(path: &Path, name: &str, bytes_max: usize) -> Result<FileText, Error> {
    for _ in 0..READ_TRIES {
        let before = stamp(path)?;
        let bytes = bytes(path, bytes_max)?;
        // File system clocks may be too coarse to distinguish two states: the length must match as well.
        let is_whole = bytes.len() as u64 == before.length.min((bytes_max as u64).saturating_add(1));
        if before != stamp(path)? || !is_whole {
            continue;
        }
        return Ok(match before.length {
            length if length > bytes_max as u64 => FileText::Unreadable(verify::too_large(name, bytes_max)),
            _ => text(name, bytes),
        });
    }
    Err(Error::Restless { path: path.to_owned() })
}

/// Reads a plan from a stream that cannot be read twice, such as stdin.
pub fn read_stream(stream: &mut dyn Read, name: &str, reading: ReadOptions) -> io::Result<FileText> {
    plan_count::count_read();
    let bytes_max = reading.bytes_max;
    let mut bytes = Vec::new();
    let length = stream.take((bytes_max as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(match length {
        length if length > bytes_max => FileText::Unreadable(verify::too_large(name, bytes_max)),
        _ => match text(name, bytes) {
            FileText::Plan(source) => FileText::Plan(source.recognised(reading.dialect)),
            unreadable @ FileText::Unreadable(_) => unreadable,
        },
    })
}

/// Reads a file that is not a plan, up to `bytes_max`. Never blocks on a pipe.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read_bytes(path, bytes_max)?).map_err(io::Error::other)
}

/// The bytes of a regular file, up to `bytes_max`. Never blocks.
pub fn read_bytes(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last `bytes_max` of a regular file that anyone may have written: invalid text is replaced.
pub(crate) fn read_end(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut file = open_regular(path)?;
    let start = file.metadata()?.len().saturating_sub(bytes_max);
    file.seek(io::SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn open_regular(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// Reads a file or pipe named by the user, up to `bytes_max`.
pub fn read_stream_at(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(bytes_max).read_to_string(&mut text)?;
    Ok(text)
}

fn text(name: &str, bytes: Vec<u8>) -> FileText {
    match verify::read(name, bytes) {
        Ok(source) => FileText::Plan(source),
        Err(unreadable) => FileText::Unreadable(unreadable),
    }
}

/// Distinguishes states of a file without reading it.
#[derive(PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<std::time::SystemTime>,
    inode: u64,
}

fn stamp(path: &Path) -> Result<Stamp, Error> {
    use std::os::unix::fs::MetadataExt;
    // Opening a pipe without a writer would block: look first.
    let data = path.metadata().map_err(|source| read_error(path, source))?;
    if !data.is_file() {
        return Err(Error::NotAFile { path: path.to_owned() });
    }
    Ok(Stamp { length: data.len(), modified: data.modified().ok(), inode: data.ino() })
}

/// The first bytes of a file, at most one more than allowed.
fn bytes(path: &Path, bytes_max: usize) -> Result<Vec<u8>, Error> {
    let file = File::open(path).map_err(|source| read_error(path, source))?;
    let mut bytes = Vec::new();
    file.take((bytes_max as u64).saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|source| read_error(path, source))?;
    Ok(bytes)
}

pub(super) fn read_error(path: &Path, source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::NotFound {
        Error::Missing { path: path.to_owned() }
    } else {
        Error::Read { path: path.to_owned(), source }
    }
}
