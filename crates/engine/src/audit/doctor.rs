//! Checks everything planwright relies on: programs, settings, agents, records, and what a crash may leave
//! behind. Fixes only what cannot lose anything, and only on request.

mod identity;
mod plan;
mod program;
mod record;
mod setting;
mod state;
mod tree;

pub use identity::{adopt, other_record, set_aside};

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use planwright_core::plan::identity::Identity;

use crate::approval::Approvals;
use crate::config::{Config, Settings, Sources};
use crate::git::worktree::Worktrees;
use crate::store::journal::{RunId, Store};
use crate::system::clock;
use crate::system::process;
use crate::system::user::user;
use crate::workspace::project::Project;

/// A leftover file of this age cannot belong to a write in progress.
const LEFTOVER_AGE: Duration = Duration::from_hours(1);
/// How many letters and digits the name of such a file ends with.
const LEFTOVER_SUFFIX: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoctorLevel {
    Ok,
    /// It works, but needs attention.
    Warn,
    Error,
}

impl DoctorLevel {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// One result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    pub level: DoctorLevel,
    pub what: String,
    /// A command that helps.
    pub fix: Option<String>,
    /// What [`mend`] does about it.
    pub repair: Option<DoctorRepair>,
}

/// A fix, and the words for it once it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorRepair {
    pub kind: RepairKind,
    /// In the past tense: `removed stale lock …`.
    pub done: String,
}

/// A fix that loses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairKind {
    /// Make a directory private.
    Close(PathBuf),
    /// End leftover processes of a run that is not running.
    Reclaim(RunId),
    /// Remove an unused file.
    Remove(PathBuf),
    /// Take the first of two simultaneous starts of a plan back.
    SecondStart(PathBuf),
    /// Rebuild the queue and the questions from the journal.
    Rebuild,
    /// Delete the outputs of runs that finished before a time, in milliseconds since 1970.
    DropOutputs(u64),
    /// Write the record into a plan file.
    Reflect(PathBuf),
    /// Remove the worktrees that lose nothing, and finish interrupted operations on others.
    Prune,
    /// Forget the worktrees of attempts whose directories are gone.
    ForgetTrees,
}

impl DoctorFinding {
    fn new(level: DoctorLevel, what: impl Into<String>) -> Self {
        Self { level, what: what.into(), fix: None, repair: None }
    }

    fn ok(what: impl Into<String>) -> Self {
        Self::new(DoctorLevel::Ok, what)
    }

    fn error(what: impl Into<String>) -> Self {
        Self::new(DoctorLevel::Error, what)
    }

    fn failed(what: &str, error: &dyn std::error::Error) -> Self {
        let mut text = format!("{what}: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self::error(text)
    }

    fn warn(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(DoctorLevel::Warn, what) }
    }

    /// Something that could not be checked and blocks nothing else.
    fn doubt(what: &str, error: &dyn std::error::Error, fix: &str) -> Self {
        Self { level: DoctorLevel::Warn, ..Self::failed(what, error).fixed_by(fix) }
    }

    fn fixed_by(self, fix: &str) -> Self {
        Self { fix: Some(fix.to_owned()), ..self }
    }

    /// Something that [`mend`] can fix; `done` is what is reported afterwards.
    fn mendable(what: impl Into<String>, kind: RepairKind, done: impl Into<String>) -> Self {
        Self::warn(what, "planwright doctor --fix").repaired_by(kind, done)
    }

    fn repaired_by(self, kind: RepairKind, done: impl Into<String>) -> Self {
        Self { repair: Some(DoctorRepair { kind, done: done.into() }), ..self }
    }
}

/// Checks the project at `root`, with settings from the command line.
pub fn examine(root: &Path, flags: &[String]) -> Vec<DoctorFinding> {
    let mut findings = program::programs();
    findings.extend(program::repository(root));
    let (config, is_valid) = match Settings::read(&Sources::of_process(root, flags)) {
        Ok(settings) => {
            findings.push(DoctorFinding::ok("settings valid"));
            (settings.config(), true)
        }
        Err(error) => {
            findings.extend(setting::faults(&error));
            (Config::default(), false)
        }
    };
    let project = Project { root: root.to_owned(), config, dialect: None };
    // Settings that cannot be read name nothing to check.
    if is_valid {
        findings.extend(setting::agents(root, &project.config));
        findings.extend(setting::hooks(root, &project.config));
        findings.extend(plan::bindings(&project));
    }
    findings.extend(state::states(root));
    findings.extend(identity::identity(root));
    findings.extend(state::disks(&project));
    findings.extend(record::records(&project));
    findings.extend(record::old_outputs(&project));
    findings.extend(plan::drifts(&project));
    findings.extend(plan::leftover_files(&project));
    findings.extend(plan::astray(&project));
    findings.extend(plan::proposal_settings(&project));
    findings.extend(tree::trees(&project));
    findings.extend(tree::unfinished(&project));
    findings.extend(tree::kept(&project));
    findings
}

/// Applies the fix of a finding, with settings from the command line; says why if it cannot.
pub fn mend(root: &Path, flags: &[String], repair: &RepairKind) -> Result<(), String> {
    let project = || Project::find_with(root, flags).map_err(|error| error.to_string());
    let open = || Store::open(root).map_err(|error| error.to_string());
    match repair {
        RepairKind::Close(folder) => {
            crate::store::state_dir::create(folder).map_err(|error| error.to_string())
        }
        RepairKind::Remove(path) => std::fs::remove_file(path).map_err(|error| error.to_string()),
        RepairKind::Rebuild => open()?.rebuild_projection().map_err(|error| error.to_string()),
        RepairKind::DropOutputs(before_ms) => {
            open()?.drop_outputs(*before_ms, clock::now()).map(drop).map_err(|error| error.to_string())
        }
        RepairKind::Reclaim(run) => reclaim(&open()?, *run),
        RepairKind::SecondStart(plan) => {
            let decisions = Approvals::open(&project()?).map_err(|error| error.to_string())?;
            let by = Identity::person(user());
            decisions.mend_second_start(plan, &by).map_err(|error| error.to_string())
        }
        RepairKind::Reflect(path) => {
            let decisions = Approvals::open(&project()?).map_err(|error| error.to_string())?;
            let complaints = decisions.show_again(path).map_err(|error| error.to_string())?;
            if complaints.is_empty() { Ok(()) } else { Err(complaints.join("; ")) }
        }
        RepairKind::Prune => {
            let trees = Worktrees::of(&project()?).map_err(|error| error.to_string())?;
            let pruned = trees.prune().map_err(|error| error.to_string())?;
            let failed: Vec<String> = pruned.failed.iter().map(|(_, error)| error.to_string()).collect();
            if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
        }
        RepairKind::ForgetTrees => {
            let trees = Worktrees::of(&project()?).map_err(|error| error.to_string())?;
            trees.forget_gone().map_err(|error| error.to_string())
        }
    }
}

/// Ends the processes of a run, holding its lock: a process that starts the run now must not lose what it
/// starts.
fn reclaim(store: &Store, run: RunId) -> Result<(), String> {
    let _lock = store
        .lock(run)
        .map_err(|error| error.to_string())?
        .ok_or_else(|| format!("{run} is running now; it was skipped"))?;
    let prefix = format!("{}/{}/", store.key(), run.number());
    process::reclaim(&prefix).map(drop).map_err(|error| error.to_string())
}

fn is_old(path: &Path) -> bool {
    let changed = path.symlink_metadata().and_then(|data| data.modified());
    changed
        .is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age >= LEFTOVER_AGE))
}
