//! The hash chain of records: each contains the hash of the one before it, so that a change of the past
//! shows. The store and the audit of an exported copy use the same functions.

use blake3::{Hash, Hasher};

/// The predecessor of every ledger's first record.
const LEDGER: &[u8] = b"planwright ledger 1";

/// The predecessor of a run's first event: the approval, as digest and text.
pub fn run_genesis(digest: &str, text: &[u8]) -> Hash {
    let mut hasher = Hasher::new();
    // The length prefix keeps two different pairs of digest and text from giving the same bytes.
    hasher.update(&(digest.len() as u64).to_le_bytes()).update(digest.as_bytes()).update(text);
    hasher.finalize()
}

/// The predecessor of a ledger's first entry.
pub fn ledger_genesis() -> Hash {
    blake3::hash(LEDGER)
}

/// The hash of one record of the run or plan with the number `book`.
pub fn link(prev: &Hash, book: i64, (seq, at_ms): (u64, u64), record: &[u8]) -> Hash {
    let mut hasher = Hasher::new();
    // Everything before the record has a fixed length, so the parts can't run into each other.
    hasher.update(prev.as_bytes()).update(&book.to_le_bytes());
    hasher.update(&seq.to_le_bytes()).update(&at_ms.to_le_bytes()).update(record);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_and_text_do_not_run_together() {
        assert_ne!(run_genesis("ab", b"c"), run_genesis("a", b"bc"));
    }

    #[test]
    fn every_part_of_a_record_counts_for_its_hash() {
        let (zero, one) = (Hash::from_bytes([0; 32]), Hash::from_bytes([1; 32]));
        let hash = link(&zero, 1, (1, 1), b"x");
        let others = [
            link(&one, 1, (1, 1), b"x"),
            link(&zero, 2, (1, 1), b"x"),
            link(&zero, 1, (2, 1), b"x"),
            link(&zero, 1, (1, 2), b"x"),
            link(&zero, 1, (1, 1), b"y"),
        ];
        assert!(others.iter().all(|other| *other != hash), "{others:?}");
    }
}
