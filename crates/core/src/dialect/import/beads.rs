//! Imports beads issues: `.beads/issues.jsonl`, one issue per line. An issue depends on those that block it, an epic on
//! its issues.

use std::collections::HashMap;

use super::json_walk;
use super::json_walk::Collector;
use super::{Importer, json_task};
use crate::plan::draft::{Draft, ParseIssue};
use crate::syntax::json::JsonNode;
use crate::syntax::source::{Source, Spanned};

pub(super) const FOREIGN: Importer =
    Importer { name: "beads", tool: "beads issues.jsonl", recognises, parse };

/// Relations that don't block.
const NO_WAITS: &[&str] = &[
    "related",
    "relates-to",
    "discovered-from",
    "duplicates",
    "supersedes",
    "replies-to",
    "tracks",
    "caused-by",
];
/// The parent relation.
const PARENTS: &[&str] = &["parent-child", "parent", "child-of"];

fn recognises(place: &str, head: &str) -> Option<String> {
    let is_home = place.contains(".beads/") && json_walk::is_called(place, "jsonl");
    let Some(line) = head.trim_start_matches('\u{feff}').lines().map(str::trim).find(|line| !line.is_empty())
    else {
        return is_home.then(|| "an empty file in .beads/".to_owned());
    };
    let roots = json_task::glimpse(line);
    let root = roots.first()?;
    let first = root.items().first().unwrap_or(root);
    let is_issue = first.get("id").is_some()
        && first.get("title").is_some()
        && ["issue_type", "created_at", "dependency_count"].iter().any(|key| first.get(key).is_some());
    let is_record = first.get("_type").is_some()
        || (is_home && first.get("id").is_some() && first.get("title").is_some());
    if is_issue || is_record { Some("one beads issue per line".to_owned()) } else { None }
}

fn parse(source: &Source) -> Draft {
    let (values, faults) = json_task::lines(source);
    let mut found = Collector::default();
    let mut about = Vec::new();
    let values = values
        .iter()
        .flat_map(|value| if value.is_list() { value.items() } else { std::slice::from_ref(value) });
    let mut issues: Vec<&JsonNode> = Vec::new();
    for value in values {
        if value.any(&["title", "description"]).is_some()
            || (value.get("id").is_some() && value.get("kind").is_none())
        {
            issues.push(value);
        } else if value.is_map() {
            about.extend(json_task::about(value, &["_type"], &[]));
        } else {
            let why = "not an issue".to_owned();
            found.remark(Spanned::new(ParseIssue::Unreadable(why), value.span));
        }
    }
    for issue in &issues {
        found.take(issue, "", None);
    }
    let places: HashMap<String, usize> =
        found.items.iter().enumerate().rev().map(|(place, item)| (item.key.clone(), place)).collect();
    for (place, issue) in issues.iter().enumerate() {
        depend(&mut found, &places, (place, issue));
    }
    let mut draft = found.draft(faults);
    json_walk::name(&mut draft, None, "beads issues");
    json_walk::explain(&mut draft, &about);
    draft
}

/// Sorts the relations of an issue into needs, its parent, and information for the agent.
fn depend(found: &mut Collector, places: &HashMap<String, usize>, (place, issue): (usize, &JsonNode)) {
    let dependencies = issue.get("dependencies").map(JsonNode::items).unwrap_or_default();
    let item = &mut found.items[place];
    item.needs.clear();
    for dependency in dependencies {
        let Some(on) = dependency.get("depends_on_id").and_then(JsonNode::said).or_else(|| dependency.said())
        else {
            super::tell(&mut item.step, &format!("Depends on: {}", json_task::spell(dependency)));
            continue;
        };
        let kind = dependency.get("type").and_then(JsonNode::said).unwrap_or_default();
        let parent = places.get(&on).copied().filter(|&parent| parent != place && item.parent.is_none());
        match (PARENTS.contains(&kind.as_str()), parent) {
            (true, Some(parent)) => item.parent = Some(parent),
            (true, None) => super::tell(&mut item.step, &format!("Part of: {on}")),
            (false, _) if NO_WAITS.contains(&kind.as_str()) => {
                super::tell(&mut item.step, &format!("{}: {on}", kind.replace('-', " ")));
            }
            (false, _) => item.needs.push(Spanned::new(on, dependency.span)),
        }
    }
}
