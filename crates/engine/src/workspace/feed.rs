//! Everything that was recorded about the plans of a project, as one stream of notices: journals and ledgers together, in the
//! order in which they were written. Only reads; a look that finds nothing new costs one question, however many plans there
//! are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright_core::approval::ledger::Entry;
use planwright_core::approval::status::Said;
use planwright_core::run::event::Event;
use planwright_core::workspace::notification::{About, Notice};

use crate::store::journal::{Book, Error, NewsLine, Recorded, RunId, Store, Wanted};
use crate::workspace::project;

/// How much is read at once.
const BATCH: usize = 4096;

/// A stream of notices that goes on from where it was read last.
#[derive(Debug)]
pub struct Feed {
    store: Arc<Store>,
    root: PathBuf,
    filter: Filter,
    /// The place of what was read last.
    place: u64,
}

/// What is to be told.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only what is about this plan, relative to the root of the project.
    pub plan: Option<PathBuf>,
    /// Only what stands after this place in its journal or ledger.
    pub after_seq: u64,
    /// Only what was recorded at this time or later, in milliseconds since 1970.
    pub since_ms: u64,
}

/// Something that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its place among everything that was recorded.
    pub place: u64,
    /// What listeners are told of it.
    pub notice: Notice,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Something happened to a run.
    Event(RunId, Event),
    /// Something was said about a plan, which lies here, relative to the root of the project.
    Entry(PathBuf, Entry),
}

impl Feed {
    /// A stream of what was recorded after a place; 0 is the beginning.
    pub fn after(store: &Arc<Store>, root: &Path, filter: Filter, place: u64) -> Self {
        Self { store: Arc::clone(store), root: root.to_owned(), filter, place }
    }

    /// Everything up to this place was read, or is not to be told.
    pub const fn place(&self) -> u64 {
        self.place
    }

    /// What comes next, at most a batch of it; `None` where there is nothing new.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Fact>>, Error> {
        // Asked first: what is written meanwhile is left for the next time, and nothing is passed over.
        let newest = self.store.newest()?;
        if newest <= self.place {
            return Ok(None);
        }
        let Filter { plan, after_seq, since_ms } = &self.filter;
        let lines = self.store.news(Wanted {
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

/// What the journals and ledgers that a batch is about say.
struct Books {
    runs: BTreeMap<RunId, BTreeMap<u64, Recorded>>,
    plans: BTreeMap<PathBuf, Vec<Said>>,
}

impl Books {
    /// Reads each book once, from the first line on that is wanted: there every record is checked.
    fn read(store: &Store, lines: &[NewsLine]) -> Result<Self, Error> {
        let mut books = Self { runs: BTreeMap::new(), plans: BTreeMap::new() };
        for line in lines {
            match line.book {
                Book::Run(run) if !books.runs.contains_key(&run) => {
                    let events = store.events(run, line.seq - 1)?;
                    books.runs.insert(run, events.into_iter().map(|event| (event.seq, event)).collect());
                }
                Book::Plan(_) if !books.plans.contains_key(&line.plan) => {
                    books.plans.insert(line.plan.clone(), store.ledger(&line.plan)?);
                }
                Book::Run(_) | Book::Plan(_) => {}
            }
        }
        Ok(books)
    }

    fn facts(&self, store: &Store, root: &Path, lines: &[NewsLine]) -> Vec<Fact> {
        let project = store.key();
        let fact = |line: &NewsLine| {
            let name = line.name.clone().unwrap_or_else(|| project::name(&root.join(&line.plan)));
            let path = line.plan.to_string_lossy();
            let about = About { project: &project, plan: &name, path: &path };
            let (notice, what) = match line.book {
                Book::Run(run) => {
                    let recorded = self.runs.get(&run)?.get(&line.seq)?;
                    let at = (recorded.seq, recorded.at_ms);
                    let notice = Notice::of_event(about, run.number(), at, &recorded.event);
                    (notice, What::Event(run, recorded.event.clone()))
                }
                Book::Plan(plan) => {
                    let ledger = self.plans.get(&line.plan)?;
                    let until = ledger.iter().position(|said| said.seq == line.seq)?;
                    let notice = Notice::of_last(about, plan.number(), &ledger[..=until])?;
                    (notice, What::Entry(line.plan.clone(), ledger[until].entry.clone()))
                }
            };
            Some(Fact { place: line.place, notice, what })
        };
        lines.iter().filter_map(fact).collect()
    }
}
