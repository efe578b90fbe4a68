//! Hooks that agents call while they work: before a tool call, and when a session starts, is compacted or
//! ends. Parses their JSON and returns the answer, one function per event; never prints, and no answer is a
//! verdict.

mod session;
mod tool;

pub(crate) use tool::followed;

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde_json::Value;

/// The most bytes read of a question: a call that writes a large file contains all of it.
const INPUT_BYTES_MAX: usize = 16 << 20;

/// How long to wait for the session's input: the session starts whatever it says.
pub const SESSION_PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait for any other input.
pub const PATIENCE: Duration = Duration::from_mins(1);
const CHUNK_BYTES: usize = 1 << 16;

/// The answer for an agent that takes silence for a refusal.
pub const GRANT: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"in scope"}}"#;

/// A hook event of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// A tool is about to be called.
    PreTool,
    /// A session starts, or continues after compaction.
    SessionStart,
    /// A session is about to be compacted.
    PreCompact,
    /// The agent wants to end its turn.
    Stop,
}

/// Every event, with its command line word and the agents' names for it.
pub const EVENTS: &[(HookEvent, &str, &[&str])] = &[
    (
        HookEvent::PreTool,
        "pre-tool",
        &["PreToolUse", "BeforeTool", "preToolUse", "tool_call", "tool.execute.before"],
    ),
    (HookEvent::SessionStart, "session-start", &["SessionStart", "sessionStart", "session_start"]),
    (
        HookEvent::PreCompact,
        "pre-compact",
        &["PreCompact", "PreCompress", "preCompact", "session_before_compact"],
    ),
    (HookEvent::Stop, "stop", &["Stop", "AfterAgent", "agentStop", "agent_end"]),
];

impl HookEvent {
    pub fn of_word(word: &str) -> Option<Self> {
        EVENTS.iter().find(|(_, known, _)| *known == word).map(|(event, _, _)| *event)
    }

    pub fn word(self) -> &'static str {
        EVENTS.iter().find(|(known, _, _)| *known == self).map_or("pre-tool", |(_, word, _)| word)
    }

    /// The event that the agent itself names.
    fn of_input(input: &Value) -> Option<Self> {
        let name =
            ["hook_event_name", "hookEventName", "event"].iter().find_map(|key| input[*key].as_str())?;
        let is_it = |names: &[&str]| names.contains(&name);
        EVENTS.iter().find(|(_, word, names)| *word == name || is_it(names)).map(|(event, _, _)| *event)
    }
}

/// The answer to the agent. All agents understand exit codes, and no two the same JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookReply {
    /// No objection: exit 0, no output.
    Pass,
    /// No objection, and this goes into the session: exit 0, on stdout.
    Say(String),
    /// Refused, for this reason: exit 2, on stderr.
    Refuse(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookResponse {
    pub event: HookEvent,
    pub reply: HookReply,
    /// Warnings for the user, not for the agent.
    pub complaints: Vec<String>,
}

/// An agent's input from stdin, up to its end, to the first complete object, or until the wait times out:
/// some agents never close it. Nothing is read from a terminal, where the user would not know that input is
/// expected.
pub fn read_request(patience: Duration) -> String {
    if io::stdin().is_terminal() {
        return String::new();
    }
    let (sender, receiver) = mpsc::sync_channel::<Vec<u8>>(1);
    // If its input never comes, the thread is abandoned and ends with the process.
    let read = move || {
        let mut stdin = io::stdin().lock();
        let mut chunk = vec![0; CHUNK_BYTES];
        // A read error counts as the end.
        while let Ok(count @ 1..) = stdin.read(&mut chunk) {
            if sender.send(chunk[..count].to_vec()).is_err() {
                return;
            }
        }
    };
    // Without a thread there is no input in time: whoever asks must not be kept waiting.
    std::thread::Builder::new().spawn(read).ok();
    let (begin, mut input) = (Instant::now(), Vec::new());
    while let Ok(chunk) = receiver.recv_timeout(patience.saturating_sub(begin.elapsed())) {
        input.extend(chunk);
        if is_whole(&input) || input.len() > INPUT_BYTES_MAX {
            break;
        }
    }
    String::from_utf8_lossy(&input).into_owned()
}

/// Whether an object is complete. Most pieces of one do not end like it, and are not parsed.
fn is_whole(input: &[u8]) -> bool {
    input.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(input).is_ok()
}

/// The working directory of the agent's session by its own input; `None` if it names none or one that does
/// not exist.
pub fn folder_in(input: &str) -> Option<PathBuf> {
    let input: Value = serde_json::from_str(input).ok()?;
    let folder = PathBuf::from(input["cwd"].as_str()?);
    Some(folder).filter(|folder| folder.is_absolute() && folder.is_dir())
}

/// Answers a hook event in `folder`. Unreadable input counts as a tool call, the one event where silence does
/// harm.
pub fn answer(typed: Option<HookEvent>, input: &str, folder: &Path) -> HookResponse {
    let read: Result<Value, String> = serde_json::from_str(input).map_err(|error| error.to_string());
    let named = read.as_ref().ok().and_then(HookEvent::of_input);
    let event = typed.or(named).unwrap_or(HookEvent::PreTool);
    let mut complaints = Vec::new();
    let reply = match event {
        HookEvent::PreTool => tool::answer(read, folder, &mut complaints),
        HookEvent::SessionStart => session::start(&read.unwrap_or_default(), folder, &mut complaints),
        HookEvent::PreCompact => session::compact(&read.unwrap_or_default(), folder, &mut complaints),
        HookEvent::Stop => session::stop(&read.unwrap_or_default(), folder, &mut complaints),
    };
    HookResponse { event, reply, complaints }
}
