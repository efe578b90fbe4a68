//! Delivers what a process records to the user's hooks, in parallel with its work and after its last line. Only process exit
//! waits for a hook, and only briefly.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::workspace::notify::{Encode, Notifier};
use crate::workspace::project::Project;

/// Those who tell, by the root of their project.
#[derive(Debug, Clone)]
pub struct Notifications {
    notifiers: Arc<Mutex<BTreeMap<PathBuf, Option<Notifier>>>>,
    encode: Encode,
}

impl Notifications {
    pub fn new(encode: Encode) -> Self {
        Self { notifiers: Arc::default(), encode }
    }

    /// Serves a project, before anything is recorded in it.
    pub(crate) fn watch(&self, project: &Project) {
        let start = || Notifier::start(project, self.encode);
        self.lock().entry(project.root.clone()).or_insert_with(start);
    }

    /// Delivers what is left when the process ends.
    pub fn finish(&self) {
        std::mem::take(&mut *self.lock()).into_values().flatten().for_each(Notifier::finish);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Option<Notifier>>> {
        self.notifiers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
