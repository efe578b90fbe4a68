//! Merges append-only files: progress files and session logs. They never conflict.

use std::collections::BTreeMap;

use super::sequence;

/// Merges two texts to which whole lines were appended.
///
/// Existing lines stay in place, unless a side removed them. Appended lines are merged by entry: an entry starts with a
/// line that has a date and extends to the next one. Entries are sorted by date, those without one by text, so that
/// swapping the sides changes nothing. An entry that both sides have is kept once.
pub fn merge_appended(base: &str, ours: &str, theirs: &str) -> String {
    let newline = if ours.contains("\r\n") || theirs.contains("\r\n") { "\r\n" } else { "\n" };
    let [base, ours, theirs] = [base, ours, theirs].map(|text| text.lines().collect::<Vec<_>>());
    let (our_pairs, their_pairs) = (sequence::common(&base, &ours), sequence::common(&base, &theirs));
    let our_runs = runs(&our_pairs, &ours);
    let their_runs = runs(&their_pairs, &theirs);
    let is_kept = |at: usize| {
        let has = |pairs: &[(usize, usize)]| pairs.binary_search_by_key(&at, |pair| pair.0).is_ok();
        has(&our_pairs) && has(&their_pairs)
    };
    let mut merged: Vec<&str> = Vec::new();
    for place in 0..=base.len() {
        let empty = Vec::new();
        let our_run = our_runs.get(&place).unwrap_or(&empty);
        let their_run = their_runs.get(&place).unwrap_or(&empty);
        merged.extend(interleaved(entries(our_run), entries(their_run)));
        if place < base.len() && is_kept(place) {
            merged.push(base[place]);
        }
    }
    merged.iter().map(|line| format!("{line}{newline}")).collect()
}

/// The lines that a side added, by the base line before which they are.
fn runs<'t>(pairs: &[(usize, usize)], side: &[&'t str]) -> BTreeMap<usize, Vec<&'t str>> {
    let mut runs: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    let mut place = 0;
    for (at, line) in side.iter().enumerate() {
        match pairs.binary_search_by_key(&at, |pair| pair.1) {
            Ok(pair) => place = pairs[pair].0 + 1,
            Err(_) => runs.entry(place).or_default().push(line),
        }
    }
    runs
}

/// A line with a date, and all following lines without one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<'t> {
    date: &'t str,
    lines: Vec<&'t str>,
}

fn entries<'t>(run: &[&'t str]) -> Vec<Entry<'t>> {
    let mut entries: Vec<Entry<'t>> = Vec::new();
    for &line in run {
        match (date(line), entries.last_mut()) {
            (None, Some(last)) => last.lines.push(line),
            (found, _) => entries.push(Entry { date: found.unwrap_or_default(), lines: vec![line] }),
        }
    }
    entries
}

/// Both sides' entries, each side in its own order, earlier entries first.
fn interleaved<'t>(ours: Vec<Entry<'t>>, theirs: Vec<Entry<'t>>) -> Vec<&'t str> {
    let (mut ours, mut theirs) = (ours.into_iter().peekable(), theirs.into_iter().peekable());
    let mut merged = Vec::new();
    while let Some(next) = match (ours.peek(), theirs.peek()) {
        (Some(us), Some(them)) if us == them => {
            theirs.next();
            ours.next()
        }
        (Some(us), Some(them)) if us > them => theirs.next(),
        (Some(_), _) => ours.next(),
        (None, _) => theirs.next(),
    } {
        merged.extend(next.lines);
    }
    merged
}

/// The first date in a line, with the time after it: `2026-11-16T10:00:00Z`.
fn date(line: &str) -> Option<&str> {
    const SHAPE: &[u8] = b"0000-00-00";
    let fits = |bytes: &[u8]| {
        bytes
            .iter()
            .zip(SHAPE)
            .all(|(byte, shape)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape })
    };
    let start = line.as_bytes().windows(SHAPE.len()).position(fits)?;
    let is_time = |byte: &u8| byte.is_ascii_digit() || b"-:.TZ+".contains(byte);
    let length = line.as_bytes()[start..].iter().take_while(|byte| is_time(byte)).count();
    // A time that a blank sets off belongs to the date as well: `2026-11-16 10:00`.
    let behind = &line.as_bytes()[start + length..];
    let time = match behind {
        [b' ', first, rest @ ..] if first.is_ascii_digit() => {
            2 + rest.iter().take_while(|byte| is_time(byte)).count()
        }
        _ => 0,
    };
    line.get(start..start + length + time)
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-05: two branches that both wrote into a progress file.
    #[test]
    fn what_both_sides_appended_is_kept_whole_and_in_the_order_of_time() {
        let base = "# Progress\n- 2026-11-16T08:00:00Z began\n";
        let ours = format!("{base}- 2026-11-16T10:00:00Z two\n  with more\n- 2026-11-16T12:00:00Z four\n");
        let theirs = format!("{base}- 2026-11-16T09:00:00Z one\n- 2026-11-16T11:00:00Z three\n");
        let merged = merge_appended(base, &ours, &theirs);
        assert_eq!(merged, merge_appended(base, &theirs, &ours), "whoever is ours");
        let words = ["began", "one", "two", "with more", "three", "four"];
        let places: Vec<usize> = words.iter().map(|word| merged.find(word).expect("it is there")).collect();
        assert!(places.is_sorted(), "{merged}");
    }

    #[test]
    fn an_entry_that_both_sides_have_is_kept_once() {
        assert_eq!(merge_appended("a\n", "a\nb\n", "a\nb\n"), "a\nb\n");
        assert_eq!(merge_appended("", "b\n", "a\n"), "a\nb\n");
        assert_eq!(
            merge_appended("a\n", "a\nx", "a\ny"),
            "a\nx\ny\n",
            "a line is ended before another follows"
        );
        assert_eq!(merge_appended("a\nb\n", "b\n", "a\nb\nc\n"), "b\nc\n", "what a side took away is gone");
    }

    #[test]
    fn dates_are_found_wherever_they_stand() {
        assert_eq!(date("- 2026-11-16 10:00 x"), Some("2026-11-16 10:00"));
        assert_eq!(date("{\"at\":\"2026-11-16T10:00:00.5Z\"}"), Some("2026-11-16T10:00:00.5Z"));
        assert_eq!(date("1234-56"), None);
        assert_eq!(date("ü 2026-11-16"), Some("2026-11-16"));
    }
}
