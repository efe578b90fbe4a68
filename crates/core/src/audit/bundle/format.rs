//! The record of a plan as a file: one JSON object per line. docs/reference/audit-record.md specifies the format byte for
//! byte.

use std::fmt::Write as _;

use blake3::Hash;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{AuditBundle, Chain, ChainHead, ChainLink, NamedBlob, RunBook};

/// The name of the format, in the first line of every file.
pub const SCHEMA: &str = "planwright.receipts/1";

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
    /// As recorded, byte for byte: the hash covers these bytes.
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
    /// The number of lines above this one.
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

impl From<ChainHead> for HeadData {
    fn from(head: ChainHead) -> Self {
        Self { seq: head.seq, hash: head.hash.to_hex().to_string() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritable(pub String);

impl std::fmt::Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot export {}", self.0)
    }
}

impl std::error::Error for Unwritable {}

impl AuditBundle {
    /// The file: one JSON object per line, the same bytes for the same record.
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
            let NamedBlob { bytes, dropped_at_ms, .. } = *kept;
            put(&mut file, &Line::Blob(BlobLine { hash: hash.clone(), bytes, dropped_at_ms, text }));
        }
        let end = EndLine {
            lines: file.lines().count(),
            blake3: blake3::hash(file.as_bytes()).to_hex().to_string(),
        };
        put(&mut file, &Line::End(end));
        Ok(file)
    }

    /// Parses a file. Reports unreadable lines by number and parses the rest anyway, so that it can be
    /// checked, too.
    pub fn read(bytes: &[u8]) -> (Self, Vec<BundleFault>) {
        let mut reader = Reader::default();
        let mut above = 0;
        for (place, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            reader.take(place + 1, line, &bytes[..above]);
            above += line.len();
        }
        if !reader.is_ended {
            reader.faults.push(BundleFault::Cut);
        }
        (reader.bundle, reader.faults)
    }
}

fn put(file: &mut String, line: &Line) {
    let text = serde_json::to_string(line).expect("lines are made of texts and numbers");
    // Writing to a string can't fail.
    let _ = writeln!(file, "{text}");
}

fn record(link: &ChainLink) -> Option<RecordLine> {
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

/// Problems of a file as such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundleFault {
    /// A line is invalid or misplaced; contains the reason.
    Line(usize, String),
    /// The bytes are not those that were exported.
    Seal,
    /// The last line is missing.
    Cut,
}

#[derive(Default)]
struct Reader {
    bundle: AuditBundle,
    faults: Vec<BundleFault>,
    /// Whether the records that follow belong to the last run, not to the ledger.
    is_in_run: bool,
    is_ended: bool,
}

impl Reader {
    fn take(&mut self, place: usize, line: &[u8], above: &[u8]) {
        let read = serde_json::from_slice::<Line>(line.strip_suffix(b"\n").unwrap_or(line));
        let taken = match read {
            Err(error) => Err(error.to_string()),
            Ok(_) if self.is_ended => Err("it follows the end of the file".to_owned()),
            Ok(Line::Header(_)) if place != 1 => Err("duplicate header".to_owned()),
            Ok(Line::Header(header)) if header.schema != SCHEMA => {
                Err(format!("unsupported format `{}`, expected {SCHEMA}", header.schema))
            }
            Ok(Line::Header(header)) => {
                self.bundle.store = header.store;
                self.bundle.plan = header.plan;
                self.bundle.name = header.name;
                Ok(())
            }
            Ok(_) if place == 1 => Err(format!("expected a {SCHEMA} header")),
            Ok(read) => self.take_line(place, read, (above, line.ends_with(b"\n"))),
        };
        if let Err(why) = taken {
            self.faults.push(BundleFault::Line(place, why));
        }
    }

    fn take_line(
        &mut self,
        place: usize,
        line: Line,
        (above, is_whole): (&[u8], bool),
    ) -> Result<(), String> {
        match line {
            // The caller handles headers.
            Line::Header(_) => {}
            Line::Ledger(_) if self.bundle.ledger.is_some() => return Err("duplicate ledger".to_owned()),
            Line::Ledger(LedgerLine { number, head }) => {
                self.bundle.ledger = Some(Chain { number, links: Vec::new(), head: Some(head.read()?) });
            }
            Line::Entry(_) if self.is_in_run => return Err("ledger entry after a run".to_owned()),
            Line::Entry(record) => {
                let ledger = self.bundle.ledger.as_mut().ok_or("entry without a ledger")?;
                ledger.links.push(record.link()?);
            }
            Line::Run(RunLine { number, name, digest, dialect, created_at_ms, head, text }) => {
                self.is_in_run = true;
                let book = Chain { number, links: Vec::new(), head: Some(head.read()?) };
                self.bundle.runs.push(RunBook { book, name, digest, text, dialect, created_at_ms });
            }
            Line::Event(record) => {
                let run = self.bundle.runs.last_mut().ok_or("event without a run")?;
                run.book.links.push(record.link()?);
            }
            Line::Blob(BlobLine { hash, bytes, dropped_at_ms, text }) => {
                let kept = NamedBlob { bytes, content: text.map(String::into_bytes), dropped_at_ms };
                if self.bundle.blobs.insert(hash.clone(), kept).is_some() {
                    return Err(format!("duplicate blob {hash}"));
                }
            }
            Line::End(end) => {
                // Without its newline even the last line is truncated.
                self.is_ended = is_whole;
                if end.lines != place - 1 || end.blake3 != blake3::hash(above).to_hex().as_str() {
                    self.faults.push(BundleFault::Seal);
                }
            }
        }
        Ok(())
    }
}

impl RecordLine {
    fn link(self) -> Result<ChainLink, String> {
        Ok(ChainLink {
            seq: self.seq,
            at_ms: self.at_ms,
            prev: hash_of(&self.prev)?,
            hash: hash_of(&self.hash)?,
            text: self.record.get().as_bytes().to_vec(),
        })
    }
}

impl HeadData {
    fn read(&self) -> Result<ChainHead, String> {
        Ok(ChainHead { seq: self.seq, hash: hash_of(&self.hash)? })
    }
}

fn hash_of(text: &str) -> Result<Hash, String> {
    Hash::from_hex(text).map_err(|_| format!("invalid hash `{text}`"))
}
