//! Imports ralph files: `prd.json` with user stories that pass or don't, done by priority.

use super::json_walk;
use super::json_walk::Collector;
use super::{Importer, json_task};
use crate::plan::draft::{Draft, ParseIssue};
use crate::syntax::json::JsonNode;
use crate::syntax::source::{Source, Span, Spanned};

pub(super) const FOREIGN: Importer = Importer { name: "ralph", tool: "ralph prd.json", recognises, parse };

const STORIES: &[&str] = &["userStories", "user_stories", "stories"];
/// How deeply the lists of stories may be nested.
const DEPTH_MAX: usize = 4;

fn recognises(place: &str, head: &str) -> Option<String> {
    let file = place.rsplit('/').next().unwrap_or_default();
    let is_called_so =
        file.starts_with("prd") && json_walk::is_called(file, "json") && !file.contains("schema");
    let roots = json_task::glimpse(head);
    let root = roots.first()?;
    if root.any(STORIES).is_some_and(JsonNode::is_list) {
        return Some("a list of user stories".to_owned());
    }
    let is_story = |node: &JsonNode| node.any(&["id", "title", "name", "description"]).is_some();
    let lists = found_lists(root);
    let has_stories = lists.iter().flat_map(|list| list.items()).next().is_some_and(is_story);
    (is_called_so && has_stories).then(|| format!("{file} with a list of stories"))
}

/// The lists of stories: those of the file itself, or else those further down.
fn found_lists(root: &JsonNode) -> Vec<&JsonNode> {
    if root.is_list() {
        return vec![root];
    }
    let mut level = vec![root];
    for _ in 0..DEPTH_MAX {
        let lists: Vec<&JsonNode> =
            level.iter().flat_map(|node| json_task::usual_lists(node, STORIES)).collect();
        if !lists.is_empty() {
            return lists;
        }
        level = level
            .iter()
            .flat_map(|node| node.entries())
            .map(|(_, value)| value)
            .filter(|node| node.is_map())
            .collect();
    }
    Vec::new()
}

fn parse(source: &Source) -> Draft {
    let (roots, faults) = json_task::roots(source);
    let mut found = Collector::default();
    let (mut about, mut title, mut ranks) = (Vec::new(), None, Vec::new());
    for root in &roots {
        let lists = found_lists(root);
        for story in lists.iter().flat_map(|list| list.items()) {
            let rank = story.get("priority").and_then(JsonNode::said).and_then(|rank| rank.parse().ok());
            ranks.push((found.take(story, "", None), rank.unwrap_or(u64::MAX)));
        }
        if lists.is_empty() && json_task::is_task(root) {
            found.take(root, "", None);
        } else {
            title = title.or_else(|| root.any(&["project", "title", "name", "projectName"])?.said());
            about.extend(json_task::about(root, &["project", "title", "name", "projectName"], &lists));
        }
    }
    if found.items.is_empty()
        && roots.iter().all(|root| found_lists(root).is_empty() && root.any(STORIES).is_none())
    {
        let why = "no `userStories` list found".to_owned();
        found.remark(Spanned::new(ParseIssue::Unreadable(why), Span::at(0)));
    }
    in_order_of_priority(&mut found, &ranks);
    let mut draft = found.draft(faults);
    json_walk::name(&mut draft, title, "User stories");
    json_walk::explain(&mut draft, &about);
    draft
}

/// Stories are done one after the other, most urgent first: if none declares dependencies, that is the only order in
/// the file.
fn in_order_of_priority(found: &mut Collector, ranks: &[(usize, u64)]) {
    let is_silent = found.items.iter().all(|item| item.needs.is_empty() && item.parent.is_none());
    if is_silent {
        let mut order = ranks.to_vec();
        order.sort_by_key(|&(_, rank)| rank);
        let order: Vec<usize> = order.into_iter().map(|(place, _)| place).collect();
        json_walk::in_a_row(&mut found.items, &order);
    }
}
