//! The four wire formats, made one: what a request says and offers, and how an answer is spelled.

#[path = "wire/chat.rs"]
mod chat;
#[path = "wire/gemini.rs"]
mod gemini;
#[path = "wire/messages.rs"]
mod messages;
#[path = "wire/responses.rs"]
mod responses;

use serde_json::{Map, Value};

use super::http::Response;

/// A wire format, by the path that it is spoken at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Messages,
    /// `OpenAI`'s responses.
    Responses,
    /// `OpenAI`'s chat completions.
    Chat,
    Gemini,
}

/// What a request says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conversation {
    pub(crate) tools: Vec<Tool>,
    pub(crate) turns: Vec<Turn>,
}

/// Something that was said to the model. What the model said itself is left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Turn {
    /// By whoever prompts it.
    Said(String),
    /// By a tool that it called.
    Gave(String),
}

/// A tool that the agent offers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    /// With its namespace, as far as it has one: `mcp__plans.plan_get`.
    pub(crate) name: String,
    /// The schema of its arguments.
    pub(crate) parameters: Value,
    /// It takes one text instead.
    pub(crate) takes_text: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// Words; they end the turn.
    Text(String),
    /// A call of a tool.
    Call { tool: Tool, arguments: Value },
}

/// An event of a stream: its name, where the format has names, and its data.
type Event = (Option<String>, Value);

impl Tool {
    /// A tool of which nothing else is known.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), parameters: Value::Null, takes_text: false }
    }

    fn with(name: &Value, parameters: &Value) -> Self {
        Self { parameters: parameters.clone(), ..Self::named(name.as_str().unwrap_or_default()) }
    }

    /// Whether it has an argument of this name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.parameters["properties"].get(name).is_some()
    }

    /// Adds what it asks for and a script does not say.
    pub(crate) fn complete(&self, mut arguments: Map<String, Value>) -> Value {
        for name in list(&self.parameters["required"]).iter().filter_map(Value::as_str) {
            let filler = match self.parameters["properties"][name]["type"].as_str() {
                Some("boolean") => false.into(),
                Some("integer" | "number") => 0.into(),
                Some(_) | None => "as the script says".into(),
            };
            arguments.entry(name).or_insert(filler);
        }
        Value::Object(arguments)
    }
}

impl Wire {
    /// The format that is spoken at a path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let last = path.rsplit('/').next().unwrap_or_default();
        match last {
            "messages" => Some(Self::Messages),
            "responses" => Some(Self::Responses),
            "completions" => Some(Self::Chat),
            _ if last.ends_with("enerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    /// What a request says.
    pub(crate) fn hear(self, body: &Value) -> Conversation {
        match self {
            Self::Messages => messages::hear(body),
            Self::Responses => responses::hear(body),
            Self::Chat => chat::hear(body),
            Self::Gemini => gemini::hear(body),
        }
    }

    /// The answer, as a stream where the client wants one.
    pub(crate) fn say(self, reply: &Reply, body: &Value, path: &str, number: usize) -> Response {
        let is_stream = match self {
            Self::Messages | Self::Responses | Self::Chat => body["stream"] == true,
            Self::Gemini => path.contains(":stream"),
        };
        let whole = match self {
            Self::Messages => messages::whole(reply, body, number),
            Self::Responses => responses::whole(reply, body, number),
            Self::Chat => chat::whole(reply, body, number),
            Self::Gemini => gemini::whole(reply, number),
        };
        if !is_stream {
            return Response::json(200, &whole);
        }
        let events = match self {
            Self::Messages => messages::events(&whole),
            Self::Responses => responses::events(&whole),
            Self::Chat => chat::events(&whole),
            Self::Gemini => vec![(None, whole)],
        };
        let mut pieces: Vec<String> = events.iter().map(spell).collect();
        if self == Self::Chat {
            pieces.push("data: [DONE]\n\n".to_owned());
        }
        Response::stream(pieces)
    }
}

fn spell((name, data): &Event) -> String {
    let name = name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n")
}

/// The members of a list; none where it is none.
fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of something that is a text, or a list of parts with texts, or anything else.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts
                .iter()
                .map(|part| part["text"].as_str().map_or_else(|| part.to_string(), str::to_owned));
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
