//! Imports Cursor plans: `.cursor/plans/<name>.plan.md` with `todos:` in its frontmatter; older ones have a checklist.

use super::checklist::Checklist;
use super::{Importer, checklist_tool, finished, is_markdown, legal, prose, step};
use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, Mark, StepDraft};
use crate::syntax::source::{Source, Span, Spanned};
use crate::syntax::tree::{Node, Style, Value};
use crate::syntax::yaml;

pub(super) const IMPORTER: Importer = Importer { name: "cursor", tool: "Cursor plan", recognises, parse };

fn recognises(place: &str, head: &str) -> Option<String> {
    if place.ends_with(".plan.md") {
        return Some("its name ends in .plan.md".to_owned());
    }
    if place.contains(".cursor/plans/") && is_markdown(place) {
        return Some("a file in .cursor/plans/".to_owned());
    }
    let yaml = frontmatter::split(head).yaml?;
    let has_todos = head[yaml.start..yaml.end].lines().any(|line| line.starts_with("todos:"));
    has_todos.then(|| "`todos:` in its frontmatter".to_owned())
}

fn parse(source: &Source) -> Draft {
    let part = source.parts()[0].span;
    let parts = frontmatter::split_part(source, part);
    let mut steps = parts.yaml.map(|yaml| todos(source, yaml)).unwrap_or_default();
    let mut draft = checklist_tool::boxes(&Checklist::read(source, part), checklist_tool::STYLE);
    if !steps.is_empty() {
        super::unrepeated(&mut steps);
        // The text of the plan applies to all of its steps.
        let body = prose(source.text()[parts.body..part.end].trim());
        draft.context = (!body.is_empty()).then(|| Spanned::new(body, Span::new(parts.body, part.end)));
        draft.steps = steps;
    }
    let named = draft.frontmatter.value("name").cloned();
    draft.title = named.or(draft.title);
    if let Some(overview) = draft.frontmatter.value("overview") {
        let rest = draft.context.as_ref().map(|context| format!("\n\n{}", context.value));
        let text = format!("{}{}", prose(&overview.value), rest.unwrap_or_default());
        draft.context = Some(Spanned::new(text, overview.span));
    }
    finished(source, draft, "")
}

/// The steps in `todos:`. If the frontmatter is not valid YAML, as with an unquoted colon, it is parsed line by line.
fn todos(source: &Source, yaml: Span) -> Vec<StepDraft> {
    let (root, faults) = yaml::read(source.slice(yaml), yaml.start);
    let items = root.as_ref().and_then(|root| root.first("todos")).map(Node::items).unwrap_or_default();
    let written = if faults.is_empty() { Vec::new() } else { written(source, yaml) };
    let items = if written.len() > items.len() { &written } else { items };
    items.iter().enumerate().map(|(place, item)| todo(place, item)).collect()
}

/// The items of `todos:`, parsed line by line; each value is the rest of its line.
fn written(source: &Source, yaml: Span) -> Vec<Node> {
    let mut items: Vec<Node> = Vec::new();
    let mut is_inside = false;
    let mut at = yaml.start;
    for line in source.slice(yaml).split_inclusive('\n') {
        let span = Span::new(at, at + line.trim_end().len());
        at += line.len();
        if !line.starts_with([' ', '\t', '-']) {
            is_inside = line.starts_with("todos:");
            continue;
        }
        let bare = line.trim();
        let behind = bare.strip_prefix("- ");
        let pair = behind.unwrap_or(bare).split_once(':').filter(|_| is_inside);
        let Some((key, value)) = pair else { continue };
        let node = |text: &str| Node::scalar(text.trim().trim_matches(['"', '\'']), Style::Plain, span);
        if behind.is_some() {
            items.push(Node { span, value: Value::Map(Vec::new()) });
        }
        if let Some(Node { span: whole, value: Value::Map(entries) }) = items.last_mut() {
            whole.end = span.end;
            entries.push((node(key), node(value)));
        }
    }
    items
}

/// The keys of a todo that have a place in a step.
const KNOWN: &[&str] = &["id", "content", "status", "dependencies", "depends_on", "dependsOn"];

fn todo(place: usize, item: &Node) -> StepDraft {
    if !item.is_map() {
        let text = item.text().unwrap_or_default().to_owned();
        return said(&Spanned::new(text, item.span), place, item.span);
    }
    let line = |name: &str| item.first(name).and_then(Node::spanned);
    let content =
        ["content", "title", "task", "description", "text", "name", "id"].iter().find_map(|name| line(name));
    let mut step = said(&content.unwrap_or_default(), place, item.span);
    step.id = line("id").and_then(|id| Some(Spanned::new(legal(&id.value)?, id.span)));
    step.marks = line("status").and_then(|status| mark(&status)).into_iter().collect();
    let needs = ["dependencies", "depends_on", "dependsOn"].iter().find_map(|name| item.first(name));
    step.needs = Some(needs.map(names).unwrap_or_default());
    // Everything else goes into the text of the task.
    for (key, value) in item.entries() {
        if let (Some(key), Some(value)) = (key.text(), value.text())
            && !KNOWN.contains(&key)
            && !value.is_empty()
        {
            super::tell(&mut step, &prose(&format!("{key}: {value}")));
        }
    }
    step
}

fn said(content: &Spanned<String>, place: usize, whole: Span) -> StepDraft {
    let mut lines = content.value.lines().map(str::trim).filter(|line| !line.is_empty());
    let title = lines.next().map_or_else(|| format!("Task {}", place + 1), str::to_owned);
    let mut step = step(Spanned::new(title, content.span), whole);
    let task =
        if content.value.trim().is_empty() { step.title.value.clone() } else { prose(content.value.trim()) };
    step.task = Some(Spanned::new(task, whole));
    step
}

fn mark(status: &Spanned<String>) -> Option<Spanned<Mark>> {
    let mark = match status.value.to_lowercase().replace(['-', ' '], "_").as_str() {
        "completed" | "complete" | "done" => Mark::Done,
        "in_progress" | "running" => Mark::Running,
        "cancelled" | "canceled" | "skipped" => Mark::Skipped,
        "failed" => Mark::Failed,
        _ => return None,
    };
    Some(Spanned::new(mark, status.span))
}

fn names(node: &Node) -> Vec<Spanned<String>> {
    let name = |node: &Node| Some(Spanned::new(legal(node.text()?)?, node.span));
    node.each().iter().filter_map(name).collect()
}
