//! Tells hooks what happens: commands and a webhook that the user has set. What they are told are hints: nothing waits for a
//! hook, nothing depends on one, and what one has missed is told by the next process that looks.
//!
//! Each hook has a cursor in the store. It moves on only after the hook has taken an event, so that a process that is killed
//! leaves the event to the next one: at least once, and in order. Who delivers holds the lock of the hook.

mod delivery;
mod hook;
mod suppression;
mod webhook;

pub use hook::{Hook, hooks_of, wants};

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use planwright_core::workspace::notification::Notice;

use crate::store::journal::{self, Store};
use crate::system::process;
use crate::workspace::project::Project;
use delivery::Courier;

/// How often the store is looked at for news.
const LOOK: Duration = Duration::from_millis(200);
/// How often one event is tried in one go where somebody waits for the answer.
const TRIES_AT_ONCE: u32 = 4;

/// Writes a notice as hooks get it: one line.
pub type Encode = fn(&Notice) -> String;

/// What became of the news for one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub hook: &'static str,
    /// How many events it took.
    pub delivered: u64,
    /// How many were given up, also by processes before this one.
    pub skipped: u64,
    pub rest: Rest,
}

/// What is left for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    Nothing,
    /// Something, for this reason; it will be tried again.
    Later(String),
    /// Another process is at it.
    Busy,
}

/// Delivers what the hooks of a project have missed, and says what became of it. A hook that is new begins now. Agents and
/// contracts can't: they could have the user's hooks miss something.
pub fn deliver(project: &Project, store: &Arc<Store>, encode: Encode) -> Result<Vec<Told>, journal::Error> {
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

/// Tells the hooks of a project what happens, beside whatever this process does.
#[derive(Debug)]
pub struct Notifier {
    closing: Arc<Closing>,
    couriers: Vec<JoinHandle<()>>,
    /// How long the end may take.
    patience: Duration,
}

impl Notifier {
    /// Begins to tell, first of what was missed. A hook that is new begins now. `None` where there is nobody to tell, or where
    /// an agent or a contract is at work: its hooks need not be the user's.
    pub fn start(project: &Project, encode: Encode) -> Option<Self> {
        let hooks = hooks_of(&project.config.hooks);
        if hooks.is_empty() || process::job_above().is_some() {
            return None;
        }
        let store = Arc::new(Lazy { root: project.root.clone(), store: OnceLock::new() });
        // A store that can't be read now is said by whoever needs it.
        let since = store.get().and_then(|store| store.newest().ok()).unwrap_or(0);
        let closing = Arc::new(Closing::default());
        let couriers = hooks.into_iter().filter_map(|hook| {
            let (project, store, closing) = (project.clone(), Arc::clone(&store), Arc::clone(&closing));
            let work = move || watch(&hook, &project, &store, (since, encode), &closing);
            // Without a thread nobody is told now; the next process does it.
            thread::Builder::new().name("hook".to_owned()).spawn(work).ok()
        });
        let couriers = couriers.collect();
        Some(Self { closing, couriers, patience: Duration::from_secs(project.config.hooks.seconds) })
    }

    /// Tells what is left, each event once, and ends. Begins nothing any more once a hook would have run out of its time.
    pub fn finish(self) {
        self.closing.begin(self.patience);
        for courier in self.couriers {
            // One that panicked has said so, and has harmed nobody.
            courier.join().ok();
        }
    }
}

/// The life of one courier: looks for news until the process ends, and once more then.
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
            // Asked before the news are told: what comes meanwhile is looked for again.
            let newest = courier.newest();
            if newest.is_some() && newest != seen {
                match courier.tell(u32::MAX, closing).map(|told| told.rest) {
                    Ok(Rest::Nothing) => seen = newest,
                    Ok(Rest::Later(_)) => is_left = true,
                    // Another process is at it, or the store is busy: the next look may find it free.
                    Ok(Rest::Busy) | Err(_) => {}
                }
            }
        }
        if is_last || (is_left && closing.has_begun()) {
            return;
        }
        closing.wait(LOOK);
    }
}

/// The store of a project, opened once there is one: who only listens makes none.
#[derive(Debug)]
struct Lazy {
    root: PathBuf,
    store: OnceLock<Arc<Store>>,
}

impl Lazy {
    fn get(&self) -> Option<&Arc<Store>> {
        if self.store.get().is_none() && exists(&self.root) {
            let store = Arc::new(Store::open(&self.root).ok()?);
            // Another courier may have been faster; then that one is used.
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
    /// When nothing new is begun any more.
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

    /// Waits; less long where the end begins meanwhile. Returns whether it has begun.
    fn wait(&self, time: Duration) -> bool {
        let waited = self.bell.wait_timeout_while(self.lock(), time, |until| until.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
