//! The state of a project's runs, from their rows in the store, their owners and the health of workers. Reads a journal only
//! while a contract is running.

use std::collections::BTreeMap;

use planwright_core::run::event::{Event, Judged, StepEvent};
use planwright_core::run::state::StepStatus;
use planwright_core::run::summary::{ActiveAttempt, SummaryPhase};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::Error;
use crate::api::inbox::ReviewView;
use crate::api::next::{NextCommand, shell_word};
use crate::api::workspace::Workspace;
use crate::portfolio::merge_queue::EvictedView;
use crate::run;
use crate::run::{QueuedAttempt, Run, RunSummaryRow, Runs};
use crate::store::journal::{AskRow, Health, RunId};

/// The state of the runs of a project, and what needs a person.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StatusView {
    /// The newest run of every plan.
    pub runs: Vec<RunStatusView>,
    /// Plans pending review, the oldest first.
    pub reviews: Vec<ReviewView>,
    /// Finished plans that could not be merged, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evicted: Vec<EvictedView>,
    /// What has expired, and what could not be finished.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// The state of a run.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunStatusView {
    /// The plan.
    pub plan: String,
    /// The number of the run.
    pub run: i64,
    /// The first digits of the digest that was approved.
    pub digest: String,
    /// `running`, `waiting`, `paused`, `stopped`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// Number of finished steps.
    pub settled: usize,
    /// How many there are.
    pub steps: usize,
    /// The status of every step, in the order of the plan.
    pub statuses: Vec<String>,
    /// What is running.
    pub current: Vec<CurrentView>,
    /// What a person is asked.
    pub asks: Vec<AskView>,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// When something was last recorded, in milliseconds since 1970.
    pub changed_at_ms: u64,
    /// What was spent, in millionths of a dollar, as far as agents say.
    pub micro_dollars: Option<u64>,
    /// Tokens that were used, as far as agents say.
    pub tokens: Option<u64>,
    /// The process that runs it.
    pub driver: Option<String>,
    /// What to know about it, in a sentence.
    pub remark: Option<String>,
    /// How much reviewers found in it: one that is done with findings is `done, 3 findings`.
    #[serde(skip_serializing_if = "is_none")]
    pub findings: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// A running attempt or contract.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurrentView {
    /// The number of the step.
    pub number: u32,
    /// The step.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// `queued`, `running`, `judging`, `stalled` or `dead`.
    pub state: String,
    /// The agent.
    pub agent: String,
    /// Who makes the attempt, by name.
    pub worker: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
}

/// What a person is asked.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct AskView {
    /// The step that waits for it; `None` where the whole run does.
    pub step: Option<String>,
    /// `attempts-spent`, `manual`, `budget`, `lost`, `parked`, `stalled`, `question`, `strayed` or `machine`.
    pub reason: String,
    /// The same in words.
    pub words: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// What the person should know.
    pub text: String,
}

impl AskView {
    /// What it is about: `it/fix`, or `it` for the whole run.
    pub fn subject(&self, run: &RunStatusView) -> String {
        self.step.as_ref().map_or_else(|| run.plan.clone(), |step| format!("{}/{step}", run.plan))
    }
}

impl StatusView {
    /// Whether something waits for a person.
    pub fn needs_person(&self) -> bool {
        self.runs.iter().any(|run| !run.asks.is_empty())
            || !(self.reviews.is_empty() && self.evicted.is_empty())
    }

    /// The one command to type next.
    pub fn next(&self) -> NextCommand {
        let asked = self.runs.iter().flat_map(|run| run.asks.iter().map(move |ask| (run, ask)));
        if let Some((run, ask)) = asked.min_by_key(|(_, ask)| ask.since_ms) {
            if ask.reason == "stalled" {
                return NextCommand::new(["planwright", "run", run.plan.as_str()]);
            }
            return NextCommand::new(["planwright", "answer", ask.subject(run).as_str()]);
        }
        if let Some(review) = self.reviews.first() {
            return review.command();
        }
        if let Some(evicted) = self.evicted.first() {
            return evicted.command();
        }
        let with = |states: &[&str]| self.runs.iter().rfind(|run| states.contains(&run.state.as_str()));
        if let Some(run) = with(&["paused", "stopped"]) {
            return NextCommand::new(["planwright", "run", run.plan.as_str()]);
        }
        match (with(&["running"]), with(&["done", "failed", "cancelled"])) {
            (Some(run), _) | (None, Some(run)) => NextCommand::new(["planwright", "log", run.plan.as_str()]),
            (None, None) => NextCommand::new(["planwright", "list"]),
        }
    }
}

impl Workspace {
    /// The state of everything, or of the plan with this path or the plans with this name prefix.
    pub fn status(&self, plan: Option<&str>) -> Result<StatusView, Error> {
        let waiting = self.reviews()?;
        self.status_of(plan, waiting)
    }

    /// The same without what ends planning sessions: for who looks again and again.
    pub fn status_again(&self, plan: Option<&str>) -> Result<StatusView, Error> {
        let waiting = self.waiting_reviews()?;
        self.status_of(plan, waiting)
    }

    fn status_of(
        &self,
        plan: Option<&str>,
        (mut reviews, warnings): (Vec<ReviewView>, Vec<String>),
    ) -> Result<StatusView, Error> {
        let is_wanted =
            |path: &str, name: &str| plan.is_none_or(|plan| path == plan || name.starts_with(plan));
        let runs = Runs::open(self.project())?;
        let mut evicted = self.evicted()?;
        reviews.retain(|review| is_wanted(&review.path, &review.plan));
        evicted.retain(|evicted| is_wanted(&evicted.path, &evicted.plan));
        Ok(StatusView { runs: runs_of(plan, &runs)?, reviews, evicted, warnings })
    }
}

/// Open questions and queued attempts, by run.
struct Around {
    asks: BTreeMap<RunId, Vec<AskRow>>,
    queue: Vec<QueuedAttempt>,
}

/// The state of each plan's newest run, or of plans with this name prefix.
fn runs_of(plan: Option<&str>, runs: &Runs) -> Result<Vec<RunStatusView>, Error> {
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
    newest.iter().map(|run| run_view(runs, run, &around)).collect()
}

fn run_view(runs: &Runs, run: &RunSummaryRow, around: &Around) -> Result<RunStatusView, Error> {
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
    let asks = around.asks.get(&run.run).into_iter().flatten().map(|ask| AskView {
        step: ask.step.clone(),
        reason: ask.reason.word().to_owned(),
        words: ask.reason.words().to_owned(),
        since_ms: ask.opened_at_ms,
        text: ask.text.clone(),
    });
    let mut current: Vec<CurrentView> =
        tally.attempts.iter().map(|attempt| attempted(run, attempt, &around.queue)).collect();
    if tally.is_judging() {
        current.extend(judged(&runs.run(run.run)?));
        current.sort_by_key(|one| one.number);
    }
    Ok(RunStatusView {
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
fn attempted(run: &RunSummaryRow, attempt: &ActiveAttempt, queue: &[QueuedAttempt]) -> CurrentView {
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
    CurrentView {
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
fn judged(run: &Run) -> Vec<CurrentView> {
    let steps = run.plan.steps.iter().zip(&run.state.steps);
    let judged = steps.filter_map(|(step, now)| match now.status {
        StepStatus::Judging { of: Judged::Attempt(attempt), .. } => Some((step, attempt)),
        StepStatus::Judging { of: Judged::Closing(_), .. } => Some((step, now.history.attempts)),
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
        CurrentView {
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
