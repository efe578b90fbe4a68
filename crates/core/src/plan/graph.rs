//! The dependency graph of steps: order, parallelism, cycles. Knows indices only, never a plan, and never recurses,
//! because a long plan could exhaust the stack.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Which of the steps `0..n` need which others.
///
/// Invariant: `needs` and `dependents` have the same length, each list is ascending without duplicates and has indices
/// below that length, and `dependents` is exactly `needs` inverted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    needs: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

impl Graph {
    /// A graph in which `needs[i]` must be done before `i`; duplicates are dropped, cycles are kept.
    ///
    /// Panics on an index out of range, which is a bug of the caller.
    pub fn new(mut needs: Vec<Vec<usize>>) -> Self {
        let mut dependents = vec![Vec::new(); needs.len()];
        for (step, list) in needs.iter_mut().enumerate() {
            list.sort_unstable();
            list.dedup();
            for &need in list.iter() {
                assert!(need < dependents.len(), "step {step} needs unknown step {need}");
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

    /// The direct needs of `step`, ascending.
    pub fn needs(&self, step: usize) -> &[usize] {
        &self.needs[step]
    }

    /// The steps that need `step`, ascending.
    pub fn dependents(&self, step: usize) -> &[usize] {
        &self.dependents[step]
    }

    /// One shortest cycle of every strongly connected component; each step in it needs the next, the last needs the first.
    ///
    /// A cycle starts at its smallest index; cycles are ordered by the smallest index of their component. A step that
    /// needs itself is a cycle of one.
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

    /// All steps, each after its needs, smallest index first on ties; `None` if there is a cycle.
    pub fn order(&self) -> Option<Vec<usize>> {
        let settled = self.settled();
        (settled.len() == self.len()).then_some(settled)
    }

    /// The steps by the wave in which each can start; steps in or after a cycle never can and are omitted.
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

    /// A longest chain of steps that each need the previous one; of several, the one with the smallest indices.
    ///
    /// Omits steps in or after a cycle.
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

    /// The length of the longest chain that starts at each step, which is how much depends on it. 0 for steps in or
    /// after a cycle.
    pub fn chains(&self) -> Vec<usize> {
        let mut chain = vec![0; self.len()];
        for step in self.settled().into_iter().rev() {
            let behind = self.dependents[step].iter().map(|&next| chain[next]).max().unwrap_or(0);
            chain[step] = behind + 1;
        }
        chain
    }

    /// The transitive reduction: the same order with the fewest needs. A graph with a cycle is returned unchanged.
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
            // A need can only be implied by one that is later in the order, so those must be processed first.
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

    /// The transitive closure. Takes n²/8 bytes.
    pub fn reach(&self) -> Reach {
        let words = self.len().div_ceil(64);
        let mut reach = Reach { words, bits: vec![0; words * self.len()] };
        let mut row = vec![0_u64; words];
        // Components come after everything that they need, so the rows used here are complete.
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
            // Pairs of a step and the number of its needs already followed.
            let mut visits = vec![(root, 0)];
            while let Some((step, followed)) = visits.pop() {
                if followed == 0 {
                    entered[step] = clock;
                    lowest[step] = clock;
                    clock += 1;
                    open.push(step);
                    is_open[step] = true;
                } else {
                    // The last followed need has returned: this step can reach back as far as it can.
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

/// The transitive needs of every step.
///
/// Invariant: row `i` has `words` words; bit `j` of it means that `j` comes before `i`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    /// Whether `earlier` must be done before `later`. In a cycle every step comes before every other, and before
    /// itself.
    pub fn is_before(&self, earlier: usize, later: usize) -> bool {
        self.row(later)[earlier / 64] & (1 << (earlier % 64)) != 0
    }

    /// Whether one of the two must be done before the other, so that they never run in parallel.
    pub fn are_ordered(&self, a: usize, b: usize) -> bool {
        self.is_before(a, b) || self.is_before(b, a)
    }

    fn row(&self, step: usize) -> &[u64] {
        &self.bits[step * self.words..(step + 1) * self.words]
    }
}

/// Searches for a shortest cycle in one component at a time.
///
/// Between searches every step is dead, and `parent` is only read where `seen_by` is the start of the current search.
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

    /// A shortest cycle of `knot`, whose steps are ascending.
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
            // With self-loops handled, no cycle is shorter than two.
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

    /// A shortest cycle through `start` among the living steps, unless it is longer than `length_max`.
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

    /// Removes `step`, and every step that is in no cycle without it: otherwise a plain ring would be searched once per
    /// step.
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
