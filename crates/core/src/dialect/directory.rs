//! The directory dialect: a directory with `plan.md` and one file `tasks/NN-slug.md` per task. Owns the names of those
//! files and their content; the directory comes as one text, see [`Source::bundle`].

mod compose;
mod patch;
mod task;

use std::collections::{BTreeSet, HashMap};

use crate::dialect;
use crate::dialect::frontmatter;
use crate::dialect::frontmatter::FrontmatterParts;
use crate::dialect::label::{Labels, Markdown};
use crate::dialect::{Dialect, PlanLocation};
use crate::plan::draft::{Draft, DraftField, ParseIssue, UnreadStepReason};
use crate::syntax::markdown::{Blocks, Heading};
use crate::syntax::outline;
use crate::syntax::outline::Section;
use crate::syntax::source::{FILE_SEPARATOR, Source, SourcePart, Span, Spanned};

pub(crate) const DIALECT: Dialect = Dialect {
    name: "directory",
    summary: "a directory with `plan.md` and one file `tasks/NN-slug.md` per task",
    recognises,
    parse,
    skim,
    states: &[],
    spell: |_| None,
    marks: &[],
    has_traces: false,
    title_key: Some("title"),
    keys: &["title", "priority", "estimated_effort", "tags", "timeout"],
    fields: FIELDS,
    is_strict: true,
    owned: &[],
    edits: patch::edits,
    touch: |_, _| Vec::new(),
    home: |name, _| PlanLocation { id: name.to_owned(), path: format!("plans/{name}") },
    canonical: compose::canonical,
    compose: compose::compose,
    beside: None,
    overflow: |_| None,
};

/// The file with the title and the context of the plan.
pub const PLAN_FILE: &str = "plan.md";

/// The directory of the task files.
pub const TASK_FOLDER: &str = "tasks/";

/// Fields that the dialect reserves for later versions: allowed and kept, but ignored except for `timeout`.
pub const RESERVED: &[&str] = &["priority", "estimated_effort", "tags", "timeout"];

/// The fields of a task and their names, the preferred one first.
pub const FIELDS: &[(DraftField, &[&str])] = &[
    (DraftField::Id, &["id"]),
    (DraftField::Needs, &["depends_on"]),
    (DraftField::Target, &["agent"]),
    (DraftField::Accept, &["subtasks"]),
    (DraftField::Timeout, &["timeout"]),
];

/// The fields of steps in other dialects.
const STEP_LABELS: Labels = Labels {
    fields: &[
        (DraftField::Task, &["task", "what"]),
        (DraftField::Contract, &["contract", "verification"]),
        (DraftField::Target, &["target"]),
    ],
    style: Markdown::Lenient,
};

/// The heading of the notes in [`PLAN_FILE`].
const NOTES: &str = "Notes";

/// Whether a file in [`TASK_FOLDER`] has a valid task name: `^\d{2}-[a-z0-9]+(-[a-z0-9]+)*\.md$`.
pub fn is_task_file(name: &str) -> bool {
    let parts = name.strip_suffix(".md").and_then(|stem| stem.split_once('-'));
    parts.is_some_and(|(index, slug)| {
        index.len() == 2 && index.bytes().all(|byte| byte.is_ascii_digit()) && is_id(slug)
    })
}

/// Whether a text is a valid task id: `^[a-z0-9]+(-[a-z0-9]+)*$`.
pub fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.split('-').all(|word| !word.is_empty() && word.bytes().all(is_plain))
}

/// The nearest valid task name; `None` if nothing of the name can be kept.
pub fn task_file_name(name: &str) -> Option<String> {
    let stem = if is_markdown(name) { &name[..name.len() - 3] } else { name };
    let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
    let index: u32 = stem[..digits].parse().ok().filter(|&index| index < 100)?;
    let slug = crate::plan::verified::slug(&stem[digits..]);
    (!slug.is_empty()).then(|| format!("{index:02}-{slug}.md"))
}

/// The directory of the plan that a file belongs to by its path: the one with `plan.md`, or the one above `tasks/`.
pub fn folder_of(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    if name == PLAN_FILE {
        return Some(folder);
    }
    let above = match folder.trim_end_matches('/') {
        "tasks" => ".",
        folder => folder.strip_suffix("/tasks")?,
    };
    is_task_file(name).then_some(above)
}

/// The position of a file in the joined text: `plan.md` first, then the tasks by number.
pub fn reading_order(path: &str) -> (bool, u64, &str) {
    let name = path.strip_prefix(TASK_FOLDER).unwrap_or(path);
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    (path != PLAN_FILE, name[..digits].parse().unwrap_or(u64::MAX), path)
}

/// Whether this is the text of a directory, even an empty one: nothing else starts with a separator.
fn recognises(place: &str, text: &str) -> Option<String> {
    let first = text.strip_prefix(FILE_SEPARATOR).and_then(|file| file.lines().next());
    match first {
        Some(PLAN_FILE) => Some("plan.md with tasks/".to_owned()),
        Some(_) => Some("a directory with tasks/".to_owned()),
        None if text.is_empty() && place.ends_with('/') => Some("a directory".to_owned()),
        None => None,
    }
}

/// The span of [`PLAN_FILE`]. A text without files counts as it.
fn plan_part(source: &Source) -> Option<&SourcePart> {
    source.parts().iter().find(|part| part.path.is_empty() || part.path == PLAN_FILE)
}

fn parse(source: &Source) -> Draft {
    let mut oddities = Vec::new();
    let plan = plan_part(source);
    let mut draft = Draft::default();
    if let Some(part) = plan {
        let parts = read_head(source, part.span, &mut draft, &mut oddities);
        read_narrative(source, Span::new(parts.body, part.span.end), &mut draft, &mut oddities);
    } else {
        let missing = ParseIssue::MissingFile { path: PLAN_FILE };
        oddities.push(Spanned::new(missing, first_line(source, source.parts()[0].span)));
    }
    for (place, part) in task_parts(source).enumerate() {
        draft.steps.push(task::read(source, part, place, &mut oddities));
    }
    oddities.extend(names(source, plan));
    draft.oddities = dialect::in_order(oddities);
    draft
}

/// Parses what a list shows: the titles of the plan and of every task.
fn skim(source: &Source) -> Draft {
    let mut draft = Draft::default();
    if let Some(part) = plan_part(source) {
        read_head(source, part.span, &mut draft, &mut Vec::new());
    }
    let steps = task_parts(source).enumerate().map(|(place, part)| task::bare(source, part, place));
    draft.steps = steps.collect();
    draft
}

/// The task files. One with an invalid name is read anyway: a step must never get lost.
fn task_parts(source: &Source) -> impl Iterator<Item = &SourcePart> {
    let plan = plan_part(source).map(|part| part.span);
    source.parts().iter().filter(move |part| Some(part.span) != plan && is_markdown(&part.path))
}

/// Whether a file may be a task, by its name.
pub(crate) fn is_markdown(path: &str) -> bool {
    let ending = path.len().checked_sub(3).and_then(|at| path.get(at..));
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case(".md"))
}

/// Reports invalid file names.
fn names(source: &Source, plan: Option<&SourcePart>) -> Vec<Spanned<ParseIssue>> {
    let mut oddities = Vec::new();
    let mut indices: HashMap<&str, Span> = HashMap::new();
    for part in source.parts().iter().filter(|part| Some(part.span) != plan.map(|plan| plan.span)) {
        let span = first_line(source, part.span);
        let Some(name) = part.path.strip_prefix(TASK_FOLDER).filter(|name| is_task_file(name)) else {
            oddities.push(Spanned::new(ParseIssue::MisnamedTask { path: part.path.clone() }, span));
            continue;
        };
        let index = &name[..2];
        match indices.get(index) {
            Some(&first) => {
                oddities.push(Spanned::new(ParseIssue::SameIndex { index: index.to_owned(), first }, span));
            }
            None => drop(indices.insert(index, span)),
        }
    }
    oddities
}

/// The first line of a file, or where it would be.
fn first_line(source: &Source, part: Span) -> Span {
    let line = source.line_at(part.start);
    Span::new(part.start, line.end.clamp(part.start, part.end))
}

/// Copies the frontmatter of [`PLAN_FILE`] into the draft.
fn read_head(
    source: &Source,
    part: Span,
    draft: &mut Draft,
    oddities: &mut Vec<Spanned<ParseIssue>>,
) -> FrontmatterParts {
    let parts = frontmatter::split_part(source, part);
    draft.frontmatter = frontmatter::read(source, &parts).0;
    let entries = task::entries(source, &parts, oddities);
    let mut fields = task::Fields::new(&entries, oddities);
    draft.title = fields.line("title");
    draft.priority = fields.line("priority");
    parts
}

/// Copies the text of [`PLAN_FILE`] into the draft.
fn read_narrative(source: &Source, body: Span, draft: &mut Draft, oddities: &mut Vec<Spanned<ParseIssue>>) {
    let blocks = Blocks::read_in(source, body);
    oddities.extend(dialect::unclosed(&blocks));
    oddities.extend(unread_steps(source, &blocks));
    let notes = notes(source, &blocks, body);
    let end = notes.as_ref().map_or(body.end, |notes| notes.heading.span.start);
    draft.context = task::prose(source, Span::new(body.start, end));
    draft.notes = notes.map(|notes| notes.items).unwrap_or_default();
}

/// Steps in [`PLAN_FILE`], as other dialects write them: each belongs into a file of its own.
fn unread_steps(source: &Source, blocks: &Blocks) -> Vec<Spanned<ParseIssue>> {
    let sections = outline::sections(source, blocks, |_, _| Some(()));
    let has_fields = |section: &&Section<()>| {
        let labels =
            blocks.text_lines(source, section.own()).filter_map(|line| STEP_LABELS.read(source, line)?.kind);
        labels.collect::<BTreeSet<_>>().len() > 1
    };
    let issue = |section: &Section<()>| {
        let unread = ParseIssue::UnreadStep { why: UnreadStepReason::Fields, heading: None };
        Spanned::new(unread, first_line(source, section.heading.span))
    };
    sections.iter().filter(has_fields).map(issue).collect()
}

/// The list of notes at the end of [`PLAN_FILE`].
struct Notes {
    heading: Heading,
    items: Vec<Spanned<String>>,
}

/// The notes: the last section, if it has that heading and only list items. Anything else is the author's text.
fn notes(source: &Source, blocks: &Blocks, body: Span) -> Option<Notes> {
    let heading = *blocks.headings.iter().max_by_key(|heading| heading.span.start)?;
    let is_notes = task::heading_text(source, &heading).eq_ignore_ascii_case(NOTES) && !heading.is_underlined;
    let below = Span::new(heading.below.min(body.end), body.end);
    let items: Option<Vec<Spanned<String>>> = source
        .lines_in(below)
        .filter(|&line| !source.slice(line).trim().is_empty())
        .map(|line| {
            let text = source.slice(line).strip_prefix("- ").filter(|_| !blocks.is_opaque(line.start))?;
            Some(source.spanned(source.trimmed(Span::new(line.end - text.len(), line.end))))
        })
        .collect();
    items.filter(|_| is_notes).map(|items| Notes { heading, items })
}
