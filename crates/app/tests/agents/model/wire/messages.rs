//! Anthropic's messages.

use serde_json::{Value, json};

use super::super::{TOKENS_CACHED, TOKENS_READ, TOKENS_WRITTEN};
use super::{Conversation, Event, Reply, Tool, Turn, list, text_of};

pub(super) fn hear(body: &Value) -> Conversation {
    let tools = list(&body["tools"]).iter().map(|tool| Tool::with(&tool["name"], &tool["input_schema"]));
    let mut turns = Vec::new();
    for message in list(&body["messages"]).iter().filter(|message| message["role"] == "user") {
        if let Some(text) = message["content"].as_str() {
            turns.push(Turn::Said(text.to_owned()));
        }
        for part in list(&message["content"]) {
            match part["type"].as_str() {
                Some("text") => turns.push(Turn::Said(text_of(&part["text"]))),
                Some("tool_result") => turns.push(Turn::Gave(text_of(&part["content"]))),
                Some(_) | None => {}
            }
        }
    }
    Conversation { tools: tools.collect(), turns }
}

pub(super) fn whole(reply: &Reply, body: &Value, number: usize) -> Value {
    let (block, reason) = match reply {
        Reply::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Reply::Call { tool, arguments } => {
            let id = format!("toolu_{number:06}");
            (json!({"type": "tool_use", "id": id, "name": tool.name, "input": arguments}), "tool_use")
        }
    };
    json!({
        "id": format!("msg_{number:06}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [block], "stop_reason": reason, "stop_sequence": null,
        // What was cached is not part of what was read.
        "usage": {
            "input_tokens": TOKENS_READ - TOKENS_CACHED, "cache_read_input_tokens": TOKENS_CACHED,
            "cache_creation_input_tokens": 0, "output_tokens": TOKENS_WRITTEN,
        },
    })
}

pub(super) fn events(whole: &Value) -> Vec<Event> {
    let block = &whole["content"][0];
    let (mut begun, mut message) = (block.clone(), whole.clone());
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    let delta = if block["type"] == "text" {
        begun["text"] = "".into();
        json!({"type": "text_delta", "text": block["text"]})
    } else {
        begun["input"] = json!({});
        json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
    };
    let ending = json!({"stop_reason": whole["stop_reason"], "stop_sequence": null});
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": begun}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": ending, "usage": {"output_tokens": TOKENS_WRITTEN}}),
        json!({"type": "message_stop"}),
    ];
    events.into_iter().map(|event| (event["type"].as_str().map(str::to_owned), event)).collect()
}
