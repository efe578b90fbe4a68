//! How long a run takes with several jobs, on paper: every step takes a time that `decide` does not know, and nothing else
//! takes any.

use planwright_core::plan::verified::Plan;
use planwright_core::run::schedule::{Action, ScheduleLimits, next_actions};
use planwright_core::run::state::RunState;

use super::happened::{exited, judged, started};
use super::sample::{plan, run_started};

/// A small generator: the same numbers on every machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A plan whose steps touch a file each and wait for some of those before them, and how long each takes.
fn graph(seed: u64) -> (Plan, Vec<u64>) {
    let mut chance = Chance(seed);
    let mut whole = plan("s0 free touches=s0");
    let model = whole.steps[0].clone();
    for place in 1..8 + usize::try_from(chance.below(16)).expect("small") {
        let mut step = model.clone();
        step.id = format!("s{place}");
        step.number = u32::try_from(place).expect("small") + 1;
        step.touches = Some(vec![format!("s{place}")]);
        step.needs = (0..place).filter(|_| chance.below(place as u64 + 2) < 2).collect();
        whole.steps.push(step);
    }
    let durations = whole.steps.iter().map(|_| 1 + chance.below(100)).collect();
    (whole, durations)
}

fn begin(plan: &Plan) -> RunState {
    let mut state = RunState::new(plan);
    state.apply(&run_started()).expect("it begins");
    state
}

/// When the last step ends, where every contract passes at once.
fn makespan(plan: &Plan, durations: &[u64], jobs: usize) -> u64 {
    let limits = ScheduleLimits { jobs, ..ScheduleLimits::default() };
    let mut state = begin(plan);
    let (mut now, mut under_way): (u64, Vec<(u64, usize)>) = (0, Vec::new());
    loop {
        for command in next_actions(plan, &state, &limits, now) {
            match command {
                Action::Attempt { step, attempt } => {
                    state.apply(&started(&plan.steps[step].id, attempt)).expect("it may begin");
                    under_way.push((now + durations[step], step));
                    assert!(under_way.len() <= jobs, "no more at once than there are jobs");
                }
                Action::Close { .. } => return now,
                Action::Contract { .. }
                | Action::Ask { .. }
                | Action::Warn { .. }
                | Action::Wake { .. }
                | Action::Finish { .. } => {
                    panic!("nothing else is to be done: {command:?}")
                }
            }
        }
        under_way.sort_unstable();
        let (end, step) = under_way.remove(0);
        now = end;
        let id = &plan.steps[step].id;
        state.apply(&exited(id, 1)).expect("it was under way");
        state.apply(&judged(id, 1, 0)).expect("it was under way");
    }
}

/// What no schedule can beat: the longest chain, and all the work shared out evenly.
fn bound(plan: &Plan, durations: &[u64], jobs: usize) -> u64 {
    let mut ends = vec![0; plan.steps.len()];
    for (place, step) in plan.steps.iter().enumerate() {
        ends[place] = durations[place] + step.needs.iter().map(|&before| ends[before]).max().unwrap_or(0);
    }
    let work: u64 = durations.iter().sum();
    ends.into_iter().max().unwrap_or(0).max(work.div_ceil(jobs as u64))
}

/// How much longer than the bound 50 plans take, in percent: on average, and the worst of them.
fn excess(jobs: usize, as_if: usize) -> (u64, u64) {
    let ratios: Vec<u64> = (0..50)
        .map(|seed| {
            let (plan, durations) = graph(seed);
            makespan(&plan, &durations, jobs) * 1000 / bound(&plan, &durations, as_if)
        })
        .collect();
    let mean = ratios.iter().sum::<u64>() / ratios.len() as u64;
    (mean.saturating_sub(1000) / 10, ratios.iter().max().copied().unwrap_or(0).saturating_sub(1000) / 10)
}

// with several jobs a run takes hardly longer than its longest chain and its share of the work make necessary.
#[test]
fn a_run_with_several_jobs_is_nearly_as_short_as_it_can_be() {
    for jobs in [2, 3, 4, 8] {
        let (mean, worst) = excess(jobs, jobs);
        println!("{jobs} jobs: {mean} % above the bound on average, {worst} % at worst");
        assert!(mean <= 15, "{jobs} jobs: {mean} % above the bound on average");
    }
    // The twin: one that does one step after the other is found out by the same measure.
    assert!(excess(1, 4).0 > 50);
}

// The same plan with the same times has the same schedule.
#[test]
fn one_job_is_the_order_of_the_plan() {
    let (plan, durations) = graph(7);
    let state: RunState = begin(&plan);
    let first = next_actions(&plan, &state, &ScheduleLimits::default(), 0);
    let free = plan.steps.iter().position(|step| step.needs.is_empty());
    assert_eq!(first, [Action::Attempt { step: free.expect("one begins"), attempt: 1 }]);
    assert_eq!(makespan(&plan, &durations, 1), durations.iter().sum::<u64>());
}
