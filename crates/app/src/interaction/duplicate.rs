//! Warns that another plan may be the same work; shared by commands that create or move plans.

use planwright_engine::api::DuplicatePlan;

use crate::output::Out;

/// Warns about plans with the same name or similar work; the author decides.
pub(crate) fn warn_of_duplicates(duplicates: &[DuplicatePlan], out: &mut Out<'_>) {
    for twin in duplicates {
        out.warn(&format!("{} may be the same work: {} ({})", twin.name, twin.why, twin.path.display()));
    }
}
