//! The project that a command works in, with the settings and the dialect that were typed, and how its paths are shown.

use std::path::Path;
use std::sync::OnceLock;

use planwright_engine::Project;
use planwright_engine::agent::planning_session;
use planwright_engine::core::dialect;
use planwright_engine::core::dialect::Dialect;
use planwright_engine::core::syntax::nearest;
use planwright_engine::workspace::{active_plan, project};

use super::notifier;
use crate::output::{Exit, Failure};

/// Settings that were typed with the command: a process has one command line, as it has one environment.
static TYPED: OnceLock<Vec<String>> = OnceLock::new();

/// Takes the settings that were typed with the command; only the first call counts.
pub(crate) fn take_settings(typed: Vec<String>) {
    TYPED.get_or_init(|| typed);
}

/// The settings that were typed with the command.
pub(crate) fn typed_settings() -> &'static [String] {
    TYPED.get().map_or(&[], Vec::as_slice)
}

/// The dialect that was typed with the command.
static DIALECT: OnceLock<Option<&'static Dialect>> = OnceLock::new();

/// Takes the dialect that was typed with the command; only the first call counts.
pub(crate) fn take_dialect(name: Option<&str>) -> Result<(), Failure> {
    let dialect = name.map(|name| dialect::named(name).ok_or_else(|| unknown_dialect(name))).transpose()?;
    DIALECT.get_or_init(|| dialect);
    Ok(())
}

pub(crate) fn unknown_dialect(name: &str) -> Failure {
    let names: Vec<&str> = dialect::DIALECTS.iter().map(|dialect| dialect.name).collect();
    let failure = Failure::new(Exit::Usage, format!("unknown dialect `{name}`"));
    match nearest::nearest(name, names.iter().copied()) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint(format!("the dialects are {}", names.join(", "))),
    }
}

/// The project that the user stands in.
pub(crate) fn here() -> Result<Project, Failure> {
    project_of(Path::new("."))
}

/// The project of a folder that somebody names; without one, the project that the user stands in.
pub(crate) fn project_at(folder: Option<&Path>) -> Result<Project, Failure> {
    Ok(Project::find_in(folder.unwrap_or(Path::new(".")), typed_settings())?)
}

/// The project that a plan belongs to, which need not be the one that the user stands in.
pub(crate) fn project_of(plan: &Path) -> Result<Project, Failure> {
    let dialect = DIALECT.get().copied().flatten();
    let mut project = Project { dialect, ..Project::find_with(&project::home_of(plan)?, typed_settings())? };
    if project::root_of(Path::new("."))? != project.root {
        // A harness folder may lie in another repository, whose plans are about this one.
        let here = Project { dialect, ..Project::find_with(Path::new("."), typed_settings())? };
        project = if active_plan::holds(&here, plan) { here } else { project };
    }
    notifier::watch(&project);
    Ok(project)
}

/// How a path is shown: from where the user stands, if it lies below.
pub(crate) fn shown(path: &Path) -> String {
    // What a planner committed lies where nobody looks, under a name that can be typed.
    if let Some(name) = planning_session::name_of_copy(path) {
        return name;
    }
    let here = std::env::current_dir();
    let below = here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    let below = below.unwrap_or_else(|| path.to_owned());
    let text = below.to_string_lossy();
    let text = text.trim_start_matches("./");
    // A name that would be read as an option is written so that it can be typed.
    if text.starts_with('-') && text != "-" { format!("./{text}") } else { text.to_owned() }
}
