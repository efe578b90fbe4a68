//! `.rawko/current-task.yaml`, which names the current plan.

use std::fmt;

use crate::dialect::{PlanEvent, SidecarEdit};
use crate::plan::draft::Draft;
use crate::plan::lifecycle::PlanState;
use crate::syntax::source::{Position, Source};
use crate::syntax::yaml;
use crate::syntax::yaml::{FaultKind, YamlNode};

/// The path of the pointer, relative to the plan directory.
pub const POINTER: &str = "../current-task.yaml";

/// The content of the pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPointer {
    /// The task in words.
    pub task: String,
    /// The current plan: a file name in the plan directory, without extension.
    pub plan_id: String,
    /// The state in the dialect's spelling; empty if missing.
    pub status: String,
}

impl TaskPointer {
    /// Candidate files for the plan, relative to the pointer's directory; the first existing one counts.
    pub fn files(&self) -> [String; 3] {
        ["yaml", "yml", "json"].map(|extension| format!("plans/{}.{extension}", self.plan_id))
    }
}

/// Why a pointer is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PointerFault {
    /// It is not YAML that planwright accepts.
    Unreadable { at: Position, why: String },
    /// It has no `planId`.
    NoPlan,
    /// Its `planId` is not a file name.
    Unsafe(String),
}

impl fmt::Display for PointerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { at, why } => write!(f, "line {}: {why}", at.line),
            Self::NoPlan => f.write_str("`planId` is missing"),
            Self::Unsafe(id) => write!(f, "invalid plan name `{id}`"),
        }
    }
}

impl std::error::Error for PointerFault {}

pub fn pointer(text: &str) -> Result<TaskPointer, PointerFault> {
    let source = Source::new(POINTER, text);
    let (root, faults) = yaml::read(text, 0);
    if let Some(fault) = faults.into_iter().next() {
        let at = source.position(fault.span.start);
        let why = match fault.kind {
            FaultKind::Syntax(message) => message,
            FaultKind::DuplicateKey { key, .. } => format!("duplicate key `{key}`"),
            FaultKind::Anchor | FaultKind::Alias | FaultKind::Tag | FaultKind::MergeKey => {
                "anchors, aliases and tags are not allowed here".to_owned()
            }
            FaultKind::SecondDocument => "second YAML document".to_owned(),
            FaultKind::TooDeep | FaultKind::TooManyNodes => "the file is too large".to_owned(),
        };
        return Err(PointerFault::Unreadable { at, why });
    }
    let root = root.filter(|root| root.is_map()).ok_or(PointerFault::NoPlan)?;
    let said = |key: &str| root.get(key).and_then(YamlNode::text).unwrap_or_default().trim().to_owned();
    let plan_id = said("planId");
    match plan_id.as_str() {
        "" | "null" | "~" => Err(PointerFault::NoPlan),
        // Rejects names that leave the directory.
        id if id.contains(['/', '\\', '\0']) || id.starts_with('.') => Err(PointerFault::Unsafe(plan_id)),
        _ => Ok(TaskPointer { task: said("task"), plan_id, status: said("status") }),
    }
}

/// Updates the pointer for the current plan, if it is in the plan directory of this dialect.
pub(super) fn beside(source: &Source, draft: &Draft, happening: &PlanEvent<'_>) -> Vec<SidecarEdit> {
    let PlanEvent::Became { state, .. } = happening else { return Vec::new() };
    let is_carried_out = match state {
        PlanState::Running
        | PlanState::Waiting(_)
        | PlanState::Done
        | PlanState::Failed
        | PlanState::Cancelled => true,
        PlanState::Draft | PlanState::Proposed | PlanState::Approved | PlanState::Rejected => false,
    };
    let place = source.place().replace('\\', "/");
    if !is_carried_out || !super::lies_in_folder(&place) {
        return Vec::new();
    }
    let name = place.rsplit('/').next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let id = draft.frontmatter.value("id").map_or(stem, |id| id.value.as_str());
    let task = draft.title.as_ref().map_or("", |title| title.value.as_str());
    let status = super::spell(*state).unwrap_or_default();
    let values = [("task", task), ("planId", id), ("status", status)];
    vec![SidecarEdit::Set {
        path: POINTER.to_owned(),
        values: values.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    }]
}
