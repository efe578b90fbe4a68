//! The hash chains of a record: whether every record is intact and follows the one before it, up to a head
//! that the anchor recorded.

use blake3::Hash;

use super::{AuditCheck, Found, KeptHead, Kind};
use crate::approval::ledger::LedgerEntry;
use crate::audit::bundle::{AuditBundle, Chain, ChainHead, NamedHead};
use crate::audit::hash_chain;
use crate::run::event::Event;

pub(super) fn chains(bundle: &AuditBundle, found: &mut Found<'_>) {
    if !found.has(AuditCheck::Chain) {
        return;
    }
    if let Some(ledger) = &bundle.ledger {
        let words = Words {
            book: "the ledger".to_owned(),
            record: "entry",
            is_readable: |text| serde_json::from_slice::<LedgerEntry>(text).is_ok(),
        };
        walk(ledger, hash_chain::ledger_genesis(), &words, found);
    }
    for run in &bundle.runs {
        let words = Words {
            book: format!("run {}", run.book.number),
            record: "event",
            is_readable: |text| serde_json::from_slice::<Event>(text).is_ok(),
        };
        walk(&run.book, run.first(), &words, found);
        if run.book.links.first().is_some_and(|first| first.at_ms != run.created_at_ms) {
            let text = "its start time is not that of its first event".to_owned();
            found.find(Kind::Changed, words.book, text);
        }
    }
}

/// How messages refer to a book and its records, and how a record is parsed.
struct Words {
    book: String,
    record: &'static str,
    is_readable: fn(&[u8]) -> bool,
}

impl Words {
    fn at(&self, seq: u64) -> String {
        format!("{} {seq} of {}", self.record, self.book)
    }
}

fn walk(book: &Chain, first: Hash, words: &Words, found: &mut Found<'_>) {
    let mut head = ChainHead { seq: 0, hash: first };
    for link in &book.links {
        let seq = link.seq;
        if seq > head.seq + 1 {
            let missing = head.seq + 1;
            found.find(Kind::Missing, words.at(missing), format!("missing; the next one is {seq}"));
        } else if seq <= head.seq {
            let text = format!("out of order: it follows {} {}", words.record, head.seq);
            found.find(Kind::Unlinked, words.at(seq), text);
        } else if link.prev != head.hash {
            let text = match head.seq {
                0 => "it does not follow the start of the book".to_owned(),
                before => format!("it does not follow {} {before}", words.record),
            };
            found.find(Kind::Unlinked, words.at(seq), text);
        }
        if hash_chain::link(&link.prev, book.number, (seq, link.at_ms), &link.text) != link.hash {
            found.find(Kind::Changed, words.at(seq), "hash mismatch".to_owned());
        }
        if !(words.is_readable)(&link.text) {
            let text = format!("invalid {}", words.record);
            found.find(Kind::Unreadable, words.at(seq), text);
        }
        // Continue from the stored hash, so that one change is one finding and not the rest of the book.
        head = ChainHead { seq, hash: link.hash };
    }
    match book.head {
        Some(record) if record == head => {}
        Some(record) => {
            let text = format!("its recorded end is {} {}", words.record, record.seq);
            let text = format!("{text} ({}), but it ends with {}", short(record.hash), head.seq);
            found.find(Kind::OtherHead, words.book.clone(), format!("{text} ({})", short(head.hash)));
        }
        None => {
            let text = "its end is not recorded".to_owned();
            found.find(Kind::OtherHead, words.book.clone(), text);
        }
    }
}

fn short(hash: Hash) -> String {
    hash.to_hex()[..8].to_owned()
}

/// Compares the chains with heads that were recorded outside the store.
pub(super) fn anchors(bundle: &AuditBundle, kept: &[KeptHead], found: &mut Found<'_>) {
    if !found.has(AuditCheck::Anchor) {
        return;
    }
    for KeptHead { anchor, by } in kept {
        let ChainHead { seq, hash } = anchor.head;
        let where_ = anchor.book.to_string();
        let known = match &anchor.book {
            NamedHead::Ledger(..) => {
                bundle.ledger.as_ref().map(|ledger| (ledger, hash_chain::ledger_genesis()))
            }
            NamedHead::Run(number) => {
                let run = bundle.runs.iter().find(|run| run.book.number == *number);
                run.map(|run| (&run.book, run.first()))
            }
        };
        let Some((book, first)) = known else {
            found.find(Kind::Gone, where_, format!("not found, but {by} has its record {seq}"));
            continue;
        };
        let end = book.end(first);
        let here = if seq == 0 { Some(first) } else { book.hash_at(seq) };
        let at_ms = book.links.iter().find(|link| link.seq == seq).map(|link| link.at_ms);
        match here {
            _ if seq > end.seq => {
                let text = format!("it ends with record {}, but {by} has record {seq}", end.seq);
                found.find(Kind::CutOff, where_, text);
            }
            Some(here) if here != hash => {
                let text = format!("record {seq} is {}, but {by} has {}", short(here), short(hash));
                found.find(Kind::Rewritten, where_, text);
            }
            None => {
                found.find(Kind::Rewritten, where_, format!("record {seq} is missing, but {by} has it"));
            }
            Some(_) if at_ms.is_some_and(|at_ms| at_ms != anchor.at_ms) => {
                let text = format!("record {seq} does not have the time that {by} has");
                found.find(Kind::Rewritten, where_, text);
            }
            Some(_) => {}
        }
    }
}
