//! What agents ask while they work: before a tool is called, and when a session begins, is compacted or ends. Reads their JSON and
//! says what is to be answered, one function an event; never prints, and no answer is a verdict.

mod session;
mod tool;

pub(crate) use tool::followed;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The most bytes of a question that are read: whoever writes a large file says all of it here.
pub const INPUT_BYTES_MAX: u64 = 16 << 20;

/// What an agent is told that takes silence for a no.
pub const GRANT: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"in scope"}}"#;

/// Something that an agent asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A tool is about to be called.
    PreTool,
    /// A session begins, or goes on after it was compacted.
    SessionStart,
    /// A session is about to be compacted.
    PreCompact,
    /// The agent wants to end its turn.
    Stop,
}

/// Every event, with the word for the command line and the names that agents give it.
pub const EVENTS: &[(Event, &str, &[&str])] = &[
    (
        Event::PreTool,
        "pre-tool",
        &["PreToolUse", "BeforeTool", "preToolUse", "tool_call", "tool.execute.before"],
    ),
    (Event::SessionStart, "session-start", &["SessionStart", "sessionStart", "session_start"]),
    (
        Event::PreCompact,
        "pre-compact",
        &["PreCompact", "PreCompress", "preCompact", "session_before_compact"],
    ),
    (Event::Stop, "stop", &["Stop", "AfterAgent", "agentStop", "agent_end"]),
];

impl Event {
    /// The event that a word of the command line means.
    pub fn of_word(word: &str) -> Option<Self> {
        EVENTS.iter().find(|(_, known, _)| *known == word).map(|(event, _, _)| *event)
    }

    /// The event that the agent itself names.
    fn of_input(input: &Value) -> Option<Self> {
        let name =
            ["hook_event_name", "hookEventName", "event"].iter().find_map(|key| input[*key].as_str())?;
        let is_it = |names: &[&str]| names.contains(&name);
        EVENTS.iter().find(|(_, word, names)| *word == name || is_it(names)).map(|(event, _, _)| *event)
    }
}

/// What the agent is answered. All agents understand exit codes, and no two the same JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing stands in the way: exit 0, not a word.
    Pass,
    /// Nothing stands in the way, and this goes into the session: exit 0, on stdout.
    Say(String),
    /// It must not happen, for this reason: exit 2, on stderr.
    Refuse(String),
}

/// What was asked, and the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// What was asked about.
    pub event: Event,
    /// The answer.
    pub reply: Reply,
    /// What the user should know of, and the agent need not.
    pub complaints: Vec<String>,
}

/// The folder in which the session of an agent stands, as its question says; `None` where it does not, or where there is none.
pub fn folder_in(input: &str) -> Option<PathBuf> {
    let input: Value = serde_json::from_str(input).ok()?;
    let folder = PathBuf::from(input["cwd"].as_str()?);
    Some(folder).filter(|folder| folder.is_absolute() && folder.is_dir())
}

/// Answers what an agent asks in `folder`. What can't be read is taken for a call of a tool, the one event where silence does harm.
pub fn answer(typed: Option<Event>, input: &str, folder: &Path) -> Answered {
    let read: Result<Value, String> = serde_json::from_str(input).map_err(|error| error.to_string());
    let named = read.as_ref().ok().and_then(Event::of_input);
    let event = typed.or(named).unwrap_or(Event::PreTool);
    let mut complaints = Vec::new();
    let reply = match event {
        Event::PreTool => tool::answer(read, folder, &mut complaints),
        Event::SessionStart => session::start(&read.unwrap_or_default(), folder, &mut complaints),
        Event::PreCompact => session::compact(&read.unwrap_or_default(), folder, &mut complaints),
        Event::Stop => session::stop(&read.unwrap_or_default(), folder, &mut complaints),
    };
    Answered { event, reply, complaints }
}
