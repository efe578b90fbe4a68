//! What agents ask while they work: before a tool is called, and when a session begins, is compacted or ends. Reads their JSON and
//! says what is to be answered, one function an event; never prints, and no answer is a verdict.

mod session;
mod tool;

pub(crate) use tool::followed;

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde_json::Value;

/// The most bytes of a question that are read: whoever writes a large file says all of it here.
const INPUT_BYTES_MAX: usize = 16 << 20;

/// How long a session waits for what its agent says of it: it begins whatever that is.
pub const SESSION_PATIENCE: Duration = Duration::from_secs(1);
/// How long anything else is waited for.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// How much is read at once.
const CHUNK_BYTES: usize = 1 << 16;

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
    pub reply: Reply,
    /// What the user should know of, and the agent need not.
    pub complaints: Vec<String>,
}

/// What an agent says on its standard input, up to the end, to the first whole object, or until patience is spent: some agents never
/// close it. Nothing is read from a terminal, where nobody knows that something is waited for.
pub fn heard(patience: Duration) -> String {
    if io::stdin().is_terminal() {
        return String::new();
    }
    let (sender, receiver) = mpsc::sync_channel::<Vec<u8>>(1);
    // It is left behind where it waits for what nobody says, and ends with the process.
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut chunk = vec![0; CHUNK_BYTES];
        // What can't be read is as good as the end.
        while let Ok(count @ 1..) = stdin.read(&mut chunk) {
            if sender.send(chunk[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let (begin, mut input) = (Instant::now(), Vec::new());
    while let Ok(chunk) = receiver.recv_timeout(patience.saturating_sub(begin.elapsed())) {
        input.extend(chunk);
        if is_whole(&input) || input.len() > INPUT_BYTES_MAX {
            break;
        }
    }
    String::from_utf8_lossy(&input).into_owned()
}

/// Whether an object is said to its end. Most pieces of one do not end like it, and are not looked at further.
fn is_whole(input: &[u8]) -> bool {
    input.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(input).is_ok()
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
