//! `.pi/plans.json`, the project settings for proposals. Missing and invalid settings get their defaults; invalid ones
//! are reported.

use serde_json::{Map, Value};

use crate::syntax::nearest;

/// Project settings for proposals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalConfig {
    /// Exact names of tool operations that need an approved plan: `gmail_send`.
    pub guarded_tools: Vec<String>,
    /// Days until an unapproved plan is cancelled.
    pub stale_after_days: u64,
    /// Minutes until a silent run counts as stalled.
    pub executor_timeout_minutes: u64,
}

impl Default for ProposalConfig {
    fn default() -> Self {
        Self { guarded_tools: Vec::new(), stale_after_days: 30, executor_timeout_minutes: 30 }
    }
}

const KEYS: [&str; 3] = ["guardedTools", "stale_after_days", "executor_timeout_minutes"];

/// Parses the file, which may have comments, and reports invalid settings.
pub fn config(text: &str) -> (ProposalConfig, Vec<String>) {
    let mut config = ProposalConfig::default();
    let object: Map<String, Value> =
        match serde_json::from_str(&uncommented(text.trim_start_matches('\u{feff}'))) {
            Ok(Value::Object(object)) => object,
            Ok(_) => {
                return (config, vec!["not a JSON object; using the defaults".to_owned()]);
            }
            Err(error) => {
                return (config, vec![format!("invalid JSON: {error}; using the defaults")]);
            }
        };
    let mut wrong = Vec::new();
    for (key, value) in &object {
        match key.as_str() {
            "guardedTools" => match strings(value) {
                Some(names) => config.guarded_tools = names,
                None => {
                    wrong.push(format!("`{key}` must be a list of names, not {value}; no tools are guarded"));
                }
            },
            "stale_after_days" => set(&mut config.stale_after_days, (key, value), &mut wrong),
            "executor_timeout_minutes" => set(&mut config.executor_timeout_minutes, (key, value), &mut wrong),
            unknown => {
                let meant = nearest::nearest(unknown, KEYS).filter(|meant| !object.contains_key(*meant));
                wrong.push(format!("unknown setting `{unknown}`{}", nearest::did_you_mean(meant)));
            }
        }
    }
    (config, wrong)
}

fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| Some(name.as_str()?.to_owned())).collect()
}

fn set(setting: &mut u64, (key, value): (&str, &Value), wrong: &mut Vec<String>) {
    match value.as_u64().filter(|&number| number > 0) {
        Some(number) => *setting = number,
        None => {
            wrong.push(format!("`{key}` must be a positive whole number, not {value}; using {setting}"));
        }
    }
}

/// Replaces comments with blanks, so that positions in messages stay correct.
fn uncommented(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '"' => string(rest),
            '/' if rest.starts_with("//") => {
                let length = rest.find('\n').unwrap_or(rest.len());
                bare.extend(std::iter::repeat_n(' ', length));
                rest = &rest[length..];
                continue;
            }
            _ => next.len_utf8(),
        };
        bare.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    bare
}

/// The length of the string that the text starts with.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = character == '\\' && !is_escaped,
        }
    }
    text.len()
}
