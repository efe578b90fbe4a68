//! Forecasts on paper: what a history says about a plan, and how often it is right.

use planwright_core::agent::work_item::WorkKind;
use planwright_core::plan::verified::Plan;
use planwright_core::run::forecast::{Forecast, ForecastSample, Range, SAMPLES_MIN, forecast};

use super::sample;

fn took(milliseconds: u64, micro_dollars: Option<u64>) -> ForecastSample {
    ForecastSample { agent: "coder".to_owned(), kind: WorkKind::Code, milliseconds, micro_dollars }
}

fn ahead(past: &[ForecastSample], plan: &Plan, jobs: usize) -> Option<Forecast> {
    forecast(past, plan, jobs, str::to_owned)
}

// M-15: "no history yet" before there is enough of it.
#[test]
fn too_little_history_says_nothing() {
    let plan = sample::plan("a\nb");
    let past = vec![took(1000, Some(10)); SAMPLES_MIN - 1];
    assert_eq!(ahead(&past, &plan, 1), None);
    let other = vec![ForecastSample { agent: "claude".to_owned(), ..took(1000, Some(10)) }; 50];
    assert_eq!(ahead(&other, &plan, 1), None, "another agent's history is none");
    assert_eq!(ahead(&past, &sample::plan("a human\nb manual"), 1), None, "people are not forecast");
    let enough = ahead(&vec![took(1000, Some(10)); SAMPLES_MIN], &plan, 1).expect("enough");
    assert_eq!(enough.samples, SAMPLES_MIN);
}

// M-15: the same history says the same; steps in a row add up, steps beside each other do not.
#[test]
fn the_same_history_says_the_same() {
    let same = |amount| Range { low: amount, likely: amount, high: amount };
    let past = vec![took(60_000, Some(500)); 8];
    let cases = [
        ("a\nb\nc", 1, 180, 1500),
        ("a\nb\nc", 8, 180, 1500),
        ("a\nb free\nc free", 1, 180, 1500),
        ("a\nb free\nc free", 3, 60, 1500),
        ("a\nb free\nc needs=a,b", 2, 120, 1500),
        ("a\nb human\nc", 1, 120, 1000),
    ];
    for (lines, jobs, seconds, micro_dollars) in cases {
        let plan = sample::plan(lines);
        let found = ahead(&past, &plan, jobs).expect("enough");
        assert_eq!(found.seconds, same(seconds), "{lines} with {jobs}");
        assert_eq!(found.micro_dollars, Some(same(micro_dollars)), "{lines}");
        assert_eq!(ahead(&past, &plan, jobs), Some(found), "{lines}");
    }
    let unpriced = vec![took(60_000, None); 8];
    assert_eq!(ahead(&unpriced, &sample::plan("a"), 1).expect("enough").micro_dollars, None);
}

/// A skewed history, as work is: mostly short, now and then long.
fn skewed(seed: u64, count: usize) -> Vec<ForecastSample> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 1000
    };
    let draw = |chance: u64, extra: u64| 20_000 + 40 * chance + if chance > 850 { 300 * extra } else { 0 };
    (0..count).map(|_| took(draw(next(), next()), Some(next()))).collect()
}

// M-15: held-out coverage. Of plans whose steps were not in the history, about four out of five lie in the range.
#[test]
fn four_of_five_held_out_plans_lie_in_the_range() {
    let plan = sample::plan("a\nb\nc\nd\ne");
    let (mut inside, mut below, plans) = (0, 0, 400);
    for seed in 0..plans {
        let past = skewed(seed * 2 + 1, 40);
        let range = ahead(&past, &plan, 1).expect("enough").seconds;
        let real: u64 = skewed(seed * 2 + 1_000_001, 5).iter().map(|sample| sample.milliseconds).sum();
        let real = real.div_ceil(1000);
        inside += u64::from((range.low..=range.high).contains(&real));
        below += u64::from(real <= range.likely);
    }
    let (inside, below) = (inside * 100 / plans, below * 100 / plans);
    assert!((70..=90).contains(&inside), "{inside} % of held-out plans lie in the range");
    assert!((40..=60).contains(&below), "{below} % of held-out plans take no longer than is likely");
}
