//! The bridge to an agent that speaks the Agent Client Protocol: passes on the prompt, answers permission
//! requests from the scope of the attempt, reports events line by line, and ends with the agent's turn. It
//! runs inside an attempt and judges nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use planwright_core::agent::acp;
use planwright_core::agent::permission::{Decision, Permissions, RefusedCall, ToolCall};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::agent::hook;
use crate::run::permission::{note, of_process};
use crate::system::clock;
use crate::system::process;
use crate::system::process::{LineProtocol, ProtocolLine, Stop};

/// Time limit for an agent to get ready.
const READY_MAX: Duration = Duration::from_mins(2);
/// Time limit for an agent to end its turn after being told to.
const CANCEL_MAX: Duration = Duration::from_secs(2);
/// Time limit for an agent to exit once its input is closed.
const END_MAX: Duration = Duration::from_secs(2);
/// How often an agent whose turn ended with a refusal is asked to continue.
const AGAIN_MAX: usize = 3;
/// How long to wait for output before checking whether to stop.
const POLL: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct AcpEnd {
    /// The session, as the agent names it.
    pub session: String,
    /// The agent's own word for why the turn ended, such as `end_turn`.
    pub stop: String,
    /// How many calls were refused.
    pub refused: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot start the agent")]
    Start(#[from] process::Error),
    /// Without a scope nothing may be done.
    #[error("cannot read the scope of this attempt")]
    Scope(#[source] std::io::Error),
    /// It exited before its turn ended.
    #[error("the agent exited during `{method}`")]
    Died {
        /// The request.
        method: &'static str,
    },
    #[error("the agent timed out on `{method}` after {seconds} s")]
    Silent {
        /// The request.
        method: &'static str,
        seconds: u64,
    },
    /// It refused a request.
    #[error("the agent returned an error for `{method}`: {message}")]
    Refused {
        /// The request.
        method: &'static str,
        /// The agent's own message.
        message: String,
        /// The error code, which says more than its message.
        code: Option<i64>,
    },
    #[error("interrupted")]
    Stopped,
}

/// Passes a prompt to an agent and returns when its turn ends; `tell` receives every event.
pub fn bridge(
    argv: &[String],
    (folder, prompt): (&Path, &str),
    stop: &Stop,
    tell: &mut dyn FnMut(&Value),
) -> Result<AcpEnd, Error> {
    let scope = match of_process() {
        None => None,
        Some(Ok((scope, notes))) => Some((scope, notes)),
        Some(Err(error)) => return Err(Error::Scope(error)),
    };
    let dialogue = LineProtocol::start(argv, folder)?;
    let mut bridge =
        Bridge { dialogue, scope, stop, tell, last: 0, ended: AcpEnd::default(), rejected: None, folder };
    let done = bridge.turn(prompt);
    if let Err(error) = &done {
        let mut event = json!({"type": "error", "message": error.to_string()});
        if let Error::Refused { code: Some(code), .. } = error {
            event["code"] = json!(code);
        }
        (bridge.tell)(&event);
    }
    let Bridge { dialogue, ended, .. } = bridge;
    dialogue.end(END_MAX);
    done.map(|()| ended)
}

struct Bridge<'a> {
    dialogue: LineProtocol,
    scope: Option<(Permissions, std::path::PathBuf)>,
    stop: &'a Stop,
    tell: &'a mut dyn FnMut(&Value),
    last: u64,
    ended: AcpEnd,
    /// Why the last call was refused, if the agent has done nothing since.
    rejected: Option<String>,
    folder: &'a Path,
}

impl Bridge<'_> {
    fn turn(&mut self, prompt: &str) -> Result<(), Error> {
        let hello = self.ask("initialize", &acp::introduction(), Some(READY_MAX))?;
        let folder = self.folder.to_string_lossy().into_owned();
        let session = self.ask("session/new", &json!({"cwd": folder, "mcpServers": []}), Some(READY_MAX))?;
        let id = session["sessionId"].as_str().unwrap_or_default().to_owned();
        self.ended.session.clone_from(&id);
        (self.tell)(&json!({"type": "session", "session": id, "agent": hello["agentInfo"]}));
        if let Some(mode) = acp::asking_mode(&session, self.scope.as_ref().map(|(scope, _)| scope)) {
            let parameters = json!({"sessionId": id, "modeId": mode});
            self.ask("session/set_mode", &parameters, Some(READY_MAX))?;
        }
        let mut text = prompt.to_owned();
        for round in 0..=AGAIN_MAX {
            let parameters = json!({"sessionId": id, "prompt": [{"type": "text", "text": text}]});
            let result = self.ask("session/prompt", &parameters, None)?;
            if let Some(usage) = acp::usage(&result) {
                (self.tell)(&usage);
            }
            result["stopReason"].as_str().unwrap_or_default().clone_into(&mut self.ended.stop);
            match self.rejected.take() {
                // A turn that ended with a refusal is not finished work: the agent is told why and continues.
                Some(why) if round < AGAIN_MAX => text = acp::again(&why),
                Some(_) | None => break,
            }
        }
        (self.tell)(&json!({"type": "end", "stop": self.ended.stop}));
        Ok(())
    }

    /// Sends a request and waits for the answer, up to the limit if there is one.
    fn ask(
        &mut self,
        method: &'static str,
        parameters: &Value,
        limit: Option<Duration>,
    ) -> Result<Value, Error> {
        self.last += 1;
        let id = self.last;
        self.say(&acp::request(id, method, parameters), method)?;
        let begin = Instant::now();
        let mut cancelled: Option<Instant> = None;
        loop {
            if self.stop.is_requested() && cancelled.is_none() {
                cancelled = Some(Instant::now());
                let parameters = json!({"sessionId": self.ended.session});
                self.say(&acp::notification("session/cancel", &parameters), method)?;
            }
            if cancelled.is_some_and(|since| since.elapsed() > CANCEL_MAX) {
                return Err(Error::Stopped);
            }
            if let Some(limit) = limit.filter(|limit| begin.elapsed() > *limit) {
                return Err(Error::Silent { method, seconds: limit.as_secs() });
            }
            let line = match self.dialogue.hear(POLL) {
                ProtocolLine::Line(line) => line,
                ProtocolLine::Nothing => continue,
                ProtocolLine::Ended => return Err(Error::Died { method }),
            };
            // A line that is not a message is the agent talking to itself.
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message.get("method").is_some() {
                self.take(&message, method)?;
            } else if message["id"] == id {
                return match message.get("error") {
                    Some(error) => {
                        let text = error["message"].as_str().unwrap_or_default();
                        let data =
                            error["data"]["details"].as_str().or(error["data"].as_str()).unwrap_or_default();
                        let message = format!("{text} {data}").trim().to_owned();
                        Err(Error::Refused { method, message, code: error["code"].as_i64() })
                    }
                    None if cancelled.is_some() => Err(Error::Stopped),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    fn say(&mut self, message: &Value, method: &'static str) -> Result<(), Error> {
        self.dialogue.say(&message.to_string()).map_err(|_| Error::Died { method })
    }

    /// Handles what the agent sends on its own.
    fn take(&mut self, message: &Value, method: &'static str) -> Result<(), Error> {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("session/update") => {
                let update = &parameters["update"];
                if acp::goes_on(update) {
                    self.rejected = None;
                }
                if let Some(event) = acp::told(update) {
                    (self.tell)(&event);
                }
                Ok(())
            }
            Some("session/request_permission") => {
                let answer = self.permit(parameters);
                self.say(&acp::response(&message["id"], &answer), method)
            }
            Some(_) | None if message.get("id").is_some() => self.say(&acp::unknown(&message["id"]), method),
            Some(_) | None => Ok(()),
        }
    }

    fn permit(&mut self, parameters: &Value) -> Value {
        let call = ToolCall::of_permission(parameters, &self.folder.to_string_lossy());
        let call = match &self.scope {
            Some((scope, _)) => hook::followed(call, scope, self.folder),
            None => call,
        };
        let (ruling, answer) =
            acp::permission(parameters, self.scope.as_ref().map(|(scope, _)| scope), &call);
        let (word, why) = match &ruling {
            Decision::Allowed => ("allowed", ""),
            Decision::Noted(why) => ("noted", why.as_str()),
            Decision::Denied(why) => ("denied", why.as_str()),
        };
        (self.tell)(&json!({"type": "permission", "tool": call.tool, "ruling": word, "why": why}));
        if let (false, Some((_, notes))) = (why.is_empty(), &self.scope) {
            let is_blocked = word == "denied";
            let refused =
                RefusedCall { at_ms: clock::now(), tool: call.tool, why: why.to_owned(), is_blocked };
            // A failure to log was reported above.
            note(notes, &refused).ok();
            if is_blocked {
                self.ended.refused += 1;
                self.rejected = Some(why.to_owned());
            }
        }
        answer
    }
}
