//! The settings of a project: `planwright.toml` at its root. Knows every key; refuses what it does not know.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::event::Agents;
use planwright_core::plan::Plan;
use serde::Deserialize;

/// The name of the file.
pub const FILE: &str = "planwright.toml";

/// How much of the file is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The most bytes that a plan may have.
pub const PLAN_BYTES_MAX: usize = 1 << 20;

/// The settings of a project.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limits that plans are held to.
    pub limits: Limits,
    /// Which agent plays a role: `coder = "claude"`.
    pub roles: BTreeMap<String, String>,
    /// Agents of this project.
    pub agents: BTreeMap<String, Agent>,
}

/// Limits that plans are held to.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The most bytes that a plan file may have.
    pub plan_bytes: usize,
    /// The most retries that a step may ask for.
    pub retries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { plan_bytes: PLAN_BYTES_MAX, retries: planwright_core::verify::Limits::default().retries_max }
    }
}

/// An agent that the project adds.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The command line; the prompt comes on its stdin.
    pub command: Vec<String>,
}

/// Why the settings can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is there and can't be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is no TOML, or says something that we don't know.
    #[error("{} is not a valid configuration", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why, with the place.
        #[source]
        source: Box<toml::de::Error>,
    },
}

impl Config {
    /// The command lines of the agents that a plan's steps are for, by the target of the steps. Scripts and people have none.
    pub fn agents_of(&self, plan: &Plan) -> Agents {
        let targets = plan.steps.iter().map(|step| &step.target);
        let resolved = targets.filter_map(|target| {
            let name = self.roles.get(target).unwrap_or(target);
            let agent = self.agents.get(name).filter(|agent| !agent.command.is_empty())?;
            (name != "shell").then(|| (target.clone(), agent.command.clone()))
        });
        resolved.collect()
    }

    /// Reads the settings of the project at `root`; the defaults where it has none.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let path = root.join(FILE);
        // Nobody named this file: a pipe in its place would be waited for without end.
        let is_other = path.metadata().is_ok_and(|data| !data.is_file());
        if is_other {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            return Err(Error::Read { path, source });
        }
        let text = match crate::store::read_text(&path, FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(Error::Read { path, source }),
        };
        toml::from_str(&text).map_err(|source| Error::Invalid { path, source: Box::new(source) })
    }
}
