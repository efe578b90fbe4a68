//! The workspace that a command works in, with the settings and the dialect that were typed.

use std::path::Path;
use std::sync::OnceLock;

use planwright_engine::api::{Notifications, OpenOptions, Workspace};

use crate::output::Failure;

/// What was typed with the command: a process has one command line, as it has one environment.
static TYPED: OnceLock<OpenOptions> = OnceLock::new();

/// Takes what was typed with the command, and who tells hooks what it records; only the first call counts.
pub(crate) fn take_options(
    overrides: Vec<String>,
    dialect: Option<&str>,
    notifications: Option<Notifications>,
) -> Result<(), Failure> {
    let mut options = OpenOptions::new(overrides, dialect)?;
    options.notifications = notifications;
    TYPED.get_or_init(|| options);
    Ok(())
}

/// How workspaces are opened by this command.
pub(crate) fn options() -> &'static OpenOptions {
    TYPED.get_or_init(|| OpenOptions::new(Vec::new(), None).expect("no dialect is named"))
}

/// Delivers the remaining events to hooks when the command ends.
pub(crate) fn finish() {
    if let Some(notifications) = &options().notifications {
        notifications.finish();
    }
}

/// The workspace of the current directory.
pub(crate) fn workspace() -> Result<Workspace, Failure> {
    Ok(Workspace::open(options())?)
}

/// The workspace of a named directory; without one, that of the current directory.
pub(crate) fn workspace_at(folder: Option<&Path>) -> Result<Workspace, Failure> {
    Ok(Workspace::open_in(folder.unwrap_or(Path::new(".")), options())?)
}
