//! Qwen Code, headless: the messages of Claude Code, with the tokens of an `OpenAI` provider.

use super::claude::{self, CacheReads};
use super::heard::json;
use super::{Counting, Credential, Heard, Profile, Proof};

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
    sign_in: "qwen, then /auth",
    counting: Counting::AllGoesOn,
    proof: Proof::Run,
    read,
    leaves: None,
};

fn read(line: &str, heard: &mut Heard) {
    if let Some(message) = json(line) {
        claude::take(&message, heard, CacheReads::Among);
    }
}
