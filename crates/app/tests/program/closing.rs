//! The closing check (M-16): a run is done only if every contract holds on the final tree. A step that breaks the contract of
//! another one is named, the broken one goes back to work, and after two rounds a person decides.

use serde_json::Value;

use crate::follow::{FILE, wait_until};
use crate::sample::Sketch;
use crate::test_env::Place;

const FIRST: Sketch<'static> =
    ("first", "**on_fail:** retry(2), then escalate", "echo ok >state", "grep -q ok state");
/// Spoils what the first one did, once.
const SPOILS: Sketch<'static> =
    ("spoils", "", "sed s/ok/ko/ state >new; mv new state; touch spoils.out", "test -e spoils.out");
/// Can't be done without spoiling what the first one did.
const OPPOSES: Sketch<'static> =
    ("opposes", "**on_fail:** retry(2), then escalate", "echo ko >state", "grep -q ko state");

/// Counts how often a contract runs, outside of what it judges.
fn counted(name: &str, contract: &str) -> String {
    format!("echo {name} >>\"$HOME/runs\"; {contract}")
}

fn runs(place: &Place, name: &str) -> usize {
    place.printed("cat \"$HOME/runs\"").lines().filter(|line| *line == name).count()
}

// M-16: step 2 spoils step 1: not done; the culprit is named, and step 1 is repaired with that as feedback.
#[test]
fn a_step_that_breaks_an_earlier_one_is_named_and_the_broken_one_is_repaired() {
    let place = Place::repository(&[FIRST, SPOILS]);
    place
        .approve_and_run()
        .expect(0, &["1 first   passed before, broken by step 2 spoils: exit 1", "2 of 2 steps passed"]);
    assert_eq!(place.read("state"), "ok\n");
    let facts = place.facts();
    let closing: Vec<&str> =
        facts.iter().map(String::as_str).skip_while(|fact| *fact != "closing.started").collect();
    let wanted = [
        "closing.started",
        "first contract.rechecked failed",
        "first attempt.started 2",
        "first attempt.finished 2",
        "first contract.finished 2 passed",
        "closing.started",
        "spoils contract.rechecked passed",
        "run.finished done",
    ];
    assert_eq!(closing, wanted, "{facts:#?}");
    place.run(&["log", "it/first@2", "--prompt"]).expect(0, &["step `spoils` broke it", "grep -q ok state"]);
    place.run(&["log", "it"]).expect(0, &["failed: exit 1, broken by spoils"]);
    place.run(&["audit", "it", "--rerun"]).expect(0, &[]);
}

/// Two steps that can't both hold, after the rounds that may find that.
#[track_caller]
fn opposed() -> Place {
    let place = Place::repository(&[FIRST, OPPOSES]);
    place.approve_and_run().expect(
        3,
        &[
            "1 first   passed before, broken by step 2 opposes: exit 1",
            "2 opposes   passed before, broken by step 1 first: exit 1",
            "it/1 first needs you",
            "The contract passed, but fails on the final tree (exit 1): step 2 `opposes` broke it.",
            "--retry-step STEP",
        ],
    );
    assert_eq!((place.count("closing.started"), place.count("first ask.opened")), (3, 1));
    let standing = place.standing();
    assert_eq!(
        (&standing["state"], &standing["asks"][0]["reason"]),
        (&Value::from("waiting"), &Value::from("regressed")),
        "{standing}"
    );
    assert!(!place.read(FILE).contains("✅ Do first"), "{}", place.read(FILE));
    place
}

// M-16: after two rounds a person decides; a step that is waived with a reason need not hold.
#[test]
fn after_two_rounds_a_person_decides_and_may_waive_the_contract() {
    let place = opposed();
    place.run(&["answer", "it/first", "--skip"]).expect(2, &[]);
    place.run(&["answer", "it/first", "--skip", "-m", "obsolete"]).expect(0, &["skipped"]);
    place.run(&["run", "it"]).expect(0, &["1 of 2 steps passed"]);
}

// M-16: the person may have the step redone that broke the contract, and the contract decides again.
#[test]
fn the_culprit_can_be_sent_back_to_work() {
    let place = opposed();
    place.run(&["answer", "it/first", "--retry-step", "first"]).expect(2, &["another step that has passed"]);
    place.run(&["answer", "it/first", "--retry-step", "7"]).expect(2, &["has no step `7`"]);
    place
        .run(&["answer", "it/first", "--retry-step", "2", "--hint", "keep ok"])
        .expect(0, &["that step is done again"]);
    // The same script does the same again: asked anew, and not done.
    place.run(&["run", "it"]).expect(3, &["broken by step 2 opposes", "it/1 first needs you"]);
    place
        .run(&["log", "it/opposes@3", "--prompt"])
        .expect(0, &["broke the contract of step `first`", "grep -q ok state", "keep ok"]);
}

// M-16: nothing is run twice for the same tree.
#[test]
fn an_unchanged_tree_costs_no_contract() {
    let (one, two) = (counted("one", "test -e one.out"), counted("two", "test -e two.out"));
    let steps = [("one", "", "touch one.out", one.as_str()), ("two", "", "touch two.out", two.as_str())];
    let place = Place::with_plan(&steps[..1]);
    place.approve_and_run().expect(0, &[]);
    // The approval tries a contract before the work.
    let before = runs(&place, "one");
    let place = Place::with_plan(&steps);
    place.approve_and_run().expect(0, &[]);
    assert_eq!((runs(&place, "one"), runs(&place, "two")), (before + 1, before), "{:?}", place.facts());
}

// M-16, M-04: killed in the middle of a closing check, it goes on with what is left of it.
#[test]
fn a_closing_check_that_is_killed_goes_on() {
    let slow = "test -e one.out && if [ -e three.out ]; then echo $$ >\"$HOME/judge\"; until [ -e \"$HOME/go\" ]; do sleep 0.01; done; fi";
    let two = counted("two", "test -e two.out");
    let place = Place::repository(&[
        ("two", "", "touch two.out", &two),
        ("one", "", "touch one.out", slow),
        ("three", "", "touch three.out", "test -e three.out"),
    ]);
    let digest = place.digest();
    let mut child = place.planwright(&["run", "it", "--rev", &digest]).spawn().expect("started");
    wait_until("the second contract of the round", || place.bash("test -s \"$HOME/judge\"").code == 0);
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert_eq!(place.count("run.finished done"), 0);
    place.bash("touch \"$HOME/go\"").expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &["3 of 3 steps passed"]);
    for step in ["one", "two"] {
        assert_eq!(place.count(&format!("{step} contract.rechecked passed")), 1, "{:?}", place.facts());
        assert_eq!(place.count(&format!("{step} attempt.started 2")), 0);
    }
}

// M-16: steps in trees of their own are judged on what landed, and the culprit is named there, too.
#[test]
fn steps_that_work_apart_are_judged_on_what_landed() {
    let place = Place::repository(&[FIRST, SPOILS]);
    place
        .run(&["run", "it", "--jobs", "2", "--rev", &place.digest()])
        .expect(0, &["broken by step 2 spoils", "2 of 2 steps passed"]);
    assert_eq!(place.read("state"), "ok\n");
}

// M-16: contracts that change what they judge never agree on a tree: a person is asked, and the rounds end.
#[test]
fn contracts_that_change_the_files_they_judge_are_a_question() {
    let grows = |name: &str| format!("echo {name} >>log; test -e {name}.out");
    let (one, two, three) = (grows("one"), grows("two"), grows("three"));
    let place = Place::repository(&[
        ("one", "", "touch one.out", &one),
        ("two", "", "touch two.out", &two),
        ("three", "", "touch three.out", &three),
    ]);
    place.approve_and_run().expect(3, &["Contracts change files that are not ignored"]);
    assert_eq!(place.count("closing.started"), 3);
    place.write(".gitignore", "log\n");
    place.run(&["answer", "it", "--retry"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &["3 of 3 steps passed"]);
}

// M-16: a failing test that a later step makes pass is meant to stop failing.
#[test]
fn a_contract_that_a_later_one_negates_lapses() {
    let place = Place::repository(&[
        ("red", "**green:** it is red by nature", "touch red.out", "! test -e fixed"),
        ("fix", "", "touch fixed", "test -e fixed"),
    ]);
    place.approve_and_run().expect(0, &["2 of 2 steps passed"]);
    assert_eq!(
        place.count("red contract.rechecked passed") + place.count("red contract.rechecked failed"),
        0
    );
}
