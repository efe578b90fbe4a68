//! What happened to the plans of a project since a given time, from the journal and the ledgers: what was
//! done, what failed, what needs whom. Ignores claims in files.

use std::collections::BTreeMap;

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::run::event::{AskAnswer, AskEvent, Event, Judged, RunEvent, RunOutcome, StepEvent};
use planwright_core::workspace::portfolio::{Blocked, Readiness};
use schemars::JsonSchema;
use serde::Serialize;

use super::board::{Board, BoardRow, board};
use crate::run::{Error, Run, Runs};
use crate::workspace::project::Project;

/// What happened since a given time.
pub struct StandupReport {
    pub board: Board,
    /// What may start and what may not.
    pub readiness: Readiness,
    /// By plan; without those that had no events and need no one.
    pub plans: Vec<StandupLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StandupLine {
    /// The index of its card.
    pub card: usize,
    /// Steps whose contract passed or that a person confirmed, in that order.
    pub done: Vec<StepDone>,
    pub failed: Vec<StepFailed>,
    /// What people and rules decided, and how runs ended, each with its time in milliseconds since 1970.
    pub said: Vec<(u64, String)>,
    /// The next step of the run: id and title.
    pub next: Option<(String, String)>,
}

/// A step that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepDone {
    /// Its id.
    pub step: String,
    /// Its title.
    pub title: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A step whose contract failed and has not passed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepFailed {
    /// Its id.
    pub step: String,
    /// How often.
    pub times: u32,
    /// Why, the last time.
    pub why: String,
}

/// Gathers what happened since a time in milliseconds since 1970.
pub fn standup(project: &Project, since_ms: u64) -> Result<StandupReport, Error> {
    let board = board(project)?;
    let readiness = board.readiness();
    let Some(runs) = Runs::open_existing(project)? else {
        return Ok(StandupReport { board, readiness, plans: Vec::new() });
    };
    let mut plans = Vec::new();
    for (place, card) in board.cards.iter().enumerate() {
        let mut happened = StandupLine { card: place, ..StandupLine::default() };
        tell_runs(&runs, card, since_ms, &mut happened)?;
        tell_ledger(&runs, card, since_ms, &mut happened)?;
        happened.said.sort_by_key(|(at_ms, _)| *at_ms);
        let is_held = |held: &Blocked| held.entry == place;
        let waits = readiness.running.contains(&place)
            || readiness.held_back.iter().any(|held| is_held(held) && card.run.is_some());
        let is_silent = happened.done.is_empty() && happened.failed.is_empty() && happened.said.is_empty();
        if !is_silent || waits {
            plans.push(happened);
        }
    }
    Ok(StandupReport { board, readiness, plans })
}

/// What its runs did since then, oldest first.
fn tell_runs(runs: &Runs, card: &BoardRow, since_ms: u64, happened: &mut StandupLine) -> Result<(), Error> {
    let mut recent = Vec::new();
    for id in runs.store().run_ids(Some(&card.path))?.into_iter().rev() {
        let run = runs.run(id)?;
        let is_old = run.events.last().is_none_or(|last| last.at_ms < since_ms);
        if recent.is_empty() {
            happened.next = next(&run);
        }
        if is_old {
            break;
        }
        recent.push(run);
    }
    let mut failed: BTreeMap<String, (u32, String)> = BTreeMap::new();
    for run in recent.iter().rev() {
        tell_run(run, since_ms, happened, &mut failed);
    }
    happened.failed =
        failed.into_iter().map(|(step, (times, why))| StepFailed { step, times, why }).collect();
    Ok(())
}

fn tell_run(
    run: &Run,
    since_ms: u64,
    happened: &mut StandupLine,
    failed: &mut BTreeMap<String, (u32, String)>,
) {
    for recorded in run.events.iter().filter(|recorded| recorded.at_ms >= since_ms) {
        match &recorded.event {
            Event::Step { step, event: StepEvent::Judged { of, receipt, .. } } => {
                match (of, receipt.verdict.failure()) {
                    (Judged::Claim | Judged::Attempt(_), None) => {
                        pass(run, (step, recorded.at_ms), happened, failed);
                    }
                    (Judged::Attempt(_) | Judged::Closing(_), Some(failure)) => {
                        happened.done.retain(|done| done.step != *step);
                        let (count, why) = failed.entry(step.clone()).or_default();
                        *count += 1;
                        *why = failure.to_string();
                    }
                    // Void, or done before.
                    (Judged::Claim, Some(_)) | (Judged::Closing(_), None) => {}
                }
            }
            Event::Ask { ask, event: AskEvent::Answered { answer: AskAnswer::Confirm, .. } } => {
                if let Some((step, _)) = ask.rsplit_once('/') {
                    pass(run, (step, recorded.at_ms), happened, failed);
                }
            }
            Event::Run(RunEvent::Finished { outcome, why }) => {
                let word = match outcome {
                    RunOutcome::Done => "the run is done".to_owned(),
                    RunOutcome::Failed => format!("the run failed: {why}"),
                    RunOutcome::Cancelled => format!("the run was cancelled: {why}"),
                };
                happened.said.push((recorded.at_ms, word));
            }
            Event::Run(RunEvent::Reopened { steps, by }) => {
                happened.done.retain(|done| !steps.contains(&done.step));
                happened.said.push((recorded.at_ms, format!("{by} rolled back {}", steps.join(", "))));
            }
            Event::Run(RunEvent::Rechecked { receipts }) => {
                let failed = receipts.iter().filter(|(_, receipt)| !receipt.verdict.is_passed());
                let failed: Vec<&str> = failed.map(|(step, _)| step.as_str()).collect();
                happened.done.retain(|done| !failed.contains(&done.step.as_str()));
                if !failed.is_empty() {
                    let word = format!("no longer done: {}", failed.join(", "));
                    happened.said.push((recorded.at_ms, word));
                }
            }
            Event::Run(RunEvent::Stopped { by, .. }) => {
                happened.said.push((recorded.at_ms, format!("{by} stopped the run")));
            }
            Event::Run(
                RunEvent::Started(_)
                | RunEvent::AgentsApproved(_)
                | RunEvent::BudgetWarned { .. }
                | RunEvent::Closing { .. }
                | RunEvent::Resumed { .. },
            )
            | Event::Step {
                event: StepEvent::Started(_) | StepEvent::Finished(_) | StepEvent::Faulted { .. },
                ..
            }
            | Event::Ask { .. } => {}
        }
    }
}

/// Records a step as done; earlier failures no longer count.
fn pass(
    run: &Run,
    (step, at_ms): (&str, u64),
    happened: &mut StandupLine,
    failed: &mut BTreeMap<String, (u32, String)>,
) {
    let title = run.plan.steps.iter().find(|own| own.id == step).map(|own| own.title.clone());
    failed.remove(step);
    happened.done.retain(|done| done.step != step);
    happened.done.push(StepDone { step: step.to_owned(), title: title.unwrap_or_default(), at_ms });
}

/// The first unfinished step of a run that continues.
fn next(run: &Run) -> Option<(String, String)> {
    let is_open = run.state.outcome().is_none();
    let mut steps = run.plan.steps.iter().zip(&run.state.steps);
    let step = steps.find(|(_, now)| !now.status.is_settled())?.0;
    is_open.then(|| (step.id.clone(), step.title.clone()))
}

/// What its ledger says since then.
fn tell_ledger(runs: &Runs, card: &BoardRow, since_ms: u64, happened: &mut StandupLine) -> Result<(), Error> {
    for said in runs.store().ledger(&card.path)?.into_iter().filter(|said| said.at_ms >= since_ms) {
        let words = match &said.entry {
            LedgerEntry::Proposed { revision, by, .. } => format!("{by} proposed r{revision}"),
            LedgerEntry::Approved { revision, by, .. } => format!("{by} approved r{revision}"),
            LedgerEntry::Rejected { revision, by, .. } => format!("{by} rejected r{revision}"),
            LedgerEntry::Reopened { by, .. } => format!("{by} reopened it"),
            LedgerEntry::Cancelled { by, .. } => format!("{by} cancelled it"),
            LedgerEntry::Lapsed { .. } => "its approval lapsed".to_owned(),
            LedgerEntry::Merged { into, by, .. } => format!("{by} merged it into {into}"),
            LedgerEntry::Evicted { into, .. } => format!("it was evicted from a merge into {into}"),
            LedgerEntry::Commented { .. }
            | LedgerEntry::Answered { .. }
            | LedgerEntry::Drafted { .. }
            | LedgerEntry::Discovered { .. }
            | LedgerEntry::Added { .. }
            | LedgerEntry::Started { .. }
            | LedgerEntry::Ended { .. }
            | LedgerEntry::Undone { .. }
            | LedgerEntry::Archived { .. }
            | LedgerEntry::Deleted { .. } => continue,
        };
        happened.said.push((said.at_ms, words));
    }
    Ok(())
}
