//! Imports plans without checkboxes: numbered headings, or the lists below a heading that announces work.

use std::collections::{BTreeMap, BTreeSet};

use super::checklist::{Checklist, ChecklistLabel, bare_title, numbered};
use super::lenient_markdown::MarkdownPage;
use super::order::dependencies;
use super::{legal, prose, spec_kit, step};
use crate::plan::draft::{Draft, Layout, Mark, StepDraft};
use crate::syntax::source::{Span, Spanned};

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
    let places = found.into_iter().find(|places| !places.is_empty()).unwrap_or_default();
    let lines: Vec<(usize, usize)> = places.iter().map(|place| place.lines).collect();
    let mut draft = list.frame(&lines);
    draft.steps = chained(places.iter().map(|place| place.step(page)).collect());
    draft
}

/// A step and its position.
pub(super) struct OutlinePlace {
    /// Its lines.
    pub(super) lines: (usize, usize),
    /// The text of its first line.
    pub(super) text: Span,
    /// The name before the title.
    pub(super) label: ChecklistLabel,
    /// Whether its first line is a heading, which contains nothing but the title.
    pub(super) is_heading: bool,
}

impl OutlinePlace {
    /// The step at this position.
    pub(super) fn step(&self, page: &MarkdownPage<'_>) -> StepDraft {
        let (from, to) = self.lines;
        let whole = Span::new(page.lines[from].span.start, page.lines[to.max(from + 1) - 1].span.end);
        let said = Span::new(self.text.start + self.label.length, self.text.end);
        let (mut title, ticked) = bare_title(page.source, said);
        if title.value.is_empty() {
            title = bare_title(page.source, self.text).0;
        }
        let mut text = page.source.slice(self.text).to_owned();
        let details = page.text(from + 1..to);
        if !details.is_empty() {
            text.push_str(if self.is_heading { "\n\n" } else { "\n" });
            text.push_str(&details);
        }
        let mut step = step(title, whole);
        step.heading = Layout(page.lines[from].span);
        step.id = self.label.name.as_deref().and_then(legal).map(|id| Spanned::new(id, self.text));
        step.marks.extend(ticked.then(|| Spanned::new(Mark::Done, self.text)));
        step.task = Some(Spanned::new(prose(&text), whole));
        step
    }
}

/// Makes every step depend on the previous one, and on those that it names.
fn chained(mut steps: Vec<StepDraft>) -> Vec<StepDraft> {
    for (place, step) in steps.iter_mut().enumerate() {
        let span = step.title.span;
        step.id.get_or_insert_with(|| Spanned::new(format!("item-{}", place + 1), span));
    }
    super::unrepeated(&mut steps);
    let ids: Vec<Option<Spanned<String>>> = steps.iter().map(|step| step.id.clone()).collect();
    let places: BTreeMap<&str, usize> =
        ids.iter().enumerate().filter_map(|(place, id)| Some((id.as_ref()?.value.as_str(), place))).collect();
    for (place, step) in steps.iter_mut().enumerate() {
        let named = step.task.as_ref().map(|task| dependencies(&task.value)).unwrap_or_default();
        let named = named.iter().filter_map(|id| places.get(id.as_str()).copied());
        let last = place.checked_sub(1);
        let needs: BTreeSet<usize> = named.filter(|&other| other < place).chain(last).collect();
        step.needs = Some(needs.into_iter().filter_map(|need| ids[need].clone()).collect());
    }
    steps
}

/// The sections below headings that announce work, as line ranges.
fn work(page: &MarkdownPage<'_>) -> Vec<(usize, usize)> {
    let is_work = |at: usize| {
        let (level, text) = page.heading(at)?;
        let said = page.source.slice(text).to_lowercase();
        (level > 1 && WORK.iter().any(|word| said.contains(word))).then(|| (at + 1, page.section_end(at)))
    };
    (0..page.lines.len()).filter_map(is_work).collect()
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
fn numbered_headings(page: &MarkdownPage<'_>, works: &[(usize, usize)]) -> Vec<OutlinePlace> {
    let read = |at: usize| {
        let (level, text) = page.heading(at)?;
        let label = heading_label(page.source.slice(text))?;
        (level > 1).then(|| OutlinePlace { lines: (at, page.section_end(at)), text, label, is_heading: true })
    };
    let all: Vec<OutlinePlace> = (0..page.lines.len()).filter_map(read).collect();
    let is_work = covered(page, works);
    let within = all.iter().filter(|place| is_work[place.lines.0]).count();
    let meant = all.into_iter().filter(|place| {
        within < 2 || is_work[place.lines.0] || {
            // A phase is work even without such a heading above it.
            place
                .label
                .name
                .as_deref()
                .is_some_and(|name| name.starts_with(|first: char| first.is_alphabetic()))
        }
    });
    let meant: Vec<OutlinePlace> = meant.collect();
    let starts: Vec<usize> = meant.iter().map(|place| place.lines.0).collect();
    let is_leaf = |place: &OutlinePlace| {
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
    if spec_kit::code(bare.trim_start_matches('`')).is_some_and(|code| code.len() > 2) {
        let label = spec_kit::label(bare);
        return Some(ChecklistLabel { length: label.length + skipped, ..label });
    }
    if !KEYWORDS.contains(&keyword.as_str()) {
        let label = numbered(bare);
        return label.name.is_some().then(|| ChecklistLabel { length: label.length + skipped, ..label });
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
    Some(ChecklistLabel {
        length: text.len() - rest.len(),
        name: Some(format!("{keyword}-{number}")),
        is_parallel: false,
    })
}

/// The headings directly below those that announce work.
fn headings_below(page: &MarkdownPage<'_>, works: &[(usize, usize)]) -> Vec<OutlinePlace> {
    let mut places: Vec<OutlinePlace> = Vec::new();
    for &(from, to) in works {
        let levels = (from..to).filter_map(|at| page.heading(at)).map(|(level, _)| level);
        let Some(highest) = levels.min() else { continue };
        for at in from..to {
            let Some((level, text)) = page.heading(at) else { continue };
            if level == highest && places.last().is_none_or(|last| last.lines.1 <= at) {
                let lines = (at, page.section_end(at));
                places.push(OutlinePlace { lines, text, label: ChecklistLabel::default(), is_heading: true });
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
fn items(page: &MarkdownPage<'_>, sections: &[(usize, usize)], kind: Items) -> Vec<OutlinePlace> {
    let mut places: Vec<OutlinePlace> = Vec::new();
    for &(from, to) in sections {
        for at in from..to {
            let Some(item) = page.item(at) else { continue };
            let is_outermost = places.last().is_none_or(|last| last.lines.1 <= at);
            if item.number.is_some() == (kind == Items::Numbered) && is_outermost {
                let lines = (at, page.item_end(at));
                places.push(OutlinePlace {
                    lines,
                    text: item.text,
                    label: ChecklistLabel::default(),
                    is_heading: false,
                });
            }
        }
    }
    places
}
