//! Delivers events to one hook: in order, each until it is accepted or given up, and records the position.
//! Only one process at a time delivers to a hook.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Closing, Delivered, Encode, Hook, PendingDeliveries, suppression, wants};
use crate::store::journal::{Delivery, Error, Store};
use crate::system::clock::now;
use crate::workspace::feed::{EventFeed, FeedItem, Filter};
use crate::workspace::project::Project;

/// How often an event is tried before it is given up, across processes.
const TRIES_MAX: u32 = 12;
/// The delay before the second try; it doubles for every further one.
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_mins(1);
/// How long a new proposal may be pending before somebody is called, while this process runs.
const BREATH: Duration = Duration::from_secs(1);
/// A hook without a courier for this long starts afresh: old events would bury the new.
const FORGOTTEN_MS: u64 = 30 * 86_400_000;
/// How often it is recorded that a hook has a courier.
const NOTED_MS: u64 = 86_400_000;

#[derive(Debug)]
pub(super) struct Courier {
    hook: Hook,
    store: Arc<Store>,
    root: PathBuf,
    /// Where an unknown hook starts.
    since: u64,
    encode: Encode,
}

enum Outcome {
    Delivered,
    Skipped,
    Later,
}

impl Courier {
    pub(super) fn new(
        hook: Hook,
        project: &Project,
        store: &Arc<Store>,
        (since, encode): (u64, Encode),
    ) -> Self {
        Self { hook, store: Arc::clone(store), root: project.root.clone(), since, encode }
    }

    /// The newest position; `None` if it cannot be read now.
    pub(super) fn newest(&self) -> Option<u64> {
        self.store.newest().ok()
    }

    /// Delivers everything new to the hook, trying each event up to a limit.
    pub(super) fn tell(&self, tries_max: u32, closing: &Closing) -> Result<Delivered, Error> {
        let mut told =
            Delivered { hook: self.hook.name, delivered: 0, skipped: 0, rest: PendingDeliveries::Nothing };
        loop {
            let Some(lock) = self.store.lock_named(&format!("hook-{}", self.hook.name))? else {
                told.rest = PendingDeliveries::Busy;
                return Ok(told);
            };
            let mut delivery = self.begin()?;
            self.catch_up(&mut delivery, &mut told, (tries_max, closing))?;
            drop(lock);
            told.skipped = delivery.skipped;
            // Whoever recorded something while we held the lock has left it to us.
            if told.rest != PendingDeliveries::Nothing || self.store.newest()? <= delivery.place {
                return Ok(told);
            }
        }
    }

    /// Clears the count of skipped events, once it was reported.
    pub(super) fn forgive(&self) -> Result<(), Error> {
        match self.store.delivery(self.hook.name)? {
            Some(delivery) if delivery.skipped > 0 => self.note(&mut Delivery { skipped: 0, ..delivery }),
            Some(_) | None => Ok(()),
        }
    }

    /// The hook's position.
    fn begin(&self) -> Result<Delivery, Error> {
        let known = self.store.delivery(self.hook.name)?;
        let age = known.as_ref().map_or(u64::MAX, |known| now().saturating_sub(known.at_ms));
        let fresh = || Delivery { place: self.since, tries: 0, skipped: 0, why: String::new(), at_ms: 0 };
        let mut delivery = known.filter(|_| age < FORGOTTEN_MS).unwrap_or_else(fresh);
        if age >= NOTED_MS {
            self.note(&mut delivery)?;
        }
        Ok(delivery)
    }

    fn catch_up(
        &self,
        delivery: &mut Delivery,
        told: &mut Delivered,
        (tries_max, closing): (u32, &Closing),
    ) -> Result<(), Error> {
        let mut feed = EventFeed::after(&self.store, &self.root, Filter::default(), delivery.place);
        let from = delivery.place;
        loop {
            let Some(batch) = feed.next_batch()? else {
                // Skipped events are not read again.
                delivery.place = delivery.place.max(feed.place());
                return if delivery.place > from { self.note(delivery) } else { Ok(()) };
            };
            for fact in &batch {
                if wants(&self.hook, &fact.notice) && !self.is_settled(fact, closing)? {
                    match self.deliver(fact, delivery, (tries_max, closing))? {
                        Outcome::Delivered => told.delivered += 1,
                        Outcome::Skipped => {}
                        Outcome::Later => {
                            told.rest = PendingDeliveries::Later(delivery.why.clone());
                            return Ok(());
                        }
                    }
                }
                delivery.place = fact.place;
            }
        }
    }

    /// Whether nobody is needed any more. A recent event is given a moment: a proposer often approves right
    /// away.
    fn is_settled(&self, fact: &FeedItem, closing: &Closing) -> Result<bool, Error> {
        let age = Duration::from_millis(now().saturating_sub(fact.notice.at_ms));
        if fact.notice.run.is_none() && age < BREATH && !closing.has_begun() {
            closing.wait(BREATH.saturating_sub(age));
        }
        suppression::is_settled(&self.store, fact)
    }

    /// Delivers one event until it is accepted or given up.
    fn deliver(
        &self,
        fact: &FeedItem,
        delivery: &mut Delivery,
        (tries_max, closing): (u32, &Closing),
    ) -> Result<Outcome, Error> {
        let line = (self.encode)(&fact.notice);
        let mut tries = 0;
        loop {
            if closing.is_over() {
                return Ok(Outcome::Later);
            }
            // Counted before it is tried: an event that kills this process each time is given up, too.
            delivery.tries += 1;
            tries += 1;
            self.note(delivery)?;
            let tag = format!("hook/{}/{}", self.store.key(), self.hook.name);
            match self.hook.tell(&fact.notice, &line, (&self.root, tag), now()) {
                Ok(()) => {
                    (delivery.place, delivery.tries) = (fact.place, 0);
                    delivery.why.clear();
                    self.note(delivery)?;
                    return Ok(Outcome::Delivered);
                }
                Err(why) => delivery.why = why,
            }
            if delivery.tries >= TRIES_MAX {
                (delivery.place, delivery.tries, delivery.skipped) = (fact.place, 0, delivery.skipped + 1);
                self.note(delivery)?;
                return Ok(Outcome::Skipped);
            }
            self.note(delivery)?;
            let pause = BACKOFF_MIN.saturating_mul(1 << (tries - 1).min(20)).min(BACKOFF_MAX);
            if tries >= tries_max || closing.wait(pause) {
                return Ok(Outcome::Later);
            }
        }
    }

    fn note(&self, delivery: &mut Delivery) -> Result<(), Error> {
        delivery.at_ms = now();
        self.store.note_delivery(self.hook.name, delivery)
    }
}
