//! Finds the tasks of a plan. The dialect writes them as `### N.` headings; people write them in many more ways, and
//! none of them may get lost.
//!
//! Headings that are certainly tasks come first, with every box outside of them. Without any, the boxes are the tasks;
//! then phases; then the list below a heading such as "Tasks"; then numbered sections.

use std::collections::HashMap;

use super::field;
use super::heading;
use super::heading::{HeadingKind, HeadingRead};
use super::list;
use crate::plan::draft::{DraftField, ParseIssue, UnreadStepReason};
use crate::syntax::markdown::{Blocks, Heading};
use crate::syntax::outline;
use crate::syntax::outline::Section;
use crate::syntax::source::{Source, Span, Spanned, item_at};

/// The headings of a plan and the parts that they delimit.
pub(super) struct NamedOutline {
    /// The first level-1 heading that is not a task.
    pub(super) title: Option<Spanned<String>>,
    pub(super) title_line: Option<Span>,
    /// The text before the first section and the first task.
    pub(super) header: Span,
    pub(super) sections: Vec<NamedSection>,
    /// In file order, without overlaps.
    pub(super) tasks: Vec<NamedTask>,
}

/// The level of task headings in the document's own form.
const TASK_LEVEL: u8 = 3;

pub(super) type NamedSection = Section<NamedRead>;

/// What a section says about itself.
#[derive(Debug, Clone)]
pub(super) struct NamedRead {
    heading: HeadingRead,
    fields: Vec<DraftField>,
    /// Fields whose names are not written as labels.
    plain: Vec<DraftField>,
}

impl NamedRead {
    fn has(&self, field: DraftField) -> bool {
        self.fields.contains(&field)
    }

    /// Whether it has the text of a task and something to go with it. A group of tasks has a status or a verification,
    /// but hardly both a text of its own and these.
    fn is_task_like(&self) -> bool {
        let more = [DraftField::Contract, DraftField::Accept, DraftField::Needs, DraftField::Status];
        self.has(DraftField::Task) && more.iter().any(|&field| self.has(field))
    }
}

/// A task from any of the forms.
#[derive(Debug, Clone)]
pub(super) struct NamedTask {
    pub(super) shape: Shape,
    /// The whole task.
    pub(super) whole: Span,
    /// The heading, or the first line of the item.
    pub(super) heading: Span,
    pub(super) level: u8,
    pub(super) read: HeadingRead,
    /// The text below the heading, or after the first line of the item.
    pub(super) below: Span,
    /// The end of the fields: the first heading below its own, or the end.
    pub(super) own_end: usize,
}

/// The form of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A heading with text below it.
    Heading,
    /// A list item with a box; the offset of its tick.
    Boxed(Span),
    Listed,
}

/// Prefixes of section names that are not about work.
const ASIDES: &[&str] = &[
    "risk",
    "top risk",
    "open question",
    "question",
    "decision",
    "key decision",
    "design decision",
    "alternative",
    "out of scope",
    "non-goal",
    "non goal",
    "reference",
    "appendix",
    "faq",
    "glossary",
    "assumption",
    "lessons",
];

/// Prefixes and suffixes of section names whose boxes are criteria.
const CRITERIA: &[&str] = &[
    "criteria",
    "acceptance",
    "definition of done",
    "done when",
    "verification",
    "validation",
    "sign-off",
    "sign off",
    "success metrics",
    "current status",
    "验收标准",
    "完成标准",
    "완료 조건",
];

/// Words in the names of sections whose lists are tasks.
const WORK: &[&str] = &[
    "task",
    "step",
    "todo",
    "to-do",
    "to do",
    "implementation",
    "order",
    "plan",
    "milestone",
    "phase",
    "roadmap",
    "sequence",
    "stage",
    "next",
    "action",
    "work",
    "backlog",
    "build",
    "任务",
    "步骤",
    "计划",
    "顺序",
    "阶段",
    "タスク",
    "手順",
    "작업",
    "계획",
    "순서",
];

impl NamedOutline {
    pub(super) fn of(source: &Source, blocks: &Blocks) -> Self {
        let sections = sections(source, blocks);
        let boxes = list::boxes(source, blocks, &sections);
        let mut tasks = stated(&sections, &boxes);
        if tasks.is_empty() {
            tasks = boxes;
        } else {
            let is_loose = |task: &NamedTask| {
                !is_in(&tasks, task.heading.start)
                    && !around(&sections, task.heading.start)
                        .any(|section| is_criteria(section) || is_aside(section))
            };
            let loose: Vec<NamedTask> = boxes.into_iter().filter(is_loose).collect();
            tasks.extend(loose);
            tasks.sort_by_key(|task| task.whole.start);
        }
        let fallbacks: [&dyn Fn() -> Vec<NamedTask>; 3] = [
            &|| leaves(&sections, |section| section.read.heading.kind == HeadingKind::Phase),
            &|| list::items(source, blocks, &sections),
            &|| {
                leaves(&sections, |section| {
                    matches!(section.read.heading.kind, HeadingKind::Number | HeadingKind::Dotted)
                })
            },
        ];
        for fallback in fallbacks {
            if tasks.is_empty() {
                tasks = fallback();
            }
        }
        cut(&mut tasks);
        Self::around(source, blocks, sections, tasks)
    }

    /// Sections that look like tasks but are none: a text of a task outside of any, and level-1 headings of tasks.
    pub(super) fn unread(&self, source: &Source, blocks: &Blocks) -> Vec<Spanned<ParseIssue>> {
        let is_task =
            |section: &NamedSection| self.tasks.iter().any(|task| task.heading == section.heading.span);
        let is_title = |section: &NamedSection| self.title_line == Some(section.heading.span);
        let level =
            self.tasks.iter().find(|task| task.shape == Shape::Heading).map_or(TASK_LEVEL, |task| task.level);
        let others = self.sections.iter().filter(|section| !is_task(section));
        let reason = |section: &NamedSection| {
            let is_inside = self.is_in_task(section.start());
            let is_counted = matches!(section.read.heading.kind, HeadingKind::Task | HeadingKind::Step);
            let is_level = section.heading.level == 1 && is_counted && !is_title(section);
            let has_plain = |field: DraftField| section.read.plain.contains(&field);
            let is_plain = has_plain(DraftField::Task) && has_plain(DraftField::Contract);
            match is_plain || (section.read.has(DraftField::Task) && !is_inside) {
                _ if is_level => Some(UnreadStepReason::Level),
                true => Some(UnreadStepReason::Fields),
                false => None,
            }
        };
        let found = others.filter_map(|section| Some((section, reason(section)?)));
        let issues = found.map(|(section, why)| {
            let is_certain = !is_title(section) && !section.heading.is_underlined;
            let marks = "#".repeat(usize::from(level));
            let heading = is_certain.then(|| match section.read.heading.kind {
                HeadingKind::Plain => {
                    let before = self.tasks.partition_point(|task| task.whole.start < section.start());
                    format!("{marks} {}. {}", before + 1, section.title.value)
                }
                HeadingKind::Task
                | HeadingKind::Named
                | HeadingKind::Step
                | HeadingKind::Number
                | HeadingKind::Dotted
                | HeadingKind::Phase => format!("{marks} {}", section.title.value),
            });
            let start = section.start();
            let line = Span::new(start, source.line_at(start).end.min(section.heading.span.end));
            Spanned::new(ParseIssue::UnreadStep { why, heading }, line)
        });
        let glued = blocks.text_lines(source, blocks.body).filter_map(|line| {
            let (level, title) = outline::glued_heading(source.slice(line))?;
            let read = heading::read(source, Span::new(line.end - title.len(), line.end));
            let is_task = matches!(read.kind, HeadingKind::Task | HeadingKind::Step | HeadingKind::Number);
            let heading = Some(format!("{} {title}", "#".repeat(usize::from(level))));
            let why = UnreadStepReason::NoHeading;
            is_task.then(|| Spanned::new(ParseIssue::UnreadStep { why, heading }, line))
        });
        issues.chain(glued).collect()
    }

    /// Whether an offset belongs to a task.
    pub(super) fn is_in_task(&self, at: usize) -> bool {
        is_in(&self.tasks, at)
    }

    fn around(source: &Source, blocks: &Blocks, sections: Vec<NamedSection>, tasks: Vec<NamedTask>) -> Self {
        let end = source.text().len();
        let is_task = |section: &&NamedSection| tasks.iter().any(|task| task.heading == section.heading.span);
        let first_task = tasks.first().map_or(end, |task| task.whole.start);
        let title = sections
            .iter()
            .find(|section| section.heading.level == 1 && section.start() < first_task && !is_task(section));
        let title_line = title.map(|section| section.heading.span);
        let title = title.map(|section| section.title.clone());
        let begin = title_line.map_or(blocks.body.start, |line| line.end);
        let first_section = sections.iter().map(Section::start).find(|&start| start >= begin);
        let header = Span::new(begin, first_section.unwrap_or(end).min(first_task).max(begin));
        Self { title, title_line, header, sections, tasks }
    }
}

/// Every section. Text above a line of dashes is meant as text: only equals signs make a setext heading.
fn sections(source: &Source, blocks: &Blocks) -> Vec<NamedSection> {
    let is_single = |heading: &Heading| source.slice(heading.span).lines().count() == 2;
    let mut sections = outline::sections(source, blocks, |heading, title| {
        let counts = !heading.is_underlined || (heading.level == 1 && is_single(heading));
        counts.then(|| {
            let heading = heading::read(source, title.span);
            NamedRead { heading, fields: Vec::new(), plain: Vec::new() }
        })
    });
    for section in &mut sections {
        // Indented text belongs to a list item.
        let labels = field::labels(source, blocks, section.own()).filter(|label| label.indent < 2);
        section.read.fields = labels.filter_map(|label| label.kind).collect();
        section.read.plain =
            field::plain_names(source, blocks, section.own()).map(|(kind, _)| kind).collect();
    }
    sections
}

/// The tasks with unambiguous headings.
fn stated(sections: &[NamedSection], boxes: &[NamedTask]) -> Vec<NamedTask> {
    let has_boxes = |section: &NamedSection| {
        let next = boxes.partition_point(|task| task.heading.start < section.start());
        boxes.get(next).is_some_and(|task| task.heading.start < section.end)
    };
    let says_so = |section: &NamedSection| {
        let is_worked = section.read.has(DraftField::Task) || section.read.has(DraftField::Contract);
        // A level-1 heading is the title of a document and never a task.
        if section.heading.level == 1 {
            return false;
        }
        match section.read.heading.kind {
            HeadingKind::Task | HeadingKind::Step => true,
            HeadingKind::Named => is_worked || section.read.has(DraftField::Status) || !has_boxes(section),
            HeadingKind::Number if section.heading.level >= 3 => {
                !around(sections, section.start()).any(is_aside)
            }
            HeadingKind::Number | HeadingKind::Dotted => is_worked || section.read.has(DraftField::Status),
            HeadingKind::Phase => is_worked,
            HeadingKind::Plain => {
                let more = [DraftField::Contract, DraftField::Accept, DraftField::Needs];
                section.read.is_task_like()
                    || (section.read.has(DraftField::Status)
                        && more.iter().any(|&field| section.read.has(field)))
            }
        }
    };
    let said = with_siblings(sections, &sections.iter().map(says_so).collect::<Vec<_>>());
    let mut tasks = Vec::new();
    let mut reach = 0;
    for (place, &index) in said.iter().enumerate() {
        let section = &sections[index];
        if section.start() < reach {
            continue;
        }
        let inner = said[place + 1..].iter().map(|&inner| &sections[inner]);
        let mut inner = inner.take_while(|inner| inner.start() < section.end);
        // A heading with tasks below it is only a group. Steps of a task are parts of it.
        let holds = inner.any(|inner| match section.read.heading.kind {
            HeadingKind::Plain => true,
            HeadingKind::Task => inner.read.heading.kind == HeadingKind::Task || inner.read.is_task_like(),
            HeadingKind::Step => {
                matches!(inner.read.heading.kind, HeadingKind::Task | HeadingKind::Step)
                    || inner.read.is_task_like()
            }
            HeadingKind::Named | HeadingKind::Number | HeadingKind::Dotted | HeadingKind::Phase => {
                inner.read.heading.kind == HeadingKind::Task
                    || inner.read.has(DraftField::Status)
                    || inner.read.has(DraftField::Contract)
            }
        });
        if !holds {
            tasks.push(headed(section));
            reach = section.end;
        } else if section.read.is_task_like() {
            // A task whose heading is at a higher level than those of the others.
            tasks.push(headed(section));
        }
    }
    tasks
}

/// The tasks, and sections among them that only lack the fields: if half of the phases have a verification, the others
/// are tasks as well.
fn with_siblings(sections: &[NamedSection], says_so: &[bool]) -> Vec<usize> {
    let family = |section: &NamedSection| match section.read.heading.kind {
        HeadingKind::Number | HeadingKind::Dotted | HeadingKind::Phase => {
            Some((section.parent, section.heading.level, section.read.heading.kind as u8))
        }
        HeadingKind::Task | HeadingKind::Step | HeadingKind::Named | HeadingKind::Plain => None,
    };
    let mut families: HashMap<_, (usize, usize)> = HashMap::new();
    for (section, &says) in sections.iter().zip(says_so) {
        let (all, saying) = families.entry(family(section)).or_default();
        *all += 1;
        *saying += usize::from(says);
    }
    let is_one = |&index: &usize| {
        let family = family(&sections[index]);
        let (all, saying) = families[&family];
        says_so[index] || (family.is_some() && saying > 0 && saying * 2 >= all)
    };
    (0..sections.len()).filter(is_one).collect()
}

/// The sections of a kind that contain no other of that kind.
fn leaves(sections: &[NamedSection], is_one: impl Fn(&NamedSection) -> bool) -> Vec<NamedTask> {
    let of_kind: Vec<&NamedSection> =
        sections.iter().filter(|section| section.heading.level > 1 && is_one(section)).collect();
    let holds = |place: usize| of_kind.get(place + 1).is_some_and(|next| next.start() < of_kind[place].end);
    (0..of_kind.len()).filter(|&place| !holds(place)).map(|place| headed(of_kind[place])).collect()
}

fn headed(section: &NamedSection) -> NamedTask {
    NamedTask {
        shape: Shape::Heading,
        whole: Span::new(section.start(), section.end),
        heading: section.heading.span,
        level: section.heading.level,
        read: section.read.heading.clone(),
        below: section.below(),
        own_end: section.own_end,
    }
}

/// The sections around an offset, innermost first.
fn around(sections: &[NamedSection], at: usize) -> impl Iterator<Item = &NamedSection> {
    let innermost = sections.partition_point(|section| section.start() < at).checked_sub(1);
    std::iter::successors(innermost.map(|index| &sections[index]), |section| Some(&sections[section.parent?]))
}

/// The normalized name of a section: lowercase, without number and marks.
fn plain_name(section: &NamedSection) -> String {
    section.read.heading.title.value.to_lowercase()
}

fn is_aside(section: &NamedSection) -> bool {
    let name = plain_name(section);
    ASIDES.iter().any(|word| name.starts_with(word))
}

fn is_criteria(section: &NamedSection) -> bool {
    let name = plain_name(section);
    name == "status" || CRITERIA.iter().any(|word| name.starts_with(word) || name.ends_with(word))
}

/// Whether the list below a heading contains tasks.
pub(super) fn promises_work(section: &NamedSection) -> bool {
    let name = plain_name(section);
    section.heading.level > 1 && !is_aside(section) && WORK.iter().any(|word| name.contains(word))
}

fn is_in(tasks: &[NamedTask], at: usize) -> bool {
    item_at(tasks, at, |task| task.whole).is_some()
}

/// Ends every task where the next one starts.
fn cut(tasks: &mut [NamedTask]) {
    let starts: Vec<usize> = tasks.iter().skip(1).map(|task| task.whole.start).collect();
    for (task, start) in tasks.iter_mut().zip(starts) {
        task.whole.end = task.whole.end.min(start);
        task.below.end = task.below.end.min(start).max(task.below.start.min(start));
        task.below.start = task.below.start.min(task.below.end);
        task.own_end = task.own_end.min(start);
    }
}
