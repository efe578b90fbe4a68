//! `queue-status`: name, status and last progress of every plan. Read-only; unreadable plans are listed and never
//! fail the command, because scripts and sessions call it at startup.

use planwright_engine::Project;
use planwright_engine::core::workspace::portfolio::PlanProgress;
use planwright_engine::portfolio::board as coordination;
use planwright_engine::portfolio::board::{Board, BoardRow};
use planwright_engine::run::Runs;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::here;
use crate::output::wording;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone};

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Dashboard {
    /// Every plan, by path.
    pub(crate) plans: Vec<LineData>,
    /// What can't be read, and what should not be there.
    pub(crate) faults: Vec<String>,
}

/// One plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LineData {
    /// What others call it.
    pub(crate) name: String,
    /// Its file, relative to the root of the project.
    pub(crate) path: String,
    /// Its state by the record, or by its file without one.
    pub(crate) status: String,
    /// The last line of its progress, or the last thing that is recorded; empty where there is neither.
    pub(crate) last_progress: String,
}

pub(super) fn run(out: &mut Out<'_>) -> Response {
    let mut faults = Vec::new();
    let project = here().or_else(|failure| {
        faults.push(failure.message);
        Project::plain()
    });
    let board = project.as_ref().map(|project| board(project, &mut faults)).unwrap_or_default();
    let project = project.ok();
    faults.extend(board.faults.iter().cloned());
    let runs = project.as_ref().and_then(|project| Runs::open_existing(project).ok().flatten());
    let mut plans = Vec::new();
    for card in &board.cards {
        if let PlanProgress::Unreadable(why) = &card.entry.status {
            faults.push(format!("{}: {why}", card.path.display()));
        }
        let progress = project.as_ref().and_then(|project| coordination::last_progress(project, &card.path));
        plans.push(LineData {
            name: card.entry.name.clone(),
            path: card.path.to_string_lossy().into_owned(),
            status: card.state.clone(),
            last_progress: progress.or_else(|| recorded(runs.as_ref()?, card)).unwrap_or_default(),
        });
    }
    for fault in &faults {
        out.warn(fault);
    }
    let mut table = Table::new();
    for plan in &plans {
        table.row([
            Cell::new(&plan.name).tone(Tone::Strong),
            Cell::new(&plan.status),
            Cell::new(&plan.last_progress).tone(Tone::Muted),
        ]);
    }
    out.table(&table);
    if plans.is_empty() {
        out.talk("no plans");
    }
    Response::done("queue-status", &Dashboard { plans, faults }).next(NextCommand::new([
        "planwright",
        "status",
        "--queue",
    ]))
}

/// The plans, as much of them as can be known.
fn board(project: &Project, faults: &mut Vec<String>) -> Board {
    coordination::board(project)
        .or_else(|error| {
            faults.push(Failure::from(error).message);
            coordination::board_of_files(project)
        })
        .unwrap_or_else(|error| {
            faults.push(Failure::from(error).message);
            Board::default()
        })
}

/// The last thing that is recorded of the runs of a plan.
fn recorded(runs: &Runs, card: &BoardRow) -> Option<String> {
    let run = runs.run(card.run?).ok()?;
    let last = run.events.last()?;
    let (when, what) = (wording::clock_time(last.at_ms, wording::now()), wording::detail(&last.event));
    Some(format!("{when} {} — {what}", wording::place(&card.entry.name, &last.event)))
}
