//! The supported agents: how to start each one and how to read its output. One file per agent, all data and
//! pure functions. Never trusts what an agent reports about its success: its exit only shows whether it could
//! work at all.

mod acp;
mod aider;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod goose;
mod opencode;
mod pi;
mod qwen;

pub use crate::agent::failure::{AgentFailure, Reset};
pub use crate::agent::transcript::{FieldPaths, Transcript, TranscriptReader};
pub use acp::BRIDGE;

use crate::agent::permission::Permissions;

/// Every agent with a built-in profile, in order of preference for the default choice.
pub const PROFILES: &[Profile] = &[
    claude::PROFILE,
    codex::PROFILE,
    gemini::PROFILE,
    qwen::PROFILE,
    opencode::PROFILE,
    pi::PROFILE,
    copilot::PROFILE,
    cursor::PROFILE,
    goose::PROFILE,
    aider::PROFILE,
];

/// Placeholder in a command line: the session name that planwright chose, or the one that the agent reported.
pub const SESSION: &str = "{session}";
/// Placeholder in a command line: a directory for this attempt only, outside the workspace.
pub const FOLDER: &str = "{folder}";
/// How much of an agent's last message the journal keeps: its end, which usually contains the outcome.
pub const SAID_BYTES_MAX: usize = 16 << 10;

#[derive(Debug)]
pub struct Profile {
    /// Spelled as in plans and settings.
    pub name: &'static str,
    /// Looked up in PATH.
    pub program: &'static str,
    /// The command line with which it reads its prompt from standard input, edits files without asking, and
    /// reports its work line by line.
    pub command: &'static [&'static str],
    /// Environment for unattended work: give up on an unreachable model early instead of retrying for
    /// minutes, and don't self-update.
    pub environment: &'static [(&'static str, &'static str)],
    /// Arguments that resume a session, including [`SESSION`]; empty if the agent can't resume.
    pub resume: &'static [&'static str],
    /// The command line for the Agent Client Protocol; empty if unsupported.
    pub acp: &'static [&'static str],
    /// Evidence that the user is signed in.
    pub credentials: &'static [Credential],
    /// Environment variables that the agent sets in its shells, which identify such a shell as an agent's.
    pub signs: &'static [&'static str],
    /// The instruction shown to a user who isn't signed in.
    pub sign_in: &'static str,
    /// Reads one line of its standard output.
    pub read: OutputFormat,
    /// A file that it leaves in [`FOLDER`], and the function that reads it.
    pub leaves: Option<(&'static str, OutputFormat)>,
    /// Restricts the agent to a scope, by its own rules and by a hook it calls.
    pub hold: fn(&Permissions, &PermissionRules<'_>) -> ExtraArgs,
}

/// What an agent's restrictions are built with.
#[derive(Debug, Clone, Copy)]
pub struct PermissionRules<'a> {
    /// The program whose `hook` command the agent calls.
    pub hook: &'a str,
    /// The private directory that receives [`ExtraArgs::files`].
    pub folder: &'a str,
}

impl PermissionRules<'_> {
    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// Fills in our program for `HOOK` in the source of a plugin.
    fn shim(&self, text: &str) -> String {
        text.replace("HOOK", &serde_json::Value::from(self.hook).to_string())
    }

    /// The shell command that an agent runs before each tool call.
    fn command(&self) -> String {
        format!("'{}' hook pre-tool", self.hook.replace('\'', "'\\''"))
    }
}

/// Settings with one hook command for every tool call; `timeout` is in the agent's own unit.
fn hooks(event: &str, command: &str, timeout: u64) -> String {
    let hook = serde_json::json!({"type": "command", "command": command, "timeout": timeout});
    serde_json::json!({"hooks": {event: [{"matcher": "*", "hooks": [hook]}]}}).to_string()
}

/// For agents without rules of their own: only the check of their changes afterwards restricts them.
fn loose(_scope: &Permissions, _rig: &PermissionRules<'_>) -> ExtraArgs {
    ExtraArgs::default()
}

/// Reads a line, or a file, of an agent's output.
pub type OutputFormat = fn(&str, &mut Transcript);

/// Evidence that the user is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// An environment variable that is set.
    Variable(&'static str),
    /// A file in the user's home directory.
    File(&'static str),
}

impl Profile {
    /// Arguments that resume a session; `None` if the agent can't.
    pub fn resume_words(&self, session: &str) -> Option<Vec<String>> {
        let words = self.resume.iter().map(|word| word.replace(SESSION, session));
        (!self.resume.is_empty()).then(|| words.collect())
    }

    pub fn listener(&self) -> TranscriptReader {
        TranscriptReader::new(self.read)
    }
}

pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// The agent's own command line, if this command line starts our bridge to the Agent Client Protocol.
fn behind_bridge(command: &[String]) -> Option<&[String]> {
    let is_bridge = |words: &[String]| words.iter().zip(BRIDGE).all(|(word, known)| word == known);
    let (bridge, behind) = command.split_at_checked(BRIDGE.len())?;
    (is_bridge(bridge) && !behind.is_empty()).then_some(behind)
}

/// Whether a command line starts our bridge to the Agent Client Protocol.
pub fn is_bridged(command: &[String]) -> bool {
    behind_bridge(command).is_some()
}

/// The program that must be installed: the one behind the bridge, if there is a bridge.
pub fn program(command: &[String]) -> Option<&str> {
    behind_bridge(command).unwrap_or(command).first().map(String::as_str)
}

/// What is known about the agent that a command line starts.
#[derive(Debug, Clone, Copy)]
pub struct AgentIdentity {
    /// The profile that reads its output.
    pub reader: Option<&'static Profile>,
    /// The agent's own profile. Differs from the reader behind the bridge, where the output is the bridge's.
    pub own: Option<&'static Profile>,
    is_bridged: bool,
}

impl AgentIdentity {
    /// Identifies the agent by its command line, or by the profile that the user says it is like.
    pub fn of(command: &[String], like: Option<&str>) -> Self {
        let behind = behind_bridge(command);
        let own = match like {
            Some(name) => profile(name),
            None => match behind {
                Some(behind) => profile_of(behind).or_else(|| profile_by_bridge(behind)),
                None => profile_of(command),
            },
        };
        let reader = if behind.is_some() { Some(&acp::PROFILE) } else { own };
        Self { reader, own, is_bridged: behind.is_some() }
    }

    /// Restricts the agent to a scope. Behind the bridge its arguments don't apply, but its settings do.
    pub fn hold(&self, scope: &Permissions, rig: &PermissionRules<'_>) -> ExtraArgs {
        let held = self.own.map(|own| (own.hold)(scope, rig)).unwrap_or_default();
        if self.is_bridged { ExtraArgs { words: Vec::new(), ..held } } else { held }
    }

    pub fn sign_in(&self) -> Option<&'static str> {
        self.own.or(self.reader).map(|profile| profile.sign_in)
    }
}

pub fn profile_of(command: &[String]) -> Option<&'static Profile> {
    if is_bridged(command) {
        return Some(&acp::PROFILE);
    }
    let program = command.first()?.rsplit('/').next()?;
    PROFILES.iter().find(|profile| profile.program == program)
}

/// The profile of the agent whose Agent Client Protocol program this is; that program can differ from the
/// agent's own.
fn profile_by_bridge(behind: &[String]) -> Option<&'static Profile> {
    let program = behind.first()?.rsplit('/').next()?;
    PROFILES.iter().find(|profile| profile.acp.first() == Some(&program))
}

/// What is added to a command line for one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtraArgs {
    /// Arguments, appended to the command line.
    pub words: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// Files in the attempt's private directory, by name.
    pub files: Vec<(String, String)>,
}

/// Options that a command line can have only once: an addition replaces the value that is there.
const SINGLE: &[&str] = &["-s", "--sandbox", "--permission-mode", "--approval-mode"];

impl ExtraArgs {
    pub fn applied_to(&self, command: &[String]) -> Vec<String> {
        let is_replaced = |word: &String| SINGLE.contains(&word.as_str()) && self.words.contains(word);
        let mut words = Vec::new();
        let mut rest = command.iter();
        while let Some(word) = rest.next() {
            if is_replaced(word) {
                rest.next();
            } else {
                words.push(word.clone());
            }
        }
        words.extend(self.words.iter().cloned());
        words
    }

    pub fn extend(&mut self, others: Self) {
        self.words.extend(others.words);
        self.environment.extend(others.environment);
        self.files.extend(others.files);
    }
}
