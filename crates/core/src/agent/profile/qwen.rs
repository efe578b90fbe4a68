//! Qwen Code, headless: the message format of Claude Code, with the token counts of an `OpenAI` provider.

use super::claude::{self, CacheReads};
use super::{Credential, ExtraArgs, PermissionRules, Profile, Transcript};
use crate::agent::permission::Permissions;
use crate::agent::transcript::json;
use crate::plan::tool::ToolKind;

pub(super) const PROFILE: Profile = Profile {
    name: "qwen",
    program: "qwen",
    command: &["qwen", "-o", "stream-json", "--approval-mode", "yolo"],
    environment: &[],
    resume: &["--resume", "{session}"],
    acp: &["qwen", "--acp"],
    credentials: &[
        Credential::Variable("OPENAI_API_KEY"),
        Credential::Variable("DASHSCOPE_API_KEY"),
        Credential::File(".qwen/oauth_creds.json"),
    ],
    signs: &["QWEN_CODE"],
    sign_in: "qwen, then /auth",
    read,
    leaves: None,
    hold,
};

fn read(line: &str, heard: &mut Transcript) {
    if let Some(message) = json(line) {
        claude::take(&message, heard, CacheReads::Among);
    }
}

const TOOLS: &[(ToolKind, &[&str])] = &[
    (ToolKind::Edit, &["write_file", "edit"]),
    (ToolKind::Shell, &["run_shell_command"]),
    (ToolKind::Web, &["web_fetch", "web_search"]),
];

/// A hook for every call, from a settings file with the lowest precedence; tools that are out of scope are
/// excluded.
fn hold(scope: &Permissions, rig: &PermissionRules<'_>) -> ExtraArgs {
    let files = vec![("qwen.json".to_owned(), super::hooks("PreToolUse", &rig.command(), 30_000))];
    let environment = vec![("QWEN_CODE_SYSTEM_DEFAULTS_PATH".to_owned(), rig.file("qwen.json"))];
    let missing = scope.missing(TOOLS).into_iter();
    let words = missing.flat_map(|name| ["--exclude-tools".to_owned(), name.to_owned()]).collect();
    ExtraArgs { words, environment, files }
}
