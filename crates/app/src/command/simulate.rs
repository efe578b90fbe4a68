//! `simulate`: what carrying out a plan would do. Starts nothing and writes nothing.

use planwright_engine::core::run::forecast::Forecast;
use planwright_engine::core::verify;
use planwright_engine::run::simulate::{SimulatedStep, Simulation, SimulationInput, simulate};
use planwright_engine::workspace::project;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Opened, open, shown};
use crate::interaction::target::NamedPlan;
use crate::output::wording;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan; where none is named, the one that this worktree is bound to
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Simulated {
    /// The plan.
    pub(crate) plan: String,
    /// Its digest.
    pub(crate) digest: String,
    /// The steps that could run at the same time, wave after wave.
    pub(crate) waves: Vec<Vec<StepData>>,
    /// How many contracts there are.
    pub(crate) contracts: usize,
    /// How many attempts agents would make at most, if nobody grants more.
    pub(crate) attempts_max: u32,
    /// What it will likely take; `null`: there is too little history.
    pub(crate) forecast: Option<Forecast>,
}

/// A step that would be done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepData {
    /// Its number.
    pub(crate) number: u32,
    /// Its id.
    pub(crate) id: String,
    /// Who does it.
    pub(crate) agent: String,
    /// The command line that would be started; empty where none is known, or none is needed.
    pub(crate) command: Vec<String>,
    /// What it would be given to read.
    pub(crate) reads: Vec<ReadData>,
    /// The tools that it may use.
    pub(crate) tools: Vec<ToolData>,
    /// What it may touch; `null`: anything, so it runs alone.
    pub(crate) touches: Option<Vec<String>>,
    /// Files that match that now, the first of them.
    pub(crate) files: Vec<String>,
    /// How many match.
    pub(crate) files_count: usize,
    /// What would judge it; `null`: a person.
    pub(crate) contract: Option<String>,
    /// How many attempts an agent would make at most.
    pub(crate) attempts_max: u32,
}

/// Something that an agent would be given to read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReadData {
    /// `file:PATH` or `topic:NAME`.
    pub(crate) reference: String,
    /// About how many tokens it has; `null`: it is not there now.
    pub(crate) tokens: Option<u64>,
}

/// A tool that a step may use.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolData {
    /// The tool, as the plan has it.
    pub(crate) tool: String,
    /// Whether an agent or this machine has it.
    pub(crate) is_here: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let path = shown(&path);
    // The checker would start bash; what it alone can find out is `verify`'s to say.
    let plan = verify::trusted(&source).ok_or_else(|| {
        Failure::new(Exit::No, format!("{path} has errors, so nothing would be run"))
            .next(NextCommand::new(["planwright", "verify", path.as_str()]))
    })?;
    let simulation = simulate(&project, &plan)?;
    print(&simulation, out);
    let data = Simulated {
        plan: project::name(path.as_ref()),
        digest: simulation.digest.clone(),
        waves: simulation.waves.iter().map(|wave| wave.iter().map(step_data).collect()).collect(),
        contracts: simulation.contracts,
        attempts_max: simulation.attempts_max,
        forecast: simulation.forecast,
    };
    // Not `run`: what only the checker finds out was not asked here.
    Ok(Response::done("simulate", &data).next(NextCommand::new(["planwright", "verify", path.as_str()])))
}

fn step_data(step: &SimulatedStep) -> StepData {
    let touches = step.touches.as_ref();
    StepData {
        number: step.number,
        id: step.id.clone(),
        agent: step.agent.clone(),
        command: step.command.clone(),
        reads: step
            .reads
            .iter()
            .map(|read| ReadData { reference: read.reference.clone(), tokens: read.tokens })
            .collect(),
        tools: step
            .tools
            .iter()
            .map(|(tool, is_here)| ToolData { tool: tool.clone(), is_here: *is_here })
            .collect(),
        touches: touches.map(|touches| touches.globs.clone()),
        files: touches.map(|touches| touches.files.clone()).unwrap_or_default(),
        files_count: touches.map_or(0, |touches| touches.count),
        contract: step.contract.clone(),
        attempts_max: step.attempts_max,
    }
}

fn print(simulation: &Simulation, out: &mut Out<'_>) {
    let mut table = Table::new();
    for (place, wave) in simulation.waves.iter().enumerate() {
        for (row, step) in wave.iter().enumerate() {
            let name = if row == 0 { format!("wave {}", place + 1) } else { String::new() };
            let words = [reads(step), tools(step), touches(step), Some(judge(step))];
            let words: Vec<String> = words.into_iter().flatten().collect();
            table.row(vec![
                Cell::new(name).tone(Tone::Muted),
                Cell::new(format!("{} {}", step.number, step.id)).tone(Tone::Strong),
                Cell::new(&step.agent),
                Cell::new(words.join("; ")),
            ]);
        }
    }
    out.table(&table);
    let counts = format!(
        "{}, at most {}",
        wording::number(simulation.contracts, "contract"),
        wording::number(simulation.attempts_max as usize, "attempt")
    );
    out.line(&match &simulation.forecast {
        Some(forecast) => format!("{counts}; {}", wording::forecast(forecast)),
        None => format!("{counts}; no history yet to say what that takes"),
    });
    out.line("nothing was run and nothing was written");
}

fn reads(step: &SimulatedStep) -> Option<String> {
    let name = |read: &SimulationInput| {
        let name = read.reference.trim_start_matches("file:");
        if read.tokens.is_some() { name.to_owned() } else { format!("{name} (not there yet)") }
    };
    let names: Vec<String> = step.reads.iter().map(name).collect();
    let tokens: u64 = step.reads.iter().filter_map(|read| read.tokens).sum();
    let about = match tokens {
        0 => String::new(),
        1..1000 => ", under 1k tokens".to_owned(),
        _ => format!(", about {}k tokens", tokens.div_ceil(1000)),
    };
    (!names.is_empty()).then(|| format!("reads {}{about}", names.join(", ")))
}

fn tools(step: &SimulatedStep) -> Option<String> {
    let name = |(tool, is_here): &(String, bool)| match is_here {
        true => tool.clone(),
        false => format!("{tool} (nobody here has it)"),
    };
    let names: Vec<String> = step.tools.iter().map(name).collect();
    (!names.is_empty()).then(|| format!("uses {}", names.join(", ")))
}

fn touches(step: &SimulatedStep) -> Option<String> {
    let touches = step.touches.as_ref()?;
    let now = match touches.count {
        0 => "no file yet".to_owned(),
        count => format!("{} now", wording::number(count, "file")),
    };
    Some(format!("touches {} ({now})", touches.globs.join(", ")))
}

fn judge(step: &SimulatedStep) -> String {
    match &step.contract {
        Some(command) => format!("must pass: {}", clean_line(command.lines().next().unwrap_or_default())),
        None => "a person confirms it".to_owned(),
    }
}
