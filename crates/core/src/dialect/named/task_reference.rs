//! The names of the tasks: numbers, heading labels, ids. Resolves the names that tasks use in their needs.

use super::outline::{NamedTask, Shape};
use super::step;
use crate::plan::draft::{Draft, StepDraft, StepNumber};
use crate::plan::edit::number_at;
use crate::syntax::markdown::Blocks;
use crate::syntax::source::{Source, Span, Spanned};

/// The names of all tasks, by position.
pub(super) struct TaskList {
    /// The number of each task and its span; no span if the number is only its position.
    pub(super) numbers: Vec<Spanned<StepNumber>>,
    /// The label before the title, in lowercase.
    labels: Vec<String>,
    /// The ids, including derived ones.
    ids: Vec<String>,
}

/// Words before the name of a task.
const PREFIXES: &[&str] = &["tasks", "task", "steps", "step", "#", "任务", "步骤", "작업"];

impl TaskList {
    pub(super) fn of(source: &Source, blocks: &Blocks, tasks: &[NamedTask]) -> Self {
        let numbers = numbers(tasks);
        let labels = tasks.iter().map(|task| task.read.label.value.to_lowercase()).collect();
        let named = |(task, number): (&NamedTask, &Spanned<StepNumber>)| StepDraft {
            id: step::written_id(source, blocks, task),
            ..StepDraft::empty(number.clone(), task.read.title.clone())
        };
        let steps = tasks.iter().zip(&numbers).map(named).collect();
        let ids = crate::plan::verified::ids(&Draft { steps, ..Draft::default() });
        Self { numbers, labels, ids }
    }

    /// The tasks that a line names; `None` if it is a sentence, or names none of them.
    pub(super) fn needs(&self, source: &Source, line: Span) -> Option<Vec<Spanned<String>>> {
        if line.is_empty() {
            return None;
        }
        let named = step::names(source, line);
        let mut needs = Vec::new();
        let mut has_known = named.is_empty();
        for name in named.iter().flat_map(|name| conjoined(source, name.span)) {
            let name = bare(source, name);
            let text = source.slice(name);
            let known = self.known(text);
            has_known |= known.is_some();
            if known.is_none() && (text.is_empty() || text.contains(char::is_whitespace)) {
                return None;
            }
            needs.push(Spanned::new(known.unwrap_or_else(|| text.to_owned()), name));
        }
        has_known.then_some(needs)
    }

    /// The id of the task with this name.
    fn known(&self, name: &str) -> Option<String> {
        if self.ids.iter().any(|id| id == name) {
            return Some(name.to_owned());
        }
        let lower = name.to_lowercase();
        let place = self.labels.iter().position(|label| !label.is_empty() && *label == lower);
        let counted = || name.parse().ok().and_then(|number| self.numbered(number));
        match &self.numbers[place.or_else(counted)?].value {
            StepNumber::Counted(number) => Some(number.to_string()),
            StepNumber::Template(_) => None,
        }
    }

    fn numbered(&self, number: u32) -> Option<usize> {
        self.numbers.iter().position(|known| known.value == StepNumber::Counted(number))
    }
}

/// The numbers in the headings, if every task has a unique one; otherwise the positions.
fn numbers(tasks: &[NamedTask]) -> Vec<Spanned<StepNumber>> {
    let mut written: Vec<Spanned<StepNumber>> = Vec::with_capacity(tasks.len());
    let mut seen = std::collections::HashSet::new();
    for task in tasks.iter().filter(|task| task.shape == Shape::Heading) {
        let Some(number) = &task.read.number else { break };
        if let StepNumber::Counted(number) = number
            && !seen.insert(*number)
        {
            break;
        }
        written.push(Spanned::new(number.clone(), task.read.label.span));
    }
    if written.len() == tasks.len() {
        return written;
    }
    let by_place = |(place, task): (usize, &NamedTask)| {
        Spanned::new(StepNumber::Counted(number_at(place)), Span::at(task.read.title.span.start))
    };
    tasks.iter().enumerate().map(by_place).collect()
}

/// The names in `1 and 2`.
fn conjoined(source: &Source, span: Span) -> Vec<Span> {
    let mut at = span.start;
    let mut names = Vec::new();
    let text = source.slice(span);
    for part in text.split(" and ").flat_map(|part| part.split(" & ")) {
        let start = at + source.text()[at..span.end].find(part).unwrap_or(0);
        names.push(step::uncoded(source, source.trimmed(Span::new(start, start + part.len()))));
        at = start + part.len();
    }
    names
}

/// The name without a leading word such as "Task" and a trailing comment in brackets.
fn bare(source: &Source, span: Span) -> Span {
    let text = source.slice(span);
    let end = text.find(" (").unwrap_or(text.len());
    let mut inner = &text[..end];
    for prefix in PREFIXES {
        let start = inner.get(..prefix.len()).filter(|start| start.to_lowercase() == *prefix);
        let behind = start.map(|_| &inner[prefix.len()..]);
        let is_word =
            |behind: &&str| !prefix.is_ascii() || *prefix == "#" || behind.starts_with([' ', '#', '-']);
        if let Some(behind) = behind.filter(is_word) {
            inner = behind.trim_start_matches([' ', '#', '-']);
        }
    }
    let start = span.start + end - inner.len();
    source.trimmed(Span::new(start, span.start + end))
}
