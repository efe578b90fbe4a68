//! The copies that people review: one directory per committed plan, in the state directory of the project,
//! under a name that can be typed. What a planner writes after its commit stays in its own directory.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use planwright_core::dialect::{self, Dialect};
use planwright_core::plan::digest::Digest;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified::slug;

use super::Error;
use crate::approval::Approvals;
use crate::run::baseline;
use crate::store::{plan_file, state_dir};
use crate::workspace::project;
use crate::workspace::project::Project;
use crate::workspace::session_copy::{THREADS, folder};

/// The name of a plan whose title and topic have no letters.
const NAMELESS: &str = "thread";
/// The longest name, without a number appended.
const NAME_CHARS_MAX: usize = 50;
/// Stands in for the digest of a copy that is no longer a plan; no digest looks like it.
const NO_PLAN: &str = "no plan";

/// The name of a committed plan by the path of its copy; `None` if it is not one.
pub fn name_of_copy(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == THREADS))?;
    let states = state_dir::folder().ok()?;
    let above = folder.parent()?.parent()?;
    let is_ours = above == states || states.canonicalize().is_ok_and(|states| above == states);
    is_ours.then(|| path.file_name().map(|name| name.to_string_lossy().into_owned())).flatten()
}

/// The dialect of plans that are directories.
pub(super) fn dialect() -> &'static Dialect {
    dialect::named("directory").expect("one of the dialects")
}

/// The copies, and the right to change them while this lives.
pub(super) struct SessionCopy {
    folder: PathBuf,
    // Dropping it releases the right.
    _lock: File,
}

impl SessionCopy {
    /// Waits for the lock on the copies of a project.
    pub(super) fn take(project: &Project) -> Result<Self, Error> {
        state_dir::claim_for_project(&project.root)?;
        let folder = folder(&project.root)?;
        state_dir::create(&folder)?;
        let failed = |source| Error::Folder { path: folder.clone(), source };
        let folder = folder.canonicalize().map_err(failed)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(".lock"));
        let lock = lock.and_then(|file| file.lock().map(|()| file)).map_err(failed)?;
        Ok(Self { folder, _lock: lock })
    }

    /// The path of a plan's copy.
    pub(super) fn path(&self, plan: &str) -> PathBuf {
        self.folder.join(plan)
    }

    /// The digest of a copy; `None` without one.
    pub(super) fn digest(&self, project: &Project, plan: &str) -> Result<Option<String>, Error> {
        let path = self.path(plan);
        if !plan_file::is_there(&path) {
            return Ok(None);
        }
        let read = match baseline::verify(project, &path, plan) {
            // Its files were deleted.
            Err(project::Error::Store(plan_file::Error::NotAFile { .. })) => None,
            verified => verified?.plan.map(|plan| Digest::of(&plan).to_string()),
        };
        Ok(Some(read.unwrap_or_else(|| NO_PLAN.to_owned())))
    }

    /// A unique name for a plan, from its title or the session's topic.
    pub(super) fn name(
        &self,
        (project, decisions): (&Project, &Approvals),
        words: [&str; 2],
        given: &BTreeSet<String>,
    ) -> Result<String, Error> {
        let name = words.iter().map(|words| slug(words)).find(|name| !name.is_empty());
        let name: String = name.as_deref().unwrap_or(NAMELESS).chars().take(NAME_CHARS_MAX).collect();
        let name = name.trim_end_matches('-');
        let known: BTreeSet<String> = project.plans()?.iter().map(|plan| plan_file::name(plan)).collect();
        let mut count = 1_usize;
        loop {
            let name = if count == 1 { name.to_owned() } else { format!("{name}-{count}") };
            let is_free =
                !known.contains(&name) && !given.contains(&name) && !plan_file::is_there(&self.path(&name));
            // A withdrawn plan frees its name; one that was decided on does not.
            if is_free && decisions.case(&self.path(&name))?.state() == PlanState::Draft {
                return Ok(name);
            }
            count += 1;
        }
    }
}
