//! How work goes in a project, and what it costs: counted from journals.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_core::run::cost;
use planwright_core::run::cost::{Projection, Spent};
use planwright_core::run::event::{Event, StepEvent};
use planwright_core::run::stats::{ContractFigures, Figures, Gap, Stats, WaitTime};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::Error;
use crate::api::workspace::Workspace;
use crate::run::stats;
use crate::run::stats::{StatsCount, StatsScope};
use crate::run::{Run, Runs};

/// What is counted.
#[derive(Debug, Default)]
pub struct StatsOptions<'a> {
    /// Only what happened at this time or later, in milliseconds since 1970.
    pub since_ms: u64,
    /// Only this plan.
    pub plan: Option<&'a str>,
    /// Whether costs are added up.
    pub has_cost: bool,
}

/// How work goes in a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsView {
    /// Only what happened at this time or later was counted, in milliseconds since 1970; 0: everything.
    pub since_ms: u64,
    /// How many runs something happened in.
    pub runs: usize,
    /// How many runs could not be read: what they would say is not in the figures.
    pub unread: usize,
    /// The steps of all agents.
    pub all: Figures,
    /// The steps of each agent.
    pub agents: BTreeMap<String, Figures>,
    /// The steps of each plan.
    pub plans: BTreeMap<String, Figures>,
    /// What waited for a person.
    pub waiting: WaitTime,
    /// Every contract that was run, by plan and step.
    pub contracts: Vec<ContractFigures>,
    /// Tools and programs that plans need and that are missing.
    pub gaps: Vec<Gap>,
    /// What each step cost, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostView>,
}

/// What work has cost.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CostView {
    /// What each agent used for each step, run after run.
    pub steps: Vec<Spent>,
    /// The sum of each agent, and of all of them at the end.
    pub sums: Vec<Spent>,
    /// What the rest of each run that is not over will take, at this rate.
    pub projections: Vec<ProjectionView>,
}

/// What the rest of a run will take.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProjectionView {
    /// The plan.
    pub plan: String,
    /// The run.
    pub run: i64,
    /// What the rest will take, at this rate.
    #[serde(flatten)]
    pub rest: Projection,
    /// How much of each limit of the plan is spent, in percent: money, tokens, time.
    pub spent_percent: Vec<u64>,
}

impl Workspace {
    /// The figures of runs; none where nothing was run.
    pub fn count(&self, scope: &StatsScope) -> Result<StatsCount, Error> {
        count(Runs::open_existing(self.project())?.as_ref(), scope)
    }

    pub fn stats(&self, options: &StatsOptions<'_>) -> Result<StatsView, Error> {
        let since_ms = options.since_ms;
        let plan = options.plan.map(|plan| self.project().address(plan)).transpose()?;
        let plan = plan.map(|address| address.plan);
        let runs = Runs::open_existing(self.project())?;
        let cost = match runs.as_ref().filter(|_| options.has_cost) {
            Some(runs) => Some(cost_of(runs, plan.as_deref(), since_ms)?),
            None => None,
        };
        let counted = count(runs.as_ref(), &StatsScope { since_ms, plan })?;
        let StatsCount { stats: Stats { runs, all, agents, plans, waiting, contracts, gaps }, unread } =
            counted;
        Ok(StatsView { since_ms, runs, unread, all, agents, plans, waiting, contracts, gaps, cost })
    }
}

fn count(runs: Option<&Runs>, scope: &StatsScope) -> Result<StatsCount, Error> {
    match runs {
        Some(runs) => Ok(stats::count(runs, scope)?),
        None => Ok(StatsCount { stats: Stats::default(), unread: 0 }),
    }
}

/// Adds up what the runs of a project cost; of one plan where one is named.
fn cost_of(runs: &Runs, plan: Option<&Path>, since_ms: u64) -> Result<CostView, Error> {
    let all = match plan {
        Some(plan) => runs.of_plan(plan)?,
        None => runs.all()?,
    };
    let (mut steps, mut projections) = (Vec::new(), Vec::new());
    for run in &all {
        let of_run = cost::of_run(&run.row.name, &run.plan, events(run, 0));
        if run.state.outcome().is_none()
            && let Some(rest) = cost::projection(&of_run, &run.state)
        {
            let spent_percent = percents(run);
            projections.push(ProjectionView {
                plan: run.row.name.clone(),
                run: run.row.id.number(),
                rest,
                spent_percent,
            });
        }
        steps.extend(match since_ms {
            0 => of_run,
            _ => cost::of_run(&run.row.name, &run.plan, events(run, since_ms)),
        });
    }
    let sums = cost::sums(&steps);
    Ok(CostView { steps, sums, projections })
}

/// What happened in a run at this time or later; the start of an attempt is always included, since it names the agent.
fn events(run: &Run, since_ms: u64) -> impl Iterator<Item = &Event> {
    let is_in = move |at_ms: u64, event: &Event| {
        at_ms >= since_ms || matches!(event, Event::Step { event: StepEvent::Started(_), .. })
    };
    run.events
        .iter()
        .filter(move |recorded| is_in(recorded.at_ms, &recorded.event))
        .map(|recorded| &recorded.event)
}

/// How much of each limit of a run's plan is spent.
fn percents(run: &Run) -> Vec<u64> {
    let (budget, spent, granted) = (&run.plan.budget, &run.state.spent, &run.state.granted);
    let limits = [
        (spent.micro_dollars, budget.micro_dollars.map(|limit| limit.saturating_add(granted.micro_dollars))),
        (spent.tokens, budget.tokens.map(|limit| limit.saturating_add(granted.tokens))),
        (Some(spent.milliseconds / 1000), budget.seconds.map(|limit| limit.saturating_add(granted.seconds))),
    ];
    let percent = |(spent, limit): (Option<u64>, Option<u64>)| {
        let share = u128::from(spent?) * 100 / u128::from(limit?.max(1));
        Some(u64::try_from(share).unwrap_or(u64::MAX))
    };
    limits.into_iter().filter_map(percent).collect()
}
