//! The settings of plan worktrees, and who set them.

use std::path::PathBuf;

use super::{Origin, SettingValue, Settings};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Their directory; `None` for the default.
    pub folder: Option<PathBuf>,
    /// Patterns of ignored files to copy into a new worktree.
    pub include: Vec<String>,
    /// Runs in a new worktree.
    pub setup: WorktreeScript,
    /// Runs in a worktree before its removal.
    pub teardown: WorktreeScript,
    /// Time limit of either.
    pub seconds: u64,
    /// Ports reserved per worktree.
    pub ports: usize,
    /// The first and last port for worktrees.
    pub port_range: (u16, u16),
}

/// A command that runs in worktrees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeScript {
    /// Empty: nothing runs.
    pub command: Vec<String>,
    /// Whether the project's file sets it, which agents can write: then the user must allow it.
    pub is_projects: bool,
}

impl Worktree {
    /// Settings that have a default.
    pub(super) fn usual(settings: &Settings) -> Self {
        let port = |name| u16::try_from(settings.number(name)).unwrap_or(u16::MAX);
        Self {
            folder: None,
            include: Vec::new(),
            setup: WorktreeScript::default(),
            teardown: WorktreeScript::default(),
            seconds: settings.number("worktree.seconds"),
            ports: usize::try_from(settings.number("worktree.ports")).unwrap_or(usize::MAX),
            port_range: (port("worktree.port_min"), port("worktree.port_max")),
        }
    }

    /// Stores a value of a setting without a default.
    pub(super) fn take(&mut self, (key, origin): (&str, Origin), value: &SettingValue) {
        let script = |words: &[String]| WorktreeScript {
            command: words.to_vec(),
            is_projects: origin == Origin::Project,
        };
        match (key, value) {
            ("folder", SettingValue::Text(path)) => self.folder = Some(path.into()),
            ("include", SettingValue::Words(patterns)) => self.include.clone_from(patterns),
            ("setup", SettingValue::Words(words)) => self.setup = script(words),
            ("teardown", SettingValue::Words(words)) => self.teardown = script(words),
            (_, SettingValue::Number(_) | SettingValue::Text(_) | SettingValue::Words(_)) => {}
        }
    }
}
