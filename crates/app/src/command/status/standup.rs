//! `status --since`: what happened to all plans in a period, short enough for a chat: finished steps, blockers, next
//! steps. Reads only the journal.

use planwright_engine::core::workspace::portfolio::Blocked;
use planwright_engine::core::workspace::portfolio::PlanProgress;
use planwright_engine::portfolio::board::{StandupLine, StandupReport};
use planwright_engine::system::clock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::here;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

/// How many names a line has.
const NAMES_MAX: usize = 12;

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Standup {
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
    /// Plans with events, and plans with a waiting run.
    pub(crate) plans: Vec<PlanData>,
    /// The names of plans that can start.
    pub(crate) ready: Vec<String>,
    /// Blocked plans without events, with the reasons.
    pub(crate) held_back: Vec<WaitData>,
    /// Problems: conflict copies of plans, dangling markers.
    pub(crate) faults: Vec<String>,
}

/// What happened to one plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanData {
    /// What others call it.
    pub(crate) name: String,
    /// Its title.
    pub(crate) title: String,
    /// Its state.
    pub(crate) state: String,
    /// Number of finished steps.
    pub(crate) settled: usize,
    /// How many there are.
    pub(crate) steps: usize,
    /// The steps that were done.
    pub(crate) done: Vec<DoneData>,
    /// The steps that failed and have not passed since.
    pub(crate) failed: Vec<FailedData>,
    /// What was said about it, and how runs ended.
    pub(crate) said: Vec<String>,
    /// What it waits for, in words.
    pub(crate) waits: Vec<String>,
    /// What unblocks it: `waits`, `retry`, `person` or `replan`.
    pub(crate) recovery: Option<String>,
    /// The step that is next.
    pub(crate) next: Option<String>,
}

/// A step that was done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoneData {
    /// Its id.
    pub(crate) step: String,
    /// Its title.
    pub(crate) title: String,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: u64,
}

/// A step that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailedData {
    /// Its id.
    pub(crate) step: String,
    /// How often.
    pub(crate) times: u32,
    /// Why, the last time.
    pub(crate) why: String,
}

/// A blocked plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WaitData {
    /// What others call it.
    pub(crate) name: String,
    /// Why, in words.
    pub(crate) reasons: Vec<String>,
    /// What unblocks it.
    pub(crate) recovery: String,
}

pub(crate) fn run(since_text: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let since_ms = since(since_text)?;
    let report = planwright_engine::portfolio::board::standup(&here()?, since_ms)?;
    let data = data(&report, since_ms);
    out.warn_all(&data.faults);
    print(&data, out);
    let asked = report.readiness.held_back.iter().filter(|held| report.board.cards[held.entry].run.is_some());
    let next = match (asked.max_by_key(|held| held.recovery()), report.readiness.ready.first()) {
        (Some(held), _) => {
            let reason = held.reasons.iter().max_by_key(|reason| reason.recovery());
            let command = reason.map(|reason| reason.command(&report.board.address(held.entry)));
            NextCommand::new(command.unwrap_or_default())
        }
        (None, Some(&place)) => NextCommand::new(["planwright", "run", report.board.address(place).as_str()]),
        (None, None) => NextCommand::new(["planwright", "status", "--queue"]),
    };
    Ok(Response::done("standup", &data).next(next))
}

/// Reads an age or a time.
fn since(text: &str) -> Result<u64, Failure> {
    let now = wording::now();
    let ago = wording::span("--since", text).ok().map(|span| now.saturating_sub(span));
    ago.or_else(|| clock::read(text, now)).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("invalid time `{text}`"))
            .hint("--since 24h, 7d, 09:00 or 2026-05-27")
            .next(NextCommand::new(["planwright", "status", "--since", "24h"]))
    })
}

fn data(report: &StandupReport, since_ms: u64) -> Standup {
    let name = |place: usize| report.board.cards[place].entry.name.clone();
    let is_told = |place: usize| report.plans.iter().any(|plan| plan.card == place);
    let held = report.readiness.held_back.iter();
    let held = held.filter(|held| {
        !is_told(held.entry) && report.board.cards[held.entry].entry.status != PlanProgress::Staged
    });
    let held_back = held.map(|held| WaitData {
        name: name(held.entry),
        reasons: held.reasons.iter().map(ToString::to_string).collect(),
        recovery: held.recovery().word().to_owned(),
    });
    Standup {
        since_ms,
        plans: report.plans.iter().map(|happened| plan_data(report, happened)).collect(),
        ready: report.readiness.ready.iter().map(|&place| name(place)).collect(),
        held_back: held_back.collect(),
        faults: report.board.faults.clone(),
    }
}

fn plan_data(report: &StandupReport, happened: &StandupLine) -> PlanData {
    let card = &report.board.cards[happened.card];
    let is_it = |held: &&Blocked| held.entry == happened.card;
    let held = report.readiness.held_back.iter().find(is_it);
    let done = happened.done.iter().map(|done| DoneData {
        step: done.step.clone(),
        title: done.title.clone(),
        at_ms: done.at_ms,
    });
    let failed = happened.failed.iter().map(|(step, times, why)| FailedData {
        step: step.clone(),
        times: *times,
        why: why.clone(),
    });
    PlanData {
        name: card.entry.name.clone(),
        title: card.title.clone(),
        state: card.state.clone(),
        settled: card.settled,
        steps: card.steps,
        done: done.collect(),
        failed: failed.collect(),
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

fn print(data: &Standup, out: &mut Out<'_>) {
    out.line(&format!("Since {}", clean_line(&clock::local(data.since_ms))));
    if data.plans.is_empty() {
        out.line("no events");
    }
    for plan in &data.plans {
        let name = out.palette().paint(Tone::Strong, &clean_line(&plan.name));
        let state = format!("{}, {} of {} steps", plan.state, plan.settled, plan.steps);
        out.line(&format!("{name}: {}", clean_line(&state)));
        let done: Vec<String> = plan.done.iter().map(|done| done.title.clone()).collect();
        item("done", &done, out);
        let failed = plan.failed.iter().map(|step| {
            let times = if step.times == 1 { "once".to_owned() } else { format!("{} times", step.times) };
            format!("{} {times}, {}", step.step, step.why)
        });
        item("failed", &failed.collect::<Vec<_>>(), out);
        item("said", &plan.said, out);
        item("waiting", &plan.waits, out);
        item("next", plan.next.as_slice(), out);
    }
    if !data.ready.is_empty() {
        out.line(&clean_line(&format!("Ready: {}", listed(&data.ready, ", "))));
    }
    for held in &data.held_back {
        let text = format!("{}: {} [{}]", held.name, listed(&held.reasons, "; "), held.recovery);
        out.line(&clean_line(&format!("Held back: {text}")));
    }
}

fn item(label: &str, texts: &[String], out: &mut Out<'_>) {
    if !texts.is_empty() {
        out.line(&clean_line(&format!("- {label}: {}", listed(texts, "; "))));
    }
}

/// The first of a list, and how many more there are.
fn listed(texts: &[String], between: &str) -> String {
    let shown = texts.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(between);
    match texts.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown}{between}and {more} more"),
    }
}
