//! `.pi/plans.json`: how proposals are handled in a project. Read from its text; what is missing or wrong is as usual, and
//! what is wrong is said.

use serde_json::{Map, Value};

use crate::syntax::nearest;

/// How proposals are handled in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Exact names of tool operations that need an approved plan: `gmail_send`.
    pub guarded_tools: Vec<String>,
    /// After how many days a plan that nobody approved is cancelled.
    pub stale_after_days: u64,
    /// After how many minutes an execution that says nothing is stalled.
    pub executor_timeout_minutes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { guarded_tools: Vec::new(), stale_after_days: 30, executor_timeout_minutes: 30 }
    }
}

const KEYS: [&str; 3] = ["guardedTools", "stale_after_days", "executor_timeout_minutes"];

/// Reads the text of the file, which may have comments as in the document's example, and says what is wrong with it.
pub fn config(text: &str) -> (Config, Vec<String>) {
    let mut config = Config::default();
    let object: Map<String, Value> =
        match serde_json::from_str(&uncommented(text.trim_start_matches('\u{feff}'))) {
            Ok(Value::Object(object)) => object,
            Ok(_) => {
                return (
                    config,
                    vec!["the file holds no JSON object; the usual settings are used".to_owned()],
                );
            }
            Err(error) => {
                return (config, vec![format!("the file is no JSON: {error}; the usual settings are used")]);
            }
        };
    let mut wrong = Vec::new();
    for (key, value) in &object {
        match key.as_str() {
            "guardedTools" => match strings(value) {
                Some(names) => config.guarded_tools = names,
                None => {
                    wrong.push(format!("`{key}` must be a list of names, not {value}; nothing is guarded"));
                }
            },
            "stale_after_days" => set(&mut config.stale_after_days, (key, value), &mut wrong),
            "executor_timeout_minutes" => set(&mut config.executor_timeout_minutes, (key, value), &mut wrong),
            unknown => {
                let meant = nearest::nearest(unknown, KEYS).filter(|meant| !object.contains_key(*meant));
                let hint = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
                wrong.push(format!("`{unknown}` is no setting of proposals{hint}"));
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
            wrong.push(format!("`{key}` must be a positive whole number, not {value}; {setting} is used"));
        }
    }
}

/// The text with blanks in place of comments, so that the places in messages stay true.
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

/// The length of the string that the text begins with.
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
