//! Imports Backlog.md tasks: one Markdown file per task, `backlog/tasks/task-12 - Title.md`, with frontmatter and
//! criteria as checkboxes. A file becomes a plan with one step, a directory a plan with many.

mod facts;
mod sections;

use super::item::ImportedItem;
use super::json_walk::{Collector, is_called};
use super::status;
use super::status::ImportedStatus;
use super::{Importer, json_task, tell};
use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, ParseIssue};
use crate::syntax::source::{FILE_SEPARATOR, Source, SourcePart, Span, Spanned};
use facts::BacklogFacts;

pub(super) const IMPORTER: Importer =
    Importer { name: "backlog", tool: "Backlog.md tasks", recognises, parse };

/// Keys that are internal to the tool, or parsed elsewhere.
const NOT_TOLD: &[&str] = &[
    "id",
    "title",
    "status",
    "dependencies",
    "depends_on",
    "parent_task_id",
    "parent",
    "created_date",
    "updated_date",
    "completed_date",
    "created",
    "updated",
    "ordinal",
    "subtasks",
    "assignee",
];

fn recognises(place: &str, head: &str) -> Option<String> {
    let source = Source::new(place, head);
    if !head.starts_with(FILE_SEPARATOR) {
        let is_home = ["backlog/tasks/", "backlog/completed/", "backlog/drafts/", "backlog/archive/"]
            .iter()
            .any(|folder| place.contains(folder))
            && is_called(place, "md");
        if is_home && named_task(place).is_some() {
            return Some("a task file in a Backlog.md directory".to_owned());
        }
        return is_task(&source, source.parts()[0].span)
            .then(|| "the frontmatter of a Backlog.md task".to_owned());
    }
    let mut files = source.parts().iter().filter(|part| is_called(&part.path, "md"));
    files.any(|part| is_task(&source, part.span)).then(|| "one Backlog.md task per file".to_owned())
}

/// Whether the frontmatter of a file is one that the tool writes.
fn is_task(source: &Source, part: Span) -> bool {
    let text = source.slice(part);
    let parts = frontmatter::split(text);
    let yaml = parts.yaml.map_or("", |yaml| &text[yaml.start..yaml.end]);
    let has =
        |key: &str| yaml.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
    has("id")
        && has("title")
        && has("status")
        && (has("created_date") || (has("labels") && has("dependencies")))
}

/// The id and title in a file name: `task-12.1 - Some-title.md`.
fn named_task(path: &str) -> Option<(&str, String)> {
    let file = path.rsplit('/').next()?;
    let stem = &file[..file.rfind('.')?];
    let dash =
        stem.match_indices('-').find(|(at, _)| stem[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let (dash, _) = dash.filter(|&(at, _)| at > 0 && !stem[..at].contains(' '))?;
    let number = &stem[dash + 1..];
    let length = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let title = number[length..].trim_start_matches([' ', '-']);
    let is_id = number[length..].is_empty() || number[length..].starts_with([' ', '-']);
    is_id.then(|| (&stem[..=dash + length], title.replace('-', " ").trim().to_owned()))
}

fn parse(source: &Source) -> Draft {
    let mut found = Collector::default();
    let mut parents = Vec::new();
    let is_folder = source.text().starts_with(FILE_SEPARATOR);
    for part in source.parts().iter().filter(|part| !is_folder || is_called(&part.path, "md")) {
        let path = if is_folder { part.path.as_str() } else { source.place() };
        let (facts, oddities) = facts::read(source, part.span);
        found.oddities.extend(oddities);
        let is_task = facts.one("id").or(facts.one("title")).or(facts.one("status")).is_some();
        if is_folder && !is_task && named_task(path).is_none() {
            found.unreadable("not a task: no `id` in frontmatter", Span::at(part.span.start));
            continue;
        }
        let (item, unknown) = task(source, (part, path), &facts);
        found.oddities.extend(unknown);
        parents.push(facts.one("parent_task_id").or(facts.one("parent")).map(|parent| parent.value.clone()));
        found.items.push(item);
    }
    lay_inside(&mut found, &parents);
    if let [only] = found.items.as_slice() {
        found.title = Some(only.step.title.value.clone());
    }
    found.draft("Backlog")
}

/// The task of one file.
fn task(
    source: &Source,
    (part, path): (&SourcePart, &str),
    facts: &BacklogFacts,
) -> (ImportedItem, Option<Spanned<ParseIssue>>) {
    let named = named_task(path);
    let body = sections::read(source, part.span);
    let start = Span::at(part.span.start);
    let id = facts.one("id").map(|id| id.value.clone()).or(named.as_ref().map(|(id, _)| (*id).to_owned()));
    let called = named
        .map(|(_, title)| title)
        .filter(|title| !title.is_empty())
        .map(|title| Spanned::new(title, start));
    let title = facts.one("title").cloned().or(body.title.clone()).or(called);
    let title = title.unwrap_or_else(|| Spanned::new(id.clone().unwrap_or_else(|| "Task".to_owned()), start));
    let mut item = ImportedItem::new(&id.unwrap_or_default(), &title, part.span);
    item.key = item.key.to_lowercase();
    item.needs = facts.all("dependencies").iter().chain(facts.all("depends_on")).map(lower).collect();
    item.step.accept = body.criteria;
    let mut text: Vec<String> = item.step.task.take().map(|task| task.value).into_iter().collect();
    text.extend((!body.text.is_empty()).then_some(body.text));
    if let [only] = facts.all("assignee")
        && let Some(target) = json_task::name(only)
    {
        item.step.target = Some(target);
    } else {
        text.extend(facts.told("assignee"));
    }
    text.extend(facts.names().filter(|key| !NOT_TOLD.contains(key)).filter_map(|key| facts.told(key)));
    let mut unknown = None;
    if let Some(word) = facts.one("status") {
        let status = status::read(&word.value);
        item.step.marks.extend(status.mark().map(|mark| Spanned::new(mark, word.span)));
        item.step.marks.dedup_by_key(|mark| mark.value);
        text.extend((!status.is_plain()).then(|| format!("Status: {}", word.value)));
        let is_unknown = status == ImportedStatus::Unknown;
        unknown = is_unknown.then(|| word.clone().map(ParseIssue::UnknownMark));
    }
    let text = if text.is_empty() { item.step.title.value.clone() } else { text.join("\n\n") };
    item.step.task = Some(Spanned::new(text, part.span));
    (item, unknown)
}

fn lower(id: &Spanned<String>) -> Spanned<String> {
    Spanned::new(id.value.to_lowercase(), id.span)
}

/// Finds parent tasks.
fn lay_inside(found: &mut Collector, parents: &[Option<String>]) {
    let (places, items) = (found.places(), &mut found.items);
    for (place, parent) in parents.iter().enumerate() {
        let Some(parent) = parent else { continue };
        match places.get(&parent.to_lowercase()) {
            Some(&above) if above != place => items[place].parent = Some(above),
            Some(_) => {}
            None => tell(&mut items[place].step, &format!("Part of: {parent}")),
        }
    }
}
