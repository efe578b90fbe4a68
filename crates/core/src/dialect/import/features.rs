//! Imports feature lists of long-running agents: `feature_list.json`, features with a description, the steps to
//! demonstrate each, and whether it passes.

use super::json_walk;
use super::json_walk::Collector;
use super::{Importer, json_task};
use crate::plan::draft::{Draft, ParseIssue};
use crate::syntax::json::JsonNode;
use crate::syntax::source::{Source, Span, Spanned};

pub(super) const FOREIGN: Importer =
    Importer { name: "feature-list", tool: "feature_list.json of long-running agents", recognises, parse };

fn recognises(place: &str, head: &str) -> Option<String> {
    let file = place.rsplit('/').next().unwrap_or_default();
    let is_called_so =
        file.starts_with("feature") && json_walk::is_called(file, "json") && !file.contains("schema");
    let roots = json_task::glimpse(head);
    let root = roots.first()?;
    if is_called_so && !members(root).is_empty() {
        return Some(format!("{file} with features by name"));
    }
    let list = if root.is_list() { root } else { root.get("features").filter(|list| list.is_list())? };
    let is_feature =
        |node: &JsonNode| node.is_map() && node.get("passes").is_some() && node.get("description").is_some();
    match list.items().first() {
        Some(first) if is_feature(first) => Some("features with `passes` and `description`".to_owned()),
        Some(first) if is_called_so && json_task::is_task(first) => {
            Some(format!("{file} with a feature list"))
        }
        None if is_called_so => Some(format!("{file} with an empty feature list")),
        Some(_) | None => None,
    }
}

/// The features of a file that lists them by name or number.
fn members(root: &JsonNode) -> Vec<&JsonNode> {
    let holder = root.get("features").filter(|features| features.is_map()).unwrap_or(root);
    let members: Vec<&JsonNode> = holder.entries().iter().map(|(_, value)| value).collect();
    if members.iter().all(|member| json_task::is_task(member)) { members } else { Vec::new() }
}

fn parse(source: &Source) -> Draft {
    let (roots, faults) = json_task::roots(source);
    let mut found = Collector::default();
    let (mut about, mut title, mut is_list) = (Vec::new(), None, false);
    for root in &roots {
        if root.is_list() {
            found.take_list(root, "");
            is_list = true;
            continue;
        }
        let lists = json_task::usual_lists(root, &["features"]);
        for list in &lists {
            found.take_list(list, "");
        }
        let members = if lists.is_empty() { members(root) } else { Vec::new() };
        for feature in &members {
            found.take(feature, "", None);
        }
        if lists.is_empty() && members.is_empty() && json_task::is_task(root) {
            found.take(root, "", None);
        } else if members.is_empty() {
            is_list |= root.get("features").is_some();
            title = title.or_else(|| root.any(&["project", "project_name", "name", "title"])?.said());
            about.extend(json_task::about(root, &["project", "project_name", "name", "title"], &lists));
        }
    }
    if found.items.is_empty() && !is_list {
        let why = "no `features` list found".to_owned();
        found.remark(Spanned::new(ParseIssue::Unreadable(why), Span::at(0)));
    }
    let mut draft = found.draft(faults);
    json_walk::name(&mut draft, title, "Features");
    json_walk::explain(&mut draft, &about);
    draft
}
