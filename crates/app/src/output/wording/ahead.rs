//! What a run of a plan would do, step by step: what `run --dry-run` and `simulate` share.

use planwright_engine::core::run::forecast::Forecast;
use planwright_engine::run::simulate::{SimulatedStep, Simulation, SimulationInput};
use schemars::JsonSchema;
use serde::Serialize;

use super::{forecast as forecast_words, number};
use crate::output::{Cell, Out, Table, Tone, clean_line};

/// What a run of a plan would do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Simulated {
    /// The plan.
    pub(crate) plan: String,
    /// Its digest.
    pub(crate) digest: String,
    /// The steps that could run at the same time, wave after wave.
    pub(crate) waves: Vec<Vec<AheadData>>,
    /// How many contracts there are.
    pub(crate) contracts: usize,
    /// Maximum attempts, unless a person grants more.
    pub(crate) attempts_max: u32,
    /// What it will likely take; `null`: there is too little history.
    pub(crate) forecast: Option<Forecast>,
}

/// A step that would be done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AheadData {
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

/// Whether contracts are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contracts {
    Shown,
    Omitted,
}

/// The same as data.
pub(crate) fn data(plan: String, simulation: &Simulation) -> Simulated {
    Simulated {
        plan,
        digest: simulation.digest.clone(),
        waves: simulation.waves.iter().map(|wave| wave.iter().map(step_data).collect()).collect(),
        contracts: simulation.contracts,
        attempts_max: simulation.attempts_max,
        forecast: simulation.forecast.clone(),
    }
}

fn step_data(step: &SimulatedStep) -> AheadData {
    let touches = step.touches.as_ref();
    AheadData {
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

/// Prints the waves of a run and what it takes. What must pass is left out where the caller shows it.
pub(crate) fn print(simulation: &Simulation, contracts: Contracts, out: &mut Out<'_>) {
    let mut table = Table::new();
    for (place, wave) in simulation.waves.iter().enumerate() {
        for (row, step) in wave.iter().enumerate() {
            let name = if row == 0 { format!("wave {}", place + 1) } else { String::new() };
            let must = (contracts == Contracts::Shown).then(|| judge(step));
            let words = [reads(step), tools(step), touches(step), must];
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
        number(simulation.contracts, "contract"),
        number(simulation.attempts_max as usize, "attempt")
    );
    out.line(&match &simulation.forecast {
        Some(forecast) => format!("{counts}; {}", forecast_words(forecast)),
        None => format!("{counts}; no history for a forecast"),
    });
}

fn reads(step: &SimulatedStep) -> Option<String> {
    let name = |read: &SimulationInput| {
        let name = read.reference.trim_start_matches("file:");
        if read.tokens.is_some() { name.to_owned() } else { format!("{name} (not found yet)") }
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
        false => format!("{tool} (unavailable)"),
    };
    let names: Vec<String> = step.tools.iter().map(name).collect();
    (!names.is_empty()).then(|| format!("uses {}", names.join(", ")))
}

fn touches(step: &SimulatedStep) -> Option<String> {
    let touches = step.touches.as_ref()?;
    let now = match touches.count {
        0 => "no files yet".to_owned(),
        count => format!("{} now", number(count, "file")),
    };
    Some(format!("touches {} ({now})", touches.globs.join(", ")))
}

fn judge(step: &SimulatedStep) -> String {
    match &step.contract {
        Some(command) => format!("must pass: {}", clean_line(command.lines().next().unwrap_or_default())),
        None => "you confirm it".to_owned(),
    }
}
