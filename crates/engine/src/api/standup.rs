//! What happened to all plans of a project in a period, what they wait for, and what can start.

use planwright_core::workspace::portfolio::{Blocked, PlanProgress};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::Error;
use crate::api::next::NextCommand;
use crate::api::workspace::Workspace;
use crate::portfolio::board;
use crate::portfolio::board::{StandupLine, StandupReport, StepDone, StepFailed};

/// What happened to all plans since a time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StandupView {
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// Plans with events, and plans with a waiting run.
    pub plans: Vec<StandupPlanView>,
    /// The names of plans that can start.
    pub ready: Vec<String>,
    /// Blocked plans without events, with the reasons.
    pub held_back: Vec<HeldBackView>,
    /// Problems: conflict copies of plans, dangling markers.
    pub faults: Vec<String>,
    /// The command that a person types next.
    #[serde(skip)]
    pub next: NextCommand,
}

/// What happened to one plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StandupPlanView {
    /// What others call it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its state.
    pub state: String,
    /// Number of finished steps.
    pub settled: usize,
    /// How many there are.
    pub steps: usize,
    /// The steps that were done.
    pub done: Vec<StepDone>,
    /// The steps that failed and have not passed since.
    pub failed: Vec<StepFailed>,
    /// What was said about it, and how runs ended.
    pub said: Vec<String>,
    /// What it waits for, in words.
    pub waits: Vec<String>,
    /// What unblocks it: `waits`, `retry`, `person` or `replan`.
    pub recovery: Option<String>,
    /// The step that is next.
    pub next: Option<String>,
}

/// A blocked plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HeldBackView {
    /// What others call it.
    pub name: String,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// What unblocks it.
    pub recovery: String,
}

impl Workspace {
    /// What happened since a time in milliseconds since 1970.
    pub fn standup(&self, since_ms: u64) -> Result<StandupView, Error> {
        Ok(view(&board::standup(self.project(), since_ms)?, since_ms))
    }
}

fn next(report: &StandupReport) -> NextCommand {
    let asked = report.readiness.held_back.iter().filter(|held| report.board.cards[held.entry].run.is_some());
    match (asked.max_by_key(|held| held.recovery()), report.readiness.ready.first()) {
        (Some(held), _) => {
            let reason = held.reasons.iter().max_by_key(|reason| reason.recovery());
            let command = reason.map(|reason| reason.command(&report.board.address(held.entry)));
            NextCommand::new(command.unwrap_or_default())
        }
        (None, Some(&place)) => NextCommand::new(["planwright", "run", report.board.address(place).as_str()]),
        (None, None) => NextCommand::new(["planwright", "status", "--queue"]),
    }
}

fn view(report: &StandupReport, since_ms: u64) -> StandupView {
    let name = |place: usize| report.board.cards[place].entry.name.clone();
    let is_told = |place: usize| report.plans.iter().any(|plan| plan.card == place);
    let held = report.readiness.held_back.iter();
    let held = held.filter(|held| {
        !is_told(held.entry) && report.board.cards[held.entry].entry.status != PlanProgress::Staged
    });
    let held_back = held.map(|held| HeldBackView {
        name: name(held.entry),
        reasons: held.reasons.iter().map(ToString::to_string).collect(),
        recovery: held.recovery().word().to_owned(),
    });
    StandupView {
        since_ms,
        plans: report.plans.iter().map(|happened| plan_view(report, happened)).collect(),
        ready: report.readiness.ready.iter().map(|&place| name(place)).collect(),
        held_back: held_back.collect(),
        faults: report.board.faults.clone(),
        next: next(report),
    }
}

fn plan_view(report: &StandupReport, happened: &StandupLine) -> StandupPlanView {
    let card = &report.board.cards[happened.card];
    let is_it = |held: &&Blocked| held.entry == happened.card;
    let held = report.readiness.held_back.iter().find(is_it);
    StandupPlanView {
        name: card.entry.name.clone(),
        title: card.title.clone(),
        state: card.state.clone(),
        settled: card.settled,
        steps: card.steps,
        done: happened.done.clone(),
        failed: happened.failed.clone(),
        said: told_once(&happened.said),
        waits: held.into_iter().flat_map(|held| &held.reasons).map(ToString::to_string).collect(),
        recovery: held.map(|held| held.recovery().word().to_owned()),
        next: happened.next.as_ref().map(|(step, title)| format!("{step}: {title}")),
    }
}

/// Collapses repeated lines into one with a count.
fn told_once(said: &[(u64, String)]) -> Vec<String> {
    let runs = said.chunk_by(|(_, one), (_, other)| one == other);
    let told = runs.map(|same| match (same, same.len()) {
        ([(_, text), ..], 1) => text.clone(),
        ([(_, text), ..], times) => format!("{text} ({times} times)"),
        ([], _) => String::new(),
    });
    told.collect()
}
