//! What became of the steps of a proposal: one line of JSON each in `sessions/<id>.jsonl`, in the form of the document. The
//! file only grows; the last line of a step counts.

use serde::Deserialize;

use super::{Operation, id_of, operation};
use crate::dialect::{Beside, Happening};
use crate::plan::draft::Draft;
use crate::syntax::source::Source;

/// What a line says of its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Somebody is at it.
    Started,
    Success,
    Failed,
    /// It was left out.
    Skipped,
}

/// One line of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Checkpoint {
    /// The place of the step, counted from 1.
    pub step: u32,
    /// Its tool; empty where it names none.
    #[serde(default)]
    pub tool: String,
    /// What the tool did.
    #[serde(default, rename = "op", alias = "operation")]
    pub operation: String,
    /// What became of it.
    pub status: Outcome,
    #[serde(default)]
    pub result_summary: Option<String>,
    #[serde(default)]
    pub error: Option<String>,
}

/// The lines of a session that speak of a step. Others, and lines that a crash cut off, are passed over.
pub fn checkpoints(text: &str) -> Vec<Checkpoint> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line.trim_start_matches('\u{feff}').trim()).ok())
        .collect()
}

/// A step that was judged is a line of the session.
pub(super) fn beside(source: &Source, draft: &Draft, happening: &Happening<'_>) -> Vec<Beside> {
    match *happening {
        Happening::Judged { step, passed, summary, .. } => {
            let operation = draft.steps.get(step).and_then(operation);
            let path = format!("sessions/{}.jsonl", id_of(source, draft));
            vec![Beside::Append { path, line: line(step + 1, operation.as_ref(), (passed, summary)) }]
        }
        Happening::Noted { .. } | Happening::Became { .. } => Vec::new(),
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
