//! Any agent that speaks the Agent Client Protocol, read through the output of our own bridge.

use super::{AgentFailure, Profile, Transcript};
use crate::agent::account::Tokens;
use crate::agent::transcript::{count, json, micro};

/// Our bridge command; the agent's own command line follows.
pub const BRIDGE: &[&str] = &["planwright", "acp", "--"];

/// The protocol's error code for "not signed in".
const AUTH_REQUIRED: i64 = -32000;

pub(super) const PROFILE: Profile = Profile {
    name: "acp",
    program: "planwright",
    command: BRIDGE,
    environment: &[],
    resume: &[],
    acp: &[],
    credentials: &[],
    // The agent behind the bridge sets its own.
    signs: &[],
    sign_in: "see the agent's documentation",
    read,
    leaves: None,
    // The bridge answers every permission request by the scope itself.
    hold: super::loose,
};

fn read(line: &str, heard: &mut Transcript) {
    let Some(event) = json(line) else { return };
    match event["type"].as_str() {
        Some("session") => heard.name_session(&event["session"]),
        Some("text") => heard.add_to_said(event["text"].as_str().unwrap_or_default()),
        Some("tool" | "permission") => heard.said.clear(),
        Some("usage") => {
            if event["input"].is_u64() || event["output"].is_u64() {
                heard.add_tokens(Tokens {
                    input: count(&event["input"]),
                    cached: count(&event["cached"]),
                    output: count(&event["output"]),
                });
            }
            // The cumulative cost of the session.
            heard.micro_dollars = micro(&event["dollars"]).or(heard.micro_dollars);
        }
        Some("error") => {
            let text = event["message"].as_str().unwrap_or_default();
            let signed_out = || AgentFailure::SignedOut { why: AgentFailure::shortened(text) };
            let by_code = (event["code"] == AUTH_REQUIRED).then(signed_out);
            heard.trouble = AgentFailure::of(text).or(by_code);
        }
        Some(_) | None => {}
    }
}
