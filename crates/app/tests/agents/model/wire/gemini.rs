//! Google's generated content.

use serde_json::{Value, json};

use super::super::{TOKENS_CACHED, TOKENS_READ, TOKENS_WRITTEN};
use super::{Conversation, Reply, Tool, Turn, list, text_of};

pub(super) fn hear(body: &Value) -> Conversation {
    let declared = list(&body["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]));
    let tools = declared.map(|function| {
        let schema = ["parametersJsonSchema", "parameters"].into_iter().find_map(|key| function.get(key));
        Tool::with(&function["name"], schema.unwrap_or(&Value::Null))
    });
    let spoken = list(&body["contents"]).iter().filter(|content| content["role"] != "model");
    let parts = spoken.flat_map(|content| list(&content["parts"]));
    let turns = parts.filter_map(|part| match (part.get("functionResponse"), part.get("text")) {
        (Some(result), _) => Some(Turn::Gave(text_of(&result["response"]))),
        (None, Some(text)) => Some(Turn::Said(text_of(text))),
        (None, None) => None,
    });
    Conversation { tools: tools.collect(), turns: turns.collect() }
}

pub(super) fn whole(reply: &Reply, number: usize) -> Value {
    let part = match reply {
        Reply::Text(text) => json!({"text": text}),
        Reply::Call { tool, arguments } => {
            json!({"functionCall": {"id": format!("call_{number:06}"), "name": tool.name, "args": arguments}})
        }
    };
    json!({
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
        "usageMetadata": {
            "promptTokenCount": TOKENS_READ, "candidatesTokenCount": TOKENS_WRITTEN,
            "totalTokenCount": TOKENS_READ + TOKENS_WRITTEN, "cachedContentTokenCount": TOKENS_CACHED,
        },
        "modelVersion": "scripted-model", "responseId": format!("response-{number}"),
    })
}
