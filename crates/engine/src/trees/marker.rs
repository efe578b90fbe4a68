//! The marker that binds a tree to a named plan.

use std::path::Path;

use planwright_core::dialect::named::{self, Slug};

use super::Error;
use crate::store;

/// Where it lies, below the root of a project.
pub(super) const MARKER: &str = ".harness/active-plan";
const MARKER_BYTES_MAX: u64 = 4096;

/// Binds a tree to a plan.
pub(super) fn write(root: &Path, slug: &Slug) -> Result<(), Error> {
    store::folder_within(root, Path::new(".harness"))?;
    Ok(store::fill_or_create(&root.join(MARKER), &format!("{slug}\n"))?)
}

/// What the marker says, where no plan is called so.
pub(super) fn dangling(root: &Path) -> Option<String> {
    let text = store::read_text(&root.join(MARKER), MARKER_BYTES_MAX).ok()?;
    let said = text.trim().to_owned();
    let is_there = named::slug(&said).is_ok_and(|slug| {
        let file = named::plan_file(Some(&slug));
        [root.join(".harness").join(&file), root.join(&file)].iter().any(|path| path.is_file())
    });
    (!is_there).then_some(said)
}
