//! Those who listen to events: they see every fact once, and whatever becomes of them, nothing else changes.

use serde_json::Value;

use crate::follow::wait_until;
use crate::sample::Sketch;
use crate::test_env::Place;

const SLOW: Sketch<'static> =
    ("b", "", "echo $$ >agent; until [ -e go ]; do sleep 0.01; done; touch b.out", "test -e b.out");
const AFTER: Sketch<'static> = ("c", "", "touch c.out", "test -e c.out");

/// The envelopes of events among the lines.
fn told(lines: &str) -> Vec<Value> {
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON"));
    all.filter(|envelope| envelope["schema"] == "planwright.event/1").map(|one| one["data"].clone()).collect()
}

// C-27: a listener that is killed changes nothing, and what it missed is found by looking again.
#[test]
fn a_listener_that_dies_changes_nothing_and_loses_nothing() {
    let place = Place::with_plan(&[SLOW, AFTER]);
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    let mut listener = place.start_into(&["log", "--all", "-f", "--json"], "heard");
    // One that nobody reads, and one that is paused.
    place.bash("(planwright log --all -f | head -n 1) >/dev/null 2>&1 &");
    let mut deaf = place.start_into(&["log", "--all", "-f"], "deaf");
    wait_until("it hears the beginning", || place.read("heard").contains("attempt.started"));
    place.bash(&format!("kill -STOP {}", deaf.pid()));
    listener.kill();
    place.write("go", "");
    assert_eq!(running.end(), 0);
    deaf.kill();
    let wanted = [
        "run.started",
        "b attempt.started 1",
        "b attempt.finished 1",
        "b contract.finished 1 passed",
        "c attempt.started 1",
        "c attempt.finished 1",
        "c contract.finished 1 passed",
        "closing.started",
        "b contract.rechecked passed",
        "run.finished done",
    ];
    assert_eq!(place.facts(), wanted);
    let heard = told(&place.read("heard"));
    let all = told(&place.run(&["log", "--all", "--json"]).stdout);
    assert_eq!(&all[..heard.len()], &heard[..], "what was heard is what is recorded");
    // What was said about the plan is told, too; its numbers are those of its ledger.
    let of_runs =
        |events: Vec<Value>| events.into_iter().filter(|event| !event["run"].is_null()).collect::<Vec<_>>();
    let (all, heard) = (of_runs(all), of_runs(heard));
    assert_eq!(all.len(), wanted.len());
    let last = heard.last().expect("something was heard")["seq"].to_string();
    let missed = of_runs(told(&place.run(&["log", "--all", "--json", "--since", &last]).stdout));
    assert_eq!(heard.into_iter().chain(missed).collect::<Vec<_>>(), all);
}

#[test]
fn events_of_all_runs_come_in_their_order_and_can_be_narrowed() {
    let place = Place::with_plan(&[AFTER]);
    place.write("plans/other.md", place.read("plans/it.md"));
    place.approve_and_run().expect(0, &[]);
    place.run(&["run", "other", "--rev", &place.digest()]).expect(0, &[]);
    let all = told(&place.run(&["log", "--all", "--json"]).stdout);
    assert!(all.is_sorted_by_key(|event| event["at_ms"].as_u64()), "{all:?}");
    let of = |plan: &str| all.iter().filter(|event| event["plan"] == plan).cloned().collect::<Vec<_>>();
    assert!(!of("it").is_empty() && of("it").len() + of("other").len() == all.len(), "{all:?}");
    assert_eq!(told(&place.run(&["log", "--all", "--json", "--plan", "other"]).stdout), of("other"));
    assert_eq!(told(&place.run(&["log", "--all", "--json", "--since", "1h"]).stdout), all);
    assert_eq!(
        told(&place.run(&["log", "--all", "--json", "--since", "2999-01-01T00:00:00Z"]).stdout),
        [] as [Value; 0]
    );
    place.run(&["log", "--all"]).expect(0, &[" it/c contract.finished attempt=1 verdict=passed dur="]);
    place.run(&["log", "--all", "--since", "soon"]).expect(2, &["is not a number, a time or an age"]);
}
