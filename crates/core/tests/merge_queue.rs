//! Which plans of a batch land: tables of batches and what breaks them, and whatever chance comes up with. The world is a
//! function that says of every set whether it passes; no process is started.

use std::collections::BTreeSet;

use planwright_core::approval::ledger::Evidence;
use planwright_core::workspace::merge_queue::{
    Bisection, Conflict, EvictionReason, MergeOutcome, NextTrial, QueuedPlan, TrialMerge,
};
use proptest::prelude::{Just, Strategy, prop};
use proptest::{prop_assert, prop_assert_eq, proptest};

/// Sets that fail and sets that conflict: whatever holds all of one of them.
#[derive(Debug, Clone, Default)]
struct World {
    bad: Vec<BTreeSet<usize>>,
    clashes: Vec<(usize, usize)>,
    after: Vec<Vec<usize>>,
}

impl World {
    fn new(count: usize) -> Self {
        Self { after: vec![Vec::new(); count], ..Self::default() }
    }

    fn bad(mut self, set: &[usize]) -> Self {
        self.bad.push(set.iter().copied().collect());
        self
    }

    fn clash(mut self, one: usize, other: usize) -> Self {
        self.clashes.push((one, other));
        self
    }

    fn after(mut self, place: usize, other: usize) -> Self {
        self.after[place].push(other);
        self
    }

    fn try_out(&self, plans: &[usize]) -> TrialMerge {
        let merged = |place: usize| plans.iter().copied().filter(move |&other| other < place);
        for &place in plans {
            let with: Vec<usize> =
                merged(place).filter(|&other| self.clashes.contains(&(other, place))).collect();
            if !with.is_empty() {
                return TrialMerge::Conflicts(Conflict { place, with, paths: vec!["a".to_owned()] });
            }
        }
        let broken = self.bad.iter().find(|set| set.iter().all(|place| plans.contains(place)));
        broken.map_or(TrialMerge::Passes, |set| TrialMerge::Fails(evidence(set)))
    }

    fn settle(&self) -> (MergeOutcome, usize) {
        let members = self.after.iter().map(|after| QueuedPlan { after: after.clone() }).collect();
        let mut search = Bisection::new(members);
        let mut asked = BTreeSet::new();
        loop {
            match search.next() {
                NextTrial::Settled(settled) => return (settled, search.runs()),
                NextTrial::Try(plans) => {
                    assert!(plans.is_sorted() && !plans.is_empty(), "{plans:?}");
                    assert!(asked.insert(plans.clone()), "{plans:?} is tried twice");
                    let trial = self.try_out(&plans);
                    search.learn(plans, trial);
                }
            }
        }
    }
}

fn evidence(set: &BTreeSet<usize>) -> Evidence {
    Evidence {
        plan: format!("{set:?}"),
        step: "check".to_owned(),
        contract: "false".to_owned(),
        failure: "exit 1".to_owned(),
        output: String::new(),
    }
}

/// What became of everybody, in words.
fn told(settled: &MergeOutcome) -> String {
    let mut words = vec![format!("landed {:?}", settled.landed)];
    for (place, why) in &settled.evicted {
        words.push(match why {
            EvictionReason::Alone(evidence) => format!("{place} alone by {}", evidence.plan),
            EvictionReason::With(others, evidence) => format!("{place} with {others:?} by {}", evidence.plan),
            EvictionReason::Conflict(conflict) => format!("{place} conflicts with {:?}", conflict.with),
        });
    }
    words.extend(settled.held.iter().map(|(place, other)| format!("{place} waits for {other}")));
    words.join("; ")
}

// P-13, D-08: the plan whose addition breaks is evicted, and nobody else.
#[test]
fn the_right_one_goes() {
    let cases = [
        (World::new(0), "landed []"),
        (World::new(3), "landed [0, 1, 2]"),
        (World::new(1).bad(&[0]), "landed []; 0 alone by {0}"),
        (World::new(4).bad(&[2]), "landed [0, 1, 3]; 2 alone by {2}"),
        (World::new(3).bad(&[0, 1]), "landed [0, 2]; 1 with [0] by {0, 1}"),
        (World::new(6).bad(&[1, 4]), "landed [0, 1, 2, 3, 5]; 4 with [1] by {1, 4}"),
        (World::new(4).bad(&[0, 1, 3]), "landed [0, 1, 2]; 3 with [0, 1] by {0, 1, 3}"),
        (World::new(4).bad(&[1]).bad(&[3]), "landed [0, 2]; 1 alone by {1}; 3 alone by {3}"),
        (World::new(3).clash(0, 2), "landed [0, 1]; 2 conflicts with [0]"),
        // Who is in conflict with a plan that goes lands after all.
        (World::new(3).clash(0, 2).bad(&[0]), "landed [1, 2]; 0 alone by {0}"),
        (World::new(3).clash(0, 1).bad(&[2]), "landed [0]; 1 conflicts with [0]; 2 alone by {2}"),
        (World::new(3).bad(&[0]).after(2, 0), "landed [1]; 0 alone by {0}; 2 waits for 0"),
        (
            World::new(4).bad(&[0]).after(1, 0).after(3, 1),
            "landed [2]; 0 alone by {0}; 1 waits for 0; 3 waits for 1",
        ),
        // With what it depends on it is by itself.
        (World::new(3).bad(&[0, 2]).after(2, 0), "landed [0, 1]; 2 alone by {0, 2}"),
        (World::new(3).clash(0, 1).after(2, 1), "landed [0]; 1 conflicts with [0]; 2 waits for 1"),
    ];
    for (world, expected) in cases {
        assert_eq!(told(&world.settle().0), expected, "{world:?}");
    }
}

#[test]
#[should_panic(expected = "comes after")]
fn an_order_against_the_dependencies_is_none() {
    Bisection::new(vec![QueuedPlan { after: vec![1] }, QueuedPlan { after: Vec::new() }]);
}

// P-13: one bad plan among many is found in a number of runs that grows as the logarithm does.
#[test]
fn one_culprit_costs_few_runs() {
    for count in 1..=64_usize {
        let log = count.next_power_of_two().ilog2() as usize;
        for culprit in 0..count {
            let (settled, runs) = World::new(count).bad(&[culprit]).settle();
            assert_eq!(settled.landed.len(), count - 1);
            assert!(runs <= log + 3, "{culprit} of {count}: {runs} runs");
            let (_, runs) = World::new(count).bad(&[culprit / 2, culprit]).settle();
            assert!(runs <= 2 * log + 4, "{} and {culprit} of {count}: {runs} runs", culprit / 2);
        }
        let (_, runs) = World::new(count).settle();
        assert_eq!(runs, 1, "where nothing is wrong, everything is tried once");
    }
}

fn worlds() -> impl Strategy<Value = World> {
    (1..9_usize).prop_flat_map(|count| {
        let set = prop::collection::btree_set(0..count, 1..4);
        let pairs = || prop::collection::vec((0..count, 0..count), 0..4);
        (Just(count), prop::collection::vec(set, 0..4), pairs(), pairs()).prop_map(
            |(count, bad, clashes, needs)| {
                let mut world = World { bad, ..World::new(count) };
                world.clashes = clashes.into_iter().filter(|(one, other)| one < other).collect();
                for (other, place) in needs.into_iter().filter(|(other, place)| other < place) {
                    world.after[place].push(other);
                }
                world
            },
        )
    })
}

proptest! {
    // P-13: what lands passes; whoever passes with those before it lands; everybody is accounted for.
    #[test]
    fn whatever_breaks_the_landed_pass_and_nobody_goes_without_cause(world in worlds()) {
        let (settled, _) = world.settle();
        let landed: BTreeSet<usize> = settled.landed.iter().copied().collect();
        if !settled.landed.is_empty() {
            prop_assert_eq!(world.try_out(&settled.landed), TrialMerge::Passes);
        }
        let mut seen: Vec<usize> = settled.landed.clone();
        for (place, why) in &settled.evicted {
            seen.push(*place);
            let set: Vec<usize> = landed.iter().copied().filter(|other| other < place).chain([*place]).collect();
            let trial = world.try_out(&set);
            match why {
                EvictionReason::Conflict(conflict) => {
                    prop_assert_eq!(&trial, &TrialMerge::Conflicts(conflict.clone()));
                    prop_assert!(conflict.with.iter().all(|other| landed.contains(other)));
                }
                EvictionReason::Alone(_) | EvictionReason::With(..) => prop_assert!(matches!(trial, TrialMerge::Fails(_)), "{:?} {:?}", set, trial),
            }
            if let EvictionReason::With(others, _) = why {
                prop_assert!(others.iter().all(|other| landed.contains(other) && other < place));
            }
            prop_assert!(world.after[*place].iter().all(|other| landed.contains(other)));
        }
        for (place, other) in &settled.held {
            seen.push(*place);
            prop_assert!(world.after[*place].contains(other) && !landed.contains(other));
        }
        for place in &settled.landed {
            prop_assert!(world.after[*place].iter().all(|other| landed.contains(other)));
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..world.after.len()).collect::<Vec<_>>());
    }
}
