//! The named dialect: `PLAN.md` and `PLAN-<name>.md`, tasks `### N.` with What, Verification and Status, and the many
//! variants that people write. Reads anything, writes only the bytes that a change needs. See docs/reference/dialects/named.md.

mod compose;
mod conflict_copy;
mod field;
mod heading;
mod list;
mod outline;
mod patch;
mod progress;
mod task_reference;
mod slug;
mod status;
mod step;

pub use conflict_copy::conflict_copy;
pub use slug::{ARCHIVED, BadSlug, PlanSlug, Slug, plan_file, plan_of, progress_file, slug};

use crate::dialect;
use crate::dialect::frontmatter;
use crate::dialect::{Dialect, PlanLocation};
use crate::plan::draft::{Draft, DraftField, Layout, Mark};
use crate::plan::lifecycle::PlanState;
use crate::syntax::markdown::Blocks;
use crate::syntax::outline::indent;
use crate::syntax::source::{FILE_SEPARATOR, Source, Span, Spanned};
use outline::NamedOutline;
use task_reference::TaskList;

pub(super) const DIALECT: Dialect = Dialect {
    name: "named",
    summary: "`PLAN.md` or `PLAN-<name>.md`, or Markdown tasks `### N.` with What, Verification and Status",
    recognises,
    parse,
    skim: parse,
    states: STATES,
    spell,
    marks: &Mark::ALL,
    has_traces: false,
    title_key: None,
    keys: &[
        "depends_on",
        "touches",
        "status",
        "created",
        "parent_design_doc",
        "touches_architecture",
        "expected_artifacts",
    ],
    fields: field::FIELDS,
    is_strict: false,
    owned: &["status", "Status"],
    edits: patch::edits,
    touch: |_, _| Vec::new(),
    home: |name, _| PlanLocation { id: name.to_owned(), path: format!(".harness/PLAN-{name}.md") },
    canonical,
    compose: compose::compose,
    beside: Some(progress::beside),
    overflow: |_| None,
};

/// The states of a plan. The dialect itself has planning, in-progress and done; the others use their plain names.
const STATES: &[(&str, PlanState)] = &[
    ("planning", PlanState::Draft),
    ("draft", PlanState::Draft),
    ("not started", PlanState::Draft),
    ("planned", PlanState::Draft),
    ("todo", PlanState::Draft),
    ("pending", PlanState::Draft),
    ("rejected", PlanState::Draft),
    ("proposed", PlanState::Proposed),
    ("in review", PlanState::Proposed),
    ("ready", PlanState::Proposed),
    ("approved", PlanState::Approved),
    ("accepted", PlanState::Approved),
    ("in-progress", PlanState::Running),
    ("in progress", PlanState::Running),
    ("in_progress", PlanState::Running),
    ("active", PlanState::Running),
    ("ongoing", PlanState::Running),
    ("wip", PlanState::Running),
    ("blocked", PlanState::Running),
    ("paused", PlanState::Running),
    ("done", PlanState::Done),
    ("complete", PlanState::Done),
    ("completed", PlanState::Done),
    ("finished", PlanState::Done),
    ("shipped", PlanState::Done),
    ("implemented", PlanState::Done),
    ("failed", PlanState::Failed),
    ("cancelled", PlanState::Cancelled),
    ("canceled", PlanState::Cancelled),
    ("abandoned", PlanState::Cancelled),
    ("superseded", PlanState::Cancelled),
    ("obsolete", PlanState::Cancelled),
];

#[expect(clippy::unnecessary_wraps, reason = "other dialects have no word for some states")]
const fn spell(state: PlanState) -> Option<&'static str> {
    Some(match state {
        PlanState::Draft | PlanState::Rejected => "planning",
        PlanState::Proposed => "proposed",
        PlanState::Approved => "approved",
        PlanState::Running | PlanState::Waiting(_) => "in-progress",
        PlanState::Done => "done",
        PlanState::Failed => "failed",
        PlanState::Cancelled => "cancelled",
    })
}

/// Detected by file name, or by tasks with at least two of the typical fields.
fn recognises(place: &str, text: &str) -> Option<String> {
    // Directories and their files belong to the directory dialect.
    if text.starts_with(FILE_SEPARATOR) {
        return None;
    }
    let place = place.replace('\\', "/");
    let (folder, file) = place.rsplit_once('/').unwrap_or(("", &place));
    if folder == ".pi/plans" || folder.ends_with("/.pi/plans") || conflict_copy(file).is_some() {
        return None;
    }
    if plan_of(file).is_some() {
        let folder = folder.rsplit('/').next().filter(|folder| !folder.is_empty());
        return Some(folder.map_or_else(|| file.to_owned(), |folder| format!("{file} in {folder}/")));
    }
    has_tasks(text).then(|| "tasks with What, Verification and Status".to_owned())
}

/// Whether a numbered heading has two of the three fields.
fn has_tasks(text: &str) -> bool {
    // Most files of a project have none of these, and a list looks at all of them.
    let lower = text.to_ascii_lowercase();
    if ["**what", "**verification", "**status"].iter().filter(|label| lower.contains(**label)).count() < 2 {
        return false;
    }
    let source = Source::new("text", text);
    let blocks = Blocks::read(&source, frontmatter::split(text).body);
    let outline = NamedOutline::of(&source, &blocks);
    outline.tasks.iter().any(|task| {
        let labels = field::labels(&source, &blocks, task.below)
            .filter(|label| source.slice(label.span).starts_with("**"));
        let names: Vec<String> = labels.map(|label| label.name.value.to_lowercase()).collect();
        let is_numbered = task.shape == outline::Shape::Heading && task.read.number.is_some();
        is_numbered
            && ["what", "verification", "status"]
                .iter()
                .filter(|name| names.iter().any(|own| own == *name))
                .count()
                > 1
    })
}

fn parse(source: &Source) -> Draft {
    let parts = frontmatter::split(source.text());
    let (frontmatter, mut oddities) = frontmatter::read(source, &parts);
    let blocks = Blocks::read(source, parts.body);
    oddities.extend(dialect::unclosed(&blocks));
    let outline = NamedOutline::of(source, &blocks);
    let roll = TaskList::of(source, &blocks, &outline.tasks);
    let mut draft = Draft { frontmatter, title: outline.title.clone(), ..Draft::default() };
    for (place, task) in outline.tasks.iter().enumerate() {
        draft.steps.push(step::read(source, &blocks, (task, &roll), place, &mut oddities));
    }
    oddities.extend(outline.unread(source, &blocks));
    read_header(source, &blocks, &outline, &mut draft);
    draft.depends_on = frontmatter::list(source, &parts, "depends_on");
    draft.touches = frontmatter::list(source, &parts, "touches");
    draft.notes = notes(source, &blocks, &outline);
    draft.oddities = dialect::in_order(oddities);
    draft
}

/// Parses what concerns the whole plan: status, context, budget.
fn read_header(source: &Source, blocks: &Blocks, outline: &NamedOutline, draft: &mut Draft) {
    let mut status = draft.frontmatter.value("status").map(|status| status.span);
    for label in field::labels(source, blocks, outline.header) {
        let value = Some(source.spanned(label.value));
        let value = value.filter(|value| !value.value.is_empty());
        match label.name.value.to_lowercase().as_str() {
            _ if label.kind == Some(DraftField::Status) && status.is_none() => {
                status = Some(label.value);
            }
            "brief" | "context" | "goal" if draft.context.is_none() => draft.context = value,
            "priority" if draft.priority.is_none() => draft.priority = value,
            "budget" if draft.budget.is_none() => draft.budget = value,
            _ => {}
        }
    }
    let said = status.filter(|status| !status.is_empty()).map(|status| said(source, status));
    draft.state = said.as_ref().and_then(|word| Some(Spanned::new(meant(&word.value)?, word.span)));
    draft.status = Layout(said);
    let goal = ["goal", "context", "background", "overview", "summary"].iter().find_map(|name| {
        let section =
            outline.sections.iter().find(|section| section.title.value.eq_ignore_ascii_case(name))?;
        // Tasks below this section are not part of it.
        let first = outline.tasks.iter().map(|task| task.whole.start).find(|&at| at >= section.start());
        let below = section.below();
        let end = first.unwrap_or(below.end).clamp(below.start, below.end);
        let text = source.trimmed(Span::new(below.start, end));
        (!text.is_empty()).then(|| Spanned::new(source.slice(text).replace("\r\n", "\n"), text))
    });
    draft.context = goal.or(draft.context.take());
}

/// The first word of a plan's status; a note may follow it.
fn said(source: &Source, status: Span) -> Spanned<String> {
    let text = source.slice(status);
    let bare = text.trim_start_matches(|character: char| !character.is_alphanumeric());
    let start = text.len() - bare.len();
    let lower = bare.to_lowercase();
    let ends = |word: &str| lower[word.len()..].chars().next().is_none_or(|next| !next.is_alphanumeric());
    let known = STATES
        .iter()
        .filter(|(word, _)| lower.starts_with(word) && ends(word))
        .map(|(word, _)| word.len())
        .max();
    let head = bare.find(['(', '—', '–', ',', ';', '.']).unwrap_or(bare.len());
    let length = known.filter(|_| lower.len() == bare.len()).unwrap_or_else(|| bare[..head].trim_end().len());
    let span = Span::new(status.start + start, status.start + start + length);
    source.spanned(span)
}

fn meant(word: &str) -> Option<PlanState> {
    DIALECT.state(&word.to_lowercase())
}

/// The items below the last heading "Notes".
fn notes(source: &Source, blocks: &Blocks, outline: &NamedOutline) -> Vec<Spanned<String>> {
    let Some(region) = patch::notes_region(outline) else { return Vec::new() };
    blocks
        .text_lines(source, region)
        .filter(|line| indent(source.slice(*line)) < 2 && !outline.is_in_task(line.start))
        .filter_map(|line| Some(source.spanned(source.trimmed(field::item(source, line)?))))
        .collect()
}

/// Only adds a missing line ending at the end; the author decides about the rest.
fn canonical(source: &Source) -> String {
    let text = source.text();
    if text.is_empty() || text.ends_with('\n') {
        return text.to_owned();
    }
    format!("{text}{}", source.line_ending())
}

#[cfg(test)]
mod tests;
