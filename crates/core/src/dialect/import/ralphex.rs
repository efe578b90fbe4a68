//! Imports ralphex plans: `docs/plans/<name>.md` with `### Task 1: Title`, boxes below each, and commands that validate
//! all of them.

use super::checklist::{Checklist, ChecklistLabel, ChecklistTask, usual_mark};
use super::lenient_markdown::MarkdownPage;
use super::order;
use super::outline::heading_label;
use super::{Importer, checklist_tool, files, finished};
use crate::plan::draft::{ContractDraft, Draft, Mark, StepDraft};
use crate::syntax::source::{Excerpt, Source, Span, Spanned};

pub(super) const IMPORTER: Importer = Importer {
    name: "ralphex",
    tool: "ralphex plan",
    recognises,
    parse: |source| finished(source, checklist_tool::read(source, source.parts()[0].span), ""),
};

fn recognises(place: &str, head: &str) -> Option<String> {
    let is_task = |line: &&str| {
        let title = line.strip_prefix("## ").or_else(|| line.strip_prefix("### "));
        title.is_some_and(|title| task_label(title.trim()).is_some())
    };
    let tasks = head.lines().filter(is_task).count();
    let has_boxes = head.contains("- [ ]") || head.contains("- [x]");
    let is_there = place.contains("plans/") || head.contains("## Validation Commands");
    (tasks > 0 && has_boxes && is_there).then(|| "checkboxes below headings such as `### Task 1:`".to_owned())
}

/// `Task 1: Title` or `Iteration 2: Title`.
fn task_label(title: &str) -> Option<ChecklistLabel> {
    let is_task = |name: &str| name.starts_with("task-") || name.starts_with("iteration-");
    heading_label(title).filter(|label| label.name.as_deref().is_some_and(is_task))
}

/// The draft of a file with boxes below task headings; `None` if there are none.
pub(super) fn sectioned(list: &Checklist<'_>) -> Option<Draft> {
    let places = places(&list.page);
    let has_boxes = |place: &ChecklistTask| !list.tasks_in(place.lines).is_empty();
    places.iter().any(has_boxes).then(|| sections(list, &places))
}

fn places(page: &MarkdownPage<'_>) -> Vec<ChecklistTask> {
    let place = |(at, level, text)| {
        let label = task_label(page.source.slice(text)).filter(|_| (2..=4).contains(&level))?;
        Some(ChecklistTask::section(page, at, text, label))
    };
    let mut places: Vec<ChecklistTask> = Vec::new();
    for found in page.headings(0..page.lines.len()).filter_map(place) {
        // A nested task is part of its parent.
        if places.last().is_none_or(|last| last.lines.1 <= found.lines.0) {
            places.push(found);
        }
    }
    places
}

/// Turns every section into a step, and every box outside of them: the tool requires those as well.
fn sections(list: &Checklist<'_>, places: &[ChecklistTask]) -> Draft {
    let contract = validation(&list.page);
    let is_within = |task: &ChecklistTask| {
        let next = places.partition_point(|place| place.lines.0 <= task.lines.0);
        next > 0 && task.lines.0 < places[next - 1].lines.1
    };
    let mut found: Vec<((usize, usize), StepDraft)> = Vec::new();
    for place in places {
        let mut step = list.step(place, &[], usual_mark);
        let boxes = list.tasks_in(place.lines);
        step.marks = progress(boxes, place.text).into_iter().collect();
        step.touches = stated_files(&list.page, place.lines);
        step.contract = Some(contract.clone().unwrap_or_else(super::manual));
        found.push((place.lines, step));
    }
    let loose = list.draft(checklist_tool::STYLE).steps;
    let loose = list.tasks.iter().zip(loose).filter(|(task, _)| !is_within(task));
    found.extend(loose.map(|(task, step)| (task.lines, step)));
    found.sort_by_key(|(lines, _)| lines.0);
    let lines: Vec<(usize, usize)> = found.iter().map(|(lines, _)| *lines).collect();
    let mut draft = list.frame(&lines);
    draft.steps = found.into_iter().map(|(_, step)| step).collect();
    order::in_a_row(&mut draft.steps, |_| Vec::new());
    draft
}

/// The combined claim of a section's boxes.
pub(super) fn progress(boxes: &[ChecklistTask], at: Span) -> Option<Spanned<Mark>> {
    let is_done =
        |task: &&ChecklistTask| task.check.and_then(|check| usual_mark(check.sign)) == Some(Mark::Done);
    let ticked = boxes.iter().filter(is_done).count();
    let mark = match ticked {
        0 => return None,
        all if all == boxes.len() => Mark::Done,
        _ => Mark::Running,
    };
    Some(Spanned::new(mark, at))
}

/// The commands below `## Validation Commands`, joined into one that passes only if all do.
fn validation(page: &MarkdownPage<'_>) -> Option<ContractDraft> {
    let mut headings = page.headings(0..page.lines.len());
    let (heading, _, _) = headings.find(|&(_, _, text)| {
        page.source.slice(text).trim_end_matches(':').eq_ignore_ascii_case("validation commands")
    })?;
    let end = headings.next().map_or(page.lines.len(), |(at, _, _)| at);
    let commands: Vec<Span> =
        (heading + 1..end).filter_map(|at| coded(page.source, page.item(at)?.text)).collect();
    let (first, last) = (*commands.first()?, *commands.last()?);
    let mut command = Excerpt::new(Span::new(first.start, last.end));
    for (place, &span) in commands.iter().enumerate() {
        if place > 0 {
            command.push(" && ", span.start);
        }
        command.push(page.source.slice(span), span.start);
    }
    Some(ContractDraft { command: Some(command), ..ContractDraft::default() })
}

/// The inline code that starts a text; the rest only explains it.
fn coded(source: &Source, text: Span) -> Option<Span> {
    let (code, behind) = source.slice(text).strip_prefix('`')?.split_once('`')?;
    let is_whole =
        behind.trim_start().is_empty() || behind.trim_start().starts_with(['(', '—', '-', '–', '#']);
    (is_whole && !code.trim().is_empty()).then(|| Span::new(text.start + 1, text.start + 1 + code.len()))
}

/// The paths below `**Files:**`.
fn stated_files(page: &MarkdownPage<'_>, lines: (usize, usize)) -> Option<Vec<Spanned<String>>> {
    let is_label = |at: &usize| page.source.slice(page.lines[*at].span).trim().starts_with("**Files:**");
    let label = (lines.0..lines.1).find(is_label)?;
    let items = (label + 1..lines.1).take_while(|&at| page.item(at).is_some_and(|item| item.check.is_none()));
    let paths = items.map(|at| {
        let text = page.item(at).map_or(Span::default(), |item| item.text);
        let said = page.source.slice(text);
        let (_, behind) = said.split_once('`')?;
        let (path, _) = behind.split_once('`')?;
        let start = text.start + said.len() - behind.len();
        Some(Spanned::new(path.to_owned(), Span::new(start, start + path.len())))
    });
    files(paths.collect::<Option<Vec<_>>>()?)
}
