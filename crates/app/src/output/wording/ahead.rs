//! What a run of a plan would do, step by step: what `run --dry-run` and `simulate` share.

use planwright_engine::api::{SimulatedStep, SimulatedTool, Simulation, SimulationInput};

use super::{forecast as forecast_words, number};
use crate::output::{Cell, Out, Table, Tone, clean_line};

/// Whether contracts are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contracts {
    Shown,
    Omitted,
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
    let name = |SimulatedTool { tool, is_here }: &SimulatedTool| match is_here {
        true => tool.clone(),
        false => format!("{tool} (unavailable)"),
    };
    let names: Vec<String> = step.tools.iter().map(name).collect();
    (!names.is_empty()).then(|| format!("uses {}", names.join(", ")))
}

fn touches(step: &SimulatedStep) -> Option<String> {
    let touches = step.touches.as_ref()?;
    let now = match step.files_count {
        0 => "no files yet".to_owned(),
        count => format!("{} now", number(count, "file")),
    };
    Some(format!("touches {} ({now})", touches.join(", ")))
}

fn judge(step: &SimulatedStep) -> String {
    match &step.contract {
        Some(command) => format!("must pass: {}", clean_line(command.lines().next().unwrap_or_default())),
        None => "you confirm it".to_owned(),
    }
}
