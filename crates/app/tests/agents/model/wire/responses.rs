//! `OpenAI`'s responses.

use serde_json::{Value, json};

use super::super::{TOKENS_CACHED, TOKENS_READ, TOKENS_WRITTEN};
use super::{Conversation, Event, Reply, Tool, Turn, list, text_of};

pub(super) fn hear(body: &Value) -> Conversation {
    let mut turns = Vec::new();
    if let Some(text) = body["input"].as_str() {
        turns.push(Turn::Said(text.to_owned()));
    }
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind == "message" && item["role"] == "user" {
            turns.push(Turn::Said(text_of(&item["content"])));
        } else if kind.ends_with("_output") {
            turns.push(Turn::Gave(text_of(&item["output"])));
        }
    }
    Conversation { tools: list(&body["tools"]).iter().flat_map(tools).collect(), turns }
}

/// A namespace is a tool that holds others.
fn tools(tool: &Value) -> Vec<Tool> {
    match tool["type"].as_str() {
        Some("function") => vec![Tool::with(&tool["name"], &tool["parameters"])],
        Some("custom") => vec![Tool { takes_text: true, ..Tool::with(&tool["name"], &Value::Null) }],
        Some("namespace") => {
            let inner = list(&tool["tools"]).iter().flat_map(tools);
            let front = tool["name"].as_str().unwrap_or_default();
            inner.map(|tool| Tool { name: format!("{front}.{}", tool.name), ..tool }).collect()
        }
        Some(_) | None => vec![Tool::with(&tool["type"], &Value::Null)],
    }
}

pub(super) fn whole(reply: &Reply, body: &Value, number: usize) -> Value {
    let (id, call) = (format!("item_{number:06}"), format!("call_{number:06}"));
    let item = match reply {
        Reply::Text(text) => json!({
            "type": "message", "id": id, "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Reply::Call { tool, arguments: Value::String(text) } => json!({
            "type": "custom_tool_call", "id": id, "call_id": call, "name": tool.name, "input": text,
            "status": "completed",
        }),
        Reply::Call { tool, arguments } => {
            let mut item = json!({
                "type": "function_call", "id": id, "call_id": call, "name": tool.name,
                "arguments": arguments.to_string(), "status": "completed",
            });
            if let Some((space, name)) = tool.name.split_once('.') {
                item["namespace"] = space.into();
                item["name"] = name.into();
            }
            item
        }
    };
    json!({
        "id": format!("resp_{number:06}"), "object": "response", "created_at": 1, "status": "completed",
        "model": body["model"], "output": [item],
        "usage": {
            "input_tokens": TOKENS_READ, "input_tokens_details": {"cached_tokens": TOKENS_CACHED},
            "output_tokens": TOKENS_WRITTEN, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": TOKENS_READ + TOKENS_WRITTEN,
        },
    })
}

pub(super) fn events(whole: &Value) -> Vec<Event> {
    let item = &whole["output"][0];
    let id = &item["id"];
    let mut begun = whole.clone();
    (begun["status"], begun["output"], begun["usage"]) = ("in_progress".into(), json!([]), Value::Null);
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    let mut added = item.clone();
    added["status"] = "in_progress".into();
    let part = &item["content"][0];
    match item["type"].as_str() {
        Some("message") => {
            added["content"] = json!([]);
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            let place = json!({"item_id": id, "output_index": 0, "content_index": 0});
            let at = |kind: &str, key: &str, value: &Value| {
                let mut event = place.clone();
                (event["type"], event[key]) = (format!("response.{kind}").into(), value.clone());
                event
            };
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": added}));
            events.push(at("content_part.added", "part", &empty));
            events.push(at("output_text.delta", "delta", &part["text"]));
            events.push(at("output_text.done", "text", &part["text"]));
            events.push(at("content_part.done", "part", part));
        }
        Some("function_call") => {
            added["arguments"] = "".into();
            let kind = "response.function_call_arguments";
            let words = &item["arguments"];
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": added}));
            events.push(
                json!({"type": format!("{kind}.delta"), "item_id": id, "output_index": 0, "delta": words}),
            );
            events.push(
                json!({"type": format!("{kind}.done"), "item_id": id, "output_index": 0, "arguments": words}),
            );
        }
        Some(_) | None => {
            added["input"] = "".into();
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": added}));
        }
    }
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events.push(json!({"type": "response.completed", "response": whole}));
    let numbered = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = number.into();
        (event["type"].as_str().map(str::to_owned), event)
    });
    numbered.collect()
}
