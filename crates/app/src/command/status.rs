//! `status`: where the runs of this project stand, and what needs a person.

use planwright_engine::core::event::Outcome;
use planwright_engine::core::run::{Phase, Status};
use planwright_engine::runs::{Run, Runs};
use schemars::JsonSchema;
use serde::Serialize;

use super::here;
use crate::out::{Answer, Cell, Failure, Glyph, Next, Out, Table, Tone, clean, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the runs of this plan
    plan: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Standing {
    /// The newest run of every plan.
    pub(crate) runs: Vec<RunData>,
}

/// Where a run stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunData {
    /// The plan.
    pub(crate) plan: String,
    /// The number of the run.
    pub(crate) run: i64,
    /// `running`, `waiting`, `paused`, `stopped`, `done`, `failed` or `cancelled`.
    pub(crate) state: String,
    /// How many steps are settled.
    pub(crate) settled: usize,
    /// How many there are.
    pub(crate) steps: usize,
    /// What a person is asked.
    pub(crate) asks: Vec<AskData>,
}

/// What a person is asked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AskData {
    /// The name of the ask.
    pub(crate) ask: String,
    /// The step that waits for it.
    pub(crate) step: Option<String>,
    /// What the person should know.
    pub(crate) text: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let runs = Runs::open(&here()?)?;
    let mut newest: Vec<Run> = Vec::new();
    for run in runs.all()? {
        newest.retain(|other| other.row.plan != run.row.plan);
        newest.push(run);
    }
    newest.retain(|run| args.plan.as_ref().is_none_or(|plan| run.row.name.starts_with(plan.as_str())));
    let data = newest.iter().map(|run| run_data(&runs, run)).collect::<Result<Vec<RunData>, Failure>>()?;
    let mut table = Table::new();
    for (run, data) in newest.iter().zip(&data) {
        table.row(row(run, data, out));
    }
    out.table(&table);
    let mut next = None;
    for run in &data {
        for ask in &run.asks {
            let step =
                ask.step.as_ref().map_or_else(|| run.plan.clone(), |step| format!("{}/{step}", run.plan));
            let glyph = out.palette().glyph(Glyph::NeedsYou);
            out.line(&format!("{glyph} {step} needs you"));
            out.data(&clean(&ask.text).lines().map(|line| format!("    {line}\n")).collect::<String>());
            next.get_or_insert(Next::new(["planwright", "answer", step.as_str(), "--help"]));
        }
    }
    if data.is_empty() {
        let what = args
            .plan
            .as_ref()
            .map_or_else(|| "nothing was run here".to_owned(), |plan| format!("{plan} was not run here"));
        out.talk(&format!("{} yet", clean_line(&what)));
    }
    // A run that nobody drives goes on where it stopped.
    let paused = data.iter().find(|run| run.state == "paused" || run.state == "stopped");
    let next = next.or_else(|| paused.map(|run| Next::new(["planwright", "run", run.plan.as_str()])));
    let mut answer = Answer::done("status", &Standing { runs: data });
    answer.next.extend(next);
    Ok(answer)
}

fn run_data(runs: &Runs, run: &Run) -> Result<RunData, Failure> {
    let is_driven = runs.is_driven(run)?;
    let state = match run.state.phase {
        Phase::Finished(Outcome::Done) => "done",
        Phase::Finished(Outcome::Failed) => "failed",
        Phase::Finished(Outcome::Cancelled) => "cancelled",
        Phase::Stopped => "stopped",
        Phase::New | Phase::Running if is_driven => "running",
        Phase::New | Phase::Running if run.state.asks.is_empty() => "paused",
        Phase::New | Phase::Running => "waiting",
    };
    let asks = run.state.asks.iter().map(|(name, ask)| AskData {
        ask: name.clone(),
        step: ask.step.map(|place| run.state.steps[place].id.clone()),
        text: ask.text.clone(),
    });
    Ok(RunData {
        plan: run.row.name.clone(),
        run: run.row.id.number(),
        state: state.to_owned(),
        settled: run.state.steps.iter().filter(|step| step.status.is_settled()).count(),
        steps: run.state.steps.len(),
        asks: asks.collect(),
    })
}

fn row(run: &Run, data: &RunData, out: &Out<'_>) -> Vec<Cell> {
    let glyphs = out.settings().glyphs;
    let line: Vec<&str> = run.state.steps.iter().map(|step| glyph_of(&step.status).symbol(glyphs)).collect();
    vec![
        Cell::new(&data.plan).tone(Tone::Strong),
        Cell::new(&data.state),
        Cell::new(line.join(" ")),
        Cell::new(format!("{} of {}", data.settled, data.steps)),
        Cell::new(format!("run {}", data.run)).tone(Tone::Muted),
    ]
}

fn glyph_of(status: &Status) -> Glyph {
    match status {
        Status::Pending => Glyph::Waiting,
        Status::Running { .. } | Status::Judging { .. } => Glyph::Running,
        Status::Passed { .. } => Glyph::Done,
        Status::Waiting { .. } => Glyph::NeedsYou,
        Status::Skipped { .. } => Glyph::Held,
    }
}
