//! Review findings: next to a state, as lines, and as data.

use planwright_engine::core::agent::finding;
use planwright_engine::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

use super::number;
use crate::output::{Out, Tone, clean_line};

/// How many findings are shown; `--json` has all of them.
const SHOWN_MAX: usize = 20;

/// Something that a reviewer found.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FindingData {
    /// The id of the reviewer's step.
    pub(crate) step: String,
    /// `error`, `warning` or `note`.
    pub(crate) severity: String,
    /// The file that it is in; empty where it is in none.
    pub(crate) path: String,
    /// The line there.
    pub(crate) line: Option<u32>,
    /// What is wrong.
    pub(crate) text: String,
}

/// A state with what reviewers found: `done, 3 findings`.
pub(crate) fn with_findings(state: &str, findings: usize) -> String {
    match findings {
        0 => state.to_owned(),
        _ => format!("{state}, {}", number(findings, "finding")),
    }
}

/// What reviewers found in a run.
pub(crate) fn data(run: &Run) -> Vec<FindingData> {
    let data = run.state.findings().map(|(place, finding)| FindingData {
        step: run.plan.steps[place].id.clone(),
        severity: finding.severity.word().to_owned(),
        path: finding.path.clone(),
        line: finding.line,
        text: finding.text.clone(),
    });
    data.collect()
}

/// Says what reviewers found in a run.
pub(crate) fn print(run: &Run, out: &mut Out<'_>) {
    let found: Vec<_> = run.state.findings().collect();
    for (place, finding) in found.iter().take(SHOWN_MAX) {
        let word = out.palette().paint(Tone::Attention, "found");
        let step = &run.plan.steps[*place].id;
        out.line(&format!("  {word}      {}", clean_line(&format!("{step}: {}", finding::line(finding)))));
    }
    if found.len() > SHOWN_MAX {
        out.line(&format!("  and {} more", found.len() - SHOWN_MAX));
    }
}
