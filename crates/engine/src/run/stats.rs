//! The history of a project as statistics: what core computes from its journals and ledgers, and the disk
//! space of old runs. Only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{Event, StepEvent};
use planwright_core::run::forecast;
use planwright_core::run::forecast::{Forecast, ForecastSample};
use planwright_core::run::judge::JudgeFailure;
use planwright_core::run::receipt::Blob;
use planwright_core::run::stats::{Counter, Stats, StepRecord};

use crate::run::{Error, Run, Runs};
use crate::system::clock::now;
use crate::system::program;
use crate::workspace::project::Project;

/// Tools that agents bring along.
const AGENT_TOOLS: &[&str] = &[
    "bash",
    "edit",
    "glob",
    "grep",
    "ls",
    "multiedit",
    "notebookedit",
    "read",
    "shell",
    "task",
    "todowrite",
    "webfetch",
    "websearch",
    "write",
];
/// Forecasts use this many of the newest runs; older ones say little about today.
const RUNS_MAX: usize = 200;

#[derive(Debug, Clone, Default)]
pub struct StatsScope {
    /// Only from this time on, in milliseconds since 1970.
    pub since_ms: u64,
    /// Only this plan file.
    pub plan: Option<PathBuf>,
}

pub struct StatsCount {
    pub stats: Stats,
    /// How many unreadable runs are missing from the figures.
    pub unread: usize,
}

pub fn count(runs: &Runs, scope: &StatsScope) -> Result<StatsCount, Error> {
    let plan = scope.plan.as_deref().map(|path| runs.relative(path));
    let mut counter = Counter::since(scope.since_ms);
    let mut unread = 0;
    for id in runs.store().run_ids(plan.as_deref())? {
        match runs.run(id) {
            Ok(run) => add(&mut counter, runs, run),
            Err(_) => unread += 1,
        }
    }
    for row in runs.store().ledgers()? {
        // A broken ledger contributes nothing; `audit` says why.
        for said in runs.store().ledger(&row.plan).unwrap_or_default() {
            if let LedgerEntry::Proposed { red, .. } = &said.entry {
                counter.count_red(red);
            }
        }
    }
    Ok(StatsCount { stats: counter.stats(has_tool), unread })
}

fn add(counter: &mut Counter, runs: &Runs, run: Run) {
    let events: Vec<(u64, Event)> =
        run.events.into_iter().map(|recorded| (recorded.at_ms, recorded.event)).collect();
    let outputs = outputs(runs, &events);
    let record = StepRecord { name: &run.row.name, plan: &run.plan, events: &events, outputs: &outputs };
    counter.count(&record, now());
}

/// The output of contracts that could not run.
fn outputs(runs: &Runs, events: &[(u64, Event)]) -> BTreeMap<Blob, String> {
    let named = events.iter().filter_map(|(_, event)| match event {
        Event::Step { event: StepEvent::Judged { receipt, .. }, .. } => match receipt.verdict.failure() {
            Some(JudgeFailure::CannotRun(_)) => Some(&receipt.output),
            Some(
                JudgeFailure::Code(_)
                | JudgeFailure::Signal(_)
                | JudgeFailure::Timeout(_)
                | JudgeFailure::NotStarted(_)
                | JudgeFailure::Opinion { .. },
            )
            | None => None,
        },
        Event::Step {
            event: StepEvent::Started(_) | StepEvent::Finished(_) | StepEvent::Faulted { .. },
            ..
        }
        | Event::Run(_)
        | Event::Ask { .. } => None,
    });
    let kept = named.filter_map(|blob| {
        let bytes = runs.blob(blob).ok()?;
        Some((blob.clone(), String::from_utf8_lossy(&bytes).into_owned()))
    });
    kept.collect()
}

/// Whether an agent or this machine has a tool.
pub fn has_tool(name: &str) -> bool {
    AGENT_TOOLS.contains(&name.to_lowercase().as_str()) || program::has_program(name)
}

/// What steps took in the newest runs, for forecasts.
pub fn past(runs: &Runs) -> Result<Vec<ForecastSample>, Error> {
    let mut counter = Counter::since(0);
    for id in runs.store().run_ids(None)?.into_iter().rev().take(RUNS_MAX) {
        // An unreadable run contributes nothing.
        if let Ok(run) = runs.run(id) {
            add(&mut counter, runs, run);
        }
    }
    Ok(counter.samples())
}

/// What a plan will likely take, by the project's history; `None` if there is too little of it.
pub fn forecast(project: &Project, plan: &Plan) -> Result<Option<Forecast>, Error> {
    let Some(runs) = Runs::open_existing(project)? else { return Ok(None) };
    let agent_of = |target: &str| project.config.agent_of(target).to_owned();
    Ok(forecast::forecast(&past(&runs)?, plan, project.config.run.jobs, agent_of))
}

/// The plans whose runs and decisions finished before a time, by path.
pub fn over_before(runs: &Runs, before_ms: u64) -> Result<Vec<PathBuf>, Error> {
    let root = &runs.project().root;
    let mut ends: BTreeMap<PathBuf, Option<u64>> = BTreeMap::new();
    let mut ran = BTreeSet::new();
    for run in runs.newest()? {
        ran.insert(run.path.clone());
        ends.insert(run.path, run.tally.outcome().map(|_| run.changed_at_ms));
    }
    for row in runs.store().ledgers()? {
        // The ledger learns the end of a run only with the next entry.
        let is_told_by_run =
            matches!(row.summary.state.as_str(), "running" | "done" | "failed") && ran.contains(&row.plan);
        let is_over = ["done", "failed", "rejected", "cancelled"].contains(&row.summary.state.as_str());
        let end = ends.entry(row.plan).or_insert(Some(0));
        *end = match *end {
            Some(end) if is_told_by_run => Some(end),
            Some(end) if is_over => Some(end.max(row.summary.since_ms)),
            Some(_) | None => None,
        };
    }
    let old = ends.into_iter().filter(|(_, end)| end.is_some_and(|end| end < before_ms));
    let is_archived = |path: &Path| {
        path.parent().and_then(Path::file_name).is_some_and(|name| name == crate::store::plan_file::ARCHIVE)
    };
    Ok(old.map(|(path, _)| path).filter(|path| !is_archived(path) && root.join(path).exists()).collect())
}
