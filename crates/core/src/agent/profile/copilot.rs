//! GitHub Copilot CLI, headless: session events, with token counts in a separate file.

use super::{AgentFailure, Credential, ExtraArgs, PermissionRules, Profile, Transcript};
use crate::agent::account::Tokens;
use crate::agent::permission::Permissions;
use crate::agent::transcript::{count, json};
use crate::plan::tool::ToolKind;

pub(super) const PROFILE: Profile = Profile {
    name: "copilot",
    program: "copilot",
    command: &[
        "copilot",
        "--output-format",
        "json",
        "--no-auto-update",
        "--allow-all-tools",
        "--usage-output-file",
        "{folder}/usage.json",
    ],
    environment: &[],
    resume: &["--resume={session}"],
    acp: &["copilot", "--acp"],
    credentials: &[
        Credential::Variable("COPILOT_GITHUB_TOKEN"),
        Credential::Variable("GH_TOKEN"),
        Credential::Variable("GITHUB_TOKEN"),
        Credential::Variable("COPILOT_PROVIDER_API_KEY"),
        Credential::File(".copilot/config.json"),
    ],
    signs: &["COPILOT_CLI"],
    sign_in: "copilot, then /login",
    read,
    leaves: Some(("usage.json", read_usage)),
    hold,
};

fn read(line: &str, heard: &mut Transcript) {
    let Some(event) = json(line) else { return };
    match event["type"].as_str() {
        Some("assistant.message") => {
            heard.say(event["data"]["content"].as_str().unwrap_or_default());
            heard.trouble = None;
        }
        Some("session.error") => {
            let data = &event["data"];
            let text = data["message"].as_str().unwrap_or_default();
            heard.trouble = AgentFailure::with_status(AgentFailure::status(&data["statusCode"]), text)
                .or_else(|| AgentFailure::of(text));
        }
        Some("result") => heard.name_session(&event["sessionId"]),
        Some(_) | None => {}
    }
}

/// Token usage, by model.
fn read_usage(text: &str, heard: &mut Transcript) {
    let Some(file) = json(text) else { return };
    for (model, metrics) in file["modelMetrics"].as_object().into_iter().flatten() {
        let usage = &metrics["usage"];
        heard.add_tokens(Tokens {
            input: count(&usage["inputTokens"]),
            cached: count(&usage["cacheReadTokens"]),
            output: count(&usage["outputTokens"]),
        });
        heard.name_model(&model.as_str().into());
    }
}

const TOOLS: &[(ToolKind, &[&str])] = &[(ToolKind::Edit, &["write"]), (ToolKind::Shell, &["shell"])];

/// Denies whole tools by its own rules. It gets no hook: its hooks are workspace files, which an agent could
/// change.
fn hold(scope: &Permissions, _rig: &PermissionRules<'_>) -> ExtraArgs {
    let words = scope.missing(TOOLS).into_iter().map(|name| format!("--deny-tool={name}"));
    ExtraArgs { words: words.collect(), ..ExtraArgs::default() }
}
