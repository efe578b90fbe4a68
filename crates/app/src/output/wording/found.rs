//! Review findings, next to a state and as lines.

use planwright_engine::api::FindingView;

use super::number;
use crate::output::{Out, Tone, clean_line};

/// How many findings are shown; `--json` has all of them.
const SHOWN_MAX: usize = 20;

/// A state with what reviewers found: `done, 3 findings`.
pub(crate) fn with_findings(state: &str, findings: usize) -> String {
    match findings {
        0 => state.to_owned(),
        _ => format!("{state}, {}", number(findings, "finding")),
    }
}

/// Says what reviewers found in a run.
pub(crate) fn print(found: &[FindingView], out: &mut Out<'_>) {
    for finding in found.iter().take(SHOWN_MAX) {
        let word = out.palette().paint(Tone::Attention, "found");
        out.line(&format!("  {word}      {}", clean_line(&format!("{}: {}", finding.step, finding.summary))));
    }
    if found.len() > SHOWN_MAX {
        out.line(&format!("  and {} more", found.len() - SHOWN_MAX));
    }
}
