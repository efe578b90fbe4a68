//! The Agent Client Protocol, first version, as far as a client without an editor needs it: what is sent, what an answer or an
//! update means, which option a permission gets. Plain JSON: what is unknown is passed over, or refused as the protocol has it.

use serde_json::{Value, json};

use crate::agent::permission::{Call, Mode, Ruling, Scope, ruling};

/// The version that is spoken. Agents that know a later one answer in this one.
const VERSION: u64 = 1;

pub fn request(id: u64, method: &str, parameters: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters})
}

/// A notification, which nobody answers.
pub fn notification(method: &str, parameters: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": parameters})
}

/// The answer to a request of the agent.
pub fn response(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to a request that this client does not know.
pub fn unknown(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "method not found"}})
}

/// What `initialize` says: no files and no terminals are offered, so the agent uses its own tools and asks before it does.
pub fn introduction() -> Value {
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
        "clientInfo": {"name": "planwright", "title": "planwright", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// The mode in which an agent asks before it acts, if it has one and is not in it.
pub fn asking_mode(session: &Value, scope: Option<&Scope>) -> Option<String> {
    let modes = session["modes"]["availableModes"].as_array()?;
    let current = session["modes"]["currentModeId"].as_str().unwrap_or_default();
    let has = |id: &str| modes.iter().any(|mode| mode["id"] == id);
    // Where an agent has no mode that asks, one that can't write is right for planners alone: others have to.
    let is_planner = scope.is_some_and(|scope| scope.mode == Mode::Plan);
    let wanted = if has("default") {
        "default"
    } else if is_planner && has("read-only") {
        "read-only"
    } else {
        return None;
    };
    (wanted != current).then(|| wanted.to_owned())
}

/// What is ruled about a permission, and the answer: an option by its kind, since every agent has names of its own.
pub fn permission(request: &Value, scope: Option<&Scope>, call: &Call) -> (Ruling, Value) {
    let ruling = scope.map_or(Ruling::Allowed, |scope| ruling(scope, call));
    let kinds = match ruling {
        Ruling::Allowed | Ruling::Noted(_) => ["allow_once", "allow_always"],
        Ruling::Denied(_) => ["reject_once", "reject_always"],
    };
    let options = request["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let option = kinds.iter().find_map(|kind| options.iter().find(|option| option["kind"] == *kind));
    let outcome = match option.and_then(|option| option["optionId"].as_str()) {
        Some(id) => json!({"outcome": "selected", "optionId": id}),
        None => json!({"outcome": "cancelled"}),
    };
    (ruling, json!({"outcome": outcome}))
}

/// What an update tells, in the words of the bridge; `None` where it is nobody's news.
pub fn told(update: &Value) -> Option<Value> {
    match update["sessionUpdate"].as_str()? {
        "agent_message_chunk" => Some(json!({"type": "text", "text": update["content"]["text"].as_str()?})),
        "tool_call" | "tool_call_update" => Some(json!({
            "type": "tool",
            "id": update["toolCallId"],
            "title": update["title"],
            "kind": update["kind"],
            "status": update["status"],
        })),
        "plan" => Some(json!({"type": "plan", "entries": update["entries"]})),
        "usage_update" => Some(json!({"type": "usage", "dollars": update["cost"]["amount"]})),
        _ => None,
    }
}

/// Whether an update shows that the agent goes on working.
pub fn goes_on(update: &Value) -> bool {
    matches!(update["sessionUpdate"].as_str(), Some("agent_message_chunk" | "tool_call"))
}

/// The tokens that the answer to a prompt tells, in the words of the bridge.
pub fn usage(result: &Value) -> Option<Value> {
    let usage = &result["usage"];
    if usage.is_object() {
        let cached = &usage["cachedReadTokens"];
        return Some(
            json!({"type": "usage", "input": usage["inputTokens"], "cached": cached, "output": usage["outputTokens"]}),
        );
    }
    let counted = &result["_meta"]["quota"]["token_count"];
    let (input, output) = (&counted["input_tokens"], &counted["output_tokens"]);
    counted.is_object().then(|| json!({"type": "usage", "input": input, "cached": 0, "output": output}))
}

/// What an agent is told whose turn ended with a refusal.
pub fn again(why: &str) -> String {
    format!(
        "That call was refused and was not made: {why}\nGo on with the task without it, within what is allowed."
    )
}
