//! Cursor's agent, headless: the message format of Claude Code.

use super::claude::{self, CacheReads};
use super::{Credential, Profile, Transcript};
use crate::agent::transcript::json;

pub(super) const PROFILE: Profile = Profile {
    name: "cursor",
    program: "cursor-agent",
    command: &["cursor-agent", "-p", "--output-format", "stream-json", "--force"],
    environment: &[],
    resume: &["--resume", "{session}"],
    acp: &["cursor-agent", "acp"],
    credentials: &[Credential::Variable("CURSOR_API_KEY"), Credential::File(".config/cursor/auth.json")],
    signs: &["CURSOR_AGENT"],
    sign_in: "cursor-agent login",
    read,
    leaves: None,
    hold: super::loose,
};

fn read(line: &str, heard: &mut Transcript) {
    if let Some(message) = json(line) {
        claude::take(&message, heard, CacheReads::Apart);
    }
}
