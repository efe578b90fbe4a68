//! Imports Task Master files: `tasks.json` with a list of tasks, or one list per tag. Subtask numbers are local to
//! their task, and so are the numbers that they depend on.

use super::json_walk;
use super::json_walk::Collector;
use super::{Importer, json_task};
use crate::plan::draft::{Draft, ParseIssue};
use crate::syntax::json::JsonNode;
use crate::syntax::source::{Source, Span, Spanned};

pub(super) const FOREIGN: Importer =
    Importer { name: "task-master", tool: "Task Master tasks.json", recognises, parse };

fn recognises(place: &str, head: &str) -> Option<String> {
    let is_called_so = place.ends_with("tasks.json") && !place.contains(".vscode");
    let is_home = place.contains(".taskmaster/") && is_called_so;
    if is_home && head.trim().is_empty() {
        return Some("an empty tasks.json in .taskmaster/".to_owned());
    }
    let roots = json_task::glimpse(head);
    let root = roots.first().filter(|root| root.is_map())?;
    let is_task = |node: &JsonNode| node.get("title").is_some() && node.get("id").is_some();
    let (plain, tagged) = (root.get("tasks"), tags(root).next());
    let list =
        plain.filter(|list| list.is_list()).or_else(|| tagged.and_then(|(_, tag)| tag.get("tasks")))?;
    let is_told = list.items().first().map_or(is_called_so && (is_home || tagged.is_some()), is_task);
    let what = if plain.is_some() { "a `tasks` list" } else { "a `tasks` list below a tag" };
    is_told.then(|| format!("{what} with ids and titles"))
}

/// The tags of a file: maps with a list of tasks.
fn tags(root: &JsonNode) -> impl Iterator<Item = (&str, &JsonNode)> {
    let tags = root.entries().iter().filter(|(_, tag)| tag.get("tasks").is_some_and(JsonNode::is_list));
    tags.map(|(name, tag)| (name.value.as_str(), tag))
}

fn parse(source: &Source) -> Draft {
    let (roots, faults) = json_task::roots(source);
    let mut found = Collector::default();
    let mut about = Vec::new();
    let mut title = None;
    for root in &roots {
        if root.is_list() {
            found.take_list(root, "");
            continue;
        }
        let before = found.items.len();
        for list in json_task::usual_lists(root, &["tasks"]) {
            found.take_list(list, "");
        }
        for (name, tag) in tags(root) {
            // The default tag, and the first of any, need no prefix for their ids.
            let scope =
                if found.items.is_empty() || name == "master" { String::new() } else { format!("{name}/") };
            let first = found.items.len();
            for list in json_task::usual_lists(tag, &["tasks"]) {
                found.take_list(list, &scope);
            }
            if !scope.is_empty() {
                found.items[first..]
                    .iter_mut()
                    .for_each(|item| super::tell(&mut item.step, &format!("Tag: {name}")));
            }
            let described = tag.get("metadata").and_then(|metadata| metadata.get("description"));
            about.extend(described.and_then(JsonNode::said).map(|text| format!("{name}: {text}")));
        }
        let is_task = found.items.len() == before && root.get("title").is_some();
        if is_task {
            found.take(root, "", None);
        }
        for metadata in ["metadata", "meta"].iter().filter_map(|key| root.get(key)) {
            title = title.or_else(|| metadata.any(&["projectName", "project", "name"])?.said());
            about.extend(metadata.get("description").and_then(JsonNode::said));
        }
    }
    if roots.iter().all(|root| tags(root).next().is_none() && root.get("tasks").is_none())
        && found.items.is_empty()
    {
        let why = "no `tasks` list found".to_owned();
        found.remark(Spanned::new(ParseIssue::Unreadable(why), Span::at(0)));
    }
    let mut draft = found.draft(faults);
    json_walk::name(&mut draft, title, "Task Master tasks");
    json_walk::explain(&mut draft, &about);
    draft
}
