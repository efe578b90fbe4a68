//! Setting up a project: settings, a directory for plans, and the agents that are connected to it.

pub use planwright_core::agent::integration::{CONNECTIONS, Integration, named as integration_named};

use std::path::{Path, PathBuf};

use crate::agent::integration;
pub use crate::agent::integration::{Deed, IntegrationChange};
use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind};
use crate::api::workspace::OpenOptions;
use crate::git::merge_driver;
pub use crate::workspace::init::{DetectedProject, Prepared, look};
use crate::workspace::{init, project};

/// Refuses to connect agents for anybody but a person, before anything is made or shown.
pub fn may_connect(options: &OpenOptions) -> Result<(), Error> {
    options.caller.may(Right::ConnectAgents)
}

/// The root of the project of the current directory.
pub fn root() -> Result<PathBuf, Error> {
    Ok(project::root_of(Path::new("."))?)
}

/// Makes what a project needs and keeps what is there.
pub fn prepare(root: &Path, found: &DetectedProject) -> Result<Prepared, Error> {
    init::prepare(root, found).map_err(|error| match error {
        init::Error::Config(error) => error.into(),
        init::Error::Store(error) => error.into(),
    })
}

pub fn install_merge_driver(root: &Path) -> Result<merge_driver::DriverInstall, Error> {
    Ok(merge_driver::install(root)?)
}

/// What would change in the files of these agents.
pub fn look_at_agents(root: &Path, agents: &[&'static Integration]) -> Result<Vec<IntegrationChange>, Error> {
    integration::look(root, agents).map_err(|error| Error::from_error(ErrorKind::Machine, &error))
}

pub fn write_for_agent(root: &Path, change: &IntegrationChange, options: &OpenOptions) -> Result<(), Error> {
    options.caller.may(Right::ConnectAgents)?;
    Ok(integration::write(root, change)?)
}
