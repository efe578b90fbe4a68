//! Deterministic simulation (M-05): the real driver and the real `decide` against a seeded fake world. Every schedule is
//! one number; a schedule that breaks a rule is printed with the command that plays it again.
//!
//! `PLANWRIGHT_SCHEDULES=100000` plays more of them, `PLANWRIGHT_SEED=17` only one.

#[path = "simulation/chance.rs"]
mod chance;
#[path = "simulation/host.rs"]
mod host;
#[path = "simulation/play.rs"]
mod play;
#[path = "simulation/world.rs"]
mod world;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{Event, RunOutcome};
use planwright_core::run::schedule::ScheduleLimits;
use planwright_core::run::state::Phase;

use self::host::SimHost;
use self::play::{Meaning, meaning, play};
use self::world::{Sabotage, Temper, World};
use crate::random::Random;
use crate::sabotage::{Breach, refusal};
use crate::sample;
use crate::suite::{Codes, Stage, conformance};

const SCHEDULES: u64 = 10_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// The world of a schedule.
fn wild(model: &Plan, seed: u64) -> World {
    let mut random = Random::new(seed);
    let plan = chance::random_plan(model, &mut random);
    let limits = ScheduleLimits { jobs: random.index(3) + 1, ..ScheduleLimits::default() };
    World::new(plan, limits, Temper::Wild, seed)
}

/// What many schedules came to.
#[derive(Debug, Default)]
struct Tally {
    outcomes: BTreeMap<String, u64>,
    events: BTreeMap<&'static str, u64>,
    drivers: u64,
    failures: Vec<String>,
}

fn play_all(seeds: impl Iterator<Item = u64>) -> Tally {
    let model = sample::plan("s1");
    let mut tally = Tally::default();
    for seed in seeds {
        match play(wild(&model, seed)) {
            Ok(world) => {
                *tally.outcomes.entry(format!("{:?}", world.state.outcome())).or_default() += 1;
                tally.drivers += u64::from(world.drivers);
                world.journal.iter().for_each(|event| *tally.events.entry(event.name()).or_default() += 1);
            }
            Err(fault) => tally.failures.push(format!(
                "seed {seed}: {fault}\n  again: PLANWRIGHT_SEED={seed} cargo test -p planwright-engine --test simulation no_schedule"
            )),
        }
    }
    tally
}

// M-05: agents, contracts, crashes, people and the clock in any order; the rules of world.rs and play.rs hold in each.
#[test]
fn no_schedule_breaks_a_rule() {
    if let Some(seed) = setting("PLANWRIGHT_SEED") {
        let tally = play_all(std::iter::once(seed));
        assert!(tally.failures.is_empty(), "{}", tally.failures.join("\n"));
        return;
    }
    let schedules = setting("PLANWRIGHT_SCHEDULES").unwrap_or(SCHEDULES);
    let halves = [0, 1].map(|half| std::thread::spawn(move || play_all((half..schedules).step_by(2))));
    let tallies = halves.map(|half| half.join().expect("a schedule does not panic"));
    let failures: Vec<&String> = tallies.iter().flat_map(|tally| &tally.failures).collect();
    assert!(failures.is_empty(), "{} of {schedules} schedules failed\n{}", failures.len(), failures[0]);
    for tally in &tallies {
        println!("{tally:?}");
        let share = schedules / 200;
        for outcome in [RunOutcome::Done, RunOutcome::Failed, RunOutcome::Cancelled] {
            let count = tally.outcomes.get(&format!("{:?}", Some(outcome))).copied().unwrap_or(0);
            assert!(count > share, "too few schedules end as {outcome:?}: {:?}", tally.outcomes);
        }
        assert!(tally.events.len() == 14, "not every kind of event happened: {:?}", tally.events);
        assert!(tally.drivers > schedules, "drivers hardly ever died: {}", tally.drivers);
    }
}

#[test]
fn a_seed_plays_the_same_schedule_every_time() {
    let model = sample::plan("s1");
    let journal = |seed| play(wild(&model, seed)).map(|world| world.journal);
    for seed in 0..50 {
        assert_eq!(journal(seed), journal(seed), "seed {seed}");
    }
    assert_ne!(journal(1), journal(2));
}

/// Faults that some schedules of a saboteur run into.
fn faults(sabotage: Sabotage) -> BTreeSet<String> {
    let model = sample::plan("s1");
    let mut faults = BTreeSet::new();
    for seed in 0..400 {
        let mut world = wild(&model, seed);
        world.sabotage = sabotage;
        faults.extend(play(world).err());
    }
    faults
}

#[test]
fn every_saboteur_is_caught() {
    assert_eq!(faults(Sabotage::Nothing), BTreeSet::new());
    let saboteurs = [
        (Sabotage::BeginsFirst, "begins before its intent is durable"),
        (Sabotage::LosesRecords, "was shown before it was durable"),
        (Sabotage::LosesRecords, "begins before its intent is durable"),
        (Sabotage::LosesRecords, "the driver's state is not the fold of the journal"),
        (Sabotage::RecordsTwice, "was recorded twice"),
        (Sabotage::BuriesNothing, "is recorded as over and is alive"),
        (Sabotage::IgnoresNeeds, "does not wait for its needs"),
        (Sabotage::SkipsClosing, "the run ends as Done and is not"),
        (Sabotage::SeesNoChange, "the run ends as Done and is not"),
        (Sabotage::SwallowsFaults, "was recorded and never happened so"),
    ];
    for (sabotage, fault) in saboteurs {
        let faults = faults(sabotage);
        assert!(
            faults.iter().any(|found| found.contains(fault)),
            "{sabotage:?} is not caught by `{fault}`: {faults:#?}"
        );
    }
}

/// A run with retries, parallel steps, a person's step, an ask and, at the end, an abort or none.
/// In the first closing check a contract no longer holds.
fn calm(last: &str) -> World {
    let lines = format!(
        "s1 retry=1
         s2 needs=s1 touches=src/a.rs retry=2
         s3 needs=s1 touches=src/b.rs
         s4 needs=s1 touches=src/a.rs manual
         s5 needs=s2,s3,s4 human
         s6 {last}"
    );
    let codes = [
        ("s1", vec![1, 0]),
        ("s2", vec![1, 1, 0]),
        ("s3", vec![1, 1, 1]),
        ("s5", vec![1, 0]),
        ("s6", vec![1]),
    ];
    let codes = codes.into_iter().map(|(step, codes)| (step.to_owned(), codes)).collect();
    let limits = ScheduleLimits { jobs: 2, ..ScheduleLimits::default() };
    let mut world = World::new(sample::plan(&lines), limits, Temper::Calm(codes), 7);
    world.breaks.insert(("s1".to_owned(), 1));
    world
}

fn play_with(last: &str, deaths: &[u64]) -> (Meaning, u64) {
    let mut world = calm(last);
    world.deaths.extend(deaths);
    let world = play(world).unwrap_or_else(|fault| panic!("deaths at {deaths:?}: {fault}"));
    (meaning(&world), world.points)
}

// M-04, in process: whenever the driver dies, before and after every record and every act, the run comes to the same end.
#[test]
fn a_run_that_is_killed_anywhere_means_the_same_as_one_that_is_not() {
    for last in ["retry=1", "abort"] {
        let (whole, points) = play_with(last, &[]);
        let outcome = if last == "abort" { RunOutcome::Failed } else { RunOutcome::Done };
        assert_eq!(whole.phase, Phase::Finished { outcome, is_revised: false });
        assert!(points > 120, "only {points} points were found");
        for death in 1..=points {
            assert_eq!(play_with(last, &[death]).0, whole, "killed at {death}");
            // The second death falls into the recovery from the first.
            for later in 1..=8 {
                assert_eq!(
                    play_with(last, &[death, death + later]).0,
                    whole,
                    "killed at {death} and {later} later"
                );
            }
        }
    }
}

// M-20: whichever attempt or contract the machine keeps from its end, and however often, the run comes to the same end and
// no attempt is spent.
#[test]
fn a_run_whose_machine_fails_anywhere_means_the_same_as_one_whose_machine_does_not() {
    for last in ["retry=1", "abort"] {
        let whole = play(calm(last)).expect("a calm run");
        let failures = |world: &World| -> Vec<u32> {
            world.state.steps.iter().map(|step| step.history.failures()).collect()
        };
        assert!(whole.ended > 15, "only {} pieces of work ended", whole.ended);
        for first in 1..=whole.ended {
            // Once, as often as it is retried, and once more: then a person is asked, and says to go on.
            for times in [1, 4, 5, 9] {
                let mut world = calm(last);
                world.broken.extend(first..first + times);
                let world = play(world).unwrap_or_else(|fault| panic!("{times} from {first}: {fault}"));
                assert_eq!(meaning(&world), meaning(&whole), "{times} from {first}");
                assert_eq!(failures(&world), failures(&whole), "{times} from {first}");
            }
        }
    }
}

impl Stage for Rc<RefCell<World>> {
    type Host = SimHost;

    fn host(&self) -> SimHost {
        let is_first = self.borrow().drivers == 0;
        if !is_first {
            self.borrow_mut().orphan();
        }
        SimHost::new(self)
    }

    fn record(&self, event: &Event) {
        self.borrow_mut().act(event);
    }

    fn journal(&self) -> Vec<Event> {
        let world = self.borrow();
        assert_eq!(world.faults, Vec::<String>::new());
        world.journal.clone()
    }

    fn hold(&self, step: &str) {
        self.borrow_mut().held.insert(step.to_owned());
    }

    fn release(&self, step: &str) {
        self.borrow_mut().held.remove(step);
    }

    fn employ(&self) {
        self.borrow_mut().is_worked_outside = true;
    }

    fn leave(&self) {
        self.borrow_mut().is_leave_wanted = true;
    }

    fn begun(&self) -> Vec<String> {
        self.borrow().begun.clone()
    }

    fn until_begun(&self, attempt: &str) {
        assert!(self.begun().iter().any(|begun| begun == attempt), "{attempt} was to begin at once");
    }

    fn alive(&self) -> BTreeSet<String> {
        self.borrow().alive()
    }
}

fn stage(plan: &Plan, codes: &Codes) -> Rc<RefCell<World>> {
    let limits = ScheduleLimits { jobs: 2, ..ScheduleLimits::default() };
    Rc::new(RefCell::new(World::new(plan.clone(), limits, Temper::Calm(codes.clone()), 1)))
}

#[test]
fn the_fake_world_conforms() {
    conformance(stage);
}

#[test]
fn the_suite_refuses_a_host_that_breaks_a_rule() {
    for (breach, said) in [
        (Breach::BeginsFirst, "s1/1 began before its intent was durable"),
        (Breach::RecordsTwice, "was recorded twice"),
        (Breach::RecordsHalf, "the driver's fold is not that of the journal"),
        (Breach::BuriesNothing, "is recorded as over and is alive"),
    ] {
        let refusal = refusal(stage, breach);
        assert!(refusal.contains(said), "{breach:?}: {refusal}");
    }
}
