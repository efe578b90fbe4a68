//! One run on a stage: how it is driven, what is put between host and driver, and what must hold whatever happens. Knows
//! nothing of a particular host.

use std::cell::Cell;
use std::collections::BTreeSet;

use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{
    AskAnswer, AskEvent, AttemptEnd, AttemptFinish, Event, Judged, RunEvent, StepEvent,
};
use planwright_core::run::schedule::{Action, ScheduleLimits};
use planwright_core::run::state::RunState;
use planwright_engine::run::driver;
use planwright_engine::run::driver::{Host, HostEvent, Progress, Recovered, drive};

use crate::sample::{plan, run_started};
use crate::suite::{Codes, Stage};

/// What is done to a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meddling {
    Nothing,
    /// It dies instead of the n-th record of the run.
    DiesBefore(usize),
    /// It dies right after the n-th record of the run.
    DiesAfter(usize),
    /// It dies when it waits for the first time.
    DiesWaiting,
    /// Every result comes twice.
    Doubles,
}

/// When something can be done beside a driver.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment<'a> {
    /// This is durable; the driver does not know yet.
    Durable(&'a Event),
    /// The driver is about to wait.
    Waits,
}

struct Meddled<'a, S: Stage> {
    host: S::Host,
    stage: &'a S,
    meddling: Meddling,
    /// Records of the whole run.
    records: &'a Cell<usize>,
    again: Option<Box<Event>>,
    scene: &'a mut dyn FnMut(Moment<'_>),
}

#[derive(Debug, thiserror::Error)]
enum Error<E: std::error::Error + 'static> {
    #[error("the host failed")]
    Host(#[source] E),
    #[error("the driver died")]
    Died,
}

impl<S: Stage> Meddled<'_, S> {
    /// Records, and holds that all of it or nothing is in the journal then.
    fn record_whole(
        &mut self,
        state: &RunState,
        events: &[Event],
    ) -> Result<Vec<Event>, Error<<S::Host as Host>::Error>> {
        let begun = self.stage.begun();
        for intent in
            events.iter().filter(|event| matches!(event, Event::Step { event: StepEvent::Started(_), .. }))
        {
            let name = name(intent);
            assert!(!begun.contains(&name), "{name} began before its intent was durable");
        }
        let mut expected = self.stage.journal();
        let theirs = self.host.record(state, events).map_err(Error::Host)?;
        if theirs.is_empty() {
            expected.extend_from_slice(events);
        } else {
            assert!(expected.ends_with(&theirs), "others recorded something else: {theirs:?}");
        }
        assert_eq!(self.stage.journal(), expected, "a record is all of it or nothing");
        Ok(theirs)
    }
}

impl<S: Stage> Host for Meddled<'_, S> {
    type Error = Error<<S::Host as Host>::Error>;

    fn history(&mut self) -> Result<Vec<Event>, Self::Error> {
        self.host.history().map_err(Error::Host)
    }

    fn record(&mut self, state: &RunState, events: &[Event]) -> Result<Vec<Event>, Self::Error> {
        self.records.set(self.records.get() + 1);
        if self.meddling == Meddling::DiesBefore(self.records.get()) {
            return Err(Error::Died);
        }
        let theirs = self.record_whole(state, events)?;
        if theirs.is_empty() {
            for event in events {
                if let Event::Step { event: StepEvent::Finished(_), .. } = event {
                    let name = name(event);
                    assert!(!self.stage.alive().contains(&name), "{name} is recorded as over and is alive");
                }
                (self.scene)(Moment::Durable(event));
            }
        }
        if self.meddling == Meddling::DiesAfter(self.records.get()) { Err(Error::Died) } else { Ok(theirs) }
    }

    fn intend(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Event, Self::Error> {
        self.host.intend(state, step, attempt).map_err(Error::Host)
    }

    fn question(&mut self, state: &RunState, ask: &Action) -> Result<String, Self::Error> {
        self.host.question(state, ask).map_err(Error::Host)
    }

    fn tree(&mut self) -> Result<String, Self::Error> {
        self.host.tree().map_err(Error::Host)
    }

    fn begin(&mut self, state: &RunState, command: &Action) -> Result<(), Self::Error> {
        self.host.begin(state, command).map_err(Error::Host)
    }

    fn recover(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Recovered, Self::Error> {
        self.host.recover(state, step, attempt).map_err(Error::Host)
    }

    fn interrupt(&mut self) -> Result<(), Self::Error> {
        self.host.interrupt().map_err(Error::Host)
    }

    fn next(&mut self, wake: Option<u64>) -> Result<HostEvent, Self::Error> {
        if let Some(event) = self.again.take() {
            return Ok(HostEvent::Ended(event));
        }
        (self.scene)(Moment::Waits);
        if self.meddling == Meddling::DiesWaiting {
            return Err(Error::Died);
        }
        let happening = self.host.next(wake).map_err(Error::Host)?;
        if let (Meddling::Doubles, HostEvent::Ended(event)) = (self.meddling, &happening) {
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
pub(crate) struct Trial<S> {
    pub(crate) stage: S,
    plan: Plan,
    records: Cell<usize>,
}

impl<S: Stage> Trial<S> {
    pub(crate) fn new(make: &impl Fn(&Plan, &Codes) -> S, lines: &str, codes: &[(&str, &[i32])]) -> Self {
        let plan = plan(lines);
        let codes = codes.iter().map(|(step, codes)| ((*step).to_owned(), codes.to_vec())).collect();
        let stage = make(&plan, &codes);
        stage.record(&run_started());
        Self { plan, stage, records: Cell::new(0) }
    }

    /// One driver, to its end. `None`: it died.
    pub(crate) fn drive(&self, meddling: Meddling, mut scene: impl FnMut(Moment<'_>)) -> Option<Progress> {
        let (host, stage, records) = (self.stage.host(), &self.stage, &self.records);
        let mut host = Meddled { host, stage, meddling, records, again: None, scene: &mut scene };
        let limits = ScheduleLimits { jobs: 2, ..ScheduleLimits::default() };
        let progress = match drive(&self.plan, &limits, &mut host, &mut |_, _| {}) {
            Ok(progress) => Some(progress),
            Err(driver::Error::Host(Error::Died)) => None,
            Err(error) => panic!("{}", chain(&error)),
        };
        drop(host);
        self.check(progress.as_ref());
        progress
    }

    /// One driver that nobody disturbs.
    pub(crate) fn go_on(&self) -> Option<Progress> {
        self.drive(Meddling::Nothing, |_| {})
    }

    /// What holds whenever a driver is gone: no attempt began twice, nor without an intent, and none that has ended, or was
    /// waited for, is alive.
    fn check(&self, progress: Option<&Progress>) {
        let mut begun = BTreeSet::new();
        for name in self.stage.begun() {
            assert!(begun.insert(name.clone()), "{name} began twice");
        }
        let journal = self.stage.journal();
        let intents =
            journal.iter().filter(|event| matches!(event, Event::Step { event: StepEvent::Started(_), .. }));
        let intents: BTreeSet<String> = intents.map(name).collect();
        assert!(begun.is_subset(&intents), "{begun:?} began, and only {intents:?} were intended");
        match progress {
            None | Some(Progress::Left) => {}
            Some(
                Progress::Finished(_)
                | Progress::NeedsPerson
                | Progress::Reached
                | Progress::Stopped
                | Progress::Edited,
            ) => assert_eq!(self.stage.alive(), BTreeSet::new(), "an attempt outlives {progress:?}"),
        }
    }

    /// How many records the run had so far.
    pub(crate) fn records(&self) -> usize {
        self.records.get()
    }

    pub(crate) fn answer(&self, ask: &str, answer: AskAnswer) {
        self.stage.record(&Event::Ask {
            ask: ask.to_owned(),
            event: AskEvent::Answered { answer, by: "ada".to_owned() },
        });
    }

    pub(crate) fn resume(&self) {
        self.stage.record(&Event::Run(RunEvent::Resumed { by: "ada".to_owned() }));
    }

    pub(crate) fn state(&self) -> RunState {
        let mut state = RunState::new(&self.plan);
        let mut keys = BTreeSet::new();
        for event in self.stage.journal() {
            assert!(event.key().is_none_or(|key| keys.insert(key)), "{} was recorded twice", event.name());
            state.apply(&event).unwrap_or_else(|illegal| panic!("{illegal}"));
        }
        state
    }

    /// The journal in few words: `s1/1 ended`, `s1/1 failed`.
    pub(crate) fn told(&self) -> Vec<String> {
        self.stage.journal().iter().map(word).collect()
    }

    /// Status and verdicts of each step: what a run means apart from how often it was begun.
    pub(crate) fn meaning(&self) -> Vec<(&'static str, Vec<bool>)> {
        let journal = self.stage.journal();
        let verdicts = |id: &str| journal.iter().filter_map(|event| verdict_of(event, id)).collect();
        self.state().steps.iter().map(|step| (step.status.word(), verdicts(&step.id))).collect()
    }
}

/// The attempt that an event is about: `s1/2`.
fn name(event: &Event) -> String {
    let of = match event {
        Event::Step { event, .. } => event.of().to_string(),
        Event::Run(_) | Event::Ask { .. } => String::new(),
    };
    format!("{}/{of}", event.step().unwrap_or_default())
}

fn word(event: &Event) -> String {
    match event {
        Event::Step { event: StepEvent::Started(_), .. } => format!("{} started", name(event)),
        Event::Step { event: StepEvent::Finished(AttemptFinish { end, .. }), .. } => {
            let end = match end {
                AttemptEnd::Lost => "lost",
                AttemptEnd::Stopped => "stopped",
                AttemptEnd::Exited(_)
                | AttemptEnd::Signalled(_)
                | AttemptEnd::TimedOut(_)
                | AttemptEnd::Parked { .. }
                | AttemptEnd::Faulted(_) => "ended",
            };
            format!("{} {end}", name(event))
        }
        Event::Step { event: StepEvent::Faulted { .. }, .. } => format!("{} unjudged", name(event)),
        Event::Step { event: StepEvent::Judged { receipt, .. }, .. } => {
            format!("{} {}", name(event), if receipt.verdict.is_passed() { "passed" } else { "failed" })
        }
        Event::Ask { ask, event: AskEvent::Opened { .. } } => format!("{ask} asked"),
        Event::Ask { ask, event: AskEvent::Answered { .. } } => format!("{ask} answered"),
        Event::Run(RunEvent::BudgetWarned { limit, .. }) => format!("{limit} warned"),
        Event::Run(_) => event.name().to_owned(),
    }
}

/// Whether an attempt at the step passed, or a claim, if the event is a verdict about it.
pub(crate) fn verdict_of(event: &Event, id: &str) -> Option<bool> {
    if let Event::Step {
        step,
        event: StepEvent::Judged { of: Judged::Claim | Judged::Attempt(_), receipt, .. },
    } = event
        && step == id
    {
        return Some(receipt.verdict.is_passed());
    }
    None
}

/// An error and what lies below it, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let below = std::iter::successors(error.source(), |error| error.source());
    below.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}
