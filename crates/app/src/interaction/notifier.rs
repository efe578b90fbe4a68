//! Delivers what a command records to the user's hooks, in parallel with the command and after its last line. Only
//! process exit waits for a hook, and only briefly.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright_engine::Project;
use planwright_engine::core::workspace::notification::Notification;
use planwright_engine::workspace::notify::Notifier;

use crate::output::Response;

/// Those who tell, by the root of their project; `None` where the command records nothing.
static NOTIFIERS: Mutex<Option<BTreeMap<PathBuf, Option<Notifier>>>> = Mutex::new(None);

/// Says that this command records something. Every project that it finds from now on is served.
pub(crate) fn begin() {
    lock().get_or_insert_default();
}

/// Serves a project, before anything is recorded in it.
pub(crate) fn watch(project: &Project) {
    if let Some(notifiers) = lock().as_mut() {
        let start = || Notifier::start(project, encode);
        notifiers.entry(project.root.clone()).or_insert_with(start);
    }
}

/// Has told what is left, once the command has said its last word.
pub(crate) fn finish() {
    let notifiers = lock().take().unwrap_or_default();
    notifiers.into_values().flatten().for_each(Notifier::finish);
}

/// A notice as hooks get it: the same line that `events --json` prints.
pub(crate) fn encode(notice: &Notification) -> String {
    Response::done("event", notice).line()
}

fn lock() -> MutexGuard<'static, Option<BTreeMap<PathBuf, Option<Notifier>>>> {
    NOTIFIERS.lock().unwrap_or_else(PoisonError::into_inner)
}
