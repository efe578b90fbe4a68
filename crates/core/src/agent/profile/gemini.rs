//! Gemini CLI, headless: messages in chunks, then a result with the tokens of all its models.

use super::{AgentFailure, Credential, ExtraArgs, PermissionRules, Profile, Transcript};
use crate::agent::account::Tokens;
use crate::agent::permission::Permissions;
use crate::agent::transcript::{count, json};
use crate::plan::tool::ToolKind;

pub(super) const PROFILE: Profile = Profile {
    name: "gemini",
    program: "gemini",
    command: &["gemini", "-o", "stream-json", "--skip-trust", "--approval-mode", "yolo"],
    environment: &[],
    resume: &["--resume", "{session}"],
    acp: &["gemini", "--acp"],
    credentials: &[
        Credential::Variable("GEMINI_API_KEY"),
        Credential::Variable("GOOGLE_API_KEY"),
        Credential::Variable("GOOGLE_GENAI_USE_VERTEXAI"),
        Credential::File(".gemini/oauth_creds.json"),
    ],
    signs: &["GEMINI_CLI"],
    sign_in: "gemini, then choose how to sign in",
    read,
    leaves: None,
    hold,
};

fn read(line: &str, heard: &mut Transcript) {
    let Some(event) = json(line) else { return };
    match event["type"].as_str() {
        Some("init") => {
            heard.name_session(&event["session_id"]);
            heard.name_model(&event["model"]);
        }
        // Messages arrive in chunks; a tool call ends one.
        Some("message") if event["role"] == "assistant" => {
            heard.add_to_said(event["content"].as_str().unwrap_or_default());
        }
        Some("tool_use") => heard.said.clear(),
        Some("error") if event["severity"] != "warning" => {
            heard.trouble =
                AgentFailure::of(event["message"].as_str().unwrap_or_default()).or(heard.trouble.take());
        }
        Some("result") => {
            let stats = &event["stats"];
            if stats.is_object() {
                heard.tokens = Some(Tokens {
                    input: count(&stats["input_tokens"]),
                    cached: count(&stats["cached"]),
                    output: count(&stats["output_tokens"]),
                });
            }
            if event["status"] == "success" {
                heard.trouble = None;
            } else if let Some(why) = event["error"]["message"].as_str() {
                heard.trouble = AgentFailure::of(why).or(heard.trouble.take());
            }
        }
        Some(_) | None => {}
    }
}

const TOOLS: &[(ToolKind, &[&str])] = &[
    (ToolKind::Edit, &["write_file", "replace"]),
    (ToolKind::Shell, &["run_shell_command"]),
    (ToolKind::Web, &["web_fetch", "google_web_search"]),
];

/// A hook for every call, from a settings file with the lowest precedence, and a policy that denies without
/// asking.
fn hold(scope: &Permissions, rig: &PermissionRules<'_>) -> ExtraArgs {
    let mut files = vec![("gemini.json".to_owned(), super::hooks("BeforeTool", &rig.command(), 30_000))];
    let mut words = Vec::new();
    let missing = scope.missing(TOOLS);
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|name| format!("\"{name}\"")).collect();
        let policy = format!(
            "[[rule]]\ntoolName = [{}]\ndecision = \"deny\"\npriority = 900\ndenyMessage = \"This tool is not available in plan scope.\"\n",
            names.join(", ")
        );
        files.push(("gemini.toml".to_owned(), policy));
        words.extend(["--policy".to_owned(), rig.file("gemini.toml")]);
    }
    let environment = vec![("GEMINI_CLI_SYSTEM_DEFAULTS_PATH".to_owned(), rig.file("gemini.json"))];
    ExtraArgs { words, environment, files }
}
