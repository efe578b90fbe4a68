//! What is to be done next, as scripts: what happens on the left, what `decide` says on the right.

use planwright_core::agent::account::Usage;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{AskAnswer, AskReason, AttemptEnd, Event, Judged, RunOutcome, StepEvent};
use planwright_core::run::schedule::{Action, ScheduleLimits, next_actions, outlook};
use planwright_core::run::state::{Pending, Regression, RunState, StepStatus};

use super::happened::{
    answered, asked, closing, closing_on, ended, exited, exited_asking, exited_straying, fault, faulted,
    judged, judged_on, parked, resumed, retry, skip, spent, started, stopped, unjudged, warned,
};
use super::sample::{plan, run_started};

/// A run on paper.
struct Walk {
    plan: Plan,
    state: RunState,
    limits: ScheduleLimits,
    now: u64,
}

impl Walk {
    fn new(lines: &str) -> Self {
        Self::of(plan(lines))
    }

    fn of(plan: Plan) -> Self {
        let state = RunState::new(&plan);
        let mut walk = Self { plan, state, limits: ScheduleLimits::default(), now: 1_000 };
        walk.take(&run_started());
        walk
    }

    fn jobs(mut self, jobs: usize) -> Self {
        self.limits.jobs = jobs;
        self
    }

    fn take(&mut self, event: &Event) {
        self.state.apply(event).unwrap_or_else(|illegal| panic!("{illegal}"));
    }

    fn takes(&mut self, events: &[Event]) -> &mut Self {
        for event in events {
            self.take(event);
        }
        self
    }

    /// An attempt that ends by itself and is judged by this exit code.
    fn tries(&mut self, step: &str, attempt: u32, code: i32) -> &mut Self {
        self.takes(&[started(step, attempt), exited(step, attempt), judged(step, attempt, code)])
    }

    /// Why the first step is not running.
    fn pends(&self, pending: Pending) {
        assert_eq!(self.state.steps[0].status, StepStatus::Pending(pending));
    }

    fn says(&self) -> String {
        let commands = next_actions(&self.plan, &self.state, &self.limits, self.now);
        assert_eq!(
            commands,
            next_actions(&self.plan, &self.state, &self.limits, self.now),
            "the same input says the same"
        );
        commands.iter().map(|command| self.word(command)).collect::<Vec<_>>().join(", ")
    }

    fn word(&self, command: &Action) -> String {
        let id = |place: &usize| {
            let step = &self.state.steps[*place];
            assert!(!step.status.is_settled(), "nothing is to be done for `{}`, which is settled", step.id);
            step.id.as_str()
        };
        match command {
            Action::Attempt { step, attempt } => format!("attempt {}@{attempt}", id(step)),
            Action::Contract { step, of } => format!("contract {}@{of}", id(step)),
            Action::Ask { ask, step, reason } => {
                assert!(step.as_ref().is_none_or(|place| ask.starts_with(id(place))), "{ask}");
                format!("ask {ask} {reason:?}")
            }
            Action::Close { round } => format!("close {round}"),
            Action::Warn { limit, percent } => format!("warn {limit} {percent}"),
            Action::Wake { at } => format!("wake {at}"),
            Action::Finish { outcome, .. } => format!("finish {outcome:?}"),
        }
    }

    #[track_caller]
    fn expect(&self, said: &str) {
        assert_eq!(self.says(), said);
    }
}

fn tokens(count: u64) -> Usage {
    Usage { tokens: Some(count), ..Usage::default() }
}

// B-10: the fault of document B was a plan that is complete with steps pending. Completing step 2 makes step 3 current.
#[test]
fn a_run_is_done_only_when_nothing_is_pending() {
    let mut walk = Walk::new("a\nb\nc\nd");
    walk.tries("a", 1, 0).tries("b", 1, 0);
    walk.expect("attempt c@1");
    walk.tries("c", 1, 0).expect("attempt d@1");
    walk.tries("d", 1, 0).expect("close 1");
    walk.takes(&[closing(1)]).expect("finish Done");
}

// one step at a time, in the order of the file, each judged before the next.
#[test]
fn a_plan_that_says_nothing_of_needs_is_sequential_whatever_the_jobs() {
    for jobs in [1, 8] {
        let mut walk = Walk::new("a\nb").jobs(jobs);
        walk.expect("attempt a@1");
        walk.takes(&[started("a", 1)]).expect("");
        walk.takes(&[exited("a", 1)]).expect("contract a@1");
        walk.takes(&[judged("a", 1, 0)]).expect("attempt b@1");
    }
}

#[test]
fn steps_run_side_by_side_only_by_needs_touches_and_jobs() {
    let lines = "a free touches=src/a/**\nb free touches=src/b/**\nc free touches=src/a/x.rs\nd free\ne needs=b touches=e";
    Walk::new(lines).expect("attempt a@1");
    // Something waits for b, so it comes first.
    Walk::new(lines).jobs(2).expect("attempt b@1, attempt a@1");
    Walk::new(lines).jobs(8).expect("attempt b@1, attempt a@1");
    let mut walk = Walk::new(lines).jobs(8);
    walk.takes(&[started("a", 1), started("b", 1)]).expect("");
    walk.takes(&[exited("b", 1), judged("b", 1, 0)]).expect("attempt e@1");
    walk.takes(&[exited("a", 1)]).expect("contract a@1, attempt e@1");
    walk.takes(&[judged("a", 1, 0)]).expect("attempt c@1, attempt e@1");
}

#[test]
fn touches_that_cannot_be_read_meet_everything() {
    let lines = "a free touches=src/[\nb free touches=docs/**";
    Walk::new(lines).jobs(2).expect("attempt a@1");
}

// retry(N) is N + 1 attempts, and then what the policy says.
#[test]
fn retry_n_makes_exactly_n_more_attempts() {
    for retries in 0..4 {
        for (last, then) in [("", "ask s/1 AttemptsSpent"), (" abort", "finish Failed")] {
            let mut walk = Walk::new(&format!("s retry={retries}{last}"));
            for attempt in 1..=retries + 1 {
                walk.expect(&format!("attempt s@{attempt}"));
                walk.tries("s", attempt, 1);
            }
            walk.expect(then);
        }
    }
}

// an escalation waits; nothing is skipped or reordered, and what does not wait for it goes on.
#[test]
fn an_escalation_blocks_what_waits_for_it_and_nothing_else() {
    let mut walk = Walk::new("a\nb\nfree free");
    walk.tries("a", 1, 1).expect("ask a/1 AttemptsSpent, attempt free@1");
    walk.takes(&[asked("a/1", Some("a"), AskReason::AttemptsSpent)]).expect("attempt free@1");
    walk.tries("free", 1, 0).expect("");
    let mut again = Walk::of(walk.plan.clone());
    again.state = walk.state.clone();
    again.takes(&[answered("a/1", retry())]).expect("attempt a@2");
    assert_eq!(again.state.steps[0].history.hint, "look again");
    again.tries("a", 2, 1).expect("ask a/2 AttemptsSpent");
    walk.takes(&[answered("a/1", AskAnswer::TakeOver)]).expect("contract a@2");
    walk.takes(&[judged("a", 2, 1)]).expect("ask a/2 AttemptsSpent");
}

// abort ends the run; later steps never start, and what is under way ends first.
#[test]
fn an_abort_waits_for_what_runs_and_starts_nothing() {
    let mut walk = Walk::new("a free abort touches=a\nb free touches=b\nc free touches=c\nd").jobs(2);
    walk.takes(&[started("a", 1), started("b", 1), exited("a", 1), judged("a", 1, 1)]).expect("");
    walk.takes(&[exited("b", 1)]).expect("contract b@1");
    walk.takes(&[judged("b", 1, 0)]).expect("finish Failed");
}

// a time-out is a failed attempt without a contract.
#[test]
fn a_time_out_counts_as_a_failure_and_is_not_judged() {
    let mut walk = Walk::new("s retry=1");
    walk.takes(&[started("s", 1), ended("s", 1, AttemptEnd::TimedOut(600))]).expect("attempt s@2");
    walk.takes(&[started("s", 2), ended("s", 2, AttemptEnd::TimedOut(600))]).expect("ask s/1 AttemptsSpent");
}

#[test]
fn a_lost_attempt_costs_nothing_until_there_are_too_many() {
    let mut walk = Walk::new("s abort");
    for attempt in 1..=4 {
        walk.expect(&format!("attempt s@{attempt}"));
        walk.takes(&[started("s", attempt), ended("s", attempt, AttemptEnd::Lost)]);
    }
    walk.expect("ask s/1 Lost");
    walk.takes(&[asked("s/1", Some("s"), AskReason::Lost), answered("s/1", retry())]).expect("attempt s@5");
    assert_eq!(walk.state.steps[0].history.failures(), 0);
}

#[test]
fn a_parked_step_waits_for_its_time_and_others_go_on() {
    let mut walk = Walk::new("a free\nb free");
    walk.takes(&[started("a", 1), parked("a", 1, Some(5_000))]).expect("attempt b@1, wake 5000");
    walk.tries("b", 1, 0).expect("wake 5000");
    walk.now = 4_999;
    walk.expect("wake 5000");
    walk.now = 5_000;
    walk.expect("attempt a@2");
    // The clock was set back: the step waits again, and nothing else happens.
    walk.now = 10;
    walk.expect("wake 5000");
    assert_eq!(walk.state.steps[0].history.failures(), 0);
}

// M-20: an error of the machine costs no attempt, is retried within bounds, and then is a person's to see to.
#[test]
fn an_error_of_the_machine_during_an_attempt_costs_no_attempt() {
    let mut walk = Walk::new("s abort");
    for attempt in 1..=4 {
        walk.now = 2_000;
        walk.expect(&format!("attempt s@{attempt}"));
        walk.now = 1_000;
        walk.takes(&[started("s", attempt), faulted("s", attempt, Some(2_000))]);
        if attempt < 4 {
            walk.expect("wake 2000");
        }
    }
    walk.expect("ask s/1 Machine");
    walk.pends(Pending::Faulted(fault(Some(2_000))));
    walk.takes(&[asked("s/1", Some("s"), AskReason::Machine), answered("s/1", retry())])
        .expect("attempt s@5");
    assert_eq!(walk.state.steps[0].history.failures(), 0);
    // One that worked in between begins to count anew.
    walk.takes(&[started("s", 5), faulted("s", 5, Some(0)), started("s", 6), exited("s", 6)]);
    assert_eq!(walk.state.steps[0].history.faults, 0);
}

// M-20: what an agent did is judged as soon as the machine can, and the agent does not work again for it.
#[test]
fn an_error_of_the_machine_during_a_contract_is_no_verdict() {
    let mut walk = Walk::new("s abort");
    walk.takes(&[started("s", 1), exited("s", 1)]).expect("contract s@1");
    for _ in 1..=3 {
        walk.takes(&[unjudged("s", 1, Some(2_000))]).expect("wake 2000");
        walk.now = 2_000;
        walk.expect("contract s@1");
        walk.now = 1_000;
    }
    walk.takes(&[unjudged("s", 1, Some(2_000))]).expect("ask s/1 Machine");
    walk.takes(&[stopped()]).expect("");
    walk.takes(&[resumed()]).expect("ask s/1 Machine");
    let ask = asked("s/1", Some("s"), AskReason::Machine);
    walk.takes(&[ask, answered("s/1", AskAnswer::Stop), resumed()]).expect("ask s/2 Machine");
    walk.takes(&[asked("s/2", Some("s"), AskReason::Machine), answered("s/2", retry())])
        .expect("contract s@1");
    assert_eq!(walk.state.steps[0].status.changed(), ["src/first.rs"], "what it changed is still known");
    walk.takes(&[judged("s", 1, 0)]).expect("close 1");
    assert_eq!(walk.state.steps[0].history.failures(), 0);
}

#[test]
fn a_step_that_the_machine_keeps_from_its_verdict_blocks_what_meets_it_and_nothing_else() {
    let mut walk = Walk::new("a free touches=a\nb free touches=a\nc free touches=c").jobs(4);
    walk.takes(&[started("a", 1), started("c", 1), exited("a", 1), unjudged("a", 1, Some(2_000))]);
    walk.expect("wake 2000");
    walk.takes(&[exited("c", 1)]).expect("wake 2000, contract c@1");
}

// M-20: what is unknown is not retried by itself.
#[test]
fn an_error_that_a_person_has_to_see_is_asked_at_once() {
    let mut walk = Walk::new("s");
    walk.takes(&[started("s", 1), faulted("s", 1, None)]).expect("ask s/1 Machine");
    let mut walk = Walk::new("s");
    walk.takes(&[started("s", 1), exited("s", 1), unjudged("s", 1, None)]).expect("ask s/1 Machine");
    walk.takes(&[asked("s/1", Some("s"), AskReason::Machine), answered("s/1", AskAnswer::TakeOver)]);
    walk.expect("contract s@2");
}

// M-20: an answer about the machine says nothing about files that an attempt should not have changed.
#[test]
fn an_answer_about_the_machine_forgets_no_file_out_of_scope() {
    for answer in [retry(), AskAnswer::TakeOver] {
        let mut walk = Walk::new("s");
        walk.takes(&[started("s", 1), exited_straying("s", 1), unjudged("s", 1, None)]);
        walk.takes(&[asked("s/1", Some("s"), AskReason::Machine), answered("s/1", answer)]);
        assert!(!walk.state.steps[0].history.strayed.is_empty());
    }
}

#[test]
fn an_agent_that_cannot_be_had_is_a_persons_to_see_to() {
    let mut walk = Walk::new("s");
    walk.takes(&[started("s", 1), parked("s", 1, None)]).expect("ask s/1 Parked");
    walk.takes(&[asked("s/1", Some("s"), AskReason::Parked), answered("s/1", retry())]).expect("attempt s@2");
}

// P-14: an agent that can't be had is tried again and again, and not for ever.
#[test]
fn an_agent_that_is_out_of_quota_too_often_is_a_persons_to_see_to() {
    let mut walk = Walk::new("s");
    walk.limits.parked_max = 2;
    for attempt in 1..=3 {
        walk.expect(&format!("attempt s@{attempt}"));
        walk.takes(&[started("s", attempt), parked("s", attempt, Some(500))]);
    }
    walk.expect("ask s/1 Parked");
    let why = "out of quota".to_owned();
    walk.pends(Pending::Unavailable { why, until: Some(500) });
    walk.takes(&[asked("s/1", Some("s"), AskReason::Parked), answered("s/1", retry())]).expect("attempt s@4");
    // One that worked in between begins to count anew.
    walk.takes(&[started("s", 4), parked("s", 4, Some(500)), started("s", 5), exited("s", 5)]);
    assert_eq!(walk.state.steps[0].history.unavailable, 0);
}

#[test]
fn a_question_of_an_agent_is_put_to_a_person_if_its_contract_fails() {
    let mut walk = Walk::new("s retry=1\nt");
    walk.takes(&[started("s", 1), exited_asking("s", 1)]).expect("contract s@1");
    walk.takes(&[judged("s", 1, 1)]).expect("ask s/1 Question");
    walk.pends(Pending::Retry { question: Some("which one?".to_owned()) });
    walk.takes(&[asked("s/1", Some("s"), AskReason::Question), answered("s/1", retry())])
        .expect("attempt s@2");
    walk.pends(Pending::Retry { question: None });
    assert_eq!(walk.state.steps[0].history.hint, "look again");
    // The attempt that ended in a question was none of those that the policy allows.
    walk.tries("s", 2, 1).expect("attempt s@3");
    walk.tries("s", 3, 1).expect("ask s/2 AttemptsSpent");
}

#[test]
fn a_question_of_an_agent_whose_contract_passes_is_moot() {
    let mut walk = Walk::new("s\nt");
    walk.takes(&[started("s", 1), exited_asking("s", 1), judged("s", 1, 0)]).expect("attempt t@1");
    assert!(matches!(walk.state.steps[0].status, StepStatus::Passed { .. }));
}

// A-45, P-16: at 80 % people are warned once; at 100 % they are asked, and meanwhile nothing new begins.
#[test]
fn a_budget_is_warned_of_once_and_then_asked_for() {
    let mut costly = plan("a free touches=a\nb free touches=b\nc free touches=c\nd free touches=d");
    costly.budget.tokens = Some(1_000);
    let mut walk = Walk::of(costly).jobs(2);
    let end = |step, count| spent(step, 1, (AttemptEnd::Exited(0), tokens(count)));
    walk.takes(&[started("a", 1), end("a", 799), judged("a", 1, 0)]).expect("attempt b@1, attempt c@1");
    walk.takes(&[started("b", 1), started("c", 1), end("b", 1), judged("b", 1, 0)]);
    walk.expect("warn tokens 80, attempt d@1");
    walk.takes(&[warned("tokens")]).expect("attempt d@1");
    walk.takes(&[started("d", 1), end("d", 200)]);
    walk.expect("contract d@1");
    walk.takes(&[judged("d", 1, 1)]).expect("ask d/1 AttemptsSpent");
    walk.takes(&[asked("d/1", Some("d"), AskReason::AttemptsSpent), answered("d/1", retry())]);
    walk.expect("ask run/budget/1 Budget");
    walk.takes(&[asked("run/budget/1", None, AskReason::Budget)]).expect("");
    // What was begun goes on and is judged.
    walk.takes(&[exited("c", 1)]).expect("contract c@1");
    walk.takes(&[judged("c", 1, 0)]).expect("");
    let more = AskAnswer::Budget { micro_dollars: 0, tokens: 250, seconds: 0 };
    walk.takes(&[answered("run/budget/1", more)]).expect("attempt d@2");
}

#[test]
fn every_limit_of_a_budget_is_held() {
    for limit in ["tokens", "dollars", "time"] {
        let mut costly = plan("a\nb");
        costly.budget.tokens = (limit == "tokens").then_some(10);
        costly.budget.micro_dollars = (limit == "dollars").then_some(10);
        costly.budget.seconds = (limit == "time").then_some(10);
        for (share, said) in [(7, "attempt b@1".to_owned()), (8, format!("warn {limit} 80, attempt b@1"))] {
            let usage =
                Usage { tokens: Some(share), micro_dollars: Some(share), milliseconds: share * 1_000 };
            let mut walk = Walk::of(costly.clone());
            walk.takes(&[started("a", 1), spent("a", 1, (AttemptEnd::Exited(0), usage)), judged("a", 1, 0)])
                .expect(&said);
        }
        let usage = Usage { tokens: Some(u64::MAX), micro_dollars: Some(u64::MAX), milliseconds: u64::MAX };
        let mut walk = Walk::of(costly);
        walk.takes(&[started("a", 1), spent("a", 1, (AttemptEnd::Exited(0), usage)), judged("a", 1, 0)]);
        walk.expect("ask run/budget/1 Budget");
    }
}

#[test]
fn a_free_plan_has_a_budget_of_nothing_and_runs() {
    let mut free = plan("a\nb");
    free.budget.micro_dollars = Some(0);
    let mut walk = Walk::of(free);
    let unsaid = spent(
        "a",
        1,
        (AttemptEnd::Exited(0), Usage { tokens: None, micro_dollars: Some(0), milliseconds: 9 }),
    );
    walk.takes(&[started("a", 1), unsaid, judged("a", 1, 0)]).expect("attempt b@1");
}

#[test]
fn a_budget_question_that_is_answered_with_stop_is_asked_again_under_another_name() {
    let mut costly = plan("a\nb");
    costly.budget.tokens = Some(10);
    let mut walk = Walk::of(costly);
    walk.takes(&[started("a", 1), spent("a", 1, (AttemptEnd::Exited(0), tokens(10))), judged("a", 1, 0)]);
    walk.takes(&[asked("run/budget/1", None, AskReason::Budget), answered("run/budget/1", AskAnswer::Stop)])
        .expect("");
    walk.takes(&[resumed()]).expect("ask run/budget/2 Budget");
}

#[test]
fn a_question_that_is_answered_with_stop_is_asked_again_under_another_name() {
    let mut walk = Walk::new("s");
    walk.tries("s", 1, 1).expect("ask s/1 AttemptsSpent");
    walk.takes(&[asked("s/1", Some("s"), AskReason::AttemptsSpent), answered("s/1", AskAnswer::Stop)])
        .expect("");
    walk.takes(&[resumed()]).expect("ask s/2 AttemptsSpent");
}

// B-04, P-32: a skip has a name and a reason, and what waits for the step may begin.
#[test]
fn a_skip_lets_dependents_begin_and_keeps_who_and_why() {
    let mut walk = Walk::new("a\nb");
    walk.tries("a", 1, 1)
        .takes(&[asked("a/1", Some("a"), AskReason::AttemptsSpent), answered("a/1", skip())]);
    walk.expect("attempt b@1");
    let status = format!("{:?}", walk.state.steps[0].status);
    assert!(status.contains("ada") && status.contains("not needed"), "{status}");
    walk.tries("b", 1, 0).expect("close 1");
    walk.takes(&[closing(1)]).expect("finish Done");
}

#[test]
fn a_manual_step_is_confirmed_by_a_person_after_its_agent_is_done() {
    let mut walk = Walk::new("s manual retry=1");
    // What was parked, lost or timed out is nothing to look at.
    walk.takes(&[started("s", 1), parked("s", 1, Some(0))]).expect("attempt s@2");
    walk.takes(&[started("s", 2), ended("s", 2, AttemptEnd::Lost)]).expect("attempt s@3");
    walk.takes(&[started("s", 3), ended("s", 3, AttemptEnd::TimedOut(1))]).expect("attempt s@4");
    walk.takes(&[started("s", 4), exited("s", 4)]).expect("ask s/1 Manual");
    walk.takes(&[asked("s/1", Some("s"), AskReason::Manual), answered("s/1", retry())]).expect("attempt s@5");
    walk.takes(&[started("s", 5), exited("s", 5)]).expect("ask s/2 Manual");
    walk.takes(&[asked("s/2", Some("s"), AskReason::Manual), answered("s/2", AskAnswer::Confirm)])
        .expect("finish Done");
}

#[test]
fn a_persons_step_is_asked_for_at_once_and_its_contract_judges() {
    let mut walk = Walk::new("a\nh human abort");
    walk.expect("attempt a@1");
    walk.tries("a", 1, 0).expect("ask h/1 Manual");
    walk.takes(&[asked("h/1", Some("h"), AskReason::Manual), answered("h/1", AskAnswer::TakeOver)])
        .expect("contract h@1");
    walk.takes(&[judged("h", 1, 1)]).expect("ask h/2 Manual");
    walk.takes(&[asked("h/2", Some("h"), AskReason::Manual), answered("h/2", AskAnswer::TakeOver)]);
    walk.takes(&[judged("h", 2, 0)]).expect("close 1");
    walk.takes(&[closing(1)]).expect("finish Done");
}

#[test]
fn a_step_that_was_taken_over_is_judged_once_no_agent_may_change_the_same_files() {
    let mut walk =
        Walk::new("a free touches=src/**\nb free touches=src/b.rs\nc free touches=docs/**").jobs(2);
    walk.tries("a", 1, 1).takes(&[asked("a/1", Some("a"), AskReason::AttemptsSpent)]);
    walk.expect("attempt b@1, attempt c@1");
    walk.takes(&[started("b", 1), started("c", 1), answered("a/1", AskAnswer::TakeOver)]).expect("");
    walk.takes(&[exited("b", 1)]).expect("contract a@2, contract b@1");
}

#[test]
fn a_stop_lets_nothing_begin_and_a_resume_goes_on_where_it_was() {
    let mut walk = Walk::new("a\nb");
    walk.takes(&[started("a", 1), stopped()]).expect("");
    walk.takes(&[exited("a", 1)]).expect("contract a@1");
    walk.takes(&[judged("a", 1, 0)]).expect("");
    walk.takes(&[resumed()]).expect("attempt b@1");
    walk.takes(&[stopped()]).expect("");
}

#[test]
fn nothing_is_to_be_done_before_a_run_begins_and_after_it_ends() {
    let sample = plan("a");
    let state = RunState::new(&sample);
    assert_eq!(next_actions(&sample, &state, &ScheduleLimits::default(), 0), []);
    let mut walk = Walk::of(sample);
    walk.take(&super::happened::finished(RunOutcome::Cancelled));
    walk.expect("");
}

// P-21: `--until` and `--only` restrict what may begin; nothing is asked about the rest, and nothing is finished.
#[test]
fn only_the_steps_that_may_begin_do() {
    let mut walk = Walk::new("a\nb\nc");
    walk.limits.steps = Some([0, 1].into());
    walk.expect("attempt a@1");
    walk.tries("a", 1, 0).tries("b", 1, 0).expect("");
    walk.limits.steps = None;
    walk.expect("attempt c@1");
}

#[test]
fn a_claim_is_judged_in_its_turn() {
    let mut walk = Walk::new("a\nb done\nc");
    walk.expect("attempt a@1");
    walk.tries("a", 1, 0).expect("contract b@0");
    walk.takes(&[judged("b", 0, 0)]).expect("attempt c@1");
}

#[test]
fn an_attempt_that_a_person_ended_counts_for_nothing() {
    let mut walk = Walk::new("a abort");
    for attempt in 1..=9 {
        walk.expect(&format!("attempt a@{attempt}"));
        walk.takes(&[started("a", attempt), ended("a", attempt, AttemptEnd::Stopped)]);
    }
    assert_eq!((walk.state.steps[0].history.failures(), walk.state.steps[0].history.lost), (0, 0));
}

#[test]
fn a_retry_grants_an_attempt_only_where_all_are_spent() {
    let mut walk = Walk::new("a retry=1");
    walk.takes(&[started("a", 1), parked("a", 1, None), asked("a/1", Some("a"), AskReason::Parked)]);
    walk.takes(&[answered("a/1", retry())]).tries("a", 2, 1).tries("a", 3, 1);
    walk.expect("ask a/2 AttemptsSpent");
    walk.takes(&[asked("a/2", Some("a"), AskReason::AttemptsSpent), answered("a/2", retry())]);
    walk.tries("a", 4, 1).expect("ask a/3 AttemptsSpent");
}

// C-16: no later attempt takes back what one changed, so none is spent on it.
#[test]
fn a_person_is_asked_at_once_where_straying_counts() {
    let strays = |is_straying_asked: bool| {
        let mut walk = Walk::new("a retry=2");
        walk.limits.is_straying_asked = is_straying_asked;
        walk.takes(&[started("a", 1), exited_straying("a", 1)]).expect("contract a@1");
        walk.takes(&[judged("a", 1, 1)]);
        walk
    };
    strays(false).expect("attempt a@2");
    let mut walk = strays(true);
    walk.expect("ask a/1 Strayed");
    walk.takes(&[asked("a/1", Some("a"), AskReason::Strayed), answered("a/1", retry())]);
    walk.expect("attempt a@2");
    walk.tries("a", 2, 1).tries("a", 3, 1).expect("ask a/2 AttemptsSpent");
    let mut spent = strays(true);
    spent.takes(&[asked("a/1", Some("a"), AskReason::Strayed), answered("a/1", AskAnswer::TakeOver)]);
    spent.expect("contract a@2");
}

// "N steps left, need about X more".
#[test]
fn the_outlook_says_what_the_steps_that_are_left_will_take() {
    let mut plan = plan("a\nb\nc");
    plan.budget.tokens = Some(100);
    plan.budget.micro_dollars = Some(1_500_000);
    let mut walk = Walk::of(plan);
    assert_eq!(outlook(&walk.plan, &walk.state), "3 steps left");
    let usage = Usage { tokens: Some(100), micro_dollars: Some(1_000_000), milliseconds: 0 };
    let end = spent("a", 1, (AttemptEnd::Exited(0), usage));
    walk.takes(&[started("a", 1), end, judged("a", 1, 0)]);
    assert_eq!(outlook(&walk.plan, &walk.state), "2 steps left, need about 200 tokens, $1.50 more");
}

impl Walk {
    /// A passed attempt whose contract saw this tree.
    fn passes_on(&mut self, tree: &str, step: &str, attempt: u32) -> &mut Self {
        let judged = judged_on(tree, step, Judged::Attempt(attempt), 0);
        self.takes(&[started(step, attempt), exited(step, attempt), judged])
    }
}

/// A verdict of the closing check on the tree, where 0 means that the contract still holds.
fn rechecked(tree: &str, step: &str, round: u32, code: i32) -> Event {
    judged_on(tree, step, Judged::Closing(round), code)
}

/// The same, broken by a step.
fn broken(tree: &str, step: &str, round: u32, culprit: &str) -> Event {
    let mut event = rechecked(tree, step, round, 1);
    if let Event::Step { event: StepEvent::Judged { broken_by, .. }, .. } = &mut event {
        *broken_by = Some(culprit.to_owned());
    }
    event
}

// M-16: contracts with a verdict for an older tree run again, no more at once than there are jobs; the others don't.
#[test]
fn a_run_is_done_only_when_every_contract_holds_on_the_final_tree() {
    let mut walk = Walk::new("a\nb\nc");
    walk.passes_on("t1", "a", 1).passes_on("t2", "b", 1).passes_on("t3", "c", 1).expect("close 1");
    walk.takes(&[closing_on("t3", 1)]).expect("contract a@closing-1");
    let mut wide = Walk::of(walk.plan.clone()).jobs(2);
    wide.state = walk.state.clone();
    wide.expect("contract a@closing-1, contract b@closing-1");
    walk.takes(&[rechecked("t3", "a", 1, 0)]).expect("contract b@closing-1");
    walk.takes(&[stopped()]).expect("");
    walk.takes(&[resumed(), rechecked("t3", "b", 1, 0)]).expect("finish Done");
}

#[test]
fn what_was_not_recorded_to_be_judged_on_a_tree_is_judged_again() {
    let mut walk = Walk::new("a");
    walk.passes_on("", "a", 1).expect("close 1");
    walk.takes(&[closing_on("t", 1)]).expect("contract a@closing-1");
    walk.takes(&[rechecked("t", "a", 1, 0)]).expect("finish Done");
}

// M-16: what a person settled, and what was meant to lapse, is not judged again; a lapse needs the other step to have passed.
#[test]
fn a_contract_that_need_not_hold_is_left_out() {
    let mut walk = Walk::new("a\nb\nm manual\nc");
    walk.plan.steps[0].holds_until = Some(1);
    let plan = walk.plan.clone();
    walk = Walk::of(plan.clone());
    walk.passes_on("t1", "a", 1).passes_on("t2", "b", 1);
    walk.takes(&[started("m", 1), exited("m", 1), asked("m/1", Some("m"), AskReason::Manual)]);
    walk.takes(&[answered("m/1", AskAnswer::Confirm)]).passes_on("t3", "c", 1).expect("close 1");
    walk.takes(&[closing_on("t3", 1)]).expect("contract b@closing-1");
    let mut walk = Walk::of(plan);
    walk.passes_on("t1", "a", 1).tries("b", 1, 1);
    walk.takes(&[asked("b/1", Some("b"), AskReason::AttemptsSpent), answered("b/1", skip())]);
    walk.takes(&[asked("m/1", Some("m"), AskReason::Manual), answered("m/1", skip())]);
    walk.passes_on("t3", "c", 1).takes(&[closing_on("t3", 1)]).expect("contract a@closing-1");
    assert!(
        Walk::new("m manual")
            .takes(&[asked("m/1", Some("m"), AskReason::Manual), answered("m/1", skip())])
            .says()
            == "finish Done"
    );
}

// M-16: the broken step works again under its own on_fail, at most two rounds; nothing starts before the round is judged.
#[test]
fn a_broken_contract_goes_back_to_work_and_after_two_rounds_to_a_person() {
    let mut walk = Walk::new("a retry=2\nb retry=2\nc retry=2");
    walk.tries("a", 1, 1).passes_on("t1", "a", 2).passes_on("t2", "b", 1).passes_on("t3", "c", 1);
    walk.takes(&[closing_on("t3", 1), broken("t3", "a", 1, "b")]).expect("contract b@closing-1");
    walk.takes(&[rechecked("t3", "b", 1, 0)]).expect("attempt a@3");
    assert_eq!(walk.state.steps[0].history.regressed(), Some(&Regression::BrokenBy(Some("b".to_owned()))));
    // The failure before it passed doesn't count any more: this is the first of three.
    walk.tries("a", 3, 1).expect("attempt a@4");
    walk.passes_on("t4", "a", 4).expect("close 2");
    walk.takes(&[closing_on("t4", 2), broken("t4", "b", 2, "a"), rechecked("t4", "c", 2, 0)])
        .expect("attempt b@2");
    walk.passes_on("t5", "b", 2).takes(&[closing_on("t5", 3), broken("t5", "a", 3, "b")]);
    walk.takes(&[rechecked("t5", "c", 3, 0)]).expect("ask a/1 Regressed");
    walk.takes(&[asked("a/1", Some("a"), AskReason::Regressed)]).expect("");
    let again = |answer: AskAnswer| {
        let mut again = Walk::of(walk.plan.clone());
        again.state = walk.state.clone();
        again.takes(&[answered("a/1", answer)]);
        again
    };
    again(retry()).expect("attempt a@5");
    again(skip()).expect("close 4");
    again(AskAnswer::TakeOver).expect("contract a@5");
    // The culprit works, and the broken contract is judged again; what needs the broken step does not wait for it.
    let mut blamed = again(AskAnswer::RetryStep { step: "b".to_owned(), hint: "keep a".to_owned() });
    blamed.expect("attempt b@3");
    assert_eq!(blamed.state.steps[1].history.regressed(), Some(&Regression::Broke("a".to_owned())));
    blamed.passes_on("t6", "b", 3).expect("close 4");
    blamed.takes(&[closing_on("t6", 4)]).expect("contract a@closing-4");
    blamed.takes(&[rechecked("t6", "a", 4, 0), rechecked("t6", "c", 4, 0)]).expect("finish Done");
    for step in ["a", "c9"] {
        let answer = answered("a/1", AskAnswer::RetryStep { step: step.to_owned(), hint: String::new() });
        assert!(walk.state.clone().apply(&answer).is_err(), "{step}");
    }
}

// M-16: on_fail without a retry asks at once, abort ends the run.
#[test]
fn a_broken_contract_obeys_its_on_fail() {
    for (policy, then) in
        [("", "ask a/1 Regressed"), (" abort", "finish Failed"), (" retry=1 abort", "attempt a@2")]
    {
        let mut walk = Walk::new(&format!("a{policy}\nb"));
        walk.passes_on("t1", "a", 1).passes_on("t2", "b", 1);
        walk.takes(&[closing_on("t2", 1), broken("t2", "a", 1, "b")]).expect(then);
    }
}

// M-16: contracts that change what they judge: the rounds end with a question, and an answer begins them anew.
#[test]
fn rounds_that_never_agree_on_a_tree_end_with_a_question() {
    let mut walk = Walk::new("a\nb");
    walk.passes_on("t1", "a", 1).passes_on("t2", "b", 1);
    for round in 1..=3 {
        walk.expect(&format!("close {round}"));
        walk.takes(&[closing_on(&format!("r{round}"), round)]);
        walk.takes(&[rechecked("x", "a", round, 0), rechecked("y", "b", round, 0)]);
    }
    walk.expect("ask run/closing/1 Unsettled");
    walk.takes(&[asked("run/closing/1", None, AskReason::Unsettled)]).expect("");
    walk.takes(&[answered("run/closing/1", retry())]).expect("close 4");
}

// M-16: a closing check begins only when all is done, in order, and its verdicts are only those that are due.
#[test]
fn a_closing_check_out_of_turn_is_refused() {
    let mut walk = Walk::new("a\nb");
    walk.passes_on("t1", "a", 1);
    let refuses = |walk: &Walk, event: &Event| walk.state.clone().apply(event).is_err();
    assert!(refuses(&walk, &closing_on("t1", 1)), "b is pending");
    walk.passes_on("t2", "b", 1);
    assert!(refuses(&walk, &closing_on("t2", 2)), "it is the first round");
    assert!(refuses(&walk, &rechecked("t2", "a", 1, 0)), "no round has begun");
    walk.takes(&[closing_on("t2", 1)]);
    assert!(refuses(&walk, &rechecked("t2", "b", 1, 0)), "b holds on the tree");
    assert!(refuses(&walk, &rechecked("t2", "a", 2, 0)), "another round");
    walk.takes(&[rechecked("t2", "a", 1, 0)]);
    assert!(refuses(&walk, &rechecked("t2", "a", 1, 0)), "it was judged");
}
