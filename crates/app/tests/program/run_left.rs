//! Who leaves a run and who follows one: signals that end it in order, and a second `run` of the same plan.
#![expect(
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they start it and send it signals"
)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr};

use crate::follow::{FILE, wait_until};
use crate::sample::Sketch;
use crate::test_env::{Place, Ran, end};

/// Writes down its process and that of a child, and works until the file `go` is there.
const WORKS: Sketch<'static> = (
    "a",
    "",
    "sleep 300 & echo $! >child; echo $$ >agent; until [ -e go ]; do sleep 0.01; done; echo once >>a.out",
    "test -s a.out",
);
const AFTER: Sketch<'static> = ("b", "", "touch b.out", "test -e b.out");

/// A `planwright run` that is under way and whose words are kept. It is killed when the test is over.
struct Talking {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// What was read of it.
    heard: String,
}

impl Talking {
    fn signal(&self, place: &Place, signal: &str) {
        place.bash(&format!("kill -{signal} {}", self.child.id())).expect(0, &[]);
    }

    /// Waits until it says something on stderr.
    #[track_caller]
    fn wait_for(&mut self, words: &str) {
        while !self.heard.contains(words) {
            let count = self.stderr.read_line(&mut self.heard).expect("a pipe can be read");
            assert_ne!(count, 0, "`{words}` was not said: {}", self.heard);
        }
    }

    #[track_caller]
    fn end(mut self) -> Ran {
        // What is said fits into a pipe.
        let code = end(&mut self.child);
        let (mut stdout, mut stderr) = (String::new(), std::mem::take(&mut self.heard));
        self.stderr.read_to_string(&mut stderr).expect("a pipe can be read");
        let pipe = self.child.stdout.as_mut().expect("a pipe");
        pipe.read_to_string(&mut stdout).expect("only text is printed");
        Ran { code, stdout, stderr }
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        // One that ended by itself can't be killed, and need not be.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn talk(place: &Place, words: &[&str]) -> Talking {
    let mut child = place.planwright(words).spawn().expect("the program starts");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    Talking { child, stderr, heard: String::new() }
}

// Ctrl-C and its like end what is running in order: nothing is alive, nothing counts, the next run goes on.
#[test]
fn a_signal_leaves_a_run_in_order_and_the_next_run_goes_on() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 143)] {
        let place = Place::with_plan(&[WORKS, AFTER]);
        let digest = place.digest();
        let running = talk(&place, &["run", "it", "--rev", &digest]);
        let (agent, child) = (place.wait_for_file("agent"), place.wait_for_file("child"));
        running.signal(&place, signal);
        running.end().expect(
            code,
            &[
                "pausing: ending 1 attempt; nothing is lost",
                "was stopped; it does not count",
                "next: planwright run it",
            ],
        );
        assert!(!place.is_alive(&agent) && !place.is_alive(&child), "{signal}");
        let ended = place.events().into_iter().find(|event| event["event"] == "attempt.finished");
        assert_eq!(ended.expect("the attempt ended")["end"], "stopped", "{signal}");
        assert_eq!(place.standing()["settled"], 0);
        place.write("go", "");
        place.run(&["run", "it"]).expect(0, &["2 of 2 steps passed"]);
        assert_eq!(place.read("a.out"), "once\n");
        assert_eq!(place.count("a contract.finished 2 passed"), 1);
    }
}

// who can't wait says it twice; the attempt is lost then, and the run goes on all the same.
#[test]
fn a_second_signal_ends_at_once() {
    // An agent that takes its time to end.
    let slow = "trap '' TERM; echo $$ >agent; until [ -e go ]; do sleep 0.01; done; echo once >>a.out";
    let place = Place::with_plan(&[("a", "", slow, "test -s a.out")]);
    let digest = place.digest();
    let running = talk(&place, &["run", "it", "--rev", &digest]);
    let agent = place.wait_for_file("agent");
    running.signal(&place, "INT");
    running.signal(&place, "INT");
    assert_eq!(running.end().code, 130);
    wait_until("the agent is gone", || !place.is_alive(&agent));
    place.write("go", "");
    place.run(&["run", "it"]).expect(0, &["1 of 1 step passed"]);
}

// one driver a run. Who comes second sees the same, is told who drives, and ends in the same way.
#[test]
fn a_second_run_of_a_plan_follows_the_first() {
    let place = Place::with_plan(&[WORKS, AFTER]);
    let mut first = place.start(&[]);
    place.wait_for_file("agent");
    let mut second = talk(&place, &["run", "it"]);
    let mut third = talk(&place, &["run", "it", "--json"]);
    let mut fourth = talk(&place, &["run", "it", "--jobs", "2"]);
    for follower in [&mut second, &mut third, &mut fourth] {
        follower.wait_for("following run 1");
    }
    // One of them leaves, and nothing else changes.
    fourth.signal(&place, "INT");
    fourth.end().expect(130, &["detached; the run continues", "this run is owned by another process"]);
    place.write("go", "");
    assert_eq!(first.end(), 0);
    let driver = format!("process {}", first.pid());
    second
        .end()
        .expect(0, &["following run 1", &driver, "1 a   ", "2 b   ", "done  it   2 of 2 steps passed"]);
    let third = third.end();
    let last = third.expect(0, &[]).stdout.lines().last().unwrap_or_default().to_owned();
    assert!(last.contains("\"state\":\"done\"") && third.stdout.contains("attempt.finished"), "{third:#?}");
    assert_eq!((place.count("a attempt.started 1"), place.count("a attempt.started 2")), (1, 0));
}

// a follower ends as the driver does, also where that one needs a person.
#[test]
fn a_follower_ends_with_the_code_of_the_driver() {
    let (id, fields, script, _) = WORKS;
    let place = Place::with_plan(&[(id, fields, script, "test -s never"), AFTER]);
    let mut first = place.start(&[]);
    place.wait_for_file("agent");
    let mut second = talk(&place, &["run", "it"]);
    second.wait_for("following run 1");
    place.write("go", "");
    assert_eq!(first.end(), 3);
    second.end().expect(3, &["needs you  it   0 of 2 steps passed", "planwright answer it/a"]);
}

// another text of a plan that is under way is refused with the owner, and so is another plan in the same folder.
#[test]
fn what_would_disturb_a_run_is_refused_with_the_owner() {
    let place = Place::with_plan(&[WORKS, AFTER]);
    place.write("plans/other.md", crate::sample::runnable(&[AFTER]));
    let mut first = place.start(&[]);
    place.wait_for_file("agent");
    let driver = format!("process {}", first.pid());
    let digest = |ran: Ran| {
        let envelope: serde_json::Value = serde_json::from_str(&ran.stdout).expect("an envelope");
        envelope["data"]["digest"].as_str().expect("a digest").to_owned()
    };
    let other = digest(place.run(&["run", "other", "--dry-run", "--json"]));
    place.run(&["run", "other", "--rev", &other]).expect(4, &["it is running in this directory", &driver]);
    let approved = place.read(FILE);
    place.rewrite("Because.", "Because of you.");
    place.approve_and_run().expect(4, &[&driver]);
    place.write(FILE, approved).write("go", "");
    assert_eq!(first.end(), 0);
    assert_eq!(place.count("a attempt.started 1"), 1);
    // Nothing was recorded of what could not begin.
    place.run(&["run", "other", "--rev", &other]).expect(0, &["1 of 1 step passed"]);
}

// without workers a run makes no attempt itself: it waits on the queue, and is neither lost nor made twice.
#[test]
fn a_run_without_workers_leaves_attempts_to_others_and_says_so() {
    let place = Place::with_plan(&[("a", "", "echo once >>a.out", "test -s a.out")]);
    let digest = place.digest();
    let mut running = talk(&place, &["run", "it", "--workers", "0", "--rev", &digest]);
    running.wait_for("attempts wait for `planwright worker`");
    place.wait_for("a attempt.started 1");
    running.signal(&place, "TERM");
    running.end().expect(143, &["pausing: ending 0 attempts", "planwright run it"]);
    assert_eq!((place.has("a.out"), place.count("a attempt.finished 1")), (false, 0));
    place.run(&["run", "it"]).expect(0, &["1 of 1 step passed"]);
    assert_eq!((place.read("a.out").as_str(), place.count("a attempt.started 2")), ("once\n", 0));
}
