//! Conclusions from claims, receipts and contracts, as tables.

use std::collections::BTreeMap;

use super::*;
use crate::agent::account::Usage;
use crate::run::event::{
    AgentCommands, AskAnswer, AskEvent, AskReason, AttemptEnd, AttemptFinish, AttemptStart, Event, Judged,
    RunEvent, RunStart, StepEvent,
};
use crate::run::judge::{ContractRun, Observation};
use crate::run::receipt::{Blob, Provenance, Receipt};

fn proof(contract: &str, seq: u64) -> Proof {
    Proof {
        step: "two".to_owned(),
        attempt: 1,
        contract: contract.to_owned(),
        expect: Some(0),
        tree: String::new(),
        seq,
        at_ms: seq,
    }
}

// P-20, A-03: the worth of a mark and a receipt once the contract was run.
#[test]
fn a_claim_is_settled_by_the_contract_and_nothing_else() {
    let receipt = || Recorded::Passed(proof("c", 1));
    let other = || Recorded::Passed(proof("d", 1));
    let other_code = || Recorded::Passed(Proof { expect: Some(1), ..proof("c", 1) });
    let confirmed = || Recorded::Confirmed { by: "mara".to_owned() };
    let fails = CurrentResult::Fails("exit 1".to_owned());
    let cannot = CurrentResult::CannotRun("exit 127".to_owned());
    let (done, nothing) = (MarkClaim::Done, MarkClaim::Nothing);
    let cases = [
        (done, Recorded::Nothing, &CurrentResult::Passes, RerunOutcome::Holds),
        (nothing, Recorded::Nothing, &CurrentResult::Passes, RerunOutcome::Holds),
        (nothing, receipt(), &CurrentResult::Passes, RerunOutcome::Holds),
        (done, other(), &CurrentResult::Passes, RerunOutcome::Moved),
        (done, other_code(), &CurrentResult::Passes, RerunOutcome::Moved),
        (done, Recorded::Nothing, &fails, RerunOutcome::False),
        (nothing, Recorded::Nothing, &fails, RerunOutcome::Open),
        (done, receipt(), &fails, RerunOutcome::Broken),
        (nothing, receipt(), &fails, RerunOutcome::Broken),
        (done, other(), &fails, RerunOutcome::False),
        (done, confirmed(), &fails, RerunOutcome::False),
        (done, Recorded::Nothing, &cannot, RerunOutcome::Unknown),
        (nothing, receipt(), &cannot, RerunOutcome::Unknown),
        (nothing, Recorded::Nothing, &cannot, RerunOutcome::Open),
        (done, confirmed(), &CurrentResult::Manual, RerunOutcome::Confirmed),
        (done, Recorded::Nothing, &CurrentResult::Manual, RerunOutcome::Unknown),
        (nothing, Recorded::Nothing, &CurrentResult::Manual, RerunOutcome::Open),
    ];
    for (claim, recorded, now, settled) in cases {
        assert_eq!(
            RerunOutcome::of(claim, &recorded, ("c", 0), now),
            settled,
            "{claim:?} {recorded:?} {now:?}"
        );
    }
}

fn started(step: &str) -> Event {
    Event::Step {
        step: step.to_owned(),
        event: StepEvent::Started(AttemptStart {
            attempt: 1,
            agent: "shell".to_owned(),
            prompt: Blob(String::new()),
        }),
    }
}

fn finished(step: &str, changed: &[&str]) -> Event {
    Event::Step {
        step: step.to_owned(),
        event: StepEvent::Finished(AttemptFinish {
            attempt: 1,
            end: AttemptEnd::Exited(0),
            output: None,
            usage: Usage::default(),
            changed: changed.iter().map(|&path| path.to_owned()).collect(),
            account: crate::agent::account::Account::default(),
        }),
    }
}

fn judged(step: &str, code: i32, tree: &str) -> Event {
    let observation = Observation::Exited(code);
    Event::Step {
        step: step.to_owned(),
        event: StepEvent::Judged {
            of: Judged::Attempt(1),
            broken_by: None,
            receipt: Receipt::new(
                &ContractRun {
                    expect: Some(0),
                    contract: "c".to_owned(),
                    observation,
                    output: String::new(),
                    milliseconds: 1,
                },
                None,
                Provenance {
                    digest: "d".to_owned(),
                    tier: "open".to_owned(),
                    tree: tree.to_owned(),
                    ..Provenance::default()
                },
            ),
        },
    }
}

fn history(events: &[Event]) -> RerunHistory {
    let begin = Event::Run(RunEvent::Started(RunStart {
        digest: "d".to_owned(),
        approved_by: "mara".to_owned(),
        approved_at: "terminal".to_owned(),
        base: None,
        agents: AgentCommands::new(),
        sealed: BTreeMap::new(),
        programs: BTreeMap::new(),
        approvals: Vec::new(),
        note: String::new(),
    }));
    let events: Vec<Event> = std::iter::once(begin).chain(events.iter().cloned()).collect();
    RerunHistory::of((1..).zip(&events).map(|(seq, event)| (seq, seq * 10, event)))
}

#[test]
fn the_journal_tells_what_each_step_has() {
    let ask = Event::Ask {
        ask: "look/1".to_owned(),
        event: AskEvent::Opened {
            step: Some("look".to_owned()),
            reason: AskReason::Manual,
            text: String::new(),
        },
    };
    let answer = |ask: &str, answer: AskAnswer| Event::Ask {
        ask: ask.to_owned(),
        event: AskEvent::Answered { answer, by: "mara".to_owned() },
    };
    let history = history(&[
        started("one"),
        finished("one", &[]),
        judged("one", 0, ""),
        judged("two", 0, ""),
        judged("two", 1, ""),
        ask,
        answer("look/1", AskAnswer::Confirm),
        answer("nobody/1", AskAnswer::Confirm),
    ]);
    assert_eq!(history.digest, "d");
    assert_eq!(history.step("one").proof().map(|proof| proof.seq), Some(4));
    assert_eq!(*history.step("two"), Recorded::Nothing, "a later no takes the yes back");
    assert!(history.step("look").is_confirmed());
    assert_eq!(*history.step("nobody"), Recorded::Nothing);
    assert_eq!(history.work, [], "an attempt that changed nothing breaks nothing");
}

/// Steps two to seven, each with its changed files and the tree of its receipt.
fn run_of(steps: &[(&str, &[&str], &str)]) -> RerunHistory {
    let events: Vec<Event> = steps
        .iter()
        .flat_map(|(step, changed, tree)| [started(step), finished(step, changed), judged(step, 0, tree)])
        .collect();
    history(&events)
}

fn who(history: &RerunHistory, named: &[&str], tree: &str) -> String {
    let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
    let proof = history.step("two").proof().expect("it passed").clone();
    match suspect(history, &proof, &named, tree) {
        Broke::At { suspect, known } => format!("{} {known:?} {}", suspect.step, suspect.files.join(" ")),
        Broke::Among { suspects } => {
            let steps: Vec<String> = suspects.into_iter().map(|suspect| suspect.step).collect();
            format!("among {}", steps.join(" "))
        }
        other @ (Broke::Commit { .. } | Broke::Uncommitted | Broke::Outside | Broke::Since) => {
            format!("{other:?}")
        }
    }
}

// M-09: "step 2 broke at step 7", as far as the record shows.
#[test]
fn who_broke_a_contract_is_told_as_far_as_it_is_recorded() {
    let both = run_of(&[
        ("two", &["src/a.py"], "t2"),
        ("five", &["docs/x.md"], "t5"),
        ("seven", &["other", "src/a.py"], "t7"),
    ]);
    assert_eq!(who(&both, &["src/a.py"], "now"), "seven NamedFile src/a.py other");
    assert_eq!(who(&both, &["./src/"], "now"), "seven NamedFile src/a.py other", "a folder that it names");
    assert_eq!(who(&both, &["src/a"], "now"), "among five seven", "the beginning of a name is no name");
    assert_eq!(who(&both, &[], "now"), "among five seven");
    assert_eq!(who(&both, &["src/a.py"], "t2"), "Outside", "the very content that passed");
    let one = run_of(&[("two", &["a"], "t2"), ("five", &[], "t2"), ("seven", &["b"], "t7")]);
    assert_eq!(who(&one, &[], "now"), "seven OnlyChange b");
    let intact = run_of(&[("two", &["a"], "t2"), ("five", &["b"], "t2"), ("seven", &["c"], "t7")]);
    assert_eq!(
        who(&intact, &[], "now"),
        "seven OnlyChange c",
        "what left the content as it was broke nothing"
    );
    let none = run_of(&[("one", &["a"], ""), ("two", &["a"], "")]);
    assert_eq!(who(&none, &["a"], "now"), "Since", "what came before it did not break it");
}

#[test]
fn another_plan_breaks_things_too() {
    let mut own = run_of(&[("two", &["a"], "")]);
    let mut early = run_of(&[("early", &["a"], "")]);
    early.work[0].ended_ms = 1;
    own.beside("earlier", early);
    let mut late = run_of(&[("late", &["a"], "")]);
    late.work[0].ended_ms = 1_000;
    own.beside("other", late);
    assert_eq!(who(&own, &["a"], ""), "late NamedFile a");
}

#[test]
fn the_first_bad_one_is_found_by_few_questions() {
    for count in 0..40 {
        for first in 0..=count {
            let mut asked = 0;
            let found = first_bad(count, |place| {
                asked += 1;
                Some(place >= first)
            });
            assert_eq!(found, Some(first));
            assert!(asked <= 6, "{asked} questions for {count}");
        }
    }
    assert_eq!(first_bad(3, |_| None), None);
}
