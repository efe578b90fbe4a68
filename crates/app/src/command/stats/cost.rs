//! What work has cost, step by step and agent by agent, and what the rest will cost at this rate.

use std::path::Path;

use planwright_engine::core::run::cost;
use planwright_engine::core::run::cost::{Projection, Spent};
use planwright_engine::core::run::event::{Event, StepEvent};
use planwright_engine::run::{Run, Runs};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::wording;
use crate::output::{Cell, Failure, Out, Table, Tone, clean_line};

/// What work has cost.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CostData {
    /// What each agent used for each step, run after run.
    pub(crate) steps: Vec<Spent>,
    /// The sum of each agent, and of all of them at the end.
    pub(crate) sums: Vec<Spent>,
    /// What the rest of each run that is not over will take, at this rate.
    pub(crate) projections: Vec<ProjectionData>,
}

/// What the rest of a run will take.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectionData {
    /// The plan.
    pub(crate) plan: String,
    /// The run.
    pub(crate) run: i64,
    /// What the rest will take, at this rate.
    #[serde(flatten)]
    pub(crate) rest: Projection,
    /// How much of each limit of the plan is spent, in percent: money, tokens, time.
    pub(crate) spent_percent: Vec<u64>,
}

/// Adds up what the runs of a project cost; of one plan where one is named.
pub(super) fn gather(runs: &Runs, plan: Option<&Path>, since_ms: u64) -> Result<CostData, Failure> {
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
            projections.push(ProjectionData {
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
    Ok(CostData { steps, sums, projections })
}

/// What happened in a run at this time or later; that an attempt began is told in any case, since it names the agent.
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

/// Prints the table.
pub(super) fn print(data: &CostData, out: &mut Out<'_>) {
    if data.steps.is_empty() {
        out.line("no costs in this period");
        return;
    }
    let mut table = Table::new();
    let heads = ["step", "agent", "attempts", "tokens", "cost", "time"];
    table.row(heads.map(|head| Cell::new(head).tone(Tone::Muted)));
    for spent in &data.steps {
        table.row(row(&format!("{}/{}", spent.plan, spent.step), spent));
    }
    for sum in &data.sums {
        table.row(row(if sum.agent.is_empty() { "all" } else { "" }, sum));
    }
    out.table(&table);
    for ProjectionData { plan, rest, spent_percent, .. } in &data.projections {
        let needs: Vec<String> = [
            rest.micro_dollars.map(wording::money),
            rest.tokens.map(|tokens| format!("{tokens} tokens")),
            Some(wording::age(0, rest.milliseconds)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let steps = wording::number(rest.steps_left, "step");
        let spent = spent_percent.iter().max().map(|most| format!("; {most}% of its budget is spent"));
        let line = format!(
            "{plan}: {steps} left, about {} at this rate{}",
            needs.join(", "),
            spent.unwrap_or_default()
        );
        out.line(&clean_line(&line));
    }
}

fn row(name: &str, spent: &Spent) -> Vec<Cell> {
    let said = |amount: Option<String>| amount.unwrap_or_else(|| "-".to_owned());
    vec![
        Cell::new(name).tone(Tone::Strong),
        Cell::new(&spent.agent),
        Cell::new(spent.attempts.to_string()).right(),
        Cell::new(said(spent.tokens.map(|tokens| tokens.to_string()))).right(),
        Cell::new(said(spent.micro_dollars.map(wording::money))).right(),
        Cell::new(wording::clock_span(spent.milliseconds)).right(),
    ]
}
