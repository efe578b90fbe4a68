//! pi, headless: session events, with tokens and price in each message. It exits with 0 even if its model is
//! unreachable.

use super::{AgentFailure, Credential, ExtraArgs, PermissionRules, Profile, Transcript};
use crate::agent::account::Tokens;
use crate::agent::permission::Permissions;
use crate::agent::transcript::{count, json};
use crate::plan::tool::ToolKind;

pub(super) const PROFILE: Profile = Profile {
    name: "pi",
    program: "pi",
    command: &["pi", "-p", "--mode", "json"],
    environment: &[("PI_TELEMETRY", "0")],
    resume: &["--session-id", "{session}"],
    acp: &["pi-acp"],
    credentials: &[
        Credential::File(".pi/agent/auth.json"),
        Credential::File(".pi/agent/models.json"),
        Credential::Variable("ANTHROPIC_API_KEY"),
        Credential::Variable("OPENAI_API_KEY"),
        Credential::Variable("GEMINI_API_KEY"),
    ],
    signs: &["PI_CODING_AGENT"],
    sign_in: "pi, then /login",
    read,
    leaves: None,
    hold,
};

fn read(line: &str, heard: &mut Transcript) {
    let Some(event) = json(line) else { return };
    match event["type"].as_str() {
        Some("session") => heard.name_session(&event["id"]),
        Some("message_end") if event["message"]["role"] == "assistant" => {
            let message = &event["message"];
            let usage = &message["usage"];
            let cached = count(&usage["cacheRead"]);
            let input =
                count(&usage["input"]).saturating_add(cached).saturating_add(count(&usage["cacheWrite"]));
            heard.add_tokens(Tokens { input, cached, output: count(&usage["output"]) });
            heard.add_dollars(&usage["cost"]["total"]);
            heard.name_model(&message["model"]);
            let blocks = message["content"].as_array().into_iter().flatten();
            let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
            heard.say(&texts.join("\n"));
            heard.trouble = match message["stopReason"].as_str() {
                Some("error") => AgentFailure::of(message["errorMessage"].as_str().unwrap_or_default()),
                Some(_) | None => None,
            };
        }
        Some(_) | None => {}
    }
}

const TOOLS: &[(ToolKind, &[&str])] = &[(ToolKind::Edit, &["edit", "write"]), (ToolKind::Shell, &["bash"])];

/// The extension that asks planwright before each tool call. pi blocks the call if it throws, and exits if it
/// can't be loaded.
const EXTENSION: &str = r#"import { spawnSync } from "node:child_process";
export default function (pi: any) {
  pi.on("tool_call", async (event: any, context: any) => {
    const call = { hook_event_name: "PreToolUse", tool_name: event.toolName, tool_input: event.input, cwd: context.cwd };
    const asked = spawnSync(HOOK, ["hook", "pre-tool"], { input: JSON.stringify(call), encoding: "utf8" });
    if (asked.status !== 0) return { block: true, reason: (asked.stderr || "").trim() || "cannot reach planwright" };
  });
}
"#;

/// An extension that asks planwright for every call; tools that are out of scope are excluded.
fn hold(scope: &Permissions, rig: &PermissionRules<'_>) -> ExtraArgs {
    let mut words = vec!["-e".to_owned(), rig.file("pi.ts")];
    let missing = scope.missing(TOOLS);
    if !missing.is_empty() {
        words.extend(["--exclude-tools".to_owned(), missing.join(",")]);
    }
    ExtraArgs { words, environment: Vec::new(), files: vec![("pi.ts".to_owned(), rig.shim(EXTENSION))] }
}
