//! Decides whether everything that one automaton accepts is accepted by one of several others. Says yes only after a
//! complete search.

use std::collections::BTreeSet;

use super::automaton::{Automaton, END, PathName, Set};

/// The search limit; pairs of real patterns take a few hundred moves.
const MOVES_MAX: usize = 1_000_000;

/// A search state: a state of the inner automaton, all states of the outer ones, and what was read since the last `/`.
type Place = (usize, Vec<(usize, usize)>, PathName);

/// Whether no path is accepted by `inner` and by none of `outer`. False if that takes more than [`MOVES_MAX`].
pub(super) fn is_proven(inner: &Automaton, outer: &[&Automaton]) -> bool {
    let letters = letters(inner, outer);
    let first: Vec<(usize, usize)> = all(outer, |automaton| automaton.starts.clone());
    let mut open: Vec<Place> =
        inner.starts.iter().map(|&start| (start, first.clone(), PathName::Nothing)).collect();
    let mut seen: BTreeSet<Place> = open.iter().cloned().collect();
    let mut moves = 0;
    while let Some((at, beside, name)) = open.pop() {
        if at == END {
            if name == PathName::Full && !beside.iter().any(|&(_, state)| state == END) {
                return false;
            }
            continue;
        }
        let state = &inner.states[at];
        for &letter in letters.iter().filter(|&&letter| state.set.contains(letter)) {
            moves += 1 + beside.len();
            if moves > MOVES_MAX {
                return false;
            }
            // No path has an empty name, and none is `.` or `..`.
            if letter == '/' && name != PathName::Full {
                continue;
            }
            let after = follow(outer, &beside, letter);
            for &next in &state.next {
                let place = (next, after.clone(), name.then(letter));
                if seen.insert(place.clone()) {
                    open.push(place);
                }
            }
        }
    }
    true
}

/// The states that the outer automata are in after one more letter.
fn follow(outer: &[&Automaton], beside: &[(usize, usize)], letter: char) -> Vec<(usize, usize)> {
    let reads = beside.iter().filter_map(|&(which, state)| {
        let state = outer[which].states.get(state)?;
        state.set.contains(letter).then(|| state.next.iter().map(move |&next| (which, next)))
    });
    let after: BTreeSet<(usize, usize)> = reads.flatten().collect();
    after.into_iter().collect()
}

fn all(outer: &[&Automaton], states: impl Fn(&Automaton) -> Vec<usize>) -> Vec<(usize, usize)> {
    let each = outer.iter().enumerate();
    let all: BTreeSet<(usize, usize)> = each
        .flat_map(|(which, automaton)| states(automaton).into_iter().map(move |state| (which, state)))
        .collect();
    all.into_iter().collect()
}

/// One representative letter per class: letters that no set of any automaton distinguishes are equivalent.
fn letters(inner: &Automaton, outer: &[&Automaton]) -> Vec<char> {
    let mut letters = BTreeSet::from(['\0']);
    let mut range = |start: char, end: char| {
        letters.insert(start);
        letters.extend((end..=char::MAX).nth(1));
    };
    // A segment of only dots is invalid, whatever the patterns say.
    range('/', '/');
    range('.', '.');
    let states = outer.iter().flat_map(|automaton| &automaton.states).chain(&inner.states);
    for state in states {
        if let Set::Single(single) = state.set {
            range(single, single);
        }
        for &(start, end) in state.set.ranges() {
            range(start, end);
        }
    }
    letters.into_iter().collect()
}
