//! Several plans together: which may start, what blocks the others, which may run in parallel, and the order
//! in which they merge. Works on a table of entries; never trusts a file that claims "done".

mod similarity;
mod circuit_breaker;

pub use circuit_breaker::{CircuitBreaker, tripped};
pub use similarity::{Fingerprint, Similarity};

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;

use crate::plan::graph::Graph;
use crate::syntax::glob;
use crate::syntax::glob::Glob;
use crate::syntax::nearest;

/// A step that failed this often in a row, over all runs, doesn't start again without a person.
pub const FAILURES_MAX: u32 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNode {
    /// The name that other plans use for it.
    pub name: String,
    pub status: PlanProgress,
    /// The plans that must be done before it, by name, stem or file name.
    pub depends_on: Vec<String>,
    /// Patterns of the files that it may change; `None` if undeclared.
    pub touches: Option<Vec<String>>,
    /// Changed lines.
    pub size: u64,
}

/// The status of a plan, as far as other plans are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanProgress {
    /// Only other plans can block it.
    Open,
    /// It is shelved.
    Staged,
    Running,
    /// A person paused it.
    Stopped,
    /// A question is open; contains its subject.
    Waiting(String),
    /// A step, or the whole plan, failed too often.
    Tripped(CircuitBreaker),
    Failed,
    /// Its text has to change before it can continue; contains the reason.
    Replanning(String),
    /// Its file claims that it is done, without proof.
    Claimed,
    /// The journal proves that it is done.
    Done,
    /// A person, or its age, ended it.
    Cancelled,
    /// With the reason.
    Unreadable(String),
}

impl fmt::Display for PlanProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("not done"),
            Self::Staged => f.write_str("shelved"),
            Self::Running => f.write_str("running"),
            Self::Stopped => f.write_str("stopped"),
            Self::Waiting(what) => write!(f, "waiting for an answer: {what}"),
            Self::Tripped(trip) => write!(f, "blocked until you approve it again: {trip}"),
            Self::Failed => f.write_str("failed"),
            Self::Replanning(why) => write!(f, "waiting to be revised: {why}"),
            Self::Claimed => f.write_str("marked as done without proof"),
            Self::Done => f.write_str("done"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Unreadable(why) => write!(f, "unreadable: {why}"),
        }
    }
}

/// What unblocks a plan, in order of effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recovery {
    /// Nothing: it continues once other plans are done.
    Waits,
    /// Another run, unchanged.
    Retry,
    Person,
    /// A revised plan.
    Replan,
}

impl Recovery {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Retry => "retry",
            Self::Person => "person",
            Self::Replan => "replan",
        }
    }

    /// The same as a phrase for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Waits => "continues once other plans are done",
            Self::Retry => "try another run",
            Self::Person => "needs you",
            Self::Replan => "needs a revised plan",
        }
    }
}

/// Why a plan is blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockReason {
    /// It depends on a plan that isn't done.
    Waits {
        plan: String,
        /// The status of that plan.
        status: PlanProgress,
    },
    /// It depends on a plan that doesn't exist.
    Unknown {
        plan: String,
        /// A plan with a similar name.
        meant: Option<String>,
    },
    /// It depends on a name that several plans have.
    Ambiguous { plan: String, count: usize },
    /// It depends on itself.
    Cycle(Cycle),
    /// Its own status.
    Own(PlanProgress),
}

impl fmt::Display for BlockReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waits { plan, status } => write!(f, "needs {plan}, which is {status}"),
            Self::Unknown { plan, meant: None } => write!(f, "needs unknown plan {plan}"),
            Self::Unknown { plan, meant: Some(meant) } => {
                write!(f, "needs unknown plan {plan}; did you mean {meant}?")
            }
            Self::Ambiguous { plan, count } => {
                write!(f, "needs {plan}, which is ambiguous: {count} plans have this name")
            }
            Self::Cycle(cycle) => write!(f, "needs itself: {cycle}"),
            Self::Own(PlanProgress::Waiting(what)) => write!(f, "needs you: {what}"),
            Self::Own(PlanProgress::Tripped(trip)) => {
                write!(f, "{trip}; it won't start again without you")
            }
            Self::Own(PlanProgress::Failed) => f.write_str("its last run failed"),
            Self::Own(status) => write!(f, "is {status}"),
        }
    }
}

impl BlockReason {
    pub fn recovery(&self) -> Recovery {
        match self {
            Self::Unknown { .. }
            | Self::Ambiguous { .. }
            | Self::Cycle(_)
            | Self::Own(PlanProgress::Replanning(_) | PlanProgress::Unreadable(_)) => Recovery::Replan,
            Self::Own(PlanProgress::Stopped | PlanProgress::Failed) => Recovery::Retry,
            Self::Own(
                PlanProgress::Staged
                | PlanProgress::Claimed
                | PlanProgress::Waiting(_)
                | PlanProgress::Tripped(_)
                | PlanProgress::Cancelled,
            )
            | Self::Waits { status: PlanProgress::Cancelled, .. } => Recovery::Person,
            // The other plan reports what it needs itself.
            Self::Waits { .. }
            | Self::Own(PlanProgress::Open | PlanProgress::Running | PlanProgress::Done) => Recovery::Waits,
        }
    }

    /// The command that unblocks it, or shows what would, for the plan `name`.
    pub fn command(&self, name: &str) -> Vec<String> {
        let words = |verb: &[&str], plan: &str| {
            let verb = std::iter::once("planwright").chain(verb.iter().copied());
            verb.chain([plan]).map(str::to_owned).collect::<Vec<String>>()
        };
        let (status, plan) = match self {
            Self::Unknown { .. } | Self::Ambiguous { .. } | Self::Cycle(_) => return words(&["show"], name),
            Self::Waits { plan, status } => (status, plan.as_str()),
            Self::Own(status) => (status, name),
        };
        match status {
            // A mark is a claim: a run starts by verifying the contract of every marked step. A tripped plan
            // asks a person before it starts.
            PlanProgress::Claimed | PlanProgress::Open | PlanProgress::Stopped | PlanProgress::Tripped(_) => {
                words(&["run"], plan)
            }
            PlanProgress::Failed => words(&["run", "--retry"], plan),
            PlanProgress::Staged => words(&["unshelve"], plan),
            PlanProgress::Replanning(_) => words(&["revise", "--planner"], plan),
            PlanProgress::Unreadable(_) => words(&["verify"], plan),
            PlanProgress::Waiting(_)
            | PlanProgress::Running
            | PlanProgress::Done
            | PlanProgress::Cancelled => words(&["status"], plan),
        }
    }
}

/// A dependency cycle: each plan needs the next, the last needs the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// Starts with the plan that comes first in the table.
    pub plans: Vec<String>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for plan in &self.plans {
            write!(f, "{plan} → ")?;
        }
        f.write_str(self.plans.first().map_or("", String::as_str))
    }
}

impl std::error::Error for Cycle {}

/// A blocked plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// An index into the table.
    pub entry: usize,
    pub reasons: Vec<BlockReason>,
}

impl Blocked {
    /// What unblocks it: the largest effort among its reasons.
    pub fn recovery(&self) -> Recovery {
        self.reasons.iter().map(BlockReason::recovery).max().unwrap_or(Recovery::Waits)
    }
}

/// Which plans may start. Done and cancelled plans are in none of the lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readiness {
    /// Plans that may start or continue, as indexes into the table.
    pub ready: Vec<usize>,
    pub running: Vec<usize>,
    pub held_back: Vec<Blocked>,
}

/// Sorts plans into those that may start and those that may not, with every reason. A running plan isn't
/// blocked: its dependencies were done when it started.
pub fn readiness(entries: &[PlanNode]) -> Readiness {
    let roll = Roll::of(entries);
    let cycles = roll.graph(entries, |entry| entry.status != PlanProgress::Done).cycles();
    let mut readiness = Readiness::default();
    for (place, entry) in entries.iter().enumerate() {
        let own = match &entry.status {
            PlanProgress::Done | PlanProgress::Cancelled => continue,
            PlanProgress::Running => {
                readiness.running.push(place);
                continue;
            }
            PlanProgress::Open => None,
            PlanProgress::Staged
            | PlanProgress::Stopped
            | PlanProgress::Waiting(_)
            | PlanProgress::Tripped(_)
            | PlanProgress::Failed
            | PlanProgress::Replanning(_)
            | PlanProgress::Claimed
            | PlanProgress::Unreadable(_) => Some(BlockReason::Own(entry.status.clone())),
        };
        let cycle = cycles.iter().find(|cycle| cycle.contains(&place));
        let cycle = cycle.map(|cycle| BlockReason::Cycle(named(entries, cycle)));
        // Report the plans of a cycle once, as the cycle.
        let is_said = |name: &str| match &cycle {
            Some(BlockReason::Cycle(cycle)) => cycle.plans.iter().any(|plan| plan == key(name)),
            Some(_) | None => false,
        };
        let waits = entry.depends_on.iter().filter(|name| !is_said(name));
        let waits = waits.filter_map(|name| roll.reason(entries, name));
        let mut reasons: Vec<BlockReason> = own.into_iter().chain(waits).collect();
        reasons.extend(cycle);
        reasons.dedup();
        match reasons.is_empty() {
            true => readiness.ready.push(place),
            false => readiness.held_back.push(Blocked { entry: place, reasons }),
        }
    }
    readiness
}

/// Two plans that may change the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// Indexes into the table.
    pub plans: (usize, usize),
    /// The pattern of each.
    pub patterns: (String, String),
    /// A path that both match.
    pub path: String,
}

/// A plan that may change any file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbounded {
    /// An index into the table.
    pub entry: usize,
    pub why: String,
}

/// Which plans may run in parallel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParallelSet {
    /// No two of these can change the same file. Earlier plans in `among` take precedence.
    pub plans: Vec<usize>,
    /// Why others were excluded: every pair that could change the same file.
    pub overlaps: Vec<Overlap>,
    /// Plans that must run alone, because they may change any file.
    pub unbounded: Vec<Unbounded>,
}

/// Which of `among` may run in parallel, by true intersection of what they touch. Excludes and reports a plan
/// whose `touches` is missing or invalid.
pub fn safe_together(entries: &[PlanNode], among: &[usize]) -> ParallelSet {
    let mut together = ParallelSet::default();
    let mut bounded: Vec<(usize, Vec<Glob>)> = Vec::new();
    for &place in among {
        match patterns(&entries[place]) {
            Ok(globs) => bounded.push((place, globs)),
            Err(why) => together.unbounded.push(Unbounded { entry: place, why }),
        }
    }
    for (at, (place, globs)) in bounded.iter().enumerate() {
        let mut is_apart = true;
        for (other, others) in &bounded[..at] {
            if let Some(overlap) = overlap((*other, others), (*place, globs)) {
                is_apart &= !together.plans.contains(other);
                together.overlaps.push(overlap);
            }
        }
        if is_apart {
            together.plans.push(*place);
        }
    }
    together
}

fn patterns(entry: &PlanNode) -> Result<Vec<Glob>, String> {
    let Some(touches) = &entry.touches else { return Err("it declares no `touches`".to_owned()) };
    let read = |pattern: &String| {
        Glob::new(pattern).map_err(|error| format!("invalid `touches` pattern `{pattern}`: {error}"))
    };
    touches.iter().map(read).collect()
}

fn overlap((a, a_globs): (usize, &[Glob]), (b, b_globs): (usize, &[Glob])) -> Option<Overlap> {
    a_globs.iter().find_map(|left| {
        b_globs.iter().find_map(|right| {
            let path = glob::collision(left, right)?;
            let patterns = (left.pattern().to_owned(), right.pattern().to_owned());
            Some(Overlap { plans: (a, b), patterns, path })
        })
    })
}

/// The order in which finished plans merge: each after its dependencies, then the smaller one, then by name.
/// Ignores dependencies outside the entries: the caller has checked that they are done.
pub fn merge_order(entries: &[PlanNode]) -> Result<Vec<usize>, Cycle> {
    let graph = Roll::of(entries).graph(entries, |_| true);
    if let Some(cycle) = graph.cycles().first() {
        return Err(named(entries, cycle));
    }
    let rank = |place: usize| Reverse((entries[place].size, entries[place].name.as_str(), place));
    let mut open: Vec<usize> = (0..entries.len()).map(|place| graph.needs(place).len()).collect();
    let free = (0..entries.len()).filter(|&place| open[place] == 0);
    let mut free: BinaryHeap<_> = free.map(rank).collect();
    let mut order = Vec::with_capacity(entries.len());
    while let Some(Reverse((_, _, place))) = free.pop() {
        order.push(place);
        for &next in graph.dependents(place) {
            open[next] -= 1;
            if open[next] == 0 {
                free.push(rank(next));
            }
        }
    }
    assert_eq!(order.len(), entries.len(), "an acyclic graph orders all nodes");
    Ok(order)
}

/// The name in a reference: a name, a stem (`PLAN-x`) or a file name (`PLAN-x.md`).
pub fn key(reference: &str) -> &str {
    let stem = reference.trim();
    let stem = stem.strip_suffix(".md").unwrap_or(stem);
    stem.strip_prefix("PLAN-").unwrap_or(stem)
}

/// Plans by name.
struct Roll<'a> {
    places: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Roll<'a> {
    fn of(entries: &'a [PlanNode]) -> Self {
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            places.entry(key(&entry.name)).or_default().push(place);
        }
        Self { places }
    }

    fn called(&self, reference: &str) -> &[usize] {
        self.places.get(key(reference)).map_or(&[], Vec::as_slice)
    }

    /// The dependencies among the entries that count.
    fn graph(&self, entries: &[PlanNode], counts: impl Fn(&PlanNode) -> bool) -> Graph {
        let needs = |entry: &PlanNode| {
            let called = entry.depends_on.iter().flat_map(|name| self.called(name));
            called.copied().filter(|&place| counts(entry) && counts(&entries[place])).collect()
        };
        Graph::new(entries.iter().map(needs).collect())
    }

    /// Why a dependency blocks a plan; `None` if the dependency is done.
    fn reason(&self, entries: &[PlanNode], name: &str) -> Option<BlockReason> {
        let plan = key(name).to_owned();
        match self.called(name) {
            [only] => {
                let status = entries[*only].status.clone();
                (status != PlanProgress::Done).then_some(BlockReason::Waits { plan, status })
            }
            [] => {
                let meant = nearest::nearest(&plan, self.places.keys().copied()).map(str::to_owned);
                Some(BlockReason::Unknown { plan, meant })
            }
            several => Some(BlockReason::Ambiguous { plan, count: several.len() }),
        }
    }
}

fn named(entries: &[PlanNode], cycle: &[usize]) -> Cycle {
    Cycle { plans: cycle.iter().map(|&place| key(&entries[place].name).to_owned()).collect() }
}

#[cfg(test)]
mod tests;
