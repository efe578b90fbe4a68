//! The order of steps: what must come first, what may run at the same time, what goes round in circles.
//! Knows indices only; never sees a plan, and has no recursion that a long plan could exhaust.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Which of the steps `0..n` need which others.
///
/// Invariant: `needs` and `dependents` have the same length, each list is ascending without repetition and holds indices below
/// that length, and `dependents` is exactly `needs` turned round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    needs: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

impl Graph {
    /// A graph in which `needs[i]` must be done before `i`; repetitions are dropped, circles are kept.
    ///
    /// An index that is no step is a bug of the caller and panics.
    pub fn new(mut needs: Vec<Vec<usize>>) -> Self {
        let mut dependents = vec![Vec::new(); needs.len()];
        for (step, list) in needs.iter_mut().enumerate() {
            list.sort_unstable();
            list.dedup();
            for &need in list.iter() {
                assert!(need < dependents.len(), "step {step} needs {need}, which is no step");
                dependents[need].push(step);
            }
        }
        Self { needs, dependents }
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// The steps that must be done right before `step`, ascending.
    pub fn needs(&self, step: usize) -> &[usize] {
        &self.needs[step]
    }

    /// The steps that wait for `step`, ascending.
    pub fn dependents(&self, step: usize) -> &[usize] {
        &self.dependents[step]
    }

    /// One shortest circle of every knot of steps that need each other; each step in it needs the next, the last needs the first.
    ///
    /// A circle begins at its smallest index; circles are ordered by the smallest index of their knot. A step that needs itself
    /// is a circle of one.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let mut knots: Vec<Vec<usize>> = self.components();
        knots.retain(|knot| self.is_knot(knot));
        for knot in &mut knots {
            knot.sort_unstable();
        }
        knots.sort_unstable();
        let mut search = CycleSearch::new(self);
        knots.iter().map(|knot| search.shortest(knot)).collect()
    }

    /// All steps, each after those that it needs, the smallest index first where there is a choice; `None` if there is a circle.
    pub fn order(&self) -> Option<Vec<usize>> {
        let settled = self.settled();
        (settled.len() == self.len()).then_some(settled)
    }

    /// The steps by the earliest time that each can start; steps in a circle or behind one never can and are left out.
    pub fn waves(&self) -> Vec<Vec<usize>> {
        let mut wave_of = vec![0; self.len()];
        let mut waves: Vec<Vec<usize>> = Vec::new();
        for step in self.settled() {
            let wave = self.needs[step].iter().map(|&need| wave_of[need] + 1).max().unwrap_or(0);
            wave_of[step] = wave;
            if waves.len() <= wave {
                waves.resize(wave + 1, Vec::new());
            }
            waves[wave].push(step);
        }
        for wave in &mut waves {
            wave.sort_unstable();
        }
        waves
    }

    /// A longest chain of steps that each need the one before; of several the one with the smallest indices.
    ///
    /// Steps in a circle or behind one take no part.
    pub fn critical_path(&self) -> Vec<usize> {
        let chain = self.chains();
        let mut rest = chain.iter().copied().max().unwrap_or(0);
        let mut path = Vec::with_capacity(rest);
        let mut next = chain.iter().position(|&length| length == rest && rest > 0);
        while let Some(step) = next {
            path.push(step);
            rest -= 1;
            next = self.dependents[step].iter().copied().find(|&after| rest > 0 && chain[after] == rest);
        }
        path
    }

    /// The number of steps in the longest chain that begins with each: how much waits for it, one after the other. 0 for
    /// steps in a circle or behind one.
    pub fn chains(&self) -> Vec<usize> {
        let mut chain = vec![0; self.len()];
        for step in self.settled().into_iter().rev() {
            let behind = self.dependents[step].iter().map(|&next| chain[next]).max().unwrap_or(0);
            chain[step] = behind + 1;
        }
        chain
    }

    /// The same order with the fewest needs: those that follow from others are dropped. A graph with a circle stays as it is.
    #[must_use]
    pub fn reduced(&self) -> Graph {
        let Some(order) = self.order() else { return self.clone() };
        let mut place = vec![0; self.len()];
        for (at, &step) in order.iter().enumerate() {
            place[step] = at;
        }
        let reach = self.reach();
        let mut implied = vec![0_u64; reach.words];
        let reduce = |list: &Vec<usize>| {
            implied.fill(0);
            let mut latest_first = list.clone();
            // A need can follow only from one that comes later in the order, so those must be looked at before it.
            latest_first.sort_unstable_by_key(|&need| Reverse(place[need]));
            latest_first.retain(|&need| {
                let is_kept = implied[need / 64] & (1 << (need % 64)) == 0;
                if is_kept {
                    for (word, more) in implied.iter_mut().zip(reach.row(need)) {
                        *word |= more;
                    }
                }
                is_kept
            });
            latest_first
        };
        Graph::new(self.needs.iter().map(reduce).collect())
    }

    /// Who comes before whom, near and far. Takes n²/8 bytes.
    pub fn reach(&self) -> Reach {
        let words = self.len().div_ceil(64);
        let mut reach = Reach { words, bits: vec![0; words * self.len()] };
        let mut row = vec![0_u64; words];
        // Components come with everything that they need in front of them, so the rows used here are complete.
        for component in self.components() {
            row.fill(0);
            for &step in &component {
                for &need in &self.needs[step] {
                    row[need / 64] |= 1 << (need % 64);
                    for (word, more) in row.iter_mut().zip(reach.row(need)) {
                        *word |= more;
                    }
                }
            }
            for &step in &component {
                reach.bits[step * words..(step + 1) * words].copy_from_slice(&row);
            }
        }
        reach
    }

    /// Every step that can ever start, each after its needs, ties by index (Kahn's algorithm).
    fn settled(&self) -> Vec<usize> {
        let mut open: Vec<usize> = self.needs.iter().map(Vec::len).collect();
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..self.len()).filter(|&step| open[step] == 0).map(Reverse).collect();
        let mut settled = Vec::with_capacity(self.len());
        while let Some(Reverse(step)) = ready.pop() {
            settled.push(step);
            for &next in &self.dependents[step] {
                open[next] -= 1;
                if open[next] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        settled
    }

    fn is_knot(&self, component: &[usize]) -> bool {
        component.len() > 1 || component.iter().any(|step| self.needs[*step].contains(step))
    }

    /// The strongly connected components, each after the ones that it needs (Tarjan's algorithm with its own stack).
    pub(crate) fn components(&self) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let mut entered = vec![UNSEEN; self.len()];
        let mut lowest = vec![UNSEEN; self.len()];
        let mut is_open = vec![false; self.len()];
        let mut open = Vec::new();
        let mut components = Vec::new();
        let mut clock = 0;
        for root in 0..self.len() {
            if entered[root] != UNSEEN {
                continue;
            }
            // Pairs of a step and the number of its needs that were already followed.
            let mut visits = vec![(root, 0)];
            while let Some((step, followed)) = visits.pop() {
                if followed == 0 {
                    entered[step] = clock;
                    lowest[step] = clock;
                    clock += 1;
                    open.push(step);
                    is_open[step] = true;
                } else {
                    // The need followed last has returned: what it can go back to, this step can too.
                    let need = self.needs[step][followed - 1];
                    if is_open[need] {
                        lowest[step] = lowest[step].min(lowest[need]);
                    }
                }
                if let Some(&need) = self.needs[step].get(followed) {
                    visits.push((step, followed + 1));
                    if entered[need] == UNSEEN {
                        visits.push((need, 0));
                    }
                } else if lowest[step] == entered[step] {
                    let mut component = Vec::new();
                    while let Some(member) = open.pop() {
                        is_open[member] = false;
                        component.push(member);
                        if member == step {
                            break;
                        }
                    }
                    components.push(component);
                }
            }
        }
        components
    }
}

/// Who comes before whom: the needs of every step, and theirs, and so on.
///
/// Invariant: row `i` holds `words` words; bit `j` of it says that `j` comes before `i`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    /// Whether `earlier` must be done before `later`. In a circle every step comes before every other, and before itself.
    pub fn is_before(&self, earlier: usize, later: usize) -> bool {
        self.row(later)[earlier / 64] & (1 << (earlier % 64)) != 0
    }

    /// Whether one of the two must be done before the other, so that they never run at the same time.
    pub fn are_ordered(&self, a: usize, b: usize) -> bool {
        self.is_before(a, b) || self.is_before(b, a)
    }

    fn row(&self, step: usize) -> &[u64] {
        &self.bits[step * self.words..(step + 1) * self.words]
    }
}

/// The search for a shortest circle inside one knot at a time.
///
/// Between searches every step is dead, and `parent` is only read where `seen_by` names the step that the search began at.
struct CycleSearch<'a> {
    graph: &'a Graph,
    is_alive: Vec<bool>,
    seen_by: Vec<usize>,
    parent: Vec<usize>,
}

impl<'a> CycleSearch<'a> {
    fn new(graph: &'a Graph) -> Self {
        let count = graph.len();
        Self { graph, is_alive: vec![false; count], seen_by: vec![usize::MAX; count], parent: vec![0; count] }
    }

    /// A shortest circle of `knot`, whose steps are ascending.
    fn shortest(&mut self, knot: &[usize]) -> Vec<usize> {
        if let Some(&step) = knot.iter().find(|step| self.graph.needs[**step].contains(step)) {
            return vec![step];
        }
        for &step in knot {
            self.is_alive[step] = true;
        }
        let mut best: Option<Vec<usize>> = None;
        for &start in knot {
            if !self.is_alive[start] {
                continue;
            }
            let length_max = best.as_ref().map_or(knot.len(), |cycle| cycle.len() - 1);
            // Nothing is shorter than two now that no step needs itself.
            if length_max < 2 {
                break;
            }
            best = self.shortest_through(start, length_max).or(best);
            self.bury(start);
        }
        for &step in knot {
            self.is_alive[step] = false;
        }
        best.unwrap_or_default()
    }

    /// A shortest circle through `start` among the living steps, unless it is longer than `length_max`.
    fn shortest_through(&mut self, start: usize, length_max: usize) -> Option<Vec<usize>> {
        let mut queue = VecDeque::from([(start, 1)]);
        while let Some((step, length)) = queue.pop_front() {
            for &need in &self.graph.needs[step] {
                if need == start {
                    return Some(self.path(start, step));
                }
                if length < length_max && self.is_alive[need] && self.seen_by[need] != start {
                    self.seen_by[need] = start;
                    self.parent[need] = step;
                    queue.push_back((need, length + 1));
                }
            }
        }
        None
    }

    fn path(&self, start: usize, last: usize) -> Vec<usize> {
        let mut path = vec![last];
        let mut step = last;
        while step != start {
            step = self.parent[step];
            path.push(step);
        }
        path.reverse();
        path
    }

    /// Takes `step` out, and every step that is in no circle without it: else a plain ring would be searched once a step.
    fn bury(&mut self, step: usize) {
        let graph = self.graph;
        self.is_alive[step] = false;
        let mut graves = vec![step];
        while let Some(grave) = graves.pop() {
            for &near in graph.needs[grave].iter().chain(&graph.dependents[grave]) {
                let is_linked = |list: &[usize]| list.iter().any(|&other| self.is_alive[other]);
                if self.is_alive[near]
                    && !(is_linked(&graph.needs[near]) && is_linked(&graph.dependents[near]))
                {
                    self.is_alive[near] = false;
                    graves.push(near);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
