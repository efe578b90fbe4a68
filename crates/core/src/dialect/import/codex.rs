//! Imports Codex plans: the arguments of its tool `update_plan`, alone or in the rollout of a session. A later call
//! replaces an earlier plan; steps are done in order.

use super::json_walk;
use super::json_walk::Collector;
use super::{Importer, json_task};
use crate::plan::draft::{Draft, ParseIssue};
use crate::syntax::json;
use crate::syntax::json::{JsonNode, JsonValue};
use crate::syntax::source::{Source, Span, Spanned};

pub(super) const FOREIGN: Importer = Importer { name: "codex", tool: "Codex update_plan", recognises, parse };

/// How deeply the call may be nested in a rollout line.
const DEPTH_MAX: usize = 8;

fn recognises(place: &str, head: &str) -> Option<String> {
    let file = place.rsplit('/').next().unwrap_or_default();
    let roots = json_task::glimpse(head);
    let first = roots.first()?;
    if roots.iter().any(|root| call(root, 0).is_some()) {
        return Some("a call to `update_plan`".to_owned());
    }
    let is_rollout = first.get("type").and_then(JsonNode::said).as_deref() == Some("session_meta")
        || (file.starts_with("rollout-") && json_walk::is_called(file, "jsonl"));
    is_rollout.then(|| "the rollout of a Codex session".to_owned())
}

/// The plan in a value: itself, or the arguments of the call in it.
fn call(node: &JsonNode, depth: usize) -> Option<JsonNode> {
    let is_step = |node: &JsonNode| node.get("step").is_some();
    if node.get("plan").is_some_and(|plan| plan.items().iter().any(is_step)) {
        return Some(node.clone());
    }
    if node.get("name").and_then(JsonNode::said).as_deref() == Some("update_plan") {
        let arguments = node.any(&["arguments", "input"])?;
        return match &arguments.value {
            // Spans inside nested text are those of the text around it.
            JsonValue::Text(text) => {
                json::read(text, 0).0.into_iter().next().map(|read| moved(read, arguments.span))
            }
            JsonValue::Null
            | JsonValue::Bool(_)
            | JsonValue::Number(_)
            | JsonValue::List(_)
            | JsonValue::Map(_) => Some(arguments.clone()),
        };
    }
    if depth == DEPTH_MAX {
        return None;
    }
    let inner = node.entries().iter().map(|(_, value)| value).chain(node.items());
    inner.rev().find_map(|node| call(node, depth + 1))
}

/// The same value with this span everywhere.
fn moved(node: JsonNode, span: Span) -> JsonNode {
    let value = match node.value {
        JsonValue::List(items) => JsonValue::List(items.into_iter().map(|item| moved(item, span)).collect()),
        JsonValue::Map(entries) => JsonValue::Map(
            entries
                .into_iter()
                .map(|(key, value)| (Spanned::new(key.value, span), moved(value, span)))
                .collect(),
        ),
        scalar @ (JsonValue::Null | JsonValue::Bool(_) | JsonValue::Number(_) | JsonValue::Text(_)) => scalar,
    };
    JsonNode { span, value }
}

fn parse(source: &Source) -> Draft {
    let (roots, faults) = json_task::lines(source);
    let mut found = Collector::default();
    let plan = roots.iter().rev().find_map(|root| call(root, 0));
    let steps: Vec<JsonNode> = match (&plan, roots.as_slice()) {
        (Some(plan), _) => plan.get("plan").map(|plan| plan.items().to_vec()).unwrap_or_default(),
        // The bare list of steps.
        (None, [only]) => only.items().to_vec(),
        (None, _) => Vec::new(),
    };
    if steps.is_empty() {
        let why = "no call to `update_plan` with steps found".to_owned();
        found.remark(Spanned::new(ParseIssue::Unreadable(why), Span::at(0)));
    }
    let order: Vec<usize> = steps.iter().map(|step| found.take(step, "", None)).collect();
    json_walk::in_a_row(&mut found.items, &order);
    let mut draft = found.draft(faults);
    json_walk::name(&mut draft, None, "Codex plan");
    let explanation = plan.as_ref().and_then(|plan| plan.get("explanation")?.said());
    json_walk::explain(&mut draft, explanation.as_slice());
    draft
}
