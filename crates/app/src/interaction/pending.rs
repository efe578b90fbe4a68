//! Plans that wait for a review.

use planwright_engine::Project;
pub(crate) use planwright_engine::api::ReviewView as ReviewData;

use super::project::workspace;
use crate::output::{Failure, Out};

/// Every plan that waits for a yes or a no, the oldest first. What time has ended meanwhile is ended first, and said.
pub(crate) fn reviews(_: &Project, out: &mut Out<'_>) -> Result<Vec<ReviewData>, Failure> {
    let (reviews, warnings) = workspace()?.reviews()?;
    out.warn_all(&warnings);
    Ok(reviews)
}
