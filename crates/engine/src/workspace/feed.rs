//! Everything recorded about the plans of a project as one stream of notices: journals and ledgers together,
//! in the order of writing. Only reads; a poll that finds nothing new costs one query, however many plans
//! there are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::approval::status::RecordedEntry;
use planwright_core::run::event::Event;
use planwright_core::workspace::notification::{Notification, NotificationSubject};

use crate::store::journal::{Error, FeedFilter, JournalChain, NewsLine, RecordedEvent, RunId, Store};
use crate::store::plan_file;

const BATCH: usize = 4096;

/// A stream of notices that continues where it was last read.
#[derive(Debug)]
pub struct EventFeed {
    store: Arc<Store>,
    root: PathBuf,
    filter: Filter,
    /// The position read last.
    place: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this plan, relative to the root of the project.
    pub plan: Option<PathBuf>,
    /// Only what follows this position in its journal or ledger.
    pub after_seq: u64,
    /// Only from this time on, in milliseconds since 1970.
    pub since_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedItem {
    /// Its position in the overall order.
    pub place: u64,
    /// What listeners get to know.
    pub notice: Notification,
    pub what: FeedSubject,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedSubject {
    /// An event of a run.
    Event(RunId, Event),
    /// A ledger entry of the plan at this path, relative to the root of the project.
    Entry(PathBuf, LedgerEntry),
}

impl EventFeed {
    /// A stream of what was recorded after a position; 0 is the beginning.
    pub fn after(store: &Arc<Store>, root: &Path, filter: Filter, place: u64) -> Self {
        Self { store: Arc::clone(store), root: root.to_owned(), filter, place }
    }

    /// Everything up to this position was read or filtered out.
    pub const fn place(&self) -> u64 {
        self.place
    }

    /// The next batch; `None` if there is nothing new.
    pub fn next_batch(&mut self) -> Result<Option<Vec<FeedItem>>, Error> {
        // Queried first: what is written meanwhile is left for the next time, and nothing is missed.
        let newest = self.store.newest()?;
        if newest <= self.place {
            return Ok(None);
        }
        let Filter { plan, after_seq, since_ms } = &self.filter;
        let lines = self.store.news(FeedFilter {
            after: self.place,
            after_seq: *after_seq,
            since_ms: *since_ms,
            plan: plan.as_deref(),
            count_max: BATCH,
        })?;
        let facts = Books::read(&self.store, &lines)?.facts(&self.store, &self.root, &lines);
        self.place = match lines.last() {
            Some(last) if lines.len() == BATCH => last.place,
            Some(last) => last.place.max(newest),
            None => newest,
        };
        Ok((!lines.is_empty()).then_some(facts))
    }
}

/// The contents of the journals and ledgers of a batch.
struct Books {
    runs: BTreeMap<RunId, BTreeMap<u64, RecordedEvent>>,
    plans: BTreeMap<PathBuf, Vec<RecordedEntry>>,
}

impl Books {
    /// Reads each book once, from the first needed line on: every record is verified there.
    fn read(store: &Store, lines: &[NewsLine]) -> Result<Self, Error> {
        let mut books = Self { runs: BTreeMap::new(), plans: BTreeMap::new() };
        for line in lines {
            match line.book {
                JournalChain::Run(run) if !books.runs.contains_key(&run) => {
                    let events = store.events(run, line.seq - 1)?;
                    books.runs.insert(run, events.into_iter().map(|event| (event.seq, event)).collect());
                }
                JournalChain::Plan(_) if !books.plans.contains_key(&line.plan) => {
                    books.plans.insert(line.plan.clone(), store.ledger(&line.plan)?);
                }
                JournalChain::Run(_) | JournalChain::Plan(_) => {}
            }
        }
        Ok(books)
    }

    fn facts(&self, store: &Store, root: &Path, lines: &[NewsLine]) -> Vec<FeedItem> {
        let project = store.key();
        let fact = |line: &NewsLine| {
            let name = line.name.clone().unwrap_or_else(|| plan_file::name(&root.join(&line.plan)));
            let path = line.plan.to_string_lossy();
            let about = NotificationSubject { project: &project, plan: &name, path: &path };
            let (notice, what) = match line.book {
                JournalChain::Run(run) => {
                    let recorded = self.runs.get(&run)?.get(&line.seq)?;
                    let at = (recorded.seq, recorded.at_ms);
                    let notice = Notification::of_event(about, run.number(), at, &recorded.event);
                    (notice, FeedSubject::Event(run, recorded.event.clone()))
                }
                JournalChain::Plan(plan) => {
                    let ledger = self.plans.get(&line.plan)?;
                    let until = ledger.iter().position(|said| said.seq == line.seq)?;
                    let notice = Notification::of_last(about, plan.number(), &ledger[..=until])?;
                    (notice, FeedSubject::Entry(line.plan.clone(), ledger[until].entry.clone()))
                }
            };
            Some(FeedItem { place: line.place, notice, what })
        };
        lines.iter().filter_map(fact).collect()
    }
}
