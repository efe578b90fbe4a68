//! What a tool is: name, description, arguments and effect. Reads arguments and words answers and errors; independent
//! of any tool.

use std::error::Error;

use planwright_engine::api::Stop;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::person::PersonQuestion;
use super::protocol::{Caller, JsonObject};
use super::session::McpSession;

/// The most bytes that an answer may have; agents cut longer ones off somewhere.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A tool.
pub(super) struct McpTool {
    pub(super) name: &'static str,
    /// What a model is told.
    pub(super) about: &'static str,
    pub(super) effect: ToolEffect,
    pub(super) schema: fn() -> JsonObject,
    pub(super) call: fn(&ToolRequest<'_>) -> ToolResult,
}

/// What a call can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolEffect {
    /// Nothing.
    Reads,
    /// Something is added that moves nothing: a proposal, a note.
    Adds,
    /// Something is decided, if a person says so.
    Decides,
}

/// One call.
pub(super) struct ToolRequest<'a> {
    pub(super) session: &'a McpSession,
    /// Told when the client gives the call up.
    pub(super) stop: &'a Stop,
    pub(super) arguments: JsonObject,
}

/// What a call comes to.
pub(super) enum ToolOutcome {
    /// The answer.
    Said(ToolReply),
    /// A person must confirm first.
    Ask(Box<PersonQuestion>),
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolReply {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// Why a call failed, worded so that a model can recover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolError(pub(super) String);

/// What the code of a tool returns.
pub(super) type ToolResult = Result<ToolOutcome, ToolError>;

impl ToolError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let why = error.to_string();
            // Some errors repeat the text of their source.
            if !text.ends_with(&why) {
                text.push_str(&format!(": {why}"));
            }
            cause = error.source();
        }
        Self(text)
    }
}

impl ToolReply {
    /// Words.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false }
    }

    /// Words that say what went wrong.
    pub(super) fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true }
    }

    /// Data.
    pub(super) fn data(data: &impl Serialize) -> Self {
        Self::text(serde_json::to_string(data).expect("what tools say can be written as JSON"))
    }

    /// The answer as the caller's version of the protocol has it.
    pub(super) fn result(self, caller: &Caller) -> Value {
        let text = match self.text.len() <= TEXT_BYTES_MAX {
            true => self.text,
            false => {
                let kept = &self.text[..self.text.floor_char_boundary(TEXT_BYTES_MAX)];
                format!("{kept}\n[{} more bytes not shown]", self.text.len() - kept.len())
            }
        };
        let content = json!([{"type": "text", "text": text}]);
        match caller.is_stateless() {
            true => json!({"resultType": "complete", "content": content, "isError": self.is_error}),
            false => json!({"content": content, "isError": self.is_error}),
        }
    }
}

impl From<ToolReply> for ToolOutcome {
    fn from(reply: ToolReply) -> Self {
        Self::Said(reply)
    }
}

/// A tool as clients see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    input_schema: JsonObject,
    annotations: Annotations,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    open_world_hint: bool,
}

impl McpTool {
    /// The tool as clients see it.
    pub(super) fn definition(&self) -> Definition {
        let (read_only_hint, destructive_hint) = match self.effect {
            ToolEffect::Reads => (true, None),
            ToolEffect::Adds => (false, Some(false)),
            ToolEffect::Decides => (false, Some(true)),
        };
        Definition {
            name: self.name,
            description: self.about,
            input_schema: (self.schema)(),
            annotations: Annotations { read_only_hint, destructive_hint, open_world_hint: false },
        }
    }
}

impl ToolRequest<'_> {
    /// The arguments, or what is wrong with them.
    pub(super) fn read<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, ToolError> {
        serde_json::from_value(Value::Object(self.arguments.clone())).map_err(|error| {
            let schema = Value::Object(schema::<T>());
            ToolError(format!("invalid arguments: {error}. Expected: {}", schema["properties"]))
        })
    }
}

/// What a tool takes, as short as JSON schema allows: every client sends all of it to the model with every request.
pub(super) fn schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    shorten(&mut schema);
    let Value::Object(mut object) = schema else { return JsonObject::new() };
    object.remove("title");
    object.remove("description");
    object.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    object
}

/// Takes out what says nothing to a model: that what may be left out may be null as well, and how a number is stored.
fn shorten(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Array(kinds)) = object.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [only] = &kinds[..] {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(ways)) = object.get_mut("anyOf") {
                ways.retain(|way| way["type"] != "null");
                if let [Value::Object(only)] = &ways[..] {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
            for needless in ["format", "minimum"] {
                object.remove(needless);
            }
            if object.get("default").is_some_and(|default| default.is_null() || *default == "") {
                object.remove("default");
            }
            object.values_mut().for_each(shorten);
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
