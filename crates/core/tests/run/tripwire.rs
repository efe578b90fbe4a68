//! What trips: failures in a row over all runs of a plan, since a person last had their word.

use planwright_core::approval::ledger::{Entry, Subject, Who};
use planwright_core::approval::status::Said;
use planwright_core::run::event::{Answer, AttemptEnd, Event, Outcome};
use planwright_core::workspace::portfolio::{FAILURES_MAX, Trip, tripped};

use crate::happened::{answered, ended, finished, judged, retry};

fn approved(at_ms: u64, by: Who) -> Said {
    let subject = Subject {
        digest: "d".to_owned(),
        sealed: std::collections::BTreeMap::new(),
        base: None,
        agents: planwright_core::run::event::Agents::new(),
    };
    let entry = Entry::Approved {
        revision: 1,
        subject,
        by,
        way: "terminal".to_owned(),
        note: String::new(),
        rule: String::new(),
        needed: 1,
        policy: String::new(),
        until_ms: None,
        signature: None,
    };
    Said { seq: 1, at_ms, entry }
}

/// Counts over events at the times 10, 20, 30 and so on.
fn trip(ledger: &[Said], events: &[Event]) -> Option<String> {
    let times = (1_u64..).map(|place| place * 10);
    tripped(ledger, times.zip(events)).map(|trip: Trip| trip.to_string())
}

// D-24
#[test]
fn three_failures_in_a_row_trip_whichever_runs_they_were_in() {
    let bad = |step: &str, attempt| judged(step, attempt, 1);
    let late = |step: &str| ended(step, 1, AttemptEnd::TimedOut(9));
    let over = |outcome| finished(outcome);
    let cases: &[(&str, Vec<Event>, Option<&str>)] = &[
        ("two", vec![bad("a", 1), bad("a", 2)], None),
        ("three", vec![bad("a", 1), bad("a", 2), bad("a", 3)], Some("step `a` failed 3 times in a row")),
        (
            "three runs",
            vec![bad("a", 1), over(Outcome::Cancelled), bad("a", 1), over(Outcome::Cancelled), late("a")],
            Some("step `a` failed 3 times in a row"),
        ),
        ("of two steps", vec![bad("a", 1), bad("b", 1), bad("a", 2), bad("b", 2)], None),
        ("a pass between", vec![bad("a", 1), bad("a", 2), judged("a", 3, 0), bad("a", 1)], None),
        ("a claim that is void", vec![bad("a", 0), bad("a", 0), bad("a", 0)], None),
        (
            "a person answers",
            vec![bad("a", 1), bad("a", 2), bad("a", 3), answered("a/1", retry()), bad("a", 4)],
            None,
        ),
        (
            "a person answers about another step",
            vec![bad("a", 1), bad("a", 2), bad("a", 3), answered("b/1", retry())],
            Some("step `a` failed 3 times in a row"),
        ),
        (
            "a person stops: that is no word for going on",
            vec![bad("a", 1), bad("a", 2), bad("a", 3), answered("a/1", Answer::Stop)],
            Some("step `a` failed 3 times in a row"),
        ),
        (
            "whole runs",
            vec![over(Outcome::Failed), over(Outcome::Failed), over(Outcome::Failed)],
            Some("it failed 3 times in a row"),
        ),
        (
            "a run that was done between",
            vec![over(Outcome::Failed), over(Outcome::Failed), over(Outcome::Done), over(Outcome::Failed)],
            None,
        ),
    ];
    for (name, events, expected) in cases {
        assert_eq!(trip(&[], events).as_deref(), *expected, "{name}");
    }
    assert_eq!(FAILURES_MAX, 3);
}

// D-24: the word of a rule is no word, and a person's counts for what came before it.
#[test]
fn only_a_person_who_approves_afterwards_lets_it_go_on() {
    let events = [judged("a", 1, 1), judged("a", 2, 1), judged("a", 3, 1), judged("a", 4, 1)];
    assert!(trip(&[approved(5, Who::person("ada"))], &events).is_some(), "she approved before it failed");
    assert!(trip(&[approved(45, Who::policy("docs"))], &events).is_some(), "a rule");
    assert!(trip(&[approved(45, Who::agent("coder"))], &events).is_some(), "an agent");
    assert_eq!(trip(&[approved(45, Who::person("ada"))], &events), None);
    assert_eq!(trip(&[approved(25, Who::person("ada"))], &events), None, "two since then");
    assert!(trip(&[approved(15, Who::person("ada"))], &events).is_some(), "three since then");
}
