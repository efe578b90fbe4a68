//! What sessions of the user's own agents learn about plans: which are active and their state. Only reads;
//! finished plans are never mentioned, and nothing here is a verdict.

mod stop_gate;

pub use stop_gate::{Gate, StopQuestion, gate};

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use planwright_core::dialect::named::Slug;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::run::event::AskReason;
use planwright_core::run::state::StepStatus;
use planwright_core::syntax::count::counted;
use planwright_core::workspace::active_plan::MARKER;
use planwright_core::workspace::reminder::{ActiveStep, ReminderContext, ReminderStage, first_open, heading};

use crate::approval;
use crate::approval::Approvals;
use crate::git::sealed;
use crate::run;
use crate::run::{Run, RunSummaryRow, Runs};
use crate::store::journal;
use crate::store::journal::{LedgerRow, LockHolder};
use crate::store::plan_file;
use crate::system::process;
use crate::workspace::active_plan;
use crate::workspace::project;
use crate::workspace::project::Project;

/// The most active plans that are read.
const PLANS_MAX: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error(transparent)]
    Runs(#[from] run::Error),
    #[error(transparent)]
    Decisions(#[from] approval::Error),
    #[error("cannot read the record")]
    Journal(#[from] journal::Error),
    #[error("cannot read the sealed files")]
    Seal(#[from] sealed::Error),
    /// Cannot record what sessions were told.
    #[error("cannot record that a session was held back")]
    Note(#[source] std::io::Error),
}

/// Whether an agent that planwright started has started this process: such an agent knows its task and needs
/// no plan.
pub fn is_attempt() -> bool {
    process::job_above().is_some()
}

/// The active plans, most recently changed first: those that are running, otherwise those that may run,
/// otherwise those pending review.
///
/// The plan that this worktree is bound to comes first.
pub fn active(project: &Project) -> Result<Vec<ActiveStep>, Error> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(Vec::new()) };
    // A dangling marker puts no plan first; it is reported on its own.
    let bound = active_plan::of_marker(project).ok().flatten().map(|bound| bound.plan);
    let is_other = |plan: &Path| bound.as_ref() != Some(&project.root.join(plan));
    let runs = decisions.runs();
    let mut going = runs.newest()?;
    going.retain(|glance| glance.tally.outcome().is_none());
    going.sort_by_key(|glance| (is_other(&glance.path), Reverse(glance.changed_at_ms)));
    if !going.is_empty() {
        return going.iter().take(PLANS_MAX).map(|glance| of_run(runs, glance)).collect();
    }
    let approved = approved(&decisions)?;
    let (mut rows, stage) = match approved.is_empty() {
        false => (approved, ReminderStage::Approved),
        true => (newest_first(decisions.waiting()?), ReminderStage::Proposed),
    };
    rows.sort_by_key(|row| is_other(&row.plan));
    let here = rows.into_iter().filter(|row| project.root.join(&row.plan).exists());
    here.take(PLANS_MAX).filter_map(|row| of_ledger(&decisions, &row, stage).transpose()).collect()
}

/// The plan binding of a session's worktree, for the agent; `None` without one.
pub fn binding_of(project: &Project) -> Option<String> {
    Some(match active_plan::of_marker(project) {
        Ok(None) => return None,
        Ok(Some(bound)) => {
            let slug = bound.name.slug().map_or("", Slug::as_str);
            let plan = bound.plan.strip_prefix(&project.root).unwrap_or(&bound.plan).display();
            let progress = bound.progress.strip_prefix(&project.root).unwrap_or(&bound.progress).display();
            format!(
                "This worktree is bound to the plan `{slug}` ({MARKER}): {plan}, progress in {progress}. Other plans are other workers'."
            )
        }
        Err(error) => format!(
            "This worktree is bound to no plan, DANGLING: {error}. Tell a person; don't take another plan."
        ),
    })
}

/// Plans that may run, newest first.
fn approved(decisions: &Approvals) -> Result<Vec<LedgerRow>, Error> {
    let mut rows = decisions.runs().store().ledgers()?;
    rows.retain(|row| row.summary.state == PlanState::Approved.to_string());
    Ok(newest_first(rows))
}

fn newest_first(mut rows: Vec<LedgerRow>) -> Vec<LedgerRow> {
    rows.sort_by_key(|row| Reverse(row.summary.since_ms));
    rows
}

fn of_run(runs: &Runs, glance: &RunSummaryRow) -> Result<ActiveStep, Error> {
    let run = runs.run(glance.run)?;
    let holder = runs.holder(&run)?;
    let steps = || run.plan.steps.iter().zip(&run.state.steps);
    let settled: Vec<String> = steps()
        .filter_map(|(step, now)| match &now.status {
            StepStatus::Passed { .. } => {
                Some(format!("{}: contract passed, attempt {}", heading(step), now.history.attempts))
            }
            StepStatus::Skipped { by, reason } => {
                Some(format!("{}: skipped by {by}: {reason}", heading(step)))
            }
            StepStatus::Pending(_)
            | StepStatus::Running { .. }
            | StepStatus::Judging { .. }
            | StepStatus::Waiting { .. } => None,
        })
        .collect();
    let flags: Vec<bool> = run.state.steps.iter().map(|step| step.status.is_settled()).collect();
    let busy = run
        .state
        .steps
        .iter()
        .position(|step| !step.status.is_settled() && !matches!(step.status, StepStatus::Pending(_)));
    let now = busy
        .or_else(|| first_open(&run.plan, &flags))
        .map(|place| ReminderContext::of(&run.plan.steps[place]));
    let number = run.row.id.number();
    let stand = match (run.state.is_stopped(), run.state.asks.is_empty(), holder.is_some()) {
        (true, ..) => "stopped",
        (false, false, _) => "waiting for you",
        (false, true, true) => "running",
        (false, true, false) => "started, but no process is running it",
    };
    let asks = run.state.asks.values().map(|ask| {
        let about = ask.step.map_or("the run", |place| run.plan.steps[place].id.as_str());
        format!("{about}: {}", ask.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
    });
    Ok(ActiveStep {
        name: glance.plan.clone(),
        path: glance.path.to_string_lossy().into_owned(),
        title: run.plan.title.clone(),
        state: format!(
            "{stand}, run {number}; {} of {} done",
            settled.len(),
            counted(flags.len(), "step", "steps")
        ),
        stage: ReminderStage::Run,
        settled,
        now,
        asks: asks.collect(),
        next: next_of(&run, holder.as_ref()),
    })
}

/// The command for a person to type next.
fn next_of(run: &Run, driver: Option<&LockHolder>) -> String {
    let plan = word(&run.row.name, &run.row.plan);
    match run.state.asks.values().next() {
        Some(ask) if ask.reason != AskReason::Stalled => {
            let step = ask.step.map(|place| format!("/{}", run.plan.steps[place].id)).unwrap_or_default();
            format!("planwright answer {plan}{step}")
        }
        None if driver.is_some() => "planwright status".to_owned(),
        Some(_) | None => format!("planwright run {plan}"),
    }
}

fn of_ledger(
    decisions: &Approvals,
    row: &LedgerRow,
    stage: ReminderStage,
) -> Result<Option<ActiveStep>, Error> {
    let case = decisions.case_of(row.plan.clone())?;
    let Some(revision) = case.standing.newest() else { return Ok(None) };
    let plan = decisions.plan(&case, revision)?;
    let (name, count) = (plan_file::name(&row.plan), plan.steps.len());
    let open = vec![false; count];
    let verb = if stage == ReminderStage::Approved { "run" } else { "review" };
    Ok(Some(ActiveStep {
        path: row.plan.to_string_lossy().into_owned(),
        title: plan.title.clone(),
        state: format!(
            "{}, r{}; {count} {}, none run by planwright",
            case.state(),
            revision.number,
            if count == 1 { "step" } else { "steps" }
        ),
        stage,
        settled: Vec::new(),
        now: first_open(&plan, &open).map(|place| ReminderContext::of(&plan.steps[place])),
        asks: Vec::new(),
        next: format!("planwright {verb} {}", word(&name, &row.plan)),
        name,
    }))
}

/// How a plan is typed: its name, or its path if that is not a plain word.
fn word(name: &str, path: &Path) -> String {
    let is_plain = |text: &str| {
        !text.starts_with('-')
            && text.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_./".contains(sign))
    };
    let path: PathBuf = path.to_owned();
    match is_plain(name) {
        true => name.to_owned(),
        false => format!("'{}'", path.to_string_lossy().replace('\'', "'\\''")),
    }
}
