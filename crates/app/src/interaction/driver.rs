//! Who drives a run, and what is under way in it.

use planwright_engine::run::{Run, Runs};
use planwright_engine::store::journal::LockHolder;

use crate::output::Failure;

/// Waits until nobody drives the run, for a while; says who still does.
pub(crate) fn wait_for_driver(runs: &Runs, run: &Run) -> Result<Option<LockHolder>, Failure> {
    Ok(runs.wait_for_driver(run)?)
}

/// Attempts and contracts that are under way: `2 fix, attempt 1`.
pub(crate) fn under_way(run: &Run) -> Vec<String> {
    run.under_way()
}
