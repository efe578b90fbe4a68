//! Hosts that break a rule, so that the suite itself is tried: each is a true host with one thing wrong.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{Event, StepEvent};
use planwright_core::run::schedule::Action;
use planwright_core::run::state::RunState;
use planwright_engine::run::driver::{Host, HostEvent, Recovered};

use crate::suite::{Codes, Stage, conformance};

/// The rule that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breach {
    /// Begins an attempt before its intent is durable.
    BeginsFirst,
    /// Records every result twice.
    RecordsTwice,
    /// Records the first of several events and says that all are durable.
    RecordsHalf,
    /// Says that nothing of an attempt is alive, and leaves it alive.
    BuriesNothing,
}

/// What the suite says to a host that breaks a rule.
pub(crate) fn refusal<S: Stage>(make: impl Fn(&Plan, &Codes) -> S, breach: Breach) -> String {
    let make = |plan: &Plan, codes: &Codes| Sabotaged { stage: make(plan, codes), breach };
    let refused = catch_unwind(AssertUnwindSafe(|| conformance(make)));
    let Err(said) = refused else { panic!("the suite lets {breach:?} pass") };
    let text = said.downcast_ref::<String>().cloned();
    text.or_else(|| said.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}

#[derive(Clone)]
struct Sabotaged<S> {
    stage: S,
    breach: Breach,
}

impl<S: Stage> Stage for Sabotaged<S> {
    type Host = Saboteur<S>;

    fn host(&self) -> Saboteur<S> {
        Saboteur { host: self.stage.host(), stage: self.stage.clone(), breach: self.breach }
    }

    fn record(&self, event: &Event) {
        self.stage.record(event);
    }

    fn journal(&self) -> Vec<Event> {
        self.stage.journal()
    }

    fn hold(&self, step: &str) {
        self.stage.hold(step);
    }

    fn release(&self, step: &str) {
        self.stage.release(step);
    }

    fn employ(&self) {
        self.stage.employ();
    }

    fn leave(&self) {
        self.stage.leave();
    }

    fn begun(&self) -> Vec<String> {
        self.stage.begun()
    }

    fn until_begun(&self, attempt: &str) {
        self.stage.until_begun(attempt);
    }

    fn alive(&self) -> BTreeSet<String> {
        self.stage.alive()
    }
}

struct Saboteur<S: Stage> {
    host: S::Host,
    stage: S,
    breach: Breach,
}

impl<S: Stage> Host for Saboteur<S> {
    type Error = <S::Host as Host>::Error;

    fn history(&mut self) -> Result<Vec<Event>, Self::Error> {
        self.host.history()
    }

    fn record(&mut self, state: &RunState, events: &[Event]) -> Result<Vec<Event>, Self::Error> {
        let is_result = |event: &&Event| {
            matches!(
                event,
                Event::Step { event: StepEvent::Finished(_), .. }
                    | Event::Step { event: StepEvent::Judged { .. }, .. }
            )
        };
        let results: Vec<Event> = events.iter().filter(is_result).cloned().collect();
        match self.breach {
            Breach::RecordsTwice if !results.is_empty() => {
                let theirs = self.host.record(state, events)?;
                if theirs.is_empty() { self.host.record(state, &results) } else { Ok(theirs) }
            }
            Breach::RecordsHalf => self.host.record(state, &events[..1]),
            Breach::RecordsTwice | Breach::BeginsFirst | Breach::BuriesNothing => {
                self.host.record(state, events)
            }
        }
    }

    fn intend(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Event, Self::Error> {
        let intent = self.host.intend(state, step, attempt)?;
        if self.breach == Breach::BeginsFirst {
            self.host.begin(state, &Action::Attempt { step, attempt })?;
            self.stage.until_begun(&format!("{}/{attempt}", state.steps[step].id));
        }
        Ok(intent)
    }

    fn question(&mut self, state: &RunState, ask: &Action) -> Result<String, Self::Error> {
        self.host.question(state, ask)
    }

    fn tree(&mut self) -> Result<String, Self::Error> {
        self.host.tree()
    }

    fn begin(&mut self, state: &RunState, command: &Action) -> Result<(), Self::Error> {
        self.host.begin(state, command)
    }

    fn recover(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Recovered, Self::Error> {
        match self.breach {
            Breach::BuriesNothing => Ok(Recovered::Dead),
            Breach::BeginsFirst | Breach::RecordsTwice | Breach::RecordsHalf => {
                self.host.recover(state, step, attempt)
            }
        }
    }

    fn interrupt(&mut self) -> Result<(), Self::Error> {
        self.host.interrupt()
    }

    fn next(&mut self, wake: Option<u64>) -> Result<HostEvent, Self::Error> {
        self.host.next(wake)
    }

    fn now(&self) -> u64 {
        self.host.now()
    }

    fn is_current(&mut self) -> Result<bool, Self::Error> {
        self.host.is_current()
    }
}
