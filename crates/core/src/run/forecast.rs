//! What work will likely take, from what similar work took here before. Makes no forecast from too few
//! samples. Pure: randomness is a fixed sequence, so the same history gives the same forecast.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::work_item::WorkKind;
use crate::plan::verified::{Contract, Plan};

/// With fewer steps of a kind, a range would say more about chance than about the work.
pub const SAMPLES_MIN: usize = 5;
/// The number of simulated runs. Both ends cut off a tenth, so each is based on fifty.
const DRAWS: usize = 500;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// What one passed step took, including all its attempts and contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForecastSample {
    pub agent: String,
    pub kind: WorkKind,
    /// Excludes time spent waiting for a person.
    pub milliseconds: u64,
    /// In millionths of a dollar; `None` if unreported.
    pub micro_dollars: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Forecast {
    /// Excludes time spent waiting for a person.
    pub seconds: Range,
    /// In millionths of a dollar; `None` if too few agents reported costs.
    pub micro_dollars: Option<Range>,
    /// The steps that it is based on, counted for the agent with the fewest.
    pub samples: usize,
}

/// A likely amount with its range: four times out of five the value is between the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Range {
    /// The 10th percentile.
    pub low: u64,
    /// The median.
    pub likely: u64,
    /// The 90th percentile.
    pub high: u64,
}

/// A step of the plan to forecast.
struct Ahead<'a> {
    milliseconds: Vec<u64>,
    micro_dollars: Vec<u64>,
    needs: &'a [usize],
}

/// What a plan will likely take with this many parallel attempts; `agent_of` resolves a step's target. `None`
/// if too little is known about one of its agents. Ignores manual steps.
pub fn forecast(
    past: &[ForecastSample],
    plan: &Plan,
    jobs: usize,
    agent_of: impl Fn(&str) -> String,
) -> Option<Forecast> {
    let mut fewest = usize::MAX;
    let mut steps = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let is_ours = step.contract == Contract::Manual || step.target == "human";
        let known = match is_ours {
            true => Vec::new(),
            false => {
                let known = like(past, &agent_of(&step.target), WorkKind::of(&step.target))?;
                fewest = fewest.min(known.len());
                known
            }
        };
        steps.push(Ahead {
            milliseconds: known.iter().map(|sample| sample.milliseconds).collect(),
            micro_dollars: known.iter().filter_map(|sample| sample.micro_dollars).collect(),
            needs: &step.needs,
        });
    }
    if fewest == usize::MAX {
        return None;
    }
    let is_priced =
        steps.iter().all(|step| step.milliseconds.is_empty() || step.micro_dollars.len() >= SAMPLES_MIN);
    let mut chance = Chance(SEED);
    let mut times = Vec::with_capacity(DRAWS);
    let mut costs = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let drawn: Vec<u64> = steps.iter().map(|step| chance.pick(&step.milliseconds)).collect();
        times.push(makespan(&steps, &drawn, jobs.max(1)).div_ceil(1000));
        costs.push(steps.iter().map(|step| chance.pick(&step.micro_dollars)).sum());
    }
    Some(Forecast { seconds: range(times), micro_dollars: is_priced.then(|| range(costs)), samples: fewest })
}

/// Samples of this agent and kind, or of this agent alone if there are too few of the kind.
fn like<'a>(past: &'a [ForecastSample], agent: &str, kind: WorkKind) -> Option<Vec<&'a ForecastSample>> {
    let of_agent: Vec<&ForecastSample> = past.iter().filter(|sample| sample.agent == agent).collect();
    let of_kind: Vec<&ForecastSample> =
        of_agent.iter().copied().filter(|sample| sample.kind == kind).collect();
    [of_kind, of_agent].into_iter().find(|samples| samples.len() >= SAMPLES_MIN)
}

/// The duration if each step starts as soon as the steps it needs are done and a job slot is free.
fn makespan(steps: &[Ahead<'_>], drawn: &[u64], jobs: usize) -> u64 {
    let mut hands = vec![0_u64; jobs];
    let mut ends: Vec<Option<u64>> = vec![None; steps.len()];
    // In plan order; a step may need a later one, so repeat until none is left.
    for _ in 0..steps.len() {
        for place in 0..steps.len() {
            let ready = steps[place]
                .needs
                .iter()
                .map(|&need| ends[need])
                .try_fold(0, |latest, end| end.map(|end| u64::max(latest, end)));
            let (None, Some(ready)) = (ends[place], ready) else { continue };
            let hand = hands.iter_mut().min().expect("there is at least one job slot");
            *hand = ready.max(*hand).saturating_add(drawn[place]);
            ends[place] = Some(*hand);
        }
        if ends.iter().all(Option::is_some) {
            break;
        }
    }
    ends.into_iter().flatten().max().unwrap_or(0)
}

fn range(mut values: Vec<u64>) -> Range {
    values.sort_unstable();
    let at = |tenths: usize| values[(values.len() - 1) * tenths / 10];
    Range { low: at(1), likely: at(5), high: at(9) }
}

/// A fixed sequence of pseudo-random numbers.
struct Chance(u64);

impl Chance {
    /// One of the values; 0 if there are none.
    fn pick(&mut self, values: &[u64]) -> u64 {
        if values.is_empty() {
            return 0;
        }
        self.0 = self.0.wrapping_add(SEED);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bound = u64::try_from(values.len()).unwrap_or(u64::MAX);
        values[usize::try_from((mixed ^ (mixed >> 31)) % bound).unwrap_or(0)]
    }
}
