//! Any agent that speaks the Agent Client Protocol, by the lines of our own bridge.

use super::heard::{count, json, micro};
use super::{Counting, Heard, Profile, Proof, Tokens, Trouble};

/// The command of ours that bridges to such an agent; its words follow.
pub const BRIDGE: &[&str] = &["planwright", "acp", "--"];

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
    sign_in: "as the agent itself has it",
    counting: Counting::PerProcess,
    proof: Proof::Run,
    read,
    leaves: None,
    // The bridge answers every permission by the scope itself.
    hold: super::loose,
};

fn read(line: &str, heard: &mut Heard) {
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
            // The cost of the session so far.
            heard.micro_dollars = micro(&event["dollars"]).or(heard.micro_dollars);
        }
        Some("error") => heard.trouble = Trouble::of(event["message"].as_str().unwrap_or_default()),
        Some(_) | None => {}
    }
}
