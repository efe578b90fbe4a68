//! The record of one plan with everything that a third party needs to check it: the ledger, the journals of
//! its runs, and what they refer to. `file` is its file format. Judges nothing: [`crate::audit`] does.

mod format;

pub use format::{BundleFault, SCHEMA, Unwritable};

use std::collections::{BTreeMap, BTreeSet};

use blake3::Hash;

use crate::approval::ledger::LedgerEntry;
use crate::audit::hash_chain;
use crate::run::event::{Event, StepEvent};
use crate::run::receipt::Blob;

/// The end of a book. Stored elsewhere, it shows that nothing was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// 0 if there is none.
    pub seq: u64,
    /// Its hash, or the genesis hash of an empty book.
    pub hash: Hash,
}

/// One record of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainLink {
    /// Counted from 1.
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// The record, byte for byte.
    pub text: Vec<u8>,
    /// The hash of the record before it.
    pub prev: Hash,
    /// Covers the record and everything before it.
    pub hash: Hash,
}

/// A chain of records: the journal of a run, or the ledger of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The number of the run or the plan, which is part of every hash.
    pub number: i64,
    /// In stored order.
    pub links: Vec<ChainLink>,
    /// The recorded end of the book, if any.
    pub head: Option<ChainHead>,
}

impl Chain {
    /// The end of the book according to its records.
    pub fn end(&self, first: Hash) -> ChainHead {
        self.links
            .last()
            .map_or(ChainHead { seq: 0, hash: first }, |last| ChainHead { seq: last.seq, hash: last.hash })
    }

    pub fn hash_at(&self, seq: u64) -> Option<Hash> {
        self.links.iter().find(|link| link.seq == seq).map(|link| link.hash)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBook {
    pub book: Chain,
    pub name: String,
    /// The digest that was approved.
    pub digest: String,
    /// The approved text, byte for byte.
    pub text: String,
    pub dialect: String,
    /// In milliseconds since 1970.
    pub created_at_ms: u64,
}

impl RunBook {
    /// What the first event follows.
    pub fn first(&self) -> Hash {
        hash_chain::run_genesis(&self.digest, self.text.as_bytes())
    }

    pub fn end(&self) -> ChainHead {
        self.book.end(self.first())
    }

    /// Every readable event, with its record.
    pub fn events(&self) -> impl Iterator<Item = (&ChainLink, Event)> {
        self.book.links.iter().filter_map(|link| Some((link, serde_json::from_slice(&link.text).ok()?)))
    }
}

/// Bytes that a record refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedBlob {
    pub bytes: u64,
    /// `None` if not available.
    pub content: Option<Vec<u8>>,
    /// When they were removed by retention, in milliseconds since 1970.
    pub dropped_at_ms: Option<u64>,
}

/// The whole record of one plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditBundle {
    /// The store of origin: other stores use the same numbers.
    pub store: String,
    /// Relative to the project root.
    pub plan: String,
    pub name: String,
    /// `None` without entries.
    pub ledger: Option<Chain>,
    /// Oldest first.
    pub runs: Vec<RunBook>,
    /// What the records refer to, by hash. Missing here means missing in the store.
    pub blobs: BTreeMap<String, NamedBlob>,
}

impl AuditBundle {
    /// Every readable entry of the ledger, with its record.
    pub fn entries(&self) -> impl Iterator<Item = (&ChainLink, LedgerEntry)> {
        let links = self.ledger.iter().flat_map(|ledger| &ledger.links);
        links.filter_map(|link| Some((link, serde_json::from_slice(&link.text).ok()?)))
    }

    pub fn records(&self) -> usize {
        let ledger = self.ledger.as_ref().map_or(0, |ledger| ledger.links.len());
        self.runs.iter().map(|run| run.book.links.len()).sum::<usize>() + ledger
    }

    /// All heads, each as a line that names its book, for the anchor.
    pub fn heads(&self) -> Vec<Anchor> {
        let runs = self.runs.iter().map(|run| Anchor {
            book: NamedHead::Run(run.book.number),
            head: run.end(),
            at_ms: run.book.links.last().map_or(run.created_at_ms, |last| last.at_ms),
        });
        let ledger = self.ledger.iter().map(|ledger| Anchor {
            book: NamedHead::Ledger(ledger.number, self.plan.clone()),
            head: ledger.end(hash_chain::ledger_genesis()),
            at_ms: ledger.links.last().map_or(0, |last| last.at_ms),
        });
        ledger.chain(runs).collect()
    }

    /// Everything that a record refers to, and whether its content is needed to check the record.
    pub fn named(&self) -> BTreeMap<Blob, Need> {
        let mut named = BTreeMap::new();
        for (_, entry) in self.entries() {
            if let LedgerEntry::Proposed { text, .. } | LedgerEntry::Deleted { backup: text, .. } = entry {
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

/// Which part of a blob is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Content,
    /// Only its length.
    Length,
}

fn named_by(event: &Event) -> Vec<Blob> {
    let judged = event.verdicts().into_iter().map(|verdict| verdict.receipt.output.clone());
    match event {
        Event::Step { event: StepEvent::Started(start), .. } => vec![start.prompt.clone()],
        Event::Step { event: StepEvent::Finished(finish), .. } => finish.output.iter().cloned().collect(),
        Event::Step { event: StepEvent::Judged { .. } | StepEvent::Faulted { .. }, .. }
        | Event::Run(_)
        | Event::Ask { .. } => judged.collect(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NamedHead {
    /// The ledger with this number, of this plan.
    Ledger(i64, String),
    /// The journal of the run with this number.
    Run(i64),
}

impl NamedHead {
    /// What identifies a book. A moved plan keeps the number of its ledger.
    pub const fn key(&self) -> (&'static str, i64) {
        match self {
            Self::Ledger(number, _) => ("ledger", *number),
            Self::Run(number) => ("run", *number),
        }
    }
}

impl std::fmt::Display for NamedHead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ledger(_, plan) => write!(f, "the ledger of {plan}"),
            Self::Run(run) => write!(f, "run {run}"),
        }
    }
}

/// The end of a book, as stored outside the book. One line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub book: NamedHead,
    pub head: ChainHead,
    /// When its last record was written, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Anchor {
    /// `run NUMBER SEQ HASH AT`, or `ledger NUMBER SEQ HASH AT PLAN`, without a newline.
    pub fn line(&self) -> String {
        let ChainHead { seq, hash } = self.head;
        match &self.book {
            NamedHead::Run(number) => format!("run {number} {seq} {} {}", hash.to_hex(), self.at_ms),
            NamedHead::Ledger(number, plan) => {
                // A plan name may contain newlines; in the file it is one line.
                let plan = plan.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
                format!("ledger {number} {seq} {} {} {plan}", hash.to_hex(), self.at_ms)
            }
        }
    }

    /// Parses a line; `None` if it is invalid.
    pub fn read(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let kind = words.next()?;
        // Accept numbers in one spelling only: planwright writes no other.
        let number: i64 = exact(words.next()?)?;
        let seq: u64 = exact(words.next()?)?;
        let hash = words.next()?;
        let hash = Hash::from_hex(hash).ok().filter(|read| read.to_hex().as_str() == hash)?;
        let at_ms: u64 = exact(words.next()?)?;
        let book = match (kind, words.next()) {
            ("run", None) => NamedHead::Run(number),
            ("ledger", Some(plan)) => NamedHead::Ledger(number, unescaped(plan)?),
            _ => return None,
        };
        Some(Self { book, head: ChainHead { seq, hash }, at_ms })
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

/// One hash over the heads of many books.
pub fn head_of_heads(anchors: &[Anchor]) -> Hash {
    let lines: BTreeSet<String> = anchors.iter().map(Anchor::line).collect();
    let mut hasher = blake3::Hasher::new();
    for line in lines {
        hasher.update(line.as_bytes()).update(b"\n");
    }
    hasher.finalize()
}
