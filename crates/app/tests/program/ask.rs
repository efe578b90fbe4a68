//! What only a person can settle: how a run comes to ask, what each answer does, and that nothing goes on without one.

use serde_json::Value;

use crate::follow::FILE;
use crate::sample::Sketch;
use crate::test_env::Place;

/// Fails until somebody says how.
const STUCK: Sketch<'static> = (
    "stuck",
    "**on_fail:** retry(1), then escalate",
    "if grep -q 'write real' \"$PLANWRIGHT_FEEDBACK\"; then echo yes >real; fi",
    "test -s real || { echo 'real is not there' >&2; exit 7; }",
);
const AFTER: Sketch<'static> = ("after", "", "touch after.out", "test -e after.out");

/// A run that waits for a person.
#[track_caller]
fn waiting() -> Place {
    let place = Place::with_plan(&[STUCK, AFTER]);
    place
        .approve_and_run()
        .expect(3, &["attempt 2 of 2, exit 7", "stuck needs you", "next: planwright answer it/stuck"]);
    place
}

// retry(1) is two attempts; then a person is asked, and nothing else happens.
#[test]
fn when_all_attempts_are_spent_a_person_is_asked_and_nothing_else_happens() {
    let place = waiting();
    let facts = place.facts();
    let wanted = [
        "run.started",
        "stuck attempt.started 1",
        "stuck attempt.finished 1",
        "stuck contract.finished 1 failed",
        "stuck attempt.started 2",
        "stuck attempt.finished 2",
        "stuck contract.finished 2 failed",
        "stuck ask.opened",
    ];
    assert_eq!(facts, wanted);
    let standing = place.standing();
    assert_eq!(
        (&standing["state"], &standing["settled"]),
        (&Value::from("waiting"), &Value::from(0)),
        "{standing}"
    );
    let asks = standing["asks"].as_array().expect("asks");
    assert_eq!((asks.len(), &asks[0]["step"]), (1, &Value::from("stuck")), "{standing}");
    let text = asks[0]["text"].as_str().expect("text");
    assert!(
        text.contains("exit 7")
            && text.contains("real is not there")
            && text.contains("same failure 2 times"),
        "{text}"
    );
    place
        .run(&["status"])
        .expect(0, &["Needs you", "stuck all attempts failed", "planwright answer it/stuck"]);
    place.run(&["answer", "it/stuck"]).expect(3, &["real is not there", "answer it/stuck --take-over"]);
    // Without an answer it stays so, however often it is run.
    place.run(&["run", "it"]).expect(3, &[]);
    assert_eq!(place.facts(), wanted);
    let file = place.read(FILE);
    assert!(file.contains("status: in-progress") && !file.contains('✅'), "{file}");
}

// one attempt more, and the agent reads what the person said.
#[test]
fn a_retry_carries_the_hint_of_the_person() {
    let place = waiting();
    place.run(&["answer", "it/stuck", "--retry", "--hint", "write real"]).expect(0, &["planwright run it"]);
    place.run(&["run", "it"]).expect(0, &["attempt 3", "2 of 2 steps passed"]);
    place.run(&["log", "it/stuck@3", "--prompt"]).expect(0, &["Hint from a person: write real", "exit 7"]);
    assert_eq!(
        (place.count("stuck contract.finished 3 passed"), place.count("after contract.finished 1 passed")),
        (1, 1)
    );
}

// a granted attempt is one attempt; when it fails, the person is asked again.
#[test]
fn a_retry_without_help_asks_again() {
    let place = waiting();
    place.run(&["answer", "it/stuck", "--retry"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(3, &["attempt 3 of 3"]);
    assert_eq!((place.count("stuck attempt.started 4"), place.count("stuck ask.opened")), (0, 2));
}

// a person who took over is judged by the contract too.
#[test]
fn what_a_person_took_over_is_judged_by_the_contract() {
    let place = waiting();
    place.run(&["answer", "it/stuck", "--confirm"]).expect(2, &["the contract still decides"]);
    place.run(&["answer", "it/stuck", "--take-over"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(3, &["exit 7", "stuck needs you"]);
    assert!(!place.has("after.out"));
    place.write("real", "by hand\n");
    place.run(&["answer", "it/stuck", "--take-over"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &["2 of 2 steps passed"]);
    let facts = place.facts();
    assert!(
        !facts.iter().any(|fact| fact == "stuck attempt.started 3"),
        "no agent was started for it: {facts:?}"
    );
}

// A-27, B-04, P-32: a step is left out by a person with a reason, and both are recorded.
#[test]
fn a_step_is_skipped_by_a_person_with_a_reason() {
    let place = waiting();
    place.run(&["answer", "it/stuck", "--skip"]).expect(2, &["--message"]);
    place.run(&["answer", "it/stuck", "--skip", "-m", "not needed any more"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &["1 of 2 steps passed, 1 skipped"]);
    let answered =
        place.events().into_iter().find(|event| event["event"] == "ask.answered").expect("an answer");
    assert_eq!(
        (&answered["answer"]["reason"], &answered["by"]),
        (&"not needed any more".into(), &"somebody".into()),
        "{answered}"
    );
    assert_eq!(place.count("after contract.finished 1 passed"), 1);
    let file = place.read(FILE);
    assert!(
        file.contains("✅ Do after") && !file.contains("✅ Do stuck"),
        "what nobody has judged has no mark: {file}"
    );
}

// a run that a person stopped starts nothing, until somebody runs it again.
#[test]
fn a_run_can_be_stopped_and_asks_again_when_it_goes_on() {
    let place = waiting();
    place.run(&["answer", "it", "--stop"]).expect(0, &[]);
    assert_eq!(place.standing()["state"], "stopped");
    place.run(&["answer", "it", "--retry"]).expect(1, &["no open question about it"]);
    place.run(&["run", "it"]).expect(3, &["stuck needs you"]);
    assert_eq!((place.count("stuck attempt.started 3"), place.count("run.resumed")), (0, 1));
    place.run(&["answer", "it", "--retry", "--hint", "write real"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &[]);
}

// an agent is no person.
#[test]
fn an_agent_may_not_answer() {
    let place = waiting();
    let ran = crate::test_env::run(
        place.planwright(&["answer", "it", "--skip", "-m", "x"]).env("CLAUDECODE", "1"),
        b"",
    );
    ran.expect(3, &["only a person may answer"]);
    assert_eq!(place.count("ask.answered skip"), 0);
}

// abort marks the plan as failed, and later steps never start.
#[test]
fn abort_fails_the_run_and_later_steps_never_start() {
    let (id, _, script, contract) = STUCK;
    let place = Place::with_plan(&[(id, "**on_fail:** abort", script, contract), AFTER]);
    place.approve_and_run().expect(1, &["failed", "0 of 2 steps passed"]);
    let wanted = [
        "stuck attempt.started 1",
        "stuck attempt.finished 1",
        "stuck contract.finished 1 failed",
        "run.finished failed",
    ];
    assert_eq!(place.facts()[1..], wanted);
    assert!(place.read(FILE).contains("status: failed"));
    // It is over: going on takes a new approval.
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
}

// A step without a contract is never silently done: a person confirms it.
#[test]
fn a_manual_step_is_confirmed_by_a_person() {
    let place = Place::with_plan(&[("look", "**target:** human", "Look at it.", "manual"), AFTER]);
    place.approve_and_run().expect(3, &["look needs you", "Look at it."]);
    place.run(&["answer", "it/look", "--take-over"]).expect(2, &["--confirm"]);
    assert!(!place.has("after.out"));
    place.run(&["answer", "it/look", "--confirm"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &["2 of 2 steps passed"]);
    let file = place.read(FILE);
    assert!(file.contains("✅ Do look") && file.contains("✅ Do after"), "{file}");
}

// An agent's work without a contract is looked at by a person, however the agent ended.
#[test]
fn an_agent_s_work_without_a_contract_waits_for_a_person() {
    let place = Place::with_plan(&[("draw", "", "echo drawn >picture", "manual"), AFTER]);
    place.approve_and_run().expect(3, &["draw needs you"]);
    assert_eq!((place.read("picture").as_str(), place.has("after.out")), ("drawn\n", false));
    place.run(&["answer", "it/draw", "--confirm"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &[]);
    assert_eq!(place.count("draw attempt.started 1"), 1);
}

// a step for a person with a contract: the person does it, and the contract judges.
#[test]
fn a_person_s_step_is_judged_by_its_contract() {
    let place = Place::with_plan(&[("sign", "**target:** human", "Sign it.", "test -s signed")]);
    place.approve_and_run().expect(3, &["sign needs you", "the contract decides"]);
    place.run(&["answer", "it/sign", "--take-over"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(3, &["sign needs you"]);
    place.write("signed", "ada\n");
    place.run(&["answer", "it/sign", "--take-over"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &[]);
}

// an agent that can't be had is no failure of the step; a person sees to it.
#[test]
fn an_agent_that_is_not_there_parks_the_step() {
    let place = Place::with_plan(&[("ask", "**target:** coder", "Write it.", "test -s out")]);
    place.approve_and_run().expect(3, &["ask needs you", "`coder`", "planwright.toml"]);
    assert_eq!(place.facts()[1..], ["ask attempt.started 1", "ask attempt.finished 1", "ask ask.opened"]);
    place.write(
        "planwright.toml",
        "[roles]\ncoder = \"pen\"\n[agents.pen]\ncommand = [\"bash\", \"-c\", \"cat >out\"]\n",
    );
    place.run(&["answer", "it/ask", "--retry"]).expect(0, &[]);
    // A command line that was not there when the plan was approved is approved first.
    let ran = place.run(&["run", "it"]);
    let name = ran.expect(4, &["coder  was  none"]).stderr.rsplit_once("--rev ").expect("a name").1.trim();
    place.run(&["run", "it", "--rev", name]).expect(0, &["1 of 1 step passed"]);
    assert!(place.read("out").contains("Write it."));
}

/// Says at first that it is out of quota.
const TIRED: &str = "test -e rested && exec touch b.out; touch rested; \
    echo '{\\\"retry_after\\\": 1, \\\"why\\\": \\\"out of quota\\\"}' >$PLANWRIGHT_USAGE";

// an agent that can't be had now is tried again when it says so, and that is no failure.
#[test]
fn an_agent_that_is_out_of_quota_is_tried_again_later() {
    let place = Place::with_plan(&[("b", "**target:** coder", "Write it.", "test -e b.out")]);
    place.write("planwright.toml", format!("[agents.coder]\ncommand = [\"bash\", \"-c\", \"{TIRED}\"]\n"));
    place.approve_and_run().expect(0, &["out of quota", "1 of 1 step passed"]);
    assert_eq!((place.count("b attempt.started 2"), place.count("b contract.finished 1 failed")), (1, 0));
}

// a fresh agent gets its task, what it shall read and what the contract said; nothing of other steps.
#[test]
fn the_prompt_of_an_agent_holds_what_it_needs_and_nothing_of_other_steps() {
    let reads = "**target:** coder\n**on_fail:** retry(1), then escalate\n**reads:**\n- file:here.md\n- file:gone.md\n- topic:auth\n**accept:**\n- It is short.";
    let place = Place::with_plan(&[
        ("earlier", "", "rm gone.md; echo secret-of-the-earlier-step", "test ! -e gone.md"),
        (
            "write",
            reads,
            "Write the answer.",
            "test -e prompt-2 || { echo 'one is not enough' >&2; exit 4; }",
        ),
        ("later", "", "touch secret-of-the-later-step", "test -e secret-of-the-later-step"),
    ]);
    place.write("here.md", "The text that is here.\n").write("gone.md", "It will be gone.\n");
    place.write(".planwright/topics/auth.md", "---\ntitle: Auth\n---\n\nHow people log in.\n");
    let scribe =
        "if [ -e prompt-1 ]; then cat >prompt-2; else cat >prompt-1; fi; echo \"$FROM_OUTSIDE\" >seen\n";
    place.write("scribe.sh", scribe);
    place.write(
        "planwright.toml",
        "[roles]\ncoder = \"scribe\"\n[agents.scribe]\ncommand = [\"bash\", \"scribe.sh\"]\n",
    );
    let digest = place.digest();
    let mut command = place.planwright(&["run", "it", "--rev", &digest]);
    crate::test_env::run(command.env("FROM_OUTSIDE", "kept"), b"").expect(0, &["3 of 3 steps passed"]);
    let (first, second) = (place.read("prompt-1"), place.read("prompt-2"));
    for words in [
        "Write the answer.",
        "file:here.md",
        "The text that is here.",
        "topic:auth",
        "How people log in.",
        "file:gone.md",
        "[missing: ",
        "- It is short.",
    ] {
        assert!(first.contains(words), "`{words}` is not in the prompt: {first}");
    }
    for words in
        ["It will be gone", "earlier", "later", "Carry it out", "one is not enough", "What happened before"]
    {
        assert!(!first.contains(words), "`{words}` is in the prompt: {first}");
    }
    for words in ["Write the answer.", "test -e prompt-2 ||", "exit 4", "one is not enough", "prompt-1"] {
        assert!(second.contains(words), "`{words}` is not in the second prompt: {second}");
    }
    assert_eq!(place.read("seen"), "kept\n", "agents bring their own settings");
    assert_eq!(place.run(&["log", "it/write@1", "--prompt"]).stdout, first);
}
