//! Imports checklists, the format of most tools: every box is a step, and a task depends on its subtasks. Everything
//! else in the file is context.

use super::lenient_markdown::{BlockKind, Checkbox, MarkdownItem, MarkdownPage};
use super::order;
use super::order::{ImportOrder, Nest};
use super::{legal, prose, step};
use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, Frontmatter, Layout, Mark, ParseIssue, StepDraft};
use crate::syntax::source::{Source, Span, Spanned};
use crate::syntax::text::one_line;

/// The nesting limit; deeper tasks are treated as if at this depth.
const DEPTH_MAX: usize = 64;

/// The conventions of a tool.
#[derive(Clone, Copy)]
pub(crate) struct ChecklistStyle {
    /// The meaning of the character in a box.
    pub(crate) mark: fn(char) -> Option<Mark>,
    /// Parses the marker before a task's text.
    pub(crate) label: fn(&str) -> ChecklistLabel,
    /// The implied order of tasks without declared dependencies.
    pub(crate) order: ImportOrder,
}

/// The marker before a task's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChecklistLabel {
    /// Its length in bytes.
    pub(crate) length: usize,
    /// The name of the task.
    pub(crate) name: Option<String>,
    /// Whether the task may run in parallel with its neighbors.
    pub(crate) is_parallel: bool,
}

impl ChecklistLabel {
    /// The name of a task in `text`, which ends before `rest`.
    pub(crate) fn before(rest: &str, text: &str, name: String) -> Self {
        Self { length: text.len() - rest.len(), name: Some(name), is_parallel: false }
    }

    /// The same label after this many more bytes.
    pub(crate) fn behind(self, bytes: usize) -> Self {
        Self { length: self.length + bytes, ..self }
    }
}

/// One task of a page.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChecklistTask {
    /// Its line, and the first line after it and its children.
    pub(crate) lines: (usize, usize),
    /// The text of its line, without bullet, box or `#`.
    pub(crate) text: Span,
    pub(crate) label: ChecklistLabel,
    pub(crate) check: Option<Checkbox>,
    /// Whether its line is a heading, which contains nothing but the title.
    pub(crate) is_heading: bool,
    /// The parent task.
    pub(crate) parent: Option<usize>,
    /// The line of the heading above it.
    pub(crate) section: Option<usize>,
}

impl ChecklistTask {
    /// The task that a heading with everything below it is.
    pub(crate) fn section(page: &MarkdownPage<'_>, at: usize, text: Span, label: ChecklistLabel) -> Self {
        Self { lines: (at, page.section_end(at)), text, label, is_heading: true, ..Self::default() }
    }
}

/// A file that was read up to its tasks.
pub(crate) struct Checklist<'a> {
    pub(crate) page: MarkdownPage<'a>,
    pub(crate) tasks: Vec<ChecklistTask>,
    frontmatter: Frontmatter,
    oddities: Vec<Spanned<ParseIssue>>,
}

impl<'a> Checklist<'a> {
    /// Reads the file in `part`.
    pub(crate) fn read(source: &'a Source, part: Span) -> Self {
        Self::read_named(source, part, |_| false)
    }

    /// Parses the file in `part`; an item without a box is a task as well if `is_named` accepts its text.
    pub(crate) fn read_named(source: &'a Source, part: Span, is_named: fn(&str) -> bool) -> Self {
        let parts = frontmatter::split_part(source, part);
        let (frontmatter, mut oddities) = frontmatter::read(source, &parts);
        let page = MarkdownPage::read(source, Span::new(parts.body, part.end));
        oddities.extend(page.unclosed.iter().map(|&span| Spanned::new(ParseIssue::UnclosedFence, span)));
        let tasks = tasks(&page, is_named);
        Self { page, tasks, frontmatter, oddities }
    }

    /// The tasks in some lines.
    pub(crate) fn tasks_in(&self, lines: (usize, usize)) -> &[ChecklistTask] {
        let from = self.tasks.partition_point(|task| task.lines.0 < lines.0);
        let to = self.tasks.partition_point(|task| task.lines.0 < lines.1);
        &self.tasks[from..to.max(from)]
    }

    /// The draft in which every task is a step.
    pub(crate) fn draft(&self, style: ChecklistStyle) -> Draft {
        let labelled =
            |task: &ChecklistTask| ChecklistTask { label: (style.label)(self.said(task)), ..task.clone() };
        let tasks: Vec<ChecklistTask> = self.tasks.iter().map(labelled).collect();
        let nest = Nest::of(&tasks);
        let step = |(task, children): (_, &Vec<usize>)| self.step(task, children, style.mark);
        let mut steps: Vec<StepDraft> = tasks.iter().zip(&nest.children).map(step).collect();
        order::queue(&mut steps, &tasks, &nest, style.order);
        let lines: Vec<(usize, usize)> = self.tasks.iter().map(|task| task.lines).collect();
        let mut draft = self.frame(&lines);
        draft.steps = steps;
        draft
    }

    /// A draft with everything except the steps in these lines.
    pub(crate) fn frame(&self, steps: &[(usize, usize)]) -> Draft {
        let mut is_gone = vec![false; self.page.lines.len()];
        for &(from, to) in steps {
            is_gone[from..to].fill(true);
        }
        let first = steps.first().map_or(self.page.lines.len(), |&(from, _)| from);
        let mut title = None;
        if let Some((line, _, text)) = self.page.headings(0..first).find(|&(_, level, _)| level == 1) {
            title = Some(Spanned::new(self.page.source.slice(text).to_owned(), text));
            is_gone[line] = true;
        }
        self.drop_bare_headings(&mut is_gone);
        let rest = (0..self.page.lines.len()).filter(|&at| !is_gone[at]);
        let context = prose(&self.page.text(rest));
        let at = self.page.lines.first().map_or(Span::default(), |line| Span::at(line.span.start));
        Draft {
            frontmatter: self.frontmatter.clone(),
            title,
            context: (!context.is_empty()).then(|| Spanned::new(context, at)),
            oddities: Layout(self.oddities.clone()),
            ..Draft::default()
        }
    }

    /// Drops headings that had only tasks below them, because tasks record their section.
    fn drop_bare_headings(&self, is_gone: &mut [bool]) {
        // The number of dropped lines before each line.
        let mut gone = vec![0];
        gone.extend(is_gone.iter().scan(0_usize, |count, &is_gone| {
            *count += usize::from(is_gone);
            Some(*count)
        }));
        let had_tasks = |at: usize| gone[self.page.section_end(at)] > gone[at];
        // The level of the remaining text below: a heading is worth keeping only above something of a lower level.
        let mut below: Option<usize> = None;
        for at in (0..self.page.lines.len()).rev() {
            if is_gone[at] {
                continue;
            }
            match self.page.lines[at].kind {
                BlockKind::Blank => {}
                BlockKind::Heading { level, .. } if below.is_some_and(|below| below > level) => {
                    below = Some(level);
                }
                BlockKind::Heading { .. } if had_tasks(at) => is_gone[at] = true,
                BlockKind::Heading { level, .. } => below = Some(level),
                BlockKind::Item(_) | BlockKind::Text | BlockKind::Hidden => below = Some(usize::MAX),
            }
        }
    }

    fn said(&self, task: &ChecklistTask) -> &'a str {
        self.page.source.slice(task.text)
    }

    /// The step of a task and its subtasks.
    pub(crate) fn step(
        &self,
        task: &ChecklistTask,
        children: &[usize],
        mark: fn(char) -> Option<Mark>,
    ) -> StepDraft {
        let (from, to) = task.lines;
        let whole =
            Span::new(self.page.lines[from].span.start, self.page.lines[to.max(from + 1) - 1].span.end);
        let label = Span::new(task.text.start, task.text.start + task.label.length);
        let (mut title, is_ticked) = bare_title(self.page.source, Span::new(label.end, task.text.end));
        if task.is_heading && title.value.is_empty() {
            title = bare_title(self.page.source, task.text).0;
        }
        let mut step = step(title, whole);
        step.heading = Layout(self.page.lines[from].span);
        let named = if task.is_heading { task.text } else { label };
        step.id = task.label.name.as_deref().and_then(legal).map(|id| Spanned::new(id, named));
        let sign = task.check.and_then(|check| Some(Spanned::new(mark(check.sign)?, check.span)));
        let said = is_ticked.then(|| Spanned::new(Mark::Done, task.text));
        step.marks = sign.or(said).into_iter().collect();
        step.task = Some(Spanned::new(self.task_text(task, children), whole));
        step
    }

    /// The text for the agent: the task with everything below it, its subtasks, and its section.
    fn task_text(&self, task: &ChecklistTask, children: &[usize]) -> String {
        let (from, to) = task.lines;
        let mut own: Vec<usize> = Vec::new();
        let mut at = from + 1;
        let inside = children.iter().map(|&child| self.tasks[child].lines).filter(|child| child.0 < to);
        for (from, to) in inside {
            own.extend(at..from.max(at));
            at = to.max(at);
        }
        own.extend(at..to.max(at));
        let mut text = self.said(task).to_owned();
        let details = self.page.text(own);
        if !details.is_empty() {
            text.push_str(if task.is_heading { "\n\n" } else { "\n" });
            text.push_str(&details);
        }
        if !children.is_empty() {
            text.push_str("\n\nSubtasks:\n");
            let children = children.iter().map(|&child| self.said(&self.tasks[child]));
            text.push_str(&children.map(|child| format!("- {child}\n")).collect::<String>());
        }
        if let Some((_, section)) = task.section.and_then(|line| self.page.heading(line)) {
            text.push_str(&format!("\n\nSection: {}", self.page.source.slice(section)));
        }
        if task.check.is_some_and(|check| check.is_optional) {
            text.push_str("\nOptional.");
        }
        prose(&text)
    }
}

/// The tasks of a page in file order.
fn tasks(page: &MarkdownPage<'_>, is_named: fn(&str) -> bool) -> Vec<ChecklistTask> {
    let is_task = |item: &MarkdownItem| item.check.is_some() || is_named(page.source.slice(item.text));
    let mut tasks: Vec<ChecklistTask> = Vec::new();
    // The open tasks with their indentation.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut section = None;
    for at in 0..page.lines.len() {
        if page.heading(at).is_some() {
            section = Some(at);
        }
        let Some(item) = page.item(at).filter(is_task) else { continue };
        let indent = page.lines[at].indent;
        open.retain(|&(task, outer)| tasks[task].lines.1 > at && outer < indent);
        open.truncate(DEPTH_MAX);
        let parent = open.last().map(|&(task, _)| task);
        open.push((tasks.len(), indent));
        tasks.push(ChecklistTask {
            lines: (at, page.item_end(at)),
            text: item.text,
            check: item.check,
            parent,
            section,
            ..ChecklistTask::default()
        });
    }
    tasks
}

/// The title without trailing marks, and whether one of them means done. Bold is removed.
pub(crate) fn bare_title(source: &Source, span: Span) -> (Spanned<String>, bool) {
    const TICKS: &[&str] =
        &["✅", "✔\u{fe0f}", "✔", "☑\u{fe0f}", "☑", "✓", "(done)", "[done]", "(completed)"];
    let text = source.slice(span);
    let mut bare = text.trim();
    let mut is_ticked = false;
    while let Some(rest) = TICKS.iter().find_map(|tick| bare.strip_suffix(tick)) {
        bare = rest.trim_end();
        is_ticked = true;
    }
    while let Some(rest) = TICKS.iter().find_map(|tick| bare.strip_prefix(tick)) {
        bare = rest.trim_start();
        is_ticked = true;
    }
    let inner = bare.strip_prefix("**").and_then(|inner| inner.strip_suffix("**"));
    let bare = inner.filter(|inner| !inner.contains("**")).unwrap_or(bare).trim();
    let title = if bare.is_empty() { text.trim() } else { bare };
    // Stars whose partner was removed with the number.
    let is_torn = title.matches("**").count() % 2 == 1;
    let title = if is_torn { title.replace("**", "") } else { title.to_owned() };
    (Spanned::new(one_line(&title), span), is_ticked)
}

/// The box characters that all tools share.
pub(crate) fn usual_mark(sign: char) -> Option<Mark> {
    match sign {
        'x' | 'X' | '✅' | '✓' | '✔' | '☑' => Some(Mark::Done),
        '~' | '/' | '⏳' | '🚧' => Some(Mark::Running),
        '-' => Some(Mark::Skipped),
        '✗' | '✘' | '❌' => Some(Mark::Failed),
        _ => None,
    }
}

/// The number before a task: `1.`, `1.2`, `1.2.3)`, or none.
pub(crate) fn numbered(text: &str) -> ChecklistLabel {
    let bare = text.trim_start_matches("**");
    let digits = bare.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let number = bare[..digits].trim_end_matches('.');
    if number.is_empty() || !number.starts_with(|first: char| first.is_ascii_digit()) || number.len() > 24 {
        return ChecklistLabel::default();
    }
    let letter = bare[digits..].bytes().take(1).filter(u8::is_ascii_lowercase).count();
    let letter = if bare[digits + letter..].starts_with([' ', '.', ')', ':']) { letter } else { 0 };
    let behind = &bare[digits + letter..];
    let is_ended = digits > number.len() || behind.starts_with([')', ':']);
    // "3 retries" starts with a number that is part of the text.
    if !is_ended && !number.contains('.') || !behind.starts_with([' ', ')', ':', '*', '.', '\t']) {
        return ChecklistLabel::default();
    }
    let rest = behind.trim_start_matches([')', ':', '.']).trim_start_matches("**").trim_start();
    let rest = rest.trim_start_matches(['-', '–', '—', ':']).trim_start();
    ChecklistLabel::before(rest, text, bare[..digits + letter].trim_end_matches('.').to_owned())
}
