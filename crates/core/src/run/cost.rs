//! What work has cost, per step and agent, and what the rest will cost at this rate. Adds up what agents
//! reported; an unreported cost is unknown and never counts as zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::account::Usage;
use crate::plan::verified::Plan;
use crate::run::event::{Event, StepEvent};
use crate::run::state::RunState;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Spent {
    pub plan: String,
    /// Empty in sums.
    pub step: String,
    /// Empty in the sum of all agents.
    pub agent: String,
    pub attempts: u64,
    /// `None` if unreported.
    pub tokens: Option<u64>,
    /// In millionths of a dollar; `None` if unreported.
    pub micro_dollars: Option<u64>,
    pub milliseconds: u64,
}

impl Spent {
    fn nothing(plan: &str, step: &str, agent: &str) -> Self {
        let (plan, step, agent) = (plan.to_owned(), step.to_owned(), agent.to_owned());
        Self { plan, step, agent, attempts: 0, tokens: None, micro_dollars: None, milliseconds: 0 }
    }

    fn add(&mut self, usage: Usage) {
        self.tokens = both(self.tokens, usage.tokens);
        self.micro_dollars = both(self.micro_dollars, usage.micro_dollars);
        self.milliseconds = self.milliseconds.saturating_add(usage.milliseconds);
    }

    const fn usage(&self) -> Usage {
        Usage { tokens: self.tokens, micro_dollars: self.micro_dollars, milliseconds: self.milliseconds }
    }
}

/// Stays `None` only if neither is known.
const fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (None, None) => None,
        (Some(amount), None) | (None, Some(amount)) => Some(amount),
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
    }
}

/// What each agent used for each step of a run, in plan order. Includes agents that were asked for an
/// opinion.
pub fn of_run<'a>(name: &str, plan: &Plan, events: impl Iterator<Item = &'a Event>) -> Vec<Spent> {
    let mut agents: BTreeMap<(&str, u32), &str> = BTreeMap::new();
    let mut spent: BTreeMap<(usize, String), Spent> = BTreeMap::new();
    for event in events {
        let Event::Step { step, event } = event else { continue };
        let Some(place) = plan.steps.iter().position(|own| own.id == *step) else { continue };
        let (agent, usage, attempts) = match event {
            StepEvent::Started(start) => {
                agents.insert((step, start.attempt), &start.agent);
                continue;
            }
            StepEvent::Finished(finish) => {
                let agent = agents.get(&(step.as_str(), finish.attempt));
                (agent.copied().unwrap_or_default(), finish.usage, 1)
            }
            StepEvent::Judged { receipt, .. } => match &receipt.opinion {
                Some(opinion) => (opinion.by.as_str(), opinion.usage, 0),
                None => continue,
            },
            StepEvent::Faulted { .. } => continue,
        };
        let own = spent.entry((place, agent.to_owned())).or_insert_with(|| Spent::nothing(name, step, agent));
        own.add(usage);
        own.attempts += attempts;
    }
    spent.into_values().collect()
}

/// One sum per agent, by name, then the total; empty without rows.
pub fn sums(rows: &[Spent]) -> Vec<Spent> {
    let mut agents: BTreeMap<&str, Spent> = BTreeMap::new();
    let mut all = Spent::nothing("", "", "");
    for row in rows {
        let own = agents.entry(&row.agent).or_insert_with(|| Spent::nothing("", "", &row.agent));
        for sum in [own, &mut all] {
            sum.add(row.usage());
            sum.attempts += row.attempts;
        }
    }
    let all = (!rows.is_empty()).then_some(all);
    agents.into_values().chain(all).collect()
}

/// What the rest of a run will take, if the remaining steps take as much as the done ones did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Projection {
    pub steps_left: usize,
    /// Done steps that an agent worked on, which the projection is based on.
    pub steps_settled: usize,
    /// `None` if unreported.
    pub tokens: Option<u64>,
    /// In millionths of a dollar; `None` if unreported.
    pub micro_dollars: Option<u64>,
    pub milliseconds: u64,
}

/// `None` if no step is left, or no agent has completed one.
pub fn projection(rows: &[Spent], state: &RunState) -> Option<Projection> {
    let is_settled = |id: &str| state.place(id).is_some_and(|place| state.steps[place].status.is_settled());
    let left = state.steps.iter().filter(|step| !step.status.is_settled()).count();
    let mut settled: BTreeMap<&str, Spent> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_settled(&row.step)) {
        settled.entry(&row.step).or_insert_with(|| Spent::nothing("", "", "")).add(row.usage());
    }
    if left == 0 || settled.is_empty() {
        return None;
    }
    let each = |amount: fn(&Spent) -> Option<u64>| {
        let said: Vec<u64> = settled.values().filter_map(amount).collect();
        let sum: u128 = said.iter().copied().map(u128::from).sum();
        let rest = sum * left as u128 / said.len().max(1) as u128;
        (!said.is_empty()).then(|| u64::try_from(rest).unwrap_or(u64::MAX))
    };
    Some(Projection {
        steps_left: left,
        steps_settled: settled.len(),
        tokens: each(|spent| spent.tokens),
        micro_dollars: each(|spent| spent.micro_dollars),
        milliseconds: each(|spent| Some(spent.milliseconds)).unwrap_or(0),
    })
}
