//! Where planwright keeps its state: one directory per repository, outside every workspace, shared by all
//! worktrees. Finds and creates that directory; never runs git and never reads what is recorded in it.

mod git_dir;
pub(crate) mod path_text;
mod record;

pub(crate) use git_dir::{common_git_folder, is_repository, tree_of};
pub(crate) use record::had_repository;
pub use record::{OtherRecord, ProjectRecord};

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Owner only: approvals and verdicts are nobody else's to read or change.
const MODE: u32 = 0o700;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository of a directory cannot be determined.
    #[error("cannot find the repository of {}", path.display())]
    Repository {
        /// The file or directory that should name it.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The environment does not say where state is kept.
    #[error(
        "cannot find the state directory: neither XDG_STATE_HOME nor HOME is set to an absolute path; set one of them"
    )]
    NoHome,
    /// The repository that a record belongs to is gone, while its folder is still there.
    #[error(
        "the repository {} is gone; restore it, or start with an empty record: planwright doctor --set-aside",
        path.display()
    )]
    NoGit { path: PathBuf },
    /// A working copy leads to another repository, which does not know it.
    #[error(
        "{} leads to {}, another repository than before; restore it, or start with an empty record: planwright doctor --set-aside",
        path.display(),
        target.display()
    )]
    Redirected { path: PathBuf, target: PathBuf },
    #[error("record `{record}` not found in {}", states.display())]
    NoRecord { record: String, states: PathBuf },
    /// A record belongs to a project that is still there, or to another part of one.
    #[error("record `{record}` belongs to {}", path.display())]
    InUse { record: String, path: PathBuf },
    /// The directory cannot be created or made private.
    #[error("cannot use the state directory {}", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Where planwright keeps its state: `$XDG_STATE_HOME/planwright`.
pub fn folder() -> Result<PathBuf, Error> {
    // A relative path would be in the workspace, within reach of agents; the specification says to ignore it.
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || set("HOME").map(|home| home.join(".local/state"));
    // A shared directory for temporary files is no place for approvals, and does not last.
    Ok(set("XDG_STATE_HOME").or_else(home).ok_or(Error::NoHome)?.join("planwright"))
}

/// The directory of the record of the project at `root`: the same for every worktree of a repository. It need
/// not exist.
pub fn of_project(root: &Path) -> Result<PathBuf, Error> {
    Ok(ProjectRecord::find(&folder()?, root)?.folder())
}

/// The same for what cannot be recomputed: notes first whose it is.
pub fn claim_for_project(root: &Path) -> Result<PathBuf, Error> {
    let record = ProjectRecord::find(&folder()?, root)?;
    record.claim()?;
    Ok(record.folder())
}

/// The directory below `caches` for the project at `root`. What is there can be recomputed, so its path is
/// enough to find it.
pub fn cache_of(caches: &Path, root: &Path) -> Result<PathBuf, Error> {
    let root = root.canonicalize().map_err(|source| Error::Repository { path: root.to_owned(), source })?;
    Ok(caches.join(record::path_key(&root, &root, Path::new(""))))
}

/// Whether there is nothing, or nothing that this user may see.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

/// Creates a private directory with its parents; an existing one is made private.
pub fn create(folder: &Path) -> Result<(), Error> {
    let error = |source| Error::Folder { path: folder.to_owned(), source };
    make(folder).map_err(error)?;
    let mode = folder.metadata().map_err(error)?.permissions().mode();
    if mode & 0o777 == MODE {
        return Ok(());
    }
    // This also fails, as it should, if the directory belongs to someone else.
    std::fs::set_permissions(folder, Permissions::from_mode(MODE)).map_err(error)
}

/// Creates an empty private directory. Anything that exists is removed first, and never reused.
pub(crate) fn create_fresh(folder: &Path) -> Result<(), Error> {
    let error = |source| Error::Folder { path: folder.to_owned(), source };
    if let Some(above) = folder.parent() {
        create(above)?;
    }
    let removed = match folder.symlink_metadata() {
        Ok(data) if data.is_dir() => std::fs::remove_dir_all(folder),
        Ok(_) => std::fs::remove_file(folder),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(source),
    };
    removed.and_then(|()| DirBuilder::new().mode(MODE).create(folder)).map_err(error)
}

/// The directory of temporary checkouts: `$XDG_CACHE_HOME/planwright`. Not in the state directory, where a
/// contract that walks up by accident would find the records of runs.
pub(crate) fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || set("HOME").map(|home| home.join(".cache"));
    set("XDG_CACHE_HOME").or_else(home).unwrap_or_else(std::env::temp_dir).join("planwright")
}

/// Writes a file into a state directory, whole or not at all, for what can be recomputed: a power cut may
/// lose it. Concurrent writers each use their own file, and the last one wins.
#[expect(clippy::disallowed_methods, reason = "writes into the state directory, never where plans are")]
pub(crate) fn keep(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    create(folder)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let fresh = folder.join(format!(".{name}.{}-{count}", std::process::id()));
    let written = std::fs::write(&fresh, bytes).and_then(|()| std::fs::rename(&fresh, folder.join(name)));
    written.map_err(|source| Error::Folder { path: folder.to_owned(), source })
}

/// The same for what cannot be recomputed: it is durable when this returns.
#[expect(clippy::disallowed_methods, reason = "writes into the state directory, never where plans are")]
pub(crate) fn keep_durably(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    create(folder)?;
    let fresh = folder.join(format!(".{name}.{}", std::process::id()));
    let written = || -> io::Result<()> {
        let mut file = File::create(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, folder.join(name))?;
        File::open(folder)?.sync_all()
    };
    written().map_err(|source| Error::Folder { path: folder.to_owned(), source })
}

fn make(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
    if let Some(above) = above {
        make(above)?;
    }
    match DirBuilder::new().mode(MODE).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
        // The new name is durable only once the parent directory is: a power cut must not take the whole
        // store along.
        Ok(()) => above.map_or(Ok(()), |above| File::open(above)?.sync_all()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[expect(clippy::disallowed_methods, reason = "lays out a repository")]
    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn found(states: &Path, root: &Path) -> Result<PathBuf, Error> {
        Ok(ProjectRecord::find(states, root)?.folder())
    }

    fn of(root: &Path) -> String {
        found(Path::new("/s"), root).expect("a folder").display().to_string()
    }

    #[test]
    fn all_worktrees_of_a_repository_share_a_folder() {
        let scratch = Scratch::new("state-worktrees");
        let base = scratch.path();
        write(&base.join("My App/.git/HEAD"), "ref: refs/heads/main\n");
        write(&base.join("My App/.git/worktrees/two/commondir"), "../..\n");
        let main = base.join("My App/.git/worktrees/two").display().to_string();
        write(&base.join("elsewhere/two/.git"), &format!("gitdir: {main}\n"));
        let two = base.join("elsewhere/two/.git").display().to_string();
        write(&base.join("My App/.git/worktrees/two/gitdir"), &format!("{two}\n"));
        let shared = of(&base.join("My App"));
        assert!(shared.starts_with("/s/my-app-"), "{shared}");
        assert_eq!(shared.len(), "/s/my-app-".len() + 8);
        assert_eq!(of(&base.join("elsewhere/two")), shared);
        let elsewhere = Scratch::new("state-worktrees-other");
        let other = elsewhere.path().join("My App");
        write(&other.join(".git/HEAD"), "");
        assert_ne!(of(&other), shared, "the name alone must not tell repositories apart");
    }

    #[test]
    fn a_part_of_a_repository_is_apart_but_shared_by_worktrees() {
        let scratch = Scratch::new("state-parts");
        let base = scratch.path();
        write(&base.join("app/.git/worktrees/two/commondir"), "../..");
        write(&base.join("two/.git"), "gitdir: ../app/.git/worktrees/two");
        write(&base.join("app/.git/worktrees/two/gitdir"), "../../../../two/.git");
        for folder in ["app/web", "app/api", "two/web"] {
            std::fs::create_dir_all(base.join(folder)).expect("made");
        }
        assert_ne!(of(&base.join("app/web")), of(&base.join("app/api")));
        assert_ne!(of(&base.join("app/web")), of(&base.join("app")));
        assert_eq!(of(&base.join("app/web")), of(&base.join("two/web")));
    }

    #[test]
    fn a_submodule_has_a_folder_of_its_own() {
        let scratch = Scratch::new("state-submodule");
        let base = scratch.path();
        write(&base.join("app/.git/modules/lib/HEAD"), "");
        write(&base.join("app/.git/modules/lib/config"), "[core]\n\tworktree = ../../../lib\n");
        write(&base.join("app/lib/.git"), "gitdir: ../.git/modules/lib\n");
        assert_ne!(of(&base.join("app/lib")), of(&base.join("app")));
        assert!(of(&base.join("app/lib")).starts_with("/s/lib-"));
    }

    #[test]
    fn without_git_the_project_is_its_own_folder_whichever_way_it_is_reached() {
        let scratch = Scratch::new("state-plain");
        let base = scratch.path();
        std::fs::create_dir_all(base.join("notes/x")).expect("made");
        assert_eq!(of(&base.join("notes")), of(&base.join("notes/x/..")));
        assert!(of(&base.join("notes")).starts_with("/s/notes-"));
    }

    #[test]
    fn a_git_file_that_leads_nowhere_is_named() {
        let scratch = Scratch::new("state-broken");
        let base = scratch.path();
        for text in ["gitdir: /nowhere/at/all\n", "garbage", ""] {
            write(&base.join(".git"), text);
            let error = found(Path::new("/s"), base).expect_err("no repository").to_string();
            assert!(error.contains(&base.join(".git").display().to_string()), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_folder_is_private_even_if_it_was_not() {
        let scratch = Scratch::new("state-private");
        let folder = scratch.path().join("planwright/app");
        create(&folder).expect("made");
        let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(folder.parent().expect("above"))), (0o700, 0o700));
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("opened");
        create(&folder).expect("made private");
        assert_eq!(mode(&folder), 0o700);
    }
}
