//! Warns that another plan may be the same work; shared by commands that create or move plans.

use std::path::Path;

use planwright_engine::Project;
use planwright_engine::api::Twin;
use planwright_engine::core::plan::draft::Draft;
use planwright_engine::portfolio::board;

use crate::output::{Failure, Out};

/// Warns about plans with the same name or similar work; the author decides.
pub(crate) fn warn_of_duplicates(duplicates: &[Twin], out: &mut Out<'_>) {
    for twin in duplicates {
        out.warn(&format!("{} may be the same work: {} ({})", twin.name, twin.why, twin.path.display()));
    }
}

/// The same for a plan that is about to be written.
pub(crate) fn warn_of_twins(
    project: &Project,
    (plan, draft): (&Path, &Draft),
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    warn(&board::twins(project, plan, draft)?, out);
    Ok(())
}

pub(crate) fn warn(twins: &[Twin], out: &mut Out<'_>) {
    for twin in twins {
        out.warn(&format!("{} may be the same work: {} ({})", twin.name, twin.why, twin.path.display()));
    }
}
