//! Compares the marks in a plan file with the record. planwright writes a mark after the verdict, but anybody
//! else can write one, too, so a mark proves nothing.

use super::receipt::Folded;
use super::{AuditCheck, Found, Kind};
use crate::audit::bundle::AuditBundle;
use crate::plan::draft::{Draft, Mark};
use crate::plan::lifecycle::PlanState;
use crate::plan::verified;
use crate::run::event::RunOutcome;
use crate::run::state::StepStatus;
use crate::syntax::source::Source;

/// The steps that a draft marks as done, by id, each with its contract; `None` for a manual step.
pub fn claims(draft: &Draft) -> Vec<(String, Option<String>)> {
    let ids = verified::ids(draft);
    let done = draft.steps.iter().zip(ids).filter(|(step, _)| step.mark() == Some(Mark::Done));
    done.map(|(step, id)| {
        let command = step.contract.as_ref().and_then(|contract| contract.command.as_ref());
        (id, command.map(|command| command.value.clone()))
    })
    .collect()
}

pub(super) fn marks(bundle: &AuditBundle, folded: &[Folded], file: Option<&Source>, found: &mut Found<'_>) {
    let Some(source) = file.filter(|_| found.has(AuditCheck::Mark)) else { return };
    let draft = source.draft();
    for (id, command) in claims(&draft) {
        if let Some(why) = unproven(folded, &id, command.as_deref()) {
            found.find(Kind::UnprovenMark, format!("step `{id}`"), format!("marked as done, but {why}"));
        }
    }
    if draft.state.as_ref().is_some_and(|state| state.value == PlanState::Done) && !is_done(folded) {
        let why = match bundle.runs.is_empty() {
            true => "it has not been run".to_owned(),
            false => "no run of it finished as done".to_owned(),
        };
        let text = format!("the file marks the plan as done, but {why}");
        found.find(Kind::UnprovenMark, "the status".to_owned(), text);
    }
}

/// Whether the last finished run is done.
fn is_done(folded: &[Folded]) -> bool {
    let last = folded.iter().rev().find_map(|run| run.state.as_ref()?.outcome());
    last == Some(RunOutcome::Done)
}

/// Why a step isn't proven done. The last run that contains the step decides.
fn unproven(folded: &[Folded], id: &str, command: Option<&str>) -> Option<String> {
    let known = folded.iter().rev().find_map(|run| {
        let (plan, state) = (run.plan.as_ref()?, run.state.as_ref()?);
        let place = state.place(id)?;
        Some((&plan.steps[place], &state.steps[place]))
    });
    let Some((step, state)) = known else { return Some("it has no receipt".to_owned()) };
    match &state.status {
        StepStatus::Passed { .. } => {}
        StepStatus::Skipped { by, .. } => return Some(format!("it was skipped by {by}")),
        StepStatus::Pending(_)
        | StepStatus::Running { .. }
        | StepStatus::Judging { .. }
        | StepStatus::Waiting { .. } => {
            return Some(match state.history.failed.last() {
                Some(failed) => format!("its contract failed ({})", failed.failure),
                None => "its contract has not passed".to_owned(),
            });
        }
    }
    (step.contract.command() != command).then(|| "its receipt is for a different contract".to_owned())
}
