//! goose, headless.

use super::{AgentFailure, Credential, Profile, Transcript};
use crate::agent::account::Tokens;
use crate::agent::transcript::{count, json};

pub(super) const PROFILE: Profile = Profile {
    name: "goose",
    program: "goose",
    command: &["goose", "run", "-i", "-", "--no-session", "--output-format", "stream-json", "-q"],
    environment: &[("GOOSE_MODE", "auto")],
    resume: &[],
    acp: &["goose", "acp"],
    credentials: &[Credential::Variable("GOOSE_PROVIDER"), Credential::File(".config/goose/config.yaml")],
    signs: &["GOOSE_TERMINAL"],
    sign_in: "goose configure",
    read,
    leaves: None,
    hold: super::loose,
};

fn read(line: &str, heard: &mut Transcript) {
    let Some(event) = json(line) else { return };
    match event["type"].as_str() {
        Some("message") if event["message"]["role"] == "assistant" => {
            let blocks = event["message"]["content"].as_array().into_iter().flatten();
            let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
            heard.say(&texts.join("\n"));
        }
        Some("complete") => {
            if let Some(total) = event["total_tokens"].as_u64() {
                let output = count(&event["output_tokens"]);
                heard.tokens = Some(Tokens { input: total.saturating_sub(output), cached: 0, output });
            }
        }
        Some("error") => heard.trouble = AgentFailure::of(event["error"].as_str().unwrap_or_default()),
        Some(_) | None => {}
    }
}
