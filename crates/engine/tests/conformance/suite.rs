//! What every host must do, as named cases. A host is tried through a [`Stage`]: a run of a plan whose contracts exit with
//! given codes. Knows nothing of a particular host; what dies, comes twice or comes early is put between host and driver.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{AskAnswer, AskEvent, Event, RunEvent, RunOutcome, StepEvent, StopMode};
use planwright_core::run::state::StepStatus;
use planwright_engine::run::driver::{Host, Progress};

use crate::trial::{Meddling, Moment, Trial};

/// A run and its world; clones are the same. Hosts come and go; what they recorded stays.
pub(crate) trait Stage: Clone {
    type Host: Host;

    /// A host for the next driver. The one before is gone or dead; what it left behind may be alive.
    fn host(&self) -> Self::Host;

    /// Somebody else records something.
    fn record(&self, event: &Event);

    /// Everything that was recorded.
    fn journal(&self) -> Vec<Event>;

    /// From now on the agents of a step go on until they are ended.
    fn hold(&self, step: &str);

    /// The agents of a step end by themselves again, those that are at work too.
    fn release(&self, step: &str);

    /// From now on a worker of another process makes the attempts. It outlives every driver.
    fn employ(&self);

    /// Whoever sits before the driver wants to leave.
    fn leave(&self);

    /// Every attempt whose agent began, as `s1/2`, as often as it did.
    fn begun(&self) -> Vec<String>;

    /// Waits until the agent of an attempt has begun.
    fn until_begun(&self, attempt: &str);

    /// Attempts of whose agents something is alive.
    fn alive(&self) -> BTreeSet<String>;
}

/// The exit codes of a step's contract, by the tries that were judged before; the last one counts on.
pub(crate) type Codes = BTreeMap<String, Vec<i32>>;

/// Runs every case. `make` lays out a fresh stage for a plan whose agents end by themselves at once.
pub(crate) fn conformance<S: Stage>(make: impl Fn(&Plan, &Codes) -> S) {
    order(&make);
    retry(&make);
    escalate(&make);
    stop(&make);
    stop_now(&make);
    leave(&make);
    leave_elsewhere(&make);
    die_elsewhere(&make);
    cancel(&make);
    all_or_none(&make);
    kill_anywhere(&make);
    answer_before_wait(&make);
    duplicate_completion(&make);
}

/// The journal of a run of two steps in which nothing was lost, stopped or doubled.
const UNDISTURBED: [&str; 10] = [
    "run.started",
    "s1/1 started",
    "s1/1 ended",
    "s1/1 passed",
    "s2/1 started",
    "s2/1 ended",
    "s2/1 passed",
    "closing.started",
    "s1/closing-1 passed",
    "run.finished",
];

const DONE: Option<Progress> = Some(Progress::Finished(RunOutcome::Done));

/// Every attempt is intended, ended and judged, in this order, and the next step waits for it.
fn order<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1\ns2", &[]);
    assert_eq!(trial.go_on(), DONE, "order");
    assert_eq!(trial.told(), UNDISTURBED, "order");
    assert_eq!(trial.stage.begun(), ["s1/1", "s2/1"], "order");
}

/// A failed contract is tried again, as often as the policy says.
fn retry<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1 retry=2\ns2 retry=1 abort", &[("s1", &[1, 1, 0]), ("s2", &[1])]);
    assert_eq!(trial.go_on(), Some(Progress::Finished(RunOutcome::Failed)), "retry");
    assert_eq!(
        trial.meaning(),
        [("passed", vec![false, false, true]), ("pending", vec![false, false])],
        "retry"
    );
}

/// A spent step asks, others go on, and each answer works.
fn escalate<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1\ns2\ns3 free", &[("s1", &[1, 1, 0]), ("s2", &[1])]);
    assert_eq!(trial.go_on(), Some(Progress::NeedsPerson), "escalate");
    assert!(
        matches!(trial.state().steps[2].status, StepStatus::Passed { .. }),
        "an independent step goes on"
    );
    trial.answer("s1/1", AskAnswer::Retry { hint: "look again".to_owned() });
    assert_eq!(trial.go_on(), Some(Progress::NeedsPerson), "one more attempt, and it failed");
    trial.answer("s1/2", AskAnswer::TakeOver);
    assert_eq!(trial.go_on(), Some(Progress::NeedsPerson), "the contract judges the person");
    trial.answer("s2/1", AskAnswer::Skip { reason: "not needed".to_owned() });
    assert_eq!(trial.go_on(), DONE, "escalate");
    let expected = [("passed", vec![false, false, true]), ("skipped", vec![false]), ("passed", vec![true])];
    assert_eq!(trial.meaning(), expected, "escalate");
}

fn stopped(when: StopMode) -> Event {
    Event::Run(RunEvent::Stopped { by: "ada".to_owned(), mode: when })
}

/// A stop lets what runs end and nothing begin, until the run is resumed.
fn stop<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1\ns2", &[]);
    let stop = |moment: Moment<'_>| {
        if let Moment::Durable(Event::Step { event: StepEvent::Started(_), .. }) = moment {
            trial.stage.record(&stopped(StopMode::AfterAttempts));
        }
    };
    assert_eq!(trial.drive(Meddling::Nothing, stop), Some(Progress::Stopped), "stop");
    assert_eq!(
        trial.told(),
        ["run.started", "s1/1 started", "run.stopped", "s1/1 ended", "s1/1 passed"],
        "stop"
    );
    assert_eq!(trial.go_on(), Some(Progress::Stopped), "a stopped run stays so");
    trial.resume();
    assert_eq!(trial.go_on(), DONE, "stop");
    assert_eq!(trial.meaning(), [("passed", vec![true]), ("passed", vec![true])], "stop");
}

/// The end of a run whose first attempt was ended by a person: it counts for nothing and is made again.
fn assert_made_again<S: Stage>(trial: &Trial<S>, case: &str) {
    assert_eq!(trial.go_on(), DONE, "{case}");
    let first = &trial.state().steps[0];
    let history = &first.history;
    assert_eq!((history.attempts, history.failures(), history.lost), (2, 0, 0), "{case}");
    assert_eq!(trial.meaning(), [("passed", vec![true]), ("passed", vec![true])], "{case}");
}

/// A stop that does not wait ends the attempts that are under way, here and elsewhere, whether their agents have begun or
/// are about to.
fn stop_now<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    for (is_elsewhere, is_at_work) in [(false, false), (false, true), (true, false), (true, true)] {
        let case = format!("stop now, elsewhere {is_elsewhere}, at work {is_at_work}");
        let trial = Trial::new(make, "s1\ns2", &[]);
        trial.stage.hold("s1");
        if is_elsewhere {
            trial.stage.employ();
        }
        let stop = |stage: &S| stage.record(&stopped(StopMode::Now));
        let mut stop_later = when_at_work(&trial.stage, stop);
        let stop = |moment: Moment<'_>| match moment {
            Moment::Durable(Event::Step { event: StepEvent::Started(_), .. }) if !is_at_work => {
                stop(&trial.stage);
            }
            Moment::Waits if is_at_work => stop_later(moment),
            Moment::Durable(_) | Moment::Waits => {}
        };
        assert_eq!(trial.drive(Meddling::Nothing, stop), Some(Progress::Stopped), "{case}");
        let told = ["run.started", "s1/1 started", "run.stopped", "s1/1 stopped"];
        assert_eq!(trial.told(), told, "{case}");
        trial.stage.release("s1");
        trial.resume();
        assert_made_again(&trial, &case);
    }
}

/// Does something when the agent of the first attempt is at work, once.
fn when_at_work<S: Stage>(stage: &S, act: impl Fn(&S)) -> impl FnMut(Moment<'_>) {
    let mut is_done = false;
    move |moment| {
        if matches!(moment, Moment::Waits) && !is_done {
            is_done = true;
            stage.until_begun("s1/1");
            act(stage);
        }
    }
}

/// Who leaves ends what this driver has under way, which counts for nothing.
fn leave<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1\ns2", &[]);
    trial.stage.hold("s1");
    let leave = when_at_work(&trial.stage, S::leave);
    assert_eq!(trial.drive(Meddling::Nothing, leave), Some(Progress::Left), "leave");
    assert_eq!(trial.told(), ["run.started", "s1/1 started", "s1/1 stopped"], "leave");
    assert_eq!(trial.stage.alive(), BTreeSet::new(), "leave");
    trial.stage.release("s1");
    assert_made_again(&trial, "leave");
}

/// The next driver takes an attempt that a worker of another process is still at, and does not double it.
fn assert_taken<S: Stage>(trial: &Trial<S>, case: &str) {
    assert_eq!(trial.stage.alive(), BTreeSet::from(["s1/1".to_owned()]), "{case}");
    let release = when_at_work(&trial.stage, |stage| stage.release("s1"));
    assert_eq!(trial.drive(Meddling::Nothing, release), DONE, "{case}");
    assert_eq!(trial.told(), UNDISTURBED, "{case}");
    assert_eq!(trial.stage.begun(), ["s1/1", "s2/1"], "{case}");
}

/// Who leaves does not end what a worker of another process does.
fn leave_elsewhere<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1\ns2", &[]);
    trial.stage.hold("s1");
    trial.stage.employ();
    let leave = when_at_work(&trial.stage, S::leave);
    assert_eq!(trial.drive(Meddling::Nothing, leave), Some(Progress::Left), "leave elsewhere");
    assert_taken(&trial, "leave elsewhere");
}

/// A driver that dies takes nothing with it that a worker of another process does.
fn die_elsewhere<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1\ns2", &[]);
    trial.stage.hold("s1");
    trial.stage.employ();
    assert_eq!(trial.drive(Meddling::DiesWaiting, when_at_work(&trial.stage, |_| {})), None, "die elsewhere");
    assert_taken(&trial, "die elsewhere");
}

/// A run that somebody ends is over at once: nothing is recorded behind its end, and nothing of it is alive.
fn cancel<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let end = Event::Run(RunEvent::Finished { outcome: RunOutcome::Cancelled, why: "no more".to_owned() });
    for position in 1..=3 {
        let trial = Trial::new(make, "s1\ns2", &[]);
        // The agent that is at work when the end comes would never end by itself.
        trial.stage.hold(if position == 1 { "s1" } else { "s2" });
        let mut count = 0;
        let cancel = |moment: Moment<'_>| {
            if let Moment::Durable(_) = moment {
                count += 1;
                if count == position {
                    trial.stage.record(&end);
                }
            }
        };
        let progress = trial.drive(Meddling::Nothing, cancel);
        assert_eq!(progress, Some(Progress::Finished(RunOutcome::Cancelled)), "cancel");
        assert_eq!(trial.stage.journal().last(), Some(&end), "cancel");
        assert_eq!(trial.go_on(), progress, "a run that is over stays so");
        assert_eq!(trial.state().outcome(), Some(RunOutcome::Cancelled), "cancel");
    }
}

/// What belongs together is recorded together. Where others come first nothing of it is, until theirs was seen.
fn all_or_none<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1\ns2", &[]);
    let mut host = trial.stage.host();
    let history = host.history().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(history, trial.stage.journal(), "all or none");
    let warned = |limit: &str| Event::Run(RunEvent::BudgetWarned { limit: limit.to_owned(), percent: 80 });
    let ours = [warned("tokens"), warned("dollars"), warned("time")];
    let theirs = [stopped(StopMode::AfterAttempts), Event::Run(RunEvent::Resumed { by: "ada".to_owned() })];
    for event in &theirs {
        trial.stage.record(event);
    }
    let mut state = trial.state();
    ours.iter().try_for_each(|event| state.apply(event)).unwrap_or_else(|error| panic!("{error}"));
    let mut record = |events: &[Event]| host.record(&state, events).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(record(&ours), theirs, "others came first");
    assert_eq!(trial.stage.journal(), [&history[..], &theirs].concat(), "others came first");
    assert_eq!(record(&ours), [], "all or none");
    assert_eq!(trial.stage.journal(), [&history[..], &theirs, &ours].concat(), "all or none");
    drop(host);
    assert_eq!(trial.go_on(), DONE, "all or none");
}

/// Whenever the driver dies, the next one brings the run to the same end.
fn kill_anywhere<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let lines = "s1 retry=1\ns2 needs=s1 touches=a retry=1\ns3 needs=s1 touches=b\ns4 needs=s2,s3";
    let codes: [(&str, &[i32]); 2] = [("s1", &[1, 0]), ("s3", &[1, 0])];
    let settle = |meddling: Meddling| {
        let trial = Trial::new(make, lines, &codes);
        let mut progress = trial.drive(meddling, |_| {});
        for _ in 0..4 {
            if progress == Some(Progress::NeedsPerson) {
                trial.answer("s3/1", AskAnswer::Retry { hint: String::new() });
            }
            if !matches!(progress, Some(Progress::Finished(_))) {
                progress = trial.drive(meddling, |_| {});
            }
        }
        assert_eq!(progress, DONE, "kill anywhere: {meddling:?}");
        (trial.meaning(), trial.records())
    };
    let (whole, records) = settle(Meddling::Nothing);
    for record in 1..=records {
        assert_eq!(settle(Meddling::DiesBefore(record)).0, whole, "kill anywhere: before record {record}");
        assert_eq!(settle(Meddling::DiesAfter(record)).0, whole, "kill anywhere: after record {record}");
    }
}

/// An answer that comes the moment after the question is asked is not lost.
fn answer_before_wait<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1\ns2 free", &[("s1", &[1, 0])]);
    let answer = |moment: Moment<'_>| {
        if let Moment::Durable(Event::Ask { ask, event: AskEvent::Opened { .. } }) = moment {
            trial.answer(ask, AskAnswer::Retry { hint: String::new() });
        }
    };
    let mut progress = trial.drive(Meddling::Nothing, answer);
    // A driver that had nothing else to do may leave before it sees the answer; the next one must.
    if progress == Some(Progress::NeedsPerson) {
        progress = trial.go_on();
    }
    assert_eq!(progress, DONE, "answer before wait");
    assert_eq!(
        trial.meaning(),
        [("passed", vec![false, true]), ("passed", vec![true])],
        "answer before wait"
    );
}

/// A result that comes twice is recorded once.
fn duplicate_completion<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, "s1 retry=1\ns2 free touches=a", &[("s1", &[1, 0])]);
    assert_eq!(trial.drive(Meddling::Doubles, |_| {}), DONE, "duplicate completion");
    assert_eq!(
        trial.meaning(),
        [("passed", vec![false, true]), ("passed", vec![true])],
        "duplicate completion"
    );
}
