//! Lines of JSON about a plan, with the event names of the record dialect.

use super::read::RecordTree;
use super::spelling::json;
use crate::syntax::source::Source;
use crate::syntax::yaml::{YamlNode, YamlStyle, YamlValue};

/// The line for an event of the step at `index`. `said` is the agent's output, or the reason of a failure.
pub fn step_line(name: &str, index: usize, said: &str) -> String {
    let rest = match name {
        "STEP_COMPLETED" => format!(",\"output\":{}", json(&super::patch::capped(said))),
        "STEP_FAILED" => format!(",\"error\":{}", json(&super::patch::capped(said))),
        _ => String::new(),
    };
    format!("{{\"type\":\"{name}\",\"stepIndex\":{index}{rest}}}")
}

/// The line for a new plan.
pub fn created_line(source: &Source) -> String {
    format!("{{\"type\":\"PLAN_CREATED\",\"plan\":{}}}", plan(source))
}

/// The line for a revised plan.
pub fn replanned_line(next: &Source) -> String {
    format!("{{\"type\":\"PLAN_REPLANNED\",\"newPlan\":{}}}", plan(next))
}

/// The plan as JSON on one line.
fn plan(source: &Source) -> String {
    RecordTree::of(source).root.as_ref().map_or_else(|| "null".to_owned(), |root| typed(root, ""))
}

/// The keys with numeric values. All other values of the dialect are text.
const NUMBERS: &[&str] = &["index", "currentStepIndex", "version", "complexity", "dependsOn"];

fn typed(node: &YamlNode, key: &str) -> String {
    match &node.value {
        YamlValue::Scalar { text, style } => {
            let is_known = super::PLAN_KEYS.contains(&key)
                || super::STEP_KEYS.contains(&key)
                || super::METADATA_KEYS.contains(&key);
            let is_bare = *style == YamlStyle::Plain && (!is_known || NUMBERS.contains(&key));
            let is_empty = *style == YamlStyle::Plain && matches!(text.as_str(), "" | "null" | "~");
            match text.as_str() {
                _ if is_empty => "null".to_owned(),
                word @ ("true" | "false") if is_bare => word.to_owned(),
                number if is_bare && is_number(number) => number.to_owned(),
                text => json(text),
            }
        }
        YamlValue::List(items) => {
            format!("[{}]", items.iter().map(|item| typed(item, key)).collect::<Vec<_>>().join(","))
        }
        YamlValue::Map(entries) => {
            let entry = |(key, value): &(YamlNode, YamlNode)| {
                let key = key.text()?;
                Some(format!("{}:{}", json(key), typed(value, key)))
            };
            format!("{{{}}}", entries.iter().filter_map(entry).collect::<Vec<_>>().join(","))
        }
    }
}

/// Whether a plain scalar is a JSON number.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, "0"), |(whole, fraction)| (whole, fraction));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(whole) && all_digits(fraction) && (whole == "0" || !whole.starts_with('0'))
}
