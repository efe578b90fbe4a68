//! The settings of the trees of plans, and whose word they are.

use std::path::PathBuf;

use super::{Origin, Settings, Value};

/// How the trees of plans are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The folder for all of them; `None`: the usual one.
    pub folder: Option<PathBuf>,
    /// Patterns of ignored files that a new tree gets copies of.
    pub include: Vec<String>,
    /// What is run in a new tree.
    pub setup: Script,
    /// What is run in a tree before it is removed.
    pub teardown: Script,
    /// How long either may take.
    pub seconds: u64,
    /// How many ports each has for itself.
    pub ports: usize,
    /// The first and the last port that trees are given.
    pub port_range: (u16, u16),
}

/// A command line that is run in trees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// Its words; none: nothing is run.
    pub command: Vec<String>,
    /// Whether the file of the project says so, which agents can write: then a person has to allow it.
    pub is_projects: bool,
}

impl Worktree {
    /// What has a default.
    pub(super) fn usual(settings: &Settings) -> Self {
        let port = |name| u16::try_from(settings.number(name)).unwrap_or(u16::MAX);
        Self {
            folder: None,
            include: Vec::new(),
            setup: Script::default(),
            teardown: Script::default(),
            seconds: settings.number("worktree.seconds"),
            ports: usize::try_from(settings.number("worktree.ports")).unwrap_or(usize::MAX),
            port_range: (port("worktree.port_min"), port("worktree.port_max")),
        }
    }

    /// Takes what somebody says, if it is something that has no default.
    pub(super) fn take(&mut self, (key, origin): (&str, Origin), value: &Value) {
        let script =
            |words: &[String]| Script { command: words.to_vec(), is_projects: origin == Origin::Project };
        match (key, value) {
            ("folder", Value::Text(path)) => self.folder = Some(path.into()),
            ("include", Value::Words(patterns)) => self.include.clone_from(patterns),
            ("setup", Value::Words(words)) => self.setup = script(words),
            ("teardown", Value::Words(words)) => self.teardown = script(words),
            (_, Value::Number(_) | Value::Text(_) | Value::Words(_)) => {}
        }
    }
}
