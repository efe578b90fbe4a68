//! pi, headless: events of a session, tokens and price with each message. It ends with 0 even when its model can't be reached.

use super::heard::{count, json};
use super::{Counting, Credential, Heard, Profile, Proof, Tokens, Trouble};

pub(super) const PROFILE: Profile = Profile {
    name: "pi",
    program: "pi",
    command: &["pi", "-p", "--mode", "json"],
    environment: &[("PI_TELEMETRY", "0")],
    resume: &["--session-id", "{session}"],
    acp: &["pi-acp"],
    credentials: &[
        Credential::File(".pi/agent/auth.json"),
        Credential::File(".pi/agent/models.json"),
        Credential::Variable("ANTHROPIC_API_KEY"),
        Credential::Variable("OPENAI_API_KEY"),
        Credential::Variable("GEMINI_API_KEY"),
    ],
    sign_in: "pi, then /login",
    counting: Counting::PerProcess,
    proof: Proof::Run,
    read,
    leaves: None,
};

fn read(line: &str, heard: &mut Heard) {
    let Some(event) = json(line) else { return };
    match event["type"].as_str() {
        Some("session") => heard.name_session(&event["id"]),
        Some("message_end") if event["message"]["role"] == "assistant" => {
            let message = &event["message"];
            let usage = &message["usage"];
            let cached = count(&usage["cacheRead"]);
            let input =
                count(&usage["input"]).saturating_add(cached).saturating_add(count(&usage["cacheWrite"]));
            heard.add_tokens(Tokens { input, cached, output: count(&usage["output"]) });
            heard.add_dollars(&usage["cost"]["total"]);
            heard.name_model(&message["model"]);
            let blocks = message["content"].as_array().into_iter().flatten();
            let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
            heard.say(&texts.join("\n"));
            heard.trouble = match message["stopReason"].as_str() {
                Some("error") => Trouble::of(message["errorMessage"].as_str().unwrap_or_default()),
                Some(_) | None => None,
            };
        }
        Some(_) | None => {}
    }
}
