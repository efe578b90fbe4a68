//! `OpenAI`'s chat completions, which most other servers of models speak.

use serde_json::{Value, json};

use super::super::{TOKENS_CACHED, TOKENS_READ, TOKENS_WRITTEN};
use super::{Conversation, Event, Reply, Tool, Turn, list, text_of};

pub(super) fn hear(body: &Value) -> Conversation {
    let tools = list(&body["tools"]).iter().map(|tool| {
        let function = &tool["function"];
        Tool::with(&function["name"], &function["parameters"])
    });
    let turns = list(&body["messages"]).iter().filter_map(|message| match message["role"].as_str() {
        Some("user") => Some(Turn::Said(text_of(&message["content"]))),
        Some("tool") => Some(Turn::Gave(text_of(&message["content"]))),
        Some(_) | None => None,
    });
    Conversation { tools: tools.collect(), turns: turns.collect() }
}

pub(super) fn whole(reply: &Reply, body: &Value, number: usize) -> Value {
    let (message, reason) = match reply {
        Reply::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Reply::Call { tool, arguments } => {
            let words = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            let function = json!({"name": tool.name, "arguments": words});
            let call = json!({
                "index": 0, "id": format!("call_{number:06}"), "type": "function", "function": function,
            });
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": TOKENS_READ, "completion_tokens": TOKENS_WRITTEN,
            "total_tokens": TOKENS_READ + TOKENS_WRITTEN,
            "prompt_tokens_details": {"cached_tokens": TOKENS_CACHED},
        },
    })
}

pub(super) fn events(whole: &Value) -> Vec<Event> {
    let choice = &whole["choices"][0];
    let mut frame = whole.clone();
    frame["object"] = "chat.completion.chunk".into();
    frame["usage"] = Value::Null;
    let chunk = |choices: Value| {
        let mut chunk = frame.clone();
        chunk["choices"] = choices;
        chunk
    };
    let mut last = chunk(json!([]));
    last["usage"] = whole["usage"].clone();
    let events = [
        chunk(json!([{"index": 0, "delta": choice["message"], "finish_reason": null}])),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}])),
        last,
    ];
    events.into_iter().map(|event| (None, event)).collect()
}
