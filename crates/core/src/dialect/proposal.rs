//! The proposal dialect: `.pi/plans/PLAN-<8 characters>.md` with thirteen frontmatter keys, numbered steps that name
//! their tools, and a context. Progress is in `sessions/`, large data in `artifacts/`. docs/reference/dialects/proposal.md
//! describes the format.

mod compose;
mod config;
mod context;
mod field;
mod format;
mod inline;
mod item;
mod operation;
mod outline;
mod patch;
mod section;
mod session;
mod step;

pub use config::{ProposalConfig, config};
pub use inline::inline;
pub use operation::Operation;
pub use section::{
    Artifact, CONTEXT_BYTES_MAX, Overflow, ProposalSection, RejectionNote, artifacts, context_bytes,
    overflow, rejected, section, sections,
};
pub use session::{Checkpoint, SessionOutcome, checkpoints};

use crate::dialect;
use crate::dialect::frontmatter;
use crate::dialect::frontmatter::FrontmatterParts;
use crate::dialect::{Dialect, PlanLocation};
use crate::plan::draft::{Draft, REQUIRED_FROM, StepDraft};
use crate::plan::lifecycle::{PlanState, WaitReason};
use crate::syntax::source::{Edit, Source, Spanned};
use crate::syntax::tree;
use operation::Suffix;
use outline::ProposalOutline;

pub(super) const DIALECT: Dialect = Dialect {
    name: "proposal",
    summary: "a file PLAN-<8 characters>.md in .pi/plans/, or one with `id: PLAN-…` and `status` in its frontmatter",
    recognises,
    parse,
    skim,
    states: STATES,
    spell,
    // Steps of a proposal have no marks: `sessions/` records their results.
    marks: &[],
    has_traces: false,
    title_key: Some("title"),
    keys: ALL_KEYS,
    fields: field::FIELDS,
    is_strict: false,
    owned: &[
        "status",
        "version",
        "created_at",
        "updated_at",
        "execution_session",
        "execution_started_at",
        "execution_ended_at",
        "result_summary",
    ],
    edits: patch::edits,
    touch: patch::touch,
    home: |_, chance| {
        let id = format!("{ID_PREFIX}{chance}");
        PlanLocation { path: format!(".pi/plans/{id}.md"), id }
    },
    canonical: format::canonical,
    compose: compose::compose,
    beside: Some(session::beside),
    overflow: section::overflow,
};

/// The frontmatter keys: the thirteen of the dialect in order, and the one that it reserves.
const ALL_KEYS: &[&str] = &[
    "id",
    "title",
    "status",
    "version",
    "created_at",
    "updated_at",
    "planner_model",
    "tools_required",
    "executor_model",
    "execution_session",
    "execution_started_at",
    "execution_ended_at",
    "result_summary",
    REQUIRED_FROM,
];

/// The keys that every plan has.
const KEYS: &[&str] = ALL_KEYS.split_at(ALL_KEYS.len() - 1).0;

/// The spellings of a plan's states.
const STATES: &[(&str, PlanState)] = &[
    ("proposed", PlanState::Proposed),
    ("approved", PlanState::Approved),
    ("executing", PlanState::Running),
    ("completed", PlanState::Done),
    ("failed", PlanState::Failed),
    ("rejected", PlanState::Rejected),
    ("cancelled", PlanState::Cancelled),
    ("stalled", PlanState::Waiting(WaitReason::Stalled)),
    ("needs_review", PlanState::Waiting(WaitReason::RevisionsSpent)),
];

/// Anything that stops a run is `stalled`; a plan pending approval is in review.
#[expect(clippy::unnecessary_wraps, reason = "other dialects have no word for some states")]
const fn spell(state: PlanState) -> Option<&'static str> {
    Some(match state {
        PlanState::Draft | PlanState::Proposed => "proposed",
        PlanState::Approved => "approved",
        // A plan that waits for an answer continues unchanged afterwards.
        PlanState::Running | PlanState::Waiting(WaitReason::Question) => "executing",
        PlanState::Waiting(WaitReason::RevisionsSpent | WaitReason::Lapsed) => "needs_review",
        PlanState::Waiting(
            WaitReason::Failed
            | WaitReason::Regressed
            | WaitReason::Budget
            | WaitReason::Stalled
            | WaitReason::Machine
            | WaitReason::Conflict
            | WaitReason::Replanning,
        ) => "stalled",
        PlanState::Done => "completed",
        PlanState::Failed => "failed",
        PlanState::Rejected => "rejected",
        PlanState::Cancelled => "cancelled",
    })
}

pub(crate) fn wrote(source: &Source) -> bool {
    *source.dialect() == DIALECT
}

/// The prefix of every id.
const ID_PREFIX: &str = "PLAN-";

/// The number of characters after the prefix.
const ID_CHARS: usize = 8;

/// A new id: `PLAN-` and eight digits of the number.
pub fn id(random: u32) -> String {
    format!("{ID_PREFIX}{random:0ID_CHARS$x}")
}

/// Whether a text is an id: `PLAN-` and eight letters or digits.
pub fn is_id(text: &str) -> bool {
    let is_rest =
        |rest: &str| rest.len() == ID_CHARS && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    text.strip_prefix(ID_PREFIX).is_some_and(is_rest)
}

/// The version of a plan, incremented on every write; 1 if missing, `None` if it is not a positive whole number.
pub fn version(source: &Source) -> Option<u64> {
    let parts = frontmatter::split(source.text());
    let (frontmatter, _) = frontmatter::read(source, &parts);
    match frontmatter.entry("version") {
        None => Some(1),
        Some(entry) => match entry.value.as_ref()?.value.trim() {
            "" => Some(1),
            text => text.parse().ok().filter(|&version| version > 0),
        },
    }
}

/// The edits that record the result of a run in one line.
pub fn summarise(source: &Source, summary: &str) -> Vec<Edit> {
    patch::summarise(source, summary)
}

/// Tool, operation and target of a step, if it names them.
pub fn operation(step: &StepDraft) -> Option<Operation> {
    let task = &step.task.as_ref()?.value;
    let found = |line: &str| match operation::divide(line).1 {
        Suffix::Tool(operation) => Some(operation),
        Suffix::Empty | Suffix::Absent => None,
    };
    let operation =
        task.lines().next().and_then(found).or_else(|| task.lines().next_back().and_then(found))?;
    step.tools.iter().any(|tool| tool.value == operation.tool).then_some(operation)
}

/// The id of a plan: the written one, or its file name.
fn id_of(source: &Source, draft: &Draft) -> String {
    let said = draft.frontmatter.value("id").map(|id| id.value.clone());
    said.unwrap_or_else(|| file_stem(source.place()).to_owned())
}

/// The file name without directory and extension.
pub(crate) fn file_stem(place: &str) -> &str {
    let name = place.rsplit(['/', '\\']).next().unwrap_or(place);
    name.strip_suffix(".md").unwrap_or(name)
}

/// A proposal is in `.pi/plans/` or its archive, or has the frontmatter of one.
fn recognises(place: &str, text: &str) -> Option<String> {
    let folders: Vec<&str> =
        place.split(['/', '\\']).filter(|folder| !folder.is_empty() && *folder != ".").collect();
    if let [.., ".pi", "plans", name] | [.., ".pi", "plans", "archive", name] = folders.as_slice()
        && name.starts_with(ID_PREFIX)
        && name.strip_suffix(".md").is_some()
    {
        let folder =
            if folders[folders.len() - 2] == "archive" { ".pi/plans/archive/" } else { ".pi/plans/" };
        return Some(format!("{name} in {folder}"));
    }
    let yaml = frontmatter::glimpse(text);
    let value = |key: &str| {
        let line = yaml.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        Some(line.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']))
    };
    let status = value("status").filter(|status| DIALECT.state(status).is_some())?;
    let id = value("id").filter(|id| id.starts_with(ID_PREFIX))?;
    Some(format!("`id: {id}` and `status: {status}` in its frontmatter"))
}

fn parse(source: &Source) -> Draft {
    let parts = frontmatter::split(source.text());
    let outline = ProposalOutline::of(source, &parts);
    let mut draft = read(source, &parts, &outline);
    context::read(source, &outline, &mut draft);
    draft
}

/// Parses what a list shows: everything except the context.
fn skim(source: &Source) -> Draft {
    let parts = frontmatter::split(source.text());
    read(source, &parts, &ProposalOutline::of(source, &parts))
}

fn read(source: &Source, parts: &FrontmatterParts, outline: &ProposalOutline) -> Draft {
    let (frontmatter, mut oddities) = frontmatter::read(source, parts);
    oddities.extend(dialect::unclosed(&outline.blocks));
    let tools = tools_required(source);
    let steps = step::read_all(source, outline, &tools, &mut oddities);
    let oddities = dialect::in_order(oddities);
    let mut draft = Draft { frontmatter, steps, oddities, ..Draft::default() };
    DIALECT.claim(draft.frontmatter.value("status").cloned(), &mut draft);
    draft.title = draft.frontmatter.value("title").cloned().or_else(|| first_heading(&draft, outline));
    draft
}

/// The title of a plan without a `title` key: the first level-1 heading before the steps.
fn first_heading(draft: &Draft, outline: &ProposalOutline) -> Option<Spanned<String>> {
    let first_step = draft.steps.first().map_or(outline.blocks.body.end, |step| step.whole.0.start);
    let is_title = |section: &&outline::ProposalHeading| {
        section.heading.level == 1
            && !section.read.is_steps()
            && !section.read.is_other()
            && section.start() < first_step
    };
    let title = outline.sections.iter().find(is_title).map(|section| section.title.clone());
    title.filter(|title| !title.value.is_empty())
}

/// The tools that the plan may use: a list, or names separated by commas.
pub fn tools_required(source: &Source) -> Vec<Spanned<String>> {
    let (entries, _) = frontmatter::nodes(source, &frontmatter::split(source.text()));
    let Some(node) = tree::first(&entries, "tools_required") else { return Vec::new() };
    let texts = node.each().iter().filter_map(|item| Some((item.text()?, item.span)));
    let names = texts
        .flat_map(|(text, span)| text.split(',').map(move |name| Spanned::new(name.trim().to_owned(), span)));
    names.filter(|name| !name.value.is_empty()).collect()
}
