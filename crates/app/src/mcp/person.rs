//! How a person says yes to a decision that a model asks for. The client's own dialog asks them (elicitation), where there is
//! one; else they get the command to type. A model can't say it for them: it chooses the arguments of a call, and the answer of
//! the dialog is none.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequiredResult, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};

use super::tool::{ToolError, ToolReply};
use crate::command;

/// How long a person may take to answer the dialog.
const PATIENCE: Duration = Duration::from_mins(30);
/// How many questions may be open at once.
const OPEN_MAX: usize = 16;
/// The name of the question and of what is typed into it.
const NAME: &str = "person";
const TYPED: &str = "confirm";
/// What a person types. A dialog that is accepted unread, or by a program, comes back without it.
const YES: &str = "yes";

/// What a yes does, given the name of who said it.
type Act = Box<dyn FnOnce(&str) -> Result<ToolReply, ToolError> + Send>;

/// Something that only a person may decide.
pub(super) struct PersonQuestion {
    pub(super) question: Question,
    /// What a yes does; it gets the name of who said it.
    pub(super) act: Act,
}

/// What a person is asked.
pub(super) struct Question {
    /// The words: all that follows from a yes.
    pub(super) text: String,
    /// What they type where nobody can ask them.
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
    /// They said no, or nothing, or nobody could ask them: this is what the model is told.
    No(ToolReply),
    /// The client has to ask them first.
    Asking(Box<CallToolResponse>),
}

/// Questions that a client was given to ask, by the name that it has to give back.
#[derive(Default)]
pub(super) struct Questions {
    open: Mutex<(u64, BTreeMap<u64, String>)>,
}

impl Questions {
    /// Has a person asked, by the way that the client's version of the protocol knows.
    pub(super) async fn ask(
        &self,
        question: &Question,
        call: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> PersonReply {
        // An agent that has a shell could be its own client, and answer its own question.
        if let Some(sign) = command::agent_sign() {
            return PersonReply::No(by_hand(
                question,
                &format!("an agent is at this terminal ({})", sign.sign),
            ));
        }
        if !context.client_capabilities().is_some_and(|capabilities| can_ask(&capabilities)) {
            return PersonReply::No(by_hand(
                question,
                "this client has no dialog in which a person could be asked",
            ));
        }
        let version = context.protocol_version();
        if version.is_none_or(|version| version.as_str() < ProtocolVersion::V_2026_07_28.as_str()) {
            let request = ServerRequest::ElicitRequest(ElicitRequest::new(dialog(&question.text)));
            let options = PeerRequestOptions::with_timeout(PATIENCE);
            let answer = match context.peer.send_request_with_option(request, options).await {
                Ok(handle) => handle.await_response().await,
                Err(error) => Err(error),
            };
            return match answer {
                Ok(ClientResult::ElicitResult(result)) => heard(question, &result),
                Ok(_) | Err(_) => PersonReply::No(by_hand(question, "the client could not ask a person")),
            };
        }
        let asked = call.request_state.as_deref().and_then(|state| self.take(state));
        let answers = call.input_responses.as_ref();
        let answer = answers.and_then(|answers| serde_json::from_value(answers.get(NAME)?.clone()).ok());
        match (asked, answer) {
            (Some(asked), Some(result)) if asked == question.text => heard(question, &result),
            (Some(_), Some(_)) => PersonReply::No(ToolReply::error(
                "what was asked about has changed meanwhile; nothing was done. Call again",
            )),
            (Some(_) | None, None) | (None, Some(_)) => {
                PersonReply::Asking(Box::new(self.open(&question.text)))
            }
        }
    }

    /// A question for the client to ask.
    fn open(&self, question: &str) -> CallToolResponse {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, questions) = &mut *open;
        *count += 1;
        questions.insert(*count, question.to_owned());
        if questions.len() > OPEN_MAX {
            questions.pop_first();
        }
        let request = InputRequest::Elicitation(ElicitRequest::new(dialog(question)));
        let requests = BTreeMap::from([(NAME.to_owned(), request)]);
        InputRequiredResult::new(Some(requests), Some(count.to_string())).into()
    }

    /// The question that was asked under this name; each is answered once.
    fn take(&self, name: &str) -> Option<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.1.remove(&name.parse().ok()?)
    }
}

/// Whether the client shows forms. One that names no way at all is of the time when there was only this one.
fn can_ask(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.as_ref().is_some_and(|ways| ways.form.is_some() || ways.url.is_none())
}

fn dialog(question: &str) -> ElicitRequestParams {
    let typed = |schema: rmcp::model::StringSchema| {
        schema
            .title("Your decision")
            .description(format!("type `{YES}` to confirm; anything else changes nothing"))
    };
    let schema = ElicitationSchema::builder().required_string_property(TYPED, typed).build();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.to_owned(),
        requested_schema: schema.expect("a form with one line can be made"),
    }
}

fn heard(question: &Question, result: &ElicitResult) -> PersonReply {
    let typed = result.content.as_ref().and_then(|content| content[TYPED].as_str()).unwrap_or_default();
    match (matches!(result.action, ElicitationAction::Accept), typed.trim().eq_ignore_ascii_case(YES)) {
        (true, true) => PersonReply::Yes,
        (true, false) => {
            PersonReply::No(by_hand(question, &format!("the dialog came back without the word `{YES}`")))
        }
        (false, _) => PersonReply::No(ToolReply::error("the person did not say yes; nothing was done")),
    }
}

/// What is said where nobody could be asked.
fn by_hand(question: &Question, why: &str) -> ToolReply {
    ToolReply::error(format!(
        "Only a person decides this, and {why}. Nothing was done. They can type:\n  {}",
        question.command
    ))
}
