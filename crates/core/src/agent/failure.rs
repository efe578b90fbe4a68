//! Why an agent could not work at all, as opposed to work that failed. Derived from the status of the model's
//! provider or from the agent's error text. Only used where the agent itself reports that it ended in an
//! error.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentFailure {
    RateLimited {
        /// In the agent's own words.
        why: String,
        /// `None` if it doesn't say when to retry.
        reset: Option<Reset>,
    },
    /// Its model was unreachable or failed.
    Infrastructure {
        /// In the agent's own words.
        why: String,
    },
    /// Not signed in, or with an invalid key.
    SignedOut {
        /// In the agent's own words.
        why: String,
    },
    /// The model refused the work. The contract still judges the result.
    Refused {
        /// In the agent's own words.
        why: String,
    },
}

/// When a rate limit resets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// After this many seconds.
    After(u64),
    /// At this Unix time.
    At(u64),
}

/// How much of an agent's error text is kept.
const WHY_BYTES_MAX: usize = 300;

impl AgentFailure {
    /// Classifies an agent's error text; `None` if it isn't one of these cases.
    pub(super) fn of(text: &str) -> Option<Self> {
        Self::with_status(status_in(text), text)
    }

    /// Classifies the provider's status, or else the text.
    pub(super) fn with_status(status: Option<u64>, text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let why = || Self::shortened(text);
        let limited =
            ["rate limit", "rate_limit", "usage limit", "quota", "resource_exhausted", "too many requests"];
        let signed_out = [
            "please run /login",
            "not logged in",
            "invalid api key",
            "incorrect api key",
            "authentication_error",
            "authentication required",
            "unauthorized",
            "oauth token has expired",
            "no api key",
            "api key not valid",
            "api key not found",
        ];
        let unreachable = [
            "overloaded",
            "connection error",
            "connection refused",
            "econnrefused",
            "enotfound",
            "etimedout",
            "econnreset",
            "fetch failed",
            "stream disconnected",
            "service unavailable",
            "internal server error",
            "bad gateway",
            "api_error",
            "high demand",
            "temporary errors",
        ];
        match status {
            Some(401 | 403) => return Some(Self::SignedOut { why: why() }),
            Some(429) => return Some(Self::RateLimited { why: why(), reset: reset_in(&lower) }),
            Some(500..=599) => return Some(Self::Infrastructure { why: why() }),
            Some(_) | None => {}
        }
        if says(&limited) {
            Some(Self::RateLimited { why: why(), reset: reset_in(&lower) })
        } else if says(&signed_out) {
            Some(Self::SignedOut { why: why() })
        } else if says(&unreachable) {
            Some(Self::Infrastructure { why: why() })
        } else {
            None
        }
    }

    /// Cuts an error text to the length that is kept.
    pub(super) fn shortened(text: &str) -> String {
        text[..text.floor_char_boundary(WHY_BYTES_MAX)].trim().to_owned()
    }

    /// The provider's status in a field that is a number or a text.
    pub(super) fn status(value: &Value) -> Option<u64> {
        value.as_u64().or_else(|| value.as_str()?.parse().ok()).filter(|status| (400..600).contains(status))
    }

    /// In the agent's own words.
    pub fn why(&self) -> &str {
        match self {
            Self::RateLimited { why, .. }
            | Self::Infrastructure { why }
            | Self::SignedOut { why }
            | Self::Refused { why } => why,
        }
    }
}

/// An HTTP status that occurs in a text as a separate number.
fn status_in(text: &str) -> Option<u64> {
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric());
    words.filter(|word| word.len() == 3).find_map(|word| {
        word.parse().ok().filter(|status| matches!(status, 401 | 403 | 429 | 500 | 502 | 503 | 504 | 529))
    })
}

/// When a limit resets, as agents word it: `|1739000000`, `retry after 30`, `try again in 5 minutes`.
fn reset_in(lower: &str) -> Option<Reset> {
    if let Some((_, after)) = lower.rsplit_once('|')
        && let Some(second) = leading_number(after).filter(|second| *second > 1_000_000_000)
    {
        return Some(Reset::At(second));
    }
    let phrases = [
        "retry after ",
        "retry-after: ",
        "retry-after ",
        "retry_after\":",
        "try again in ",
        "resets in ",
        "reset after ",
    ];
    let after = phrases.iter().find_map(|phrase| lower.split_once(phrase).map(|(_, after)| after))?;
    let number = leading_number(after)?;
    let unit =
        after.trim_start().trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.').trim_start();
    let seconds = match unit.as_bytes().first() {
        Some(b'm') if unit.starts_with("ms") => number.div_ceil(1000),
        Some(b'm') => number.saturating_mul(60),
        Some(b'h') => number.saturating_mul(3600),
        Some(b'd') => number.saturating_mul(86_400),
        Some(_) | None => number,
    };
    Some(Reset::After(seconds))
}

fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-14
    #[test]
    fn troubles_are_told_apart_by_the_words_of_the_agents() {
        let limited = |reset| Some(("limited", reset));
        let cases = [
            ("API Error: 429 {\"type\":\"rate_limit_error\"}", limited(None)),
            ("Claude AI usage limit reached|1763300000", limited(Some(Reset::At(1_763_300_000)))),
            ("You've hit your usage limit. Try again in 5 minutes.", limited(Some(Reset::After(300)))),
            ("Rate limit reached; retry after 30", limited(Some(Reset::After(30)))),
            ("exceeded retry limit, last status: 429 Too Many Requests", limited(None)),
            ("API Error: 529 overloaded_error", Some(("infrastructure", None))),
            ("unexpected status 500 Internal Server Error", Some(("infrastructure", None))),
            ("connect ECONNREFUSED 127.0.0.1:9", Some(("infrastructure", None))),
            ("Invalid API key · Please run /login", Some(("signed out", None))),
            ("unexpected status 401 Unauthorized", Some(("signed out", None))),
            ("Authentication required", Some(("signed out", None))),
            ("I could not make the tests pass.", None),
            ("wrote 500000 lines", None),
        ];
        for (text, expected) in cases {
            let found = AgentFailure::of(text).map(|trouble| match trouble {
                AgentFailure::RateLimited { reset, .. } => ("limited", reset),
                AgentFailure::Infrastructure { .. } => ("infrastructure", None),
                AgentFailure::SignedOut { .. } => ("signed out", None),
                AgentFailure::Refused { .. } => ("refused", None),
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
