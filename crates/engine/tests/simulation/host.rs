//! The host of the fake world: one for each driver; the world outlives it.

use std::cell::RefCell;
use std::rc::Rc;

use planwright_core::run::event::{AttemptEnd, AttemptStart, Event, Judged, StepEvent};
use planwright_core::run::receipt::Blob;
use planwright_core::run::schedule::Action;
use planwright_core::run::state::{Phase, RunState};
use planwright_engine::run::driver::{Host, HostEvent, Recovered};

use super::world::{Crash, Kind, OUTSIDE, Sabotage, Temper, Work, World};

pub(crate) struct SimHost {
    world: Rc<RefCell<World>>,
    driver: u32,
    /// How much of the journal this driver has seen.
    pub(crate) seen: usize,
    is_leaving: bool,
}

impl SimHost {
    pub(crate) fn new(world: &Rc<RefCell<World>>) -> Self {
        let driver = {
            let mut world = world.borrow_mut();
            world.drivers += 1;
            world.drivers
        };
        Self { world: Rc::clone(world), driver, seen: 0, is_leaving: false }
    }

    /// What others recorded and this driver has not seen.
    fn unseen(&mut self, world: &World) -> Vec<Event> {
        let unseen = world.journal[self.seen..].to_vec();
        self.seen = world.journal.len();
        unseen
    }

    fn check_view(&self, world: &mut World, state: &RunState) {
        if self.seen == world.journal.len() && *state != world.state {
            world.fault("the driver's state is not the fold of the journal");
        }
    }

    /// Ends what this driver has under way, one after the other.
    fn leave(&self, world: &mut World) -> HostEvent {
        let Some(index) = world.live.iter().position(|work| work.driver == self.driver) else {
            return HostEvent::Left;
        };
        let Work { kind, place: step, of, .. } = world.live[index];
        match kind {
            Kind::Attempt => HostEvent::Ended(Box::new(world.end_as(index, Some(AttemptEnd::Stopped)))),
            Kind::Contract => {
                world.live.remove(index);
                HostEvent::Dropped { step, of }
            }
        }
    }

    fn work(&self, command: &Action) -> Option<Work> {
        let (kind, place, of) = match *command {
            Action::Attempt { step, attempt } => (Kind::Attempt, step, Judged::Attempt(attempt)),
            Action::Contract { step, of } => (Kind::Contract, step, of),
            Action::Ask { .. }
            | Action::Close { .. }
            | Action::Warn { .. }
            | Action::Wake { .. }
            | Action::Finish { .. } => return None,
        };
        let is_outside = kind == Kind::Attempt && self.world.borrow().is_worked_outside;
        let driver = if is_outside { OUTSIDE } else { self.driver };
        Some(Work { kind, place, of, driver, tree: self.world.borrow().shown_tree() })
    }

    /// Whether the result of a process comes to this driver.
    fn awaits(&self, work: &Work) -> bool {
        work.driver == self.driver || work.driver == OUTSIDE
    }
}

impl Host for SimHost {
    type Error = Crash;

    fn history(&mut self) -> Result<Vec<Event>, Crash> {
        let world = Rc::clone(&self.world);
        let mut world = world.borrow_mut();
        world.point()?;
        self.seen = world.journal.len();
        let history = world.journal.clone();
        world.meddle();
        Ok(history)
    }

    fn record(&mut self, state: &RunState, events: &[Event]) -> Result<Vec<Event>, Crash> {
        let world = Rc::clone(&self.world);
        let mut world = world.borrow_mut();
        world.point()?;
        world.meddle();
        if self.seen < world.journal.len() {
            return Ok(self.unseen(&world));
        }
        if world.sabotage == Sabotage::LosesRecords && world.random.once_in(8) {
            return Ok(Vec::new());
        }
        for event in events {
            world.append(event);
            if world.sabotage == Sabotage::RecordsTwice && world.random.once_in(8) {
                world.append(event);
            }
        }
        // What lists of runs are made of: the fold that comes with the events is that of the journal with them.
        if world.sabotage != Sabotage::RecordsTwice && world.state != *state {
            world.fault("the driver's fold is not that of the journal");
        }
        self.seen = world.journal.len();
        world.point()?;
        Ok(Vec::new())
    }

    fn intend(&mut self, _: &RunState, step: usize, attempt: u32) -> Result<Event, Crash> {
        let mut world = self.world.borrow_mut();
        world.point()?;
        if world.sabotage == Sabotage::BeginsFirst {
            let tree = world.shown_tree();
            let of = Judged::Attempt(attempt);
            world.spawn(Work { kind: Kind::Attempt, place: step, of, driver: self.driver, tree });
        }
        let step = world.plan.steps[step].id.clone();
        Ok(Event::Step {
            step,
            event: StepEvent::Started(AttemptStart {
                attempt,
                agent: "coder".to_owned(),
                prompt: Blob("p".to_owned()),
            }),
        })
    }

    fn question(&mut self, _: &RunState, _: &Action) -> Result<String, Crash> {
        self.world.borrow_mut().point()?;
        Ok("?".to_owned())
    }

    fn tree(&mut self) -> Result<String, Crash> {
        let mut world = self.world.borrow_mut();
        world.point()?;
        Ok(world.shown_tree())
    }

    fn begin(&mut self, state: &RunState, command: &Action) -> Result<(), Crash> {
        let work = self.work(command);
        let mut world = self.world.borrow_mut();
        world.point()?;
        if matches!(command, Action::Attempt { .. }) {
            // Before an attempt begins everything is durable; a contract only looks and need not wait for that.
            self.check_view(&mut world, state);
            if state.phase != Phase::Running {
                world.fault(format!("{command:?} begins in a run that is {:?}", state.phase));
            }
        }
        match work {
            Some(work) if world.sabotage == Sabotage::BeginsFirst && work.kind == Kind::Attempt => {}
            Some(work) => world.spawn(work),
            None => world.fault(format!("{command:?} can't begin")),
        }
        world.point()
    }

    fn recover(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Recovered, Crash> {
        let mut world = self.world.borrow_mut();
        world.point()?;
        let is_it = |work: &Work| {
            work.kind == Kind::Attempt && (work.place, work.of) == (step, Judged::Attempt(attempt))
        };
        let alive = world.live.iter().position(is_it);
        if let Some(index) = alive
            && state.outcome().is_none()
        {
            let is_wild = matches!(world.temper, Temper::Wild);
            // A worker of another process is at it, and its result comes to whoever drives.
            if world.live[index].driver == OUTSIDE || (is_wild && world.random.once_in(2)) {
                world.live[index].driver = if is_wild { self.driver } else { OUTSIDE };
                return Ok(Recovered::UnderWay);
            }
        }
        if world.sabotage != Sabotage::BuriesNothing
            && let Some(index) = alive
        {
            // What it still had to say may be on its way.
            let result = world.end(index);
            world.late.push(result);
        }
        world.point()?;
        Ok(Recovered::Dead)
    }

    fn interrupt(&mut self) -> Result<(), Crash> {
        let mut world = self.world.borrow_mut();
        world.point()?;
        let is_it = |work: &Work| self.awaits(work) && work.kind == Kind::Attempt;
        while let Some(index) = world.live.iter().position(is_it) {
            let result = world.end_as(index, Some(AttemptEnd::Stopped));
            world.late.push(result);
        }
        world.point()
    }

    fn next(&mut self, wake: Option<u64>) -> Result<HostEvent, Crash> {
        let world = Rc::clone(&self.world);
        let mut world = world.borrow_mut();
        world.point()?;
        if self.is_leaving {
            return Ok(self.leave(&mut world));
        }
        if std::mem::take(&mut world.is_leave_wanted) {
            self.is_leaving = true;
            return Ok(HostEvent::Leave);
        }
        world.meddle();
        if self.seen < world.journal.len() && world.random.once_in(2) {
            return Ok(HostEvent::Recorded(self.unseen(&world)));
        }
        let is_wild = matches!(world.temper, Temper::Wild);
        if !world.late.is_empty() && world.random.once_in(3) {
            return Ok(HostEvent::Ended(Box::new(world.late.remove(0))));
        }
        if is_wild && !world.delivered.is_empty() && world.random.once_in(8) {
            let delivered = world.delivered.clone();
            return Ok(HostEvent::Ended(Box::new(world.random.pick(&delivered))));
        }
        if is_wild && world.chance_acts > 0 && world.random.once_in(60) {
            self.is_leaving = true;
            return Ok(HostEvent::Leave);
        }
        let is_own = |work: &Work| self.awaits(work) && !world.is_held(work);
        let own: Vec<usize> = (0..world.live.len()).filter(|&index| is_own(&world.live[index])).collect();
        if let Some(at) = wake
            && (own.is_empty() || world.random.once_in(4))
        {
            // Sometimes a host wakes too early.
            world.clock = if is_wild && world.random.once_in(4) { world.clock } else { world.clock.max(at) };
            return Ok(HostEvent::Time);
        }
        if own.is_empty() && !world.late.is_empty() {
            return Ok(HostEvent::Ended(Box::new(world.late.remove(0))));
        }
        if own.is_empty() {
            let unseen = self.unseen(&world);
            if unseen.is_empty() {
                world.fault("the driver waits for nothing");
                return Err(Crash);
            }
            return Ok(HostEvent::Recorded(unseen));
        }
        let index = world.random.pick(&own);
        let mut result = world.end(index);
        if world.sabotage == Sabotage::SwallowsFaults {
            result = world.swallowed(result);
        }
        // What may happen again is told once.
        if result.key().is_some() {
            world.delivered.push(result.clone());
        }
        Ok(HostEvent::Ended(Box::new(result)))
    }

    fn now(&self) -> u64 {
        self.world.borrow().clock
    }

    fn is_current(&mut self) -> Result<bool, Crash> {
        let mut world = self.world.borrow_mut();
        world.point()?;
        world.is_edit_known = world.is_edited;
        Ok(!world.is_edited)
    }
}
