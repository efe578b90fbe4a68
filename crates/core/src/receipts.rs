//! The record of one plan with everything that a stranger needs to check it: the ledger, the journals of its runs, what they name.
//! Owns the format of the file beside the code; docs/audit.md has it byte for byte. Judges nothing: [`crate::audit`] does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use blake3::Hash;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::chain;
use crate::event::{Blob, Event};
use crate::ledger::Entry;

/// The name of the format, in the first line of every file.
pub const SCHEMA: &str = "planwright.receipts/1";

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
    /// The journal.
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
        chain::run_genesis(&self.digest, self.text.as_bytes())
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
            head: ledger.end(chain::ledger_genesis()),
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
    /// The bytes.
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
        | Event::RunFinished { .. } => Vec::new(),
    }
}

/// Which book.
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
    /// The book.
    pub book: Named,
    /// Its end.
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

/// One line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Header(HeaderLine),
    Ledger(LedgerLine),
    Entry(RecordLine),
    Run(RunLine),
    Event(RecordLine),
    Blob(BlobLine),
    End(EndLine),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine {
    schema: String,
    store: String,
    plan: String,
    name: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerLine {
    number: i64,
    head: HeadData,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunLine {
    number: i64,
    name: String,
    digest: String,
    dialect: String,
    created_at_ms: u64,
    head: HeadData,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine {
    seq: u64,
    at_ms: u64,
    prev: String,
    hash: String,
    /// As it was recorded, byte for byte: the hash is made of these bytes.
    record: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobLine {
    hash: String,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dropped_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    /// How many lines are above this one.
    lines: usize,
    /// The hash of every byte above this line.
    blake3: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadData {
    seq: u64,
    hash: String,
}

impl From<Head> for HeadData {
    fn from(head: Head) -> Self {
        Self { seq: head.seq, hash: head.hash.to_hex().to_string() }
    }
}

/// Why a record can't be written as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritable(pub String);

impl std::fmt::Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} can't be written down as it is", self.0)
    }
}

impl std::error::Error for Unwritable {}

impl Bundle {
    /// The file: one JSON object a line, the same bytes for the same record.
    pub fn text(&self) -> Result<String, Unwritable> {
        let mut file = String::new();
        put(
            &mut file,
            &Line::Header(HeaderLine {
                schema: SCHEMA.to_owned(),
                store: self.store.clone(),
                plan: self.plan.clone(),
                name: self.name.clone(),
            }),
        );
        if let Some(ledger) = &self.ledger {
            let head = ledger.head.ok_or_else(|| Unwritable("the ledger".to_owned()))?.into();
            put(&mut file, &Line::Ledger(LedgerLine { number: ledger.number, head }));
            for link in &ledger.links {
                let what = || format!("entry {} of the ledger", link.seq);
                put(&mut file, &Line::Entry(record(link).ok_or_else(|| Unwritable(what()))?));
            }
        }
        for run in &self.runs {
            let number = run.book.number;
            let head = run.book.head.ok_or_else(|| Unwritable(format!("run {number}")))?.into();
            put(
                &mut file,
                &Line::Run(RunLine {
                    number,
                    name: run.name.clone(),
                    digest: run.digest.clone(),
                    dialect: run.dialect.clone(),
                    created_at_ms: run.created_at_ms,
                    head,
                    text: run.text.clone(),
                }),
            );
            for link in &run.book.links {
                let what = || format!("event {} of run {number}", link.seq);
                put(&mut file, &Line::Event(record(link).ok_or_else(|| Unwritable(what()))?));
            }
        }
        for (hash, kept) in &self.blobs {
            let text = kept.content.clone().and_then(|bytes| String::from_utf8(bytes).ok());
            let Kept { bytes, dropped_at_ms, .. } = *kept;
            put(&mut file, &Line::Blob(BlobLine { hash: hash.clone(), bytes, dropped_at_ms, text }));
        }
        let end = EndLine {
            lines: file.lines().count(),
            blake3: blake3::hash(file.as_bytes()).to_hex().to_string(),
        };
        put(&mut file, &Line::End(end));
        Ok(file)
    }

    /// Reads a file. What can't be read is named by its line; the rest is read all the same, so that it can be checked, too.
    pub fn read(bytes: &[u8]) -> (Self, Vec<Fault>) {
        let mut reader = Reader::default();
        let mut above = 0;
        for (place, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            reader.take(place + 1, line, &bytes[..above]);
            above += line.len();
        }
        if !reader.is_ended {
            reader.faults.push(Fault::Cut);
        }
        (reader.bundle, reader.faults)
    }
}

fn put(file: &mut String, line: &Line) {
    let text = serde_json::to_string(line).expect("lines are made of texts and numbers");
    // Writing to a string can't fail.
    let _ = writeln!(file, "{text}");
}

fn record(link: &Link) -> Option<RecordLine> {
    let text = String::from_utf8(link.text.clone()).ok()?;
    let is_one_line = !text.contains(['\n', '\r']) && text.trim() == text;
    Some(RecordLine {
        seq: link.seq,
        at_ms: link.at_ms,
        prev: link.prev.to_hex().to_string(),
        hash: link.hash.to_hex().to_string(),
        record: RawValue::from_string(text).ok().filter(|_| is_one_line)?,
    })
}

/// What is wrong with a file as such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A line can't be read, or stands where none of its kind may; says why.
    Line(usize, String),
    /// The bytes are not those that were exported.
    Seal,
    /// There is no last line.
    Cut,
}

#[derive(Default)]
struct Reader {
    bundle: Bundle,
    faults: Vec<Fault>,
    /// Whether records that follow belong to the last run, and not to the ledger.
    is_in_run: bool,
    is_ended: bool,
}

impl Reader {
    fn take(&mut self, place: usize, line: &[u8], above: &[u8]) {
        let read = serde_json::from_slice::<Line>(line.strip_suffix(b"\n").unwrap_or(line));
        let taken = match read {
            Err(error) => Err(error.to_string()),
            Ok(_) if self.is_ended => Err("it stands behind the end".to_owned()),
            Ok(Line::Header(_)) if place != 1 => Err("a second beginning".to_owned()),
            Ok(Line::Header(header)) if header.schema != SCHEMA => {
                Err(format!("`{}` is not {SCHEMA}", header.schema))
            }
            Ok(Line::Header(header)) => {
                self.bundle.store = header.store;
                self.bundle.plan = header.plan;
                self.bundle.name = header.name;
                Ok(())
            }
            Ok(_) if place == 1 => Err(format!("the first line does not say {SCHEMA}")),
            Ok(read) => self.take_line(place, read, (above, line.ends_with(b"\n"))),
        };
        if let Err(why) = taken {
            self.faults.push(Fault::Line(place, why));
        }
    }

    fn take_line(
        &mut self,
        place: usize,
        line: Line,
        (above, is_whole): (&[u8], bool),
    ) -> Result<(), String> {
        match line {
            // Told apart by the caller.
            Line::Header(_) => {}
            Line::Ledger(_) if self.bundle.ledger.is_some() => return Err("a second ledger".to_owned()),
            Line::Ledger(LedgerLine { number, head }) => {
                self.bundle.ledger = Some(Book { number, links: Vec::new(), head: Some(head.read()?) });
            }
            Line::Entry(_) if self.is_in_run => return Err("an entry behind a run".to_owned()),
            Line::Entry(record) => {
                let ledger = self.bundle.ledger.as_mut().ok_or("an entry without a ledger")?;
                ledger.links.push(record.link()?);
            }
            Line::Run(RunLine { number, name, digest, dialect, created_at_ms, head, text }) => {
                self.is_in_run = true;
                let book = Book { number, links: Vec::new(), head: Some(head.read()?) };
                self.bundle.runs.push(RunBook { book, name, digest, text, dialect, created_at_ms });
            }
            Line::Event(record) => {
                let run = self.bundle.runs.last_mut().ok_or("an event without a run")?;
                run.book.links.push(record.link()?);
            }
            Line::Blob(BlobLine { hash, bytes, dropped_at_ms, text }) => {
                let kept = Kept { bytes, content: text.map(String::into_bytes), dropped_at_ms };
                if self.bundle.blobs.insert(hash.clone(), kept).is_some() {
                    return Err(format!("{hash} stands twice"));
                }
            }
            Line::End(end) => {
                // Without its line break even the last line is cut.
                self.is_ended = is_whole;
                if end.lines != place - 1 || end.blake3 != blake3::hash(above).to_hex().as_str() {
                    self.faults.push(Fault::Seal);
                }
            }
        }
        Ok(())
    }
}

impl RecordLine {
    fn link(self) -> Result<Link, String> {
        Ok(Link {
            seq: self.seq,
            at_ms: self.at_ms,
            prev: hash_of(&self.prev)?,
            hash: hash_of(&self.hash)?,
            text: self.record.get().as_bytes().to_vec(),
        })
    }
}

impl HeadData {
    fn read(&self) -> Result<Head, String> {
        Ok(Head { seq: self.seq, hash: hash_of(&self.hash)? })
    }
}

fn hash_of(text: &str) -> Result<Hash, String> {
    Hash::from_hex(text).map_err(|_| format!("`{text}` is no hash"))
}
