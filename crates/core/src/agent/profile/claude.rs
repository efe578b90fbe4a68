//! Claude Code, headless: one JSON object per line, the last of them the result.

use serde_json::Value;

use super::{AgentFailure, Credential, ExtraArgs, PermissionRules, Profile, Transcript};
use crate::agent::account::Tokens;
use crate::agent::permission::{PermissionMode, Permissions};
use crate::agent::transcript::{count, json, micro};
use crate::plan::tool::ToolKind;

pub(super) const PROFILE: Profile = Profile {
    name: "claude",
    program: "claude",
    command: &[
        "claude",
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "acceptEdits",
        "--allowedTools",
        "Bash",
    ],
    environment: &[
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ],
    resume: &["--resume", "{session}"],
    acp: &["claude-agent-acp"],
    credentials: &[
        Credential::Variable("ANTHROPIC_API_KEY"),
        Credential::Variable("ANTHROPIC_AUTH_TOKEN"),
        Credential::Variable("CLAUDE_CODE_OAUTH_TOKEN"),
        Credential::Variable("CLAUDE_CODE_USE_BEDROCK"),
        Credential::Variable("CLAUDE_CODE_USE_VERTEX"),
        Credential::File(".claude/.credentials.json"),
    ],
    signs: &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"],
    sign_in: "claude, then /login",
    read,
    leaves: None,
    hold,
};

fn read(line: &str, heard: &mut Transcript) {
    if let Some(message) = json(line) {
        take(&message, heard, CacheReads::Apart);
    }
}

/// Whether the provider's input token count includes cache reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheReads {
    /// Counted separately.
    Apart,
    /// Included.
    Among,
}

/// Reads one message. Other agents print the same format.
pub(super) fn take(message: &Value, heard: &mut Transcript, cache_reads: CacheReads) {
    heard.name_session(&message["session_id"]);
    match message["type"].as_str() {
        Some("system") => heard.name_model(&message["model"]),
        Some("assistant") => {
            let blocks = message["message"]["content"].as_array().into_iter().flatten();
            let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
            heard.say(&texts.join("\n"));
        }
        Some("result") => take_result(message, heard, cache_reads),
        Some(_) | None => {}
    }
}

fn take_result(result: &Value, heard: &mut Transcript, cache_reads: CacheReads) {
    let usage = &result["usage"];
    let cached = count(&usage["cache_read_input_tokens"]);
    let apart = match cache_reads {
        CacheReads::Apart => cached.saturating_add(count(&usage["cache_creation_input_tokens"])),
        CacheReads::Among => 0,
    };
    if usage.is_object() {
        heard.tokens = Some(Tokens {
            input: count(&usage["input_tokens"]).saturating_add(apart),
            cached,
            output: count(&usage["output_tokens"]),
        });
    }
    heard.micro_dollars = micro(&result["total_cost_usd"]).or(heard.micro_dollars);
    let text = result["result"].as_str().unwrap_or_default();
    heard.say(text);
    // It reports `success` even for an error of the provider; only `is_error` is reliable.
    if result["is_error"] == true {
        let text =
            if text.is_empty() { result["error"]["message"].as_str().unwrap_or_default() } else { text };
        heard.trouble = AgentFailure::with_status(AgentFailure::status(&result["api_error_status"]), text)
            .or_else(|| AgentFailure::of(text));
    } else if result["stop_reason"] == "refusal" {
        heard.trouble = Some(AgentFailure::Refused { why: text.to_owned() });
    }
}

/// Its tool names, by family.
const TOOLS: &[(ToolKind, &[&str])] = &[
    (ToolKind::Edit, &["Edit", "Write", "MultiEdit", "NotebookEdit"]),
    (ToolKind::Shell, &["Bash"]),
    (ToolKind::Web, &["WebFetch", "WebSearch"]),
];

/// A hook for every call, from a settings file passed on the command line. A broken hook lets every call
/// through, so where something is out of scope, only the hook can grant permission.
fn hold(scope: &Permissions, rig: &PermissionRules<'_>) -> ExtraArgs {
    let is_bound = scope.mode != PermissionMode::Log && !scope.is_open();
    let command = if is_bound { format!("{} --grant", rig.command()) } else { rig.command() };
    let mut words = vec!["--settings".to_owned(), rig.file("claude.json")];
    if is_bound {
        words.extend(["--permission-mode", "dontAsk"].map(str::to_owned));
    }
    let missing = scope.missing(TOOLS);
    if !missing.is_empty() {
        words.push("--disallowedTools".to_owned());
        words.extend(missing.into_iter().map(str::to_owned));
    }
    let settings = super::hooks("PreToolUse", &command, 30);
    ExtraArgs { words, files: vec![("claude.json".to_owned(), settings)], ..ExtraArgs::default() }
}
