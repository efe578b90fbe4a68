//! Importers of tools whose tasks are JSON objects. Each is a row: how its files are recognised, and where its tasks
//! are; [`json_task`] knows the names of their fields.

use super::item::ImportedItem;
use super::json_walk::{Collector, is_called};
use super::{Importer, json_task, tell};
use crate::plan::draft::Draft;
use crate::syntax::json;
use crate::syntax::source::{FILE_SEPARATOR, Source, Span, Spanned};
use crate::syntax::tree::{Node, Value};

/// Task Master: `tasks.json` with a list of tasks, or one list per tag. Subtask numbers are local to their task, and so
/// are the numbers that they depend on.
pub(super) const TASK_MASTER: Importer = Importer {
    name: "task-master",
    tool: "Task Master tasks.json",
    recognises: is_task_master,
    parse: task_master,
};

/// Feature lists of long-running agents: features with a description, the steps to demonstrate each, and whether it
/// passes.
pub(super) const FEATURE_LIST: Importer = Importer {
    name: "feature-list",
    tool: "feature_list.json of long-running agents",
    recognises: is_feature_list,
    parse: feature_list,
};

/// ralph: `prd.json` with user stories that pass or don't, done by priority.
pub(super) const RALPH: Importer =
    Importer { name: "ralph", tool: "ralph prd.json", recognises: is_ralph, parse: ralph };

/// beads: `.beads/issues.jsonl`, one issue per line. An issue depends on those that block it, an epic on its issues.
pub(super) const BEADS: Importer =
    Importer { name: "beads", tool: "beads issues.jsonl", recognises: is_beads, parse: beads };

/// Claude Code: the tasks of a session, one file each in a directory, and the lists of its tool `TodoWrite`. Tasks name
/// their blockers; list items are done in order.
pub(super) const CLAUDE_TASKS: Importer = Importer {
    name: "claude-tasks",
    tool: "Claude Code tasks and todos",
    recognises: is_claude_tasks,
    parse: claude_tasks,
};

/// Codex: the arguments of its tool `update_plan`, alone or in the rollout of a session. A later call replaces an
/// earlier plan; steps are done in order.
pub(super) const CODEX: Importer =
    Importer { name: "codex", tool: "Codex update_plan", recognises: is_codex, parse: codex };

/// How deeply a call to a tool may be nested in a line of a transcript.
const CALL_DEPTH_MAX: usize = 8;
/// How deeply the lists of stories may be nested.
const STORY_DEPTH_MAX: usize = 4;
const STORIES: &[&str] = &["userStories", "user_stories", "stories"];
/// Relations between beads that don't block.
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
/// The parent relation between beads.
const PARENTS: &[&str] = &["parent-child", "parent", "child-of"];

fn file_name(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or_default()
}

/// Whether a file is called `prd.json`, `prd-2.json` and the like.
fn is_json_called(file: &str, start: &str) -> bool {
    file.starts_with(start) && is_called(file, "json") && !file.contains("schema")
}

fn is_task_master(place: &str, head: &str) -> Option<String> {
    let is_called_so = place.ends_with("tasks.json") && !place.contains(".vscode");
    let is_home = place.contains(".taskmaster/") && is_called_so;
    if is_home && head.trim().is_empty() {
        return Some("an empty tasks.json in .taskmaster/".to_owned());
    }
    let roots = json_task::glimpse(head);
    let root = roots.first().filter(|root| root.is_map())?;
    let is_task = |node: &Node| node.get("title").is_some() && node.get("id").is_some();
    let (plain, tagged) = (root.get("tasks"), tags(root).next());
    let list =
        plain.filter(|list| list.is_list()).or_else(|| tagged.and_then(|(_, tag)| tag.get("tasks")))?;
    let is_told = list.items().first().map_or(is_called_so && (is_home || tagged.is_some()), is_task);
    let what = if plain.is_some() { "a `tasks` list" } else { "a `tasks` list below a tag" };
    is_told.then(|| format!("{what} with ids and titles"))
}

/// The tags of a file: maps with a list of tasks.
fn tags(root: &Node) -> impl Iterator<Item = (&str, &Node)> {
    let tags = root.entries().iter().filter(|(_, tag)| tag.get("tasks").is_some_and(Node::is_list));
    tags.map(|(name, tag)| (name.text().unwrap_or_default(), tag))
}

fn task_master(source: &Source) -> Draft {
    let (roots, mut found) = Collector::of_files(source);
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
            for item in found.items[first..].iter_mut().filter(|_| !scope.is_empty()) {
                tell(&mut item.step, &format!("Tag: {name}"));
            }
            let described = tag.get("metadata").and_then(|metadata| metadata.get("description"));
            found.about.extend(described.and_then(Node::said).map(|text| format!("{name}: {text}")));
        }
        let is_task = found.items.len() == before && root.get("title").is_some();
        if is_task {
            found.take(root, "", None);
        }
        for metadata in ["metadata", "meta"].iter().filter_map(|key| root.get(key)) {
            found.name(metadata, &["projectName", "project", "name"]);
            found.about.extend(metadata.get("description").and_then(Node::said));
        }
    }
    let is_list = |root: &Node| tags(root).next().is_some() || root.get("tasks").is_some();
    if found.items.is_empty() && !roots.iter().any(is_list) {
        found.unreadable("no `tasks` list found", Span::at(0));
    }
    found.draft("Task Master tasks")
}

fn is_feature_list(place: &str, head: &str) -> Option<String> {
    let file = file_name(place);
    let is_called_so = is_json_called(file, "feature");
    let roots = json_task::glimpse(head);
    let root = roots.first()?;
    if is_called_so && !members(root).is_empty() {
        return Some(format!("{file} with features by name"));
    }
    let list = if root.is_list() { root } else { root.get("features").filter(|list| list.is_list())? };
    let is_feature =
        |node: &Node| node.is_map() && node.get("passes").is_some() && node.get("description").is_some();
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
fn members(root: &Node) -> Vec<&Node> {
    let holder = root.get("features").filter(|features| features.is_map()).unwrap_or(root);
    let members: Vec<&Node> = holder.entries().iter().map(|(_, value)| value).collect();
    if members.iter().all(|member| json_task::is_task(member)) { members } else { Vec::new() }
}

fn feature_list(source: &Source) -> Draft {
    let (roots, mut found) = Collector::of_files(source);
    for root in &roots {
        let lists = if root.is_list() { vec![root] } else { json_task::usual_lists(root, &["features"]) };
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
            found.describe(root, &["project", "project_name", "name", "title"], &lists);
        }
    }
    if found.items.is_empty() && !roots.iter().any(|root| root.is_list() || root.get("features").is_some()) {
        found.unreadable("no `features` list found", Span::at(0));
    }
    found.draft("Features")
}

fn is_ralph(place: &str, head: &str) -> Option<String> {
    let file = file_name(place);
    let roots = json_task::glimpse(head);
    let root = roots.first()?;
    if root.any(STORIES).is_some_and(Node::is_list) {
        return Some("a list of user stories".to_owned());
    }
    let is_story = |node: &Node| node.any(&["id", "title", "name", "description"]).is_some();
    let lists = story_lists(root);
    let has_stories = lists.iter().flat_map(|list| list.items()).next().is_some_and(is_story);
    (is_json_called(file, "prd") && has_stories).then(|| format!("{file} with a list of stories"))
}

/// The lists of stories: those of the file itself, or else those further down.
fn story_lists(root: &Node) -> Vec<&Node> {
    if root.is_list() {
        return vec![root];
    }
    let mut level = vec![root];
    for _ in 0..STORY_DEPTH_MAX {
        let lists: Vec<&Node> = level.iter().flat_map(|node| json_task::usual_lists(node, STORIES)).collect();
        if !lists.is_empty() {
            return lists;
        }
        let below = level.iter().flat_map(|node| node.entries()).map(|(_, value)| value);
        level = below.filter(|node| node.is_map()).collect();
    }
    Vec::new()
}

fn ralph(source: &Source) -> Draft {
    let (roots, mut found) = Collector::of_files(source);
    let mut ranks: Vec<(u64, usize)> = Vec::new();
    for root in &roots {
        let lists = story_lists(root);
        for story in lists.iter().flat_map(|list| list.items()) {
            let rank = story.get("priority").and_then(Node::said).and_then(|rank| rank.parse().ok());
            ranks.push((rank.unwrap_or(u64::MAX), found.take(story, "", None)));
        }
        if lists.is_empty() && json_task::is_task(root) {
            found.take(root, "", None);
        } else {
            found.describe(root, &["project", "title", "name", "projectName"], &lists);
        }
    }
    let is_list = |root: &Node| !story_lists(root).is_empty() || root.any(STORIES).is_some();
    if found.items.is_empty() && !roots.iter().any(is_list) {
        found.unreadable("no `userStories` list found", Span::at(0));
    }
    // Stories are done one after the other, most urgent first: if none declares dependencies, that is the only order
    // in the file.
    if found.items.iter().all(|item| item.needs.is_empty() && item.parent.is_none()) {
        ranks.sort_by_key(|&(rank, _)| rank);
        found.in_a_row(&ranks.into_iter().map(|(_, place)| place).collect::<Vec<_>>());
    }
    found.draft("User stories")
}

fn is_beads(place: &str, head: &str) -> Option<String> {
    let is_home = place.contains(".beads/") && is_called(place, "jsonl");
    let Some(line) = head.trim_start_matches('\u{feff}').lines().map(str::trim).find(|line| !line.is_empty())
    else {
        return is_home.then(|| "an empty file in .beads/".to_owned());
    };
    let roots = json_task::glimpse(line);
    let root = roots.first()?;
    let first = root.items().first().unwrap_or(root);
    let is_issue = first.get("id").is_some() && first.get("title").is_some();
    let is_typed = first.any(&["issue_type", "created_at", "dependency_count"]).is_some();
    (is_issue && (is_typed || is_home) || first.get("_type").is_some())
        .then(|| "one beads issue per line".to_owned())
}

fn beads(source: &Source) -> Draft {
    let (values, mut found) = Collector::of_lines(source);
    let mut issues: Vec<&Node> = Vec::new();
    for value in values.iter().flat_map(Node::each) {
        if value.any(&["title", "description"]).is_some()
            || (value.get("id").is_some() && value.get("kind").is_none())
        {
            issues.push(value);
        } else if value.is_map() {
            found.about.extend(json_task::about(value, &["_type"], &[]));
        } else {
            found.unreadable("not an issue", value.span);
        }
    }
    for issue in &issues {
        found.take(issue, "", None);
    }
    let places = found.places();
    for (place, issue) in issues.iter().enumerate() {
        relate(&mut found.items[place], issue, |id| places.get(id).copied().filter(|&other| other != place));
    }
    found.draft("beads issues")
}

/// Sorts the relations of an issue into needs, its parent, and information for the agent.
fn relate(item: &mut ImportedItem, issue: &Node, place_of: impl Fn(&str) -> Option<usize>) {
    item.needs.clear();
    for dependency in issue.get("dependencies").map(Node::items).unwrap_or_default() {
        let Some(on) = dependency.get("depends_on_id").and_then(Node::said).or_else(|| dependency.said())
        else {
            tell(&mut item.step, &format!("Depends on: {}", json_task::spell(dependency)));
            continue;
        };
        let kind = dependency.get("type").and_then(Node::said).unwrap_or_default();
        let parent = place_of(&on).filter(|_| item.parent.is_none());
        match (PARENTS.contains(&kind.as_str()), parent) {
            (true, Some(parent)) => item.parent = Some(parent),
            (true, None) => tell(&mut item.step, &format!("Part of: {on}")),
            (false, _) if NO_WAITS.contains(&kind.as_str()) => {
                tell(&mut item.step, &format!("{}: {on}", kind.replace('-', " ")));
            }
            (false, _) => item.needs.push(Spanned::new(on, dependency.span)),
        }
    }
}

fn is_claude_tasks(place: &str, head: &str) -> Option<String> {
    if head.starts_with(FILE_SEPARATOR) {
        let source = Source::new(place, head);
        let mut files = source.parts().iter().filter(|part| is_called(&part.path, "json"));
        return files
            .any(|part| json_task::glimpse(source.slice(part.span)).first().is_some_and(is_claude_task))
            .then(|| "one Claude Code task per file".to_owned());
    }
    let roots = json_task::glimpse(head);
    if roots.iter().any(|root| todos(root, 0).is_some()) {
        return Some("a Claude Code todo list".to_owned());
    }
    let root = roots.first()?;
    let is_told = is_claude_task(root) || members_of(root, "tasks").first().is_some_and(is_claude_task);
    is_told.then(|| "a Claude Code task with subject and status".to_owned())
}

fn is_claude_task(node: &Node) -> bool {
    node.get("subject").is_some() && node.any(&["status", "blockedBy", "blocks", "activeForm"]).is_some()
}

/// The items of a list that is the value itself, or that of a key.
fn members_of<'a>(node: &'a Node, key: &str) -> &'a [Node] {
    node.get(key).unwrap_or(node).items()
}

/// The todo list in a value: itself, or the arguments of `TodoWrite`.
fn todos(node: &Node, depth: usize) -> Option<&[Node]> {
    let list = members_of(node, "todos");
    let is_todo = |node: &Node| {
        node.get("content").is_some() && node.get("status").is_some() && node.get("title").is_none()
    };
    if list.first().is_some_and(is_todo) {
        return Some(list);
    }
    let inner = node.entries().iter().map(|(_, value)| value).chain(node.items());
    inner.rev().filter(|_| depth < CALL_DEPTH_MAX).find_map(|node| todos(node, depth + 1))
}

fn claude_tasks(source: &Source) -> Draft {
    let (roots, mut found) = match source.text().starts_with(FILE_SEPARATOR) {
        true => session(source),
        false => Collector::of_lines(source),
    };
    match roots.iter().rev().find_map(|root| todos(root, 0)) {
        Some(todos) => found.take_in_order(todos),
        None => take_tasks(&mut found, &roots),
    }
    if found.items.is_empty() {
        found.unreadable("no task with a subject and no todo list found", Span::at(0));
    }
    found.draft("Claude Code tasks")
}

/// The tasks of a directory. Its files are sorted alphabetically, tasks numerically: 10 comes after 9.
fn session(source: &Source) -> (Vec<Node>, Collector) {
    let mut found = Collector::default();
    let mut read: Vec<(u64, Node)> = Vec::new();
    for part in source.parts().iter().filter(|part| is_called(&part.path, "json")) {
        let number = file_name(part.path.trim_end_matches(".json")).parse().unwrap_or(u64::MAX);
        let (values, faults) = json::read(source.slice(part.span), part.span.start);
        read.extend(values.into_iter().map(|value| (number, value)));
        found.faults.extend(faults);
    }
    read.sort_by_key(|&(number, _)| number);
    (read.into_iter().map(|(_, value)| value).collect(), found)
}

/// Collects the tasks; a task depends on those that claim to block it, even if it doesn't name them.
fn take_tasks(found: &mut Collector, roots: &[Node]) {
    let nodes = roots.iter().flat_map(|root| match members_of(root, "tasks") {
        [] => std::slice::from_ref(root),
        list => list,
    });
    let nodes: Vec<&Node> =
        nodes.filter(|node| node.any(&["subject", "title", "id", "content"]).is_some()).collect();
    for node in &nodes {
        let place = found.take(node, "", None);
        let item = &mut found.items[place];
        item.step.target = node.get("owner").and_then(json_task::agent).or(item.step.target.take());
    }
    let places = found.places();
    for (place, node) in nodes.iter().enumerate() {
        let blocked = node.get("blocks").map(Node::items).unwrap_or_default();
        for waits in blocked.iter().filter_map(Node::said) {
            match places.get(&waits) {
                Some(&other) if other != place && !found.items[other].after.contains(&place) => {
                    let key = found.items[place].key.clone();
                    if !found.items[other].needs.iter().any(|need| need.value == key) {
                        found.items[other].after.push(place);
                    }
                }
                Some(_) => {}
                None => tell(&mut found.items[place].step, &format!("Blocks: {waits}")),
            }
        }
    }
}

fn is_codex(place: &str, head: &str) -> Option<String> {
    let file = file_name(place);
    let roots = json_task::glimpse(head);
    let first = roots.first()?;
    if roots.iter().any(|root| call(root, 0).is_some()) {
        return Some("a call to `update_plan`".to_owned());
    }
    let is_rollout = first.get("type").and_then(Node::said).as_deref() == Some("session_meta")
        || (file.starts_with("rollout-") && is_called(file, "jsonl"));
    is_rollout.then(|| "the rollout of a Codex session".to_owned())
}

/// The plan in a value: itself, or the arguments of the call in it.
fn call(node: &Node, depth: usize) -> Option<Node> {
    let is_step = |node: &Node| node.get("step").is_some();
    if node.get("plan").is_some_and(|plan| plan.items().iter().any(is_step)) {
        return Some(node.clone());
    }
    if node.get("name").and_then(Node::said).as_deref() == Some("update_plan") {
        let arguments = node.any(&["arguments", "input"])?;
        let Some(text) = arguments.text() else { return Some(arguments.clone()) };
        let mut read = json::read(text, 0).0.into_iter().next()?;
        place(&mut read, arguments.span);
        return Some(read);
    }
    let inner = node.entries().iter().map(|(_, value)| value).chain(node.items());
    inner.rev().filter(|_| depth < CALL_DEPTH_MAX).find_map(|node| call(node, depth + 1))
}

/// Gives everything in a value this span: spans inside nested text are those of the text around it.
fn place(node: &mut Node, span: Span) {
    node.span = span;
    match &mut node.value {
        Value::Scalar { .. } => {}
        Value::List(items) => items.iter_mut().for_each(|item| place(item, span)),
        Value::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
            place(key, span);
            place(value, span);
        }),
    }
}

fn codex(source: &Source) -> Draft {
    let (roots, mut found) = Collector::of_lines(source);
    let plan = roots.iter().rev().find_map(|root| call(root, 0));
    let steps = match (&plan, roots.as_slice()) {
        (Some(plan), _) => plan.get("plan").map(Node::items).unwrap_or_default(),
        // The bare list of steps.
        (None, [only]) => only.items(),
        (None, _) => &[],
    };
    if steps.is_empty() {
        found.unreadable("no call to `update_plan` with steps found", Span::at(0));
    }
    found.take_in_order(steps);
    found.about.extend(plan.as_ref().and_then(|plan| plan.get("explanation")?.said()));
    found.draft("Codex plan")
}
