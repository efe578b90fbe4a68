//! Gathers what the checker asks about the world: files, programs, agents, topics, and bash's view of a
//! command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use planwright_core::verify::{Facts, Questions};

use crate::system::{process, program};
use crate::workspace::project::Project;

pub(crate) const TOPICS: &str = ".planwright/topics";

/// Agents known without configuration; `shell`, `command` and `human` need no model.
pub const AGENTS: &[&str] = &[
    "shell",
    "command",
    "human",
    "claude",
    "claude-code",
    "codex",
    "gemini",
    "qwen",
    "opencode",
    "pi",
    "copilot",
    "aider",
    "goose",
    "cursor",
];
/// Roles that can be used before an agent is assigned to them.
pub const ROLES: &[&str] = &["coder", "reviewer", "planner", "orchestrator"];

/// Answers the questions for a plan in this project.
pub fn gather(project: &Project, questions: &Questions) -> Result<Facts, process::Error> {
    let is_there = |path: &&String| is_inside(Path::new(path)) && project.root.join(path).exists();
    let programs = program::programs();
    Ok(Facts {
        paths: questions.paths.iter().filter(is_there).cloned().collect(),
        programs: questions.programs.iter().filter(|name| programs.have(name)).cloned().collect(),
        bash: process::check_bash(&questions.commands)?,
        agents: agents(project),
        topics: topics(project, questions),
        tools: Some(project.config.tools.keys().cloned().collect::<BTreeSet<_>>())
            .filter(|tools| !tools.is_empty()),
        passed: BTreeMap::new(),
    })
}

/// The agents and roles available to steps of this project.
pub fn agents(project: &Project) -> BTreeSet<String> {
    let built_in = AGENTS.iter().chain(ROLES).map(|&name| name.to_owned());
    let known = planwright_core::agent::profile::PROFILES.iter().map(|profile| profile.name.to_owned());
    let configured = project.config.agents.keys().chain(project.config.roles.keys()).cloned().chain(known);
    built_in.chain(configured).collect()
}

fn topics(project: &Project, questions: &Questions) -> BTreeSet<String> {
    // A command may know any topic. It is not run to find out: checking a plan must never run what a project
    // brings along.
    if !project.config.topics.command.is_empty() {
        return questions.topics.clone();
    }
    // A project without the directory has no topics; nothing else is lost.
    let Ok(entries) = project.root.join(TOPICS).read_dir() else { return BTreeSet::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let pages = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

/// Whether a path stays inside its base directory, whatever links are on the way.
fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
