//! The one loop: replay, decide, make the intent durable, act, observe, record. A first run is a resume from an empty
//! journal: there is no second path for recovery. The world is reached through [`Host`] alone.

use std::collections::BTreeSet;

use planwright_core::agent::profile::Account;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{AttemptEnd, Event, Outcome, StopWhen, Usage};
use planwright_core::run::schedule::{Command, Limits, decide};
use planwright_core::run::state::{Illegal, Phase, RunState, Status};

/// What the driver needs of the world. The embedded host keeps a journal in `SQLite` and runs agents as processes;
/// another host must pass the same conformance suite.
pub trait Host {
    /// Why the host failed.
    type Error: std::error::Error + 'static;

    /// Everything that was recorded so far.
    fn history(&mut self) -> Result<Vec<Event>, Self::Error>;

    /// Makes events durable, all or none: they are when this returns nothing. Where others recorded something that this
    /// driver has not seen, nothing is recorded and theirs is returned, or a cancelled run would get results behind its end.
    /// `state` is the fold with them, for whoever keeps lists of runs.
    fn record(&mut self, state: &RunState, events: &[Event]) -> Result<Vec<Event>, Self::Error>;

    /// What is to be recorded before an attempt begins.
    fn intend(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Event, Self::Error>;

    /// What a person is to be told.
    fn question(&mut self, state: &RunState, ask: &Command) -> Result<String, Self::Error>;

    /// Begins an attempt or a contract. Its result comes from [`Host::next`].
    fn begin(&mut self, state: &RunState, command: &Command) -> Result<(), Self::Error>;

    /// Says what became of an attempt that an earlier driver began: dead, which is proven then, or still under way.
    fn recover(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Recovered, Self::Error>;

    /// Ends the attempts that are under way. Their results come from [`Host::next`] as that of any other.
    fn interrupt(&mut self) -> Result<(), Self::Error>;

    /// Waits for what happens next, until `wake` at the latest.
    fn next(&mut self, wake: Option<u64>) -> Result<Happening, Self::Error>;

    /// The time, in milliseconds since 1970.
    fn now(&self) -> u64;

    /// Whether the plan still is what was approved. `false` pauses the run before anything else is started.
    fn is_current(&mut self) -> Result<bool, Self::Error>;
}

/// What became of an attempt that an earlier driver began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing of it is alive.
    Dead,
    /// A worker is at it, or will be: its result comes from [`Host::next`].
    UnderWay,
}

/// Something that a host reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// An attempt or a contract ended. Not recorded yet.
    Ended(Box<Event>),
    /// A contract was ended before it could tell anything.
    Dropped {
        /// The step, as a place in the plan.
        step: usize,
        /// The attempt that was to be judged.
        attempt: u32,
    },
    /// Somebody else recorded these: answers, a stop.
    Recorded(Vec<Event>),
    /// The time that was waited for has come.
    Time,
    /// The user wants to leave: nothing new begins. What this process has under way is being ended.
    Leave,
    /// The user wants to leave, and nothing of this process is under way any more.
    Left,
}

/// How far a drive came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The run is over.
    Finished(Outcome),
    /// Only a person can go on.
    NeedsPerson,
    /// The steps that were to be done are; others are left.
    Reached,
    /// A person stopped it.
    Stopped,
    /// The plan is no longer what was approved.
    Edited,
    Left,
}

/// Why a drive failed.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
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
    let mut driver = Driver {
        plan,
        limits,
        host,
        watch,
        state: RunState::new(plan),
        under_way: BTreeSet::new(),
        unrecorded: Vec::new(),
        recorded: 0,
        is_leaving: false,
    };
    driver.replay()?;
    driver.recover()?;
    driver.go_on()
}

struct Driver<'a, H: Host> {
    plan: &'a Plan,
    limits: &'a Limits,
    host: &'a mut H,
    watch: &'a mut dyn FnMut(&RunState, &Event),
    /// The fold of what is recorded and what is about to be.
    state: RunState,
    /// Keys of the commands whose results are awaited.
    under_way: BTreeSet<String>,
    /// What happened and is to be recorded with what follows from it, in one act. Nothing rests on it before that but
    /// contracts, which only look.
    unrecorded: Vec<Event>,
    /// How many recorded events the state holds.
    recorded: usize,
    is_leaving: bool,
}

impl<H: Host> Driver<'_, H> {
    /// Folds the journal anew, and returns what was not known of it.
    fn replay(&mut self) -> Result<Vec<Event>, Error<H::Error>> {
        self.state = RunState::new(self.plan);
        let mut history = self.host.history().map_err(Error::Host)?;
        for event in &history {
            self.state.apply(event).map_err(Error::Journal)?;
        }
        let known = std::mem::replace(&mut self.recorded, history.len());
        Ok(history.split_off(known.min(history.len())))
    }

    /// Attempts that an earlier driver began and that never ended are lost, once nothing of them is alive, or go on where
    /// another process is at them. A run that is over has no place for that, so there they are only ended.
    fn recover(&mut self) -> Result<(), Error<H::Error>> {
        for step in 0..self.state.steps.len() {
            let Status::Running { attempt } = self.state.steps[step].status else { continue };
            let recovered = self.host.recover(&self.state, step, attempt).map_err(Error::Host)?;
            if self.state.outcome().is_some() {
                continue;
            }
            match recovered {
                Recovered::UnderWay => {
                    self.under_way.insert(Command::Attempt { step, attempt }.key(self.plan));
                }
                Recovered::Dead => self.happen(lost(&self.plan.steps[step].id, attempt))?,
            }
        }
        self.flush().map(drop)
    }

    fn go_on(&mut self) -> Result<Progress, Error<H::Error>> {
        loop {
            let mut wake = None;
            let mut is_current = true;
            if !self.is_leaving && self.state.outcome().is_none() {
                is_current = self.host.is_current().map_err(Error::Host)?;
                if is_current {
                    wake = self.perform_all()?;
                }
            }
            if !self.flush()? {
                continue;
            }
            if let Some(outcome) = self.state.outcome() {
                // Somebody else may have ended the run while an agent was at work.
                self.recover()?;
                return Ok(Progress::Finished(outcome));
            }
            if !self.is_leaving && self.under_way.is_empty() && wake.is_none() {
                return Ok(if is_current { self.rest() } else { Progress::Edited });
            }
            if self.wait(wake)? {
                return Ok(Progress::Left);
            }
        }
    }

    /// Why nothing is to be done.
    fn rest(&self) -> Progress {
        let is_restricted = self.limits.steps.is_some() && self.state.asks.is_empty();
        match self.state.phase {
            Phase::Stopped => Progress::Stopped,
            Phase::New | Phase::Running | Phase::Finished(_) if is_restricted => Progress::Reached,
            Phase::New | Phase::Running | Phase::Finished(_) => Progress::NeedsPerson,
        }
    }

    /// Waits for what happens next, and returns whether the user has left.
    fn wait(&mut self, wake: Option<u64>) -> Result<bool, Error<H::Error>> {
        match self.host.next(wake).map_err(Error::Host)? {
            Happening::Ended(event) => self.end(*event)?,
            Happening::Dropped { step, attempt } => {
                self.under_way.remove(&Command::Contract { step, attempt }.key(self.plan));
            }
            Happening::Recorded(events) => self.take_all(&events)?,
            Happening::Time => {}
            Happening::Leave => self.is_leaving = true,
            Happening::Left => return Ok(true),
        }
        Ok(false)
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
                self.happen(intent)?;
                if self.flush()? { self.begin(command) } else { Ok(()) }
            }
            Command::Contract { .. } => self.begin(command),
            Command::Ask { ask, step, reason } => {
                let text = self.host.question(&self.state, command).map_err(Error::Host)?;
                let step = step.map(|place| self.plan.steps[place].id.clone());
                self.happen(Event::AskOpened { ask: ask.clone(), step, reason: *reason, text })
            }
            Command::Warn { limit, percent } => {
                self.happen(Event::BudgetWarned { limit: (*limit).to_owned(), percent: *percent })
            }
            Command::Finish { outcome, why } => {
                self.happen(Event::RunFinished { outcome: *outcome, why: why.clone() })
            }
            Command::Wake { .. } => Ok(()),
        }
    }

    fn begin(&mut self, command: &Command) -> Result<(), Error<H::Error>> {
        self.host.begin(&self.state, command).map_err(Error::Host)?;
        self.under_way.insert(command.key(self.plan));
        Ok(())
    }

    /// Takes a result that is awaited. Any other is one that came twice, or of an earlier driver: its attempt was given up,
    /// so nothing waits for it.
    fn end(&mut self, event: Event) -> Result<(), Error<H::Error>> {
        let is_awaited = awaited(&event).is_some_and(|key| self.under_way.contains(&key));
        if is_awaited && self.state.outcome().is_none() { self.happen(event) } else { Ok(()) }
    }

    /// Folds an event of our own into the state; [`Driver::flush`] makes it durable.
    fn happen(&mut self, event: Event) -> Result<(), Error<H::Error>> {
        self.state.apply(&event).map_err(Error::Journal)?;
        if let Some(key) = awaited(&event) {
            self.under_way.remove(&key);
        }
        self.unrecorded.push(event);
        Ok(())
    }

    /// Makes durable what has happened, and returns whether it did. Where others came first theirs is taken up, what was
    /// decided without it has to be decided anew, and results are kept for the next time.
    fn flush(&mut self) -> Result<bool, Error<H::Error>> {
        if self.unrecorded.is_empty() {
            return Ok(true);
        }
        let ours = std::mem::take(&mut self.unrecorded);
        let theirs = self.host.record(&self.state, &ours).map_err(Error::Host)?;
        if theirs.is_empty() {
            self.recorded += ours.len();
            for event in &ours {
                (self.watch)(&self.state, event);
            }
            return Ok(true);
        }
        // By now there may be more than theirs.
        let unseen = self.replay()?;
        self.see_all(&unseen)?;
        for result in ours.into_iter().filter(|event| awaited(event).is_some()) {
            // A run that they ended has no place for it; a step that they settled has none either.
            if self.state.apply(&result).is_ok() {
                self.unrecorded.push(result);
            }
        }
        Ok(false)
    }

    /// Takes up what others recorded.
    fn take_all(&mut self, events: &[Event]) -> Result<(), Error<H::Error>> {
        for event in events {
            self.state.apply(event).map_err(Error::Journal)?;
            if let Some(key) = awaited(event) {
                self.under_way.remove(&key);
            }
        }
        self.recorded += events.len();
        self.see_all(events)
    }

    /// Shows what others recorded, and does what they want done at once.
    fn see_all(&mut self, events: &[Event]) -> Result<(), Error<H::Error>> {
        for event in events {
            if matches!(event, Event::RunStopped { when: StopWhen::Now, .. }) {
                self.host.interrupt().map_err(Error::Host)?;
            }
            (self.watch)(&self.state, event);
        }
        Ok(())
    }
}

/// An attempt of which nothing is alive, and nobody knows how it ended.
pub(crate) fn lost(step: &str, attempt: u32) -> Event {
    Event::AttemptFinished {
        step: step.to_owned(),
        attempt,
        end: AttemptEnd::Lost,
        output: None,
        usage: Usage::default(),
        changed: Vec::new(),
        account: Account::default(),
    }
}

/// The key of the command whose result this is.
fn awaited(event: &Event) -> Option<String> {
    match event {
        Event::AttemptFinished { step, attempt, .. } => Some(format!("{step}/{attempt}/attempt")),
        Event::ContractFinished { step, attempt, .. } => Some(format!("{step}/{attempt}/contract")),
        Event::RunStarted { .. }
        | Event::AgentsApproved { .. }
        | Event::AttemptStarted { .. }
        | Event::AskOpened { .. }
        | Event::AskAnswered { .. }
        | Event::BudgetWarned { .. }
        | Event::RunStopped { .. }
        | Event::RunResumed { .. }
        | Event::StepsReopened { .. }
        | Event::RunFinished { .. } => None,
    }
}
