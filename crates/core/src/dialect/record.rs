//! The record dialect: one map in YAML or JSON, with steps counted from 0. Reads anything, writes only the bytes that a
//! change needs. docs/reference/dialects/record.md describes the format.

mod compose;
mod event;
mod excerpt;
mod fault;
mod map;
mod patch;
mod pointer;
mod read;
mod replan;
mod spelling;

pub use event::{created_line, replanned_line, step_line};
pub use pointer::{POINTER, PointerFault, TaskPointer, pointer};
pub use replan::{RecordReplan, Successor, adopted, next_id, replanned};

use crate::dialect::{Dialect, PlanLocation};
use crate::plan::draft::{DraftField, Mark};
use crate::plan::lifecycle::{PlanState, WaitReason};
use crate::syntax::source::Source;
use crate::syntax::tree::Node;
use crate::syntax::yaml;

pub(super) const DIALECT: Dialect = Dialect {
    name: "record",
    summary: "a YAML or JSON file in `.rawko/plans/`, or one with the keys `task`, `steps` and `currentStepIndex`",
    recognises,
    parse: read::parse,
    skim: read::skim,
    states: STATES,
    spell,
    marks: &Mark::ALL,
    has_traces: true,
    title_key: Some("task"),
    keys: PLAN_KEYS,
    fields: FIELDS,
    is_strict: false,
    owned: &["status", "currentStepIndex", "createdAt", "updatedAt", "version", "previousPlanId"],
    edits: patch::edits,
    touch: patch::touch,
    home: |name, _| PlanLocation { id: name.to_owned(), path: format!(".rawko/plans/{name}.yaml") },
    canonical: |source| source.text().to_owned(),
    compose: compose::compose,
    beside: Some(pointer::beside),
    overflow: |_| None,
};

/// The limit of scalars, lists and maps in a plan: 10,000 steps have about 300,000.
const NODES_MAX: usize = 1_000_000;

const STEPS_MAX: usize = 20_000;

/// The spellings of a plan's states.
const STATES: &[(&str, PlanState)] = &[
    ("draft", PlanState::Draft),
    ("in_progress", PlanState::Running),
    ("complete", PlanState::Done),
    ("failed", PlanState::Failed),
    ("replanning", PlanState::Waiting(WaitReason::Replanning)),
];

pub(crate) const fn spelled(state: PlanState) -> &'static str {
    match spell(state) {
        Some(word) => word,
        None => "",
    }
}

#[expect(clippy::unnecessary_wraps, reason = "other dialects have no word for some states")]
const fn spell(state: PlanState) -> Option<&'static str> {
    Some(match state {
        PlanState::Draft | PlanState::Proposed | PlanState::Approved => "draft",
        // A plan that waits for an answer or for the machine continues unchanged afterwards; it is not replanned.
        PlanState::Running | PlanState::Waiting(WaitReason::Question | WaitReason::Machine) => "in_progress",
        PlanState::Waiting(_) | PlanState::Rejected => "replanning",
        PlanState::Done => "complete",
        PlanState::Failed | PlanState::Cancelled => "failed",
    })
}

/// The spellings of a step's state.
pub(crate) const STEP_WORDS: &[&str] = &["pending", "in_progress", "complete", "failed", "skipped"];

/// The spelling of a mark.
const fn word(mark: Option<Mark>) -> &'static str {
    match mark {
        None => "pending",
        Some(Mark::Running) => "in_progress",
        Some(Mark::Done) => "complete",
        Some(Mark::Failed) => "failed",
        Some(Mark::Skipped) => "skipped",
    }
}

/// In canonical order.
const PLAN_KEYS: &[&str] = &[
    "id",
    "task",
    "status",
    "version",
    "previousPlanId",
    "currentStepIndex",
    "createdAt",
    "updatedAt",
    "createdBy",
    "steps",
    "metadata",
];

/// In canonical order. The dialect defines those up to `acceptanceCriteria`; planwright adds the others.
const STEP_KEYS: &[&str] = &[
    "index",
    "id",
    "description",
    "status",
    "suggestedAgent",
    "executedBy",
    "startedAt",
    "completedAt",
    "output",
    "error",
    "affectedFiles",
    "dependsOn",
    "instructions",
    "acceptanceCriteria",
    "reads",
    "touches",
    "sealed",
    "tools",
    "env",
    "network",
    "timeout",
    "setup",
    "contract",
    "exitCode",
    "contractTimeout",
    "green",
    "judge",
    "onFail",
];

/// In canonical order. planwright adds the last three.
const METADATA_KEYS: &[&str] =
    &["complexity", "tags", "constraints", "informedByMemories", "priority", "budget", "notes"];

/// The keys of a step that the author writes, and the fields they map to.
const FIELDS: &[(DraftField, &[&str])] = &[
    (DraftField::Id, &["id"]),
    (DraftField::Status, &["status"]),
    (DraftField::Target, &["suggestedAgent"]),
    (DraftField::Needs, &["dependsOn"]),
    (DraftField::Task, &["instructions"]),
    (DraftField::Accept, &["acceptanceCriteria"]),
    (DraftField::Reads, &["reads"]),
    (DraftField::Touches, &["touches"]),
    (DraftField::Sealed, &["sealed"]),
    (DraftField::Tools, &["tools"]),
    (DraftField::Env, &["env"]),
    (DraftField::Network, &["network"]),
    (DraftField::Timeout, &["timeout"]),
    (DraftField::Setup, &["setup"]),
    (DraftField::Contract, &["contract"]),
    (DraftField::ExitCode, &["exitCode"]),
    (DraftField::ContractTimeout, &["contractTimeout"]),
    (DraftField::Green, &["green"]),
    (DraftField::Judge, &["judge"]),
    (DraftField::OnFail, &["onFail"]),
];

/// The directory of plans.
const FOLDER: &str = ".rawko/plans/";

/// Detected by path, whatever the content, or by a combination of keys that no other format has.
fn recognises(place: &str, text: &str) -> Option<String> {
    let place = place.replace('\\', "/");
    let name = place.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let is_data = matches!(extension.as_deref(), Some("yaml" | "yml" | "json"));
    let is_in_folder = lies_in_folder(&place);
    if is_data && is_in_folder {
        return Some(format!("{name} in {FOLDER}"));
    }
    if !is_data && extension.is_some() {
        return None;
    }
    let (root, _) = yaml::read(text, 0);
    let root = root.filter(Node::is_map)?;
    let value = |key: &str| root.first(key).and_then(Node::text);
    let has_steps = root.first("steps").is_some_and(Node::is_list);
    let has_task = value("task").is_some();
    let says_state = value("status").is_some_and(|word| DIALECT.state(word).is_some());
    let counts = root.first("currentStepIndex").is_some();
    match (has_task, has_steps, counts) {
        (true, true, true) => Some("`task`, `steps` and `currentStepIndex`".to_owned()),
        // A record of which nothing but the steps is missing.
        (true, false, true) => Some("`task` and `currentStepIndex`".to_owned()),
        (true, true, false) if says_state => Some("`task`, `steps` and `status`".to_owned()),
        (true | false, true | false, true | false) => None,
    }
}

/// Whether a plan is directly in the plan directory of this dialect.
fn lies_in_folder(place: &str) -> bool {
    let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("/{folder}/").ends_with(&format!("/{FOLDER}"))
}

/// Whether the whole text is JSON, or YAML in JSON style.
fn is_json(source: &Source) -> bool {
    source.text().trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

#[cfg(test)]
mod tests;
