//! Parses a task that is a JSON object. Tools, and the models that write for them, have many names for the same few
//! things; this file knows them all. Anything without a place in a step goes into the text of its task.

use super::item::ImportedItem;
use super::status;
use super::status::ImportedStatus;
use super::{files, manual};
use crate::plan::draft::{ContractDraft, Mark, ParseIssue};
use crate::syntax::json;
use crate::syntax::source::{Excerpt, Span, Spanned};
use crate::syntax::text::one_line;
use crate::syntax::tree::{Node, Value};

const IDS: &[&str] = &["id", "key", "taskId", "task_id", "storyId", "story_id"];
const TITLES: &[&str] =
    &["title", "subject", "name", "step", "content", "story", "task", "summary", "description", "text"];
const TEXTS: &[&str] = &["description", "details"];
const STATUSES: &[&str] = &["status", "state"];
/// Boolean claims; a task is done if none of those present is false.
const CLAIMS: &[&str] =
    &["passes", "passed", "done", "completed", "complete", "implemented", "tested", "finished"];
const NEEDS: &[&str] = &[
    "dependencies",
    "dependsOn",
    "depends_on",
    "blockedBy",
    "blocked_by",
    "prerequisites",
    "requires",
    "needs",
];
const CRITERIA: &[&str] = &[
    "acceptanceCriteria",
    "acceptance_criteria",
    "acceptance",
    "criteria",
    "ac",
    "steps",
    "doneWhen",
    "done_when",
    "verification",
];
const COMMANDS: &[&str] = &[
    "verification_command",
    "verificationCommand",
    "verifyCommand",
    "verify_command",
    "verifyCommands",
    "verify_commands",
    "testCommand",
    "test_command",
    "checkCommand",
    "check_command",
];
const FILES: &[&str] = &["files_to_touch", "filesToTouch", "files_to_modify", "filesToModify", "touches"];
const AGENTS: &[&str] = &["assignee", "assigned_to", "assignedTo", "agent"];
/// The keys of lists whose items are tasks.
const LISTS: &[&str] = &[
    "tasks",
    "subtasks",
    "subTasks",
    "sub_tasks",
    "userStories",
    "user_stories",
    "stories",
    "features",
    "phases",
    "epics",
    "milestones",
    "issues",
    "todos",
    "children",
    "items",
];
/// Internal times, hashes and counts of the tools, which say nothing about the work.
const BOOKKEEPING: &[&str] = &[
    "created_at",
    "createdAt",
    "created",
    "updated_at",
    "updatedAt",
    "updated",
    "created_by",
    "content_hash",
    "compaction_level",
    "original_size",
    "dependency_count",
    "dependent_count",
    "comment_count",
    "source_repo",
    "lastRun",
    "parentId",
    "parentTaskId",
    "parent_id",
    "isSubtask",
    "blocks",
    "activeForm",
];

/// The start of a file as JSON, for detection by content.
pub(super) fn glimpse(head: &str) -> Vec<Node> {
    json::read(head, 0).0
}

/// Whether a list item is a task: an object, or text with a letter in it.
pub(super) fn says_something(node: &Node) -> bool {
    node.is_map() || node.said().is_some_and(|text| text.contains(char::is_alphabetic))
}

/// Whether a value looks like a task: it has a title and another key that only tasks have.
pub(super) fn is_task(node: &Node) -> bool {
    let has = |keys: &[&str]| node.any(keys).is_some();
    has(TITLES) && [IDS, STATUSES, CLAIMS, CRITERIA, NEEDS].into_iter().any(has)
}

/// The status of a task.
pub(super) fn progress(node: &Node) -> (Option<Spanned<Mark>>, Option<Spanned<String>>) {
    let word = node.any(STATUSES).and_then(|status| Some(Spanned::new(status.said()?, status.span)));
    let claims: Vec<&Node> = CLAIMS.iter().filter_map(|claim| node.get(claim)).collect();
    let is_true = |claim: &&Node| claim.is_plain() && claim.text() == Some("true");
    let claimed = claims.first().filter(|_| claims.iter().all(is_true)).map(|claim| claim.span);
    let claimed = claimed.map(|span| Spanned::new(Mark::Done, span));
    let started = node.get("started").filter(is_true).map(|claim| Spanned::new(Mark::Running, claim.span));
    let meaning = word.as_ref().map_or(ImportedStatus::Plainly(None), |word| status::read(&word.value));
    let mark = meaning.mark().zip(word.as_ref()).map(|(mark, word)| Spanned::new(mark, word.span));
    (mark.or(claimed).or(started), word.filter(|_| !meaning.is_plain()))
}

/// The task in a value. `place` is its number in the file, for tasks without id and title.
pub(super) fn item(node: &Node, place: usize) -> ImportedItem {
    if !node.is_map() {
        let title = Spanned::new(spell(node), node.span);
        return ImportedItem::new("", &title, node.span);
    }
    let id = node.any(IDS).and_then(Node::said).unwrap_or_default();
    let title = TITLES.iter().find_map(|key| {
        let node = node.get(key)?;
        Some((*key, Spanned::new(node.said()?, node.span)))
    });
    let (title_key, title) = title.unwrap_or_else(|| {
        let name = if id.is_empty() { format!("Task {}", place + 1) } else { id.clone() };
        ("", Spanned::new(name, Span::at(node.span.start)))
    });
    let mut item = ImportedItem::new(&id, &title, node.span);
    let (mark, status) = progress(node);
    if let Some(mark) = mark {
        item.step.marks = vec![mark];
    }
    item.needs = NEEDS.iter().filter_map(|key| node.get(key)).flat_map(needs).collect();
    item.step.accept = CRITERIA.iter().filter_map(|key| node.get(key)).flat_map(criteria).collect();
    item.step.contract = Some(contract(node));
    item.step.touches = FILES.iter().find_map(|key| paths(node.get(key)?));
    item.step.target = AGENTS.iter().find_map(|key| agent(node.get(key)?));
    let is_target = |key: &str| item.step.target.is_some() && AGENTS.contains(&key);
    let is_touched = |key: &str| item.step.touches.is_some() && FILES.contains(&key);
    let is_used = |key: &str| {
        [IDS, STATUSES, CLAIMS, NEEDS, CRITERIA, COMMANDS, BOOKKEEPING, TEXTS]
            .iter()
            .any(|keys| keys.contains(&key))
            || key == title_key
            || is_target(key)
            || is_touched(key)
    };
    let texts = TEXTS.iter().filter_map(|key| node.get(key)).map(spell);
    let is_told = |key: &str, value: &Node| !is_used(key) && !is_empty(value) && !holds_tasks(key, value);
    let rest = named_entries(node).filter(|&(key, value)| is_told(key, value));
    let rest = rest.map(|(key, value)| labelled(key, value));
    let status = status.map(|status| format!("Status: {}", status.value));
    let text: Vec<String> = texts.chain(rest).chain(status).filter(|text| !text.trim().is_empty()).collect();
    let text = if text.is_empty() { item.step.title.value.clone() } else { text.join("\n\n") };
    match &mut item.step.task {
        // The part of the title that didn't fit into the heading comes first, unless the text repeats it.
        Some(task) if !text.contains(task.value.as_str()) => task.value = format!("{}\n\n{text}", task.value),
        Some(_) | None => item.step.task = Some(Spanned::new(text, node.span)),
    }
    item
}

/// The status as written, if it is unknown.
pub(super) fn unknown_status(node: &Node) -> Option<Spanned<ParseIssue>> {
    let status = node.any(STATUSES)?;
    let word = status.said()?;
    (status::read(&word) == ImportedStatus::Unknown)
        .then(|| Spanned::new(ParseIssue::UnknownMark(word), status.span))
}

/// The task lists in a task or a file, in file order; duplicate keys count twice, so that none is lost.
pub(super) fn lists(node: &Node) -> impl Iterator<Item = &Node> {
    named_entries(node).filter(|&(key, value)| holds_tasks(key, value)).map(|(_, value)| value)
}

/// The keys of a map, which are texts in JSON, with their values.
fn named_entries(node: &Node) -> impl Iterator<Item = (&str, &Node)> {
    node.entries().iter().filter_map(|(key, value)| Some((key.text()?, value)))
}

/// The lists below the tool's keys, or otherwise any list of tasks.
pub(super) fn usual_lists<'a>(node: &'a Node, keys: &[&str]) -> Vec<&'a Node> {
    let usual = named_entries(node).filter(|(key, value)| keys.contains(key) && value.is_list());
    let usual: Vec<&Node> = usual.map(|(_, value)| value).collect();
    if usual.is_empty() { lists(node).collect() } else { usual }
}

/// Whether a key is a task list, whose items become steps.
fn holds_tasks(key: &str, node: &Node) -> bool {
    LISTS.contains(&key) && !node.items().is_empty()
}

/// The ids that a task needs: a list of texts, numbers or objects with an id, or one line with commas.
fn needs(node: &Node) -> Vec<Spanned<String>> {
    const NONE: &[&str] = &["none", "n/a", "na", "-", "–", "—", "no", "null"];
    let one = |node: &Node| {
        let id = node.any(&["id", "depends_on_id", "task", "taskId", "key"]).and_then(Node::said);
        id.or_else(|| node.said()).map(|id| Spanned::new(id, node.span))
    };
    let all: Vec<Spanned<String>> = match node.text() {
        Some(text) => {
            text.split([',', ';']).map(|id| Spanned::new(id.trim().to_owned(), node.span)).collect()
        }
        None => node.each().iter().filter_map(one).collect(),
    };
    let is_named = |need: &Spanned<String>| {
        !need.value.is_empty() && !NONE.contains(&need.value.to_lowercase().as_str())
    };
    all.into_iter().filter(is_named).collect()
}

/// Criteria: the items of a list, or the lines of a text.
pub(super) fn criteria(node: &Node) -> Vec<Spanned<String>> {
    let texts: Vec<Spanned<String>> = match &node.value {
        Value::List(items) => items
            .iter()
            .map(|item| {
                let text = item.any(&["text", "description", "title", "criterion", "name", "step"]);
                Spanned::new(text.and_then(Node::said).unwrap_or_else(|| spell(item)), item.span)
            })
            .collect(),
        Value::Map(_) => {
            named_entries(node).map(|(key, value)| Spanned::new(labelled(key, value), value.span)).collect()
        }
        Value::Scalar { .. } if node.is_plain() => Vec::new(),
        Value::Scalar { text, .. } => {
            text.lines().map(|line| Spanned::new(unbulleted(line).to_owned(), node.span)).collect()
        }
    };
    let texts = texts.into_iter().map(|text| Spanned::new(one_line(&text.value), text.span));
    texts.filter(|text| !text.value.is_empty()).collect()
}

/// A line without its bullet.
pub(super) fn unbulleted(line: &str) -> &str {
    let line = line.trim();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let bare = match line[digits..].strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 && rest.starts_with(' ') => rest.trim_start(),
        Some(_) | None => {
            ["- ", "* ", "+ ", "• "].iter().find_map(|sign| line.strip_prefix(sign)).unwrap_or(line)
        }
    };
    let bare = bare.trim_start();
    let boxed = ["[ ]", "[x]", "[X]", "☐", "☑"].iter().find_map(|sign| bare.strip_prefix(sign));
    boxed.unwrap_or(bare).trim()
}

/// The contract, if the file has commands for the task or for each of its criteria; otherwise manual.
fn contract(node: &Node) -> ContractDraft {
    let of_task = COMMANDS.iter().filter_map(|key| node.get(key));
    let of_criteria = CRITERIA
        .iter()
        .filter_map(|key| node.get(key))
        .flat_map(|list| list.items().iter().filter_map(|item| item.any(COMMANDS)));
    let commands: Vec<Spanned<String>> = of_task
        .chain(of_criteria)
        .flat_map(Node::each)
        .filter_map(|node| Some(Spanned::new(node.said()?, node.span)))
        .filter(|command| !matches!(command.value.as_str(), "true" | "false" | "manual" | "none" | "N/A"))
        .collect();
    match commands.as_slice() {
        [] => manual(),
        [first, ..] => {
            let mut excerpt = Excerpt::new(first.span);
            excerpt.push(&joined(&commands), first.span.start);
            ContractDraft { command: Some(excerpt), ..ContractDraft::default() }
        }
    }
}

/// Commands that must all succeed, as one.
fn joined(commands: &[Spanned<String>]) -> String {
    let is_simple = |command: &str| !command.contains([';', '|', '&', '#', '\n', '\\']);
    let part = |command: &Spanned<String>| match is_simple(&command.value) || commands.len() == 1 {
        true => command.value.clone(),
        false => format!("(\n{}\n)", command.value),
    };
    commands.iter().map(part).collect::<Vec<_>>().join(" &&\n")
}

/// Files that a task may change, if all of them are paths.
fn paths(node: &Node) -> Option<Vec<Spanned<String>>> {
    files(node.items().iter().map(|path| Spanned::new(spell(path), path.span)).collect())
}

/// The agent of a task, if it is a single name.
pub(super) fn agent(node: &Node) -> Option<Spanned<String>> {
    let said = match node.items() {
        [only] => only.said()?,
        [] => node.said()?,
        _ => return None,
    };
    name(&Spanned::new(said, node.span))
}

/// A person or an agent, if it is a single name.
pub(super) fn name(said: &Spanned<String>) -> Option<Spanned<String>> {
    let name = said.value.trim_start_matches('@');
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    is_name.then(|| Spanned::new(name.to_owned(), said.span))
}

fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Scalar { .. } => node.said().is_none(),
        Value::List(items) => items.iter().all(is_empty),
        Value::Map(entries) => entries.iter().all(|(_, value)| is_empty(value)),
    }
}

/// `testStrategy` as `Test strategy`.
pub(super) fn label(key: &str) -> String {
    let mut label = String::new();
    for character in key.chars() {
        if character == '_' || character == '-' {
            label.push(' ');
        } else if character.is_uppercase() && !label.is_empty() {
            label.push(' ');
            label.extend(character.to_lowercase());
        } else if label.is_empty() {
            label.extend(character.to_uppercase());
        } else {
            label.push(character);
        }
    }
    label
}

/// A key and its value for a reader: `Test strategy: …`.
fn labelled(key: &str, node: &Node) -> String {
    let (label, text) = (label(key), spell(node));
    let gap = if text.contains('\n') { "\n" } else { " " };
    if label.is_empty() { text } else { format!("{label}:{gap}{text}") }
}

/// A value as text: a list as bullets, anything deeper as JSON.
pub(super) fn spell(node: &Node) -> String {
    match &node.value {
        Value::Scalar { text, .. } => text.trim().to_owned(),
        Value::List(items) if items.iter().all(|item| item.said().is_some()) => {
            let bullet = |item: &Node| format!("- {}", item.said().unwrap_or_default().replace('\n', "\n  "));
            items.iter().map(bullet).collect::<Vec<_>>().join("\n")
        }
        Value::List(_) | Value::Map(_) => node.inline(|text| format!("{text:?}")),
    }
}

/// Plan-wide information in a file: a line for every key that is neither one of these nor a task list.
pub(super) fn about(node: &Node, except: &[&str], taken: &[&Node]) -> Vec<String> {
    let is_told = |&(key, value): &(&str, &Node)| {
        !except.contains(&key)
            && !key.starts_with('$')
            && !BOOKKEEPING.contains(&key)
            && !is_empty(value)
            && taken.iter().all(|list| list.span != value.span)
    };
    named_entries(node).filter(is_told).map(|(key, value)| labelled(key, value)).collect()
}
