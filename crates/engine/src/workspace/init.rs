//! What a project starts with: its settings file and its plan directory. Detects what is installed, writes
//! only what is missing, and never starts an agent.

use std::path::{Path, PathBuf};

use planwright_core::agent::profile::{PROFILES, Profile};

use crate::config::{self, Settings, Sources};
use crate::store::plan_file;
use crate::store::state_dir;
use crate::system::program;

pub const PLANS: &str = "plans";
/// The roles that plans use most.
const ROLES: [&str; 2] = ["coder", "reviewer"];

/// What was detected in a project and on its machine.
#[derive(Debug, Clone)]
pub struct DetectedProject {
    /// Installed programs that planwright uses itself: `git`, `bash`.
    pub programs: Vec<&'static str>,
    pub agents: Vec<&'static Profile>,
    pub has_repository: bool,
}

#[derive(Debug, Clone)]
pub struct Prepared {
    /// Relative to the root.
    pub wrote: Vec<String>,
    /// What already existed and was not changed.
    pub kept: Vec<String>,
    /// The agent assigned to roles in the new file.
    pub agent: Option<&'static Profile>,
    pub roles: Vec<&'static str>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Config(#[from] config::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
}

pub fn look(root: &Path) -> DetectedProject {
    DetectedProject {
        programs: ["git", "bash"].into_iter().filter(|name| program::has_program(name)).collect(),
        agents: PROFILES.iter().filter(|profile| program::has_program(profile.program)).collect(),
        has_repository: root
            .ancestors()
            .any(|folder| state_dir::is_repository(&folder.join(".git")).unwrap_or(false)),
    }
}

/// Creates what is missing. Existing files are not changed.
pub fn prepare(root: &Path, found: &DetectedProject) -> Result<Prepared, Error> {
    let mut prepared = Prepared { wrote: Vec::new(), kept: Vec::new(), agent: None, roles: Vec::new() };
    let sources = Sources::of_process(root, &[]);
    let settings = Settings::read(&sources)?;
    let played = settings.config().roles;
    let free: Vec<&str> = ROLES.into_iter().filter(|role| !played.contains_key(*role)).collect();
    let agent = found.agents.first().copied();
    let file = root.join(config::FILE);
    match plan_file::create(&file, &template(agent, &free)) {
        Ok(()) => {
            prepared.wrote.push(config::FILE.to_owned());
            prepared.agent = agent.filter(|_| !free.is_empty());
            prepared.roles = prepared.agent.map(|_| free).unwrap_or_default();
        }
        Err(plan_file::Error::Exists { .. }) => prepared.kept.push(config::FILE.to_owned()),
        Err(error) => return Err(error.into()),
    }
    let plans: PathBuf = root.join(PLANS);
    match plan_file::create_folder(&plans) {
        Ok(()) => prepared.wrote.push(format!("{PLANS}/")),
        Err(plan_file::Error::Exists { .. }) => prepared.kept.push(format!("{PLANS}/")),
        Err(error) => return Err(error.into()),
    }
    Ok(prepared)
}

/// The settings file of a new project: assigns the free roles, or explains how.
fn template(agent: Option<&Profile>, free: &[&str]) -> String {
    let mut text =
        "# Settings of this project. `planwright config` lists all settings with values and descriptions.\n"
            .to_owned();
    match agent {
        _ if free.is_empty() => {}
        Some(agent) => {
            let roles: String = free.iter().map(|role| format!("{role} = \"{}\"\n", agent.name)).collect();
            text.push_str(&format!(
                "\n# When planwright starts it, {} changes files without asking: {}\n[roles]\n{roles}",
                agent.name,
                agent.command.join(" ")
            ));
        }
        None => text.push_str(
            "\n# No known agent was found. Any program that reads its prompt from standard input can be one:\n\
             #\n# [roles]\n# coder = \"mine\"\n#\n# [agents.mine]\n# command = [\"my-agent\", \"--headless\"]\n",
        ),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_read_as_it_is_meant() {
        let read = |text: &str| {
            let path = std::env::temp_dir().join(format!("planwright-setup-{}.toml", std::process::id()));
            std::fs::remove_file(&path).ok();
            plan_file::create(&path, text).expect("written");
            let sources = Sources { project: Some(path.clone()), ..Sources::default() };
            let config = Settings::read(&sources).expect("a valid file").config();
            std::fs::remove_file(&path).expect("removed");
            config
        };
        for profile in PROFILES {
            let config = read(&template(Some(profile), &ROLES));
            assert_eq!((config.agent_of("coder"), config.agent_of("reviewer")), (profile.name, profile.name));
            assert_eq!(config.command_of(profile.name), profile.command);
        }
        let config = read(&template(PROFILES.first(), &["reviewer"]));
        assert_eq!(config.roles.keys().collect::<Vec<_>>(), ["reviewer"]);
        assert_eq!(read(&template(None, &ROLES)), config::Config::default());
        assert_eq!(read(&template(PROFILES.first(), &[])), config::Config::default());
    }
}
