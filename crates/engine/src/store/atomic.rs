//! The only place that writes plan files. A file is replaced whole or not at all, and only if it still is what was read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;

use super::{Error, state};

/// Replaces the text of a file, if it still is `old`.
///
/// The check and the replacement are one act for everybody who writes through here: a lock is held across both, in a file
/// of its own because the plan file itself is replaced.
pub fn replace(path: &Path, old: &str, new: &str) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: path.to_owned(), source };
    // A link is followed first: replacing it would leave the plan that it points to as it was.
    let path = &path.canonicalize().map_err(write_error)?;
    let lock = lock_file(path).map_err(write_error)?;
    lock.lock().map_err(write_error)?;
    let present = std::fs::read(path).map_err(write_error)?;
    if present != old.as_bytes() {
        return Err(Error::Moved { path: path.clone() });
    }
    let mut file = AtomicWriteFile::open(path).map_err(write_error)?;
    file.write_all(new.as_bytes()).map_err(write_error)?;
    // The library syncs file and folder: once this returns, a power cut can't bring the old text back.
    file.commit().map_err(write_error)
}

/// Makes a new file with its folders. Never writes over one that is there.
pub fn create(path: &Path, text: &str) -> Result<(), Error> {
    let write_error = |source: io::Error| match source.kind() == io::ErrorKind::AlreadyExists {
        true => Error::Exists { path: path.to_owned() },
        false => Error::Write { path: path.to_owned(), source },
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(write_error)?;
    }
    // The name is claimed first; should writing fail the claim is withdrawn, so that nothing half written stays.
    let claim = OpenOptions::new().write(true).create_new(true).open(path).map_err(write_error)?;
    drop(claim);
    let written = AtomicWriteFile::open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.commit()
    });
    written.map_err(|source| {
        // The error that is reported is the first one: an empty file that can't be removed either is the lesser news.
        std::fs::remove_file(path).ok();
        write_error(source)
    })
}

/// Makes a new folder. One that is there is left alone, and said.
pub fn create_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir(path).map_err(|source| match source.kind() == io::ErrorKind::AlreadyExists {
        true => Error::Exists { path: path.to_owned() },
        false => Error::Write { path: path.to_owned(), source },
    })
}

/// The lock for one plan file. It lives outside the workspace, where no agent can hold it against us.
fn lock_file(path: &Path) -> io::Result<File> {
    let folder = state::folder().join("locks");
    std::fs::create_dir_all(&folder)?;
    let name = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(&name[..32]))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "these tests play those who write without asking us")]
mod tests {
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

    #[test]
    fn a_file_that_is_there_is_never_written_over() {
        let scratch = Scratch::new("atomic-exists");
        let path = scratch.path().join("plan.md");
        std::fs::write(&path, "first").expect("written");
        assert!(matches!(create(&path, "second"), Err(Error::Exists { .. })));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "first");
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
