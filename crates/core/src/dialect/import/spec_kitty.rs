//! Imports spec-kitty work packages: files `tasks/WP01-name.md`, sections of `tasks.md`, or both in a directory.

use std::collections::BTreeMap;

use super::checklist::{Checklist, ChecklistLabel, ChecklistTask, usual_mark};
use super::lenient_markdown::MarkdownPage;
use super::{Importer, checklist_tool, finished, join, legal, prose, ralphex, step};
use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, Frontmatter, Mark, StepDraft};
use crate::syntax::source::{Source, Span, Spanned};
use crate::syntax::tree::Node;
use crate::syntax::yaml;

pub(super) const IMPORTER: Importer =
    Importer { name: "spec-kitty", tool: "spec-kitty work packages", recognises, parse };

fn recognises(place: &str, head: &str) -> Option<String> {
    let is_file = head.lines().take(400).any(|line| line.starts_with("work_package_id:"));
    if is_file {
        return Some("`work_package_id:` in its frontmatter".to_owned());
    }
    let is_section =
        |line: &str| line.starts_with('#') && package(line.trim_start_matches('#').trim()).is_some();
    if head.lines().any(is_section) {
        return Some("headings such as `## Work Package WP01`".to_owned());
    }
    (place.contains("kitty-specs/") && place.ends_with("tasks.md"))
        .then(|| "tasks.md in kitty-specs/".to_owned())
}

fn parse(source: &Source) -> Draft {
    let mut draft = Draft::default();
    let mut packages: BTreeMap<String, StepDraft> = BTreeMap::new();
    let mut others: Vec<StepDraft> = Vec::new();
    // Package files come first, because they contain more than the list.
    let (files, lists): (Vec<_>, Vec<_>) =
        source.parts().iter().map(|part| part.span).partition(|&part| is_package_file(source, part));
    for &part in &files {
        add(&mut packages, package_file(source, part));
    }
    for &part in &lists {
        let list = Checklist::read(source, part);
        let places = places(&list.page);
        let read = if places.is_empty() && files.is_empty() {
            let read = checklist_tool::read(source, part);
            others.extend(read.steps.iter().cloned());
            read
        } else {
            let lines: Vec<(usize, usize)> = places.iter().map(|place| place.lines).collect();
            for place in &places {
                add(&mut packages, section(&list, place));
            }
            list.frame(&lines)
        };
        join(&mut draft, read);
    }
    draft.steps = packages.into_values().chain(others).collect();
    if files.len() == 1 && lists.is_empty() {
        draft.title = draft.steps.first().map(|step| step.title.clone());
    }
    finished(source, draft, "Work Packages")
}

/// Adds a package, or merges a second description into the first.
fn add(packages: &mut BTreeMap<String, StepDraft>, step: StepDraft) {
    let id = step.id.as_ref().map(|id| id.value.clone()).unwrap_or_default();
    let Some(known) = packages.get_mut(&id) else {
        packages.insert(id, step);
        return;
    };
    if let Some(task) = &step.task {
        super::tell(known, &format!("\n{}", task.value));
    }
    if known.marks.is_empty() {
        known.marks = step.marks;
    }
    if known.needs.as_ref().is_none_or(Vec::is_empty) {
        known.needs = step.needs;
    }
}

/// The package that a heading names, and the rest of the heading.
fn package(title: &str) -> Option<ChecklistLabel> {
    let bare = title.trim_start_matches(['~', '*', '✅', ' ']);
    let bare = bare.strip_prefix("Work Package").map_or(bare, str::trim_start);
    let bare = bare.trim_start_matches(['~', '*', ' ']);
    let digits = bare.strip_prefix("WP")?.bytes().take_while(u8::is_ascii_digit).count();
    let end = 2 + digits;
    let letter = bare.get(end..)?.bytes().take(1).filter(u8::is_ascii_alphabetic).count();
    let behind = &bare[end + letter..];
    // `WP01–WP03` is about several.
    let rest = behind.trim_start_matches(['~', '*', ' ', ':', '-', '–', '—', '.']);
    if !(1..=4).contains(&digits)
        || behind.starts_with(|next: char| next.is_alphanumeric())
        || rest.starts_with("WP")
    {
        return None;
    }
    Some(ChecklistLabel::before(rest, title, bare[..end + letter].to_owned()))
}

fn places(page: &MarkdownPage<'_>) -> Vec<ChecklistTask> {
    let place = |(at, level, text)| {
        let label = package(page.source.slice(text)).filter(|_| level > 1)?;
        Some(ChecklistTask::section(page, at, text, label))
    };
    page.headings(0..page.lines.len()).filter_map(place).collect()
}

/// A package from a section of `tasks.md`.
fn section(list: &Checklist<'_>, place: &ChecklistTask) -> StepDraft {
    let mut step = list.step(place, &[], usual_mark);
    if let Some(bare) = step.title.value.find(" (Priority") {
        step.title.value.truncate(bare);
    }
    let boxes = list.tasks_in(place.lines);
    let struck = list.page.source.slice(place.text).starts_with("~~");
    let skipped = struck.then(|| Spanned::new(Mark::Skipped, place.text));
    step.marks = skipped.or_else(|| ralphex::progress(boxes, place.text)).into_iter().collect();
    let own = step.id.as_ref().map(|id| id.value.clone()).unwrap_or_default();
    let needs = section_needs(&list.page, place.lines).into_iter().filter(|need| *need < own);
    step.needs = Some(needs.map(|need| Spanned::new(need, place.text)).collect());
    step
}

/// The dependencies of a section: after the word, or below a heading of this name.
fn section_needs(page: &MarkdownPage<'_>, lines: (usize, usize)) -> Vec<String> {
    let mut needs = Vec::new();
    let mut is_below = false;
    for at in lines.0 + 1..lines.1 {
        let text = page.source.slice(page.lines[at].span);
        let word = text.to_ascii_lowercase().find("depend");
        if page.heading(at).is_some() {
            is_below = word.is_some();
        } else if let Some(word) = word {
            needs.extend(packages_in(&text[word..]));
        } else if is_below && !["block", "enable", "unlock", "before"].iter().any(|word| text.contains(word))
        {
            needs.extend(packages_in(text));
        }
    }
    needs
}

/// The packages that a text names, with ranges expanded.
fn packages_in(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut last: Option<(usize, u32)> = None;
    for (at, _) in text.match_indices("WP") {
        let digits = text[at + 2..].bytes().take_while(u8::is_ascii_digit).count();
        let end = at + 2 + digits;
        let Ok(number) = text[at + 2..end].parse::<u32>() else { continue };
        if let Some((before, first)) = last
            && matches!(text[before..at].trim(), "-" | "–" | "—" | ".." | "…" | "through" | "to")
        {
            found.extend((first + 1..number.min(first + 100)).map(|between| format!("wp{between:0digits$}")));
        }
        found.push(format!("wp{}", &text[at + 2..end]));
        last = Some((end, number));
    }
    found
}

fn is_package_file(source: &Source, part: Span) -> bool {
    let parts = frontmatter::split_part(source, part);
    let yaml = parts.yaml.map_or("", |yaml| source.slice(yaml));
    yaml.lines().any(|line| line.starts_with("work_package_id:"))
}

/// A package from its own file.
fn package_file(source: &Source, part: Span) -> StepDraft {
    let parts = frontmatter::split_part(source, part);
    let (keys, _) = frontmatter::read(source, &parts);
    let root = parts.yaml.and_then(|yaml| yaml::read(source.slice(yaml), yaml.start).0);
    let list = |name: &str| {
        // The last one if duplicate.
        let mut named = root.iter().flat_map(Node::entries).rev().filter(|(key, _)| key.text() == Some(name));
        let (_, list) = named.find(|(_, list)| list.is_list())?;
        Some(list.items().iter().filter_map(Node::spanned).collect::<Vec<_>>())
    };
    let id = keys.value("work_package_id").cloned();
    let body = source.slice(Span::new(parts.body, part.end));
    let title = keys.value("title").cloned().or_else(|| id.clone()).unwrap_or_default();
    let mut step = step(title, part);
    step.heading.0 = source.line_at(part.start);
    step.id = id.and_then(|id| Some(Spanned::new(legal(&id.value)?, id.span)));
    step.task = Some(Spanned::new(prose(body.trim()), Span::new(parts.body, part.end)));
    step.marks = lane(&keys).into_iter().collect();
    step.needs = Some(named(list("dependencies").unwrap_or_default()));
    step.touches = list("owned_files").filter(|files| !files.is_empty());
    step.target = keys.value("agent").cloned().filter(|agent| {
        !agent.value.is_empty()
            && agent.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    for key in ["subtasks", "requirement_refs", "phase"] {
        let said =
            list(key).map(|items| items.into_iter().map(|item| item.value).collect::<Vec<_>>().join(", "));
        let said = said.or_else(|| keys.value(key).map(|value| value.value.clone()));
        if let Some(said) = said.filter(|said| !said.is_empty()) {
            super::tell(&mut step, &format!("{key}: {said}"));
        }
    }
    step
}

fn named(names: Vec<Spanned<String>>) -> Vec<Spanned<String>> {
    names.into_iter().filter_map(|name| Some(Spanned::new(legal(&name.value)?, name.span))).collect()
}

fn lane(keys: &Frontmatter) -> Option<Spanned<Mark>> {
    let lane = keys.value("lane").or_else(|| keys.value("status"))?;
    let mark = match lane.value.to_lowercase().replace(['-', ' '], "_").as_str() {
        "done" | "approved" => Mark::Done,
        "doing" | "in_progress" | "claimed" | "for_review" | "in_review" => Mark::Running,
        "canceled" | "cancelled" => Mark::Skipped,
        _ => return None,
    };
    Some(Spanned::new(mark, lane.span))
}
