//! How a person confirms a decision that a model requests: in the client's dialog (elicitation) if it has one,
//! otherwise by typing a command. A model cannot confirm: it writes the arguments of a call, never the dialog's
//! answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Queued;
use super::peer::Peer;
use super::tool::{ToolError, ToolReply};
use planwright_engine::api::Caller;

/// How long a person may take to answer the dialog.
const PATIENCE: Duration = Duration::from_mins(30);
/// Maximum number of open questions.
const OPEN_MAX: usize = 16;
/// The name of the question and of what is typed into it.
const NAME: &str = "person";
const TYPED: &str = "confirm";
/// What a person types. A dialog that is accepted unread, or by a program, comes back without it.
const YES: &str = "yes";

/// What an approval does, given the name of the person.
type Act = Box<dyn FnOnce(&str) -> Result<ToolReply, ToolError> + Send>;

/// Something that only a person may decide.
pub(super) struct PersonQuestion {
    pub(super) question: Question,
    /// What an approval does; it gets the name of the person.
    pub(super) act: Act,
}

/// What a person is asked.
pub(super) struct Question {
    /// The text: everything an approval causes.
    pub(super) text: String,
    /// The command to type if no dialog is available.
    pub(super) command: String,
}

impl PersonQuestion {
    pub(super) fn new(
        (text, command): (String, String),
        act: impl FnOnce(&str) -> Result<ToolReply, ToolError> + Send + 'static,
    ) -> Self {
        Self { question: Question { text, command }, act: Box::new(act) }
    }
}

/// What a person said.
pub(super) enum PersonReply {
    Yes,
    /// Declined, unanswered or impossible to ask: the reply to the model.
    No(ToolReply),
    /// The client has to ask them first.
    Asking(Value),
}

/// Questions that a client was given to ask, by the name that it has to give back.
#[derive(Default)]
pub(super) struct Questions {
    open: Mutex<(u64, BTreeMap<u64, String>)>,
}

impl Questions {
    /// Has a person asked, by the way that the client's version of the protocol knows.
    pub(super) fn ask(&self, question: &Question, call: &Queued, peer: &Peer) -> PersonReply {
        // An agent that has a shell could be its own client, and answer its own question.
        if let Some(sign) = Caller::of_process().sign() {
            return PersonReply::No(by_hand(
                question,
                &format!("this terminal belongs to an agent ({sign})"),
            ));
        }
        if !can_ask(&call.caller.capabilities) {
            return PersonReply::No(by_hand(question, "this client cannot show dialogs"));
        }
        if !call.caller.is_stateless() {
            let answer = peer.ask(&call.id, ("elicitation/create", &dialog(&question.text)), PATIENCE);
            return heard(question, &answer.unwrap_or_default());
        }
        let asked = call.params.request_state.as_deref().and_then(|state| self.take(state));
        let answer = call.params.input_responses.as_ref().and_then(|answers| answers.get(NAME));
        match (asked, answer) {
            (Some(asked), Some(result)) if asked == question.text => heard(question, result),
            (Some(_), Some(_)) => {
                PersonReply::No(ToolReply::error("it changed in the meantime; nothing was done. Call again"))
            }
            (Some(_) | None, None) | (None, Some(_)) => PersonReply::Asking(self.open(&question.text)),
        }
    }

    /// A question for the client to ask.
    fn open(&self, question: &str) -> Value {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, questions) = &mut *open;
        *count += 1;
        questions.insert(*count, question.to_owned());
        if questions.len() > OPEN_MAX {
            questions.pop_first();
        }
        json!({
            "resultType": "input_required",
            "inputRequests": {NAME: {"method": "elicitation/create", "params": dialog(question)}},
            "requestState": count.to_string(),
        })
    }

    /// The question that was asked under this name; each is answered once.
    fn take(&self, name: &str) -> Option<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.1.remove(&name.parse().ok()?)
    }
}

/// Whether the client shows forms. One that names no way at all is of the time when there was only this one.
fn can_ask(capabilities: &Map<String, Value>) -> bool {
    let ways = capabilities.get("elicitation").and_then(Value::as_object);
    ways.is_some_and(|ways| ways.contains_key("form") || !ways.contains_key("url"))
}

fn dialog(question: &str) -> Value {
    let typed = json!({
        "type": "string",
        "title": "Your decision",
        "description": format!("type `{YES}` to confirm; anything else changes nothing"),
    });
    let schema = json!({"type": "object", "properties": {TYPED: typed}, "required": [TYPED]});
    json!({"mode": "form", "message": question, "requestedSchema": schema})
}

/// Reads the client's answer. Without a person's choice it counts as none.
fn heard(question: &Question, result: &Value) -> PersonReply {
    let typed = result["content"][TYPED].as_str().unwrap_or_default();
    match (result["action"].as_str(), typed.trim().eq_ignore_ascii_case(YES)) {
        (Some("accept"), true) => PersonReply::Yes,
        (Some("accept"), false) => {
            PersonReply::No(by_hand(question, &format!("the dialog returned without `{YES}`")))
        }
        (Some("decline" | "cancel"), _) => {
            PersonReply::No(ToolReply::error("the person declined; nothing was done"))
        }
        (_, _) => PersonReply::No(by_hand(question, "the client could not ask a person")),
    }
}

/// The reply if the person could not be asked.
fn by_hand(question: &Question, why: &str) -> ToolReply {
    ToolReply::error(format!(
        "Only a person can decide this: {why}. Nothing was done. They can type:\n  {}",
        question.command
    ))
}
