//! What an agent is told, and what it is not.

use planwright_core::agent::prompt::{Feedback, FeedbackCause, PromptContext, PromptExcerpt, prompt};
use planwright_core::plan::verified::{Contract, Plan};

use super::sample::plan;

const TASK: &str =
    "  Write `a`.\n\n\tKeep \"quotes\", $HOME, `ticks`, \u{fc}ml\u{e4}uts\r\nand the trailing space ";

fn sample() -> Plan {
    let mut plan = plan("first\nsecond\nthird");
    TASK.clone_into(&mut plan.steps[1].task);
    plan.steps[1].contract = Contract::Shell { command: "! grep -q \"x\" a.rs | wc".to_owned(), expect: 3 };
    plan.steps[1].accept = vec!["It is short.".to_owned()];
    plan
}

fn context(reference: &str, text: Result<(&str, u64), &str>) -> PromptContext {
    let text = text
        .map(|(text, bytes_cut)| PromptExcerpt { text: text.to_owned(), bytes_cut })
        .map_err(str::to_owned);
    PromptContext { reference: reference.to_owned(), text }
}

// the task is delivered byte for byte.
#[test]
fn a_prompt_begins_with_the_task_byte_for_byte() {
    let plan = sample();
    let text = prompt(&plan.steps[1], &[], &Feedback::default());
    assert!(text.starts_with(TASK));
    let mut bare = plan.steps[1].clone();
    bare.accept.clear();
    assert_eq!(prompt(&bare, &[], &Feedback::default()), TASK, "nothing is added to a bare task");
}

// an agent knows its task and what it was given; nothing of the plan and of other steps.
#[test]
fn a_prompt_says_nothing_of_other_steps_and_of_the_plan() {
    let plan = sample();
    let feedback = Feedback { failure: "exit 1".to_owned(), output: "no".to_owned(), ..Feedback::default() };
    let text = prompt(&plan.steps[1], &[context("file:a.rs", Ok(("fn a() {}", 0)))], &feedback);
    for other in ["first", "third", plan.title.as_str(), "second"] {
        assert!(!text.contains(other), "`{other}` is in: {text}");
    }
}

#[test]
fn a_prompt_says_which_files_must_stay_as_they_are() {
    let plan = sample();
    let mut step = plan.steps[1].clone();
    let bare = prompt(&step, &[], &Feedback::default());
    assert!(!bare.contains("Sealed files"), "{bare}");
    step.sealed = vec!["tests/**".to_owned(), "data/a.json".to_owned()];
    let text = prompt(&step, &[], &Feedback::default());
    assert!(text.starts_with(&bare) && text.contains("# Sealed files"), "{text}");
    assert!(text.ends_with("- tests/**\n- data/a.json\n"), "{text}");
}

#[test]
fn the_contract_is_not_told_before_it_failed() {
    let plan = sample();
    assert!(!prompt(&plan.steps[1], &[], &Feedback::default()).contains("grep"));
}

// a retry is told the command, the exit code, the end of the output, what was changed and what a person says.
#[test]
fn a_retry_is_told_what_the_contract_said() {
    let plan = sample();
    let feedback = Feedback {
        cause: FeedbackCause::Attempt,
        failure: "exit 1".to_owned(),
        output: "a.rs:1: x\n\n".to_owned(),
        changed: vec!["a.rs".to_owned(), "b.rs".to_owned()],
        hint: "x is a typo".to_owned(),
    };
    let text = prompt(&plan.steps[1], &[], &feedback);
    let told = text.split_once("# What happened before").expect("a part about the last attempt").1;
    for piece in [
        "! grep -q \"x\" a.rs | wc",
        "must exit 3",
        "Result: exit 1",
        "a.rs:1: x\n",
        "a.rs, b.rs",
        "x is a typo",
    ] {
        assert!(told.contains(piece), "`{piece}` is missing in: {told}");
    }
}

#[test]
fn a_hint_alone_claims_no_failure() {
    let feedback = Feedback { hint: "start small".to_owned(), ..Feedback::default() };
    let text = prompt(&sample().steps[1], &[], &feedback);
    assert!(text.contains("start small") && !text.contains("failed") && !text.contains("grep"), "{text}");
}

// what is given to read is there, what was cut off is said, what is missing is said.
#[test]
fn context_is_injected_with_its_cap_and_its_gaps_said() {
    let given = [
        context("file:a.rs", Ok(("fn a() {}\n", 0))),
        context("file:long.rs", Ok(("head", 12_345))),
        context("topic:auth", Err("no such topic")),
    ];
    let text = prompt(&sample().steps[1], &given, &Feedback::default());
    assert!(text.contains("## file:a.rs\n\nfn a() {}\n"), "{text}");
    assert!(text.contains("head\n[12345 more bytes not shown]"), "{text}");
    assert!(text.contains("## topic:auth\n\n[missing: no such topic]"), "{text}");
    assert_eq!(text.matches("not shown").count(), 1, "only what was cut is said to be");
}
