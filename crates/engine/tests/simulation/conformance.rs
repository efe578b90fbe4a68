//! What every host must do, as named cases. A host is tried through a [`Stage`]: a run of a plan whose contracts exit with
//! given codes. Knows nothing of a particular host; what dies, comes twice or comes early is put between host and driver.

use std::collections::BTreeMap;

use planwright_core::decide::{Command, Limits};
use planwright_core::event::{Answer, AttemptEnd, Event, Outcome, StopWhen};
use planwright_core::plan::Plan;
use planwright_core::run::{RunState, Status};
use planwright_engine::driver::{self, Happening, Host, Progress, Recovered, drive};

use crate::sample::{plan, run_started, verdict_of};

/// A run and its world. Hosts come and go; what they recorded stays.
pub(crate) trait Stage {
    type Host: Host;

    /// A host for the next driver. The one before is gone or dead.
    fn host(&self) -> Self::Host;

    /// Somebody else records something.
    fn record(&self, event: &Event);

    /// Everything that was recorded.
    fn journal(&self) -> Vec<Event>;
}

/// The exit codes of a step's contract, by the tries that were judged before; the last one counts on.
pub(crate) type Codes = BTreeMap<String, Vec<i32>>;

/// Runs every case. `make` lays out a fresh stage for a plan whose agents end by themselves at once.
pub(crate) fn conformance<S: Stage>(make: impl Fn(&Plan, &Codes) -> S) {
    order(&make);
    retry(&make);
    escalate(&make);
    stop(&make);
    cancel(&make);
    kill_anywhere(&make);
    answer_before_wait(&make);
    duplicate_completion(&make);
}

/// What is done to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meddling {
    Nothing,
    /// The driver dies instead of its n-th record.
    DiesBefore(usize),
    /// The driver dies right after its n-th record.
    DiesAfter(usize),
    /// Every result comes twice.
    Doubles,
}

struct Meddled<'a, H: Host> {
    host: H,
    meddling: Meddling,
    records: usize,
    again: Option<Event>,
    /// Told of every event once it is durable, before the driver goes on.
    durable: &'a mut dyn FnMut(&Event),
}

#[derive(Debug, thiserror::Error)]
enum Error<E: std::error::Error + 'static> {
    #[error("the host failed")]
    Host(#[source] E),
    #[error("the driver died")]
    Died,
}

impl<H: Host> Host for Meddled<'_, H> {
    type Error = Error<H::Error>;

    fn history(&mut self) -> Result<Vec<Event>, Self::Error> {
        self.host.history().map_err(Error::Host)
    }

    fn record(&mut self, events: &[Event]) -> Result<Vec<Event>, Self::Error> {
        self.records += 1;
        if self.meddling == Meddling::DiesBefore(self.records) {
            return Err(Error::Died);
        }
        let theirs = self.host.record(events).map_err(Error::Host)?;
        if theirs.is_empty() {
            events.iter().for_each(&mut *self.durable);
        }
        if self.meddling == Meddling::DiesAfter(self.records) { Err(Error::Died) } else { Ok(theirs) }
    }

    fn intend(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Event, Self::Error> {
        self.host.intend(state, step, attempt).map_err(Error::Host)
    }

    fn question(&mut self, state: &RunState, ask: &Command) -> Result<String, Self::Error> {
        self.host.question(state, ask).map_err(Error::Host)
    }

    fn begin(&mut self, state: &RunState, command: &Command) -> Result<(), Self::Error> {
        self.host.begin(state, command).map_err(Error::Host)
    }

    fn recover(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Recovered, Self::Error> {
        self.host.recover(state, step, attempt).map_err(Error::Host)
    }

    fn interrupt(&mut self) -> Result<(), Self::Error> {
        self.host.interrupt().map_err(Error::Host)
    }

    fn next(&mut self, wake: Option<u64>) -> Result<Happening, Self::Error> {
        if let Some(event) = self.again.take() {
            return Ok(Happening::Ended(event));
        }
        let happening = self.host.next(wake).map_err(Error::Host)?;
        if let (Meddling::Doubles, Happening::Ended(event)) = (self.meddling, &happening) {
            self.again = Some(event.clone());
        }
        Ok(happening)
    }

    fn now(&self) -> u64 {
        self.host.now()
    }

    fn is_current(&mut self) -> Result<bool, Self::Error> {
        self.host.is_current().map_err(Error::Host)
    }
}

/// A plan, its stage, and how its run is driven.
struct Trial<S> {
    plan: Plan,
    stage: S,
    jobs: usize,
}

impl<S: Stage> Trial<S> {
    fn new(make: &impl Fn(&Plan, &Codes) -> S, lines: &[&str], codes: &[(&str, &[i32])]) -> Self {
        let plan = plan(lines);
        let codes = codes.iter().map(|(step, codes)| ((*step).to_owned(), codes.to_vec())).collect();
        let stage = make(&plan, &codes);
        stage.record(&run_started());
        Self { plan, stage, jobs: 2 }
    }

    /// One driver. `None`: it died.
    fn drive(&self, meddling: Meddling, mut durable: impl FnMut(&Event)) -> Option<Progress> {
        let mut host =
            Meddled { host: self.stage.host(), meddling, records: 0, again: None, durable: &mut durable };
        let limits = Limits { jobs: self.jobs, ..Limits::default() };
        match drive(&self.plan, &limits, &mut host, &mut |_, _| {}) {
            Ok(progress) => Some(progress),
            Err(driver::Error::Host(Error::Died)) => None,
            Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
        }
    }

    fn answer(&self, ask: &str, answer: Answer) {
        self.stage.record(&Event::AskAnswered { ask: ask.to_owned(), answer, by: "ada".to_owned() });
    }

    fn state(&self) -> RunState {
        let mut state = RunState::new(&self.plan);
        let mut keys = std::collections::BTreeSet::new();
        for event in self.stage.journal() {
            assert!(event.key().is_none_or(|key| keys.insert(key)), "{} was recorded twice", event.name());
            state.apply(&event).unwrap_or_else(|illegal| panic!("{illegal}"));
        }
        state
    }

    /// The journal in few words: `s1/1 exited`, `s1/1 failed`.
    fn told(&self) -> Vec<String> {
        let word = |event: &Event| match event {
            Event::AttemptStarted { step, attempt, .. } => format!("{step}/{attempt} started"),
            Event::AttemptFinished { step, attempt, end: AttemptEnd::Lost, .. } => {
                format!("{step}/{attempt} lost")
            }
            Event::AttemptFinished { step, attempt, .. } => format!("{step}/{attempt} ended"),
            Event::ContractFinished { step, attempt, receipt } => {
                format!("{step}/{attempt} {}", if receipt.verdict.is_passed() { "passed" } else { "failed" })
            }
            Event::AskOpened { ask, .. } => format!("{ask} asked"),
            Event::AskAnswered { ask, .. } => format!("{ask} answered"),
            Event::BudgetWarned { limit, .. } => format!("{limit} warned"),
            Event::RunStarted { .. }
            | Event::AgentsApproved { .. }
            | Event::RunStopped { .. }
            | Event::RunResumed { .. }
            | Event::RunFinished { .. } => event.name().to_owned(),
        };
        self.stage.journal().iter().map(word).collect()
    }

    /// Status and verdicts of each step: what a run means apart from how often it was begun.
    fn meaning(&self) -> Vec<(&'static str, Vec<bool>)> {
        let verdicts =
            |id: &str| self.stage.journal().iter().filter_map(|event| verdict_of(event, id)).collect();
        self.state().steps.iter().map(|step| (step.status.word(), verdicts(&step.id))).collect()
    }
}

/// Every attempt is intended, ended and judged, in this order, and the next step waits for it.
fn order<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, &["", ""], &[]);
    assert_eq!(trial.drive(Meddling::Nothing, |_| {}), Some(Progress::Finished(Outcome::Done)), "order");
    let told = [
        "run.started",
        "s1/1 started",
        "s1/1 ended",
        "s1/1 passed",
        "s2/1 started",
        "s2/1 ended",
        "s2/1 passed",
        "run.finished",
    ];
    assert_eq!(trial.told(), told, "order");
}

/// A failed contract is tried again, as often as the policy says.
fn retry<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, &["retry=2", "retry=1 abort"], &[("s1", &[1, 1, 0]), ("s2", &[1])]);
    assert_eq!(trial.drive(Meddling::Nothing, |_| {}), Some(Progress::Finished(Outcome::Failed)), "retry");
    assert_eq!(
        trial.meaning(),
        [("passed", vec![false, false, true]), ("pending", vec![false, false])],
        "retry"
    );
}

/// A spent step asks, others go on, and each answer works.
fn escalate<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, &["", "", "free"], &[("s1", &[1, 1, 0]), ("s2", &[1])]);
    assert_eq!(trial.drive(Meddling::Nothing, |_| {}), Some(Progress::NeedsPerson), "escalate");
    assert!(matches!(trial.state().steps[2].status, Status::Passed { .. }), "an independent step goes on");
    trial.answer("s1/1", Answer::Retry { hint: "look again".to_owned() });
    assert_eq!(
        trial.drive(Meddling::Nothing, |_| {}),
        Some(Progress::NeedsPerson),
        "one more attempt, and it failed"
    );
    trial.answer("s1/2", Answer::TakeOver);
    assert_eq!(
        trial.drive(Meddling::Nothing, |_| {}),
        Some(Progress::NeedsPerson),
        "the contract judges the person"
    );
    trial.answer("s2/1", Answer::Skip { reason: "not needed".to_owned() });
    assert_eq!(trial.drive(Meddling::Nothing, |_| {}), Some(Progress::Finished(Outcome::Done)), "escalate");
    let expected = [("passed", vec![false, false, true]), ("skipped", vec![false]), ("passed", vec![true])];
    assert_eq!(trial.meaning(), expected, "escalate");
}

/// A stop lets what runs end and nothing begin, until the run is resumed.
fn stop<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, &["", ""], &[]);
    let stop = |event: &Event| {
        if let Event::AttemptStarted { .. } = event {
            trial.stage.record(&Event::RunStopped { by: "ada".to_owned(), when: StopWhen::AfterAttempts });
        }
    };
    assert_eq!(trial.drive(Meddling::Nothing, stop), Some(Progress::Stopped), "stop");
    assert_eq!(
        trial.told(),
        ["run.started", "s1/1 started", "run.stopped", "s1/1 ended", "s1/1 passed"],
        "stop"
    );
    assert_eq!(trial.drive(Meddling::Nothing, |_| {}), Some(Progress::Stopped), "a stopped run stays so");
    trial.stage.record(&Event::RunResumed { by: "ada".to_owned() });
    assert_eq!(trial.drive(Meddling::Nothing, |_| {}), Some(Progress::Finished(Outcome::Done)), "stop");
    assert_eq!(trial.meaning(), [("passed", vec![true]), ("passed", vec![true])], "stop");
}

/// A run that somebody ends is over at once: nothing is recorded behind its end.
fn cancel<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let end = Event::RunFinished { outcome: Outcome::Cancelled, why: "no more".to_owned() };
    for position in 1..=3 {
        let trial = Trial::new(make, &["", ""], &[]);
        let mut count = 0;
        let cancel = |_: &Event| {
            count += 1;
            if count == position {
                trial.stage.record(&end);
            }
        };
        let progress = trial.drive(Meddling::Nothing, cancel);
        assert_eq!(progress, Some(Progress::Finished(Outcome::Cancelled)), "cancel");
        assert_eq!(trial.stage.journal().last(), Some(&end), "cancel");
        assert_eq!(trial.drive(Meddling::Nothing, |_| {}), progress, "a run that is over stays so");
        assert_eq!(trial.state().outcome(), Some(Outcome::Cancelled), "cancel");
    }
}

/// Whenever the driver dies, the next one brings the run to the same end.
fn kill_anywhere<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let lines = ["retry=1", "needs=1 touches=a retry=1", "needs=1 touches=b", "needs=2,3"];
    let codes: [(&str, &[i32]); 2] = [("s1", &[1, 0]), ("s3", &[1, 0])];
    let settle = |meddling: Meddling| {
        let trial = Trial::new(make, &lines, &codes);
        let mut progress = trial.drive(meddling, |_| {});
        for _ in 0..4 {
            if progress == Some(Progress::NeedsPerson) {
                trial.answer("s3/1", Answer::Retry { hint: String::new() });
            }
            if !matches!(progress, Some(Progress::Finished(_))) {
                progress = trial.drive(Meddling::Nothing, |_| {});
            }
        }
        assert_eq!(progress, Some(Progress::Finished(Outcome::Done)), "kill anywhere: {meddling:?}");
        (trial.meaning(), trial.stage.journal().len())
    };
    let (whole, records) = settle(Meddling::Nothing);
    for record in 1..=records {
        assert_eq!(settle(Meddling::DiesBefore(record)).0, whole, "kill anywhere: before record {record}");
        assert_eq!(settle(Meddling::DiesAfter(record)).0, whole, "kill anywhere: after record {record}");
    }
}

/// An answer that comes the moment after the question is asked is not lost.
fn answer_before_wait<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, &["", "free"], &[("s1", &[1, 0])]);
    let answer = |event: &Event| {
        if let Event::AskOpened { ask, .. } = event {
            trial.answer(ask, Answer::Retry { hint: String::new() });
        }
    };
    let mut progress = trial.drive(Meddling::Nothing, answer);
    // A driver that had nothing else to do may leave before it sees the answer; the next one must.
    if progress == Some(Progress::NeedsPerson) {
        progress = trial.drive(Meddling::Nothing, |_| {});
    }
    assert_eq!(progress, Some(Progress::Finished(Outcome::Done)), "answer before wait");
    assert_eq!(
        trial.meaning(),
        [("passed", vec![false, true]), ("passed", vec![true])],
        "answer before wait"
    );
}

/// A result that comes twice is recorded once.
fn duplicate_completion<S: Stage>(make: &impl Fn(&Plan, &Codes) -> S) {
    let trial = Trial::new(make, &["retry=1", "free touches=a"], &[("s1", &[1, 0])]);
    assert_eq!(
        trial.drive(Meddling::Doubles, |_| {}),
        Some(Progress::Finished(Outcome::Done)),
        "duplicate completion"
    );
    assert_eq!(
        trial.meaning(),
        [("passed", vec![false, true]), ("passed", vec![true])],
        "duplicate completion"
    );
}
