//! aider: plain text, with tokens and price in one sentence. It edits only files named on its command line,
//! has no tools, and exits with 0 whatever happens.

use super::{AgentFailure, Credential, Profile, Transcript};
use crate::agent::account::Tokens;

pub(super) const PROFILE: Profile = Profile {
    name: "aider",
    program: "aider",
    command: &[
        "aider",
        "--message-file",
        "/dev/stdin",
        "--yes-always",
        "--no-auto-commits",
        "--no-check-update",
        "--no-show-release-notes",
        "--no-gitignore",
        "--no-pretty",
    ],
    environment: &[("AIDER_ANALYTICS", "false")],
    resume: &[],
    acp: &[],
    credentials: &[
        Credential::Variable("ANTHROPIC_API_KEY"),
        Credential::Variable("OPENAI_API_KEY"),
        Credential::Variable("GEMINI_API_KEY"),
        Credential::File(".aider.conf.yml"),
    ],
    // It sets none, because it has no shell of its own.
    signs: &[],
    sign_in: "export your model provider's API key",
    read,
    leaves: None,
    hold: super::loose,
};

/// The error classes of its model library, each with the HTTP status of the same meaning.
const CLASSES: &[(&str, u64)] = &[
    ("RateLimitError", 429),
    ("AuthenticationError", 401),
    ("PermissionDeniedError", 403),
    ("InternalServerError", 500),
    ("BadGatewayError", 502),
    ("ServiceUnavailableError", 503),
    ("APIConnectionError", 503),
    ("APIError", 500),
    ("Timeout", 504),
];

/// `Tokens: 2.4k sent, 9 received. Cost: $0.0012 message, $0.0012 session.`
fn read(line: &str, heard: &mut Transcript) {
    let Some(told) = line.strip_prefix("Tokens: ") else {
        if let Some(fault) = line.strip_prefix("litellm.") {
            // `RateLimitError: AnthropicException - …`: the class identifies the error however the provider
            // words it.
            let class = fault.split(':').next().unwrap_or_default();
            let status = CLASSES.iter().find(|(known, _)| *known == class).map(|(_, status)| *status);
            heard.trouble = AgentFailure::with_status(status, line).or_else(|| AgentFailure::of(line));
        } else {
            heard.add_to_said(&format!("{line}\n"));
        }
        return;
    };
    let words: Vec<&str> = told.split_whitespace().collect();
    let before = |word: &str| {
        let place = words.iter().position(|other| other.trim_end_matches([',', '.']) == word)?;
        amount(words.get(place.checked_sub(1)?)?)
    };
    let (input, output) = (before("sent").unwrap_or(0), before("received").unwrap_or(0));
    heard.add_tokens(Tokens { input, cached: before("hit").unwrap_or(0), output });
    let price = words.iter().position(|word| *word == "Cost:").and_then(|place| words.get(place + 1));
    if let Some(price) = price.and_then(|price| price.trim_start_matches('$').parse::<f64>().ok()) {
        heard.add_dollars(&price.into());
    }
    heard.trouble = None;
}

/// `671`, `2.4k` or `1.1M`.
fn amount(word: &str) -> Option<u64> {
    let (number, unit) = match word.char_indices().last()? {
        (end, 'k') => (&word[..end], 1e3),
        (end, 'M') => (&word[..end], 1e6),
        _ => (word, 1.0),
    };
    let number: f64 = number.replace(',', "").parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "too much saturates")]
    Some((number * unit).round().max(0.0) as u64)
}
