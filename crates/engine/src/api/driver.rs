//! Who drives a run, and what is under way in it.

use std::time::{Duration, Instant};

use planwright_core::run::state::{CLAIM, RunStatus};

use crate::run::{Error, Run, Runs};
use crate::store::journal::LockHolder;

/// How long a decision waits for a driver to let go of a run.
const LET_GO: Duration = Duration::from_secs(10);

const LOOK: Duration = Duration::from_millis(20);

impl Runs {
    /// Waits until nobody drives the run, for a while; says who still does.
    pub fn wait_for_driver(&self, run: &Run) -> Result<Option<LockHolder>, Error> {
        let begin = Instant::now();
        loop {
            let holder = self.holder(run)?;
            if holder.is_none() || begin.elapsed() > LET_GO {
                return Ok(holder);
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Run {
    /// Attempts and contracts that are under way: `2 fix, attempt 1`.
    pub fn under_way(&self) -> Vec<String> {
        let steps = self.plan.steps.iter().zip(&self.state.steps);
        let busy = steps.filter_map(|(step, state)| match state.status {
            RunStatus::Running { attempt } => Some(format!("{} {}, attempt {attempt}", step.number, step.id)),
            RunStatus::Judging { attempt, .. } if attempt != CLAIM => {
                Some(format!("{} {}, contract of attempt {attempt}", step.number, step.id))
            }
            RunStatus::Judging { .. }
            | RunStatus::Pending
            | RunStatus::Passed { .. }
            | RunStatus::Waiting { .. }
            | RunStatus::Skipped { .. } => None,
        });
        busy.collect()
    }
}
