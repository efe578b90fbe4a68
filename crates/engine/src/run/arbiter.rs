//! Gathers what the arbiter decides by: the plan, its newest run, the configured agents and their history.
//! Asks the agent set as arbiter, if there is one. Core makes the choice; nothing here acts on it.

use std::path::Path;

use planwright_core::agent::profile::PROFILES;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::Plan;
use planwright_core::run::arbiter;
use planwright_core::run::arbiter::{
    Agents, ArbiterChoice, ArbiterContext, ArbiterRecords, Candidates, PriorAttempt,
};
use planwright_core::run::state::RunState;

use crate::config::schema;
use crate::run::consult::{AgentQuery, AgentQuestion};
use crate::run::{Error, Run, Runs};
use crate::system::clock::now;
use crate::system::process::Stop;
use crate::system::program;
use crate::workspace::project::Project;

/// Agents are judged by this many of the newest runs; older ones say little about today.
const RUNS_MAX: usize = 200;
/// How much contract output is included as the last error.
const ERROR_BYTES_MAX: usize = 2 << 10;

/// Everything a choice is based on.
pub struct ArbiterCase {
    /// The approved plan, or the file's if that was not run.
    pub plan: Plan,
    /// The state of its run; `None` if it was not run yet.
    pub run: Option<Run>,
    pub agents: Agents,
    /// The choices.
    pub table: Candidates,
    history: Vec<PriorAttempt>,
    last_error: Option<String>,
}

/// A target of a plan without a configured agent, and who could do its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vacancy {
    pub target: String,
    /// `None` if no agent is configured.
    pub agent: Option<String>,
    /// Why this one.
    pub because: String,
}

/// Gathers everything for the plan in a file. A run is described by its approved text, unless the file has
/// changed since.
pub fn gather(project: &Project, path: &Path, file: Option<&Plan>) -> Result<Option<ArbiterCase>, Error> {
    let runs = Runs::open_existing(project)?;
    let newest = runs.as_ref().map(|runs| runs.latest(path)).transpose()?.flatten();
    let is_same = |run: &Run| file.is_none_or(|plan| Digest::of(plan).to_string() == run.row.digest);
    let run = newest.filter(is_same);
    let Some(plan) = run.as_ref().map(|run| run.plan.clone()).or_else(|| file.cloned()) else {
        return Ok(None);
    };
    let agents = agents(project, &plan, runs.as_ref())?;
    let begun = arbiter::begun(&plan);
    let state = run.as_ref().map_or(&begun, |run| &run.state);
    let limits = project.config.run_limits();
    let table = arbiter::table(&plan, state, &agents, (&limits, now()));
    let events = || run.iter().flat_map(|run| run.events.iter().map(|recorded| &recorded.event));
    let history = arbiter::history(&plan, events());
    let last_error = last_error(runs.as_ref(), state);
    Ok(Some(ArbiterCase { plan, run, agents, table, history, last_error }))
}

impl ArbiterCase {
    fn context(&self) -> ArbiterContext<'_> {
        ArbiterContext {
            plan: &self.plan,
            state: self.run.as_ref().map(|run| &run.state),
            current: self.table.step,
            history: &self.history,
            last_error: self.last_error.as_deref(),
        }
    }

    /// The arbiter's briefing, in the layout of document B.
    pub fn told(&self) -> String {
        arbiter::context(&self.context())
    }

    pub fn choice(&self) -> ArbiterChoice {
        let begun = arbiter::begun(&self.plan);
        let state = self.run.as_ref().map_or(&begun, |run| &run.state);
        arbiter::choose(&self.plan, state, &self.agents, &self.table)
    }

    /// The choice of an agent if it stays within the table; otherwise the built-in one, with the reason.
    pub fn choice_of(&self, project: &Project, agent: &str, stop: &Stop) -> ArbiterChoice {
        let prompt = arbiter::prompt(&self.context(), &self.table);
        let said = AgentQuery::find(&project.config, agent).and_then(|adviser| {
            // It needs only its briefing, so it gets a directory without the project in it.
            let (config, root) = (&project.config, project.root.as_path());
            adviser
                .ask(AgentQuestion { prompt: &prompt, config, root, is_inside: false, role: "arbiter" }, stop)
        });
        let said = said.as_ref().map(|said| said.text.as_str()).map_err(ToString::to_string);
        arbiter::bounded(self.choice(), &self.table, (agent, said))
    }

    /// The targets of the plan without a configured agent.
    pub fn vacancies(&self) -> Vec<Vacancy> {
        let among: Vec<String> = self.agents.configured.iter().cloned().collect();
        let mut vacancies: Vec<Vacancy> = Vec::new();
        for step in &self.plan.steps {
            let is_known = schema::BUILT_IN.contains(&step.target.as_str())
                || self.agents.configured.contains(self.agents.suggested(&step.target));
            if is_known || vacancies.iter().any(|known| known.target == step.target) {
                continue;
            }
            let found = arbiter::agent_for(&step.target, &self.agents, &among);
            let (agent, because) = found.unzip();
            let because = because.unwrap_or_else(|| "no agent configured".to_owned());
            vacancies.push(Vacancy { target: step.target.clone(), agent, because });
        }
        vacancies
    }
}

fn agents(project: &Project, plan: &Plan, runs: Option<&Runs>) -> Result<Agents, Error> {
    let config = &project.config;
    let installed = PROFILES.iter().filter(|profile| program::has_program(profile.program));
    let installed = installed.map(|profile| profile.name.to_owned());
    // A named agent is meant whether or not it is installed: the run reports a missing one.
    let targets = plan.steps.iter().map(|step| &step.target);
    let named = config.roles.values().chain(targets).filter(|name| !config.command_of(name).is_empty());
    let built_in = schema::BUILT_IN.iter().map(|&name| name.to_owned());
    let mut records = ArbiterRecords::default();
    if let Some(runs) = runs {
        for id in runs.store().run_ids(None)?.into_iter().rev().take(RUNS_MAX) {
            // An unreadable run contributes nothing.
            if let Ok(run) = runs.run(id) {
                records.count(&run.plan, run.events.iter().map(|recorded| &recorded.event));
            }
        }
    }
    Ok(Agents {
        configured: config.agents.keys().chain(named).cloned().chain(installed).chain(built_in).collect(),
        roles: config.roles.clone(),
        records,
    })
}

/// The last failure of an unfinished step, with the end of its contract's output.
fn last_error(runs: Option<&Runs>, state: &RunState) -> Option<String> {
    let open = state.steps.iter().filter(|step| !step.status.is_settled());
    let (step, last) = open.filter_map(|step| Some((step, step.history.failed.last()?))).next_back()?;
    let output = last.output.as_ref().and_then(|blob| runs?.blob(blob).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    let start = text.ceil_char_boundary(text.len().saturating_sub(ERROR_BYTES_MAX));
    Some(format!("{}, attempt {}: {}\n{}", step.id, last.attempt, last.failure, text[start..].trim_end()))
}
