//! The client side of the Agent Client Protocol, version 1, as JSON: requests, the meaning of responses and
//! updates, and the option chosen for a permission request. Does no I/O; ignores unknown updates and rejects
//! unknown requests with the protocol's own error.

use serde_json::{Value, json};

use crate::agent::permission::{Decision, PermissionMode, Permissions, ToolCall, ruling};

/// Agents that support a later version answer in this one.
const VERSION: u64 = 1;

pub fn request(id: u64, method: &str, parameters: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters})
}

/// A notification gets no response.
pub fn notification(method: &str, parameters: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": parameters})
}

pub fn response(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The response to a request that this client does not support.
pub fn unknown(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "method not found"}})
}

/// The parameters of `initialize`. Offers neither files nor terminals, so the agent uses its own tools and
/// asks for permission first.
pub fn introduction() -> Value {
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
        "clientInfo": {"name": "planwright", "title": "planwright", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// The mode in which an agent asks before it acts, if it has such a mode and isn't in it already.
pub fn asking_mode(session: &Value, scope: Option<&Permissions>) -> Option<String> {
    let modes = session["modes"]["availableModes"].as_array()?;
    let current = session["modes"]["currentModeId"].as_str().unwrap_or_default();
    let has = |id: &str| modes.iter().any(|mode| mode["id"] == id);
    // Without an asking mode, a read-only mode is right only for planners: every other agent has to write.
    let is_planner = scope.is_some_and(|scope| scope.mode == PermissionMode::Plan);
    let wanted = if has("default") {
        "default"
    } else if is_planner && has("read-only") {
        "read-only"
    } else {
        return None;
    };
    (wanted != current).then(|| wanted.to_owned())
}

/// The ruling on a permission request, and the response. Picks the option by kind, because every agent names
/// its options differently.
pub fn permission(request: &Value, scope: Option<&Permissions>, call: &ToolCall) -> (Decision, Value) {
    let ruling = scope.map_or(Decision::Allowed, |scope| ruling(scope, call));
    let kinds = match ruling {
        Decision::Allowed | Decision::Noted(_) => ["allow_once", "allow_always"],
        Decision::Denied(_) => ["reject_once", "reject_always"],
    };
    let options = request["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let option = kinds.iter().find_map(|kind| options.iter().find(|option| option["kind"] == *kind));
    let outcome = match option.and_then(|option| option["optionId"].as_str()) {
        Some(id) => json!({"outcome": "selected", "optionId": id}),
        None => json!({"outcome": "cancelled"}),
    };
    (ruling, json!({"outcome": outcome}))
}

/// Translates an update into an event of the bridge; `None` if the update doesn't matter here.
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

/// Whether an update shows that the agent is still working.
pub fn goes_on(update: &Value) -> bool {
    matches!(update["sessionUpdate"].as_str(), Some("agent_message_chunk" | "tool_call"))
}

/// The token counts in the response to a prompt, as an event of the bridge.
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

/// The prompt for an agent whose turn ended with a refused call.
pub fn again(why: &str) -> String {
    format!(
        "That call was refused and did not run: {why}\nContinue with the task without it, within your scope."
    )
}
