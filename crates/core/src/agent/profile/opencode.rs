//! opencode, headless: message parts, with tokens and price at the end of each step.

use serde_json::Value;

use super::{AgentFailure, Credential, ExtraArgs, PermissionRules, Profile, Transcript};
use crate::agent::account::Tokens;
use crate::agent::permission::{PermissionMode, Permissions};
use crate::agent::transcript::{count, json};
use crate::plan::tool::ToolKind;

pub(super) const PROFILE: Profile = Profile {
    name: "opencode",
    program: "opencode",
    command: &["opencode", "run", "--format", "json"],
    environment: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
    resume: &["-s", "{session}"],
    acp: &["opencode", "acp"],
    credentials: &[
        Credential::File(".local/share/opencode/auth.json"),
        Credential::File(".config/opencode/opencode.json"),
        Credential::Variable("OPENCODE_CONFIG"),
    ],
    signs: &["OPENCODE"],
    sign_in: "opencode auth login",
    read,
    leaves: None,
    hold,
};

fn read(line: &str, heard: &mut Transcript) {
    let Some(event) = json(line) else { return };
    heard.name_session(&event["sessionID"]);
    let part = &event["part"];
    match event["type"].as_str() {
        Some("text") => heard.say(part["text"].as_str().unwrap_or_default()),
        Some("step_finish") => {
            let (tokens, cache) = (&part["tokens"], &part["tokens"]["cache"]);
            let cached = count(&cache["read"]);
            let input = count(&tokens["input"]).saturating_add(cached).saturating_add(count(&cache["write"]));
            let output = count(&tokens["output"]).saturating_add(count(&tokens["reasoning"]));
            heard.add_tokens(Tokens { input, cached, output });
            heard.add_dollars(&part["cost"]);
            heard.trouble = None;
        }
        Some("error") => {
            let data = &event["error"]["data"];
            let text =
                data["message"].as_str().or_else(|| event["error"]["name"].as_str()).unwrap_or_default();
            heard.trouble = AgentFailure::with_status(AgentFailure::status(&data["statusCode"]), text)
                .or_else(|| AgentFailure::of(text));
        }
        Some(_) | None => {}
    }
}

const TOOLS: &[(ToolKind, &[&str])] =
    &[(ToolKind::Edit, &["edit"]), (ToolKind::Shell, &["bash"]), (ToolKind::Web, &["webfetch"])];

/// The plugin that asks planwright before each tool call.
const PLUGIN: &str = r#"import { spawnSync } from "node:child_process";
export const Planwright = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const call = { hook_event_name: "PreToolUse", tool_name: input.tool, tool_input: output.args, cwd: directory };
    const asked = spawnSync(HOOK, ["hook", "pre-tool"], { input: JSON.stringify(call), encoding: "utf8" });
    if (asked.status !== 0) throw new Error((asked.stderr || "").trim() || "cannot reach planwright");
  },
});
"#;

/// A plugin that asks planwright for every call, and opencode's own permissions for whole tools that are out
/// of scope.
fn hold(scope: &Permissions, rig: &PermissionRules<'_>) -> ExtraArgs {
    let mut permission = serde_json::Map::new();
    for name in scope.missing(TOOLS) {
        permission.insert(name.to_owned(), "deny".into());
    }
    // Its patterns support neither braces nor classes; for those, the plugin decides.
    let is_plain = |pattern: &String| !pattern.contains(['{', '[', '\\', '?']);
    if let Some(touches) = scope.touches.as_ref().filter(|touches| touches.iter().all(is_plain))
        && scope.mode == PermissionMode::Block
        && scope.has(ToolKind::Edit)
    {
        let mut edit = serde_json::Map::from_iter([("*".to_owned(), Value::from("deny"))]);
        edit.extend(touches.iter().map(|pattern| (pattern.clone(), Value::from("allow"))));
        permission.insert("edit".to_owned(), edit.into());
    }
    let plugin = format!("file://{}", rig.file("opencode.mjs"));
    let config = serde_json::json!({"plugin": [plugin], "permission": permission});
    let environment = vec![("OPENCODE_CONFIG_CONTENT".to_owned(), config.to_string())];
    ExtraArgs { words: Vec::new(), environment, files: vec![("opencode.mjs".to_owned(), rig.shim(PLUGIN))] }
}
