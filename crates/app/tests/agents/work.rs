//! Agents at work: what they do is judged by the contract alone, what it says reaches the next attempt, and what they cost is
//! recorded.

use serde_json::{Value, json};

use super::agent::Tells;
use super::bench::Bench;
use super::install::Installed;
use super::model::{FEEDBACK, TOKENS_READ, TOKENS_WRITTEN};

/// What the contract says of the first attempt.
const WORDS: &str = "expected 'Hello, Ada!', got 'Hello Ada'";
const CONTRACT: &str = "got=$(cat greeting.txt); [ \"$got\" = 'Hello, Ada!' ] || { echo \"expected 'Hello, Ada!', got '$got'\"; exit 1; }";

/// A task with its script.
pub(crate) fn task(words: &str, script: &Value) -> String {
    format!("{words}\n\n%%{script}%%")
}

// P-16: a whole plan through a real agent: write, fail the contract, retry with its words, pass.
pub(crate) fn fails_its_contract_is_told_and_passes(installed: &Installed) {
    let bench = Bench::of(installed);
    let greeting = bench.path("greeting.txt");
    let greet = task(
        "Write a greeting.",
        &json!({
            "first": [
                {"do": "write", "path": greeting, "text": "Hello Ada\n"},
                {"do": "bash", "command": "cat greeting.txt"},
                {"do": "say", "text": "All done, and all tests pass."},
            ],
            "heard": WORDS,
            "then": [
                {"do": "bash", "command": "printf 'Hello, Ada!\\n' > greeting.txt"},
                {"do": "say", "text": "Mended."},
            ],
        }),
    );
    let note = task(
        "Write a note.",
        &json!([{"do": "write", "path": bench.path("note.txt"), "text": "noted\n"}, {"do": "say", "text": "Noted."}]),
    );
    bench.plan(&[
        ("greet", "**on_fail:** retry(2), then escalate", &greet, CONTRACT),
        ("note", "**needs:** greet", &note, "grep -qx noted note.txt"),
    ]);
    bench.approve_and_run().expect(0, &[WORDS, "2 of 2 steps passed"]);
    assert_eq!(
        bench.facts(),
        [
            "greet attempt.started 1",
            "greet attempt.finished 1",
            "greet contract.finished 1 failed",
            "greet attempt.started 2",
            "greet attempt.finished 2",
            "greet contract.finished 2 passed",
            "note attempt.started 1",
            "note attempt.finished 1",
            "note contract.finished 1 passed",
            "closing.started",
            "greet contract.rechecked passed",
            "run.finished done",
        ]
    );
    // The words of the contract came to the model by the agent, and what the tools gave came, too.
    let heard = bench.model.heard();
    let is_told = |prompt: &String| prompt.split_once(FEEDBACK).is_some_and(|(_, told)| told.contains(WORDS));
    assert!(heard.iter().any(|heard| heard.prompts.iter().any(is_told)), "{heard:#?}");
    assert!(
        heard.iter().any(|heard| heard.results.iter().any(|result| result.contains("Hello Ada"))),
        "{heard:#?}"
    );
    // The next step is a fresh agent, which knows nothing of this one.
    let last = heard.last().expect("requests");
    assert!(!last.prompts.iter().any(|prompt| prompt.contains("Write a greeting")), "{last:#?}");
    is_accounted_for(&bench);
    bench.nothing_is_alive();
}

/// What each attempt used is recorded, as far as the agent tells: the first makes three requests, the second two.
#[track_caller]
fn is_accounted_for(bench: &Bench) {
    for (attempt, requests) in [(1, 3), (2, 2)] {
        let finished = bench.finished(attempt);
        let usage = &finished["usage"];
        let tokens = requests * (TOKENS_READ + TOKENS_WRITTEN);
        let tells = bench.agent.tells;
        if tells != Tells::Nothing {
            assert_eq!(usage["tokens"], tokens, "{finished:#}");
        }
        if tells == Tells::TokensAndMoney {
            assert!(usage["micro_dollars"].as_u64().is_some_and(|money| money > 0), "{finished:#}");
        }
    }
}

// an agent that claims success and has done nothing is found out, whatever it says and however it ends.
pub(crate) fn claims_success_and_lies(installed: &Installed) {
    let bench = Bench::of(installed);
    let lie = task(
        "Write proof.txt.",
        &json!([{"do": "say", "text": "I wrote proof.txt, ran the contract, exit_code == 0. The step is done."}]),
    );
    bench.plan(&[
        ("lie", "", &lie, "test -s proof.txt"),
        ("next", "**needs:** lie", &lie, "test -s other.txt"),
    ]);
    bench.approve_and_run().expect(3, &["lie needs you"]);
    assert_eq!(
        bench.facts(),
        [
            "lie attempt.started 1",
            "lie attempt.finished 1",
            "lie contract.finished 1 failed",
            "lie ask.opened"
        ]
    );
    bench.nothing_is_alive();
}
