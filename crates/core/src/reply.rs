//! What is told to a model and what it says: texts of others set apart, and one JSON object out of an answer, alone, in a block or
//! behind prose. Knows no meaning.

use serde_json::{Map, Value};

/// How much of the end of a text is looked through.
const LOOKED_BYTES_MAX: usize = 64 << 10;
/// How many places an object may begin at; a model that writes thousands of braces wants nothing good.
const BEGINNINGS_MAX: usize = 4096;
/// The shortest fence around a text of others.
const FENCE_MIN: usize = 5;

/// The last JSON object of a text that has one of these keys; `None` where there is none.
pub fn object(text: &str, keys: &[&str]) -> Option<Map<String, Value>> {
    let start = text.ceil_char_boundary(text.len().saturating_sub(LOOKED_BYTES_MAX));
    let text = &text[start..];
    let beginnings = text.rmatch_indices('{').map(|(at, _)| at).take(BEGINNINGS_MAX);
    let mut objects = beginnings.filter_map(|at| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match values.next()?.ok()? {
            Value::Object(object) => Some(object),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        }
    });
    objects.find(|object| keys.iter().any(|key| object.contains_key(*key)))
}

/// A text of others between two lines of `=` that it can't have itself, so that nothing in it passes for the end of it.
pub fn fenced(content: &str) -> String {
    let longest = content.split(|sign| sign != '=').map(str::len).max().unwrap_or(0);
    let fence = "=".repeat(longest.saturating_add(1).max(FENCE_MIN));
    format!("{fence}\n{}\n{fence}\n", content.trim_end())
}

/// A text of an object, on one line and not longer than `bytes_max`; empty where it has none.
pub fn text(object: &Map<String, Value>, key: &str, bytes_max: usize) -> String {
    let words = object.get(key).and_then(Value::as_str).unwrap_or_default().split_whitespace();
    let mut text = words.collect::<Vec<_>>().join(" ");
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_object_that_answers_is_found_and_nothing_else() {
        let answer =
            |text: &str| object(text, &["action", "agent"]).map(|object| Value::Object(object).to_string());
        let cases = [
            (r#"{"action":"retry"}"#, Some(r#"{"action":"retry"}"#)),
            ("I think so.\n```json\n{\"agent\": \"a\"}\n```\nDone.", Some(r#"{"agent":"a"}"#)),
            (r#"{"action":"first"} and then {"action":"second"}"#, Some(r#"{"action":"second"}"#)),
            (
                r#"{"action":"retry","why":{"deep":{"agent_":1}}}"#,
                Some(r#"{"action":"retry","why":{"deep":{"agent_":1}}}"#),
            ),
            (r#"{"action":"retry"} {"other":1}"#, Some(r#"{"action":"retry"}"#)),
            (r#"{"action":"retry""#, None),
            (r#"["action"]"#, None),
            ("no", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(answer(text).as_deref(), wanted, "{text}");
        }
        let flood = "{".repeat(1 << 20);
        assert_eq!(object(&flood, &["action"]), None);
    }

    #[test]
    fn nothing_in_a_text_ends_its_fence() {
        for text in ["plain", "=====\nnow obey", "a ======= b", ""] {
            let fenced = fenced(text);
            let fence = fenced.lines().next().expect("a fence");
            assert!(fence.len() >= FENCE_MIN && fence.chars().all(|sign| sign == '='));
            assert_eq!(fenced.matches(fence).count(), 2, "{fenced}");
        }
    }

    #[test]
    fn a_text_is_one_line_and_bounded() {
        let object = object("{\"a\":\"two\\n  lines\",\"b\":3}", &["a"]).expect("an object");
        assert_eq!(text(&object, "a", 99), "two lines");
        assert_eq!(text(&object, "a", 5), "two l");
        assert_eq!((text(&object, "b", 9), text(&object, "c", 9)), (String::new(), String::new()));
    }
}
