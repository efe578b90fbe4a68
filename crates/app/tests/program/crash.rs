//! Agents that hang and harnesses that die: everything that was started ends, and a run goes on where it was.

use crate::follow::{FILE, wait_until};
use crate::sample::Sketch;
use crate::test_env::Place;

/// Starts a child, writes down both processes and waits for ever, unless the file `go` is there.
const HANGS: &str = "sleep 300 & echo $! >child; echo $PPID >above; echo $$ >agent; until [ -e go ]; do sleep 0.01; done; touch b.out";
/// Waits for the file `go`, but as a contract.
const SLOW: &str = "echo $$ >judge; until [ -e go ]; do sleep 0.01; done; test -e b.out";
const BEFORE: Sketch<'static> = ("a", "", "echo once >>a.out", "test -s a.out");
const AFTER: Sketch<'static> = ("c", "", "echo once >>c.out", "test -s c.out");

/// Each step was judged and passed once, and left its mark.
#[track_caller]
fn is_done_once(place: &Place, steps: &[&str]) {
    let facts = place.facts();
    for step in steps {
        let passed = facts.iter().filter(|fact| {
            fact.starts_with(&format!("{step} contract.finished")) && fact.ends_with("passed")
        });
        assert_eq!(passed.count(), 1, "{step}: {facts:?}");
        assert!(place.read(FILE).contains(&format!("✅ Do {step}\n")), "{step}");
    }
    assert_eq!(facts.last().map(String::as_str), Some("run.finished done"));
    assert!(place.read(FILE).contains("status: done"));
}

// an agent that hangs is a failed attempt, and its children are dead.
#[test]
fn an_agent_that_hangs_is_a_failed_attempt_and_leaves_nothing_alive() {
    let place = Place::with_plan(&[
        ("b", "**timeout:** 1 s\n**on_fail:** retry(1), then escalate", HANGS, "test -e b.out"),
        AFTER,
    ]);
    place
        .approve_and_run()
        .expect(3, &["attempt 1 timed out after 1 s", "attempt 2 timed out after 1 s", "b needs you"]);
    assert!(!place.is_alive(&place.wait_for_file("agent")) && !place.is_alive(&place.wait_for_file("child")));
    let wanted = [
        "b attempt.started 1",
        "b attempt.finished 1",
        "b attempt.started 2",
        "b attempt.finished 2",
        "b ask.opened",
    ];
    assert_eq!(place.facts()[1..], wanted);
}

// an agent that crashes is judged by what it left behind, like any other.
#[test]
fn an_agent_that_crashes_is_judged_by_what_it_left() {
    let place = Place::with_plan(&[
        ("a", "", "echo half >a.out; kill -9 $$", "test -s a.out"),
        ("b", "", "kill -9 $$", "test -e b.out"),
    ]);
    place.approve_and_run().expect(3, &["b needs you"]);
    assert_eq!(
        (place.count("a contract.finished 1 passed"), place.count("b contract.finished 1 failed")),
        (1, 1)
    );
}

// what an agent leaves running is ended before the contract looks.
#[test]
fn what_an_agent_leaves_running_is_dead_before_the_contract_looks() {
    let script = "(trap '' HUP TERM; while sleep 0.01; do date=1; done) >/dev/null 2>&1 & echo $! >child";
    let place = Place::with_plan(&[("a", "", script, "! kill -0 \"$(cat child)\"")]);
    place.approve_and_run().expect(0, &[]);
    assert!(!place.is_alive(&place.wait_for_file("child")));
}

// P-15, A-34: killed while an agent works, a run goes on: the attempt is lost, and does not count.
#[test]
fn a_run_that_is_killed_while_an_agent_works_goes_on() {
    let place = Place::with_plan(&[BEFORE, ("b", "", HANGS, "test -e b.out"), AFTER]);
    let mut running = place.start(&[]);
    let (agent, child) = (place.wait_for_file("agent"), place.wait_for_file("child"));
    place.wait_for("b attempt.started 1");
    running.kill();
    wait_until("the agent is gone with its harness", || !place.is_alive(&agent) && !place.is_alive(&child));
    assert_eq!(place.standing()["settled"], 1);
    place.write("go", "");
    // Nobody has to approve it again.
    place
        .run(&["run", "it"])
        .expect(0, &["attempt 1 was interrupted; it does not count", "3 of 3 steps passed"]);
    is_done_once(&place, &["a", "b", "c"]);
    let facts = place.facts();
    assert_eq!((place.count("a attempt.started 1"), place.count("b attempt.started 2")), (1, 1), "{facts:?}");
    assert_eq!(place.read("a.out"), "once\n", "a step that passed is not done again");
}

// A-24, P-15: the supervisor of the agent is killed as well; then the next run ends what is left before it goes on.
#[test]
fn a_run_that_is_killed_with_its_supervisor_goes_on_once_the_agent_is_dead() {
    let place = Place::with_plan(&[("b", "", HANGS, "test -e b.out"), AFTER]);
    let mut running = place.start(&[]);
    let (agent, child, above) =
        (place.wait_for_file("agent"), place.wait_for_file("child"), place.wait_for_file("above"));
    running.kill();
    place.bash(&format!("kill -9 {above}"));
    place.bash("rm agent child above; echo yes >go");
    place.run(&["run", "it"]).expect(0, &["attempt 1 was interrupted; it does not count"]);
    assert!(!place.is_alive(&agent) && !place.is_alive(&child));
    is_done_once(&place, &["b", "c"]);
}

// killed while a contract runs, the contract is run again, and the agent is not.
#[test]
fn a_run_that_is_killed_while_a_contract_runs_judges_again() {
    let place = Place::with_plan(&[BEFORE, ("b", "", "echo once >>b.out", SLOW), AFTER]);
    let mut running = place.start(&[]);
    let judge = place.wait_for_file("judge");
    place.wait_for("b attempt.finished 1");
    running.kill();
    wait_until("the contract is gone with its harness", || !place.is_alive(&judge));
    assert_eq!(place.facts().last().map(String::as_str), Some("b attempt.finished 1"));
    place.write("go", "");
    place.run(&["run", "it"]).expect(0, &["3 of 3 steps passed"]);
    is_done_once(&place, &["a", "b", "c"]);
    assert_eq!((place.read("b.out").as_str(), place.count("b attempt.started 2")), ("once\n", 0));
}

// killed twice in a row, and with two agents at work.
#[test]
fn a_run_that_is_killed_again_and_again_goes_on() {
    let both = |own: &str| {
        format!("echo $$ >>{own}.agent; until [ -e go ]; do sleep 0.01; done; echo once >>{own}.out")
    };
    let (a, b) = (both("a"), both("b"));
    let place = Place::with_plan(&[
        ("first", "**touches:**\n- first", "echo once >>first", "test -s first"),
        ("a", "**needs:** first\n**touches:**\n- a.*", &a, "test -s a.out"),
        ("b", "**needs:** first\n**touches:**\n- b.*", &b, "test -s b.out"),
    ]);
    for round in 1..=2 {
        let mut running = place.start(&["--jobs", "2"]);
        wait_until("both agents work", || {
            ["a", "b"].iter().all(|own| {
                let file = format!("{own}.agent");
                place.has(&file) && place.read(&file).lines().count() == round
            })
        });
        running.kill();
        let agents = place.read("a.agent") + &place.read("b.agent");
        wait_until("the agents are gone with their harness", || {
            !agents.lines().any(|pid| place.is_alive(pid))
        });
    }
    place.write("go", "");
    place.run(&["run", "it", "--jobs", "2"]).expect(0, &["3 of 3 steps passed"]);
    is_done_once(&place, &["first", "a", "b"]);
    assert_eq!(place.read("first") + &place.read("a.out") + &place.read("b.out"), "once\nonce\nonce\n");
    assert_eq!((place.count("first attempt.started 1"), place.count("first attempt.started 2")), (1, 0));
    assert_eq!((place.count("a attempt.started 3"), place.count("b attempt.started 3")), (1, 1));
}

// a verdict whose mark was lost with its harness gets it from the next run.
#[test]
fn a_mark_that_was_lost_is_set_by_the_next_run() {
    let place = Place::with_plan(&[BEFORE, ("b", "", HANGS, "test -e b.out")]);
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    wait_until("a mark", || place.read(FILE).contains("✅ Do a"));
    running.kill();
    place.rewrite("✅ Do a", "Do a");
    place.rewrite("status: in-progress", "status: draft");
    place.write("go", "");
    place.run(&["run", "it"]).expect(0, &[]);
    is_done_once(&place, &["a", "b"]);
}
