//! What agents call while they work: hooks, and the bridge to those that speak the Agent Client Protocol.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::agent::acp;
use crate::agent::acp::AcpEnd;
use crate::agent::hook;
use crate::agent::hook::{HookEvent, HookReply};
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::system::process::Stop;

/// The answer to a hook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookAnswer {
    /// What was asked about: `pre-tool`, `session-start`, `pre-compact` or `stop`.
    pub event: &'static str,
    /// Whether it may happen.
    pub allowed: bool,
    /// What the agent is told: why it may not, or what to add to its session.
    pub text: String,
    /// What to answer instead to an agent that treats silence as a refusal.
    #[serde(skip)]
    pub grant: Option<&'static str>,
    #[serde(skip)]
    pub complaints: Vec<String>,
}

/// Reads what an agent asks on standard input and answers it. `word` names the event, otherwise the input does.
pub fn answer_hook(word: Option<&str>) -> Result<HookAnswer, Error> {
    let event = word.map(event_named).transpose()?;
    let patience = match event {
        Some(HookEvent::SessionStart) => hook::SESSION_PATIENCE,
        Some(HookEvent::PreTool | HookEvent::PreCompact | HookEvent::Stop) | None => hook::PATIENCE,
    };
    // What can't be read is as good as rubbish, and is answered so.
    let input = hook::read_request(patience);
    // Agents start hooks in any directory and pass that of the session.
    let folder = hook::folder_in(&input).unwrap_or_else(|| PathBuf::from("."));
    let answered = hook::answer(event, &input, &folder);
    let is_call = answered.event == HookEvent::PreTool;
    let (allowed, text, grant) = match answered.reply {
        HookReply::Pass => (true, String::new(), is_call.then_some(hook::GRANT)),
        HookReply::Say(text) => (true, text, None),
        HookReply::Refuse(reason) => (false, reason, None),
    };
    let event = answered.event.word();
    Ok(HookAnswer { event, allowed, text, grant, complaints: answered.complaints })
}

fn event_named(word: &str) -> Result<HookEvent, Error> {
    HookEvent::of_word(word).ok_or_else(|| {
        let words: Vec<&str> = hook::EVENTS.iter().map(|(_, word, _)| *word).collect();
        Error::new(ErrorKind::Usage, format!("unknown event `{word}`"))
            .hint(format!("the events are {}", words.join(", ")))
            .next(NextCommand::new(["planwright", "help", "hook"]))
    })
}

/// Has an agent work on a prompt in the current directory; `told` gets its events.
pub fn bridge_acp(
    agent: &[String],
    prompt: &str,
    stop: &Stop,
    told: &mut dyn FnMut(&Value),
) -> Result<AcpEnd, Error> {
    let here = std::env::current_dir().map_err(|error| {
        Error::new(ErrorKind::Machine, "cannot read the current directory").because(&error)
    })?;
    acp::bridge(agent, (&here, prompt), stop, told).map_err(|error| {
        match matches!(error, acp::Error::Stopped) {
            true => Error::new(ErrorKind::Stopped, "stopped"),
            false => {
                Error::from_error(ErrorKind::Machine, &error).next(NextCommand::new(["planwright", "doctor"]))
            }
        }
    })
}
