//! Codex, headless: events of a thread, tokens at the end of each turn, never a price.

use super::heard::{count, json};
use super::{Counting, Credential, Heard, Profile, Proof, Tokens, Trouble};

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
    sign_in: "codex login",
    counting: Counting::AllGoesOn,
    proof: Proof::Run,
    read,
    leaves: None,
};

fn read(line: &str, heard: &mut Heard) {
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
            heard.trouble = Trouble::of(event["error"]["message"].as_str().unwrap_or_default());
        }
        Some(_) | None => {}
    }
}
