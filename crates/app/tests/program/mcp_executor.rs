//! The tools of an agent at work, in real attempts: it reads its step and nothing of the others, sees what its contract says,
//! and what it reports is kept as hearsay.

use serde_json::{Value, json};

use crate::client::Client;
use crate::sample::Sketch;
use crate::test_env::Place;

/// Calls tools of the role from within an attempt, one server a call, as agents with a server of their own would.
const CALLS: &str = r#"
call() {
    printf '%s\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}' \
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}" |
        $CLEAN planwright mcp --role executor | grep '"id":2' >>answers
}
"#;

/// The answers that the tools gave, in order: whether each is an error, and its text.
#[track_caller]
fn answers(place: &Place) -> Vec<(bool, String)> {
    let answer = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (result["isError"] == json!(true), text.to_owned())
    };
    place.read("answers").lines().map(answer).collect()
}

/// What was reported in the first attempt.
#[track_caller]
fn report(place: &Place) -> Value {
    let finished = place.events().into_iter().find(|event| event["event"] == "attempt.finished");
    finished.expect("an attempt")["account"]["report"].clone()
}

// A-32, E-20, P-27: the agent of an attempt reads its own step, looks, notes, asks and says that it is done.
#[test]
fn an_agent_at_work_reads_looks_and_reports() {
    let script = format!(
        "{CALLS}CLEAN=\ncall step_get '{{}}'\ncall step_check '{{}}'\necho good >a.out\ncall step_check '{{}}'\n\
         call step_note '{{\"text\":\"the API is slow\"}}'\n\
         call step_note '{{\"text\":\"the docs are stale\",\"kind\":\"discovered\",\"title\":\"Mend the docs\"}}'\n\
         call step_note '{{\"text\":\"leaks\",\"kind\":\"finding\",\"severity\":\"error\",\"path\":\"a.c\",\"line\":3}}'\n\
         call step_ask '{{\"question\":\"which port?\"}}'\ncall step_finish '{{\"summary\":\"all done\"}}'\n"
    );
    let fields = "**touches:**\n- a.out\n**accept:**\n- it is good\n**tools:** Read";
    let first: Sketch<'_> =
        ("mine", fields, &script, "grep -q good a.out || { echo 'no good yet'; exit 4; }");
    let secret: Sketch<'_> = ("secret-step", "", "echo hidden-task", "test -e hidden-contract");
    let place = Place::with_plan(&[first, secret]);
    place.approve_and_run().expect(3, &["mine", "secret-step needs you"]);
    let answers = answers(&place);
    assert!(answers.iter().all(|(is_error, _)| !is_error), "{answers:#?}");
    let step: Value = serde_json::from_str(&answers[0].1).expect("a step");
    assert_eq!(
        (&step["step"], &step["attempt"], &step["touches"]),
        (&json!("mine"), &json!(1), &json!(["a.out"])),
        "{step}"
    );
    assert_eq!((&step["accept"], &step["tools"]), (&json!(["it is good"]), &json!(["Read"])), "{step}");
    assert!(step["contract"].as_str().is_some_and(|contract| contract.contains("no good yet")), "{step}");
    assert!(!answers[0].1.contains("hidden") && !answers[0].1.contains("secret-step"), "{step}");
    assert!(
        answers[1].1.contains("fails now (exit 4)") && answers[1].1.contains("no good yet"),
        "{answers:#?}"
    );
    assert!(answers[2].1.contains("passes now") && answers[2].1.contains("not a verdict"), "{answers:#?}");
    assert!(answers[7].1.contains("finishes nothing"), "{answers:#?}");
    let expected = json!([
        {"say": "note", "text": "the API is slow"},
        {"say": "discovered", "title": "Mend the docs", "text": "the docs are stale"},
        {"say": "finding", "severity": "error", "path": "a.c", "line": 3, "text": "leaks"},
        {"say": "ask", "text": "which port?"},
        {"say": "finish", "text": "all done"},
    ]);
    assert_eq!(report(&place), expected);
    // Two looks of its own and one of the harness: only that one is in the record.
    assert_eq!(place.count("mine contract.finished 1 passed"), 1);
    assert_eq!(place.facts().iter().filter(|fact| fact.starts_with("mine contract")).count(), 1);
}

// A-01: an agent that says that it is done is not, and its question reaches a person.
#[test]
fn an_agent_that_says_it_is_done_is_judged_all_the_same() {
    let script = format!(
        "{CALLS}CLEAN=\ncall step_finish '{{\"summary\":\"done, trust me\"}}'\ncall step_ask '{{\"question\":\"which port?\"}}'"
    );
    let place = Place::with_plan(&[("lie", "", &script, "test -e never")]);
    place.approve_and_run().expect(3, &["lie needs you"]);
    assert_eq!(place.count("lie contract.finished 1 failed"), 1);
    place.run(&["status", "--inbox"]).expect(0, &["which port?"]);
}

// E-20: some agents start their servers without the environment that they were given; the step is found above them.
#[cfg(target_os = "linux")]
#[test]
fn a_server_without_its_environment_finds_the_step_above_it() {
    let script =
        format!("{CALLS}CLEAN=\"/usr/bin/env -i PATH=$PATH\"\ncall step_note '{{\"text\":\"found\"}}'");
    let place = Place::with_plan(&[("wiped", "", &script, "grep -q noted answers")]);
    place.approve_and_run().expect(0, &["done"]);
    assert_eq!(report(&place), json!([{"say": "note", "text": "found"}]));
}

// E-20: where no step is being done, the tools say so, and nothing else happens.
#[test]
fn without_an_attempt_the_tools_say_so() {
    let place = Place::empty();
    let mut client = Client::of(&place, "executor");
    for (tool, arguments) in [
        ("step_get", json!({})),
        ("step_check", json!({})),
        ("step_note", json!({"text": "x"})),
        ("step_ask", json!({"question": "x"})),
        ("step_finish", json!({"summary": "x"})),
    ] {
        client.call(tool, &arguments).refused(&["no step is running"]);
    }
    client.call("step_note", &json!({"text": " "})).refused(&["the text is empty"]);
    client.call("step_ask", &json!({"question": "x".repeat(5000)})).refused(&["bytes at most"]);
    client.end();
}
