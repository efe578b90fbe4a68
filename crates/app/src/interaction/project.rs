//! The workspace that a command works in, with the settings and the dialect that were typed.

use std::path::Path;
use std::sync::OnceLock;

use planwright_engine::Project;
use planwright_engine::api::{Error, OpenOptions, Workspace};

use super::notifier;
use crate::output::Failure;

/// What was typed with the command: a process has one command line, as it has one environment.
static TYPED: OnceLock<OpenOptions> = OnceLock::new();

/// Takes what was typed with the command; only the first call counts.
pub(crate) fn take_options(overrides: Vec<String>, dialect: Option<&str>) -> Result<(), Failure> {
    let options = OpenOptions::new(overrides, dialect)?;
    TYPED.get_or_init(|| options);
    Ok(())
}

/// How workspaces are opened by this command.
pub(crate) fn options() -> &'static OpenOptions {
    TYPED.get_or_init(|| OpenOptions::new(Vec::new(), None).expect("no dialect is named"))
}

/// The settings that were typed with the command.
pub(crate) fn typed_settings() -> &'static [String] {
    &options().overrides
}

/// The workspace that the user stands in.
pub(crate) fn workspace() -> Result<Workspace, Failure> {
    served(Workspace::open(options()))
}

/// The workspace of a folder that somebody names; without one, that which the user stands in.
pub(crate) fn workspace_at(folder: Option<&Path>) -> Result<Workspace, Failure> {
    Ok(Workspace::open_in(folder.unwrap_or(Path::new(".")), options())?)
}

fn served(opened: Result<Workspace, Error>) -> Result<Workspace, Failure> {
    let workspace = opened?;
    notifier::watch(workspace.project());
    Ok(workspace)
}

/// The project that the user stands in.
pub(crate) fn here() -> Result<Project, Failure> {
    Ok(workspace()?.project().clone())
}

/// The project of a folder that somebody names; without one, the project that the user stands in.
pub(crate) fn project_at(folder: Option<&Path>) -> Result<Project, Failure> {
    Ok(workspace_at(folder)?.project().clone())
}

/// The project that a plan belongs to, which need not be the one that the user stands in.
pub(crate) fn project_of(plan: &Path) -> Result<Project, Failure> {
    Ok(served(Workspace::open_for(plan, options()))?.project().clone())
}
