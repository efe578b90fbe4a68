//! The one loop: replay, decide, make the intent durable, act, observe, record. A first run is a resume from
//! an empty journal, so there is no second path for recovery. Reaches the world through [`Host`] alone.

use std::collections::BTreeSet;

use planwright_core::agent::account::{Account, Usage};
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{
    AskEvent, AttemptEnd, AttemptFinish, Event, Judged, RunEvent, RunOutcome, StepEvent, StopMode,
};
use planwright_core::run::schedule::{Action, ScheduleLimits, next_actions};
use planwright_core::run::state::{Illegal, Phase, RunState, StepStatus};

/// What the driver needs of the world. The embedded host keeps a journal in `SQLite` and runs agents as
/// processes; another host must pass the same conformance suite.
pub trait Host {
    type Error: std::error::Error + 'static;

    /// Everything recorded so far.
    fn history(&mut self) -> Result<Vec<Event>, Self::Error>;

    /// Makes events durable, all or none; an empty result means they are. If others recorded something that
    /// this driver has not seen, nothing is recorded and theirs is returned: otherwise a cancelled run would
    /// get results after its end. `state` is the fold including them, for whoever keeps lists of runs.
    fn record(&mut self, state: &RunState, events: &[Event]) -> Result<Vec<Event>, Self::Error>;

    /// What to record before an attempt starts.
    fn intend(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Event, Self::Error>;

    /// The text of a question to the user.
    fn question(&mut self, state: &RunState, ask: &Action) -> Result<String, Self::Error>;

    /// The hash of what is in the workspace now: the tree that a closing check is about.
    fn tree(&mut self) -> Result<String, Self::Error>;

    /// Starts an attempt or a contract. Its result comes from [`Host::next`].
    fn begin(&mut self, state: &RunState, command: &Action) -> Result<(), Self::Error>;

    /// What became of an attempt that an earlier process started: dead, which is then proven, or still
    /// running.
    fn recover(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Recovered, Self::Error>;

    /// Ends the running attempts. Their results come from [`Host::next`] as usual.
    fn interrupt(&mut self) -> Result<(), Self::Error>;

    /// Waits for what happens next, until `wake` at the latest.
    fn next(&mut self, wake: Option<u64>) -> Result<HostEvent, Self::Error>;

    /// In milliseconds since 1970.
    fn now(&self) -> u64;

    /// Whether the plan still is what was approved. `false` pauses the run before anything else starts.
    fn is_current(&mut self) -> Result<bool, Self::Error>;
}

/// What became of an attempt that an earlier process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing of it is alive.
    Dead,
    /// A worker is running it or will: its result comes from [`Host::next`].
    UnderWay,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    /// An attempt or a contract ended. Not recorded yet.
    Ended(Box<Event>),
    /// A contract was ended before it could tell anything.
    Dropped {
        /// As an index into the plan.
        step: usize,
        of: Judged,
    },
    /// Somebody else recorded these: answers, a stop.
    Recorded(Vec<Event>),
    /// The awaited time has come.
    Time,
    /// The user wants to leave: nothing new starts, and this process is ending what it runs.
    Leave,
    /// The user wants to leave, and this process runs nothing any more.
    Left,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Finished(RunOutcome),
    /// It needs the user.
    NeedsPerson,
    /// The requested steps are done; others are left.
    Reached,
    Stopped,
    Edited,
    Left,
}

#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
    #[error("cannot continue the run")]
    Host(#[source] E),
    #[error("the journal is corrupt")]
    Journal(#[source] Illegal),
    /// Somebody else recorded what only the driver may, and ended the run.
    #[error("{event} was not recorded by the process that runs the plan")]
    Forged { event: String },
}

/// Runs a plan as far as it goes. `watch` sees every event once it is durable.
pub fn drive<H: Host>(
    plan: &Plan,
    limits: &ScheduleLimits,
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
    limits: &'a ScheduleLimits,
    host: &'a mut H,
    watch: &'a mut dyn FnMut(&RunState, &Event),
    /// The fold of what is recorded and what is about to be.
    state: RunState,
    /// Keys of the commands whose results are awaited.
    under_way: BTreeSet<String>,
    /// What happened and will be recorded in one transaction with what follows from it. Until then only
    /// contracts depend on it, and they only look.
    unrecorded: Vec<Event>,
    /// How many recorded events the state includes.
    recorded: usize,
    is_leaving: bool,
}

impl<H: Host> Driver<'_, H> {
    /// Folds the journal again, and returns the events that were new.
    fn replay(&mut self) -> Result<Vec<Event>, Error<H::Error>> {
        self.state = RunState::new(self.plan);
        let mut history = self.host.history().map_err(Error::Host)?;
        for event in &history {
            self.state.apply(event).map_err(Error::Journal)?;
        }
        let known = std::mem::replace(&mut self.recorded, history.len());
        Ok(history.split_off(known.min(history.len())))
    }

    /// Attempts that an earlier process started and that never ended count as interrupted once nothing of
    /// them is alive, or continue if another process runs them. In a finished run they are only ended.
    fn recover(&mut self) -> Result<(), Error<H::Error>> {
        for step in 0..self.state.steps.len() {
            let StepStatus::Running { attempt } = self.state.steps[step].status else { continue };
            let recovered = self.host.recover(&self.state, step, attempt).map_err(Error::Host)?;
            if self.state.outcome().is_some() {
                continue;
            }
            match recovered {
                Recovered::UnderWay => {
                    self.under_way.insert(Action::Attempt { step, attempt }.key(self.plan));
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
                // Somebody else may have ended the run while an agent was working.
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

    /// Why there is nothing to do.
    fn rest(&self) -> Progress {
        let is_restricted = self.limits.steps.is_some() && self.state.asks.is_empty();
        match self.state.phase {
            Phase::Stopped { .. } => Progress::Stopped,
            Phase::New | Phase::Running | Phase::Finished { .. } if is_restricted => Progress::Reached,
            Phase::New | Phase::Running | Phase::Finished { .. } => Progress::NeedsPerson,
        }
    }

    /// Waits for what happens next, and returns whether the user has left.
    fn wait(&mut self, wake: Option<u64>) -> Result<bool, Error<H::Error>> {
        match self.host.next(wake).map_err(Error::Host)? {
            HostEvent::Ended(event) => self.end(*event)?,
            HostEvent::Dropped { step, of } => {
                self.under_way.remove(&Action::Contract { step, of }.key(self.plan));
            }
            HostEvent::Recorded(events) => self.take_all(&events)?,
            HostEvent::Time => {}
            HostEvent::Leave => self.is_leaving = true,
            HostEvent::Left => return Ok(true),
        }
        Ok(false)
    }

    /// Performs everything that is due now; what gets recorded may add more.
    fn perform_all(&mut self) -> Result<Option<u64>, Error<H::Error>> {
        loop {
            let commands = next_actions(self.plan, &self.state, self.limits, self.host.now());
            let is_new = |command: &&Action| {
                !matches!(command, Action::Wake { .. }) && !self.under_way.contains(&command.key(self.plan))
            };
            match commands.iter().find(is_new).cloned() {
                Some(command) => self.perform(&command)?,
                None => return Ok(commands.iter().filter_map(Action::wake).min()),
            }
            if self.state.outcome().is_some() {
                return Ok(None);
            }
        }
    }

    /// The intent is durable before the act; acts that only look need none.
    fn perform(&mut self, command: &Action) -> Result<(), Error<H::Error>> {
        match command {
            Action::Attempt { step, attempt } => {
                let intent = self.host.intend(&self.state, *step, *attempt).map_err(Error::Host)?;
                let key = Some(format!("{}/{attempt}/attempt.started", self.plan.steps[*step].id));
                assert!(intent.key() == key, "the host recorded another intent: {intent:?} is not {key:?}");
                self.happen(intent)?;
                if self.flush()? { self.begin(command) } else { Ok(()) }
            }
            Action::Contract { .. } => self.begin(command),
            Action::Ask { ask, step, reason } => {
                let text = self.host.question(&self.state, command).map_err(Error::Host)?;
                let step = step.map(|place| self.plan.steps[place].id.clone());
                let event = AskEvent::Opened { step, reason: *reason, text };
                self.happen(Event::Ask { ask: ask.clone(), event })
            }
            Action::Close { round } => {
                let tree = self.host.tree().map_err(Error::Host)?;
                self.happen(Event::Run(RunEvent::Closing { round: *round, tree }))?;
                // Contracts belong to a round that is durable. If none has to run, the end is recorded with it: nothing may
                // change between the look at the tree and the end.
                if self.state.is_closed() { Ok(()) } else { self.flush().map(drop) }
            }
            Action::Warn { limit, percent } => {
                let (limit, percent) = ((*limit).to_owned(), *percent);
                self.happen(Event::Run(RunEvent::BudgetWarned { limit, percent }))
            }
            Action::Finish { outcome, why } => {
                self.happen(Event::Run(RunEvent::Finished { outcome: *outcome, why: why.clone() }))
            }
            Action::Wake { .. } => Ok(()),
        }
    }

    fn begin(&mut self, command: &Action) -> Result<(), Error<H::Error>> {
        self.host.begin(&self.state, command).map_err(Error::Host)?;
        self.under_way.insert(command.key(self.plan));
        Ok(())
    }

    /// Handles an awaited result. Any other is a duplicate or belongs to an earlier process: its attempt was
    /// given up, so nothing waits for it.
    fn end(&mut self, event: Event) -> Result<(), Error<H::Error>> {
        let is_awaited = awaited(&event).is_some_and(|key| self.under_way.contains(&key));
        if is_awaited && self.state.outcome().is_none() { self.happen(event) } else { Ok(()) }
    }

    /// Folds our own event into the state; [`Driver::flush`] makes it durable.
    fn happen(&mut self, event: Event) -> Result<(), Error<H::Error>> {
        self.state.apply(&event).map_err(Error::Journal)?;
        if let Some(key) = awaited(&event) {
            self.under_way.remove(&key);
        }
        self.unrecorded.push(event);
        Ok(())
    }

    /// Makes pending events durable, and returns whether it did. If others came first, theirs are applied,
    /// decisions made without them are made again, and results are kept for the next flush.
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
            // It no longer fits a run or a step that they finished.
            if self.state.apply(&result).is_ok() {
                self.unrecorded.push(result);
            }
        }
        self.disown(&unseen)?;
        Ok(false)
    }

    /// Applies what others recorded.
    fn take_all(&mut self, events: &[Event]) -> Result<(), Error<H::Error>> {
        for event in events {
            self.state.apply(event).map_err(Error::Journal)?;
            if let Some(key) = awaited(event) {
                self.under_way.remove(&key);
            }
        }
        self.recorded += events.len();
        self.see_all(events)?;
        self.disown(events)
    }

    /// Ends the run if somebody else recorded what only its driver may: an attempt or a verdict that nobody made here. It
    /// can't be taken out of the journal, and nothing may rest on it.
    fn disown(&mut self, events: &[Event]) -> Result<(), Error<H::Error>> {
        let Some(forged) = events.iter().find(|event| !event.may_come_from_others()) else { return Ok(()) };
        let step = forged.step().map(|step| format!(" of step `{step}`")).unwrap_or_default();
        let event = format!("{}{step}", forged.name());
        if self.state.outcome().is_some() {
            return Err(Error::Forged { event });
        }
        let why = format!("{event} was not recorded by the process that runs the plan");
        self.happen(Event::Run(RunEvent::Finished { outcome: RunOutcome::Failed, why }))
    }

    /// Shows what others recorded, and does immediately what they ask for.
    fn see_all(&mut self, events: &[Event]) -> Result<(), Error<H::Error>> {
        for event in events {
            if matches!(event, Event::Run(RunEvent::Stopped { mode: StopMode::Now, .. })) {
                self.host.interrupt().map_err(Error::Host)?;
            }
            (self.watch)(&self.state, event);
        }
        Ok(())
    }
}

/// An attempt of which nothing is alive and whose end is unknown.
pub(crate) fn lost(step: &str, attempt: u32) -> Event {
    Event::Step {
        step: step.to_owned(),
        event: StepEvent::Finished(AttemptFinish {
            attempt,
            end: AttemptEnd::Lost,
            output: None,
            usage: Usage::default(),
            changed: Vec::new(),
            account: Account::default(),
        }),
    }
}

/// The key of the command whose result this is.
fn awaited(event: &Event) -> Option<String> {
    match event {
        Event::Step { step, event: StepEvent::Finished(finish) } => {
            Some(format!("{step}/{}/attempt", finish.attempt))
        }
        Event::Step { step, event: StepEvent::Judged { of, .. } | StepEvent::Faulted { of, .. } } => {
            Some(format!("{step}/{of}/contract"))
        }
        Event::Step { event: StepEvent::Started(_), .. } | Event::Run(_) | Event::Ask { .. } => None,
    }
}
