//! The one loop: replay, decide, make the intent durable, act, observe, record. A first run is a resume from an empty
//! journal: there is no second path for recovery. The world is reached through [`Host`] alone.

use std::collections::BTreeSet;

use planwright_core::decide::{Command, Limits, decide};
use planwright_core::event::{AttemptEnd, Event, Outcome, Usage};
use planwright_core::plan::Plan;
use planwright_core::run::{Illegal, RunState, Status};

/// What the driver needs of the world. The embedded host keeps a journal in `SQLite` and runs agents as processes;
/// another host must pass the same conformance suite.
pub trait Host {
    /// Why the host failed.
    type Error: std::error::Error + 'static;

    /// Everything that was recorded so far.
    fn history(&mut self) -> Result<Vec<Event>, Self::Error>;

    /// Makes events durable, all or none: they are when this returns nothing. Where others recorded something that this
    /// driver has not seen, nothing is recorded and theirs is returned, or a cancelled run would get results behind its end.
    fn record(&mut self, events: &[Event]) -> Result<Vec<Event>, Self::Error>;

    /// What is to be recorded before an attempt begins.
    fn intend(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Event, Self::Error>;

    /// What a person is to be told.
    fn question(&mut self, state: &RunState, ask: &Command) -> Result<String, Self::Error>;

    /// Begins an attempt or a contract. Its result comes from [`Host::next`].
    fn begin(&mut self, state: &RunState, command: &Command) -> Result<(), Self::Error>;

    /// Proves that nothing of an attempt is alive which an earlier driver left behind.
    fn bury(&mut self, step: usize, attempt: u32) -> Result<(), Self::Error>;

    /// Waits for what happens next, until `wake` at the latest.
    fn next(&mut self, wake: Option<u64>) -> Result<Happening, Self::Error>;

    /// The time, in milliseconds since 1970.
    fn now(&self) -> u64;

    /// Whether the plan still is what was approved. `false` pauses the run before anything else is started.
    fn is_current(&mut self) -> Result<bool, Self::Error>;
}

/// Something that a host reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// An attempt or a contract ended. Not recorded yet.
    Ended(Event),
    /// Somebody else recorded these: answers, a stop.
    Recorded(Vec<Event>),
    /// The time that was waited for has come.
    Time,
    /// The user wants to leave; everything that runs is ended first.
    Leave,
}

/// How far a drive came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The run is over.
    Finished(Outcome),
    /// Only a person can go on.
    NeedsPerson,
    /// A person stopped it.
    Stopped,
    /// The plan is no longer what was approved.
    Edited,
    /// The user left.
    Left,
}

/// Why a drive failed.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
    /// The host failed.
    #[error("the run can't go on")]
    Host(#[source] E),
    /// The journal does not fit the plan.
    #[error("the journal is broken")]
    Journal(#[source] Illegal),
}

/// Drives a run as far as it goes. `watch` sees every event after it is durable.
pub fn drive<H: Host>(
    plan: &Plan,
    limits: &Limits,
    host: &mut H,
    watch: &mut dyn FnMut(&RunState, &Event),
) -> Result<Progress, Error<H::Error>> {
    let mut driver =
        Driver { plan, limits, host, watch, state: RunState::new(plan), under_way: BTreeSet::new() };
    driver.replay()?;
    driver.bury_the_dead()?;
    driver.go_on()
}

struct Driver<'a, H: Host> {
    plan: &'a Plan,
    limits: &'a Limits,
    host: &'a mut H,
    watch: &'a mut dyn FnMut(&RunState, &Event),
    state: RunState,
    /// Keys of the commands whose results are awaited.
    under_way: BTreeSet<String>,
}

impl<H: Host> Driver<'_, H> {
    fn replay(&mut self) -> Result<(), Error<H::Error>> {
        for event in self.host.history().map_err(Error::Host)? {
            self.state.apply(&event).map_err(Error::Journal)?;
        }
        Ok(())
    }

    /// Attempts that an earlier driver began and never ended are lost, once nothing of them is alive. A run that is over
    /// has no place for that, so there they are only ended.
    fn bury_the_dead(&mut self) -> Result<(), Error<H::Error>> {
        for place in 0..self.state.steps.len() {
            let Status::Running { attempt } = self.state.steps[place].status else { continue };
            self.host.bury(place, attempt).map_err(Error::Host)?;
            if self.state.outcome().is_some() {
                continue;
            }
            let lost = Event::AttemptFinished {
                step: self.plan.steps[place].id.clone(),
                attempt,
                end: AttemptEnd::Lost,
                output: None,
                usage: Usage::default(),
                changed: Vec::new(),
            };
            self.record_result(&lost)?;
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<Progress, Error<H::Error>> {
        loop {
            if let Some(outcome) = self.state.outcome() {
                // Somebody else may have ended the run while an agent was at work.
                self.bury_the_dead()?;
                return Ok(Progress::Finished(outcome));
            }
            let is_current = self.host.is_current().map_err(Error::Host)?;
            let mut wake = None;
            if is_current {
                wake = self.perform_all()?;
            }
            if self.state.outcome().is_some() {
                continue;
            }
            if self.under_way.is_empty() && wake.is_none() {
                return Ok(match (is_current, &self.state.phase) {
                    (false, _) => Progress::Edited,
                    (true, planwright_core::run::Phase::Stopped) => Progress::Stopped,
                    (true, _) => Progress::NeedsPerson,
                });
            }
            match self.host.next(wake).map_err(Error::Host)? {
                Happening::Ended(event) => self.end(&event)?,
                Happening::Recorded(events) => {
                    for event in events {
                        self.take(&event)?;
                    }
                }
                Happening::Time => {}
                Happening::Leave => return Ok(Progress::Left),
            }
        }
    }

    /// Does everything that is to be done now; what has been recorded may make more of it.
    fn perform_all(&mut self) -> Result<Option<u64>, Error<H::Error>> {
        loop {
            let commands = decide(self.plan, &self.state, self.limits, self.host.now());
            let is_new = |command: &&Command| {
                !matches!(command, Command::Wake { .. }) && !self.under_way.contains(&command.key(self.plan))
            };
            match commands.iter().find(is_new).cloned() {
                Some(command) => self.perform(&command)?,
                None => return Ok(commands.iter().find_map(Command::wake)),
            }
            if self.state.outcome().is_some() {
                return Ok(None);
            }
        }
    }

    /// The intent is durable before the act; acts that only look need none.
    fn perform(&mut self, command: &Command) -> Result<(), Error<H::Error>> {
        match command {
            Command::Attempt { step, attempt } => {
                let intent = self.host.intend(&self.state, *step, *attempt).map_err(Error::Host)?;
                let key = Some(format!("{}/{attempt}/attempt.started", self.plan.steps[*step].id));
                assert!(intent.key() == key, "a host intends what it is told: {intent:?} is not {key:?}");
                if self.record(&intent)? { self.begin(command) } else { Ok(()) }
            }
            Command::Contract { .. } => self.begin(command),
            Command::Ask { ask, step, reason } => {
                let text = self.host.question(&self.state, command).map_err(Error::Host)?;
                let step = step.map(|place| self.plan.steps[place].id.clone());
                self.record(&Event::AskOpened { ask: ask.clone(), step, reason: *reason, text }).map(drop)
            }
            Command::Warn { limit, percent } => {
                self.record(&Event::BudgetWarned { limit: (*limit).to_owned(), percent: *percent }).map(drop)
            }
            Command::Finish { outcome, why } => {
                self.record(&Event::RunFinished { outcome: *outcome, why: why.clone() }).map(drop)
            }
            Command::Wake { .. } => Ok(()),
        }
    }

    fn begin(&mut self, command: &Command) -> Result<(), Error<H::Error>> {
        self.host.begin(&self.state, command).map_err(Error::Host)?;
        self.under_way.insert(command.key(self.plan));
        Ok(())
    }

    /// Records a result that is awaited. Any other is one that came twice, or of an earlier driver: its attempt was buried,
    /// so nothing waits for it.
    fn end(&mut self, event: &Event) -> Result<(), Error<H::Error>> {
        let is_awaited = awaited(event).is_some_and(|key| self.under_way.contains(&key));
        if is_awaited { self.record_result(event) } else { Ok(()) }
    }

    /// Records what has happened, however often others come first. Nothing happens to a run that they ended.
    fn record_result(&mut self, event: &Event) -> Result<(), Error<H::Error>> {
        while self.state.outcome().is_none() {
            if self.record(event)? {
                break;
            }
        }
        Ok(())
    }

    /// Records one event and returns whether it did. Where others came first theirs is taken up instead, and what was
    /// decided without it has to be decided anew.
    fn record(&mut self, event: &Event) -> Result<bool, Error<H::Error>> {
        let theirs = self.host.record(std::slice::from_ref(event)).map_err(Error::Host)?;
        if theirs.is_empty() {
            self.take(event)?;
            return Ok(true);
        }
        for event in theirs {
            self.take(&event)?;
        }
        Ok(false)
    }

    fn take(&mut self, event: &Event) -> Result<(), Error<H::Error>> {
        self.state.apply(event).map_err(Error::Journal)?;
        if let Some(key) = awaited(event) {
            self.under_way.remove(&key);
        }
        (self.watch)(&self.state, event);
        Ok(())
    }
}

/// The key of the command whose result this is.
fn awaited(event: &Event) -> Option<String> {
    match event {
        Event::AttemptFinished { step, attempt, .. } => Some(format!("{step}/{attempt}/attempt")),
        Event::ContractFinished { step, attempt, .. } => Some(format!("{step}/{attempt}/contract")),
        Event::RunStarted { .. }
        | Event::AttemptStarted { .. }
        | Event::AskOpened { .. }
        | Event::AskAnswered { .. }
        | Event::BudgetWarned { .. }
        | Event::RunStopped { .. }
        | Event::RunResumed { .. }
        | Event::RunFinished { .. } => None,
    }
}
