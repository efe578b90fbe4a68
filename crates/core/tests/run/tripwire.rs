//! What trips: failures in a row over all runs of a plan, since a person last had their word.

use planwright_core::approval::ledger::{ApprovalSubject, LedgerEntry};
use planwright_core::approval::status::RecordedEntry;
use planwright_core::plan::identity::Identity;
use planwright_core::run::event::{AskAnswer, AttemptEnd, Event, RunOutcome};
use planwright_core::workspace::portfolio::{CircuitBreaker, FAILURES_MAX, tripped};

use super::happened::{answered, ended, finished, judged, retry};

fn approved(at_ms: u64, by: Identity) -> RecordedEntry {
    let subject = ApprovalSubject {
        digest: "d".to_owned(),
        sealed: std::collections::BTreeMap::new(),
        programs: std::collections::BTreeMap::new(),
        base: None,
        agents: planwright_core::run::event::AgentCommands::new(),
    };
    let entry = LedgerEntry::Approved {
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
    RecordedEntry { seq: 1, at_ms, entry }
}

/// Counts over events at the times 10, 20, 30 and so on.
fn trip(ledger: &[RecordedEntry], events: &[Event]) -> Option<String> {
    let times = (1_u64..).map(|place| place * 10);
    tripped(ledger, times.zip(events)).map(|trip: CircuitBreaker| trip.to_string())
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
            vec![
                bad("a", 1),
                over(RunOutcome::Cancelled),
                bad("a", 1),
                over(RunOutcome::Cancelled),
                late("a"),
            ],
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
            vec![bad("a", 1), bad("a", 2), bad("a", 3), answered("a/1", AskAnswer::Stop)],
            Some("step `a` failed 3 times in a row"),
        ),
        (
            "whole runs",
            vec![over(RunOutcome::Failed), over(RunOutcome::Failed), over(RunOutcome::Failed)],
            Some("it failed 3 times in a row"),
        ),
        (
            "a run that was done between",
            vec![
                over(RunOutcome::Failed),
                over(RunOutcome::Failed),
                over(RunOutcome::Done),
                over(RunOutcome::Failed),
            ],
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
    assert!(
        trip(&[approved(5, Identity::person("ada"))], &events).is_some(),
        "she approved before it failed"
    );
    assert!(trip(&[approved(45, Identity::policy("docs"))], &events).is_some(), "a rule");
    assert!(trip(&[approved(45, Identity::agent("coder"))], &events).is_some(), "an agent");
    assert_eq!(trip(&[approved(45, Identity::person("ada"))], &events), None);
    assert_eq!(trip(&[approved(25, Identity::person("ada"))], &events), None, "two since then");
    assert!(trip(&[approved(15, Identity::person("ada"))], &events).is_some(), "three since then");
}
