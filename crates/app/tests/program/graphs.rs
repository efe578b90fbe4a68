//! Random graphs of steps, done one after the other and several at once, with the harness killed at random moments: both end
//! in the same tree.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they look at what it left"
)]

use std::collections::BTreeMap;
use std::path::Path;

use crate::follow::{FILE, Running, wait_until};
use crate::sample::Sketch;
use crate::sweep::is_whole;
use crate::test_env::Place;

/// How many graphs there are, and every how manieth is tried by default.
const GRAPHS: u64 = 50;
const STRIDE: usize = 8;
/// How often one run is killed.
const KILLS: u64 = 2;

/// A small generator: the same graphs in every run of the tests.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A step: its fields, its script and its contract. It makes a file of those of the steps that it waits for, and says in the
/// home folder that it began and ended.
fn step(number: u64, needs: &[u64]) -> (String, String, String, String) {
    let all: Vec<String> = needs.iter().map(|before| format!("s{before}")).collect();
    let waits = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    let inputs: String = needs.iter().map(|before| format!("out/s{before} ")).collect();
    let fields = format!("**needs:** {waits}\n**touches:**\n- out/s{number}\n**on_fail:** retry(1)");
    let script = format!(
        "echo >>\"$HOME/moments\"; mkdir -p out; {{ echo s{number}; cat {inputs}/dev/null; }} >out/s{number}; echo >>\"$HOME/moments\""
    );
    let contract = format!("grep -q '^s{number}$' out/s{number}");
    (format!("s{number}"), fields, script, contract)
}

fn graph(chance: &mut Chance) -> Vec<(String, String, String, String)> {
    let count = 3 + chance.below(5);
    (0..count)
        .map(|number| {
            let needs: Vec<u64> = (0..number).filter(|_| chance.below(3) == 0).collect();
            step(number, &needs)
        })
        .collect()
}

/// Every file of the project and its content, without the plan and the repository.
fn files(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder").flatten() {
            let path = entry.path();
            let inside = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
            match () {
                () if inside == ".git" || inside == FILE => {}
                () if path.is_dir() => folders.push(path),
                () => drop(found.insert(inside, std::fs::read_to_string(&path).expect("a text"))),
            }
        }
    }
    found
}

/// How often a script has said that it began or ended.
fn moments(place: &Place) -> u64 {
    let home = place.project().parent().expect("a folder").join("home/moments");
    std::fs::read(home).map_or(0, |bytes| bytes.len() as u64)
}

/// Runs the plan with three jobs, and kills it somewhere; then again, until it is done.
fn run_and_kill(place: &Place, chance: &mut Chance, steps: u64) {
    let digest = place.digest();
    let words = ["run", "it", "--jobs", "3", "--rev", &digest];
    let mut running: Running = place.start_into(&words, "../said");
    for _ in 0..KILLS {
        let moment = moments(place) + chance.below(steps * 2);
        let pause = std::time::Duration::from_millis(chance.below(60));
        wait_until("the moment to kill it", || moments(place) >= moment || running.has_ended());
        std::thread::sleep(pause);
        running.kill();
        running = place.start_into(&words, "../said");
    }
    assert_eq!(running.end(), 0, "{}", place.read("../said"));
}

// A-48, P-15, A-24: 50 random graphs, killed at random moments: the parallel run ends in the same tree as the sequential one.
#[test]
fn a_parallel_run_that_is_killed_ends_in_the_tree_of_a_sequential_one() {
    for seed in (0..GRAPHS).step_by(if is_whole() { 1 } else { STRIDE }) {
        let mut chance = Chance(seed);
        let steps = graph(&mut chance);
        let sketches: Vec<Sketch<'_>> = steps
            .iter()
            .map(|(id, fields, script, contract)| {
                (id.as_str(), fields.as_str(), script.as_str(), contract.as_str())
            })
            .collect();
        let sequential = Place::repository(&sketches);
        sequential.approve_and_run().expect(0, &[]);
        let parallel = Place::repository(&sketches);
        run_and_kill(&parallel, &mut chance, steps.len() as u64);
        let (one, other) = (files(&sequential.project()), files(&parallel.project()));
        assert_eq!(one, other, "seed {seed}");
        assert_eq!(one.len(), steps.len(), "seed {seed}: every step left its file");
        for (id, ..) in &steps {
            let passed = parallel
                .facts()
                .iter()
                .filter(|fact| {
                    fact.starts_with(&format!("{id} contract.finished")) && fact.ends_with("passed")
                })
                .count();
            assert_eq!(passed, 1, "seed {seed}: {id}");
        }
        // What landed is what lies there.
        let head = parallel.printed("git for-each-ref --format='%(refname)' refs/planwright | grep '/head$'");
        for (path, text) in &other {
            assert_eq!(
                parallel.printed(&format!("git show {head}:{path}")),
                text.trim(),
                "seed {seed}: {path}"
            );
        }
    }
}
