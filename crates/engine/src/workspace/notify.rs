//! Delivers events to the user's hooks: commands and a webhook. Events are hints: nothing waits for a hook or
//! depends on one, and a missed event is delivered by the next process that looks.
//!
//! Each hook has a cursor in the store. It advances only after the hook has accepted an event, so that a
//! killed process leaves the event to the next one: at least once, and in order. The deliverer holds the lock
//! of the hook.

mod delivery;
mod hook;
mod suppression;
mod webhook;

pub use hook::{Hook, hooks_of, wants};

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use planwright_core::workspace::notification::Notification;

use crate::store::journal::{self, Store};
use crate::system::process;
use crate::workspace::project::Project;
use delivery::Courier;

/// How often the store is polled for events.
const LOOK: Duration = Duration::from_millis(200);
/// How often one event is tried in one go while somebody waits for the answer.
const TRIES_AT_ONCE: u32 = 4;

/// Formats a notice as hooks receive it: one line.
pub type Encode = fn(&Notification) -> String;

/// The result of delivering events to one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    pub hook: &'static str,
    pub delivered: u64,
    /// How many were given up, including by earlier processes.
    pub skipped: u64,
    pub rest: PendingDeliveries,
}

/// What is left for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingDeliveries {
    Nothing,
    /// Something, for this reason; it will be retried.
    Later(String),
    /// Another process is delivering.
    Busy,
}

/// Delivers missed events to the hooks of a project, and reports the results. A new hook starts now. Agents
/// and contracts may not call this: they could make the user's hooks miss something.
pub fn deliver(
    project: &Project,
    store: &Arc<Store>,
    encode: Encode,
) -> Result<Vec<Delivered>, journal::Error> {
    let hooks = if process::job_above().is_some() { Vec::new() } else { hooks_of(&project.config.hooks) };
    let since = store.newest()?;
    let told = hooks.into_iter().map(|hook| {
        let courier = Courier::new(hook, project, store, (since, encode));
        let told = courier.tell(TRIES_AT_ONCE, &Closing::default())?;
        courier.forgive()?;
        Ok(told)
    });
    told.collect()
}

/// Delivers events to the hooks of a project in the background.
#[derive(Debug)]
pub struct Notifier {
    closing: Arc<Closing>,
    couriers: Vec<JoinHandle<()>>,
    /// Time limit for finishing.
    patience: Duration,
}

impl Notifier {
    /// Starts delivering, beginning with missed events. A new hook starts now. `None` without hooks, or
    /// inside an agent or contract: its hooks need not be the user's.
    pub fn start(project: &Project, encode: Encode) -> Option<Self> {
        let hooks = hooks_of(&project.config.hooks);
        if hooks.is_empty() || process::job_above().is_some() {
            return None;
        }
        let store = Arc::new(Lazy { root: project.root.clone(), store: OnceLock::new() });
        // A store that cannot be read now is reported by whoever needs it.
        let since = store.get().and_then(|store| store.newest().ok()).unwrap_or(0);
        let closing = Arc::new(Closing::default());
        let couriers = hooks.into_iter().filter_map(|hook| {
            let (project, store, closing) = (project.clone(), Arc::clone(&store), Arc::clone(&closing));
            let work = move || watch(&hook, &project, &store, (since, encode), &closing);
            // Without a thread nothing is delivered now; the next process does it.
            thread::Builder::new().name("hook".to_owned()).spawn(work).ok()
        });
        let couriers = couriers.collect();
        Some(Self { closing, couriers, patience: Duration::from_secs(project.config.hooks.seconds) })
    }

    /// Delivers what is left, each event once, and ends. Starts nothing new once a hook would exceed its
    /// time.
    pub fn finish(self) {
        self.closing.begin(self.patience);
        for courier in self.couriers {
            // A panic was already reported and harmed nobody.
            courier.join().ok();
        }
    }
}

/// The loop of one courier: polls for events until the process ends, and once more then.
fn watch(hook: &Hook, project: &Project, store: &Lazy, (since, encode): (u64, Encode), closing: &Closing) {
    let mut courier = None;
    let mut seen = None;
    loop {
        let is_last = closing.has_begun();
        if courier.is_none() {
            courier = store.get().map(|store| Courier::new(hook.clone(), project, store, (since, encode)));
        }
        let mut is_left = false;
        if let Some(courier) = &courier {
            // Queried before delivery: what arrives meanwhile is found by the next poll.
            let newest = courier.newest();
            if newest.is_some() && newest != seen {
                match courier.tell(u32::MAX, closing).map(|told| told.rest) {
                    Ok(PendingDeliveries::Nothing) => seen = newest,
                    Ok(PendingDeliveries::Later(_)) => is_left = true,
                    // Another process is delivering, or the store is busy: the next poll may succeed.
                    Ok(PendingDeliveries::Busy) | Err(_) => {}
                }
            }
        }
        if is_last || (is_left && closing.has_begun()) {
            return;
        }
        closing.wait(LOOK);
    }
}

/// The store of a project, opened once it exists: a listener creates none.
#[derive(Debug)]
struct Lazy {
    root: PathBuf,
    store: OnceLock<Arc<Store>>,
}

impl Lazy {
    fn get(&self) -> Option<&Arc<Store>> {
        if self.store.get().is_none() && exists(&self.root) {
            let store = Arc::new(Store::open(&self.root).ok()?);
            // Another courier may have been faster; then its store is used.
            self.store.set(store).ok();
        }
        self.store.get()
    }
}

fn exists(root: &Path) -> bool {
    Store::exists(root).unwrap_or(false)
}

/// Tells couriers that the process is about to end.
#[derive(Debug, Default)]
struct Closing {
    /// When nothing new is started any more.
    until: Mutex<Option<Instant>>,
    bell: Condvar,
}

impl Closing {
    fn begin(&self, patience: Duration) {
        *self.lock() = Some(Instant::now() + patience);
        self.bell.notify_all();
    }

    fn has_begun(&self) -> bool {
        self.lock().is_some()
    }

    fn is_over(&self) -> bool {
        self.lock().is_some_and(|until| Instant::now() >= until)
    }

    /// Waits, or returns early when closing starts. Returns whether it has started.
    fn wait(&self, time: Duration) -> bool {
        let waited = self.bell.wait_timeout_while(self.lock(), time, |until| until.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
