//! Imports plans without checkboxes: numbered headings, or the lists below a heading that announces work.

use super::checklist::{Checklist, ChecklistLabel, ChecklistTask, numbered, usual_mark};
use super::checklist_tool::{code, coded};
use super::lenient_markdown::MarkdownPage;
use super::order;
use crate::plan::draft::Draft;

/// Words before the number of a heading that is a task.
const KEYWORDS: &[&str] = &[
    "step",
    "phase",
    "task",
    "part",
    "milestone",
    "stage",
    "iteration",
    "story",
    "sprint",
    "wave",
    "change",
    "wp",
    "fix",
];

/// Words in headings that announce work.
const WORK: &[&str] = &[
    "implement",
    "step",
    "task",
    "to-do",
    "todo",
    "phase",
    "changes",
    "work",
    "action",
    "milestone",
    "execution",
    "plan",
    "order",
    "rollout",
    "approach",
];

/// Parses the headings or lists of a file without boxes. Produces no steps if nothing looks like work.
pub(super) fn draft(list: &Checklist<'_>) -> Draft {
    let page = &list.page;
    let works = work(page);
    let found = [
        numbered_headings(page, &works),
        items(page, &works, Items::Numbered),
        headings_below(page, &works),
        items(page, &works, Items::Bulleted),
        items(page, &[(0, page.lines.len())], Items::Numbered),
    ];
    let tasks = found.into_iter().find(|tasks| !tasks.is_empty()).unwrap_or_default();
    let lines: Vec<(usize, usize)> = tasks.iter().map(|task| task.lines).collect();
    let mut draft = list.frame(&lines);
    draft.steps = tasks.iter().map(|task| list.step(task, &[], usual_mark)).collect();
    order::in_a_row(&mut draft.steps, order::dependencies);
    draft
}

/// The sections below headings that announce work, as line ranges.
fn work(page: &MarkdownPage<'_>) -> Vec<(usize, usize)> {
    let is_work = |(at, level, text)| {
        let said = page.source.slice(text).to_lowercase();
        (level > 1 && WORK.iter().any(|word| said.contains(word))).then(|| (at + 1, page.section_end(at)))
    };
    page.headings(0..page.lines.len()).filter_map(is_work).collect()
}

/// Which lines are in one of the sections.
fn covered(page: &MarkdownPage<'_>, sections: &[(usize, usize)]) -> Vec<bool> {
    let mut covered = vec![false; page.lines.len()];
    for &(from, to) in sections {
        covered[from..to].fill(true);
    }
    covered
}

/// Numbered headings. If several are below a heading that announces work, only those count; one that contains others is
/// their section.
fn numbered_headings(page: &MarkdownPage<'_>, works: &[(usize, usize)]) -> Vec<ChecklistTask> {
    let read = |(at, level, text)| {
        let label = heading_label(page.source.slice(text)).filter(|_| level > 1)?;
        Some(ChecklistTask::section(page, at, text, label))
    };
    let all: Vec<ChecklistTask> = page.headings(0..page.lines.len()).filter_map(read).collect();
    let is_work = covered(page, works);
    let within = all.iter().filter(|place| is_work[place.lines.0]).count();
    // A phase is work even without such a heading above it.
    let is_phase = |label: &ChecklistLabel| {
        label.name.as_deref().is_some_and(|name| name.starts_with(|first: char| first.is_alphabetic()))
    };
    let meant =
        all.into_iter().filter(|place| within < 2 || is_work[place.lines.0] || is_phase(&place.label));
    let meant: Vec<ChecklistTask> = meant.collect();
    let starts: Vec<usize> = meant.iter().map(|place| place.lines.0).collect();
    let is_leaf = |place: &ChecklistTask| {
        let next = starts.partition_point(|&start| start <= place.lines.0);
        starts.get(next).is_none_or(|&next| next >= place.lines.1)
    };
    meant.into_iter().filter(is_leaf).collect()
}

/// `Step 3: Title`, `Phase 2 — Title`, `3. Title`, `Task 1.2 Title`.
pub(super) fn heading_label(text: &str) -> Option<ChecklistLabel> {
    let bare = text.trim_start_matches(['*', '✅', '☑', '✔', '\u{fe0f}', '⏳', '🚧', '[', ']', 'x', ' ']);
    let skipped = text.len() - bare.len();
    let word = bare.bytes().take_while(u8::is_ascii_alphabetic).count();
    let keyword = bare[..word].to_lowercase();
    if code(bare.trim_start_matches('`')).is_some_and(|code| code.len() > 2) {
        return Some(coded(bare).behind(skipped));
    }
    if !KEYWORDS.contains(&keyword.as_str()) {
        return Some(numbered(bare).behind(skipped)).filter(|label| label.name.is_some());
    }
    let behind = bare[word..].trim_start_matches([' ', '-', '#']);
    let digits = behind.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let letter = behind[digits..].bytes().take(1).filter(u8::is_ascii_alphabetic).count();
    let is_alone = !behind[digits + letter..].starts_with(|next: char| next.is_alphanumeric());
    let number = behind[..digits + if is_alone { letter } else { 0 }].trim_end_matches('.');
    // `Step A` counts as well; `Task list` does not.
    if number.is_empty()
        || !is_alone
        || digits == 0 && !number.starts_with(|first: char| first.is_uppercase())
    {
        return None;
    }
    let rest = behind[number.len()..].trim_start_matches([':', '.', ')', ' ', '-', '–', '—', '*']);
    Some(ChecklistLabel::before(rest, text, format!("{keyword}-{number}")))
}

/// The headings directly below those that announce work.
fn headings_below(page: &MarkdownPage<'_>, works: &[(usize, usize)]) -> Vec<ChecklistTask> {
    let mut places: Vec<ChecklistTask> = Vec::new();
    for &(from, to) in works {
        let Some(highest) = page.headings(from..to).map(|(_, level, _)| level).min() else { continue };
        for (at, level, text) in page.headings(from..to) {
            if level == highest && places.last().is_none_or(|last| last.lines.1 <= at) {
                places.push(ChecklistTask::section(page, at, text, ChecklistLabel::default()));
            }
        }
    }
    places
}

/// Which lists to search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Items {
    Numbered,
    Bulleted,
}

/// The items of the outermost lists in some sections.
fn items(page: &MarkdownPage<'_>, sections: &[(usize, usize)], kind: Items) -> Vec<ChecklistTask> {
    let mut places: Vec<ChecklistTask> = Vec::new();
    for &(from, to) in sections {
        for at in from..to {
            let Some(item) = page.item(at) else { continue };
            let is_outermost = places.last().is_none_or(|last| last.lines.1 <= at);
            if item.number.is_some() == (kind == Items::Numbered) && is_outermost {
                let lines = (at, page.item_end(at));
                places.push(ChecklistTask { lines, text: item.text, ..ChecklistTask::default() });
            }
        }
    }
    places
}
