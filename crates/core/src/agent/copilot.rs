//! GitHub Copilot CLI, headless: events of a session. It writes its tokens into a file of their own, which is not read: they
//! are not known.

use super::heard::json;
use super::{Additions, Counting, Credential, Heard, Profile, Proof, Rig, Trouble};
use crate::scope::{Family, Scope};

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
    hold,
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

const TOOLS: &[(Family, &[&str])] = &[(Family::Edit, &["write"]), (Family::Shell, &["shell"])];

/// Its own rules for whole tools. Its hooks are files of the workspace, where an agent could change them: it has none.
fn hold(scope: &Scope, _rig: &Rig<'_>) -> Additions {
    let words = scope.missing(TOOLS).into_iter().map(|name| format!("--deny-tool={name}"));
    Additions { words: words.collect(), ..Additions::default() }
}
