//! Three-way merges of plain sequences: common parts, lines of text, and the order of items that both sides moved.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Sequences with a larger product of lengths are only compared at their ends: a diff of two texts that share nothing
/// takes that many steps.
const CELLS_MAX: usize = 25_000_000;

/// If both sides reordered more items than this, the order is not merged.
const MOVED_MAX: usize = 2_000;

/// Pairs of equal items in both sequences, ascending.
pub(super) fn common<T: Hash + Eq + Ord>(base: &[T], side: &[T]) -> Vec<(usize, usize)> {
    let front = base.iter().zip(side).take_while(|(left, right)| left == right).count();
    let (base_rest, side_rest) = (&base[front..], &side[front..]);
    let back =
        base_rest.iter().rev().zip(side_rest.iter().rev()).take_while(|(left, right)| left == right).count();
    let (base_middle, side_middle) =
        (&base_rest[..base_rest.len() - back], &side_rest[..side_rest.len() - back]);
    let mut pairs: Vec<(usize, usize)> = (0..front).map(|at| (at, at)).collect();
    if base_middle.len().saturating_mul(side_middle.len()) <= CELLS_MAX {
        for op in capture_diff_slices(Algorithm::Myers, base_middle, side_middle) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                pairs.extend((0..len).map(|at| (front + old_index + at, front + new_index + at)));
            }
        }
    }
    pairs.extend((0..back).rev().map(|at| (base.len() - 1 - at, side.len() - 1 - at)));
    pairs
}

/// The stretches in which a side differs from the base, as ranges of both.
pub(super) fn changes(
    pairs: &[(usize, usize)],
    base_len: usize,
    side_len: usize,
) -> Vec<(Range<usize>, Range<usize>)> {
    let (mut from, mut found) = ((0, 0), Vec::new());
    for &(base, side) in pairs.iter().chain([&(base_len, side_len)]) {
        if from != (base, side) {
            found.push((from.0..base, from.1..side));
        }
        from = (base + 1, side + 1);
    }
    found
}

/// A stretch of a merged text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stretch {
    /// Equal on both sides, or changed by only one.
    Settled(String),
    /// Changed by both in different ways.
    Clash { ours: String, theirs: String },
}

/// Merges texts line by line. Adjacent changes conflict: nobody saw the two lines together.
pub(super) fn lines(base: &str, ours: &str, theirs: &str) -> Vec<Stretch> {
    let [base, ours, theirs] =
        [base, ours, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let by = |side: &[&str]| changes(&common(&base, side), base.len(), side.len());
    let (by_us, by_them) = (by(&ours), by(&theirs));
    let (mut us, mut them) = (by_us.iter().peekable(), by_them.iter().peekable());
    let (mut at, mut our_at, mut their_at) = (0, 0, 0);
    let mut stretches = Vec::new();
    while let Some(start) = us.peek().into_iter().chain(them.peek()).map(|(range, _)| range.start).min() {
        let mut end = start;
        let (mut our_end, mut their_end) = (our_at + start - at, their_at + start - at);
        let (our_start, their_start) = (our_end, their_end);
        let (mut we_changed, mut they_changed) = (false, false);
        loop {
            if let Some((range, side)) = us.next_if(|(range, _)| range.start <= end) {
                (we_changed, our_end) = (true, side.end + end.saturating_sub(range.end));
                their_end += range.end.saturating_sub(end);
                end = end.max(range.end);
            } else if let Some((range, side)) = them.next_if(|(range, _)| range.start <= end) {
                (they_changed, their_end) = (true, side.end + end.saturating_sub(range.end));
                our_end += range.end.saturating_sub(end);
                end = end.max(range.end);
            } else {
                break;
            }
        }
        settle(&mut stretches, base[at..start].concat());
        let (our_text, their_text) =
            (ours[our_start..our_end].concat(), theirs[their_start..their_end].concat());
        match (we_changed, they_changed) {
            (true, true) if our_text != their_text => {
                stretches.push(Stretch::Clash { ours: our_text, theirs: their_text });
            }
            (false, _) => settle(&mut stretches, their_text),
            (true, _) => settle(&mut stretches, our_text),
        }
        (at, our_at, their_at) = (end, our_end, their_end);
    }
    settle(&mut stretches, base[at..].concat());
    stretches
}

/// Merges texts line by line; `None` if they clash.
pub(super) fn settled_lines(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let stretches = lines(base, ours, theirs).into_iter();
    stretches
        .map(|stretch| match stretch {
            Stretch::Settled(text) => Some(text),
            Stretch::Clash { .. } => None,
        })
        .collect()
}

fn settle(stretches: &mut Vec<Stretch>, text: String) {
    match stretches.last_mut() {
        _ if text.is_empty() => {}
        Some(Stretch::Settled(before)) => before.push_str(&text),
        Some(Stretch::Clash { .. }) | None => stretches.push(Stretch::Settled(text)),
    }
}

/// The merged order: items of the base in the order that both sides' moves give, new items after the item they were put
/// after. If both put something at one position, `smaller` decides, so that swapping the sides changes nothing. `None`
/// if the moves contradict each other.
pub(super) fn order(
    [base, ours, theirs]: [&[usize]; 3],
    is_kept: impl Fn(usize) -> bool,
    comes_first: impl Fn(&[usize], &[usize]) -> bool,
) -> Option<Vec<usize>> {
    let known: BTreeSet<usize> = base.iter().copied().collect();
    let kept: Vec<usize> = base.iter().copied().filter(|&id| is_kept(id)).collect();
    let arranged = arrange(&kept, ours, theirs)?;
    let is_anchor: BTreeSet<usize> = kept.into_iter().collect();
    let runs = |side: &[usize]| {
        let mut runs: BTreeMap<Anchor, Vec<usize>> = BTreeMap::new();
        let mut anchor = Anchor::Start;
        let last = side.iter().rposition(|id| is_anchor.contains(id));
        for (place, &id) in side.iter().enumerate() {
            if is_anchor.contains(&id) {
                anchor = if last == Some(place) { Anchor::End } else { Anchor::Behind(id) };
            } else if !known.contains(&id) {
                runs.entry(anchor).or_default().push(id);
            }
        }
        runs
    };
    let (our_runs, their_runs) = (runs(ours), runs(theirs));
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    let anchors = arranged.into_iter().map(Anchor::Behind);
    for anchor in [Anchor::Start].into_iter().chain(anchors).chain([Anchor::End]) {
        order.extend(match anchor {
            Anchor::Behind(id) => Some(id),
            Anchor::Start | Anchor::End => None,
        });
        let empty = Vec::new();
        let our_run = our_runs.get(&anchor).unwrap_or(&empty);
        let their_run = their_runs.get(&anchor).unwrap_or(&empty);
        let (first, second) =
            if comes_first(their_run, our_run) { (their_run, our_run) } else { (our_run, their_run) };
        order.extend(first.iter().chain(second).copied().filter(|&id| seen.insert(id)));
    }
    Some(order)
}

/// The item after which a new one was put. An item appended at the end stays there, even if the last one moves away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor {
    Start,
    Behind(usize),
    End,
}

/// The order of the base items after the moves of both sides. Two items swap if one side swapped them.
fn arrange(kept: &[usize], ours: &[usize], theirs: &[usize]) -> Option<Vec<usize>> {
    let (ours, theirs) = (placed(kept, ours), placed(kept, theirs));
    if ours == kept || ours == theirs {
        return Some(theirs);
    }
    if theirs == kept {
        return Some(ours);
    }
    if kept.len() > MOVED_MAX {
        return None;
    }
    let places = |side: &[usize]| -> BTreeMap<usize, usize> {
        side.iter().enumerate().map(|(place, &id)| (id, place)).collect()
    };
    let (our_places, their_places) = (places(&ours), places(&theirs));
    let mut arranged: Vec<Option<usize>> = vec![None; kept.len()];
    for (place, id) in kept.iter().enumerate() {
        let in_front = kept.iter().enumerate().filter(|&(other_place, other)| {
            let was = other_place < place;
            let (us, them) = (our_places[other] < our_places[id], their_places[other] < their_places[id]);
            other != id && if us == was { them } else { us }
        });
        let slot = &mut arranged[in_front.count()];
        // Two items with the same number of predecessors: the moves contradict each other.
        if slot.replace(*id).is_some() {
            return None;
        }
    }
    arranged.into_iter().collect()
}

/// All kept items in the order of a side. Items that the side lacks stay after their predecessor.
fn placed(kept: &[usize], side: &[usize]) -> Vec<usize> {
    let wanted: BTreeSet<usize> = kept.iter().copied().collect();
    let mut placed: Vec<usize> = side.iter().copied().filter(|id| wanted.contains(id)).collect();
    let has: BTreeSet<usize> = placed.iter().copied().collect();
    for (place, id) in kept.iter().enumerate().filter(|(_, id)| !has.contains(id)) {
        let before = place.checked_sub(1).map(|before| kept[before]);
        let at =
            before.and_then(|before| placed.iter().position(|&other| other == before)).map_or(0, |at| at + 1);
        placed.insert(at, *id);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
        let lines = |text: &str| text.chars().map(|line| format!("{line}\n")).collect::<String>();
        settled_lines(&lines(base), &lines(ours), &lines(theirs)).map(|text| text.replace('\n', ""))
    }

    #[test]
    fn lines_merge_where_the_changes_lie_apart() {
        assert_eq!(merged("abcde", "aBcde", "abcdE").as_deref(), Some("aBcdE"));
        assert_eq!(merged("abcde", "acde", "abcdxe").as_deref(), Some("acdxe"));
        assert_eq!(merged("abc", "aXc", "aXc").as_deref(), Some("aXc"), "both said the same");
        assert_eq!(merged("abc", "abc", "").as_deref(), Some(""));
        assert_eq!(merged("abc", "aXc", "aYc"), None);
        assert_eq!(merged("abc", "aXbc", "aYbc"), None, "lines at one place have no order");
        assert_eq!(merged("abcd", "aXcd", "abYd"), None, "nobody saw X in front of Y");
        assert_eq!(merged("abcdef", "aXYdef", "abcdQf").as_deref(), Some("aXYdQf"));
        assert_eq!(merged("abcdefg", "Abcdefg", "").as_deref(), None);
    }

    #[test]
    fn the_moves_of_both_sides_are_made_unless_they_contradict() {
        let order = |base: &[usize], ours: &[usize], theirs: &[usize]| {
            super::order([base, ours, theirs], |_| true, |left, right| left < right)
        };
        assert_eq!(order(&[1, 2, 3, 4], &[2, 1, 3, 4], &[1, 2, 4, 3]), Some(vec![2, 1, 4, 3]));
        assert_eq!(order(&[1, 2, 3], &[3, 1, 2], &[1, 2, 3]), Some(vec![3, 1, 2]));
        assert_eq!(order(&[1, 2], &[1, 2, 8], &[1, 2, 7]), Some(vec![1, 2, 7, 8]), "whoever is ours");
        assert_eq!(order(&[1, 2], &[1, 2, 7], &[1, 2, 8]), Some(vec![1, 2, 7, 8]));
        // We let 3 go before 2, they let 1 go after 3: then 2 < 1 would have to hold as well, and neither side asked
        // for that.
        let (a, b) = (order(&[1, 2, 3], &[1, 3, 2], &[2, 3, 1]), order(&[1, 2, 3], &[2, 3, 1], &[1, 3, 2]));
        assert_eq!(a, b, "whoever is ours");
    }
}
