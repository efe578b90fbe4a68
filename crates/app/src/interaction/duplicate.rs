//! How it is said that another plan may be about the same: what commands share that make plans or put them in their place.

use std::path::Path;

use planwright_engine::Project;
use planwright_engine::core::plan::draft::Draft;
use planwright_engine::portfolio::board;

use crate::output::{Failure, Out};

/// Names every plan that may be about the same as this one, or is called like it. Whoever made it decides.
pub(crate) fn warn_of_twins(
    project: &Project,
    (plan, draft): (&Path, &Draft),
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    for twin in board::twins(project, plan, draft)? {
        out.warn(&format!("{} may be the same work: {} ({})", twin.name, twin.why, twin.path.display()));
    }
    Ok(())
}
