//! The plan directories that planners write into. Created outside every repository, under names that reveal
//! nothing; their contents are a planner's, so links in them are never followed.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use planwright_core::dialect::directory::{PLAN_FILE, TASK_FOLDER};

use super::Error;
use crate::config::Config;
use crate::run::baseline;
use crate::store::{plan_file, state_dir};
use crate::workspace::project::{Project, Verified};

/// Their directory below the user's home, unless a setting names another. Document E specifies it.
const HOME: &str = ".agentflow/plans";
/// Owner only.
const MODE: u32 = 0o700;
/// How often a new random name is tried if one is taken.
const TRIES: usize = 10;

pub(super) enum Content {
    Nothing,
    /// A plan, or what could become one.
    Plan(Box<Verified>),
    /// A link, or something else that is neither a file nor a directory.
    Link(PathBuf),
}

pub(super) fn allocate(config: &Config) -> Result<PathBuf, Error> {
    let base = base(config)?;
    refuse_repository(&base)?;
    // An existing directory may be shared; only one created here is made private.
    if !base.is_dir() {
        state_dir::create(&base)?;
    }
    let failed = |source| Error::Folder { path: base.clone(), source };
    let real = base.canonicalize().map_err(failed)?;
    for _ in 0..TRIES {
        let folder = real.join(format!(
            "{}-{}",
            crate::store::random_id::chance()?,
            crate::store::random_id::chance()?
        ));
        match DirBuilder::new().mode(MODE).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::Folder { path: folder, source }),
            Ok(()) => {
                // The name is durable before anyone learns it.
                File::open(&real).and_then(|above| above.sync_all()).map_err(failed)?;
                return Ok(folder);
            }
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

fn base(config: &Config) -> Result<PathBuf, Error> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let base = match &config.session.plans {
        None => home().map(|home| home.join(HOME)),
        Some(path) => match path.strip_prefix("~") {
            Ok(below) => home().map(|home| home.join(below)),
            Err(_) => Some(path.clone()),
        },
    };
    base.filter(|base| base.is_absolute()).ok_or(Error::Homeless)
}

/// Refuses a place inside a repository, where plans would be in the way of people and agents.
fn refuse_repository(base: &Path) -> Result<(), Error> {
    let there = base.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let real = there.canonicalize().map_err(|source| Error::Folder { path: there.to_owned(), source })?;
    match state_dir::tree_of(&real)? {
        None => Ok(()),
        Some(tree) => Err(Error::Inside { folder: base.to_owned(), repository: tree.to_owned() }),
    }
}

/// Creates a directory if needed. Refuses anything else at its place.
pub(super) fn ensure(folder: &Path) -> Result<(), Error> {
    match folder.symlink_metadata() {
        Ok(data) if data.is_dir() => Ok(()),
        Ok(_) => Err(Error::Astray { path: folder.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(above) = folder.parent().filter(|above| !above.is_dir()) {
                state_dir::create(above)?;
            }
            let made = DirBuilder::new().mode(MODE).create(folder);
            made.map_err(|source| Error::Folder { path: folder.to_owned(), source })
        }
        Err(source) => Err(Error::Folder { path: folder.to_owned(), source }),
    }
}

/// Removes the plan from a directory. Other files of the planner stay.
pub(super) fn clear(folder: &Path) -> Result<(), Error> {
    ensure(folder)?;
    for path in [folder.join(PLAN_FILE), folder.join(TASK_FOLDER.trim_end_matches('/'))] {
        plan_file::remove_folder(&path).map_err(|source| Error::Folder { path, source })?;
    }
    Ok(())
}

/// Reads and verifies the contents of a directory. `project` is set to read directories.
pub(super) fn content(project: &Project, folder: &Path) -> Result<Content, Error> {
    ensure(folder)?;
    let tasks = folder.join(TASK_FOLDER.trim_end_matches('/'));
    let mut paths = vec![folder.join(PLAN_FILE), tasks.clone()];
    let has_tasks = tasks.symlink_metadata().is_ok_and(|data| data.is_dir());
    if has_tasks {
        let failed = |source| Error::Folder { path: tasks.clone(), source };
        for entry in tasks.read_dir().map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
    }
    let found: Vec<(&PathBuf, std::fs::FileType)> =
        paths.iter().filter_map(|path| Some((path, path.symlink_metadata().ok()?.file_type()))).collect();
    if let Some((path, _)) = found.iter().find(|(_, kind)| !kind.is_file() && !kind.is_dir()) {
        return Ok(Content::Link((*path).clone()));
    }
    if found.iter().all(|(path, _)| **path == tasks) {
        return Ok(Content::Nothing);
    }
    let verified = baseline::verify(project, folder, &folder.to_string_lossy())?;
    Ok(Content::Plan(Box::new(verified)))
}
