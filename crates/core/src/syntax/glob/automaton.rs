//! The automaton of a pattern: what it accepts, and a short path that two of them accept. Never sees the text of a
//! pattern.

use super::Part;

/// Characters that a state can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Set {
    Single(char),
    /// All but `/`.
    Name,
    All,
    /// Those in one of the ranges, ends included; never `/`.
    Ranges(Vec<(char, char)>),
}

impl Set {
    pub(super) fn contains(&self, character: char) -> bool {
        match self {
            Self::Single(single) => *single == character,
            Self::Name => character != '/',
            Self::All => true,
            Self::Ranges(ranges) => ranges.iter().any(|&(start, end)| (start..=end).contains(&character)),
        }
    }

    /// A character other than `/` in both sets, the most readable one; a dot only if they share nothing else.
    fn common(&self, other: &Set) -> Option<char> {
        match (self, other) {
            (Self::Single('/'), _) | (_, Self::Single('/')) => None,
            (Self::Single(single), set) | (set, Self::Single(single)) => {
                set.contains(*single).then_some(*single)
            }
            (Self::Ranges(ranges), set) | (set, Self::Ranges(ranges)) => {
                // If two unions of ranges intersect, they do so at the start of some range. A dot comes last, because
                // it is the one character that can't be a whole segment.
                let starts =
                    ranges.iter().chain(set.ranges()).map(|&(start, _)| start).filter(|&start| start != '.');
                let readable = ('a'..='z').chain('0'..='9').chain('A'..='Z').chain(['_', '-']);
                let mut candidates = readable.chain(starts).chain(['.']);
                candidates.find(|&character| self.contains(character) && other.contains(character))
            }
            (Self::Name | Self::All, Self::Name | Self::All) => Some('a'),
        }
    }

    pub(super) fn ranges(&self) -> &[(char, char)] {
        match self {
            Self::Ranges(ranges) => ranges,
            Self::Single(_) | Self::Name | Self::All => &[],
        }
    }
}

/// The ranges of all characters that are in none of `ranges`.
pub(super) fn complement(mut ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    ranges.sort_unstable();
    let mut gaps = Vec::new();
    let mut next = Some('\0');
    for (start, end) in ranges {
        let Some(from) = next else { break };
        if from < start {
            // The character before `start` exists, since `from` is smaller.
            gaps.extend((from..start).next_back().map(|last| (from, last)));
        }
        if from <= end {
            next = (end..=char::MAX).nth(1);
        }
    }
    gaps.extend(next.map(|from| (from, char::MAX)));
    gaps
}

/// The same characters without `/`.
pub(super) fn without_slash(ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    let split = |(start, end): (char, char)| [(start, end.min('.')), (start.max('0'), end)];
    ranges.into_iter().flat_map(split).filter(|(start, end)| start <= end).collect()
}

/// One position in a pattern: reads a character of `set` and continues at one of `next`.
#[derive(Debug, Clone)]
pub(super) struct AutomatonState {
    pub(super) set: Set,
    pub(super) next: Vec<usize>,
    /// Whether the author wrote this dot, and not after a `*` that could be empty: `.py` is a poor example of `*.py`.
    spells_dot: bool,
}

/// A nondeterministic automaton without empty moves.
///
/// Invariant: every number in `starts` and in a `next` is a state or [`END`].
#[derive(Debug, Clone)]
pub(super) struct Automaton {
    pub(super) states: Vec<AutomatonState>,
    pub(super) starts: Vec<usize>,
}

/// The place after the last part.
pub(super) const END: usize = usize::MAX;

impl Automaton {
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Accepts what one of `alternatives` means.
    pub(super) fn new(alternatives: &[Vec<Part>]) -> Self {
        let mut automaton = Self { states: Vec::new(), starts: Vec::new() };
        for parts in alternatives {
            let starts = automaton.append(parts);
            automaton.starts.extend(starts);
        }
        automaton
    }

    /// Adds the states of `parts`, last part first, and returns those that may read the first character.
    fn append(&mut self, parts: &[Part]) -> Vec<usize> {
        let mut follow = vec![END];
        for (at, part) in parts.iter().enumerate().rev() {
            let state = self.states.len();
            follow = match part {
                Part::One(set) => {
                    self.push(set.clone(), follow);
                    vec![state]
                }
                Part::Star | Part::Deep => {
                    if is_name_start(&parts[..at]) && parts.get(at + 1) == Some(&Part::One(Set::Single('.')))
                    {
                        self.states[state - 1].spells_dot = false;
                    }
                    follow.push(state);
                    self.push(if *part == Part::Star { Set::Name } else { Set::All }, follow.clone());
                    follow
                }
                Part::Directories => {
                    self.push(Set::Single('/'), follow.clone());
                    self.push(Set::All, vec![state, state + 1]);
                    follow.extend([state, state + 1]);
                    follow
                }
            };
        }
        follow
    }

    fn push(&mut self, set: Set, next: Vec<usize>) {
        let spells_dot = set == Set::Single('.');
        self.states.push(AutomatonState { set, next, spells_dot });
    }

    /// Whether the whole of `path` is accepted.
    pub(super) fn accepts(&self, path: &str) -> bool {
        let mut current = self.starts.clone();
        let mut next = Vec::new();
        // The last character that entered each state; the end has the last place.
        let mut entered = vec![0; self.states.len() + 1];
        for (at, character) in path.chars().enumerate() {
            for state in current.iter().filter_map(|&state| self.states.get(state)) {
                if !state.set.contains(character) {
                    continue;
                }
                for &target in &state.next {
                    let mark = &mut entered[target.min(self.states.len())];
                    if *mark != at + 1 {
                        *mark = at + 1;
                        next.push(target);
                    }
                }
            }
            std::mem::swap(&mut current, &mut next);
            next.clear();
            if current.is_empty() {
                return false;
            }
        }
        current.contains(&END)
    }

    /// A short path that both accept: a search through pairs of states, nearest first.
    pub(super) fn meet(&self, other: &Automaton) -> Option<String> {
        let mut search = Search::new(self, other);
        search.enter_all(pairs(&self.starts, &other.starts, PathName::Nothing, None));
        let mut at = 0;
        loop {
            if at == search.moves.len() {
                search.take_put_off();
            }
            let step = *search.moves.get(at)?;
            if (step.left, step.right, step.name) == (END, END, PathName::Full) {
                return Some(search.path(at));
            }
            search.follow(at, step);
            at += 1;
        }
    }
}

fn is_name_start(before: &[Part]) -> bool {
    matches!(before.last(), None | Some(Part::One(Set::Single('/')) | Part::Directories))
}

/// What was read since the last `/`. Only a complete segment may be followed by `/` or by the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathName {
    Nothing,
    Dot,
    DotDot,
    Full,
}

impl PathName {
    const COUNT: usize = 4;

    pub(super) fn then(self, character: char) -> Self {
        match (self, character) {
            (_, '/') => Self::Nothing,
            (Self::Nothing, '.') => Self::Dot,
            (Self::Dot, '.') => Self::DotDot,
            (Self::Nothing | Self::Dot | Self::DotDot | Self::Full, _) => Self::Full,
        }
    }
}

/// A pair of states that was reached, and how.
#[derive(Debug, Clone, Copy)]
struct Move {
    left: usize,
    right: usize,
    /// The state of the current path segment.
    name: PathName,
    /// The move before and the character that led here; none for the first ones.
    from: Option<(usize, char)>,
}

struct Search<'a> {
    left: &'a Automaton,
    right: &'a Automaton,
    /// Every pair at most once, in the order of visits.
    moves: Vec<Move>,
    /// Moves that lead to a poor example: used only if there is no other.
    put_off: Vec<Move>,
    /// For every pair whether it is in `moves`.
    is_entered: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(left: &'a Automaton, right: &'a Automaton) -> Self {
        let pairs = (left.states.len() + 1) * (right.states.len() + 1);
        Self {
            left,
            right,
            moves: Vec::new(),
            put_off: Vec::new(),
            is_entered: vec![false; pairs * PathName::COUNT],
        }
    }

    fn follow(&mut self, at: usize, step: Move) {
        let (left, right) = (self.left, self.right);
        let (Some(one), Some(two)) = (left.states.get(step.left), right.states.get(step.right)) else {
            return;
        };
        if let Some(character) = one.set.common(&two.set) {
            let moves = pairs(&one.next, &two.next, step.name.then(character), Some((at, character)));
            let is_spelled = one.spells_dot && two.spells_dot;
            if step.name == PathName::Nothing && character == '.' && !is_spelled {
                self.put_off.extend(moves);
            } else {
                self.enter_all(moves);
            }
        }
        if step.name == PathName::Full && one.set.contains('/') && two.set.contains('/') {
            self.enter_all(pairs(&one.next, &two.next, PathName::Nothing, Some((at, '/'))));
        }
    }

    fn enter_all(&mut self, moves: impl Iterator<Item = Move>) {
        for step in moves {
            self.enter(step);
        }
    }

    fn take_put_off(&mut self) {
        for step in std::mem::take(&mut self.put_off) {
            self.enter(step);
        }
    }

    fn enter(&mut self, step: Move) {
        let number = self.number(step);
        if !std::mem::replace(&mut self.is_entered[number], true) {
            self.moves.push(step);
        }
    }

    fn number(&self, step: Move) -> usize {
        let (rows, columns) = (self.left.states.len(), self.right.states.len());
        (step.left.min(rows) * (columns + 1) + step.right.min(columns)) * PathName::COUNT + step.name as usize
    }

    fn path(&self, last: usize) -> String {
        let mut characters = Vec::new();
        let mut from = self.moves[last].from;
        while let Some((at, character)) = from {
            characters.push(character);
            from = self.moves[at].from;
        }
        characters.into_iter().rev().collect()
    }
}

fn pairs(
    left: &[usize],
    right: &[usize],
    name: PathName,
    from: Option<(usize, char)>,
) -> impl Iterator<Item = Move> {
    left.iter().flat_map(move |&left| right.iter().map(move |&right| Move { left, right, name, from }))
}
