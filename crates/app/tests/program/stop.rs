//! How a person ends a run for now or for good, and how a worker leaves: what is under way is settled, and nothing is lost.

use crate::follow::{FILE, wait_until};
use crate::sample::Sketch;
use crate::test_env::Place;

/// Says where it is, and waits for the file `go`.
const SLOW: Sketch<'static> =
    ("b", "", "echo $$ >agent; until [ -e go ]; do sleep 0.01; done; touch b.out", "test -e b.out");
const AFTER: Sketch<'static> = ("c", "", "touch c.out", "test -e c.out");

// A stop lets what is under way end and be judged; nothing new begins.
#[test]
fn a_stopped_run_judges_what_is_under_way_and_begins_nothing() {
    let place = Place::with_plan(&[SLOW, AFTER]);
    let mut running = place.start(&[]);
    let agent = place.wait_for_file("agent");
    let mut stopping = place.start_into(&["stop", "it"], "said");
    place.wait_for("run.stopped");
    assert!(place.is_alive(&agent), "the attempt may end by itself");
    place.write("go", "");
    running.end();
    assert_eq!(stopping.end(), 0);
    let said = place.read("said");
    assert!(said.contains("stopped  it") && said.contains("was running: 1 b, attempt 1"), "{said}");
    assert!(!said.contains("pauses when") && !said.contains("next: planwright run"), "{said}");
    let wanted = ["run.stopped", "b attempt.finished 1", "b contract.finished 1 passed"];
    assert_eq!(place.facts()[2..], wanted);
    assert_eq!((place.standing()["state"].clone(), place.has("c.out")), ("stopped".into(), false));
    place.run(&["status"]).expect(0, &["1 of 2 done, stopped by somebody"]);
    place.run(&["run", "it"]).expect(0, &[]);
    assert_eq!(place.count("b attempt.started 2"), 0);
}

// At once: the agent and what it started are dead, and the attempt counts for nothing.
#[test]
fn a_run_that_is_stopped_at_once_ends_its_attempts() {
    let place = Place::with_plan(&[SLOW]);
    let mut running = place.start(&[]);
    let agent = place.wait_for_file("agent");
    place.run(&["stop", "it", "--now"]).expect(0, &["stopped  it", "was running: 1 b, attempt 1"]);
    running.end();
    assert!(!place.is_alive(&agent));
    let end = place.events().into_iter().find(|event| event["event"] == "attempt.finished").expect("an end");
    assert_eq!(end["end"], "stopped", "{end}");
    place.run(&["stop", "it"]).expect(0, &["stopped  it"]);
    assert_eq!(place.count("run.stopped"), 1, "what is stopped is not stopped again");
    place.write("go", "");
    place.run(&["run", "it"]).expect(0, &[]);
    assert_eq!((place.count("b attempt.started 2"), place.count("b contract.finished 2 passed")), (1, 1));
}

// A run that nobody drives is stopped too.
#[test]
fn a_run_that_nobody_drives_can_be_stopped() {
    let place = Place::with_plan(&[SLOW]);
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    running.kill();
    place.run(&["stop", "it"]).expect(0, &["stopped  it"]);
    assert_eq!(place.standing()["state"], "stopped");
    place.run(&["stop", "nobody"]).expect(2, &["plan `nobody` not found"]);
}

// for good, with a reason, by a person; driven or not.
#[test]
fn a_cancelled_run_is_over_and_nothing_of_it_is_alive() {
    let place = Place::with_plan(&[SLOW, AFTER]);
    let mut running = place.start(&[]);
    let agent = place.wait_for_file("agent");
    place.run(&["cancel", "it"]).expect(2, &["--message"]);
    let by_agent =
        crate::test_env::run(place.planwright(&["cancel", "it", "-m", "x"]).env("CLAUDECODE", "1"), b"");
    by_agent.expect(3, &["only a person may cancel a run"]);
    place
        .run(&["cancel", "it", "-m", "no longer wanted"])
        .expect(0, &["cancelled  it", "was running: 1 b, attempt 1"]);
    running.end();
    assert!(!place.is_alive(&agent));
    assert_eq!(place.facts().last().map(String::as_str), Some("run.finished cancelled"));
    place.run(&["log", "it"]).expect(0, &["cancelled: no longer wanted"]);
    assert!(!place.read(FILE).contains("in-progress"), "{}", place.read(FILE));
    place.run(&["cancel", "it", "-m", "again"]).expect(1, &["it has already finished (cancelled)"]);
    place.run(&["status", "--queue"]).expect(0, &["no queued or running attempts"]);
    // Going on takes a new approval.
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
}

// A worker leaves when it is told to, and says how it was told.
#[test]
fn a_worker_leaves_in_order_when_it_is_told_to() {
    let place = Place::with_plan(&[AFTER]);
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut worker = place.start_into(&["worker"], "said");
        wait_until("it waits", || place.read("said").contains("waiting for attempts"));
        place.bash(&format!("kill -{signal} {}", worker.pid()));
        assert_eq!(worker.end(), code, "{signal}");
        assert!(place.read("said").contains("stopped  0 delivered"));
    }
    place.run(&["worker", "--once"]).expect(0, &["stopped  0 delivered"]);
}

// P-01, A-24: a driver that makes no attempt leaves them to a worker; one that is told to leave gives its attempt back.
#[test]
fn a_worker_makes_the_attempts_of_a_driver_that_makes_none() {
    let place = Place::with_plan(&[SLOW, AFTER]);
    let mut running = place.start(&["--workers", "0"]);
    place.wait_for("b attempt.started 1");
    place.run(&["status"]).expect(0, &["Running", "shell waiting for a worker"]);
    place.run(&["status", "--queue"]).expect(0, &["it/b@1", "queued"]);
    let mut worker = place.start_into(&["worker"], "said");
    let agent = place.wait_for_file("agent");
    place.run(&["status", "--queue"]).expect(0, &["it/b@1", "claimed", "worker-"]);
    place.bash(&format!("kill -INT {}", worker.pid()));
    assert_eq!(worker.end(), 130);
    assert!(!place.is_alive(&agent));
    let said = place.read("said");
    assert!(said.contains("took  it/b@1") && said.contains("delivered  it/b@1  stopped"), "{said}");
    place.wait_for("b attempt.started 2");
    place.write("go", "");
    let mut worker = place.start_into(&["worker"], "said");
    assert_eq!(running.end(), 0);
    worker.kill();
    assert_eq!(
        (place.count("b contract.finished 2 passed"), place.count("c contract.finished 1 passed")),
        (1, 1)
    );
}
