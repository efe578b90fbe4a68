//! Hooks of sessions: what agents are told when a session begins, is compacted or wants to end. The questions are what real agents
//! asked, word for word (`tests/session/`); the answers are in each agent's own form.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they read its cases and look at its files"
)]

use serde_json::Value;

use crate::hook::USER;
use crate::sample::{Sketch, runnable};
use crate::test_env::{Place, Ran, repository, run};

const FIRST: Sketch<'static> = ("first", "", "touch first.out", "test -e first.out");
const SECOND: Sketch<'static> = (
    "second",
    "**accept:** it is written\n**touches:** second.out",
    "touch second.out",
    "test -e second.out",
);
const NEVER: Sketch<'static> = ("never", "", "true", "echo not yet; test -e never.out");

/// What an agent asked.
fn question(name: &str) -> String {
    let path = repository().join("crates/app/tests/session").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn project(steps: &[Sketch<'_>]) -> Place {
    Place::with_plan(steps)
}

fn approved(steps: &[Sketch<'_>]) -> Place {
    let place = project(steps);
    let digest = place.digest();
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["approve", "it", "--rev", &digest]).expect(0, &[]);
    place
}

/// What goes into the session, whichever way the agent takes it.
fn told(ran: &Ran) -> String {
    let Ok(value) = serde_json::from_str::<Value>(&ran.stdout) else { return ran.stdout.clone() };
    let text =
        [&value["hookSpecificOutput"]["additionalContext"], &value["additionalContext"], &value["reason"]];
    text.into_iter().find_map(Value::as_str).unwrap_or_else(|| panic!("{ran:#?}")).to_owned()
}

/// Every question at the beginning of a session, and where the answer has its text.
const STARTS: &[(&str, &str)] = &[
    ("claude-session-start.json", "/hookSpecificOutput/additionalContext"),
    ("claude-session-compact.json", "/hookSpecificOutput/additionalContext"),
    ("codex-session-start.json", "/hookSpecificOutput/additionalContext"),
    ("gemini-session-start.json", "/hookSpecificOutput/additionalContext"),
    ("qwen-session-start.json", "/hookSpecificOutput/additionalContext"),
    ("copilot-session-start.json", "/additionalContext"),
];

// P-10: the plan is put into the session, in the form of whoever asks; the event is told by the word or by the question.
#[test]
fn every_agent_is_told_of_the_active_plan_in_its_own_form() {
    let place = approved(&[FIRST, SECOND]);
    for (name, pointer) in STARTS {
        let asked = question(name);
        let ran = place.run_with(&["hook", "session-start"], &asked);
        let value: Value =
            serde_json::from_str(&ran.expect(0, &[]).stdout).unwrap_or_else(|_| panic!("{name}: {ran:#?}"));
        let text =
            value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{name}: {value}"));
        for words in [
            "it (plans/it.md)",
            "approved, r1",
            "current step: 1 first",
            "You cannot mark a step done",
            "next: planwright run it",
        ] {
            assert!(text.contains(words), "{name}: `{words}`: {text}");
        }
        if asked.contains("hook_event_name") {
            assert_eq!(
                place.run_with(&["hook"], &asked).stdout,
                ran.stdout,
                "{name}: the question names the event, too"
            );
        }
    }
    // The few lines in pi and opencode, and people, get text.
    let shims = [question("pi-session-start.json"), question("opencode-session-start.json")];
    for input in shims.iter().map(String::as_str).chain(["", "rubbish"]) {
        let ran = place.run_with(&["hook", "session-start"], input);
        assert!(ran.expect(0, &[]).stdout.starts_with("This project has an active plan"), "{ran:#?}");
    }
}

// P-10: before a session is compacted the same goes into the summary, where an agent takes it.
#[test]
fn the_plan_survives_compaction() {
    let place = approved(&[FIRST, SECOND]);
    let ran = place.run_with(&["hook", "pre-compact"], question("claude-pre-compact.json"));
    ran.expect(0, &["Keep the following in the summary", "current step: 1 first"]);
    assert!(ran.stdout.starts_with("Keep"), "claude takes text here: {ran:#?}");
    // gemini takes nothing in, and nothing but JSON may be on its stdout.
    assert_eq!(
        place
            .run_with(&["hook"], r#"{"hook_event_name":"PreCompress","session_id":"a"}"#)
            .expect(0, &[])
            .stdout,
        ""
    );
}

// P-10: what is over is never put back, and what is being run goes before what is only approved.
#[test]
fn plans_that_are_over_are_never_put_back() {
    let start = |place: &Place| place.run_with(&["hook", "session-start"], "");
    let place = project(&[FIRST, NEVER]);
    assert_eq!(start(&place).expect(0, &[]).said(), "", "a draft is nobody's plan yet");
    place.run(&["propose", "it"]).expect(0, &[]);
    start(&place).expect(0, &["proposed, r1", "Don't start it", "next: planwright review it"]);
    let digest = place.digest();
    place.run(&["run", "it", "--rev", &digest]).expect(3, &[]);
    let ran = start(&place);
    ran.expect(
        0,
        &[
            "waiting for you, run 1; 1 of 2 steps done",
            "1 first: Do first: contract passed, attempt 1",
            "current step: 2 never",
            "next: planwright answer it/never",
            "planwright starts the agents",
        ],
    );
    place.write("plans/other.md", runnable(&[("other", "", "true", "test -e other.out")]));
    place.run(&["propose", "other"]).expect(0, &[]);
    assert!(!start(&place).stdout.contains("other"), "a run goes before what waits for a yes");
    place.run(&["cancel", "it", "-m", "no need"]).expect(0, &[]);
    let ran = start(&place);
    assert!(
        ran.expect(0, &["other (plans/other.md)"]).stdout.contains("proposed, r1")
            && !ran.stdout.contains("plans/it.md")
    );
    place.run(&["cancel", "other", "-m", "no need"]).expect(0, &[]);
    assert_eq!(start(&place).expect(0, &[]).said(), "");

    let place = project(&[FIRST]);
    place.approve_and_run().expect(0, &["done"]);
    assert_eq!(start(&place).expect(0, &[]).said(), "", "what is done is done");
}

// A-32: an agent in an attempt is told nothing of the plan, whatever hooks its project has.
#[test]
fn an_agent_in_an_attempt_is_told_of_no_plan() {
    let ask = "echo '{}' | XDG_STATE_HOME=$HOME/state planwright hook session-start >start.out 2>&1; \
               echo '{}' | XDG_STATE_HOME=$HOME/state planwright hook pre-compact >compact.out 2>&1; touch asked.out";
    let place = project(&[("ask", "", ask, "test -e asked.out")]);
    place.approve_and_run().expect(0, &["done"]);
    assert_eq!((place.read("start.out"), place.read("compact.out")), (String::new(), String::new()));
    // The twin: the same question from outside of the attempt, while the plan is active, has an answer.
    let place = approved(&[("ask", "", ask, "test -e asked.out")]);
    assert!(told(&place.run_with(&["hook", "session-start"], "{}")).contains("current step: 1 ask"));
}

fn stop(place: &Place, session: &str) -> Ran {
    let asked = question("claude-stop.json");
    let mut asked: Value = serde_json::from_str(&asked).expect("JSON");
    asked["session_id"] = session.into();
    place.run_with(&["hook", "stop"], asked.to_string())
}

// P-10: the gate is off unless the user says otherwise; it speaks so often and no more, session by session, and proves nothing.
#[test]
fn the_stop_gate_tells_what_the_contract_says_a_few_times() {
    let place = approved(&[FIRST, NEVER]);
    assert_eq!(stop(&place, "a").expect(0, &[]).said(), "", "off by default");
    place.write(USER, "[session]\nstop_holds = 2\n");
    let before = place.run(&["audit", "it", "--json"]).stdout;
    let ran = stop(&place, "a");
    let value: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("JSON");
    assert_eq!(value["decision"], "block", "{value}");
    assert!(told(&ran).contains("Step 1 `first` of the plan it"), "{ran:#?}");
    place.write("first.out", "");
    let ran = stop(&place, "a");
    assert!(
        told(&ran).contains("Step 2 `never`") && told(&ran).contains("not yet"),
        "the output of the contract: {ran:#?}"
    );
    assert_eq!(stop(&place, "a").expect(0, &[]).said(), "", "twice is all");
    assert!(told(&stop(&place, "b")).contains("1 of at most 2"), "another session is counted by itself");
    place.write("never.out", "");
    assert_eq!(stop(&place, "c").expect(0, &[]).said(), "", "nothing is left to say");
    assert_eq!(place.run(&["audit", "it", "--json"]).stdout, before, "nothing was recorded");
    assert!(place.events().is_empty(), "and nothing was run");
}

#[test]
fn a_session_that_comes_back_with_the_same_is_let_go() {
    let place = approved(&[NEVER]);
    place.write(USER, "[session]\nstop_holds = 9\n");
    let again =
        question("claude-stop.json").replace("\"stop_hook_active\":false", "\"stop_hook_active\":true");
    assert!(again.contains("\"stop_hook_active\":true"), "the question says whether it was held back");
    assert!(told(&place.run_with(&["hook", "stop"], &again)).contains("Step 1 `never`"));
    assert_eq!(place.run_with(&["hook", "stop"], &again).expect(0, &[]).said(), "");
}

// P-10: all agents take the same answer here.
#[test]
fn every_agent_is_held_back() {
    let names = ["claude-stop", "codex-stop", "gemini-after-agent", "qwen-stop", "copilot-stop", "pi-stop"];
    for name in names {
        let place = approved(&[NEVER]);
        place.write(USER, "[session]\nstop_holds = 1\n");
        let asked = question(&format!("{name}.json"));
        let ran = place.run_with(&["hook", "stop"], &asked);
        let value: Value =
            serde_json::from_str(&ran.expect(0, &[]).stdout).unwrap_or_else(|_| panic!("{name}: {ran:#?}"));
        assert_eq!(value["decision"], "block", "{name}");
        assert!(
            value["reason"].as_str().is_some_and(|reason| reason.contains("Step 1 `never`")),
            "{name}: {value}"
        );
        assert_eq!(
            place.run_with(&["hook", "stop"], &asked).expect(0, &[]).said(),
            "",
            "{name}: once is all"
        );
    }
}

// What an agent may write is never run on the strength of a hook: neither a plan that nobody approved, nor a changed one, nor a setting
// in the project; a test that judges and was changed is said, and not run.
#[test]
fn the_gate_runs_only_what_a_person_approved() {
    let evil = ("evil", "", "true", "touch evil.out; false");
    let place = project(&[evil]);
    place.write(USER, "[session]\nstop_holds = 2\n");
    place.run(&["propose", "it"]).expect(0, &[]);
    assert_eq!(stop(&place, "a").expect(0, &[]).said(), "", "a proposal is not run");
    assert!(!place.has("evil.out"));

    let place = approved(&[NEVER]);
    place.write(USER, "[session]\nstop_holds = 2\n");
    place.rewrite("test -e never.out", "touch evil.out; false");
    assert!(told(&stop(&place, "a")).contains("test -e never.out"), "the approved text is looked at");
    assert!(!place.has("evil.out"));

    let place = approved(&[NEVER]);
    place.write("planwright.toml", "[session]\nstop_holds = 2\n");
    let ran = stop(&place, "a");
    assert_eq!(ran.stdout, "", "{ran:#?}");
    ran.expect(0, &["invalid project settings"]);

    let sealed = ("sealed", "**sealed:** test.sh", "true", "sh test.sh");
    let place = Place::empty();
    place.write("test.sh", "exit 1\n").write("plans/it.md", runnable(&[sealed]));
    let digest = place.digest();
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["approve", "it", "--rev", &digest]).expect(0, &[]);
    place.write(USER, "[session]\nstop_holds = 2\n").write("test.sh", "touch evil.out; exit 0\n");
    assert!(told(&stop(&place, "a")).contains("sealed file test.sh was changed"));
    assert!(!place.has("evil.out"));
}

// The gate inside of an attempt is advice about its own task; the verdict is the contract's, afterwards.
#[test]
fn inside_of_an_attempt_the_gate_speaks_of_the_task_alone() {
    let ask = "echo '{\"session_id\":\"x\"}' | XDG_STATE_HOME=$HOME/state planwright hook stop >gate.out 2>&1; touch done.out";
    let place = project(&[FIRST, ("work", "", ask, "test -e done.out && echo fine")]);
    place.write(USER, "[session]\nstop_holds = 1\n");
    place.approve_and_run().expect(0, &["done"]);
    let said = place.read("gate.out");
    assert!(said.contains("Your task is not done") && said.contains("test -e done.out"), "{said}");
    assert!(!said.contains("first") && !said.contains("plan it"), "{said}");
}

// A hook never breaks a session: whatever is wrong is said on stderr, and the session goes on.
#[test]
fn a_hook_that_fails_lets_the_session_go_on() {
    let place = approved(&[NEVER]);
    place.write("planwright.toml", "nonsense = 1\n");
    for event in ["session-start", "pre-compact", "stop"] {
        let ran = place.run_with(&["hook", event], question("claude-stop.json"));
        assert_eq!(ran.stdout, "", "{event}: {ran:#?}");
        ran.expect(0, &["invalid project settings"]);
    }
    place.run(&["hook", "session-strat"]).expect(2, &["unknown event `session-strat`"]);
}

#[test]
fn whatever_a_contract_prints_a_session_is_told_in_clean_text() {
    let place = project(&[("loud", "", "true", "printf 'boo\\033[2J\\n'; test -e never.out")]);
    place.approve_and_run().expect(3, &[]);
    for input in ["", r#"{"hook_event_name":"SessionStart"}"#] {
        let ran = place.run_with(&["hook", "session-start"], input);
        assert!(!ran.expect(0, &["current step: 1 loud"]).stdout.contains('\u{1b}'), "{ran:#?}");
    }
}

#[test]
fn no_state_is_made_by_asking() {
    let place = project(&[FIRST]);
    let mut command = place.planwright(&["hook", "session-start"]);
    run(&mut command, b"").expect(0, &[]);
    assert!(!place.has("../home/state"), "a session that only begins leaves nothing behind");
}
