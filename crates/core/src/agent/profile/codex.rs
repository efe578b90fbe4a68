//! Codex, headless: thread events, with token counts at the end of each turn and never a price.

use super::{AgentFailure, Credential, ExtraArgs, PermissionRules, Profile, Transcript};
use crate::agent::account::Tokens;
use crate::agent::permission::{PermissionMode, Permissions};
use crate::agent::transcript::{count, json};
use crate::plan::tool::ToolKind;

pub(super) const PROFILE: Profile = Profile {
    name: "codex",
    program: "codex",
    command: &["codex", "exec", "--json", "--skip-git-repo-check", "-s", "workspace-write", "-"],
    environment: &[],
    resume: &["resume", "{session}"],
    acp: &["codex-acp"],
    credentials: &[
        Credential::Variable("OPENAI_API_KEY"),
        Credential::Variable("CODEX_API_KEY"),
        Credential::File(".codex/auth.json"),
    ],
    signs: &["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI"],
    sign_in: "codex login",
    read,
    leaves: None,
    hold,
};

fn read(line: &str, heard: &mut Transcript) {
    let Some(event) = json(line) else { return };
    match event["type"].as_str() {
        Some("thread.started") => heard.name_session(&event["thread_id"]),
        Some("item.completed") if event["item"]["type"] == "agent_message" => {
            heard.say(event["item"]["text"].as_str().unwrap_or_default());
        }
        Some("turn.completed") => {
            let usage = &event["usage"];
            heard.tokens = Some(Tokens {
                input: count(&usage["input_tokens"]),
                cached: count(&usage["cached_input_tokens"]),
                output: count(&usage["output_tokens"]),
            });
            heard.trouble = None;
        }
        Some("turn.failed") => {
            heard.trouble = AgentFailure::of(event["error"]["message"].as_str().unwrap_or_default());
        }
        Some(_) | None => {}
    }
}

/// A hook for every call, passed on the command line because its home directory is the user's. It silently
/// ignores untrusted hooks, so this process trusts this one. Its sandbox holds even if the hook fails.
fn hold(scope: &Permissions, rig: &PermissionRules<'_>) -> ExtraArgs {
    let command = serde_json::Value::from(rig.command());
    let hook = format!("hooks.PreToolUse=[{{matcher=\"*\",hooks=[{{type=\"command\",command={command}}}]}}]");
    let mut words = ["--dangerously-bypass-hook-trust", "-c", hook.as_str()].map(str::to_owned).to_vec();
    let is_reader =
        !scope.has(ToolKind::Edit) && (scope.mode == PermissionMode::Plan || !scope.has(ToolKind::Shell));
    if scope.mode != PermissionMode::Log && is_reader {
        words.extend(["-s", "read-only"].map(str::to_owned));
    }
    ExtraArgs { words, ..ExtraArgs::default() }
}
