//! Notifies the user's hooks of what a command records.

use planwright_engine::api::{Notification, Notifications};

use crate::output::Response;

/// For a command that records something: every workspace that it opens is served.
pub(crate) fn notifications() -> Notifications {
    Notifications::new(encode)
}

/// A notice as hooks get it: the same line that `events --json` prints.
pub(crate) fn encode(notice: &Notification) -> String {
    Response::done("event", notice).line()
}
