//! Hooks: they are told what happens, at least once and in order, and whatever they do, nothing else changes.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they make its files and look at them"
)]

use serde_json::Value;

use crate::envelope::schema;
use crate::follow::wait_until;
use crate::sample::{Sketch, runnable};
use crate::test_env::Place;

/// The settings of the user.
pub(crate) const USER: &str = "../home/.config/planwright/config.toml";
/// Where hooks write what they hear.
const HEARD: &str = "../home/heard";

const GOOD: Sketch<'static> = ("a", "", "touch a.out", "test -e a.out");
const BAD: Sketch<'static> = ("b", "", "true", "test -e never");
const ABORTED: Sketch<'static> = ("c", "**on_fail:** abort", "true", "test -e never");

/// What was heard, line by line.
fn heard(place: &Place) -> Vec<String> {
    if place.has(HEARD) { place.read(HEARD).lines().map(str::to_owned).collect() } else { Vec::new() }
}

/// The ids of what was heard.
fn ids(place: &Place) -> Vec<String> {
    let id = |line: &String| serde_json::from_str::<Value>(line).expect("JSON")["data"]["id"].to_string();
    heard(place).iter().map(id).map(|id| id.trim_matches('"').to_owned()).collect()
}

/// Writes a hook that is a script.
fn hook(name: &str, script: &str) -> String {
    let words = serde_json::json!(["sh", "-c", script]);
    format!("hooks.{name} = {words}\n")
}

/// Makes another plan and carries it out.
fn run_other(place: &Place, name: &str, steps: &[Sketch<'_>]) -> i32 {
    place.write(&format!("plans/{name}.md"), runnable(steps));
    let ran = place.run(&["run", name, "--dry-run", "--json"]);
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    place.run(&["run", name, "--rev", envelope["data"]["digest"].as_str().expect("a digest")]).code
}

const HEAR: &str = "cat >>\"$HOME/heard\"";

// P-17, C-27: the hook of an occasion gets exactly the line that `log --all --json` prints, and no other.
#[test]
fn a_hook_gets_exactly_the_envelope_of_its_occasion() {
    let cases = [
        ("done", GOOD, 0, "run.finished"),
        ("needs_you", BAD, 3, "ask.opened"),
        ("failed", ABORTED, 1, "run.finished"),
    ];
    for (name, step, code, event) in cases {
        let place = Place::with_plan(&[step]);
        let others = ["done", "needs_you", "failed"].into_iter().filter(|other| *other != name);
        let others: String = others.map(|other| hook(other, "touch \"$HOME/wrong\"")).collect();
        place.write(
            USER,
            format!(
                "{}{others}",
                hook(
                    name,
                    "pwd >\"$HOME/where\"; echo \"$PLANWRIGHT_ROOT\" >>\"$HOME/where\"; cat >>\"$HOME/heard\""
                )
            ),
        );
        assert_eq!(place.approve_and_run().code, code, "{name}");
        let told = place.run(&["log", "--all", "--json"]).stdout;
        let line =
            told.lines().find(|line| line.contains(&format!("\"event\":\"{event}\""))).expect("it happened");
        assert_eq!(heard(&place), [line], "{name}");
        let envelope: Value = serde_json::from_str(line).expect("JSON");
        let fault = schema(&place, "event").validate(&envelope).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{envelope}");
        assert_eq!(envelope["data"]["occasion"], name.replace('_', "-"), "{envelope}");
        assert!(!place.has("../home/wrong"), "{name}: another hook was told");
        // Not in the project: a relative path there would be an agent's to make.
        let place_of_hook = format!(
            "{}\n{}\n",
            place.path("../home").canonicalize().expect("a home").display(),
            place.project().display()
        );
        assert_eq!(place.read("../home/where"), place_of_hook);
    }
}

/// The events of the run without what differs from run to run.
fn timeless(place: &Place) -> Vec<Value> {
    fn still(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    // Programs are in a place of the test's own.
                    if name == "milliseconds" || name == "hash" || name == "programs" {
                        *value = Value::from(0);
                    } else {
                        still(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(still),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut events = place.events();
    events.iter_mut().for_each(still);
    events
}

// C-27: a listener that throws, hangs, is killed, floods its output or is not there harms nothing.
#[test]
fn a_hook_that_misbehaves_changes_neither_the_run_nor_its_journal() {
    let plain = Place::with_plan(&[GOOD, BAD]);
    plain.approve_and_run().expect(3, &[]);
    let expected = (timeless(&plain), plain.read("plans/it.md"));
    let cases = [
        ("exit 1", "exited with 1"),
        ("echo no use >&2; exit 3", "exited with 3: no use"),
        ("kill -9 $$", "killed by signal 9"),
        ("sleep 1000", "timed out after 1 s"),
        // Deaf to the polite signal, with a child that left its session.
        ("trap '' TERM; sleep 1000 & while :; do sleep 1; done", "timed out after 1 s"),
        ("dd if=/dev/zero bs=1000000 count=100 2>/dev/null; exit 1", "exited with 1"),
    ];
    for (script, why) in cases {
        let place = Place::with_plan(&[GOOD, BAD]);
        place.write(USER, format!("hooks.seconds = 1\n{}", hook("needs_you", script)));
        place.approve_and_run().expect(3, &["b needs you"]);
        assert_eq!((timeless(&place), place.read("plans/it.md")), expected, "{script}");
        place.run(&["doctor"]).expect(
            0,
            &["hook `needs_you` has not accepted an event", why, "planwright log --all --deliver"],
        );
        // Once it behaves, it is told what it has missed.
        place.write(USER, hook("needs_you", HEAR));
        place.run(&["log", "--all", "--deliver"]).expect(0, &["needs_you", "delivered 1"]);
        assert_eq!(ids(&place), ["run/1/8"], "{script}");
        place.run(&["log", "--all", "--deliver"]).expect(0, &["delivered 0"]);
        assert!(!place.run(&["doctor"]).said().contains("has not accepted"), "{script}");
    }
}

#[test]
fn a_hook_whose_program_is_gone_is_told_later() {
    let place = Place::with_plan(&[GOOD]);
    // It removes its own program when it is called.
    place.write("../home/once", "#!/bin/sh\nrm \"$0\"\nexit 1\n").permit("../home/once", 0o755);
    let program = place.path("../home/once").canonicalize().expect("there");
    place.write(USER, format!("hooks.done = [\"{}\"]\n", program.display()));
    place.approve_and_run().expect(0, &[]);
    assert!(!place.has("../home/once"));
    let ran = place.run(&["log", "--all", "--deliver", "--json"]);
    let envelope: Value = serde_json::from_str(&ran.expect(1, &[]).stdout).expect("an envelope");
    assert!(
        envelope["data"]["hooks"][0]["left"].as_str().is_some_and(|why| why.starts_with("cannot start")),
        "{envelope}"
    );
    place.write("../home/once", format!("#!/bin/sh\n{HEAR}\n")).permit("../home/once", 0o755);
    place.run(&["log", "--all", "--deliver"]).expect(0, &["delivered 1"]);
    assert_eq!(ids(&place), ["run/1/6"]);
}

// C-27: planwright is killed while a hook has an event: nobody knows whether it was taken, so it is told again.
#[test]
fn what_a_killed_planwright_was_telling_is_told_again() {
    let place = Place::with_plan(&[BAD]);
    let script = format!("{HEAR}; echo $$ >\"$HOME/pid\"; until [ -e \"$HOME/go\" ]; do sleep 0.01; done");
    place.write(USER, hook("needs_you", &script));
    let mut running = place.start(&[]);
    let pid = place.wait_for_file("../home/pid");
    running.kill();
    wait_until("the hook dies with planwright", || !place.is_alive(&pid));
    place.write("../home/go", "");
    assert_eq!(ids(&place).len(), 1);
    // The beginning of the next run tells it, before what that run does, and once.
    assert_eq!(run_other(&place, "other", &[BAD]), 3);
    assert_eq!(ids(&place), ["run/1/5", "run/1/5", "run/2/5"]);
    place.run(&["log", "--all", "--deliver"]).expect(0, &["delivered 0"]);
}

#[test]
fn a_hook_that_is_new_hears_nothing_of_what_was_before_it() {
    let place = Place::with_plan(&[GOOD]);
    place.approve_and_run().expect(0, &[]);
    place.write(USER, hook("done", HEAR));
    assert_eq!(run_other(&place, "other", &[GOOD]), 0);
    assert_eq!(ids(&place), ["run/2/6"]);
    let place = Place::with_plan(&[GOOD]);
    place.approve_and_run().expect(0, &[]);
    place.write(USER, hook("done", HEAR));
    place.run(&["log", "--all", "--deliver"]).expect(0, &["delivered 0"]);
    // From here on it is known: what happens while nobody delivers is not lost.
    place.write("plans/other.md", place.read("plans/it.md"));
    place.bash("XDG_CONFIG_HOME=/nowhere planwright run other --rev \"$(planwright run other --dry-run --json | grep -o '\"digest\":\"[0-9a-f]*' | head -1 | grep -o '[0-9a-f]*$')\"").expect(0, &[]);
    assert_eq!(ids(&place), [] as [&str; 0]);
    place.run(&["log", "--all", "--deliver"]).expect(0, &["delivered 1"]);
    assert!(matches!(&ids(&place)[..], [only] if only.starts_with("run/2/")), "{:?}", ids(&place));
}

// Every event is told by one process alone, however many deliver.
#[test]
fn processes_at_once_deliver_each_event_once_and_in_order() {
    let place = Place::with_plan(&[GOOD]);
    let script = format!(
        "[ -e \"$HOME/ok\" ] || exit 1; mkdir \"$HOME/busy\" || touch \"$HOME/overlap\"; {HEAR}; sleep 0.05; rm -r \"$HOME/busy\""
    );
    place.write(USER, hook("done", &script));
    place.approve_and_run().expect(0, &[]);
    for name in ["two", "three", "four"] {
        assert_eq!(run_other(&place, name, &[GOOD]), 0);
    }
    assert_eq!(ids(&place), [] as [&str; 0]);
    place.write("../home/ok", "");
    let mut processes: Vec<_> = (0..4)
        .map(|number| place.start_into(&["log", "--all", "--deliver"], &format!("said{number}")))
        .collect();
    for process in &mut processes {
        // One that finds another at it says so, and ends with 1.
        assert!(process.end() <= 1);
    }
    assert_eq!(ids(&place), ["run/1/6", "run/2/6", "run/3/6", "run/4/6"]);
    assert!(!place.has("../home/overlap"));
}

#[test]
fn an_event_that_is_never_taken_is_given_up_and_said_and_the_next_one_is_told() {
    let place = Place::with_plan(&[GOOD]);
    let script =
        "read -r line; case $line in *run/1/*) exit 1;; esac; printf '%s\\n' \"$line\" >>\"$HOME/heard\"";
    place.write(USER, hook("done", script));
    place.approve_and_run().expect(0, &[]);
    assert_eq!(run_other(&place, "two", &[GOOD]), 0);
    let mut last = place.run(&["doctor"]);
    for _ in 0..12 {
        last = place.run(&["log", "--all", "--deliver"]);
        if last.code == 0 {
            break;
        }
        last.expect(1, &["exited with 1", "next: planwright log --all --deliver"]);
        last = place.run(&["doctor"]);
    }
    // Given up after a bounded number of tries, by whichever process came to it; said once to whoever asks.
    last.expect(0, &["delivered 1", "skipped 1"]);
    assert_eq!(ids(&place), ["run/2/6"]);
    assert!(
        !place.run(&["log", "--all", "--deliver"]).expect(0, &["delivered 0"]).said().contains("skipped")
    );
}

// A hook in a file that agents can write is not run: it would run outside of their attempt.
#[test]
fn a_hook_in_the_file_of_the_project_is_refused_and_never_run() {
    let place = Place::with_plan(&[GOOD]);
    let digest = place.digest();
    for text in [
        "[hooks]\ndone = ['touch', 'ran']\n".to_owned(),
        "hooks = { needs_you = ['touch', 'ran'] }\n".to_owned(),
        "hooks.webhook.url = 'http://localhost:1/'\n".to_owned(),
        "hooks.webhook.secret_file = '/x'\n".to_owned(),
        "hooks.seconds = 1\n".to_owned(),
    ] {
        place.write("planwright.toml", &text);
        for words in
            [&["run", "it", "--rev", digest.as_str()][..], &["log", "--all", "--deliver"], &["status"]]
        {
            place
                .run(words)
                .expect(2, &["for a project: anyone who can write", "home/.config/planwright/config.toml"]);
        }
        place.run(&["doctor"]).expect(1, &["for a project: anyone who can write"]);
    }
    place.bash("rm planwright.toml");
    let key = ["config", "set", "hooks.done", "[\"touch\", \"ran\"]"];
    place.run(&key).expect(
        2,
        &[
            "for a project: anyone who can write",
            "next: planwright config set hooks.done '[\"touch\", \"ran\"]' --user",
        ],
    );
    assert!(!place.has("planwright.toml") && !place.has("ran") && !place.has("../home/ran"));
    // The twin: the same words in the right place are run.
    place.run(&[&key[..], &["--user"]].concat()).expect(0, &["hooks.done is now"]);
    place.run(&["run", "it", "--rev", &digest]).expect(0, &[]);
    assert!(place.has("../home/ran"));
}

// An agent can't have the user's hooks miss something by delivering to hooks of its own.
#[test]
fn an_agent_at_work_delivers_nothing() {
    let place = Place::with_plan(&[BAD]);
    place.write(USER, hook("needs_you", "[ -e \"$HOME/ok\" ] || exit 1; cat >>\"$HOME/heard\""));
    place.approve_and_run().expect(3, &[]);
    let agent = "mkdir -p x/planwright; printf 'hooks.needs_you = [\"true\"]\\n' >x/planwright/config.toml\n\
                 XDG_CONFIG_HOME=$PWD/x planwright log --all --deliver 2>said && code=0 || code=$?; echo $code >code; touch a.out";
    assert_eq!(run_other(&place, "other", &[("a", "", agent, "test -e a.out")]), 0);
    assert_eq!(place.read("code"), "1\n");
    assert!(place.read("said").contains("an agent in a run cannot deliver events"));
    place.write("../home/ok", "");
    place.run(&["log", "--all", "--deliver"]).expect(0, &["delivered 1"]);
    assert_eq!(ids(&place).len(), 1);
}

// P-17: a plan that is proposed calls for somebody, but not for one who approves it in the same breath.
#[test]
fn a_proposal_calls_for_a_person_until_one_has_come() {
    let place = Place::with_plan(&[GOOD]);
    place.write(USER, hook("needs_you", HEAR));
    place.approve_and_run().expect(0, &[]);
    assert_eq!(ids(&place), [] as [&str; 0], "whoever ran it has approved it");
    place.write("plans/other.md", runnable(&[GOOD]));
    place.run(&["propose", "other"]).expect(0, &[]);
    assert_eq!(ids(&place), ["plan/2/1"]);
    let told: Value = serde_json::from_str(&heard(&place)[0]).expect("JSON");
    assert_eq!(
        (&told["data"]["run"], &told["data"]["event"]["event"]),
        (&Value::Null, &"plan.proposed".into())
    );
    place.run(&["log", "--all", "--plan", "other"]).expect(0, &["other plan.proposed     revision=1"]);
    // The names of document B: created when it is proposed, and once.
    let lines = place.run(&["log", "--all", "--names", "rawko"]).stdout;
    let names: Vec<String> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["type"].as_str().expect("a type").to_owned()
        })
        .collect();
    assert_eq!(names, ["PLAN_CREATED", "STEP_STARTED", "STEP_COMPLETED", "PLAN_CREATED"]);
    assert_eq!(place.run(&["log", "--all", "--names", "record"]).stdout, lines);
}
