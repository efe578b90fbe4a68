//! The session log of a proposal: one line of JSON per step result in `sessions/<id>.jsonl`. Append-only; the last line
//! of a step counts.

use serde::Deserialize;

use super::{Operation, id_of, operation};
use crate::dialect::{PlanEvent, SidecarEdit};
use crate::plan::draft::Draft;
use crate::syntax::source::Source;

/// The status of a step in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionOutcome {
    Started,
    Success,
    Failed,
    Skipped,
}

/// One line of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Checkpoint {
    /// Position of the step, counted from 1.
    pub step: u32,
    /// Its tool; empty if it names none.
    #[serde(default)]
    pub tool: String,
    /// The operation.
    #[serde(default, rename = "op", alias = "operation")]
    pub operation: String,
    pub status: SessionOutcome,
    #[serde(default)]
    pub result_summary: Option<String>,
    #[serde(default)]
    pub error: Option<String>,
}

/// The step lines of a session. Other lines, and lines truncated by a crash, are skipped.
pub fn checkpoints(text: &str) -> Vec<Checkpoint> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line.trim_start_matches('\u{feff}').trim()).ok())
        .collect()
}

/// The session line for a finished contract.
pub(super) fn beside(source: &Source, draft: &Draft, happening: &PlanEvent<'_>) -> Vec<SidecarEdit> {
    match *happening {
        PlanEvent::Judged { step, passed, summary, .. } => {
            let operation = draft.steps.get(step).and_then(operation);
            let path = format!("sessions/{}.jsonl", id_of(source, draft));
            vec![SidecarEdit::Append { path, line: line(step + 1, operation.as_ref(), (passed, summary)) }]
        }
        PlanEvent::Noted { .. } | PlanEvent::Became { .. } => Vec::new(),
    }
}

fn line(step: usize, operation: Option<&Operation>, (passed, summary): (bool, &str)) -> String {
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let tool = json(operation.map_or("", |operation| &operation.tool));
    let op = json(operation.map_or("", |operation| &operation.operation));
    let (status, key) = if passed { ("success", "result_summary") } else { ("failed", "error") };
    let summary = json(summary);
    format!(r#"{{"step": {step}, "tool": {tool}, "op": {op}, "status": "{status}", "{key}": {summary}}}"#)
}
