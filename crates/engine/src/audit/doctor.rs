//! Looks at everything that planwright stands on: programs, settings, agents, records, and what a crash may leave behind.
//! Mends only what can't lose anything, and only when it is told to.

mod plan;
mod program;
mod record;
mod setting;
mod state;
mod tree;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::approval::Decisions;
use crate::config::{Config, Settings, Sources};
use crate::git::worktree::Trees;
use crate::run;
use crate::store::journal::{RunId, Store};
use crate::system::process;
use crate::workspace::project::Project;

/// A file that a write left behind is no write that is still under way when it is this old.
const LEFTOVER_AGE: Duration = Duration::from_hours(1);
/// How many letters and digits the name of such a file ends with.
const LEFTOVER_SUFFIX: usize = 6;

/// How good or bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Works, but somebody should look.
    Warn,
    Error,
}

impl Level {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How good or bad it is.
    pub level: Level,
    pub what: String,
    /// A command that helps.
    pub fix: Option<String>,
    /// What [`mend`] does about it.
    pub repair: Option<Repair>,
}

/// Something that can be done without losing anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// Close a folder to everybody but its owner.
    Close(PathBuf),
    /// End the processes of a run that nobody drives.
    Reclaim(RunId),
    /// Remove a file that nobody uses.
    Remove(PathBuf),
    /// Build the queue and the asks anew from the journal.
    Rebuild,
    /// Let go of the outputs of runs that were over before a time, in milliseconds since 1970.
    DropOutputs(u64),
    /// Write into a plan file what is recorded of the plan.
    Reflect(PathBuf),
    /// Remove the trees with which nothing is lost, and finish what was begun with others.
    Prune,
    /// Forget the trees of attempts whose folders are gone.
    ForgetTrees,
}

impl Finding {
    fn new(level: Level, what: impl Into<String>) -> Self {
        Self { level, what: what.into(), fix: None, repair: None }
    }

    fn ok(what: impl Into<String>) -> Self {
        Self::new(Level::Ok, what)
    }

    fn error(what: impl Into<String>) -> Self {
        Self::new(Level::Error, what)
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

    /// Something to look at, with a command that helps.
    fn warn(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(Level::Warn, what) }
    }

    /// Something that could not be looked at, and stops nothing else.
    fn doubt(what: &str, error: &dyn std::error::Error, fix: &str) -> Self {
        Self { level: Level::Warn, ..Self::failed(what, error).fixed_by(fix) }
    }

    /// The same with a command that helps.
    fn fixed_by(self, fix: &str) -> Self {
        Self { fix: Some(fix.to_owned()), ..self }
    }

    /// Something that [`mend`] can mend.
    fn mendable(what: impl Into<String>, repair: Repair) -> Self {
        Self { repair: Some(repair), ..Self::warn(what, "planwright doctor --fix") }
    }
}

/// Looks at the project at `root`, with settings that were typed with the command.
pub fn examine(root: &Path, flags: &[String]) -> Vec<Finding> {
    let mut findings = program::programs();
    findings.extend(program::repository(root));
    let (config, is_valid) = match Settings::read(&Sources::of_process(root, flags)) {
        Ok(settings) => {
            findings.push(Finding::ok("settings valid"));
            (settings.config(), true)
        }
        Err(error) => {
            findings.extend(setting::faults(&error));
            (Config::default(), false)
        }
    };
    let project = Project { root: root.to_owned(), config, dialect: None };
    // What settings name that can't be read is not known.
    if is_valid {
        findings.extend(setting::agents(root, &project.config));
        findings.extend(setting::hooks(root, &project.config));
        findings.extend(plan::bindings(&project));
    }
    findings.extend(state::states(root));
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

/// Does what a finding asks for, with settings that were typed with the command; says why where that can't be done.
pub fn mend(root: &Path, flags: &[String], repair: &Repair) -> Result<(), String> {
    let project = || Project::find_with(root, flags).map_err(|error| error.to_string());
    let open = || Store::open(root).map_err(|error| error.to_string());
    match repair {
        Repair::Close(folder) => crate::store::state_dir::create(folder).map_err(|error| error.to_string()),
        Repair::Remove(path) => std::fs::remove_file(path).map_err(|error| error.to_string()),
        Repair::Rebuild => open()?.rebuild_projection().map_err(|error| error.to_string()),
        Repair::DropOutputs(before_ms) => {
            open()?.drop_outputs(*before_ms, run::now()).map(drop).map_err(|error| error.to_string())
        }
        Repair::Reclaim(run) => reclaim(&open()?, *run),
        Repair::Reflect(path) => {
            let decisions = Decisions::open(&project()?).map_err(|error| error.to_string())?;
            let complaints = decisions.show_again(path).map_err(|error| error.to_string())?;
            if complaints.is_empty() { Ok(()) } else { Err(complaints.join("; ")) }
        }
        Repair::Prune => {
            let trees = Trees::of(&project()?).map_err(|error| error.to_string())?;
            let pruned = trees.prune().map_err(|error| error.to_string())?;
            let failed: Vec<String> = pruned.failed.iter().map(|(_, error)| error.to_string()).collect();
            if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
        }
        Repair::ForgetTrees => {
            let trees = Trees::of(&project()?).map_err(|error| error.to_string())?;
            trees.forget_gone().map_err(|error| error.to_string())
        }
    }
}

/// Ends the processes of a run. It is held meanwhile: a driver that begins now must not lose what it starts.
fn reclaim(store: &Store, run: RunId) -> Result<(), String> {
    let _lock = store
        .lock(run)
        .map_err(|error| error.to_string())?
        .ok_or_else(|| format!("{run} is driven now; it was left alone"))?;
    let prefix = format!("{}/{}/", store.key(), run.number());
    process::reclaim(&prefix).map(drop).map_err(|error| error.to_string())
}

fn is_old(path: &Path) -> bool {
    let changed = path.symlink_metadata().and_then(|data| data.modified());
    changed
        .is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age >= LEFTOVER_AGE))
}
