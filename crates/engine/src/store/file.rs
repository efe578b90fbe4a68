//! Creates and replaces files: whole or not at all.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use super::plan_file::Error;

/// The directory of archived plans. They are found by path only.
pub const ARCHIVE: &str = "archive";

/// The directory of shelved plans. They are found by path only, and never run.
pub const STAGED: &str = "queued-plans";

/// Creates a new file with its directories. Never overwrites an existing one.
pub fn create(path: &Path, text: &str) -> Result<(), Error> {
    let write_error = |source: io::Error| match source.kind() == io::ErrorKind::AlreadyExists {
        true => Error::Exists { path: path.to_owned() },
        false => Error::Write { path: path.to_owned(), source },
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(write_error)?;
    }
    // The name is claimed first; if writing fails, the claim is withdrawn, so that nothing half written
    // stays.
    let claim = OpenOptions::new().write(true).create_new(true).open(path).map_err(write_error)?;
    drop(claim);
    put(path, text).map_err(|source| {
        // The first error is reported: an empty file that cannot be removed either matters less.
        std::fs::remove_file(path).ok();
        write_error(source)
    })
}

/// Creates a file with its directories, or replaces it. Never follows a link.
pub fn fill_or_create(path: &Path, text: &str) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(data) if data.is_file() => {
            put(path, text).map_err(|source| Error::Write { path: path.to_owned(), source })
        }
        Ok(_) => Err(Error::Astray { path: path.to_owned() }),
        Err(_) => create(path, text),
    }
}

/// Creates a directory below another, and returns its path. None of the directories on the way may be a link.
pub fn folder_within(root: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let mut path = root.to_owned();
    for part in folder.components() {
        path.push(part);
        match path.symlink_metadata() {
            Ok(data) if data.is_dir() => {}
            Ok(_) => return Err(Error::Astray { path }),
            Err(_) => create_folder(&path)?,
        }
    }
    Ok(path)
}

/// Creates a new directory. An existing one is an error.
pub fn create_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir(path).map_err(|source| match source.kind() == io::ErrorKind::AlreadyExists {
        true => Error::Exists { path: path.to_owned() },
        false => Error::Write { path: path.to_owned(), source },
    })
}

/// Moves a plan into the directory `archive/` next to it. Never over an existing one.
pub fn archive(path: &Path) -> Result<PathBuf, Error> {
    let write_error = |source| Error::Write { path: path.to_owned(), source };
    let real = path.canonicalize().map_err(write_error)?;
    let folder = real.parent().unwrap_or(Path::new("/")).join(ARCHIVE);
    std::fs::create_dir_all(&folder).map_err(write_error)?;
    // A link would lead out of the plan's directory.
    if folder.canonicalize().map_err(write_error)? != folder {
        return Err(Error::Astray { path: folder });
    }
    let to = folder.join(real.file_name().unwrap_or_default());
    let exists = || Error::Exists { path: to.clone() };
    if real.is_dir() {
        if to.exists() {
            return Err(exists());
        }
        rename(&real, &to).map_err(write_error)?;
        return Ok(to);
    }
    // Unlike a rename, a second name never replaces another file.
    std::fs::hard_link(&real, &to).map_err(|source| match source.kind() == io::ErrorKind::AlreadyExists {
        true => exists(),
        false => write_error(source),
    })?;
    std::fs::remove_file(&real).map_err(write_error)?;
    Ok(to)
}

/// Moves a file or a directory to a free path in one atomic operation: it is never in both places, or in
/// none. On a file system that needs two operations, the same call finishes an interrupted one.
pub(super) fn shift(from: &Path, to: &Path) -> io::Result<()> {
    match rename_to_nothing(from, to) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            shift_in_two(from, to)?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && are_one(from, to) => {
            std::fs::remove_file(from)?;
        }
        moved => moved?,
    }
    for folder in [from, to].into_iter().filter_map(Path::parent) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// No other system can do this in one act.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_to_nothing(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn shift_in_two(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        return match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => rename(from, to),
        };
    }
    std::fs::hard_link(from, to)?;
    std::fs::remove_file(from)
}

/// Whether two paths are the same file.
fn are_one(one: &Path, other: &Path) -> bool {
    let node = |path: &Path| path.symlink_metadata().map(|data| (data.dev(), data.ino(), data.is_file()));
    matches!((node(one), node(other)), (Ok(one), Ok(other)) if one == other && one.2)
}

/// Writes to a file that was created for this and has no other writer, such as git's merge result.
pub fn fill_in(path: &Path, text: &str) -> Result<(), Error> {
    // A bare name has no directory to sync.
    let written = path.canonicalize().and_then(|real| put(&real, text));
    written.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Replaces an existing file, keeping its mode and, where allowed, its owner.
pub(super) fn put(path: &Path, text: &str) -> io::Result<()> {
    let beside = beside(path);
    remove(&beside)?;
    // Never follows a link: one may have been put here since.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let written = fill(&mut file, path, text).and_then(|()| rename(&beside, path));
    if let Err(source) = written {
        // The first error is reported; the next writer removes what is left.
        remove(&beside).ok();
        return Err(source);
    }
    // A rename is durable only once its directory is synced: otherwise a power cut can bring the old text
    // back.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Creates or replaces a private file, outside every workspace.
pub fn put_private(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let beside = beside(path);
    remove(&beside)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(source) = written.and_then(|()| rename(&beside, path)) {
        // The first error is reported; the next writer removes what is left.
        remove(&beside).ok();
        return Err(source);
    }
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

fn fill(file: &mut File, path: &Path, text: &str) -> io::Result<()> {
    let old = path.metadata()?;
    // Only root may give a file away. Before the mode, which a change of owner may reset.
    fchown(&*file, Some(old.uid()), Some(old.gid())).ok();
    file.set_permissions(old.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[expect(clippy::disallowed_methods, reason = "this is the place that writes plan files")]
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Where a text is written before it replaces the old one. Always the same name: the next writer removes what
/// a killed one left, while a random name would stay in the workspace forever.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".planwright");
    path.with_file_name(name)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "these tests play those who write without asking us")]
mod tests {
    use super::super::plan_file::replace;
    use super::*;
    use crate::scratch::Scratch;

    // C-07: old or new, never torn.
    #[test]
    fn a_file_that_moved_is_left_as_it_is() {
        let scratch = Scratch::new("atomic-moved");
        let path = scratch.path().join("plan.md");
        std::fs::write(&path, "theirs").expect("written");
        let refused = replace(&path, "mine", "new");
        assert!(matches!(refused, Err(Error::Moved { .. })), "{refused:?}");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "theirs");
        replace(&path, "theirs", "new").expect("replaced");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "new");
    }

    #[test]
    fn a_link_is_followed_and_the_mode_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("atomic-linked");
        let path = scratch.path().join("plan.md");
        std::fs::write(&path, "a").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("mode");
        let link = path.with_file_name("link.md");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        replace(&link, "a", "b").expect("replaced");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "b");
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o640);
    }

    // M-04: a writer that was killed leaves nothing for ever in the workspace, and nobody can lead the next one astray.
    #[test]
    fn what_a_killed_writer_left_is_gone_with_the_next_write() {
        let scratch = Scratch::new("atomic-killed");
        let path = scratch.path().join("plan.md");
        std::fs::write(&path, "old").expect("written");
        std::fs::write(beside(&path), "half a te").expect("written");
        replace(&path, "old", "new").expect("replaced");
        let elsewhere = path.with_file_name("elsewhere");
        std::fs::write(&elsewhere, "theirs").expect("written");
        std::os::unix::fs::symlink(&elsewhere, beside(&path)).expect("a link");
        replace(&path, "new", "newer").expect("replaced");
        let names = std::fs::read_dir(path.parent().expect("a folder")).expect("a list");
        let mut names: Vec<OsString> = names.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        assert_eq!(names, ["elsewhere", "plan.md"]);
        assert_eq!(std::fs::read_to_string(&elsewhere).expect("read"), "theirs");
    }

    #[test]
    fn a_file_that_is_there_is_never_written_over() {
        let scratch = Scratch::new("atomic-exists");
        let path = scratch.path().join("plan.md");
        std::fs::write(&path, "first").expect("written");
        assert!(matches!(create(&path, "second"), Err(Error::Exists { .. })));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "first");
    }

    // D-20: every state that a move can die in is finished by the same move, and nothing is ever written over.
    #[test]
    fn a_move_is_finished_by_the_next_one_and_takes_nobodys_place() {
        let scratch = Scratch::new("atomic-shift");
        let (from, to) = (scratch.path().join("staged.md"), scratch.path().join("plan.md"));
        let text = |path: &Path| std::fs::read_to_string(path).ok();
        let acts: [fn(&Path, &Path) -> io::Result<()>; 2] = [shift, shift_in_two];
        for act in acts {
            std::fs::write(&from, "mine").expect("written");
            act(&from, &to).expect("moved");
            assert_eq!((text(&from), text(&to).as_deref()), (None, Some("mine")));
            std::fs::write(&from, "another").expect("written");
            let refused = act(&from, &to).expect_err("something is there");
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((text(&from).as_deref(), text(&to).as_deref()), (Some("another"), Some("mine")));
            remove(&from).and_then(|()| remove(&to)).expect("removed");
        }
        // A file system that needs two acts, and a death between them: one file with two names.
        std::fs::write(&from, "mine").expect("written");
        std::fs::hard_link(&from, &to).expect("linked");
        shift(&from, &to).expect("finished");
        assert_eq!((text(&from), text(&to).as_deref()), (None, Some("mine")));
        assert_eq!(shift(&from, &to).expect_err("it is gone").kind(), io::ErrorKind::NotFound);
        // Directories go the same way.
        std::fs::create_dir(&from).expect("a folder");
        assert_eq!(shift(&from, &to).expect_err("something is there").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(shift_in_two(&from, &to).expect_err("there").kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn of_many_writers_with_the_same_old_text_one_wins() {
        let scratch = Scratch::new("atomic-race");
        let path = scratch.path().join("plan.md");
        std::fs::write(&path, "0").expect("written");
        let wins: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..16)
                .map(|writer| (writer, &path))
                .map(|(writer, path)| {
                    scope.spawn(move || usize::from(replace(path, "0", &format!("from {writer}")).is_ok()))
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().expect("no panic")).sum()
        });
        assert_eq!(wins, 1);
    }
}
