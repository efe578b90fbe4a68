//! The transition table, pair by pair, and what no sequence of events may do.

use std::collections::BTreeSet;

use planwright_core::plan::verified::Contract;
use planwright_core::run::event::{
    AskAnswer, AskEvent, AskReason, AttemptEnd, Event, Judged, RunOutcome, StepEvent,
};
use planwright_core::run::schedule::{Action, ScheduleLimits, fits, next_actions};
use planwright_core::run::state::{Pending, Phase, RunState, StepStatus};

use super::happened::{
    answered, asked, ended, exited, faulted, finished, judged, parked, rechecked, resumed, retry, skip,
    started, stopped, unjudged, warned,
};
use super::sample::{plan, run_started};

fn state_after(lines: &str, history: &[Event]) -> RunState {
    let mut state = RunState::new(&plan(lines));
    for event in history {
        state.apply(event).unwrap_or_else(|illegal| panic!("{illegal}"));
    }
    state
}

/// Every kind of state that a run of one step can be in, with the history that leads there.
fn states() -> Vec<(&'static str, Vec<Event>)> {
    let ask = || asked("s/1", Some("s"), AskReason::AttemptsSpent);
    vec![
        ("new", vec![]),
        ("pending", vec![run_started()]),
        ("running", vec![run_started(), started("s", 1)]),
        ("judging", vec![run_started(), started("s", 1), exited("s", 1)]),
        ("passed", vec![run_started(), started("s", 1), exited("s", 1), judged("s", 1, 0)]),
        ("faulted", vec![run_started(), started("s", 1), exited("s", 1), unjudged("s", 1, Some(1))]),
        ("waiting", vec![run_started(), ask()]),
        ("skipped", vec![run_started(), ask(), answered("s/1", skip())]),
        ("stopped", vec![run_started(), stopped()]),
        ("over", vec![run_started(), finished(RunOutcome::Failed)]),
    ]
}

fn events() -> Vec<(&'static str, Event)> {
    let budget = AskAnswer::Budget { micro_dollars: 1, tokens: 1, seconds: 1 };
    vec![
        ("run.started", run_started()),
        ("attempt.started, the next", started("s", 1)),
        ("attempt.started, another", started("s", 3)),
        ("attempt.started, no such step", started("x", 1)),
        ("attempt.finished, exited", exited("s", 1)),
        ("attempt.finished, signalled", ended("s", 1, AttemptEnd::Signalled(9))),
        ("attempt.finished, timed out", ended("s", 1, AttemptEnd::TimedOut(600))),
        ("attempt.finished, lost", ended("s", 1, AttemptEnd::Lost)),
        ("attempt.finished, parked", parked("s", 1, None)),
        ("attempt.finished, faulted", faulted("s", 1, Some(1))),
        ("attempt.finished, another", exited("s", 2)),
        ("contract.finished, passed", judged("s", 1, 0)),
        ("contract.finished, failed", judged("s", 1, 1)),
        ("contract.finished, another", judged("s", 2, 0)),
        ("contract.faulted", unjudged("s", 1, Some(1))),
        ("contract.faulted, another", unjudged("s", 2, Some(1))),
        ("ask.opened", asked("s/2", Some("s"), AskReason::AttemptsSpent)),
        ("ask.opened, of the run", asked("run/budget/1", None, AskReason::Budget)),
        ("ask.answered, retry", answered("s/1", retry())),
        ("ask.answered, take over", answered("s/1", AskAnswer::TakeOver)),
        ("ask.answered, confirm", answered("s/1", AskAnswer::Confirm)),
        ("ask.answered, skip", answered("s/1", skip())),
        ("ask.answered, stop", answered("s/1", AskAnswer::Stop)),
        ("ask.answered, budget", answered("s/1", budget)),
        ("ask.answered, another", answered("s/9", retry())),
        ("budget.warned", warned("tokens")),
        ("run.stopped", stopped()),
        ("run.resumed", resumed()),
        ("run.finished", finished(RunOutcome::Done)),
    ]
}

fn word(state: &RunState) -> String {
    match state.phase {
        Phase::New => "new".to_owned(),
        Phase::Running => state.steps[0].status.word().to_owned(),
        Phase::Stopped { .. } => format!("{}!", state.steps[0].status.word()),
        Phase::Finished { .. } => "over".to_owned(),
    }
}

/// What each event makes of each state. `-` is refused; `!` stands behind the status where the run is stopped.
fn table(step: &str) -> String {
    let states = states();
    let mut table = format!("{:32}", "");
    for (name, _) in &states {
        table.push_str(&format!("{name:9}"));
    }
    for (name, event) in events() {
        table = format!("{}\n{name:32}", table.trim_end());
        for (_, history) in &states {
            // The history of a step that passed its contract does not fit where a person is the judge.
            let mut state = RunState::new(&plan(step));
            if history.iter().any(|event| state.apply(event).is_err()) {
                table.push_str(&format!("{:9}", ""));
                continue;
            }
            let before = state.clone();
            let cell = match state.apply(&event) {
                Ok(()) => word(&state),
                Err(illegal) => {
                    assert_eq!(state, before, "a refused event changes nothing: {name}");
                    assert!(!illegal.allowed.is_empty(), "{illegal}");
                    assert!(
                        illegal.to_string().ends_with(&illegal.allowed),
                        "the allowed list is said: {illegal}"
                    );
                    "-".to_owned()
                }
            };
            table.push_str(&format!("{cell:9}"));
        }
    }
    table.trim_end().to_owned()
}

// every pair of state and event is either in this table or refused with the list of what is allowed.
#[test]
fn every_state_takes_exactly_these_events() {
    let expected = "
                                new      pending  running  judging  passed   faulted  waiting  skipped  stopped  over
run.started                     pending  -        -        -        -        -        -        -        -        -
attempt.started, the next       -        running  -        -        -        -        -        -        running! -
attempt.started, another        -        -        -        -        -        -        -        -        -        -
attempt.started, no such step   -        -        -        -        -        -        -        -        -        -
attempt.finished, exited        -        -        judging  -        -        -        -        -        -        -
attempt.finished, signalled     -        -        judging  -        -        -        -        -        -        -
attempt.finished, timed out     -        -        pending  -        -        -        -        -        -        -
attempt.finished, lost          -        -        pending  -        -        -        -        -        -        -
attempt.finished, parked        -        -        pending  -        -        -        -        -        -        -
attempt.finished, faulted       -        -        pending  -        -        -        -        -        -        -
attempt.finished, another       -        -        -        -        -        -        -        -        -        -
contract.finished, passed       -        -        -        passed   -        passed   -        -        -        -
contract.finished, failed       -        -        -        pending  -        pending  -        -        -        -
contract.finished, another      -        -        -        -        -        -        -        -        -        -
contract.faulted                -        -        -        judging  -        judging  -        -        -        -
contract.faulted, another       -        -        -        -        -        -        -        -        -        -
ask.opened                      -        waiting  -        -        -        waiting  -        -        waiting! -
ask.opened, of the run          -        pending  running  judging  passed   judging  waiting  skipped  pending! -
ask.answered, retry             -        -        -        -        -        -        pending  -        -        -
ask.answered, take over         -        -        -        -        -        -        judging  -        -        -
ask.answered, confirm           -        -        -        -        -        -        -        -        -        -
ask.answered, skip              -        -        -        -        -        -        skipped  -        -        -
ask.answered, stop              -        -        -        -        -        -        pending! -        -        -
ask.answered, budget            -        -        -        -        -        -        -        -        -        -
ask.answered, another           -        -        -        -        -        -        -        -        -        -
budget.warned                   -        pending  running  judging  passed   judging  waiting  skipped  pending! -
run.stopped                     -        pending! running! judging! passed!  judging! waiting! skipped! pending! -
run.resumed                     -        pending  running  judging  passed   judging  waiting  skipped  pending  -
run.finished                    -        over     over     over     over     over     over     over     over     -";
    assert_eq!(table("s"), expected.trim_start_matches('\n'), "{}", table("s"));
}

// where a person is the judge, an attempt ends in a question and only a person's word passes the step.
#[test]
fn a_manual_step_is_never_judged_and_only_a_person_confirms_it() {
    let lines: Vec<String> = table("s manual").lines().map(str::to_owned).collect();
    let row = |name: &str| {
        let line = lines.iter().find(|line| line.starts_with(name)).expect("a row of the table");
        line[32..].split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("attempt.finished, exited"), "- - pending - - - - -");
    assert_eq!(row("contract.finished, passed"), "- - - - - - - -");
    assert_eq!(row("ask.answered, confirm"), "- - - - passed - - -");
    assert_eq!(row("ask.answered, take over"), "- - - - - - - -");
}

#[test]
fn a_claim_is_judged_first_and_a_void_one_costs_nothing() {
    let mut state = state_after("s done", &[run_started()]);
    assert!(matches!(state.steps[0].status, StepStatus::Judging { of: Judged::Claim, .. }));
    assert!(state.apply(&started("s", 1)).is_err(), "nobody tries before the claim is settled");
    state.apply(&judged("s", 0, 1)).expect("the claim is judged");
    let fresh = StepStatus::Pending(Pending::Fresh);
    assert_eq!((&state.steps[0].status, state.steps[0].history.failures()), (&fresh, 0));
    let handed_over = StepStatus::Pending(Pending::HandedOver);
    assert_eq!(state_after("s manual done", &[run_started()]).steps[0].status, handed_over);
}

// M-17: a verdict after the end of a run is about another tree: it takes `done` back, or gives it again, and nothing else.
#[test]
fn a_verdict_after_the_end_counts_for_the_tree_that_is_there() {
    let done = [
        run_started(),
        started("s", 1),
        exited("s", 1),
        judged("s", 1, 0),
        asked("m/1", Some("m"), AskReason::Manual),
        answered("m/1", AskAnswer::Confirm),
        finished(RunOutcome::Done),
    ];
    let lines = "s\nm manual";
    let mut state = state_after(lines, &done);
    assert!(state.apply(&rechecked("m", 0)).is_err(), "a person's word is about no tree");
    assert!(state.apply(&rechecked("x", 0)).is_err() && state.apply(&started("s", 2)).is_err());
    state.apply(&rechecked("s", 1)).expect("it fails now");
    assert_eq!((state.outcome(), state.is_lapsed()), (Some(RunOutcome::Failed), true));
    assert!(!state.steps[0].status.is_settled() && state.steps[1].status.is_settled());
    assert!(state.apply(&started("s", 2)).is_err(), "the run is over all the same");
    state.apply(&rechecked("s", 1)).expect("it still fails");
    assert_eq!(state.steps[0].history.failed.len(), 1);
    state.apply(&rechecked("s", 0)).expect("it holds again");
    assert_eq!(state, state_after(lines, &done));
    // A run that failed or was cancelled is not made done by a contract that holds.
    for outcome in [RunOutcome::Failed, RunOutcome::Cancelled] {
        let ended = [&done[..6], &[finished(outcome)]].concat();
        assert!(state_after(lines, &ended).apply(&rechecked("s", 0)).is_err());
    }
    assert!(state_after(lines, &done[..6]).apply(&rechecked("s", 0)).is_err(), "it is not over");
}

// A-21, findings 7: a mark on a step without a contract is a claim that a person confirms; no agent starts.
#[test]
fn a_claim_without_a_contract_is_a_persons_to_confirm() {
    let plan = plan("a manual done\nb");
    let mut state = state_after("a manual done\nb", &[run_started()]);
    let asks = |state: &RunState| next_actions(&plan, state, &ScheduleLimits::default(), 0);
    let ask = Action::Ask { ask: "a/1".to_owned(), step: Some(0), reason: AskReason::Manual };
    assert_eq!(asks(&state), [ask]);
    state.apply(&asked("a/1", Some("a"), AskReason::Manual)).expect("asked");
    assert_eq!(asks(&state), [], "nothing starts before the answer");
    state.apply(&answered("a/1", AskAnswer::Confirm)).expect("confirmed");
    assert_eq!(asks(&state), [Action::Attempt { step: 1, attempt: 1 }]);
}

#[test]
fn a_question_or_a_warning_that_was_said_is_not_said_again() {
    let ask = asked("run/budget/1", None, AskReason::Budget);
    let mut state = state_after("s", &[run_started(), ask.clone(), warned("tokens")]);
    assert!(state.apply(&ask).is_err());
    assert!(state.apply(&warned("tokens")).is_err());
    state.apply(&warned("time")).expect("another limit");
}

#[test]
fn an_answer_that_a_face_lets_through_is_one_that_the_table_takes() {
    let budget = AskAnswer::Budget { micro_dollars: 1, tokens: 1, seconds: 1 };
    let answers = [retry(), AskAnswer::TakeOver, AskAnswer::Confirm, skip(), AskAnswer::Stop, budget];
    let mut taken = 0;
    for (lines, step) in [("s", Some("s")), ("s manual", Some("s")), ("s", None)] {
        for reason in [
            AskReason::AttemptsSpent,
            AskReason::Manual,
            AskReason::Budget,
            AskReason::Lost,
            AskReason::Parked,
            AskReason::Stalled,
            AskReason::Question,
            AskReason::Strayed,
            AskReason::Machine,
        ] {
            // A step never asks for money, and a run never for anything but that and somebody to drive it.
            if step.is_none() != matches!(reason, AskReason::Budget | AskReason::Stalled) {
                continue;
            }
            for answer in &answers {
                let is_manual = plan(lines).steps[0].contract == Contract::Manual;
                let mut state = state_after(lines, &[run_started(), asked("a", step, reason)]);
                let is_taken = state.apply(&answered("a", answer.clone())).is_ok();
                assert_eq!(
                    fits(reason, answer, is_manual.then_some(&Contract::Manual)),
                    is_taken,
                    "{lines} {reason:?} {answer:?}"
                );
                taken += usize::from(is_taken);
            }
        }
    }
    assert_eq!(taken, 7 * 4 + 7 * 4 + 2 + 2);
}

#[test]
fn what_an_agent_says_it_cost_cannot_overflow() {
    let usage = planwright_core::agent::account::Usage {
        tokens: Some(u64::MAX),
        micro_dollars: Some(u64::MAX),
        milliseconds: u64::MAX,
    };
    let end = |attempt| super::happened::spent("s", attempt, (AttemptEnd::TimedOut(1), usage));
    let state = state_after("s", &[run_started(), started("s", 1), end(1), started("s", 2), end(2)]);
    assert_eq!(state.spent, usage);
}

/// A small generator, so that a failure is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn event(&mut self) -> Event {
        let step = ["s", "m", "h"][usize::try_from(self.below(3)).expect("small")];
        let attempt = u32::try_from(self.below(4)).expect("small");
        let ask = format!("{step}/{}", self.below(4));
        match self.below(14) {
            0 => run_started(),
            1..=3 => started(step, attempt),
            4 | 5 => exited(step, attempt),
            6 => [
                ended(step, attempt, AttemptEnd::Lost),
                ended(step, attempt, AttemptEnd::TimedOut(1)),
                parked(step, attempt, None),
                faulted(step, attempt, Some(1)),
                unjudged(step, attempt, Some(1)),
            ][usize::try_from(self.below(5)).expect("small")]
            .clone(),
            7 | 8 => judged(step, attempt, i32::try_from(self.below(2)).expect("small")),
            9 => asked(&ask, Some(step), AskReason::Manual),
            10 | 11 => {
                let answers = [retry(), AskAnswer::TakeOver, AskAnswer::Confirm, skip(), AskAnswer::Stop];
                answered(&ask, answers[usize::try_from(self.below(5)).expect("small")].clone())
            }
            12 => stopped(),
            _ => resumed(),
        }
    }
}

// whatever is recorded in whatever order, a step passes only by a passed verdict or by a person's word where
// there is no contract.
#[test]
fn no_sequence_of_events_passes_a_step_without_a_verdict_or_a_persons_word() {
    let plan = plan("s\nm manual\nh human");
    let mut passed_by = [0_u32; 2];
    for seed in 0..4_000 {
        let mut random = Random(seed);
        let mut state = RunState::new(&plan);
        state.apply(&run_started()).expect("a run begins");
        for _ in 0..80 {
            let event = random.event();
            let before = state.clone();
            if state.apply(&event).is_err() {
                assert_eq!(state, before, "a refused event changes nothing");
                continue;
            }
            for (now, then) in state.steps.iter().zip(&before.steps) {
                let is_passed = |status: &StepStatus| matches!(status, StepStatus::Passed { .. });
                assert!(
                    !is_passed(&then.status) || is_passed(&now.status),
                    "seed {seed}: a pass is never taken back"
                );
                if !is_passed(&now.status) || is_passed(&then.status) {
                    continue;
                }
                let by_verdict = matches!(&event, Event::Step { step, event: StepEvent::Judged { receipt, .. } } if *step == now.id && receipt.verdict.is_passed());
                let by_person = matches!(
                    &event,
                    Event::Ask { event: AskEvent::Answered { answer: AskAnswer::Confirm, .. }, .. }
                ) && now.id == "m";
                assert!(by_verdict != by_person, "seed {seed}: {} passed by {event:?}", now.id);
                passed_by[usize::from(by_person)] += 1;
            }
        }
    }
    assert!(passed_by.iter().all(|&count| count > 100), "both ways to pass were tried: {passed_by:?}");
}

#[test]
fn a_journal_read_in_two_parts_means_what_it_means_whole() {
    let plan = plan("s\nm manual\nh human");
    let mut lengths = BTreeSet::new();
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut whole = RunState::new(&plan);
        let mut journal = vec![run_started()];
        whole.apply(&journal[0]).expect("a run begins");
        for _ in 0..60 {
            let event = random.event();
            if whole.apply(&event).is_ok() {
                journal.push(event);
            }
        }
        lengths.insert(journal.len());
        for cut in 0..=journal.len() {
            let mut state = RunState::new(&plan);
            journal[..cut].iter().for_each(|event| state.apply(event).expect("a recorded event"));
            let mut rest = state.clone();
            journal[cut..].iter().for_each(|event| rest.apply(event).expect("a recorded event"));
            assert_eq!(rest, whole, "seed {seed}, cut at {cut}");
        }
    }
    assert!(lengths.last().is_some_and(|&longest| longest > 15), "{lengths:?}");
}
