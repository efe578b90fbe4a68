//! GitHub Copilot CLI, headless: events of a session. It writes its tokens into a file of their own, which is not read: they
//! are not known.

use super::heard::json;
use super::{Counting, Credential, Heard, Profile, Proof, Trouble};

pub(super) const PROFILE: Profile = Profile {
    name: "copilot",
    program: "copilot",
    command: &["copilot", "--output-format", "json", "--no-auto-update", "--allow-all-tools"],
    environment: &[],
    resume: &["--resume={session}"],
    acp: &["copilot", "--acp"],
    credentials: &[
        Credential::Variable("COPILOT_GITHUB_TOKEN"),
        Credential::Variable("GH_TOKEN"),
        Credential::Variable("GITHUB_TOKEN"),
        Credential::Variable("COPILOT_PROVIDER_API_KEY"),
        Credential::File(".copilot/config.json"),
    ],
    sign_in: "copilot, then /login",
    counting: Counting::AllGoesOn,
    proof: Proof::Run,
    read,
};

fn read(line: &str, heard: &mut Heard) {
    let Some(event) = json(line) else { return };
    match event["type"].as_str() {
        Some("assistant.message") => {
            heard.say(event["data"]["content"].as_str().unwrap_or_default());
            heard.trouble = None;
        }
        Some("session.error") => {
            let data = &event["data"];
            let text = data["message"].as_str().unwrap_or_default();
            heard.trouble = Trouble::with_status(Trouble::status(&data["statusCode"]), text)
                .or_else(|| Trouble::of(text));
        }
        Some("result") => heard.name_session(&event["sessionId"]),
        Some(_) | None => {}
    }
}
