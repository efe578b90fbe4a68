//! Whether a run that is done is still proven: a verdict is about a tree, and the one that is there may be another one.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::run::event::{Event, RunEvent};
use planwright_core::run::receipt::Receipt;
use planwright_core::run::state::{PassedBy, StepStatus};

use crate::run::{Error, Run, Runs};
use crate::system::process::Stop;

/// What came of running contracts again.
pub(crate) enum Recheck {
    Recorded,
    /// Somebody asked to leave; nothing was recorded.
    Interrupted,
}

impl Run {
    /// The newest receipt of every step, by id.
    pub fn receipts(&self) -> BTreeMap<&str, &Receipt> {
        let verdicts = self.events.iter().flat_map(|recorded| recorded.event.verdicts());
        verdicts.map(|verdict| (verdict.step, verdict.receipt)).collect()
    }
}

impl Runs {
    /// The steps of a run that was done whose contracts have no receipt for the tree that is there, by place. A step that a
    /// person confirmed or skipped has none for any tree.
    pub(crate) fn unproven(&self, run: &Run) -> Result<Vec<usize>, Error> {
        let (tree, receipts) = (self.worker(run)?.tree()?, run.receipts());
        let holds = |id: &str| receipts.get(id).is_some_and(|receipt| receipt.tree == tree);
        // A contract that was meant to stop holding proves nothing any more.
        let required: BTreeSet<usize> = run.state.required().collect();
        let steps = run.state.steps.iter().enumerate().filter(|(place, step)| match step.status {
            StepStatus::Passed { by: PassedBy::Contract(_) } => required.contains(place) && !holds(&step.id),
            StepStatus::Pending(_) => step.status.is_lapsed(),
            StepStatus::Passed { by: PassedBy::Person }
            | StepStatus::Running { .. }
            | StepStatus::Judging { .. }
            | StepStatus::Waiting { .. }
            | StepStatus::Skipped { .. } => false,
        });
        Ok(steps.map(|(place, _)| place).collect())
    }

    /// Runs the contracts of these steps again, and records what they say of the tree that is there. For who has the right to
    /// drive the run.
    pub(crate) fn recheck(&self, run: &Run, steps: &[usize], stop: &Stop) -> Result<Recheck, Error> {
        let worker = self.worker(run)?;
        let (mut receipts, mut outputs) = (BTreeMap::new(), Vec::new());
        for step in steps.iter().map(|&place| &run.plan.steps[place]) {
            let Some((receipt, output)) = worker.check_again(step, stop)? else {
                return Ok(Recheck::Interrupted);
            };
            receipts.insert(step.id.clone(), receipt);
            outputs.push(output);
        }
        let checked = Event::Run(RunEvent::Rechecked { receipts });
        self.record_all(run, std::slice::from_ref(&checked), &outputs)?;
        Ok(Recheck::Recorded)
    }
}
