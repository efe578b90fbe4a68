//! Agents in trouble: their model is out of reach or out of quota, they are missing, they don't end when told to, and the
//! harness dies above them.

use serde_json::{Value, json};

use super::agent::InOutage;
use super::bench::Bench;
use super::install::Installed;
use super::model::Outage;
use super::work::task;

/// A step that needs one file, and a model that writes it.
fn one_file(bench: &Bench) {
    let write = json!([{"do": "write", "path": bench.path("out.txt"), "text": "out\n"}, {"do": "say", "text": "Written."}]);
    bench.plan(&[("write", "", &task("Write out.txt.", &write), "grep -qx out out.txt")]);
}

// A-24, P-15, A-34: kill -9 of planwright while the agent's own tool runs; nothing of it stays, and the run goes on.
pub(crate) fn is_gone_with_its_harness_and_goes_on(installed: &Installed) {
    let bench = Bench::of(installed);
    let wait = json!([
        {"do": "bash", "command": "echo $$ >> working; until [ -e go ]; do sleep 0.1; done; echo out > out.txt"},
        {"do": "say", "text": "Waited."},
    ]);
    let note = json!([{"do": "write", "path": bench.path("note.txt"), "text": "noted\n"}, {"do": "say", "text": "Noted."}]);
    bench.plan(&[
        ("wait", "", &task("Wait.", &wait), "grep -qx out out.txt"),
        ("note", "**needs:** wait", &task("Write a note.", &note), "grep -qx noted note.txt"),
    ]);
    let mut running = bench.start();
    bench.wait_until("the agent's tool is at work", || bench.has("working"));
    assert!(
        bench.alive().iter().any(|process| process.contains(installed.agent.name)),
        "{:?}",
        bench.alive()
    );
    running.kill();
    bench.nothing_is_alive();
    bench.write("go", "");
    bench
        .run(&["run", "it"])
        .expect(0, &["attempt 1 was interrupted; it does not count", "2 of 2 steps passed"]);
    assert_eq!(
        bench.facts(),
        [
            "wait attempt.started 1",
            "wait attempt.finished 1",
            "wait attempt.started 2",
            "wait attempt.finished 2",
            "wait contract.finished 2 passed",
            "note attempt.started 1",
            "note attempt.finished 1",
            "note contract.finished 1 passed",
            "closing.started",
            "wait contract.rechecked passed",
            "run.finished done",
        ]
    );
    bench.nothing_is_alive();
}

/// Carries the plan out while the model can't be had at first; returns how attempt 1 ended.
#[track_caller]
fn with_outage(bench: &Bench, outage: Outage) -> Value {
    one_file(bench);
    bench.model.set_outage(Some(outage));
    let mut running = bench.start();
    match bench.agent.outage {
        InOutage::EndsWithReset | InOutage::Ends => {
            let is_over = || bench.facts().iter().any(|fact| fact.contains("finished"));
            bench.wait_until("the attempt is over", is_over);
        }
        InOutage::KeepsTrying => {
            bench.wait_until("it has tried again", || bench.model.heard().len() > 1);
        }
    }
    bench.model.set_outage(None);
    running.end();
    let last = ["write attempt.finished", "write contract.finished", "closing.started", "run.finished"];
    let facts = bench.facts();
    let ending: Vec<&str> = facts[facts.len() - 4..].iter().map(String::as_str).collect();
    assert!(ending.iter().zip(last).all(|(fact, begin)| fact.starts_with(begin)), "{facts:?}");
    assert!(!facts.iter().any(|fact| fact.contains("failed") || fact.contains("ask")), "{facts:?}");
    let is_parked = facts.contains(&"write attempt.finished 1 parked".to_owned());
    assert_eq!(is_parked, bench.agent.outage != InOutage::KeepsTrying, "{facts:?}");
    bench.nothing_is_alive();
    bench.finished(1)
}

// P-14: out of quota is no failure: the step is parked until the provider says, and then done by the same run.
pub(crate) fn is_parked_when_out_of_quota_and_goes_on(installed: &Installed) {
    let bench = Bench::of(installed);
    let parked = with_outage(&bench, Outage { status: 429, retry_after: Some(5) });
    let times = [&parked["end"]["parked"]["until"], &parked["at_ms"]];
    let [until, at] = times.map(|time| time.as_u64().unwrap_or_default());
    match bench.agent.outage {
        // Whole seconds, counted from when the agent said so.
        InOutage::EndsWithReset => assert!((3000..=5000).contains(&until.saturating_sub(at)), "{parked:#}"),
        InOutage::Ends => assert!(until > at, "{parked:#}"),
        InOutage::KeepsTrying => {}
    }
}

// P-14: a model that fails is no failure of the work: the step is tried again later.
pub(crate) fn is_parked_when_its_model_fails_and_goes_on(installed: &Installed) {
    with_outage(&Bench::of(installed), Outage { status: 500, retry_after: None });
}

// P-14: an agent that is not installed is named, and nothing counts as failed.
pub(crate) fn is_named_when_it_is_missing(installed: &Installed) {
    let bench = Bench::without_program(installed.agent);
    one_file(&bench);
    bench.approve_and_run().expect(3, &["write needs you", installed.agent.name]);
    let parked = bench.finished(1);
    let why = parked["end"]["parked"]["why"].as_str().unwrap_or_default();
    assert!(
        why.contains(installed.agent.name) && parked["end"]["parked"]["until"] == Value::Null,
        "{parked:#}"
    );
    assert_eq!(
        bench.facts(),
        ["write attempt.started 1", "write attempt.finished 1 parked", "write ask.opened"]
    );
    assert!(bench.model.heard().is_empty());
}

// an agent that does not end when it is told to is ended, with all that it started.
pub(crate) fn is_ended_though_it_ignores_the_signal(installed: &Installed) {
    let bench = Bench::of(installed);
    let (name, itself) = (installed.agent.name, format!("{}-itself", installed.agent.name));
    // What is ignored here is ignored in everything that is started from here, unless that says otherwise.
    let script = format!(
        "#!/bin/bash\ntrap '' TERM INT HUP\necho $$ > stubborn\n{itself} \"$@\" <&0 &\nwait\nsleep 600\n"
    );
    bench.wrap(name, &itself, &script);
    let hang = json!([
        {"do": "bash", "command": "trap '' TERM INT HUP; echo $$ > working; sleep 300 & sleep 301; sleep 302"},
        {"do": "say", "text": "Hung."},
    ]);
    bench.plan(&[("hang", "", &task("Hang.", &hang), "test -e out.txt")]);
    let mut running = bench.start();
    bench.wait_until("the agent's tool is at work", || bench.has("working"));
    // It is as stubborn as it should be.
    bench.bash("kill -TERM $(cat stubborn); sleep 0.3; kill -0 $(cat stubborn)").expect(0, &[]);
    bench.run(&["stop", "it", "--now"]).expect(0, &["was running: 1 hang, attempt 1"]);
    running.end();
    bench.nothing_is_alive();
    assert_eq!(bench.finished(1)["end"], "stopped");
}
