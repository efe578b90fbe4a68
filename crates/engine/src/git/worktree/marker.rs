//! The marker file in a worktree, and whether it leads to a plan.

use std::path::Path;

use planwright_core::workspace::active_plan::ActivePlanMarker;
pub(super) use planwright_core::workspace::active_plan::MARKER;

use crate::workspace::active_plan;
use crate::workspace::project::Project;

/// What the marker of the project at `root` says, if it is dangling. The settings are those of the workspace.
pub(super) fn dangling(project: &Project, root: &Path) -> Option<String> {
    let here = Project { root: root.to_owned(), ..project.clone() };
    match active_plan::of_marker(&here) {
        Err(active_plan::Error::Loud(_) | active_plan::Error::NoFolder { .. }) => Some(said(root)),
        // An unreadable marker is not known to be dangling.
        Ok(_)
        | Err(
            active_plan::Error::Read { .. }
            | active_plan::Error::Unprintable { .. }
            | active_plan::Error::Store(_),
        ) => None,
    }
}

fn said(root: &Path) -> String {
    match active_plan::marker(root) {
        ActivePlanMarker::Bytes(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        ActivePlanMarker::Unset
        | ActivePlanMarker::TooLong
        | ActivePlanMarker::Link
        | ActivePlanMarker::NotAFile(_)
        | ActivePlanMarker::Unreadable(_) => "(no name)".to_owned(),
    }
}
