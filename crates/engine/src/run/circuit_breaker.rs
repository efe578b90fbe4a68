//! Plans that failed too often in a row.

use std::path::Path;

use planwright_core::run::event::Event;
use planwright_core::workspace::portfolio::{CircuitBreaker, tripped};

use crate::run::{Error, Runs};

/// What failed too often in a row across all runs of a plan, given its path below the root; `None` once a
/// person has acted.
pub(crate) fn trip(runs: &Runs, plan: &Path) -> Result<Option<CircuitBreaker>, Error> {
    let ledger = runs.store().ledger(plan)?;
    let mut events: Vec<(u64, Event)> = Vec::new();
    for id in runs.store().run_ids(Some(plan))? {
        let recorded = runs.store().events(id, 0)?;
        events.extend(recorded.into_iter().map(|recorded| (recorded.at_ms, recorded.event)));
    }
    Ok(tripped(&ledger, events.iter().map(|(at_ms, event)| (*at_ms, event))))
}
