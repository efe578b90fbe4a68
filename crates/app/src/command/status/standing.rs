//! Collects the state of runs: their rows in the store, their owners and the health of workers. Reads a journal only
//! while a contract is running.

use std::collections::BTreeMap;

use planwright_engine::core::run::event::{Event, Judged, StepEvent};
use planwright_engine::core::run::state::StepStatus;
use planwright_engine::core::run::summary::{ActiveAttempt, SummaryPhase};
use planwright_engine::run;
use planwright_engine::run::{QueuedAttempt, Run, RunSummaryRow, Runs};
use planwright_engine::store::journal::{AskRow, Health, RunId};

use super::{AskData, CurrentData, RunData, Standing};
use crate::output::wording;
use crate::output::{Failure, shell_word};

/// Open questions and queued attempts, by run.
struct Around {
    asks: BTreeMap<RunId, Vec<AskRow>>,
    queue: Vec<QueuedAttempt>,
}

/// The state of each plan's newest run, or of plans with this name prefix.
pub(super) fn standing(plan: Option<&str>, runs: &Runs) -> Result<Standing, Failure> {
    let mut newest = runs.everywhere()?;
    if let Some(plan) = plan {
        let is_exact = |run: &RunSummaryRow| run.plan == plan || run.path.to_string_lossy() == plan;
        let has_exact = newest.iter().any(is_exact);
        newest.retain(|run| if has_exact { is_exact(run) } else { run.plan.starts_with(plan) });
    }
    let mut around = Around { asks: BTreeMap::new(), queue: runs.pending()? };
    for ask in runs.store().asks().map_err(run::Error::from)? {
        around.asks.entry(ask.run).or_default().push(ask);
    }
    let data = newest.iter().map(|run| run_data(runs, run, &around)).collect::<Result<_, Failure>>()?;
    Ok(Standing { runs: data, ..Standing::default() })
}

fn run_data(runs: &Runs, run: &RunSummaryRow, around: &Around) -> Result<RunData, Failure> {
    let tally = &run.tally;
    // A finished run has no process, except while that one cleans up.
    let driver = match tally.outcome() {
        Some(_) => None,
        None => runs.holder_of(run.run)?,
    };
    let state = match tally.phase {
        SummaryPhase::Finished(outcome) => outcome.word(),
        SummaryPhase::New | SummaryPhase::Running | SummaryPhase::Stopped if driver.is_some() => "running",
        SummaryPhase::Stopped => "stopped",
        SummaryPhase::New | SummaryPhase::Running if tally.asks.is_empty() => "paused",
        SummaryPhase::New | SummaryPhase::Running => "waiting",
    };
    let asks = around.asks.get(&run.run).into_iter().flatten().map(|ask| AskData {
        step: ask.step.clone(),
        reason: wording::reason_word(ask.reason).to_owned(),
        words: wording::reason_words(ask.reason).to_owned(),
        since_ms: ask.opened_at_ms,
        text: ask.text.clone(),
    });
    let mut current: Vec<CurrentData> =
        tally.attempts.iter().map(|attempt| attempted(run, attempt, &around.queue)).collect();
    if tally.is_judging() {
        current.extend(judged(&runs.run(run.run)?));
        current.sort_by_key(|one| one.number);
    }
    Ok(RunData {
        plan: run.plan.clone(),
        run: run.run.number(),
        digest: run.digest.get(..8).unwrap_or(&run.digest).to_owned(),
        state: state.to_owned(),
        settled: tally.settled(),
        steps: tally.steps.len(),
        statuses: tally.statuses().map(str::to_owned).collect(),
        current,
        asks: asks.collect(),
        started_at_ms: run.started_at_ms,
        changed_at_ms: run.changed_at_ms,
        micro_dollars: tally.spent.micro_dollars,
        tokens: tally.spent.tokens,
        driver: driver.map(|holder| holder.to_string()),
        remark: remark(run, state),
        findings: tally.findings,
    })
}

/// A running attempt.
fn attempted(run: &RunSummaryRow, attempt: &ActiveAttempt, queue: &[QueuedAttempt]) -> CurrentData {
    let is_it = |pending: &&QueuedAttempt| {
        let queued = &pending.queued;
        (queued.run, queued.step.as_str(), queued.attempt)
            == (run.run, attempt.step.as_str(), attempt.attempt)
    };
    let pending = queue.iter().find(is_it);
    let state = match (pending, pending.and_then(|pending| pending.health)) {
        (Some(_), None) => "queued",
        (_, Some(Health::Silent)) => "stalled",
        (_, Some(Health::Dead)) => "dead",
        (_, Some(Health::Well)) | (None, None) => "running",
    };
    let queued = pending.map(|pending| &pending.queued);
    CurrentData {
        number: attempt.number,
        step: attempt.step.clone(),
        attempt: attempt.attempt,
        state: state.to_owned(),
        agent: queued.map(|queued| queued.agent.clone()).unwrap_or_default(),
        worker: queued.and_then(|queued| queued.lease.as_ref()).map(|lease| lease.worker.clone()),
        since_ms: queued.map_or(run.changed_at_ms, |queued| queued.queued_at_ms),
    }
}

/// Running contracts: agent and time are only in the journal.
fn judged(run: &Run) -> Vec<CurrentData> {
    let steps = run.plan.steps.iter().zip(&run.state.steps);
    let judged = steps.filter_map(|(step, now)| match now.status {
        StepStatus::Judging { of: Judged::Attempt(attempt), .. } => Some((step, attempt)),
        StepStatus::Judging { of: Judged::Claim, .. }
        | StepStatus::Running { .. }
        | StepStatus::Pending(_)
        | StepStatus::Passed { .. }
        | StepStatus::Waiting { .. }
        | StepStatus::Skipped { .. } => None,
    });
    let data = judged.map(|(step, attempt)| {
        let mut started = run.events.iter().rev().filter(|one| one.event.step() == Some(step.id.as_str()));
        let (agent, since_ms) = started
            .find_map(|recorded| match &recorded.event {
                Event::Step { event: StepEvent::Started(start), .. } => {
                    Some((start.agent.clone(), recorded.at_ms))
                }
                Event::Run(_) | Event::Step { .. } | Event::Ask { .. } => None,
            })
            .unwrap_or_else(|| (step.target.clone(), run.row.created_at_ms));
        CurrentData {
            number: step.number,
            step: step.id.clone(),
            attempt,
            state: "judging".to_owned(),
            agent,
            worker: None,
            since_ms,
        }
    });
    data.collect()
}

/// The note on a started run without a process.
fn remark(run: &RunSummaryRow, state: &str) -> Option<String> {
    let done = format!("{} of {} done", run.tally.settled(), run.tally.steps.len());
    let name = shell_word(&run.plan);
    let ways =
        format!("resume with `planwright run {name}`, or end it with `planwright cancel {name} -m WHY`");
    match state {
        "paused" => {
            // A process that exited cleanly has ended its attempts first.
            let is_gone = !run.tally.attempts.is_empty();
            let who = if is_gone { "its process is gone" } else { "no process is running it" };
            Some(format!("{done}, {who}: {ways}"))
        }
        "stopped" => {
            let by = run.tally.stopped_by.as_deref().unwrap_or("unknown");
            Some(format!("{done}, stopped by {by}: {ways}"))
        }
        _ => None,
    }
}
