//! What running a plan would do, without doing it: which agents would start in which order, what they would
//! be given, what they could change. Reads names and sizes of files; starts and writes nothing.

use std::path::Path;

use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::{Contract, Plan, Reference, Step};
use planwright_core::run::forecast::Forecast;
use planwright_core::run::stats::tool_name;
use planwright_core::syntax::glob::Glob;

use crate::run;
use crate::run::stats;
use crate::workspace::facts;
use crate::workspace::project;
use crate::workspace::project::Project;

/// How many files are named per step; the others are counted.
const FILES_NAMED_MAX: usize = 20;
/// Roughly this many bytes are one token.
const TOKEN_BYTES: u64 = 4;
/// The target of manual steps.
const HUMAN: &str = "human";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error(transparent)]
    Runs(#[from] run::Error),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulation {
    pub digest: String,
    /// The steps that could run in parallel, wave by wave.
    pub waves: Vec<Vec<SimulatedStep>>,
    pub contracts: usize,
    /// The most attempts that agents would make, if nobody grants more.
    pub attempts_max: u32,
    /// `None` if there is too little history.
    pub forecast: Option<Forecast>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedStep {
    pub number: u32,
    pub id: String,
    pub agent: String,
    /// The command that would start; empty if none is known.
    pub command: Vec<String>,
    /// What it would be given to read.
    pub reads: Vec<SimulationInput>,
    /// The tools it may use, and whether they are available.
    pub tools: Vec<(String, bool)>,
    /// `None`: anything, so it runs alone.
    pub touches: Option<Touches>,
    /// `None`: a person decides.
    pub contract: Option<String>,
    pub attempts_max: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulationInput {
    /// `file:PATH` or `topic:NAME`.
    pub reference: String,
    /// The approximate token count; `None` if it does not exist now.
    pub tokens: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touches {
    pub globs: Vec<String>,
    /// Files that match now, up to a limit.
    pub files: Vec<String>,
    pub count: usize,
}

pub fn simulate(project: &Project, plan: &Plan) -> Result<Simulation, Error> {
    let needs_files = plan.steps.iter().any(|step| step.touches.is_some());
    let files = if needs_files { project.files()? } else { Vec::new() };
    let commands = project.config.agents_of(plan);
    let ahead = |place: usize| {
        let step = &plan.steps[place];
        let agent = project.config.agent_of(&step.target).to_owned();
        SimulatedStep {
            number: step.number,
            id: step.id.clone(),
            command: commands.get(&step.target).cloned().unwrap_or_default(),
            attempts_max: attempts_max(step, &agent),
            agent,
            reads: step.reads.iter().map(|reference| given(project, reference)).collect(),
            tools: step.tools.iter().map(|tool| (tool.clone(), stats::has_tool(tool_name(tool)))).collect(),
            touches: step.touches.as_ref().map(|globs| touches(globs, &files)),
            contract: step.contract.command().map(str::to_owned),
        }
    };
    let waves: Vec<Vec<SimulatedStep>> =
        plan.graph().waves().into_iter().map(|wave| wave.into_iter().map(ahead).collect()).collect();
    let all = || waves.iter().flatten();
    Ok(Simulation {
        digest: Digest::of(plan).to_string(),
        contracts: all().filter(|step| step.contract.is_some()).count(),
        attempts_max: all().map(|step| step.attempts_max).sum(),
        forecast: stats::forecast(project, plan)?,
        waves,
    })
}

fn attempts_max(step: &Step, agent: &str) -> u32 {
    match &step.contract {
        _ if agent == HUMAN => 0,
        Contract::Shell { .. } => step.on_fail.retries.saturating_add(1),
        // A person checks the first attempt.
        Contract::Manual => 1,
    }
}

fn given(project: &Project, reference: &Reference) -> SimulationInput {
    let tokens = |path: &Path| {
        let bytes = project.root.join(path).metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        Some(bytes.min(project.config.run.context_bytes).div_ceil(TOKEN_BYTES))
    };
    match reference {
        Reference::File(path) => {
            SimulationInput { reference: format!("file:{path}"), tokens: tokens(Path::new(path)) }
        }
        // A command may know the topic; it is not run.
        Reference::Topic(name) => SimulationInput {
            reference: format!("topic:{name}"),
            tokens: tokens(&Path::new(facts::TOPICS).join(format!("{name}.md"))),
        },
    }
}

fn touches(globs: &[String], files: &[String]) -> Touches {
    let patterns: Vec<Glob> = globs.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
    let matching: Vec<&String> =
        files.iter().filter(|file| patterns.iter().any(|pattern| pattern.matches(file))).collect();
    Touches {
        globs: globs.to_vec(),
        count: matching.len(),
        files: matching.into_iter().take(FILES_NAMED_MAX).cloned().collect(),
    }
}
