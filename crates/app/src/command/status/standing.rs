//! Gathers where runs stand: the state that their journals make, who drives them, and how well the workers are.

use planwright_engine::core::event::{Event, Outcome};
use planwright_engine::core::run::{CLAIM, Phase, Status};
use planwright_engine::runs::{Run, Runs, Waiting};
use planwright_engine::store::journal::Health;

use super::{AskData, CurrentData, RunData, Standing};
use crate::command::newest_runs;
use crate::fact;
use crate::out::{Failure, shell_word};

/// Where the newest run of every plan stands, or of those whose names begin in this way.
pub(super) fn standing(plan: Option<&str>, runs: &Runs) -> Result<Standing, Failure> {
    let mut newest = newest_runs(runs)?;
    if let Some(plan) = plan {
        let is_exact = |run: &Run| run.row.name == plan || run.row.plan.to_string_lossy() == plan;
        let has_exact = newest.iter().any(is_exact);
        newest.retain(|run| if has_exact { is_exact(run) } else { run.row.name.starts_with(plan) });
    }
    let queue = runs.queue()?;
    let data = newest.iter().map(|run| run_data(runs, run, &queue)).collect::<Result<_, Failure>>()?;
    Ok(Standing { runs: data })
}

fn run_data(runs: &Runs, run: &Run, queue: &[Waiting]) -> Result<RunData, Failure> {
    let driver = runs.holder(run)?.map(|holder| holder.to_string());
    let state = match run.state.phase {
        Phase::Finished(Outcome::Done) => "done",
        Phase::Finished(Outcome::Failed) => "failed",
        Phase::Finished(Outcome::Cancelled) => "cancelled",
        Phase::New | Phase::Running | Phase::Stopped if driver.is_some() => "running",
        Phase::Stopped => "stopped",
        Phase::New | Phase::Running if run.state.asks.is_empty() => "paused",
        Phase::New | Phase::Running => "waiting",
    };
    let asks = run.state.asks.iter().map(|(name, ask)| AskData {
        step: ask.step.map(|place| run.state.steps[place].id.clone()),
        reason: fact::reason_word(ask.reason).to_owned(),
        words: fact::reason_words(ask.reason).to_owned(),
        since_ms: fact::asked_since(run, name),
        text: ask.text.clone(),
    });
    Ok(RunData {
        plan: run.row.name.clone(),
        run: run.row.id.number(),
        digest: run.row.digest.get(..8).unwrap_or(&run.row.digest).to_owned(),
        state: state.to_owned(),
        settled: run.state.steps.iter().filter(|step| step.status.is_settled()).count(),
        steps: run.state.steps.len(),
        statuses: run.state.steps.iter().map(|step| step.status.word().to_owned()).collect(),
        current: (0..run.state.steps.len()).filter_map(|place| current(run, place, queue)).collect(),
        asks: asks.collect(),
        started_at_ms: run.row.created_at_ms,
        changed_at_ms: run.events.last().map_or(run.row.created_at_ms, |last| last.at_ms),
        micro_dollars: run.state.spent.micro_dollars,
        tokens: run.state.spent.tokens,
        driver,
        remark: remark(run, state),
    })
}

/// What is under way at a step.
fn current(run: &Run, place: usize, queue: &[Waiting]) -> Option<CurrentData> {
    let step = &run.plan.steps[place];
    let (attempt, is_judging) = match run.state.steps[place].status {
        Status::Running { attempt } => (attempt, false),
        Status::Judging { attempt, .. } if attempt != CLAIM => (attempt, true),
        Status::Judging { .. }
        | Status::Pending
        | Status::Passed { .. }
        | Status::Waiting { .. }
        | Status::Skipped { .. } => return None,
    };
    let is_it = |waiting: &&Waiting| {
        let payload = &waiting.item.payload;
        (waiting.run, payload.step_id.as_str(), payload.attempt) == (run.row.id, step.id.as_str(), attempt)
    };
    let waiting = queue.iter().find(is_it);
    let lease = waiting.and_then(|waiting| waiting.lease.as_ref());
    let state = match (is_judging, waiting, lease.map(|(_, health)| health)) {
        (true, ..) => "judging",
        (false, Some(_), None) => "queued",
        (false, _, Some(Health::Silent)) => "stalled",
        (false, _, Some(Health::Dead)) => "dead",
        (false, _, Some(Health::Well) | None) => "running",
    };
    let own = run.events.iter().rev().filter(|recorded| recorded.event.step() == Some(step.id.as_str()));
    let mut since_ms = run.row.created_at_ms;
    let mut agent = step.target.clone();
    for recorded in own {
        if let Event::AttemptStarted { agent: name, .. } = &recorded.event {
            agent.clone_from(name);
            since_ms = recorded.at_ms;
            break;
        }
    }
    Some(CurrentData {
        number: step.number,
        step: step.id.clone(),
        attempt,
        state: state.to_owned(),
        agent,
        worker: lease.map(|(lease, _)| lease.worker.clone()),
        since_ms,
    })
}

/// What is to be known about a run that was begun and that nobody drives.
fn remark(run: &Run, state: &str) -> Option<String> {
    let settled = run.state.steps.iter().filter(|step| step.status.is_settled()).count();
    let done = format!("{settled} of {} done", run.state.steps.len());
    let name = shell_word(&run.row.name);
    let ways = format!("`planwright run {name}` goes on; `planwright cancel {name} -m WHY` ends it");
    match state {
        "paused" => {
            // A driver that left in order has ended its attempts first.
            let is_gone = run.state.steps.iter().any(|step| matches!(step.status, Status::Running { .. }));
            let who = if is_gone { "its driver is gone" } else { "nobody drives it" };
            Some(format!("{done}, {who}: {ways}"))
        }
        "stopped" => {
            let by = run.events.iter().rev().find_map(|recorded| match &recorded.event {
                Event::RunStopped { by, .. } | Event::AskAnswered { by, .. } => Some(by.as_str()),
                Event::RunStarted { .. }
                | Event::AgentsApproved { .. }
                | Event::AttemptStarted { .. }
                | Event::AttemptFinished { .. }
                | Event::ContractFinished { .. }
                | Event::AskOpened { .. }
                | Event::BudgetWarned { .. }
                | Event::RunResumed { .. }
                | Event::RunFinished { .. } => None,
            });
            Some(format!("{done}, stopped by {}: {ways}", by.unwrap_or("somebody")))
        }
        _ => None,
    }
}
