//! Plays a run to its end: drives, lets drivers die, answers, resumes, and says what went wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use planwright_core::plan::verified::{Contract, Plan};
use planwright_core::run::event::{AskAnswer, AskEvent, AskReason, Event, Judged, RunEvent, StepEvent};
use planwright_core::run::state::{Phase, RunState, StepStatus};
use planwright_engine::run::driver;
use planwright_engine::run::driver::{Progress, drive};

use super::host::SimHost;
use super::world::{Kind, Sabotage, World};
use crate::sample::run_started;
use crate::trial::verdict_of;

/// Drives of one run before it counts as one that never ends. Crashes, answers and edits of a schedule are far fewer.
const DRIVES_MAX: usize = 300;

/// What a run came to, apart from the numbers of its attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) phase: Phase,
    /// The status of each step and its verdicts in order.
    pub(crate) steps: BTreeMap<String, (String, Vec<bool>)>,
}

/// Plays the run of a world to its end, or to the first driver at fault.
pub(crate) fn play(world: World) -> Result<World, String> {
    let driven = driven_plan(&world);
    let world = Rc::new(RefCell::new(world));
    world.borrow_mut().append(&run_started());
    for _ in 0..DRIVES_MAX {
        let is_over = turn(&driven, &world)?;
        if is_over {
            let world = Rc::into_inner(world).expect("no host is left").into_inner();
            return check_verdicts(&world).map(|()| world);
        }
    }
    Err(format!("the run does not end: {:?}", world.borrow().state))
}

fn driven_plan(world: &World) -> Plan {
    let mut plan = world.plan.clone();
    if world.sabotage == Sabotage::IgnoresNeeds {
        plan.steps.iter_mut().for_each(|step| step.needs.clear());
    }
    if world.sabotage == Sabotage::SkipsClosing {
        plan.steps.iter_mut().enumerate().for_each(|(place, step)| step.holds_until = Some(place));
    }
    plan
}

/// One driver, from its start to its end, and what people do after it. Returns whether the run is over.
fn turn(plan: &Plan, world: &Rc<RefCell<World>>) -> Result<bool, String> {
    let mut host = SimHost::new(world);
    let limits = world.borrow().limits.clone();
    let watched = Rc::clone(world);
    let mut watch = |state: &RunState, event: &Event| {
        let mut world = watched.borrow_mut();
        // An event that was recorded twice does not tell which of them is shown.
        let is_last = world.journal.last() == Some(event)
            && world.journal.iter().filter(|durable| *durable == event).count() == 1;
        if is_last && *state != world.state {
            world.fault("the driver's state is not the fold of the journal");
        }
        if !world.journal.iter().rev().take(40).any(|durable| durable == event) {
            world.fault(format!("{} was shown before it was durable", event.name()));
        }
    };
    let progress = drive(plan, &limits, &mut host, &mut watch);
    let mut world = world.borrow_mut();
    let is_behind = host.seen < world.journal.len();
    if !world.faults.is_empty() {
        return Err(world.faults.join("; "));
    }
    let is_alive = world.live.iter().any(|work| work.kind == Kind::Attempt);
    match progress {
        Err(driver::Error::Host(_)) => {
            world.orphan();
            return Ok(false);
        }
        Err(driver::Error::Journal(illegal)) => {
            return Err(format!("the driver can't read its journal: {illegal}"));
        }
        Err(error @ driver::Error::Forged { .. }) => {
            return Err(format!("a driver disowns its own run: {error}"));
        }
        Ok(_) if is_alive => return Err(format!("an attempt outlives its driver: {progress:?}")),
        Ok(Progress::Finished(outcome)) if world.state.outcome() == Some(outcome) => return Ok(true),
        Ok(Progress::NeedsPerson) if !world.state.asks.is_empty() || is_behind => world.answer(),
        Ok(Progress::Stopped) if world.state.is_stopped() || is_behind => {
            world.act(&Event::Run(RunEvent::Resumed { by: "ada".to_owned() }));
        }
        Ok(Progress::Edited) if world.is_edited => {
            world.is_edited = false;
            world.is_edit_known = false;
        }
        Ok(Progress::Left) => world.orphan(),
        Ok(other) => return Err(format!("the driver ends with {other:?} and should not: {:?}", world.state)),
    }
    Ok(false)
}

/// No verdict is lost, doubled or invented: what the journal says is what the steps are.
fn check_verdicts(world: &World) -> Result<(), String> {
    if !world.faults.is_empty() {
        return Err(world.faults.join("; "));
    }
    for (step, now) in world.plan.steps.iter().zip(&world.state.steps) {
        let verdicts = verdicts(world, &step.id);
        let prefix = format!("{}/", step.id);
        let is_confirmed = world.journal.iter().any(|event| {
            matches!(event, Event::Ask { ask, event: AskEvent::Answered { answer: AskAnswer::Confirm, .. } } if ask.starts_with(&prefix))
        });
        let passes = verdicts.iter().filter(|&&is_passed| is_passed).count();
        let returns = world.journal.iter().filter(|event| is_sent_back(event, &step.id)).count();
        let is_right = match (&now.status, &step.contract) {
            (StepStatus::Passed { .. }, Contract::Shell { .. }) => {
                (1..=1 + returns).contains(&passes) && verdicts.last() == Some(&true)
            }
            (StepStatus::Passed { .. }, Contract::Manual) => verdicts.is_empty() && is_confirmed,
            // Ended by somebody in the middle of a closing check.
            (StepStatus::Judging { of: Judged::Closing(_), .. }, Contract::Shell { .. }) => {
                passes <= 1 + returns
            }
            (_, Contract::Shell { .. } | Contract::Manual) => passes <= returns,
        };
        if !is_right {
            return Err(format!("{} is {} and its verdicts are {verdicts:?}", step.id, now.status.word()));
        }
    }
    Ok(())
}

/// Whether an event sends a step that had passed back to work.
fn is_sent_back(event: &Event, id: &str) -> bool {
    match event {
        Event::Step { step, event: StepEvent::Judged { of: Judged::Closing(_), receipt, .. } } => {
            step == id && !receipt.verdict.is_passed()
        }
        // A person may take over or skip what the machine keeps from being judged again.
        Event::Ask {
            event:
                AskEvent::Answered { answer: AskAnswer::RetryStep { step, .. }, .. }
                | AskEvent::Opened { step: Some(step), reason: AskReason::Machine, .. },
            ..
        } => step == id,
        Event::Step { .. } | Event::Ask { .. } | Event::Run(_) => false,
    }
}

fn verdicts(world: &World, id: &str) -> Vec<bool> {
    world.journal.iter().filter_map(|event| verdict_of(event, id)).collect()
}

pub(crate) fn meaning(world: &World) -> Meaning {
    let step =
        |id: &str, status: &StepStatus| (id.to_owned(), (status.word().to_owned(), verdicts(world, id)));
    let steps = world.state.steps.iter().map(|now| step(&now.id, &now.status));
    Meaning { phase: world.state.phase.clone(), steps: steps.collect() }
}
