//! The record of one plan with everything that a stranger needs to check it: the ledger, the journals of its runs, what they name.
//! `file` is its format beside the code. Judges nothing: [`crate::audit`] does.

mod format;

pub use format::{Fault, SCHEMA, Unwritable};

use std::collections::{BTreeMap, BTreeSet};

use blake3::Hash;

use crate::approval::ledger::Entry;
use crate::audit::hash_chain;
use crate::run::event::{Blob, Event};

/// The end of a book. Kept elsewhere, it shows that nothing was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The number of the last record; 0 when there is none.
    pub seq: u64,
    /// Its hash, or what the first record would follow.
    pub hash: Hash,
}

/// One record with its place on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its place, counted from 1.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: u64,
    /// The record, byte for byte.
    pub text: Vec<u8>,
    /// The hash of the record before it.
    pub prev: Hash,
    /// Names it and everything before it.
    pub hash: Hash,
}

/// A chain of records: the journal of a run, or the ledger of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Book {
    /// Its number among its like, which is a part of every hash.
    pub number: i64,
    /// The records, in the order in which they lie there.
    pub links: Vec<Link>,
    /// The book's own record of its end; `None` where there is none.
    pub head: Option<Head>,
}

impl Book {
    /// The end of the book as its records have it.
    pub fn end(&self, first: Hash) -> Head {
        self.links.last().map_or(Head { seq: 0, hash: first }, |last| Head { seq: last.seq, hash: last.hash })
    }

    /// The hash of the record with this number.
    pub fn hash_at(&self, seq: u64) -> Option<Hash> {
        self.links.iter().find(|link| link.seq == seq).map(|link| link.hash)
    }
}

/// A run with its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBook {
    pub book: Book,
    /// The name of the plan.
    pub name: String,
    /// The digest that was approved.
    pub digest: String,
    /// The approved text, byte for byte.
    pub text: String,
    /// The dialect that it is written in.
    pub dialect: String,
    /// When it was recorded, in milliseconds since 1970.
    pub created_at_ms: u64,
}

impl RunBook {
    /// What the first event follows.
    pub fn first(&self) -> Hash {
        hash_chain::run_genesis(&self.digest, self.text.as_bytes())
    }

    /// The end of the journal.
    pub fn end(&self) -> Head {
        self.book.end(self.first())
    }

    /// Every event that can be read, with its place.
    pub fn events(&self) -> impl Iterator<Item = (&Link, Event)> {
        self.book.links.iter().filter_map(|link| Some((link, serde_json::from_slice(&link.text).ok()?)))
    }
}

/// Bytes that a record names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// How many they are.
    pub bytes: u64,
    /// The bytes themselves, where they are at hand.
    pub content: Option<Vec<u8>>,
    /// When they were let go of because their run was old, in milliseconds since 1970.
    pub dropped_at_ms: Option<u64>,
}

/// Everything that is recorded of one plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bundle {
    /// The store that it comes from: books have the same numbers in others.
    pub store: String,
    /// The plan, relative to the root of the project.
    pub plan: String,
    /// The name of the plan.
    pub name: String,
    /// What was said about it; `None` where nothing was.
    pub ledger: Option<Book>,
    /// Its runs, the oldest first.
    pub runs: Vec<RunBook>,
    /// What the records name, by its hash. What is missing here is missing there.
    pub blobs: BTreeMap<String, Kept>,
}

impl Bundle {
    /// Every entry of the ledger that can be read, with its place.
    pub fn entries(&self) -> impl Iterator<Item = (&Link, Entry)> {
        let links = self.ledger.iter().flat_map(|ledger| &ledger.links);
        links.filter_map(|link| Some((link, serde_json::from_slice(&link.text).ok()?)))
    }

    /// How many records there are.
    pub fn records(&self) -> usize {
        let ledger = self.ledger.as_ref().map_or(0, |ledger| ledger.links.len());
        self.runs.iter().map(|run| run.book.links.len()).sum::<usize>() + ledger
    }

    /// Every end, as a line that names its book: what is anchored elsewhere.
    pub fn heads(&self) -> Vec<Anchor> {
        let runs = self.runs.iter().map(|run| Anchor {
            book: Named::Run(run.book.number),
            head: run.end(),
            at_ms: run.book.links.last().map_or(run.created_at_ms, |last| last.at_ms),
        });
        let ledger = self.ledger.iter().map(|ledger| Anchor {
            book: Named::Ledger(ledger.number, self.plan.clone()),
            head: ledger.end(hash_chain::ledger_genesis()),
            at_ms: ledger.links.last().map_or(0, |last| last.at_ms),
        });
        ledger.chain(runs).collect()
    }

    /// Everything that a record names, each with whether a stranger needs its content to check anything.
    pub fn named(&self) -> BTreeMap<Blob, Need> {
        let mut named = BTreeMap::new();
        for (_, entry) in self.entries() {
            if let Entry::Proposed { text, .. } | Entry::Deleted { backup: text, .. } = entry {
                named.insert(text, Need::Content);
            }
        }
        for (_, event) in self.runs.iter().flat_map(RunBook::events) {
            for blob in named_by(&event) {
                named.entry(blob).or_insert(Need::Length);
            }
        }
        named
    }
}

/// What of some bytes is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Content,
    /// That there are so many.
    Length,
}

fn named_by(event: &Event) -> Vec<Blob> {
    match event {
        Event::AttemptStarted { prompt, .. } => vec![prompt.clone()],
        Event::AttemptFinished { output, .. } => output.iter().cloned().collect(),
        Event::ContractFinished { receipt, .. } => vec![receipt.output.clone()],
        Event::RunStarted { .. }
        | Event::AgentsApproved { .. }
        | Event::AskOpened { .. }
        | Event::AskAnswered { .. }
        | Event::BudgetWarned { .. }
        | Event::RunStopped { .. }
        | Event::RunResumed { .. }
        | Event::StepsReopened { .. }
        | Event::RunFinished { .. } => Vec::new(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Named {
    /// The ledger with this number, of this plan.
    Ledger(i64, String),
    /// The journal of the run with this number.
    Run(i64),
}

impl Named {
    /// What tells books apart. A plan may have been moved; its ledger has kept its number.
    pub const fn key(&self) -> (&'static str, i64) {
        match self {
            Self::Ledger(number, _) => ("ledger", *number),
            Self::Run(number) => ("run", *number),
        }
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ledger(_, plan) => write!(f, "the ledger of {plan}"),
            Self::Run(run) => write!(f, "run {run}"),
        }
    }
}

/// The end of a book, as it is kept outside of what it is the end of. One line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub book: Named,
    pub head: Head,
    /// When its last record was made, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Anchor {
    /// `run NUMBER SEQ HASH AT`, or `ledger NUMBER SEQ HASH AT PLAN`, without a line break.
    pub fn line(&self) -> String {
        let Head { seq, hash } = self.head;
        match &self.book {
            Named::Run(number) => format!("run {number} {seq} {} {}", hash.to_hex(), self.at_ms),
            Named::Ledger(number, plan) => {
                // A plan may have any name; in the file it has one line.
                let plan = plan.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
                format!("ledger {number} {seq} {} {} {plan}", hash.to_hex(), self.at_ms)
            }
        }
    }

    /// Reads a line; `None` where it is none.
    pub fn read(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let kind = words.next()?;
        // Numbers in one spelling only: what is written otherwise was not written by us.
        let number: i64 = exact(words.next()?)?;
        let seq: u64 = exact(words.next()?)?;
        let hash = words.next()?;
        let hash = Hash::from_hex(hash).ok().filter(|read| read.to_hex().as_str() == hash)?;
        let at_ms: u64 = exact(words.next()?)?;
        let book = match (kind, words.next()) {
            ("run", None) => Named::Run(number),
            ("ledger", Some(plan)) => Named::Ledger(number, unescaped(plan)?),
            _ => return None,
        };
        Some(Self { book, head: Head { seq, hash }, at_ms })
    }
}

fn exact<T: std::str::FromStr + ToString>(word: &str) -> Option<T> {
    word.parse::<T>().ok().filter(|number| number.to_string() == word)
}

fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        plain.push(match character {
            '\\' => match rest.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}

/// The head of heads: one hash over the ends of many books.
pub fn head_of_heads(anchors: &[Anchor]) -> Hash {
    let lines: BTreeSet<String> = anchors.iter().map(Anchor::line).collect();
    let mut hasher = blake3::Hasher::new();
    for line in lines {
        hasher.update(line.as_bytes()).update(b"\n");
    }
    hasher.finalize()
}
