//! What plans need but is missing here: tools, agents, programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::StepRecord;
use crate::run::event::{AttemptEnd, AttemptFinish, Event, StepEvent};
use crate::run::judge::JudgeFailure;
use crate::run::receipt::Receipt;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gap {
    pub kind: GapKind,
    /// Its name, or why an agent was unavailable.
    pub name: String,
    pub times: usize,
    /// As `plan/step`.
    pub steps: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GapKind {
    /// A tool that a step lists and that nobody here has.
    Tool,
    /// An agent that was unavailable, so that the attempt was postponed.
    Agent,
    /// A program that a contract calls and that isn't installed (exit 126 or 127).
    Program,
}

impl GapKind {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Program => "program",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// The steps, by kind and name.
    missed: BTreeMap<(GapKind, String), Vec<String>>,
}

impl Gaps {
    pub(super) fn count(&mut self, record: &StepRecord<'_>, since_ms: u64) {
        let place = |step: &str| format!("{}/{step}", record.name);
        for step in &record.plan.steps {
            for tool in &step.tools {
                self.miss(GapKind::Tool, tool_name(tool), place(&step.id));
            }
        }
        for (_, event) in record.events.iter().filter(|(at_ms, _)| *at_ms >= since_ms) {
            let Event::Step { step, event } = event else { continue };
            match event {
                StepEvent::Finished(AttemptFinish { end: AttemptEnd::Parked { why, .. }, .. }) => {
                    self.miss(GapKind::Agent, why, place(step));
                }
                StepEvent::Judged { receipt, .. } => {
                    if let Some(JudgeFailure::CannotRun(_)) = receipt.verdict.failure() {
                        let name = missing_program(record, receipt);
                        self.miss(GapKind::Program, &name, place(step));
                    }
                }
                StepEvent::Started(_) | StepEvent::Finished(_) | StepEvent::Faulted { .. } => {}
            }
        }
    }

    fn miss(&mut self, kind: GapKind, name: &str, step: String) {
        self.missed.entry((kind, name.to_owned())).or_default().push(step);
    }

    /// The gaps, the most frequent first; `has_tool` says whether a tool is available here.
    pub(super) fn figures(self, has_tool: impl Fn(&str) -> bool) -> Vec<Gap> {
        let missed =
            self.missed.into_iter().filter(|((kind, name), _)| *kind != GapKind::Tool || !has_tool(name));
        let mut gaps: Vec<Gap> = missed
            .map(|((kind, name), mut steps)| {
                let times = steps.len();
                steps.sort();
                steps.dedup();
                Gap { kind, name, times, steps }
            })
            .collect();
        gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.times), gap.kind, gap.name.clone()));
        gaps
    }
}

/// The tool in `odoo: read` and in `Bash(git:*)`.
pub fn tool_name(written: &str) -> &str {
    written.split([':', '(']).next().unwrap_or_default().trim()
}

/// The program that bash did not find, from its error message; the exit code if that isn't kept.
fn missing_program(record: &StepRecord<'_>, receipt: &Receipt) -> String {
    let output = record.outputs.get(&receipt.output).map(String::as_str).unwrap_or_default();
    let named = output.lines().rev().find_map(|line| {
        let found = ["command not found", "No such file or directory", "Permission denied"];
        let head = found.iter().find_map(|end| line.trim_end().strip_suffix(end))?;
        head.trim_end()
            .strip_suffix(':')?
            .rsplit(": ")
            .next()
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    });
    named.unwrap_or_else(|| receipt.verdict.failure().map(ToString::to_string).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_without_what_it_is_used_for() {
        let names = ["odoo: read", "Bash(git:*)", "Read", " git "].map(tool_name);
        assert_eq!(names, ["odoo", "Bash", "Read", "git"]);
    }
}
