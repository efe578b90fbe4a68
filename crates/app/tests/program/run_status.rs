//! Where runs stand, as people ask for it: what waits for them, what is under way and who is at it, what is kept of an
//! attempt, and what became of a run whose driver is gone.

use serde_json::Value;

use crate::follow::{FILE, wait_until};
use crate::sample::Sketch;
use crate::test_env::{Place, Ran};

/// Says where it is, and waits for the file `go`.
const SLOW: Sketch<'static> =
    ("b", "", "echo $$ >agent; until [ -e go ]; do sleep 0.01; done; touch b.out", "test -e b.out");
const BEFORE: Sketch<'static> = ("a", "", "touch a.out", "test -e a.out");

#[track_caller]
fn data(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"].clone()
}

// A-27: everything that waits for a person, the oldest first, with the answers that fit.
#[test]
fn the_inbox_holds_what_waits_for_a_person_and_the_answers_that_fit() {
    let place = Place::with_plan(&[
        (
            "stuck",
            "**on_fail:** retry(1), then escalate\n**touches:**\n- x",
            "echo tried",
            "test -e x || { echo 'x is not there'; exit 7; }",
        ),
        ("look", "**needs:** none\n**target:** human\n**touches:**\n- y", "Look at it.", "manual"),
    ]);
    place.run(&["status", "--inbox"]).expect(0, &["nothing needs you"]);
    place.approve_and_run().expect(3, &[]);
    let asks = data(&place.run(&["status", "--inbox", "--json"]))["asks"].as_array().expect("asks").clone();
    let steps: Vec<&str> = asks.iter().filter_map(|ask| ask["step"].as_str()).collect();
    assert_eq!((steps.len(), asks.len()), (2, 2), "{asks:?}");
    assert!(asks[0]["since_ms"].as_u64() <= asks[1]["since_ms"].as_u64());
    for ask in &asks {
        let step = ask["step"].as_str().expect("a step");
        let flags = |answers: &Value| -> Vec<String> {
            let answers = answers.as_array().expect("answers").iter().filter_map(Value::as_str);
            answers.filter_map(|line| line.split(' ').nth(3)).map(str::to_owned).collect()
        };
        let own = if step == "look" { ["--confirm", "--retry"] } else { ["--retry", "--take-over"] };
        let wanted: Vec<&str> = own.into_iter().chain(["--skip", "--revise", "--stop"]).collect();
        assert_eq!(flags(&ask["answers"]), wanted, "{ask}");
    }
    place.run(&["status", "--inbox"]).expect(
        0,
        &["it/stuck   all attempts failed", "x is not there", "planwright answer it/look --confirm"],
    );
    // Which of two is meant has to be said.
    place.run(&["answer", "it", "--retry"]).expect(2, &["2 open questions about it", "it/look"]);
    place.run(&["answer", "it/look", "--confirm"]).expect(0, &["answered  it/look", "planwright run it"]);
    place.run(&["status", "--inbox"]).expect(0, &["it/stuck"]);
}

// A-27: the plan goes back to its author: the run is over, the file is a draft again, and going on takes a new approval.
#[test]
fn a_plan_that_is_sent_back_is_a_draft_again() {
    let place = Place::with_plan(&[BEFORE, ("stuck", "", "true", "test -e never")]);
    place.approve_and_run().expect(3, &[]);
    assert!(place.read(FILE).contains("status: in-progress"));
    place.run(&["answer", "it/stuck", "--revise"]).expect(2, &["--message"]);
    let ran = place.run(&["answer", "it/stuck", "--revise", "-m", "it can't be met"]);
    ran.expect(0, &["it/stuck", "a draft again", "next: planwright verify plans/it.md"]);
    let file = place.read(FILE);
    assert!(file.contains("status: draft") && file.contains("✅ Do a"), "{file}");
    assert_eq!(place.standing()["state"], "cancelled");
    place.run(&["log", "it"]).expect(0, &["cancelled: sent back for revision: it can't be met"]);
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
    place.run(&["answer", "it/stuck", "--retry"]).expect(1, &["no open question about it/stuck"]);
}

// A-27, A-45: a spent budget is a question; more of it is an answer, in any unit; anything else is refused by name.
#[test]
fn a_spent_budget_is_answered_with_an_amount() {
    let place = Place::with_plan(&[
        ("a", "", "echo '{\"dollars\": 2}' >\"$PLANWRIGHT_USAGE\"; touch a.out", "test -e a.out"),
        ("b", "", "touch b.out", "test -e b.out"),
    ]);
    place.approve_and_run().expect(3, &[]);
    place
        .run(&["status", "--inbox"])
        .expect(0, &["it   the budget is spent", "1 step left", "planwright answer it --budget"]);
    place.run(&["answer", "it", "--retry"]).expect(2, &["--budget, --revise, --stop"]);
    place.run(&["answer", "it", "--budget", "5 apples"]).expect(2, &["invalid amount `5 apples`", "10 min"]);
    place.run(&["answer", "it", "--budget", "-5"]).expect(2, &["invalid amount `-5`"]);
    assert!(place.standing()["asks"].as_array().is_some_and(|asks| asks.len() == 1));
    place.run(&["answer", "it", "--budget", "+5.00"]).expect(0, &["budget raised", "planwright run it"]);
    place.run(&["run", "it"]).expect(0, &[]);
    place.run(&["status"]).expect(0, &["Finished", "$2.00"]);
}

// A-27: who answers a run that is driven is told that it goes on by itself; and it does.
#[test]
fn an_answer_to_a_run_that_is_driven_is_taken_up_by_its_driver() {
    let (id, _, script, contract) = SLOW;
    let place = Place::with_plan(&[
        (id, "**touches:**\n- b.*", script, contract),
        ("look", "**needs:** none\n**target:** human\n**touches:**\n- y", "Look at it.", "manual"),
    ]);
    let mut running = place.start(&["--jobs", "2"]);
    place.wait_for_file("agent");
    place.wait_for("look ask.opened");
    let ran = place.run(&["answer", "it/look", "--confirm"]);
    ran.expect(0, &["the run continues (process", "next: planwright status it"]);
    place.write("go", "");
    assert_eq!(running.end(), 0);
}

// C-21: a run that was begun and that nobody drives: since when, how far, and the two ways out.
#[test]
fn a_run_whose_driver_is_gone_is_named_with_the_ways_out() {
    let place = Place::with_plan(&[BEFORE, SLOW]);
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    place.run(&["status"]).expect(0, &["Running", "2 b", "shell"]);
    place.run(&["status", "--next"]).expect(0, &["planwright log it"]);
    running.kill();
    let ran = place.run(&["status"]);
    ran.expect(0, &["Paused", "it: started ", "1 of 2 done, its process is gone"]);
    ran.expect(0, &["resume with `planwright run it`", "end it with `planwright cancel it -m WHY`"]);
    let next = place.run(&["status", "--next"]);
    assert_eq!((next.code, next.stdout.as_str(), next.stderr.as_str()), (0, "planwright run it\n", ""));
    place.write("go", "");
    place.run(&["run", "it"]).expect(0, &[]);
    place.run(&["status"]).expect(0, &["Finished", "2 of 2 steps done"]);
}

// One command, nothing else; the exit code says whether a person is needed.
#[test]
fn what_to_type_next_is_one_line() {
    let place = Place::with_plan(&[("stuck", "", "true", "test -e never")]);
    place.approve_and_run().expect(3, &[]);
    let next = place.run(&["status", "--next"]);
    assert_eq!(
        (next.code, next.stdout.as_str(), next.stderr.as_str()),
        (3, "planwright answer it/stuck\n", "")
    );
}

// P-15: who is paused is stalled, who is killed is gone; only the kernel knows, and it is asked.
#[test]
fn a_harness_that_is_paused_is_told_from_one_that_is_dead() {
    let place = Place::with_plan(&[SLOW]);
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    place.bash(&format!("kill -STOP {}", running.pid()));
    let state = || place.standing()["current"][0]["state"].as_str().unwrap_or_default().to_owned();
    wait_until("it is stalled", || state() == "stalled");
    place.run(&["status"]).expect(0, &["Running", "is stalled: its worker is not responding"]);
    place.run(&["status", "--queue"]).expect(0, &["it/b@1", "claimed", "silent"]);
    assert_eq!(place.standing()["state"], "running");
    running.kill();
    assert_eq!((place.standing()["state"].clone(), state()), ("paused".into(), "dead".to_owned()));
    place.run(&["status"]).expect(0, &["its process is gone"]);
}

// A-23: a work item has the fields that others expect.
#[test]
fn the_queue_shows_what_is_in_a_work_item() {
    let (id, _, script, contract) = SLOW;
    let place = Place::with_plan(&[(id, "**reads:**\n- file:here.md", script, contract)]);
    place.write("here.md", "Read this.\n");
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    let listed = data(&place.run(&["status", "--queue", "--json"]))["items"][0].clone();
    for (field, value) in [("agent_id", "shell"), ("type", "CODE"), ("state", "claimed"), ("health", "well")]
    {
        assert_eq!(listed[field], value, "{listed}");
    }
    let item = data(&place.run(&["show", "it/b", "--work-item", "--json"]))["item"].clone();
    assert_eq!((&item["agent_id"], &item["type"]), (&"shell".into(), &"CODE".into()), "{item}");
    let payload = &item["payload"];
    assert_eq!((&payload["plan_id"], &payload["step"]), (&"plans/it.md".into(), &1.into()), "{item}");
    assert_eq!(payload["subscriptions"], serde_json::json!(["file:here.md"]));
    let prompt = item["input"]["prompt"].as_str().expect("a prompt");
    assert_eq!(prompt, place.run(&["log", "it/b@1", "--prompt"]).stdout, "what is kept is what is told");
    place.run(&["show", "it/1", "--work-item"]).expect(
        0,
        &[
            "agent_id",
            "type",
            "CODE",
            "payload.plan_id",
            "payload.subscriptions",
            "file:here.md",
            "input.prompt",
        ],
    );
    place.write("go", "");
    assert_eq!(running.end(), 0);
    place.run(&["show", "it/b", "--work-item"]).expect(1, &["it/b has no queued or running attempt"]);
}

// A-46: prompt, output and contract log of every attempt, on one page and one by one.
#[test]
fn everything_about_an_attempt_is_kept_and_shown() {
    let place = Place::with_plan(&[(
        "b",
        "**on_fail:** retry(1), then escalate",
        r"printf 'said \033[31m\000 twice\n'; touch b.$(ls | grep -c '^b')",
        "test -e b.1 || { echo 'b.1 is not there' >&2; exit 7; }",
    )]);
    place.approve_and_run().expect(0, &[]);
    let page = place.run(&["log", "it/b@1"]);
    page.expect(0, &["it/b@1", "prompt", "touch b.$(ls", "agent output"]);
    page.expect(0, &[r"said \u{1b}[31m", "contract output", "b.1 is not there", "exit 7"]);
    let whole = data(&place.run(&["log", "it/b@1", "--json"]))["attempt"].clone();
    assert_eq!(whole["contract"], "b.1 is not there\n", "{whole}");
    place.run(&["log", "it/b@2", "--prompt"]).expect(0, &["b.1 is not there"]);
    place.run(&["log", "it/b@3"]).expect(2, &["it/b has no attempt 3", "its attempts are 1, 2"]);
    place.run(&["log", "it/b@1", "--raw"]).expect(2, &[]);
    // Nothing but the bytes, to the last one.
    place.bash("planwright log it/b@1 --agent --raw >raw.out 2>raw.err").expect(0, &[]);
    let bytes = place.bytes("raw.out");
    assert_eq!(bytes, b"said \x1b[31m\x00 twice\n", "{}", String::from_utf8_lossy(&bytes));
    assert_eq!(place.read("raw.err"), "");
}

// A-46: older runs stay where they were.
#[test]
fn an_older_run_can_be_looked_at() {
    let place = Place::with_plan(&[("b", "**on_fail:** abort", "echo first", "test -e b.out")]);
    place.approve_and_run().expect(1, &[]);
    place.rewrite("echo first", "touch b.out; echo second");
    place.approve_and_run().expect(0, &[]);
    place.run(&["log", "it/b", "--agent"]).expect(0, &["second"]);
    place.run(&["log", "it/b", "--agent", "--run", "1"]).expect(0, &["first"]);
    place.run(&["log", "it", "--run", "3"]).expect(2, &["it has no run 3", "its runs are 1, 2"]);
}

#[test]
fn a_log_that_is_followed_ends_when_the_run_rests() {
    let place = Place::with_plan(&[SLOW, ("stuck", "", "true", "test -e never")]);
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    let mut reader = place.start_into(&["log", "it", "-f"], "said");
    wait_until("it says what is there", || place.read("said").contains("attempt.started"));
    assert!(!place.read("said").contains("attempt.finished"));
    place.write("go", "");
    assert_eq!((running.end(), reader.end()), (3, 0));
    let said = place.read("said");
    assert!(said.contains("stuck  ask.opened") && said.contains("b  contract.finished"), "{said}");
}

#[test]
fn a_watched_status_is_shown_again_when_something_changes() {
    let place = Place::with_plan(&[SLOW]);
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    let mut watcher = place.start_into(&["status", "--watch"], "said");
    wait_until("it shows the run", || place.read("said").contains("Running"));
    place.write("go", "");
    assert_eq!(running.end(), 0);
    wait_until("it shows the end", || place.read("said").contains("1 of 1 step done"));
    watcher.kill();
}

// What waits for a person is shown by a watched status, too: whoever watches has nothing else to tell them.
#[test]
fn a_watched_status_shows_reviews() {
    let place = Place::with_plan(&[SLOW]);
    let mut watcher = place.start_into(&["status", "--watch"], "said");
    place.run(&["propose", "it"]).expect(0, &[]);
    wait_until("it shows the review", || place.read("said").contains("planwright review"));
    watcher.kill();
}
