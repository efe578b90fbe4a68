//! What running a plan would do, without doing it: which agents would start in which order, what they would
//! be given, what they could change. Reads names and sizes of files; starts and writes nothing.

use std::path::Path;

use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::{Contract, Plan, Reference, Step};
use planwright_core::run::forecast::Forecast;
use planwright_core::run::stats::tool_name;
use planwright_core::syntax::glob::Glob;
use schemars::JsonSchema;
use serde::Serialize;

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

/// What a run of a plan would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Simulation {
    /// The plan.
    pub plan: String,
    /// Its digest.
    pub digest: String,
    /// The steps that could run at the same time, wave after wave.
    pub waves: Vec<Vec<SimulatedStep>>,
    /// How many contracts there are.
    pub contracts: usize,
    /// Maximum attempts, unless a person grants more.
    pub attempts_max: u32,
    /// What it will likely take; `null`: there is too little history.
    pub forecast: Option<Forecast>,
}

/// A step that would be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SimulatedStep {
    /// Its number.
    pub number: u32,
    /// Its id.
    pub id: String,
    /// Who does it.
    pub agent: String,
    /// The command line that would be started; empty where none is known, or none is needed.
    pub command: Vec<String>,
    /// What it would be given to read.
    pub reads: Vec<SimulationInput>,
    /// The tools that it may use.
    pub tools: Vec<SimulatedTool>,
    /// What it may touch; `null`: anything, so it runs alone.
    pub touches: Option<Vec<String>>,
    /// Files that match that now, the first of them.
    pub files: Vec<String>,
    /// How many match.
    pub files_count: usize,
    /// What would judge it; `null`: a person.
    pub contract: Option<String>,
    /// How many attempts an agent would make at most.
    pub attempts_max: u32,
}

/// Something that an agent would be given to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SimulationInput {
    /// `file:PATH` or `topic:NAME`.
    pub reference: String,
    /// About how many tokens it has; `null`: it is not there now.
    pub tokens: Option<u64>,
}

/// A tool that a step may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SimulatedTool {
    /// The tool, as the plan has it.
    pub tool: String,
    /// Whether an agent or this machine has it.
    pub is_here: bool,
}

/// Simulates the plan with this name.
pub fn simulate(project: &Project, name: &str, plan: &Plan) -> Result<Simulation, Error> {
    let needs_files = plan.steps.iter().any(|step| step.touches.is_some());
    let files = if needs_files { project.files()? } else { Vec::new() };
    let commands = project.config.agents_of(plan);
    let ahead = |place: usize| {
        let step = &plan.steps[place];
        let agent = project.config.agent_of(&step.target).to_owned();
        let matching = step.touches.as_ref().map(|globs| matching(globs, &files)).unwrap_or_default();
        SimulatedStep {
            number: step.number,
            id: step.id.clone(),
            command: commands.get(&step.target).cloned().unwrap_or_default(),
            attempts_max: attempts_max(step, &agent),
            agent,
            reads: step.reads.iter().map(|reference| given(project, reference)).collect(),
            tools: step.tools.iter().map(|name| tool(name)).collect(),
            touches: step.touches.clone(),
            files_count: matching.len(),
            files: matching.into_iter().take(FILES_NAMED_MAX).cloned().collect(),
            contract: step.contract.command().map(str::to_owned),
        }
    };
    let waves: Vec<Vec<SimulatedStep>> =
        plan.graph().waves().into_iter().map(|wave| wave.into_iter().map(ahead).collect()).collect();
    let all = || waves.iter().flatten();
    Ok(Simulation {
        plan: name.to_owned(),
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

fn tool(tool: &str) -> SimulatedTool {
    SimulatedTool { is_here: stats::has_tool(tool_name(tool)), tool: tool.to_owned() }
}

fn matching<'a>(globs: &[String], files: &'a [String]) -> Vec<&'a String> {
    let patterns: Vec<Glob> = globs.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
    files.iter().filter(|file| patterns.iter().any(|pattern| pattern.matches(file))).collect()
}
