//! Plans that are directories: `plan.md` and the files of `tasks/`, read as one text.

use std::path::{Path, PathBuf};

use planwright_core::dialect::directory::{self, PLAN_FILE as PLAN};
use planwright_core::dialect::{self, Dialect};
use planwright_core::syntax::source::Source;
use planwright_core::verify;

use super::plan_file::{Error, FileText, ReadOptions, read_error, read_file, read_text};
use super::plan_write;

const TASKS: &str = "tasks";
/// The dialect of plans that are directories.
pub(super) const DIALECT: &str = "directory";
/// File extensions of directories written by another tool.
const ENDINGS: &[&str] = &["md", "json", "jsonl"];
const FILES_MAX: usize = 10_000;
/// More of `plan.md` is not read to tell whether it is a plan of its own.
const PLAN_BYTES_MAX: u64 = 1 << 20;

pub(super) fn read(folder: &Path, name: &str, bytes_max: usize) -> Result<FileText, Error> {
    // The files of a plan are replaced one by one: an interrupted write is finished first.
    plan_write::recover(folder).map_err(|source| read_error(folder, source))?;
    let mut paths = Vec::new();
    if folder.join(PLAN).exists() {
        paths.push(PathBuf::from(PLAN));
    }
    if folder.join(TASKS).is_dir() {
        paths.extend(
            names(&folder.join(TASKS), Only::Anything)?.into_iter().map(|name| Path::new(TASKS).join(name)),
        );
    }
    if paths.is_empty() {
        return Err(Error::NotAFile { path: folder.to_owned() });
    }
    bundle(folder, name, paths, bytes_max)
}

/// Reads what another tool wrote: a file, or all files of a directory as one text, for tools that keep one
/// file per task.
pub fn read_foreign(path: &Path, name: &str, reading: ReadOptions) -> Result<FileText, Error> {
    match path.is_dir() && !path.join(PLAN).exists() {
        true => read_bundle(path, name, reading.bytes_max),
        false => super::plan_file::read(&plan_at(path, reading.dialect), name, reading),
    }
}

fn read_bundle(folder: &Path, name: &str, bytes_max: usize) -> Result<FileText, Error> {
    let has_ending =
        |path: &PathBuf| path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    let paths: Vec<PathBuf> = names(folder, Only::Files)?.into_iter().filter(has_ending).collect();
    if paths.is_empty() {
        return Err(Error::NotAFile { path: folder.to_owned() });
    }
    match bundle(folder, name, paths, bytes_max)? {
        FileText::Plan(source) => Ok(FileText::Plan(source.at(folder.to_string_lossy()))),
        unreadable @ FileText::Unreadable(_) => Ok(unreadable),
    }
}

fn bundle(folder: &Path, name: &str, paths: Vec<PathBuf>, bytes_max: usize) -> Result<FileText, Error> {
    let mut left = bytes_max;
    let mut files = Vec::new();
    for path in paths {
        // A directory in place of a file is a part without text: the checker reports it.
        if folder.join(&path).is_dir() {
            files.push((format!("{}/", path.display()), String::new()));
            continue;
        }
        let called = format!("{}/{}", name.trim_end_matches('/'), path.display());
        match read_file(&folder.join(&path), &called, left)? {
            FileText::Plan(source) => {
                left -= source.text().len();
                files.push((path.to_string_lossy().into_owned(), source.text().to_owned()));
            }
            FileText::Unreadable(_) if left < bytes_max && is_larger(&folder.join(&path), left) => {
                return Ok(FileText::Unreadable(verify::too_large(name, bytes_max)));
            }
            unreadable @ FileText::Unreadable(_) => return Ok(unreadable),
        }
    }
    let texts = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    Ok(FileText::Plan(Source::new(name, Source::bundle(texts))))
}

fn is_larger(path: &Path, bytes: usize) -> bool {
    path.metadata().is_ok_and(|data| data.len() > bytes as u64)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    Files,
    Anything,
}

/// The files of a directory, by name. Editor and service files (`.x.swp`) are left out.
fn names(folder: &Path, only: Only) -> Result<Vec<PathBuf>, Error> {
    let entries = folder.read_dir().map_err(|source| read_error(folder, source))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|source| read_error(folder, source))?.file_name();
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        let is_line = !name.as_encoded_bytes().contains(&b'\n');
        let path = folder.join(&name);
        let is_wanted = path.is_file() || only == Only::Anything;
        if !is_hidden && is_line && is_wanted {
            names.push(PathBuf::from(name));
        }
    }
    names.sort_by_cached_key(|name| {
        let name = name.to_string_lossy();
        let (is_misnamed, number, _) = directory::reading_order(&name);
        (is_misnamed, number, name.into_owned())
    });
    names.truncate(FILES_MAX);
    Ok(names)
}

/// The plan that a path belongs to: the directory, for `plan.md` and tasks of a plan that is one.
pub fn plan_at(path: &Path, forced: Option<&'static Dialect>) -> PathBuf {
    let is_named = |path: &Path, name: &str| path.file_name().is_some_and(|known| known == name);
    let folder = path.parent().and_then(|above| match is_named(path, PLAN) {
        true => Some(above),
        false => above.parent().filter(|_| is_named(above, TASKS)),
    });
    match folder {
        Some(folder) if is_folder_plan(folder, forced) => match folder.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => folder.to_owned(),
        },
        Some(_) | None => path.to_owned(),
    }
}

/// Whether a directory is a plan: it has `plan.md` next to `tasks/`, and `plan.md` is not a plan of its own.
fn is_folder_plan(folder: &Path, forced: Option<&'static Dialect>) -> bool {
    if forced.is_some_and(|dialect| dialect.name != DIALECT) {
        return false;
    }
    let plan = folder.join(PLAN);
    if !folder.join(TASKS).is_dir() || !plan.is_file() {
        return false;
    }
    let text = read_text(&plan, PLAN_BYTES_MAX).unwrap_or_default();
    (dialect::NATIVE.recognises)(&plan.to_string_lossy(), &text).is_none()
}
