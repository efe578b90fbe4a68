//! Imports checklists, the format of most tools: every box is a step, and a task depends on its subtasks. Everything
//! else in the file is context.

use super::lenient_markdown::{BlockKind, Checkbox, MarkdownItem, MarkdownPage};
use super::order;
use super::order::{ImportOrder, Nest};
use super::{legal, prose, step};
use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, Layout, Mark, ParseIssue, StepDraft};
use crate::syntax::source::{Source, Span, Spanned};

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

impl ChecklistStyle {
    /// The claim of a box.
    pub(crate) fn mark_of(self, task: &ChecklistTask) -> Option<Mark> {
        (self.mark)(task.check.sign)
    }
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

/// One task of a list.
#[derive(Debug, Clone)]
pub(crate) struct ChecklistTask {
    /// Its line, and the first line after it and its children.
    pub(crate) lines: (usize, usize),
    pub(crate) item: MarkdownItem,
    pub(crate) check: Checkbox,
    /// The parent task.
    pub(crate) parent: Option<usize>,
    /// The line of its heading.
    pub(crate) section: Option<usize>,
}

/// A file that was read up to its tasks.
pub(crate) struct Checklist<'a> {
    pub(crate) page: MarkdownPage<'a>,
    pub(crate) tasks: Vec<ChecklistTask>,
    frontmatter: crate::plan::draft::Frontmatter,
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
        let labels: Vec<ChecklistLabel> =
            self.tasks.iter().map(|task| (style.label)(self.said(task))).collect();
        let nest = Nest::of(&self.tasks, &labels);
        let step = |place: usize| self.step(place, &labels[place], &nest.children[place], style);
        let mut steps: Vec<StepDraft> = (0..self.tasks.len()).map(step).collect();
        order::queue(&mut steps, &self.tasks, &labels, &nest, style.order);
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
        let (title, line) = self.title(first);
        if let Some(line) = line {
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

    /// The first heading of the highest rank before the line `first`, and its line.
    fn title(&self, first: usize) -> (Option<Spanned<String>>, Option<usize>) {
        let found = (0..first).find_map(|at| match self.page.heading(at) {
            Some((1, text)) => Some((at, text)),
            Some(_) | None => None,
        });
        match found {
            Some((line, text)) => {
                (Some(Spanned::new(self.page.source.slice(text).to_owned(), text)), Some(line))
            }
            None => (None, None),
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
            match self.page.lines[at].kind {
                BlockKind::Heading { .. }
                | BlockKind::Item(_)
                | BlockKind::Text
                | BlockKind::Hidden
                | BlockKind::Blank
                    if is_gone[at] => {}
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
        self.page.source.slice(task.item.text)
    }

    fn step(
        &self,
        place: usize,
        label: &ChecklistLabel,
        children: &[usize],
        style: ChecklistStyle,
    ) -> StepDraft {
        let task = &self.tasks[place];
        let (from, to) = task.lines;
        let whole =
            Span::new(self.page.lines[from].span.start, self.page.lines[to.max(from + 1) - 1].span.end);
        let behind = Span::new(task.item.text.start + label.length, task.item.text.end);
        let (title, ticked) = bare_title(self.page.source, behind);
        let mut step = step(title, whole);
        step.heading = Layout(self.page.lines[from].span);
        step.id =
            label.name.as_deref().and_then(legal).map(|id| {
                Spanned::new(id, Span::new(task.item.text.start, task.item.text.start + label.length))
            });
        let sign = (style.mark)(task.check.sign).map(|mark| Spanned::new(mark, task.check.span));
        let said = (ticked && sign.is_none()).then(|| Spanned::new(Mark::Done, task.item.text));
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
            text.push_str(&format!("\n{details}"));
        }
        if !children.is_empty() {
            text.push_str("\n\nSubtasks:\n");
            let children = children.iter().map(|&child| self.said(&self.tasks[child]));
            text.push_str(&children.map(|child| format!("- {child}\n")).collect::<String>());
        }
        if let Some((_, section)) = task.section.and_then(|line| self.page.heading(line)) {
            text.push_str(&format!("\n\nSection: {}", self.page.source.slice(section)));
        }
        if task.check.is_optional {
            text.push_str("\nOptional.");
        }
        prose(&text)
    }
}

/// The tasks of a page in file order.
fn tasks(page: &MarkdownPage<'_>, is_named: fn(&str) -> bool) -> Vec<ChecklistTask> {
    let unticked =
        |item: MarkdownItem| Checkbox { sign: ' ', span: Span::at(item.text.start), is_optional: false };
    let read = |at: usize| {
        let item = page.item(at)?;
        let named = || is_named(page.source.slice(item.text)).then(|| unticked(item));
        Some((item, item.check.or_else(named)?))
    };
    let mut tasks: Vec<ChecklistTask> = Vec::new();
    // The open tasks with their indentation.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut section = None;
    for at in 0..page.lines.len() {
        if page.heading(at).is_some() {
            section = Some(at);
        }
        let Some((item, check)) = read(at) else { continue };
        let indent = page.lines[at].indent;
        open.retain(|&(task, outer)| tasks[task].lines.1 > at && outer < indent);
        open.truncate(DEPTH_MAX);
        let parent = open.last().map(|&(task, _)| task);
        open.push((tasks.len(), indent));
        let lines = (at, page.item_end(at));
        tasks.push(ChecklistTask { lines, item, check, parent, section });
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
    let name = bare[..digits + letter].trim_end_matches('.').to_owned();
    ChecklistLabel { length: text.len() - rest.len(), name: Some(name), is_parallel: false }
}
