//! What an agent may do in one attempt or planning session: which tools, which files, and whether more is stopped or only noted.
//! Owns every ruling about a call and its words; looks at nothing but the call. A ruling is a help to honest agents: what really
//! changed is looked at after the attempt, whatever was ruled.

mod tool_call;
mod guarded_tool;
mod path;

pub use guarded_tool::Guard;
pub use path::Place;
pub use tool_call::{Call, Family};

use serde::{Deserialize, Serialize};

use crate::syntax::glob::Glob;
use crate::syntax::shell;
use crate::syntax::shell::Role;

/// How many names a reason lists; a longer list helps nobody.
const NAMED_MAX: usize = 20;
/// How much is kept of a refused call.
const TOOL_BYTES_MAX: usize = 200;
const WHY_BYTES_MAX: usize = 1000;

/// What becomes of a call that is out of scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It is made, and noted.
    Log,
    /// It is not made.
    Block,
    /// It is not made, and only what reads is in scope: for planners.
    Plan,
}

/// What an agent may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// What becomes of a call that is out of scope.
    pub mode: Mode,
    /// The folder that patterns are relative to, absolute and without links.
    pub root: String,
    /// The tools that may be called; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Patterns of the files that may be changed; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touches: Option<Vec<String>>,
    /// Patterns of the files that judge the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<String>,
    /// Files and folders of the harness, absolute: the plan, and what is known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<String>,
    /// What is known of tools and commands that planwright does not know.
    #[serde(default, skip_serializing_if = "Registry::is_empty")]
    pub registry: Registry,
}

/// Patterns of commands and tool names, told apart by what they do. `*` is anything. What both lists mean writes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Registry {
    /// Those that only read: `npx go-gmail * search *`.
    pub read: Vec<String>,
    pub write: Vec<String>,
}

impl Registry {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }

    /// Whether a command or a tool is known to read and not known to write.
    pub fn reads(&self, text: &str) -> bool {
        let is_in = |list: &[String]| list.iter().any(|pattern| is_like(pattern, text));
        is_in(&self.read) && !is_in(&self.write)
    }
}

/// What is to become of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It is in scope.
    Allowed,
    /// It is out of scope for this reason, and is made all the same.
    Noted(String),
    /// It is out of scope for this reason, and is not made.
    Denied(String),
}

/// A call that was out of scope, as the hook noted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The tool, as the agent calls it; empty where that can't be told.
    pub tool: String,
    pub why: String,
    /// Whether it was stopped; else it would have been.
    pub is_blocked: bool,
}

impl Refused {
    /// The same, cut to what is kept: anybody may have written it.
    #[must_use]
    pub fn within_bounds(mut self) -> Self {
        self.tool.truncate(self.tool.floor_char_boundary(TOOL_BYTES_MAX));
        self.why.truncate(self.why.floor_char_boundary(WHY_BYTES_MAX));
        self
    }

    /// What happened, in a line.
    pub fn line(&self) -> String {
        let word = if self.is_blocked { "blocked" } else { "would have blocked" };
        format!("{word} {}: {}", self.tool, self.why)
    }
}

impl Scope {
    /// A scope that holds nothing back.
    pub fn open(mode: Mode, root: &str) -> Self {
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

    /// Whether tools that do this may be called at all.
    pub fn has(&self, family: Family) -> bool {
        let is_it =
            |tool: &String| tool_call::family(tool) == family || Family::of_word(tool) == Some(family);
        (self.mode != Mode::Plan || family != Family::Edit)
            && self.tools.as_ref().is_none_or(|tools| tools.iter().any(is_it))
    }

    /// Those of an agent's tools that are out of scope whatever they are given; none where calls are only noted.
    pub fn missing<'n>(&self, names: &[(Family, &[&'n str])]) -> Vec<&'n str> {
        let missing = names.iter().filter(|(family, _)| self.mode != Mode::Log && !self.has(*family));
        missing.flat_map(|(_, names)| names.iter().copied()).collect()
    }

    /// Whether anything is out of scope.
    pub fn is_open(&self) -> bool {
        self.mode != Mode::Plan && self.tools.is_none() && self.touches.is_none() && self.sealed.is_empty()
    }

    /// The files among `changed` that the work may not touch.
    pub fn outside(&self, changed: &[String]) -> Vec<String> {
        let is_outside = |path: &&String| self.fault_of(&Place::Inside((*path).clone())).is_some();
        changed.iter().filter(is_outside).cloned().collect()
    }

    /// Why a file may not be changed.
    fn fault_of(&self, place: &Place) -> Option<String> {
        if let Some(closed) = self.closed.iter().find(|closed| place.is_at_or_below(closed, &self.root)) {
            return Some(format!(
                "`{}` belongs to the harness, and no agent may change it",
                name_of(place, closed)
            ));
        }
        let path = match place {
            Place::Inside(path) if is_run_by_git(path) => {
                return Some(format!("`{path}` steers your own git, and no agent may change it"));
            }
            Place::Inside(path) => path,
            Place::Outside(path) => {
                let touches = self.touches.as_ref()?;
                return Some(format!(
                    "`{path}` lies outside of what this step may touch: {}",
                    listed(touches)
                ));
            }
        };
        if is_meant(&self.sealed, path) {
            return Some(format!("`{path}` is sealed: it judges the work, and nobody may change it"));
        }
        let touches = self.touches.as_ref().filter(|touches| !is_meant(touches, path))?;
        Some(format!("`{path}` lies outside of what this step may touch: {}", listed(touches)))
    }

    /// Whether the list of tools has this one.
    fn has_tool(&self, call: &Call) -> bool {
        let Some(tools) = &self.tools else { return true };
        // Whoever may change files or use a shell reads them, too: agents refuse to edit what they have not read.
        let reads =
            |tool: &String| matches!(tool_call::family(tool), Family::Edit | Family::Shell | Family::Read);
        let is_reader = call.family == Family::Read && tools.iter().any(reads);
        is_reader || call.is_own() || tools.iter().any(|tool| call.is_named(tool))
    }

    /// The tools that are there, for a reason.
    fn listed_tools(&self) -> String {
        match (&self.tools, self.mode) {
            (Some(tools), _) => listed(tools),
            (None, Mode::Plan) => "read, web, bash for commands that only read, plan_propose".to_owned(),
            (None, Mode::Log | Mode::Block) => "all".to_owned(),
        }
    }

    fn fault(&self, call: &Call) -> Option<String> {
        if !self.has_tool(call) {
            return Some(self.unavailable(call));
        }
        if self.mode == Mode::Plan
            && let Some(why) = self.fault_in_plan(call)
        {
            return Some(why);
        }
        match call.family {
            Family::Edit => self.fault_of_edit(call),
            Family::Shell => self.fault_of_script(call),
            Family::Read | Family::Web | Family::Mcp | Family::Own | Family::Other => None,
        }
    }

    fn unavailable(&self, call: &Call) -> String {
        format!(
            "Tool {} is not available in plan scope. Only [{}] are available.",
            call.tool,
            self.listed_tools()
        )
    }

    /// What a planner may not do: it only reads.
    fn fault_in_plan(&self, call: &Call) -> Option<String> {
        match call.family {
            Family::Read | Family::Web | Family::Own => None,
            Family::Mcp | Family::Other if call.is_own() || self.registry.reads(&call.tool) => None,
            Family::Edit | Family::Mcp | Family::Other => Some(self.unavailable(call)),
            Family::Shell => {
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

    fn fault_of_edit(&self, call: &Call) -> Option<String> {
        let is_bound = self.touches.is_some() || !self.sealed.is_empty();
        if call.paths.is_empty() && is_bound {
            return Some(format!("it can't be told which file {} would change", call.tool));
        }
        call.paths.iter().find_map(|path| self.fault_of(&Place::of(&self.root, &call.folder, path)))
    }

    /// What a script plainly writes. What it does beyond that is seen after the attempt.
    fn fault_of_script(&self, call: &Call) -> Option<String> {
        let script = call.script.as_ref()?;
        let told = shell::analyse(script);
        let written = told.paths.iter().filter(|path| path.role == Role::Written);
        let fault =
            written.map(|path| Place::of(&self.root, &call.folder, &path.path)).find_map(
                |place| match &place {
                    Place::Outside(path)
                        if is_passing(path)
                            && !self.closed.iter().any(|closed| place.is_at_or_below(closed, &self.root)) =>
                    {
                        None
                    }
                    Place::Inside(_) | Place::Outside(_) => self.fault_of(&place),
                },
            );
        let adrift = told.adrift.filter(|_| self.touches.is_some());
        fault.or_else(|| {
            let path = adrift?;
            Some(format!("it can't be told in which folder `{path}` would be written: name it from the workspace, without `cd`"))
        })
    }
}

/// What is to become of a call.
pub fn ruling(scope: &Scope, call: &Call) -> Ruling {
    match (scope.fault(call), scope.mode) {
        (None, _) => Ruling::Allowed,
        (Some(why), Mode::Log) => Ruling::Noted(why),
        (Some(why), Mode::Block | Mode::Plan) => Ruling::Denied(why),
    }
}

/// What is to become of a call that can't be read.
pub fn ruling_of_rubbish(mode: Mode, why: &str) -> Ruling {
    let why = format!("the call can't be read ({why}), so nobody can tell whether it is in scope");
    match mode {
        Mode::Log => Ruling::Noted(why),
        Mode::Block | Mode::Plan => Ruling::Denied(why),
    }
}

/// Whether a pattern in which `*` is anything means all of a text.
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

/// Whether one of these patterns means a path. What is no pattern means itself alone.
fn is_meant(patterns: &[String], path: &str) -> bool {
    patterns.iter().any(|pattern| match Glob::new(pattern) {
        Ok(glob) => glob.matches(path),
        Err(_) => pattern == path,
    })
}

/// What of the git folder of a workspace runs code as whoever works there, or leads git to what does, or hides files from them.
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

/// Files that come and go with a process.
fn is_passing(path: &str) -> bool {
    ["/tmp/", "/var/tmp/", "/dev/"].iter().any(|folder| path.starts_with(folder))
}

fn name_of(place: &Place, closed: &str) -> String {
    match place {
        Place::Inside(path) => path.clone(),
        Place::Outside(_) => closed.rsplit('/').next().unwrap_or(closed).to_owned(),
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
