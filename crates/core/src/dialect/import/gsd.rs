//! Imports GSD plans: `PLAN.md` files with tasks as elements such as `<task><name>…</name><action>…`, and the boxes of
//! `ROADMAP.md`.

use super::checklist::{Checklist, ChecklistLabel, ChecklistStyle, usual_mark};
use super::order::ImportOrder;
use super::{Importer, checklist_tool, files, finished, join, legal, prose, step, tell};
use crate::dialect::frontmatter;
use crate::plan::draft::{ContractDraft, Draft, StepDraft};
use crate::syntax::source::{Excerpt, Source, Span, Spanned};

pub(super) const IMPORTER: Importer =
    Importer { name: "gsd", tool: "GSD plan or roadmap", recognises, parse };

fn recognises(place: &str, head: &str) -> Option<String> {
    let has_tasks = head.lines().any(|line| opens(line, "task")) && head.contains("<name>");
    if has_tasks {
        return Some("tasks in `<task>`".to_owned());
    }
    let file = place.rsplit('/').next().unwrap_or(place);
    let is_plan = file.ends_with("PLAN.md") || file.ends_with("ROADMAP.md");
    (place.contains(".planning/") && is_plan).then(|| format!("{file} in .planning/"))
}

fn parse(source: &Source) -> Draft {
    let mut draft = Draft::default();
    let is_folder = source.parts().len() > 1;
    // The last task of each plan, for plans that depend on another one.
    let mut plans: Vec<(String, usize)> = Vec::new();
    for part in source.parts() {
        let mut read = plan(source, part.span);
        let name = plan_name(&read, &part.path);
        let depends = depends_on(source, part.span);
        let mut steps = std::mem::take(&mut read.steps);
        if is_folder {
            prefix(&mut steps, &name);
        }
        if let Some(first) = steps.first_mut() {
            let lasts = plans.iter().filter(|(plan, _)| depends.contains(plan));
            let needs = lasts.filter_map(|&(_, step)| draft.steps[step].id.clone());
            first.needs = Some(first.needs.take().unwrap_or_default().into_iter().chain(needs).collect());
        }
        draft.steps.extend(steps);
        join(&mut draft, read);
        if let Some(last) = draft.steps.len().checked_sub(1) {
            plans.push((name, last));
        }
    }
    finished(source, draft, "")
}

/// One plan or roadmap.
fn plan(source: &Source, part: Span) -> Draft {
    let parts = frontmatter::split_part(source, part);
    let body = Span::new(parts.body, part.end);
    let mut tasks = elements(source, body, "task");
    if tasks.is_empty() {
        tasks = elements(source, body, "feature");
    }
    if tasks.is_empty() {
        let list = Checklist::read(source, part);
        return if list.tasks.is_empty() { checklist_tool::read(source, part) } else { roadmap(&list) };
    }
    let (keys, _) = frontmatter::read(source, &parts);
    let mut draft = Draft { frontmatter: keys, ..Draft::default() };
    draft.steps = tasks.iter().enumerate().map(|(place, &task)| task_step(source, task, place)).collect();
    for place in 1..draft.steps.len() {
        let before = draft.steps[place - 1].id.clone();
        draft.steps[place].needs = Some(before.into_iter().collect());
    }
    let objective = element(source, body, "objective");
    draft.title = objective.and_then(|objective| first_sentence(source, objective));
    draft.context = context(source, body, &tasks);
    draft
}

/// Everything around the tasks.
fn context(source: &Source, body: Span, tasks: &[Span]) -> Option<Spanned<String>> {
    let mut rest = String::new();
    let mut at = body.start;
    for task in tasks {
        rest.push_str(source.slice(Span::new(at, task.start.max(at))));
        at = task.end;
    }
    rest.push_str(source.slice(Span::new(at, body.end)));
    let is_tag = |line: &&str| {
        let bare = line.trim();
        !(bare.starts_with('<') && bare.ends_with('>') && !bare.contains(' '))
    };
    let text = rest.lines().filter(is_tag).collect::<Vec<_>>().join("\n");
    let text = prose(text.trim());
    (!text.is_empty()).then(|| Spanned::new(text, body))
}

fn first_sentence(source: &Source, span: Span) -> Option<Spanned<String>> {
    let text = source.slice(span);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let end = line.find(". ").unwrap_or(line.len());
    Some(Spanned::new(line[..end].trim_end_matches('.').replace("**", ""), span))
}

/// Whether a line opens an element of this name.
fn opens(line: &str, name: &str) -> bool {
    let behind = line.trim_start().strip_prefix('<').and_then(|line| line.strip_prefix(name));
    behind.is_some_and(|behind| behind.starts_with(['>', ' ', '\t']))
}

/// The elements of this name at the start of a line, with their tags. An unclosed one ends where the next starts.
fn elements(source: &Source, span: Span, name: &str) -> Vec<Span> {
    let close = format!("</{name}>");
    let mut found: Vec<Span> = Vec::new();
    let mut open: Option<usize> = None;
    let mut at = span.start;
    for line in source.slice(span).split_inclusive('\n') {
        if opens(line, name) {
            found.extend(open.map(|start| Span::new(start, at)));
            open = Some(at);
        }
        if let (Some(start), Some(end)) = (open, line.find(&close)) {
            found.push(Span::new(start, at + end + close.len()));
            open = None;
        }
        at += line.len();
    }
    found.extend(open.map(|start| Span::new(start, span.end)));
    found
}

/// The content of the first element of this name.
fn element(source: &Source, span: Span, name: &str) -> Option<Span> {
    let text = source.slice(span);
    let open = text.find(&format!("<{name}>"))? + name.len() + 2;
    let close = text[open..].find(&format!("</{name}>")).map_or(text.len(), |close| open + close);
    let inner = &text[open..close];
    let start = span.start + open + inner.len() - inner.trim_start().len();
    Some(Span::new(start, start + inner.trim().len()))
}

fn task_step(source: &Source, task: Span, place: usize) -> StepDraft {
    let said = |name: &str| element(source, task, name);
    let name = said("name").map(|span| Spanned::new(source.slice(span).replace(['\n', '\r'], " "), span));
    let (title, label) = name.map_or_else(
        || (Spanned::new(format!("Task {}", place + 1), Span::at(task.start)), None),
        |name| unnumbered(&name),
    );
    let mut step = step(title, task);
    step.heading.0 = source.line_at(task.start);
    let id = label.and_then(|label| legal(&label)).unwrap_or_else(|| format!("task-{}", place + 1));
    step.id = Some(Spanned::new(id, step.title.span));
    let inner = source.slice(task);
    let inner = inner.find('>').map_or(inner, |open| &inner[open + 1..]);
    step.task = Some(Spanned::new(prose(&told(inner)), task));
    step.touches = said("files").and_then(|span| listed_files(source, span));
    for name in ["done", "acceptance_criteria"] {
        let lines = said(name).map(|span| (span, source.slice(span).lines())).into_iter();
        let lines = lines.flat_map(|(span, lines)| lines.map(move |line| Spanned::new(line, span)));
        let criteria = lines.map(|line| (line.value.trim().trim_start_matches(['-', '*']).trim(), line.span));
        let criteria = criteria.filter(|(line, _)| !line.is_empty());
        step.accept.extend(criteria.map(|(line, span)| Spanned::new(line.to_owned(), span)));
    }
    if let Some(contract) = said("automated").and_then(|span| command(source, span)) {
        step.contract = Some(contract);
    }
    let kind = &source.slice(task)[..source.slice(task).find('>').unwrap_or(0)];
    if kind.contains("checkpoint") {
        tell(&mut step, "Checkpoint: a person must confirm this.");
    }
    step
}

/// `Task 1: Title` without its number.
fn unnumbered(name: &Spanned<String>) -> (Spanned<String>, Option<String>) {
    let label = super::outline::heading_label(&name.value).unwrap_or_default();
    let title = name.value[label.length..].trim();
    let title = if title.is_empty() { name.value.trim() } else { title };
    (Spanned::new(title.to_owned(), name.span), label.name)
}

/// The text of a task, with tags turned into words.
fn told(inner: &str) -> String {
    let lines = inner.lines().filter(|line| line.trim() != "</task>" && line.trim() != "</feature>");
    let line = |line: &str| {
        let bare = line.trim();
        let Some((name, rest)) = bare.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
            return line.to_owned();
        };
        let is_tag =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-/".contains(&byte));
        match (is_tag, name.strip_prefix('/')) {
            (false, _) => line.to_owned(),
            (true, Some(_)) => rest.to_owned(),
            (true, None) => {
                let close = format!("</{name}>");
                format!("{name}: {}", rest.strip_suffix(close.as_str()).unwrap_or(rest)).trim_end().to_owned()
            }
        }
    };
    let text: String = lines.map(line).collect::<Vec<_>>().join("\n");
    text.replace("</task>", "").replace("</feature>", "").trim().to_owned()
}

fn listed_files(source: &Source, span: Span) -> Option<Vec<Spanned<String>>> {
    let paths = source.slice(span).split([',', '\n']).map(|path| path.trim().trim_matches(['`', '-', ' ']));
    files(paths.filter(|path| !path.is_empty()).map(|path| Spanned::new(path.to_owned(), span)).collect())
}

/// A one-line command, unless it is a placeholder.
fn command(source: &Source, span: Span) -> Option<ContractDraft> {
    let text = source.slice(span);
    let is_command = !text.is_empty()
        && !text.contains('\n')
        && !text.contains('<')
        && !text.starts_with("MISSING")
        && !text.starts_with("N/A");
    let mut excerpt = Excerpt::new(span);
    excerpt.push(&text.replace("&amp;", "&"), span.start);
    is_command.then(|| ContractDraft { command: Some(excerpt), ..ContractDraft::default() })
}

/// The name that other plans use: `01-02`.
fn plan_name(draft: &Draft, path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let named = file.strip_suffix("-PLAN.md").map(str::to_owned);
    let keys = || {
        let phase = draft.frontmatter.value("phase")?.value.split('-').next()?.to_owned();
        Some(format!("{phase}-{}", draft.frontmatter.value("plan")?.value))
    };
    named.or_else(keys).unwrap_or_else(|| file.to_owned())
}

fn depends_on(source: &Source, part: Span) -> Vec<String> {
    let yaml = frontmatter::split_part(source, part).yaml.map_or("", |yaml| source.slice(yaml));
    let line = yaml.lines().find_map(|line| line.strip_prefix("depends_on:")).unwrap_or_default();
    line.split(['[', ']', ',', '"', '\'', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Prefixes the ids of steps with their plan.
fn prefix(steps: &mut [StepDraft], plan: &str) {
    let name = |id: &str| legal(&format!("plan-{plan}-{id}")).unwrap_or_default();
    for step in steps {
        let needs = step.needs.iter_mut().flatten();
        for id in step.id.iter_mut().chain(needs) {
            id.value = name(&id.value);
        }
    }
}

const ROADMAP: ChecklistStyle =
    ChecklistStyle { mark: usual_mark, label: roadmap_label, order: ImportOrder::Free };

/// A roadmap: phases run one after the other; each depends on its plans, and these on the previous phase.
fn roadmap(list: &Checklist<'_>) -> Draft {
    let mut draft = list.draft(ROADMAP);
    let ids: Vec<Spanned<String>> = draft.steps.iter().filter_map(|step| step.id.clone()).collect();
    let phase = |id: &str| id.strip_prefix("phase-").map(str::to_owned);
    let of = |id: &str| {
        let (phase, _) = id.strip_prefix("plan-")?.rsplit_once('-')?;
        // Plans pad phase numbers with zeros: `01-02` belongs to phase 1.
        let numbers = phase.split('-').map(|number| number.trim_start_matches('0'));
        Some(numbers.map(|number| if number.is_empty() { "0" } else { number }).collect::<Vec<_>>().join("-"))
    };
    let phases: Vec<usize> = (0..ids.len()).filter(|&step| phase(&ids[step].value).is_some()).collect();
    for (place, &step) in phases.iter().enumerate() {
        let own = phase(&ids[step].value);
        let plans: Vec<usize> = (0..ids.len()).filter(|&plan| of(&ids[plan].value) == own).collect();
        let before = place.checked_sub(1).map(|before| ids[phases[before]].clone());
        let first = plans.first().copied().unwrap_or(step);
        let mut last = before;
        for &plan in &plans {
            draft.steps[plan].needs = Some(last.take().into_iter().collect());
            last = Some(ids[plan].clone());
        }
        let needs = plans.iter().map(|&plan| ids[plan].clone());
        draft.steps[step].needs =
            Some(if first == step { last.into_iter().collect() } else { needs.collect() });
    }
    draft
}

/// `**Phase 2: Title**`, `02-01: Title`, `02-01-PLAN.md — Title`.
fn roadmap_label(text: &str) -> ChecklistLabel {
    let bare = text.trim_start_matches(['*', '[', '`']);
    let Some(behind) = bare.strip_prefix("Phase ") else {
        let length = bare.bytes().take_while(|byte| byte.is_ascii_digit() || b".-".contains(byte)).count();
        let name = bare[..length].trim_end_matches(['-', '.']);
        let is_plan = name.contains('-') && name.starts_with(|first: char| first.is_ascii_digit());
        let rest = bare[name.len()..].strip_prefix("-PLAN.md").unwrap_or(&bare[name.len()..]);
        let rest = rest.trim_start_matches(['*', ']', '`', ':', ' ', '—', '–', '-']);
        let label = ChecklistLabel::before(rest, text, format!("plan-{name}"));
        return if is_plan { label } else { ChecklistLabel::default() };
    };
    let digits = behind.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let number = behind[..digits].trim_end_matches('.');
    let rest = behind[number.len()..].trim_start_matches(['*', ':', ' ', '—', '–', '-']);
    match number {
        "" => ChecklistLabel::default(),
        number => ChecklistLabel::before(rest, text, format!("phase-{number}")),
    }
}
