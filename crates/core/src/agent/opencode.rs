//! opencode, headless: parts of messages, tokens and price at the end of each step.

use super::heard::{count, json};
use super::{Counting, Credential, Heard, Profile, Proof, Tokens, Trouble};

pub(super) const PROFILE: Profile = Profile {
    name: "opencode",
    program: "opencode",
    command: &["opencode", "run", "--format", "json"],
    environment: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
    resume: &["-s", "{session}"],
    acp: &["opencode", "acp"],
    credentials: &[
        Credential::File(".local/share/opencode/auth.json"),
        Credential::File(".config/opencode/opencode.json"),
        Credential::Variable("OPENCODE_CONFIG"),
    ],
    sign_in: "opencode auth login",
    counting: Counting::PerProcess,
    proof: Proof::Run,
    read,
    leaves: None,
};

fn read(line: &str, heard: &mut Heard) {
    let Some(event) = json(line) else { return };
    heard.name_session(&event["sessionID"]);
    let part = &event["part"];
    match event["type"].as_str() {
        Some("text") => heard.say(part["text"].as_str().unwrap_or_default()),
        Some("step_finish") => {
            let (tokens, cache) = (&part["tokens"], &part["tokens"]["cache"]);
            let cached = count(&cache["read"]);
            let input = count(&tokens["input"]).saturating_add(cached).saturating_add(count(&cache["write"]));
            let output = count(&tokens["output"]).saturating_add(count(&tokens["reasoning"]));
            heard.add_tokens(Tokens { input, cached, output });
            heard.add_dollars(&part["cost"]);
            heard.trouble = None;
        }
        Some("error") => {
            let data = &event["error"]["data"];
            let text =
                data["message"].as_str().or_else(|| event["error"]["name"].as_str()).unwrap_or_default();
            heard.trouble = Trouble::with_status(Trouble::status(&data["statusCode"]), text)
                .or_else(|| Trouble::of(text));
        }
        Some(_) | None => {}
    }
}
