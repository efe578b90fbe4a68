//! The progress file of a plan: one line per event, append-only.

use super::slug::{plan_of, progress_file};
use crate::dialect::{PlanEvent, SidecarEdit};
use crate::plan::draft::Draft;
use crate::plan::lifecycle::PlanState;
use crate::syntax::source::Source;
use crate::syntax::text::one_line;

/// The line for an event: `2026-06-10 14:30 /work — completed task 1: "First task" (all tests pass)`. `None` for a plan
/// whose file name is not that of a named plan, which has no progress file.
pub(super) fn beside(source: &Source, draft: &Draft, happening: &PlanEvent<'_>) -> Vec<SidecarEdit> {
    let place = source.place().replace('\\', "/");
    let Some(name) = plan_of(place.rsplit('/').next().unwrap_or_default()) else { return Vec::new() };
    let (at, phase, text) = match happening {
        PlanEvent::Noted { text, at } => (at, "work", (*text).to_owned()),
        PlanEvent::Judged { step, passed, summary, at } => (
            at,
            "work",
            judged(draft, *step, if *passed { "completed task" } else { "failed task" }, summary),
        ),
        PlanEvent::Became { state, at } => {
            let phase = match state {
                PlanState::Draft | PlanState::Proposed | PlanState::Approved | PlanState::Rejected => "plan",
                PlanState::Running
                | PlanState::Waiting(_)
                | PlanState::Done
                | PlanState::Failed
                | PlanState::Cancelled => "work",
            };
            (at, phase, format!("plan is {state}"))
        }
    };
    let line = format!("{} /{phase} — {}", minute(at), one_line(&text));
    vec![SidecarEdit::Append { path: progress_file(name.slug()), line }]
}

fn judged(draft: &Draft, step: usize, verdict: &str, summary: &str) -> String {
    let (number, title) = draft.steps.get(step).map_or_else(
        || ((step + 1).to_string(), ""),
        |step| (step.number.value.to_string(), step.title.value.as_str()),
    );
    let remark = if summary.trim().is_empty() { String::new() } else { format!(" ({summary})") };
    format!("{verdict} {number}: \"{title}\"{remark}")
}

/// A time without its seconds: `2026-06-10 14:30`.
fn minute(at: &str) -> String {
    let minute: String = at.chars().take("2026-06-10T14:30".len()).collect();
    minute.replacen('T', " ", 1)
}
