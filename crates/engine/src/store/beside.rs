//! What some dialects keep beside a plan: files that only grow, and files of a few keys. Nothing that an agent lays there may
//! lead the harness elsewhere: it writes where agents can't.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use planwright_core::dialect::Beside;
use planwright_core::frontmatter;

use super::writer::Turn;
use super::{Error, atomic, read_text, save};

/// How much of a file of keys is read.
const KEYS_BYTES_MAX: u64 = 1 << 20;

/// Writes what belongs beside the plan at `plan`.
pub fn keep(plan: &Path, beside: &Beside) -> Result<(), Error> {
    match beside {
        Beside::Append { path, line } => append(&place(plan, path)?, line),
        Beside::Set { path, values } => set(&place(plan, path)?, values),
    }
}

/// Adds a whole line to the end of a file, which is made if it is not there. Many may do so at once.
pub fn append(path: &Path, line: &str) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: path.to_owned(), source };
    let add = || -> io::Result<()> {
        // Held so that a line which somebody left unfinished is ended once.
        let _turn = Turn::at(path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(path)?;
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let start = if last == *b"\n" { "" } else { "\n" };
        // One write: whoever appends without asking us gets no line of theirs into the middle of ours.
        file.write_all(format!("{start}{}\n", line.replace(['\n', '\r'], " ")).as_bytes())?;
        file.sync_all()
    };
    add().map_err(write_error)
}

fn set(path: &Path, values: &[(String, String)]) -> Result<(), Error> {
    let old = match read_text(path, KEYS_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(|source| Error::Read { path: path.to_owned(), source })?),
    };
    let mut new = old.clone().unwrap_or_default();
    for (key, value) in values {
        let unclear = || io::Error::other(format!("`{key}` can't be set there"));
        new = frontmatter::set_in_yaml(&new, key, value)
            .ok_or_else(|| Error::Write { path: path.to_owned(), source: unclear() })?;
    }
    match old {
        Some(old) if old == new => Ok(()),
        Some(old) => save::replace(path, &old, &new),
        None => atomic::create(path, &new),
    }
}

/// Where a path beside a plan leads, without any link on the way.
fn place(plan: &Path, beside: &str) -> Result<PathBuf, Error> {
    let astray = || Error::Astray { path: PathBuf::from(beside) };
    let plan = plan.canonicalize().map_err(|source| super::read_error(plan, source))?;
    let mut folder = plan.parent().ok_or_else(astray)?.to_owned();
    let mut parts: Vec<Component<'_>> = Path::new(beside).components().collect();
    let Some(Component::Normal(file)) = parts.pop() else { return Err(astray()) };
    for (index, part) in parts.into_iter().enumerate() {
        match part {
            Component::ParentDir if index == 0 => folder = folder.parent().ok_or_else(astray)?.to_owned(),
            Component::Normal(name) => folder.push(name),
            Component::ParentDir | Component::Prefix(_) | Component::RootDir | Component::CurDir => {
                return Err(astray());
            }
        }
    }
    let write_error = |source| Error::Write { path: folder.clone(), source };
    std::fs::create_dir_all(&folder).map_err(write_error)?;
    let is_straight = folder.canonicalize().is_ok_and(|real| real == folder);
    let path = folder.join(file);
    if !is_straight || path.is_symlink() {
        return Err(Error::Astray { path });
    }
    Ok(path)
}
