//! The answer to an agent session that starts, is compacted or wants to end: the active plan, or a contract
//! result. Knows the format each agent expects. A failure here is a warning and never breaks a session.

use std::path::Path;

use planwright_core::workspace::reminder::{reminder, reminder_bound};
use serde_json::{Value, json};

use super::HookReply;
use crate::agent::session;
use crate::agent::session::{Error, Gate, StopQuestion};
use crate::workspace::project::Project;

/// Precedes the brief in a summary.
const KEEP: &str = "Keep the following in the summary, word for word:\n\n";

/// The output format an agent expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The JSON of claude, which codex and qwen adopted.
    Claude,
    /// The JSON of gemini, where stdout may contain nothing else.
    Gemini,
    Copilot,
    /// Text: for a person, or for the few lines loaded into pi and opencode.
    Text,
}

impl Form {
    fn of(input: &Value) -> Self {
        match input["hook_event_name"].as_str() {
            Some("AfterAgent" | "PreCompress") => Self::Gemini,
            Some(_) => Self::Claude,
            None if input.get("sessionId").is_some() => Self::Copilot,
            None => Self::Text,
        }
    }
}

/// A session starts, or continues after compaction.
pub(super) fn start(input: &Value, folder: &Path, complaints: &mut Vec<String>) -> HookReply {
    let Some(brief) = brief_of(folder, complaints) else { return HookReply::Pass };
    HookReply::Say(match Form::of(input) {
        Form::Claude | Form::Gemini => {
            let told = json!({"hookEventName": "SessionStart", "additionalContext": brief});
            line(&json!({"hookSpecificOutput": told}))
        }
        Form::Copilot => line(&json!({"additionalContext": brief})),
        Form::Text => brief,
    })
}

/// A session is about to be compacted. Agents that accept nothing here are told again by [`start`]
/// afterwards.
pub(super) fn compact(input: &Value, folder: &Path, complaints: &mut Vec<String>) -> HookReply {
    match Form::of(input) {
        Form::Claude | Form::Text => match brief_of(folder, complaints) {
            Some(brief) => HookReply::Say(format!("{KEEP}{brief}")),
            None => HookReply::Pass,
        },
        Form::Gemini | Form::Copilot => HookReply::Pass,
    }
}

/// The agent wants to end its turn.
pub(super) fn stop(input: &Value, folder: &Path, complaints: &mut Vec<String>) -> HookReply {
    let session = ["session_id", "sessionId"].iter().find_map(|key| input[*key].as_str()).unwrap_or_default();
    let asked = StopQuestion { session, is_again: input["stop_hook_active"] == true };
    match Project::find(folder).map_err(Error::from).and_then(|project| session::gate(&project, asked)) {
        Ok(Gate::Open) => HookReply::Pass,
        // The one answer that all agents accept in the same format.
        Ok(Gate::Hold(reason)) => HookReply::Say(line(&json!({"decision": "block", "reason": reason}))),
        Err(error) => {
            complaints.push(told(&error));
            HookReply::Pass
        }
    }
}

/// The brief of the active plans; `None` if there is none, or if one of our own agents asks: it knows its
/// task and needs no plan.
fn brief_of(folder: &Path, complaints: &mut Vec<String>) -> Option<String> {
    if session::is_attempt() {
        return None;
    }
    let mut complain = |error: &dyn std::error::Error| complaints.push(told(error));
    let project = match Project::find(folder) {
        Ok(project) => project,
        Err(error) => {
            complain(&error);
            return None;
        }
    };
    let plans = session::active(&project).unwrap_or_else(|error| {
        complain(&error);
        Vec::new()
    });
    match session::binding_of(&project) {
        Some(binding) => Some(reminder_bound(&binding, &plans)),
        None => reminder(&plans),
    }
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

/// An error with its causes on one line.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = format!("cannot report the plan: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_that_of_who_asks() {
        let cases = [
            (
                json!({"hook_event_name": "SessionStart", "session_id": "a", "source": "startup"}),
                Form::Claude,
            ),
            (json!({"hook_event_name": "Stop", "session_id": "a", "timestamp": "t"}), Form::Claude),
            (json!({"hook_event_name": "AfterAgent", "session_id": "a"}), Form::Gemini),
            (json!({"hook_event_name": "PreCompress", "session_id": "a"}), Form::Gemini),
            (json!({"sessionId": "a", "cwd": "/", "source": "new"}), Form::Copilot),
            (json!({"session_id": "a", "source": "startup"}), Form::Text),
            (json!(null), Form::Text),
            (json!([1]), Form::Text),
        ];
        for (input, form) in cases {
            assert_eq!(Form::of(&input), form, "{input}");
        }
    }
}
