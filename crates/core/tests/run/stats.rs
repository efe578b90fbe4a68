//! Figures on paper: what stories of runs come to. Every story is written as events with times.

use std::collections::BTreeMap;

use planwright_core::agent::account::Usage;
use planwright_core::plan::verified::Plan;
use planwright_core::run::baseline::{Baseline, BaselineResult};
use planwright_core::run::event::{AskAnswer, AskReason, AttemptEnd, Event, RunOutcome};
use planwright_core::run::receipt::Blob;
use planwright_core::run::stats::{Counter, GapKind, Stats, StepRecord};

use super::happened::{answered, asked, ended, exited, finished, judged, parked, retry, spent, started};
use super::sample;

const MINUTE: u64 = 60_000;

fn outputs() -> BTreeMap<Blob, String> {
    let said = "bash: line 1: rufff: command not found\n".to_owned();
    [(Blob("said 127".to_owned()), said)].into_iter().collect()
}

/// Events a minute apart, the beginning of the run in front.
fn story(events: Vec<Event>) -> Vec<(u64, Event)> {
    let times = (1..).map(|minute| minute * MINUTE);
    times.zip(std::iter::once(sample::run_started()).chain(events)).collect()
}

fn count_since(since_ms: u64, plan: &Plan, stories: &[Vec<(u64, Event)>]) -> Stats {
    let mut counter = Counter::since(since_ms);
    for events in stories {
        counter.count(&StepRecord { name: "it", plan, events, outputs: &outputs() }, 100 * MINUTE);
    }
    counter.stats(|tool| tool == "bash")
}

fn count(plan: &Plan, stories: &[Vec<(u64, Event)>]) -> Stats {
    count_since(0, plan, stories)
}

// C-31: what a step that an agent tried came to, and which steps tell nothing.
#[test]
fn a_step_is_counted_once_by_how_it_ended() {
    let tried = |code| vec![started("a", 1), exited("a", 1), judged("a", 1, code)];
    let and = |mut events: Vec<Event>, more: Vec<Event>| {
        events.extend(more);
        events
    };
    let second = || vec![started("a", 2), exited("a", 2), judged("a", 2, 0)];
    let ask = || vec![asked("a/1", Some("a"), AskReason::AttemptsSpent)];
    let over = || vec![finished(RunOutcome::Failed)];
    let timed_out = vec![started("a", 1), ended("a", 1, AttemptEnd::TimedOut(9))];
    let lost = vec![started("a", 1), ended("a", 1, AttemptEnd::Lost)];
    let cases = [
        ("passed at once", tried(0), [1, 1, 0, 0, 0]),
        ("passed with the second", and(tried(1), second()), [1, 0, 1, 0, 0]),
        ("timed out, then passed", and(timed_out, second()), [1, 0, 1, 0, 0]),
        ("lost, then passed: nothing failed", and(lost, second()), [1, 1, 0, 0, 0]),
        ("asked", and(tried(1), ask()), [1, 0, 0, 1, 0]),
        (
            "asked, and passed after that",
            and(and(tried(1), ask()), and(vec![answered("a/1", retry())], second())),
            [1, 0, 0, 1, 0],
        ),
        ("failed for good", and(tried(1), over()), [1, 0, 0, 0, 1]),
        ("under way", tried(1), [0, 0, 0, 0, 0]),
        ("only begun", vec![started("a", 1)], [0, 0, 0, 0, 0]),
        ("cancelled before it was judged", and(vec![started("a", 1)], over()), [0, 0, 0, 0, 0]),
        ("a claim that holds: no agent tried it", vec![judged("a", 0, 0)], [0, 0, 0, 0, 0]),
    ];
    let plan = sample::plan("a retry=1");
    for (name, events, expected) in cases {
        let stats = count(&plan, &[story(events)]);
        let all = &stats.all;
        let found = [all.steps, all.first_try, all.retried, all.reached_you, all.failed];
        assert_eq!(found, expected, "{name}");
        assert_eq!(stats.agents.get("coder").map_or(0, |coder| coder.steps), expected[0], "{name}");
        assert_eq!(all.first_try + all.retried + all.reached_you + all.failed, all.steps, "{name}");
    }
    let manual = sample::plan("a manual");
    let events = vec![started("a", 1), exited("a", 1), asked("a/1", Some("a"), AskReason::Manual)];
    assert_eq!(count(&manual, &[story(events)]).all.steps, 0, "a person is the judge");
}

// C-31: never a percentage from nothing.
#[test]
fn where_there_is_no_history_there_is_no_figure() {
    let stats = count(&sample::plan("a"), &[story(vec![started("a", 1)])]);
    assert_eq!(stats.all.percent(stats.all.first_try), None);
    assert_eq!(
        (stats.all.median_ms, stats.all.micro_dollars_per_step(), stats.all.tokens),
        (None, None, None)
    );
    assert_eq!(stats.waiting.median_ms, None);
    let nothing = Counter::since(0).stats(|_| true);
    assert_eq!((nothing.runs, nothing.waiting.percent), (0, None));
    assert!(nothing.agents.is_empty() && nothing.contracts.is_empty() && nothing.gaps.is_empty());
}

// C-31: time and money are those of the work, without waiting; what no agent says is not made up.
#[test]
fn time_and_money_are_those_of_the_work() {
    let plan = sample::plan("a\nb free\nc free");
    let work = |step: &str, milliseconds, micro_dollars| {
        let usage = Usage { tokens: None, micro_dollars, milliseconds };
        vec![started(step, 1), spent(step, 1, (AttemptEnd::Exited(0), usage)), judged(step, 1, 0)]
    };
    let events = [work("a", 999, Some(400)), work("b", 4999, Some(200)), work("c", 1999, None)].concat();
    let all = count(&plan, &[story(events)]).all;
    assert_eq!(all.median_ms, Some(2000), "attempt and contract");
    assert_eq!((all.micro_dollars, all.priced, all.micro_dollars_per_step()), (Some(600), 2, Some(300)));
    assert_eq!((all.tokens, all.percent(1)), (None, Some(33)));
}

// C-31: a run waits for a person while something is asked and nothing is under way.
#[test]
fn a_run_waits_while_something_is_asked_and_nothing_is_under_way() {
    let plan = sample::plan("a\nb free");
    let events = vec![
        started("a", 1),
        exited("a", 1),
        judged("a", 1, 1),
        started("b", 1),
        asked("a/1", Some("a"), AskReason::AttemptsSpent),
        exited("b", 1),
        judged("b", 1, 0),
        answered("a/1", AskAnswer::Skip { reason: "no".to_owned() }),
        finished(RunOutcome::Done),
    ];
    // From 1 to 10 minutes; asked from 6 to 9, but until 8 b is under way or judged.
    let waiting = count(&plan, &[story(events.clone())]).waiting;
    assert_eq!((waiting.run_ms, waiting.waiting_ms, waiting.percent), (9 * MINUTE, MINUTE, Some(11)));
    assert_eq!((waiting.answered, waiting.median_ms, waiting.open), (1, Some(3 * MINUTE), 0));
    // Unanswered: it waits until now.
    let open = count(&plan, &[story(events[..7].to_vec())]).waiting;
    assert_eq!((open.run_ms, open.waiting_ms, open.open), (99 * MINUTE, 92 * MINUTE, 1));
    assert_eq!((open.answered, open.median_ms), (0, None));
}

// C-31: a contract that has never said no may prove nothing, unless it was seen to fail before the work.
#[test]
fn a_contract_that_never_failed_is_named_unless_it_failed_before_the_work() {
    let plan = sample::plan("a retry=1");
    let passed =
        || story(vec![started("a", 1), exited("a", 1), judged("a", 1, 0), finished(RunOutcome::Done)]);
    let failed = || story(vec![started("a", 1), exited("a", 1), judged("a", 1, 1)]);
    let never = |stats: &Stats| stats.contracts[0].has_never_failed;
    let stats = count(&plan, &[passed(), passed()]);
    assert!(never(&stats) && stats.contracts[0].passed == 2, "{:?}", stats.contracts);
    assert_eq!(stats.contracts[0].command, "test -f src/first.rs");
    assert!(!never(&count(&plan, &[passed(), failed()])));
    assert!(!never(&count_since(3 * MINUTE, &plan, &[failed(), passed()])), "old failures count");
    let red = |before| Baseline { step: "a".to_owned(), contract: "c".to_owned(), before, milliseconds: 1 };
    for (before, is_idle) in [
        (BaselineResult::Fails("exit 1".to_owned()), false),
        (BaselineResult::Passes, true),
        (BaselineResult::CannotRun("exit 127".to_owned()), true),
    ] {
        let mut counter = Counter::since(0);
        counter.count(&StepRecord { name: "it", plan: &plan, events: &passed(), outputs: &outputs() }, 0);
        counter.count_red(&[red(before.clone())]);
        assert_eq!(never(&counter.stats(|_| true)), is_idle, "{before:?}");
    }
}

// C-31: tools that nobody has, agents that could not be had, programs that are not there.
#[test]
fn what_plans_need_and_nobody_has_is_named() {
    let mut plan = sample::plan("a retry=1");
    plan.steps[0].tools = vec!["odoo-toolbox: read".to_owned(), "bash".to_owned()];
    let events = vec![
        started("a", 1),
        parked("a", 1, None),
        started("a", 2),
        exited("a", 2),
        judged("a", 2, 127),
        started("a", 3),
        exited("a", 3),
        judged("a", 3, 1),
    ];
    let gaps = count(&plan, &[story(events)]).gaps;
    let found: Vec<(GapKind, &str)> = gaps.iter().map(|gap| (gap.kind, gap.name.as_str())).collect();
    let expected =
        [(GapKind::Tool, "odoo-toolbox"), (GapKind::Agent, "out of quota"), (GapKind::Program, "rufff")];
    assert_eq!(found, expected);
    assert!(gaps.iter().all(|gap| gap.times == 1 && gap.steps == ["it/a"]), "{gaps:?}");
}

#[test]
fn what_happened_before_the_time_is_not_counted() {
    let plan = sample::plan("a");
    let events = story(vec![started("a", 1), exited("a", 1), judged("a", 1, 0), finished(RunOutcome::Done)]);
    let stats = count_since(6 * MINUTE, &plan, std::slice::from_ref(&events));
    assert_eq!((stats.runs, stats.all.steps, stats.waiting.run_ms), (0, 0, 0));
    assert!(stats.contracts.is_empty());
    assert_eq!(count_since(4 * MINUTE, &plan, &[events]).all.steps, 1);
}
