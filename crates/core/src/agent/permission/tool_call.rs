//! One tool call, parsed from the JSON that an agent passes to its hooks. Knows where
//! the arguments contain files and commands.

use serde_json::Value;

use crate::plan::tool::{ToolKind, family};
use crate::syntax::shell;

/// A tool call that an agent is about to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The agent's name for the tool.
    pub tool: String,
    pub family: ToolKind,
    /// The files that it would change, as written.
    pub paths: Vec<String>,
    /// The script that it would run.
    pub script: Option<String>,
    /// The agent's directory; empty if unknown.
    pub folder: String,
}

/// The prefixes of planwright's own tools, whatever server they come from.
const OURS: &[&str] = &["plan_", "step_"];

/// Argument keys of a file.
const PATH_KEYS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "absolute_path",
    "filename",
    "fileName",
    "target_file",
    "destination",
    "new_path",
    "move_path",
];
/// Argument keys of a command.
const SCRIPT_KEYS: &[&str] = &["command", "cmd", "script", "chars", "input"];
/// Argument keys of a patch.
const PATCH_KEYS: &[&str] = &["input", "patch", "patchText", "patch_text", "diff", "command"];

impl ToolCall {
    /// Parses an agent's hook input: claude, codex, qwen and gemini send `tool_name` and `tool_input`,
    /// copilot `toolName` and `toolArgs`, and our plugins for pi and opencode send the same as claude.
    pub fn read(input: &Value) -> Result<Self, String> {
        let text = |keys: &[&str]| keys.iter().find_map(|key| input[*key].as_str());
        let tool = text(&["tool_name", "toolName", "tool"]).filter(|tool| !tool.trim().is_empty());
        let tool = tool.ok_or("missing tool name")?;
        let arguments = ["tool_input", "toolArgs", "input", "args"].iter().find_map(|key| input.get(*key));
        let folder = text(&["cwd", "workspace_root"]).unwrap_or_default();
        Ok(Self::new(tool, &unfolded(arguments.unwrap_or(&Value::Null)), folder))
    }

    pub fn new(tool: &str, arguments: &Value, folder: &str) -> Self {
        let mut family = family(tool);
        // One tool for viewing and editing: the command says which. Other tools ignore it.
        let is_both = tool.to_lowercase().starts_with("str_replace");
        if is_both && arguments["command"].as_str() == Some("view") {
            family = ToolKind::Read;
        }
        let script = (family == ToolKind::Shell).then(|| script(arguments)).flatten();
        let patches = PATCH_KEYS.iter().filter_map(|key| arguments[*key].as_str());
        // codex also applies patches by a command.
        let patches = patches.chain(script.as_deref()).chain(arguments.as_str());
        let patched: Vec<String> = patches.filter_map(patched).flatten().collect();
        if family == ToolKind::Shell && !patched.is_empty() && script.as_deref().is_some_and(only_patches) {
            family = ToolKind::Edit;
        }
        let paths = match family {
            // It is unknown which of its arguments the tool uses.
            ToolKind::Edit => named_once(patched.into_iter().chain(files(arguments))),
            ToolKind::Read
            | ToolKind::Shell
            | ToolKind::Web
            | ToolKind::Mcp
            | ToolKind::Own
            | ToolKind::Other => Vec::new(),
        };
        // A call with its own working directory is judged from there.
        let own = ["workdir", "working_directory", "dir_path", "directory"]
            .iter()
            .find_map(|key| arguments[*key].as_str());
        let folder = match own {
            Some(own) if own.starts_with('/') => own.to_owned(),
            Some(own) if !folder.is_empty() => format!("{folder}/{own}"),
            Some(own) => own.to_owned(),
            None => folder.to_owned(),
        };
        Self { tool: tool.to_owned(), family, paths, script, folder }
    }

    /// Parses a permission request of the Agent Client Protocol, which states the kind of tool, the files and
    /// the input.
    pub fn of_permission(request: &Value, folder: &str) -> Self {
        let asked = &request["toolCall"];
        let title = asked["title"].as_str().unwrap_or_default();
        let raw = &asked["rawInput"];
        let named = Self::new(title, raw, folder);
        let family = match asked["kind"].as_str() {
            Some("read" | "search") => ToolKind::Read,
            Some("edit" | "delete" | "move") => ToolKind::Edit,
            Some("execute") => ToolKind::Shell,
            Some("fetch") => ToolKind::Web,
            Some("think" | "switch_mode") => ToolKind::Own,
            Some(_) | None => named.family,
        };
        let mut paths = Vec::new();
        if family == ToolKind::Edit {
            let parts = ["locations", "content"].iter().filter_map(|key| asked[*key].as_array()).flatten();
            paths.extend(parts.filter_map(|part| part["path"].as_str()).map(str::to_owned));
            paths.extend(files(raw));
            paths
                .extend(PATCH_KEYS.iter().filter_map(|key| raw[*key].as_str()).filter_map(patched).flatten());
        }
        let script = (family == ToolKind::Shell).then(|| script(raw)).flatten();
        let kind = asked["kind"].as_str().unwrap_or("other");
        let tool = if named.family == ToolKind::Other && family != ToolKind::Other { kind } else { title };
        Self { tool: tool.to_owned(), family, paths, script, folder: named.folder }
    }

    /// Whether it is an internal tool of the agent, or one of planwright's.
    pub fn is_own(&self) -> bool {
        let is_ours = |name: &str| OURS.iter().any(|front| name.starts_with(front));
        let last = self.operation();
        self.family == ToolKind::Own
            || (is_ours(last) && self.tool.to_lowercase().contains("planwright"))
            || (self.family == ToolKind::Other && is_ours(&self.tool))
    }

    /// The name of the operation, without its server.
    fn operation(&self) -> &str {
        let tool = self.tool.as_str();
        match tool.strip_prefix("mcp__") {
            Some(rest) => rest.split_once("__").map_or(rest, |(_, operation)| operation),
            None => {
                ["plan_", "step_"].iter().find_map(|front| tool.find(front)).map_or(tool, |at| &tool[at..])
            }
        }
    }

    /// Whether a plan that lists `name` means this tool: by the same name, the word of its family, or its
    /// server.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let (own, name) = (self.tool.to_lowercase(), name.trim().to_lowercase());
        if own == name || ToolKind::of_word(&name) == Some(self.family) {
            return true;
        }
        let is_foreign = matches!(self.family, ToolKind::Mcp | ToolKind::Other);
        let spelled = [name.clone(), name.replace('-', "_")];
        let fronts = ["mcp__", "mcp_", ""];
        is_foreign
            && fronts.iter().filter_map(|front| own.strip_prefix(front)).any(|rest| {
                spelled
                    .iter()
                    .filter_map(|name| rest.strip_prefix(name.as_str()))
                    .any(|behind| behind.is_empty() || behind.starts_with(['_', '-']))
            })
    }

    /// Whether this is the tool with this name, on any server. `mcp__server__name` marks where the name
    /// starts; other prefixes (`server_name`, `server-name`) don't, so any such separator counts.
    pub(super) fn is_exactly(&self, name: &str) -> bool {
        if self.tool == name {
            return true;
        }
        let is_foreign = matches!(self.family, ToolKind::Mcp | ToolKind::Other);
        match self.tool.strip_prefix("mcp__") {
            Some(rest) => rest.strip_suffix(name).is_some_and(|front| front.ends_with("__")),
            None => {
                is_foreign && self.tool.strip_suffix(name).is_some_and(|front| front.ends_with(['_', '-']))
            }
        }
    }
}

fn named_once(paths: impl Iterator<Item = String>) -> Vec<String> {
    let mut once = Vec::new();
    for path in paths {
        if !once.contains(&path) {
            once.push(path);
        }
    }
    once
}

/// Arguments as an object: copilot passes them as text.
fn unfolded(arguments: &Value) -> Value {
    let inner =
        arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object);
    inner.unwrap_or_else(|| arguments.clone())
}

/// The files in the arguments, including those of several edits in one call.
fn files(arguments: &Value) -> Vec<String> {
    let mut paths: Vec<String> = PATH_KEYS
        .iter()
        .filter_map(|key| arguments[*key].as_str())
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    for list in ["edits", "files", "changes"] {
        match &arguments[list] {
            Value::Array(items) => paths.extend(items.iter().flat_map(|item| match item {
                Value::String(path) if list == "files" => vec![path.clone()],
                Value::String(_)
                | Value::Object(_)
                | Value::Array(_)
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_) => files(item),
            })),
            // codex has an object of changes by path.
            Value::Object(changes) if list == "changes" => paths.extend(changes.keys().cloned()),
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    paths
}

/// The script of a call: a text, or the words of a command line.
fn script(arguments: &Value) -> Option<String> {
    let value = SCRIPT_KEYS.iter().find_map(|key| arguments.get(*key))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(match words.as_slice() {
                // The usual way to pass a whole script.
                [shell, flag, script]
                    if shell.ends_with("sh") && flag.starts_with('-') && flag.ends_with('c') =>
                {
                    (*script).to_owned()
                }
                words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./=:,+%".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Whether a script only applies a patch.
fn only_patches(script: &str) -> bool {
    let told = shell::analyse(script);
    let is_patch = |call: &shell::ShellCall| matches!(call.name.as_str(), "apply_patch" | "applypatch");
    told.fault.is_none()
        && told.functions.is_empty()
        && !told.calls.is_empty()
        && told.calls.iter().all(is_patch)
        && told.adrift.is_none()
        && told.paths.iter().all(|path| path.role != shell::FileRole::Written)
}

/// The files that a patch changes, parsed from its text; `None` if it isn't a patch.
fn patched(text: &str) -> Option<Vec<String>> {
    let fronts = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let ours =
        text.lines().filter_map(|line| fronts.iter().find_map(|front| line.trim_start().strip_prefix(front)));
    let mut paths: Vec<String> = ours.map(|path| path.trim().to_owned()).collect();
    let unified =
        text.lines().filter_map(|line| line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")));
    if paths.is_empty() && text.lines().any(|line| line.starts_with("@@")) {
        let name = |path: &str| {
            let path = path.split('\t').next().unwrap_or(path).trim();
            path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path).to_owned()
        };
        paths = unified.map(name).filter(|path| path != "/dev/null").collect();
    }
    (!paths.is_empty()).then_some(paths)
}
