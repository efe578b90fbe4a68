//! Statistics from journals: first-try success, waiting times, contracts that never failed. Counts only what
//! happened: without history there is no figure. docs/reference/statistics.md defines each of them.

mod contract;
mod missing_tool;
mod wait;

pub use contract::ContractFigures;
pub use missing_tool::{Gap, GapKind, tool_name};
pub use wait::WaitTime;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::account::Usage;
use crate::agent::work_item::WorkKind;
use crate::plan::verified::{Contract, Plan, Step};
use crate::run::baseline::Baseline;
use crate::run::event::{AskEvent, AttemptEnd, Event, Judged, RunEvent, StepEvent};
use crate::run::forecast::ForecastSample;
use crate::run::receipt::Blob;

pub struct StepRecord<'a> {
    pub name: &'a str,
    /// The approved plan.
    pub plan: &'a Plan,
    /// With times in milliseconds since 1970, oldest first.
    pub events: &'a [(u64, Event)],
    /// The output of contracts that could not run, as far as it is kept.
    pub outputs: &'a BTreeMap<Blob, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Stats {
    /// Runs with any event in the period.
    pub runs: usize,
    pub all: Figures,
    pub agents: BTreeMap<String, Figures>,
    pub plans: BTreeMap<String, Figures>,
    pub waiting: WaitTime,
    /// Every contract that ran, by plan and step.
    pub contracts: Vec<ContractFigures>,
    /// Missing tools, agents and programs.
    pub gaps: Vec<Gap>,
}

/// Results of steps. A step that an agent tried is in exactly one of the four counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Figures {
    /// Steps that an agent tried and that are done, or led to a question.
    pub steps: usize,
    /// Passed with the first judged attempt.
    pub first_try: usize,
    /// Passed with a later one, without a question.
    pub retried: usize,
    /// A person was asked about them.
    pub reached_you: usize,
    /// The run finished before they passed.
    pub failed: usize,
    /// The median time of attempts and contracts, for steps that passed; `None` if none did.
    pub median_ms: Option<u64>,
    /// In millionths of a dollar; `None` if unreported.
    pub micro_dollars: Option<u64>,
    /// The number of steps with a reported cost.
    pub priced: usize,
    /// `None` if unreported.
    pub tokens: Option<u64>,
}

impl Figures {
    /// The average cost per step, in millionths of a dollar; `None` if unreported.
    pub fn micro_dollars_per_step(&self) -> Option<u64> {
        let steps = u64::try_from(self.priced).ok().filter(|&steps| steps > 0)?;
        self.micro_dollars.map(|total| total / steps)
    }

    /// A count as a rounded percentage of the steps; `None` without steps.
    pub fn percent(&self, count: usize) -> Option<usize> {
        (self.steps > 0).then(|| (count * 200 + self.steps) / (self.steps * 2))
    }
}

#[derive(Debug, Default)]
pub struct Counter {
    since_ms: u64,
    runs: usize,
    steps: Vec<Counted>,
    waits: wait::Waits,
    contracts: contract::Contracts,
    gaps: missing_tool::Gaps,
}

/// One step of one run.
#[derive(Debug)]
struct Counted {
    plan: String,
    agent: String,
    kind: WorkKind,
    end: End,
    used: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    FirstTry,
    Retried,
    ReachedYou,
    Failed,
}

/// What is known about a step while its journal is read.
#[derive(Debug, Default)]
struct Traced {
    agent: Option<String>,
    used: Usage,
    failures: u32,
    is_asked: bool,
    is_passed: bool,
    last_ms: u64,
}

impl Counter {
    /// Counts what happened at or after this time, in milliseconds since 1970.
    pub fn since(since_ms: u64) -> Self {
        Self { since_ms, ..Self::default() }
    }

    /// Counts a run. The same run must not be counted twice.
    pub fn count(&mut self, record: &StepRecord<'_>, now_ms: u64) {
        let Some((last_ms, _)) = record.events.last() else { return };
        if *last_ms < self.since_ms {
            // Old verdicts still show whether a contract can fail.
            self.contracts.count(record, self.since_ms);
            return;
        }
        self.runs += 1;
        self.count_steps(record);
        self.waits.count(record.events, (self.since_ms, now_ms));
        self.contracts.count(record, self.since_ms);
        self.gaps.count(record, self.since_ms);
    }

    /// Counts results before the work: a contract that failed there has failed.
    pub fn count_red(&mut self, red: &[Baseline]) {
        self.contracts.count_red(red);
    }

    fn count_steps(&mut self, record: &StepRecord<'_>) {
        let traced = trace(record.events);
        let is_end = |event: &Event| matches!(event, Event::Run(RunEvent::Finished { .. }));
        let is_over = record.events.iter().any(|(_, event)| is_end(event));
        for step in &record.plan.steps {
            let Some(known) = traced.get(step.id.as_str()) else { continue };
            let Some(end) = end_of(step, known) else { continue };
            let is_under_way = end == End::Failed && !is_over;
            if is_under_way || known.last_ms < self.since_ms {
                continue;
            }
            self.steps.push(Counted {
                plan: record.name.to_owned(),
                agent: known.agent.clone().unwrap_or_default(),
                kind: WorkKind::of(&step.target),
                end,
                used: known.used,
            });
        }
    }

    /// What passed steps took, for forecasts.
    pub fn samples(&self) -> Vec<ForecastSample> {
        let passed = self.steps.iter().filter(|step| matches!(step.end, End::FirstTry | End::Retried));
        let sample = |step: &Counted| ForecastSample {
            agent: step.agent.clone(),
            kind: step.kind,
            milliseconds: step.used.milliseconds,
            micro_dollars: step.used.micro_dollars,
        };
        passed.map(sample).collect()
    }

    /// `has_tool` says whether a tool is available here.
    pub fn stats(self, has_tool: impl Fn(&str) -> bool) -> Stats {
        let group = |name: fn(&Counted) -> &String| {
            let mut groups: BTreeMap<String, Vec<&Counted>> = BTreeMap::new();
            for step in &self.steps {
                groups.entry(name(step).clone()).or_default().push(step);
            }
            groups.into_iter().map(|(name, steps)| (name, figures(&steps))).collect()
        };
        Stats {
            runs: self.runs,
            all: figures(&self.steps.iter().collect::<Vec<_>>()),
            agents: group(|step| &step.agent),
            plans: group(|step| &step.plan),
            waiting: self.waits.figures(),
            contracts: self.contracts.figures(),
            gaps: self.gaps.figures(has_tool),
        }
    }
}

fn figures(steps: &[&Counted]) -> Figures {
    let count = |end: End| steps.iter().filter(|step| step.end == end).count();
    let passed = steps.iter().filter(|step| matches!(step.end, End::FirstTry | End::Retried));
    let sum = |amounts: Vec<u64>| (!amounts.is_empty()).then(|| amounts.iter().sum());
    let prices: Vec<u64> = steps.iter().filter_map(|step| step.used.micro_dollars).collect();
    Figures {
        steps: steps.len(),
        first_try: count(End::FirstTry),
        retried: count(End::Retried),
        reached_you: count(End::ReachedYou),
        failed: count(End::Failed),
        median_ms: median(passed.map(|step| step.used.milliseconds).collect()),
        priced: prices.len(),
        micro_dollars: sum(prices),
        tokens: sum(steps.iter().filter_map(|step| step.used.tokens).collect()),
    }
}

/// The median; the lower of two middle values.
pub(crate) fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// How a step ended, if nothing follows; `None` if it doesn't count: no agent tried it, it is manual, or
/// nothing was judged.
fn end_of(step: &Step, known: &Traced) -> Option<End> {
    if known.agent.is_none() || step.contract == Contract::Manual {
        return None;
    }
    match known {
        Traced { is_asked: true, .. } => Some(End::ReachedYou),
        Traced { is_passed: true, failures: 0, .. } => Some(End::FirstTry),
        Traced { is_passed: true, .. } => Some(End::Retried),
        Traced { failures: 1.., .. } => Some(End::Failed),
        Traced { .. } => None,
    }
}

fn trace(events: &[(u64, Event)]) -> BTreeMap<&str, Traced> {
    let mut steps: BTreeMap<&str, Traced> = BTreeMap::new();
    for (at_ms, event) in events {
        let Some(step) = event.step() else { continue };
        let known = steps.entry(step).or_default();
        known.last_ms = *at_ms;
        match event {
            Event::Step { event: StepEvent::Started(start), .. } => {
                known.agent.get_or_insert_with(|| start.agent.clone());
            }
            Event::Step { event: StepEvent::Finished(finish), .. } => {
                known.used = known.used.plus(finish.usage);
                known.failures += u32::from(matches!(finish.end, AttemptEnd::TimedOut(_)));
            }
            Event::Step { event: StepEvent::Judged { of: Judged::Attempt(_), receipt, .. }, .. } => {
                known.used.milliseconds += receipt.milliseconds;
                known.is_passed = receipt.verdict.is_passed();
                known.failures += u32::from(!receipt.verdict.is_passed());
            }
            Event::Ask { event: AskEvent::Opened { .. }, .. } => known.is_asked = true,
            Event::Step {
                event:
                    StepEvent::Judged { of: Judged::Claim | Judged::Closing(_), .. } | StepEvent::Faulted { .. },
                ..
            }
            | Event::Ask { event: AskEvent::Answered { .. }, .. }
            | Event::Run(_) => {}
        }
    }
    steps
}
