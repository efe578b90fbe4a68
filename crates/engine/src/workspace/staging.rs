//! Plans that are set aside: shelved ones in `queued-plans/`, and archived ones. Says where they are; never
//! moves them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use planwright_core::dialect::named;
use planwright_core::workspace::portfolio::key;

use crate::store::file::{ARCHIVE, STAGED};
use crate::store::{plan_dir, plan_file};
use crate::workspace::active_plan;
use crate::workspace::project;
use crate::workspace::project::Project;

/// The name others use for a plan: `auth` for `PLAN-auth.md` and for `plans/auth.md`.
pub(crate) fn name_of(plan: &Path) -> String {
    key(&plan_file::name(plan)).to_owned()
}

/// Shelved plans, and archived plans.
pub(crate) fn aside(project: &Project) -> Result<(Vec<PathBuf>, Vec<PathBuf>), project::Error> {
    let found: Mutex<(Vec<PathBuf>, Vec<PathBuf>)> = Mutex::default();
    project.walk(&|path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if project::ending(path).is_none() || named::conflict_copy(&file).is_some() || !path.is_file() {
            return;
        }
        let plan = plan_dir::plan_at(path, project.dialect);
        let folder = plan.parent().and_then(Path::file_name).unwrap_or_default();
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        match folder.to_str() {
            Some(STAGED) => found.0.push(plan),
            Some(ARCHIVE) => found.1.push(plan),
            _ if is_put_away(path) => found.1.push(plan),
            Some(_) | None => {}
        }
    })?;
    let (mut staged, mut archived) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let harness = active_plan::real(&active_plan::folder(project));
    staged.extend(named_in(&harness.join(STAGED)));
    archived.extend(named_in(&harness.join(ARCHIVE)));
    archived.extend(files_in(&harness).filter(|path| is_put_away(path)));
    for list in [&mut staged, &mut archived] {
        // A plan that is a directory was found once per file.
        list.sort();
        list.dedup();
    }
    Ok((staged, archived))
}

/// The named plans of a directory, which need not exist.
fn named_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_plan = |path: &PathBuf| {
        path.file_name().is_some_and(|file| named::plan_of(&file.to_string_lossy()).is_some())
    };
    files_in(folder).filter(is_plan)
}

/// The files of a directory, which need not exist.
fn files_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let paths = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.is_file())
}

/// Whether the tools of document D archived a plan, next to the others.
pub(crate) fn is_put_away(plan: &Path) -> bool {
    plan.file_name().is_some_and(|file| file.to_string_lossy().starts_with(named::ARCHIVED))
}

pub(crate) fn is_staged(plan: &Path) -> bool {
    plan.parent().and_then(Path::file_name).is_some_and(|folder| folder == STAGED)
        || plan
            .canonicalize()
            .is_ok_and(|real| real.parent().and_then(Path::file_name).is_some_and(|folder| folder == STAGED))
}

impl Project {
    /// Where a plan of this name is shelved, if it is.
    pub(crate) fn staged_as(&self, called: &str) -> Result<Option<PathBuf>, project::Error> {
        let (staged, _) = aside(self)?;
        Ok(staged.into_iter().find(|path| name_of(path) == key(called)))
    }
}
