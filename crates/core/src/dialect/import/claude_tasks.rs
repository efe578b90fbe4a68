//! Imports Claude Code tasks: the tasks of a session, one file each in a directory, and the lists of its tool
//! `TodoWrite`. Tasks name their blockers; list items are done in order.

use std::collections::HashMap;

use super::json_walk;
use super::json_walk::Collector;
use super::{Importer, json_task};
use crate::plan::draft::{Draft, ParseIssue};
use crate::syntax::json;
use crate::syntax::json::JsonNode;
use crate::syntax::source::{FILE_SEPARATOR, Source, Span, Spanned};

pub(super) const FOREIGN: Importer =
    Importer { name: "claude-tasks", tool: "Claude Code tasks and todos", recognises, parse };

/// How deeply the call to `TodoWrite` may be nested in a transcript line.
const DEPTH_MAX: usize = 8;

fn recognises(place: &str, head: &str) -> Option<String> {
    if head.starts_with(FILE_SEPARATOR) {
        let source = Source::new(place, head);
        let mut files = source.parts().iter().filter(|part| json_walk::is_called(&part.path, "json"));
        return files
            .any(|part| json_task::glimpse(source.slice(part.span)).first().is_some_and(is_task))
            .then(|| "one Claude Code task per file".to_owned());
    }
    let roots = json_task::glimpse(head);
    if roots.iter().any(|root| todos(root, 0).is_some()) {
        return Some("a Claude Code todo list".to_owned());
    }
    let root = roots.first()?;
    let tasks = root.get("tasks").map_or_else(|| root.items(), JsonNode::items);
    let is_told = is_task(root) || tasks.first().is_some_and(is_task);
    is_told.then(|| "a Claude Code task with subject and status".to_owned())
}

fn is_task(node: &JsonNode) -> bool {
    node.get("subject").is_some()
        && ["status", "blockedBy", "blocks", "activeForm"].iter().any(|key| node.get(key).is_some())
}

fn is_todo(node: &JsonNode) -> bool {
    node.get("content").is_some() && node.get("status").is_some() && node.get("title").is_none()
}

/// The todo list in a value: itself, or the arguments of `TodoWrite`.
fn todos(node: &JsonNode, depth: usize) -> Option<&[JsonNode]> {
    let list = node.get("todos").map_or_else(|| node.items(), JsonNode::items);
    if list.first().is_some_and(is_todo) {
        return Some(list);
    }
    if depth == DEPTH_MAX {
        return None;
    }
    let inner = node.entries().iter().map(|(_, value)| value).chain(node.items());
    inner.rev().find_map(|node| todos(node, depth + 1))
}

fn parse(source: &Source) -> Draft {
    let mut found = Collector::default();
    let (mut roots, mut faults) = (Vec::new(), Vec::new());
    if source.text().starts_with(FILE_SEPARATOR) {
        let files = source.parts().iter().filter(|part| json_walk::is_called(&part.path, "json"));
        let mut read = Vec::new();
        for part in files {
            let (values, wrong) = json::read(source.slice(part.span), part.span.start);
            let number =
                part.path.trim_end_matches(".json").rsplit('/').next().and_then(|name| name.parse().ok());
            read.extend(values.into_iter().map(|value| (number.unwrap_or(u64::MAX), value)));
            faults.extend(
                wrong.into_iter().map(|fault| Spanned::new(ParseIssue::Unreadable(fault.value), fault.span)),
            );
        }
        // Directories are sorted alphabetically, tasks numerically: 10 comes after 9.
        read.sort_by_key(|&(number, _)| number);
        roots.extend(read.into_iter().map(|(_, value)| value));
    } else {
        (roots, faults) = json_task::lines(source);
    }
    let listed = roots.iter().rev().find_map(|root| todos(root, 0));
    if let Some(todos) = listed {
        let order: Vec<usize> = todos.iter().map(|todo| found.take(todo, "", None)).collect();
        json_walk::in_a_row(&mut found.items, &order);
    } else {
        take_tasks(&mut found, &roots);
    }
    if found.items.is_empty() {
        let why = "no task with a subject and no todo list found".to_owned();
        found.remark(Spanned::new(ParseIssue::Unreadable(why), Span::at(0)));
    }
    let mut draft = found.draft(faults);
    json_walk::name(&mut draft, None, "Claude Code tasks");
    draft
}

/// Collects the tasks; a task depends on those that claim to block it, even if it doesn't name them.
fn take_tasks(found: &mut Collector, roots: &[JsonNode]) {
    let lists = roots.iter().map(|root| root.get("tasks").map_or_else(|| root.items(), JsonNode::items));
    let nodes = roots
        .iter()
        .zip(lists)
        .flat_map(|(root, list)| if list.is_empty() { std::slice::from_ref(root) } else { list });
    let nodes: Vec<&JsonNode> =
        nodes.filter(|node| node.any(&["subject", "title", "id", "content"]).is_some()).collect();
    for node in &nodes {
        let place = found.take(node, "", None);
        let item = &mut found.items[place];
        item.step.target = node.get("owner").and_then(json_task::agent).or(item.step.target.take());
    }
    let places: HashMap<String, usize> =
        found.items.iter().enumerate().rev().map(|(place, item)| (item.key.clone(), place)).collect();
    for (place, node) in nodes.iter().enumerate() {
        let blocked = node.get("blocks").map(JsonNode::items).unwrap_or_default();
        for waits in blocked.iter().filter_map(JsonNode::said) {
            match places.get(&waits) {
                Some(&other) if other != place && !found.items[other].after.contains(&place) => {
                    let key = found.items[place].key.clone();
                    if !found.items[other].needs.iter().any(|need| need.value == key) {
                        found.items[other].after.push(place);
                    }
                }
                Some(_) => {}
                None => super::tell(&mut found.items[place].step, &format!("Blocks: {waits}")),
            }
        }
    }
}
