//! Who drives a run, and what is under way in it.

use std::time::{Duration, Instant};

use planwright_engine::core::run::event::Judged;
use planwright_engine::core::run::state::StepStatus;
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::journal::LockHolder;

use crate::output::Failure;

/// How long a command waits for a driver to let go of a run.
const LET_GO: Duration = Duration::from_secs(10);

const LOOK: Duration = Duration::from_millis(20);

/// Waits until nobody drives the run, for a while; says who still does.
pub(crate) fn wait_for_driver(runs: &Runs, run: &Run) -> Result<Option<LockHolder>, Failure> {
    let begin = Instant::now();
    loop {
        let holder = runs.holder(run)?;
        if holder.is_none() || begin.elapsed() > LET_GO {
            return Ok(holder);
        }
        std::thread::sleep(LOOK);
    }
}

/// Attempts and contracts that are under way: `2 fix, attempt 1`.
pub(crate) fn under_way(run: &Run) -> Vec<String> {
    let steps = run.plan.steps.iter().zip(&run.state.steps);
    let busy = steps.filter_map(|(step, state)| match state.status {
        StepStatus::Running { attempt } => Some(format!("{} {}, attempt {attempt}", step.number, step.id)),
        StepStatus::Judging { of: Judged::Attempt(attempt), .. } => {
            Some(format!("{} {}, contract of attempt {attempt}", step.number, step.id))
        }
        StepStatus::Judging { of: Judged::Claim, .. }
        | StepStatus::Pending(_)
        | StepStatus::Passed { .. }
        | StepStatus::Waiting { .. }
        | StepStatus::Skipped { .. } => None,
    });
    busy.collect()
}
