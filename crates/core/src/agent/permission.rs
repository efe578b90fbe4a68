//! What an agent may do in one attempt or planning session: which tools, which files, and whether violations
//! are blocked or only logged. Makes every ruling about a call, from the call alone. Rulings help honest
//! agents: after the attempt the actual changes are checked, whatever was ruled.

mod tool_call;
mod guarded_tool;
mod path;

pub use guarded_tool::ToolGuard;
pub use path::PathPlace;
pub use tool_call::ToolCall;

use serde::{Deserialize, Serialize};

use crate::plan::tool;
use crate::plan::tool::ToolKind;
use crate::syntax::glob::Glob;
use crate::syntax::shell;
use crate::syntax::shell::FileRole;

/// A longer list wouldn't help.
const NAMED_MAX: usize = 20;
/// How much of a refused call is kept.
const TOOL_BYTES_MAX: usize = 200;
const WHY_BYTES_MAX: usize = 1000;

/// What happens to a call that is out of scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionMode {
    /// It runs and is logged.
    Log,
    /// It is blocked.
    Block,
    /// It is blocked, and only reads are in scope: for planners.
    Plan,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    pub mode: PermissionMode,
    /// The directory that patterns are relative to, absolute and without links.
    pub root: String,
    /// The allowed tools; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Patterns of the files that may change; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touches: Option<Vec<String>>,
    /// Patterns of sealed files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<String>,
    /// Absolute paths of planwright's own files and directories, such as the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<String>,
    /// The user's classification of tools and commands that planwright doesn't know.
    #[serde(default, skip_serializing_if = "Registry::is_empty")]
    pub registry: Registry,
}

/// Patterns of commands and tool names by effect, where `*` matches anything. What matches both lists counts
/// as writing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Registry {
    /// Those that only read: `npx go-gmail * search *`.
    pub read: Vec<String>,
    pub write: Vec<String>,
}

impl Registry {
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }

    /// Whether a command or a tool is known to read and not known to write.
    pub fn reads(&self, text: &str) -> bool {
        let is_in = |list: &[String]| list.iter().any(|pattern| is_like(pattern, text));
        is_in(&self.read) && !is_in(&self.write)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allowed,
    /// Out of scope for this reason, but runs anyway.
    Noted(String),
    /// Out of scope for this reason, and blocked.
    Denied(String),
}

/// A call that was out of scope, as the hook logged it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCall {
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// The agent's name for the tool; empty if unknown.
    pub tool: String,
    pub why: String,
    /// `false` if it would have been blocked, but was only logged.
    pub is_blocked: bool,
}

impl RefusedCall {
    /// Truncates the texts, because anybody may have written them.
    #[must_use]
    pub fn within_bounds(mut self) -> Self {
        self.tool.truncate(self.tool.floor_char_boundary(TOOL_BYTES_MAX));
        self.why.truncate(self.why.floor_char_boundary(WHY_BYTES_MAX));
        self
    }

    /// One line.
    pub fn line(&self) -> String {
        let word = if self.is_blocked { "blocked" } else { "would have blocked" };
        format!("{word} {}: {}", self.tool, self.why)
    }
}

impl Permissions {
    /// A scope without restrictions.
    pub fn open(mode: PermissionMode, root: &str) -> Self {
        Self {
            mode,
            root: root.to_owned(),
            tools: None,
            touches: None,
            sealed: Vec::new(),
            closed: Vec::new(),
            registry: Registry::default(),
        }
    }

    /// Whether tools of this family may be called at all.
    pub fn has(&self, family: ToolKind) -> bool {
        let is_it = |tool: &String| tool::family(tool) == family || ToolKind::of_word(tool) == Some(family);
        (self.mode != PermissionMode::Plan || family != ToolKind::Edit)
            && self.tools.as_ref().is_none_or(|tools| tools.iter().any(is_it))
    }

    /// The agent's tools that are always out of scope; empty if violations are only logged.
    pub fn missing<'n>(&self, names: &[(ToolKind, &[&'n str])]) -> Vec<&'n str> {
        let missing =
            names.iter().filter(|(family, _)| self.mode != PermissionMode::Log && !self.has(*family));
        missing.flat_map(|(_, names)| names.iter().copied()).collect()
    }

    /// Whether nothing is out of scope.
    pub fn is_open(&self) -> bool {
        self.mode != PermissionMode::Plan
            && self.tools.is_none()
            && self.touches.is_none()
            && self.sealed.is_empty()
    }

    /// The files among `changed` that are out of scope.
    pub fn outside(&self, changed: &[String]) -> Vec<String> {
        let is_outside = |path: &&String| self.fault_of(&PathPlace::Inside((*path).clone())).is_some();
        changed.iter().filter(is_outside).cloned().collect()
    }

    /// Why a file may not change.
    fn fault_of(&self, place: &PathPlace) -> Option<String> {
        if let Some(closed) = self.closed.iter().find(|closed| place.is_at_or_below(closed, &self.root)) {
            return Some(format!(
                "`{}` belongs to planwright; agents may not change it",
                name_of(place, closed)
            ));
        }
        let path = match place {
            PathPlace::Inside(path) if is_run_by_git(path) => {
                return Some(format!("`{path}` controls git; agents may not change it"));
            }
            PathPlace::Inside(path) => path,
            PathPlace::Outside(path) => {
                let touches = self.touches.as_ref()?;
                return Some(format!("`{path}` is outside this step's scope: {}", listed(touches)));
            }
        };
        if is_meant(&self.sealed, path) {
            return Some(format!("`{path}` is sealed: agents may not change it"));
        }
        let touches = self.touches.as_ref().filter(|touches| !is_meant(touches, path))?;
        Some(format!("`{path}` is outside this step's scope: {}", listed(touches)))
    }

    fn has_tool(&self, call: &ToolCall) -> bool {
        let Some(tools) = &self.tools else { return true };
        // Permission to edit or to use a shell includes reading: agents refuse to edit files that they have
        // not read.
        let reads =
            |tool: &String| matches!(tool::family(tool), ToolKind::Edit | ToolKind::Shell | ToolKind::Read);
        let is_reader = call.family == ToolKind::Read && tools.iter().any(reads);
        is_reader || call.is_own() || tools.iter().any(|tool| call.is_named(tool))
    }

    /// The available tools, for a reason text.
    fn listed_tools(&self) -> String {
        match (&self.tools, self.mode) {
            (Some(tools), _) => listed(tools),
            (None, PermissionMode::Plan) => {
                "read, web, bash for commands that only read, plan_propose".to_owned()
            }
            (None, PermissionMode::Log | PermissionMode::Block) => "all".to_owned(),
        }
    }

    fn fault(&self, call: &ToolCall) -> Option<String> {
        if !self.has_tool(call) {
            return Some(self.unavailable(call));
        }
        if self.mode == PermissionMode::Plan
            && let Some(why) = self.fault_in_plan(call)
        {
            return Some(why);
        }
        match call.family {
            ToolKind::Edit => self.fault_of_edit(call),
            ToolKind::Shell => self.fault_of_script(call),
            ToolKind::Read | ToolKind::Web | ToolKind::Mcp | ToolKind::Own | ToolKind::Other => None,
        }
    }

    fn unavailable(&self, call: &ToolCall) -> String {
        format!(
            "Tool {} is not available in plan scope. Only [{}] are available.",
            call.tool,
            self.listed_tools()
        )
    }

    /// Why a planner may not do this: it only reads.
    fn fault_in_plan(&self, call: &ToolCall) -> Option<String> {
        match call.family {
            ToolKind::Read | ToolKind::Web | ToolKind::Own => None,
            ToolKind::Mcp | ToolKind::Other if call.is_own() || self.registry.reads(&call.tool) => None,
            ToolKind::Edit | ToolKind::Mcp | ToolKind::Other => Some(self.unavailable(call)),
            ToolKind::Shell => {
                let Some(script) = &call.script else { return Some(self.unavailable(call)) };
                let is_registered = shell::is_single_call(script) && self.registry.reads(script.trim());
                let why = shell::beyond_looking(script).filter(|_| !is_registered)?;
                Some(format!(
                    "In plan scope bash only reads, and {why}. These commands are available: {}, git log|diff|show|status.",
                    shell::lookers().join(", ")
                ))
            }
        }
    }

    fn fault_of_edit(&self, call: &ToolCall) -> Option<String> {
        let is_bound = self.touches.is_some() || !self.sealed.is_empty();
        if call.paths.is_empty() && is_bound {
            return Some(format!("cannot determine which file {} would change", call.tool));
        }
        call.paths.iter().find_map(|path| self.fault_of(&PathPlace::of(&self.root, &call.folder, path)))
    }

    /// What a script obviously writes. Its other effects are checked after the attempt.
    fn fault_of_script(&self, call: &ToolCall) -> Option<String> {
        let script = call.script.as_ref()?;
        let told = shell::analyse(script);
        let written = told.paths.iter().filter(|path| path.role == FileRole::Written);
        let fault =
            written.map(|path| PathPlace::of(&self.root, &call.folder, &path.path)).find_map(|place| {
                match &place {
                    PathPlace::Outside(path)
                        if is_passing(path)
                            && !self.closed.iter().any(|closed| place.is_at_or_below(closed, &self.root)) =>
                    {
                        None
                    }
                    PathPlace::Inside(_) | PathPlace::Outside(_) => self.fault_of(&place),
                }
            });
        let adrift = told.adrift.filter(|_| self.touches.is_some());
        fault.or_else(|| {
            let path = adrift?;
            Some(format!("cannot determine the directory of `{path}`: use a path relative to the workspace root, without `cd`"))
        })
    }
}

pub fn ruling(scope: &Permissions, call: &ToolCall) -> Decision {
    match (scope.fault(call), scope.mode) {
        (None, _) => Decision::Allowed,
        (Some(why), PermissionMode::Log) => Decision::Noted(why),
        (Some(why), PermissionMode::Block | PermissionMode::Plan) => Decision::Denied(why),
    }
}

/// The ruling for a call that can't be parsed.
pub fn ruling_of_rubbish(mode: PermissionMode, why: &str) -> Decision {
    let why = format!("cannot parse the call ({why}), so its scope is unknown");
    match mode {
        PermissionMode::Log => Decision::Noted(why),
        PermissionMode::Block | PermissionMode::Plan => Decision::Denied(why),
    }
}

/// Whether a pattern, in which `*` matches anything, matches the whole text.
pub fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Whether one of these patterns matches a path. An invalid pattern only matches itself.
fn is_meant(patterns: &[String], path: &str) -> bool {
    patterns.iter().any(|pattern| match Glob::new(pattern) {
        Ok(glob) => glob.matches(path),
        Err(_) => pattern == path,
    })
}

/// The parts of a workspace's git directory that run code as the user, lead git to such code, or hide files.
/// Everything else there changes with every commit.
pub const STEERING_GIT: &[&str] = &[
    ".git",
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    ".git/info/exclude",
];

fn is_run_by_git(path: &str) -> bool {
    STEERING_GIT.contains(&path) || path.starts_with(".git/hooks/")
}

/// Temporary files.
fn is_passing(path: &str) -> bool {
    ["/tmp/", "/var/tmp/", "/dev/"].iter().any(|folder| path.starts_with(folder))
}

fn name_of(place: &PathPlace, closed: &str) -> String {
    match place {
        PathPlace::Inside(path) => path.clone(),
        PathPlace::Outside(_) => closed.rsplit('/').next().unwrap_or(closed).to_owned(),
    }
}

fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED_MAX {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
mod tests;
