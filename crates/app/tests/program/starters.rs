//! Many who start at once: two starts of one plan are one run, and whatever runs beside them leaves every ledger whole.
#![expect(clippy::disallowed_types, reason = "these tests stand outside of the program: they start it")]

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sample::runnable;
use crate::sweep;
use crate::test_env::{Place, Ran, run};

/// Keeps both processors busy until it is dropped, so that the order of things is nobody's but chance's.
struct Load(Vec<Child>);

impl Load {
    fn on(place: &Place) -> Self {
        let busy =
            || place.command("bash").args(["-c", "while true; do true; done"]).spawn().expect("started");
        Self(vec![busy(), busy()])
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

/// Everything that is recorded fits: the ledgers fold, the journals replay, the chains hold.
#[track_caller]
fn is_whole(place: &Place) {
    let audit = place.run(&["audit"]);
    assert!(!audit.said().contains("from running to running"), "{audit:#?}");
    audit.expect(0, &[]);
    let doctor = json(&place.run(&["doctor", "--json"]));
    let findings = doctor["data"]["findings"].as_array().expect("findings");
    let wrong: Vec<_> = findings.iter().filter(|one| one["level"] == "error").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// M-18: two `run`s of one approved plan at the same time broke its ledger for good in 23 of 78 tries.
#[test]
fn two_starts_of_an_approved_plan_are_one_run() {
    let pairs = if sweep::is_whole() { 100 } else { 8 };
    let place = Place::empty();
    let _load = Load::on(&place);
    for pair in 0..pairs {
        // Half of them rest at once, because a person is needed: then the second one finds nobody at work.
        let contract = if pair % 2 == 0 { "test -e never" } else { "test -e made" };
        let name = format!("p{pair}");
        let file = format!("plans/{name}.md");
        place.write(&file, runnable(&[("a", "", "touch made", contract)]).replace("Carry it out", &name));
        place.run(&["propose", &name]).expect(0, &[]);
        let dry = json(&place.run(&["run", &name, "--dry-run", "--json"]));
        let digest = dry["data"]["digest"].as_str().expect("a digest").to_owned();
        place.run(&["approve", &name, "--rev", &digest]).expect(0, &["approved"]);
        let start = || {
            let words = ["run", &name, "--rev", &digest];
            let mut command = place.planwright(&words);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        let ran: Vec<Ran> = std::thread::scope(|scope| {
            let both = [scope.spawn(|| run(&mut start(), b"")), scope.spawn(|| run(&mut start(), b""))];
            both.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        let expected = if pair % 2 == 0 { 3 } else { 0 };
        assert!(ran.iter().all(|one| one.code == expected), "pair {pair}: {ran:#?}");
        let versions = json(&place.run(&["log", &name, "--versions", "--json"]));
        let runs = versions["data"]["versions"][0]["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 1, "pair {pair}: {ran:#?}");
        if pair % 2 == 1 {
            place.bash("rm made");
        }
    }
    is_whole(&place);
}

/// What many do at once: commands that read, decide, start, stop, answer and write.
const COMMANDS: [&[&str]; 20] = [
    &["list"],
    &["status"],
    &["status", "a"],
    &["status", "--queue"],
    &["log", "a"],
    &["show", "b"],
    &["verify", "a"],
    &["review", "a"],
    &["audit"],
    &["propose", "a"],
    &["propose", "b"],
    &["approve", "a", "--rev", "DIGEST-A"],
    &["approve", "b", "--rev", "DIGEST-B"],
    &["reject", "b", "-m", "no"],
    &["comment", "a", "why?"],
    &["run", "a", "--rev", "DIGEST-A"],
    &["run", "b", "--rev", "DIGEST-B"],
    &["answer", "a/a", "--retry"],
    &["cancel", "b"],
    &["undo", "a"],
];

// P-01: 64 processes with 20 kinds of commands.
#[test]
fn whatever_many_processes_do_at_once_the_ledgers_are_whole() {
    const PROCESSES: usize = 64;
    let seconds = if sweep::is_whole() { 60 } else { 4 };
    let place = Place::empty();
    let mut digests = Vec::new();
    for (name, contract) in [("a", "test -e never"), ("b", "test -e made")] {
        let plan = runnable(&[("a", "", "touch made", contract)]).replace("Carry it out", name);
        place.write(&format!("plans/{name}.md"), plan);
        let dry = json(&place.run(&["run", name, "--dry-run", "--json"]));
        digests.push(dry["data"]["digest"].as_str().expect("a digest").to_owned());
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let is_wrong = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (place, digests, is_wrong) = (&place, &digests, &is_wrong);
            scope.spawn(move || {
                for turn in 0.. {
                    if Instant::now() > end || is_wrong.load(Ordering::Relaxed) {
                        break;
                    }
                    let words = COMMANDS[(process * 7 + turn * 3) % COMMANDS.len()];
                    let words: Vec<&str> = words
                        .iter()
                        .map(|word| match *word {
                            "DIGEST-A" => digests[0].as_str(),
                            "DIGEST-B" => digests[1].as_str(),
                            word => word,
                        })
                        .collect();
                    let ran = place.run(&words);
                    let is_fine = (0..=4).contains(&ran.code) && !ran.said().contains("panicked");
                    if !is_fine {
                        is_wrong.store(true, Ordering::Relaxed);
                    }
                    assert!(is_fine, "{words:?}: {ran:#?}");
                }
            });
        }
    });
    is_whole(&place);
}
