//! Many plans at once: which may begin, what holds the others back, which may run at the same time, and in which order their
//! work lands. Knows plans as entries of a table; never believes a file that says "done".

mod similarity;
mod circuit_breaker;

pub use circuit_breaker::{Trip, tripped};
pub use similarity::{Gist, Likeness};

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;

use crate::plan::graph::Graph;
use crate::syntax::glob;
use crate::syntax::glob::Glob;
use crate::syntax::nearest;

/// A step that failed so often in a row, in this run or in earlier ones, is not begun again without a person.
pub const FAILURES_MAX: u32 = 3;

/// A plan among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What other plans call it.
    pub name: String,
    pub status: Status,
    /// The plans that must be done before it, by name, stem or file name.
    pub depends_on: Vec<String>,
    /// Patterns of the files that it may change; `None` where it does not say.
    pub touches: Option<Vec<String>>,
    /// How much it changes, in lines.
    pub size: u64,
}

/// Where a plan stands, as far as other plans care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Nothing keeps it from going on but other plans.
    Open,
    /// It lies where plans wait that nobody has put in their place yet.
    Staged,
    /// Somebody is at it.
    Running,
    /// A person stopped it for now.
    Stopped,
    /// A person is asked; says what about.
    Waiting(String),
    /// A step, or all of it, failed too often.
    Tripped(Trip),
    /// Its last run failed.
    Failed,
    /// Its text has to change before it can go on; says why.
    Replanning(String),
    /// Its file says that it is done, and nothing proves it.
    Claimed,
    /// The journal proves that it is done.
    Done,
    /// A person, or age, ended it.
    Cancelled,
    /// It can't be read; says why.
    Unreadable(String),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("not done"),
            Self::Staged => f.write_str("only staged"),
            Self::Running => f.write_str("running"),
            Self::Stopped => f.write_str("stopped"),
            Self::Waiting(what) => write!(f, "waiting for a person: {what}"),
            Self::Tripped(trip) => write!(f, "held until a person approves it again: {trip}"),
            Self::Failed => f.write_str("failed"),
            Self::Replanning(why) => write!(f, "to be planned anew: {why}"),
            Self::Claimed => f.write_str("said to be done, but nothing proves it"),
            Self::Done => f.write_str("done"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Unreadable(why) => write!(f, "unreadable: {why}"),
        }
    }
}

/// What gets a plan going again that is held back. The later, the more it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recovery {
    /// Nothing: it goes on once others are done.
    Waits,
    /// One more run, as it is.
    Retry,
    Person,
    /// Another text of the plan.
    Replan,
}

impl Recovery {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Retry => "retry",
            Self::Person => "person",
            Self::Replan => "replan",
        }
    }

    /// The same for a person who reads it the first time.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Waits => "goes on by itself once others are done",
            Self::Retry => "another run may do",
            Self::Person => "needs a person",
            Self::Replan => "needs another plan",
        }
    }
}

/// Why a plan is held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It waits for a plan that is not done.
    Waits {
        plan: String,
        /// Where that one stands.
        status: Status,
    },
    /// It waits for a plan that is not there.
    Unknown {
        /// What it waits for.
        plan: String,
        /// A plan with nearly this name.
        meant: Option<String>,
    },
    /// It waits for a name that several plans have.
    Ambiguous {
        plan: String,
        /// How many have it.
        count: usize,
    },
    /// It waits for itself.
    Cycle(Cycle),
    /// Something of its own.
    Own(Status),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waits { plan, status } => write!(f, "waits for {plan}, which is {status}"),
            Self::Unknown { plan, meant: None } => write!(f, "waits for {plan}, which is no plan here"),
            Self::Unknown { plan, meant: Some(meant) } => {
                write!(f, "waits for {plan}, which is no plan here; there is {meant}")
            }
            Self::Ambiguous { plan, count } => {
                write!(f, "waits for {plan}, and {count} plans are called so")
            }
            Self::Cycle(cycle) => write!(f, "waits for itself: {cycle}"),
            Self::Own(Status::Waiting(what)) => write!(f, "waits for a person: {what}"),
            Self::Own(Status::Tripped(trip)) => {
                write!(f, "{trip}: it is not begun again without a person")
            }
            Self::Own(Status::Failed) => f.write_str("its last run failed"),
            Self::Own(status) => write!(f, "is {status}"),
        }
    }
}

impl Reason {
    /// What would settle it.
    pub fn recovery(&self) -> Recovery {
        match self {
            Self::Unknown { .. }
            | Self::Ambiguous { .. }
            | Self::Cycle(_)
            | Self::Own(Status::Replanning(_) | Status::Unreadable(_)) => Recovery::Replan,
            Self::Own(Status::Stopped | Status::Failed) => Recovery::Retry,
            Self::Own(
                Status::Staged
                | Status::Claimed
                | Status::Waiting(_)
                | Status::Tripped(_)
                | Status::Cancelled,
            )
            | Self::Waits { status: Status::Cancelled, .. } => Recovery::Person,
            // What the other plan takes is said where that one is held back.
            Self::Waits { .. } | Self::Own(Status::Open | Status::Running | Status::Done) => Recovery::Waits,
        }
    }

    /// The command that settles it, or shows what would, for the plan `name`.
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
            // A mark is a claim: a run begins with the contract of every step that is marked.
            // What tripped asks a person before it begins.
            Status::Claimed | Status::Open | Status::Stopped | Status::Tripped(_) => words(&["run"], plan),
            Status::Failed => words(&["retry"], plan),
            Status::Staged => words(&["activate"], plan),
            Status::Replanning(_) => words(&["replan"], plan),
            Status::Unreadable(_) => words(&["verify"], plan),
            Status::Waiting(_) | Status::Running | Status::Done | Status::Cancelled => {
                words(&["status"], plan)
            }
        }
    }
}

/// Plans that wait for each other in a circle: each for the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// Their names, beginning with the one that comes first in the table.
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

/// A plan that may not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBack {
    /// The plan, as a place in the table.
    pub entry: usize,
    pub reasons: Vec<Reason>,
}

impl HeldBack {
    /// What gets it going: the most that one of its reasons takes.
    pub fn recovery(&self) -> Recovery {
        self.reasons.iter().map(Reason::recovery).max().unwrap_or(Recovery::Waits)
    }
}

/// What may begin and what may not. Plans that are done or cancelled are in none of the lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readiness {
    /// Plans that may begin or go on, as places in the table.
    pub ready: Vec<usize>,
    /// Plans that somebody is at.
    pub running: Vec<usize>,
    /// Plans that may not.
    pub held_back: Vec<HeldBack>,
}

/// Sorts plans into those that may begin and those that may not, with every reason at once. A plan that somebody is at is not
/// held back: what it waited for was settled when it began.
pub fn readiness(entries: &[Entry]) -> Readiness {
    let roll = Roll::of(entries);
    let cycles = roll.graph(entries, |entry| entry.status != Status::Done).cycles();
    let mut readiness = Readiness::default();
    for (place, entry) in entries.iter().enumerate() {
        let own = match &entry.status {
            Status::Done | Status::Cancelled => continue,
            Status::Running => {
                readiness.running.push(place);
                continue;
            }
            Status::Open => None,
            Status::Staged
            | Status::Stopped
            | Status::Waiting(_)
            | Status::Tripped(_)
            | Status::Failed
            | Status::Replanning(_)
            | Status::Claimed
            | Status::Unreadable(_) => Some(Reason::Own(entry.status.clone())),
        };
        let cycle = cycles.iter().find(|cycle| cycle.contains(&place));
        let cycle = cycle.map(|cycle| Reason::Cycle(named(entries, cycle)));
        // What goes round in a circle is said once, as the circle.
        let is_said = |name: &str| match &cycle {
            Some(Reason::Cycle(cycle)) => cycle.plans.iter().any(|plan| plan == key(name)),
            Some(_) | None => false,
        };
        let waits = entry.depends_on.iter().filter(|name| !is_said(name));
        let waits = waits.filter_map(|name| roll.reason(entries, name));
        let mut reasons: Vec<Reason> = own.into_iter().chain(waits).collect();
        reasons.extend(cycle);
        reasons.dedup();
        match reasons.is_empty() {
            true => readiness.ready.push(place),
            false => readiness.held_back.push(HeldBack { entry: place, reasons }),
        }
    }
    readiness
}

/// Two plans that may change the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The plans, as places in the table.
    pub plans: (usize, usize),
    /// The pattern of each.
    pub patterns: (String, String),
    /// A path that both mean.
    pub path: String,
}

/// A plan of which nobody knows what it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbounded {
    /// The plan, as a place in the table.
    pub entry: usize,
    pub why: String,
}

/// Which plans may run at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Together {
    /// No two of these can change the same file. Whoever comes first in the question is taken first.
    pub plans: Vec<usize>,
    /// Why others were left out: every pair that could change the same file.
    pub overlaps: Vec<Overlap>,
    /// Plans that run alone or not at all: never taken for safe.
    pub unbounded: Vec<Unbounded>,
}

/// Which of `among` may run at the same time, by true intersection of what they touch. A plan that does not say what it
/// touches, or not in patterns that can be read, is left out loudly.
pub fn safe_together(entries: &[Entry], among: &[usize]) -> Together {
    let mut together = Together::default();
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

fn patterns(entry: &Entry) -> Result<Vec<Glob>, String> {
    let Some(touches) = &entry.touches else { return Err("it does not say what it touches".to_owned()) };
    let read =
        |pattern: &String| Glob::new(pattern).map_err(|error| format!("it touches `{pattern}`: {error}"));
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

/// The order in which finished plans land: each after those that it depends on, then the smaller one, then by name. Plans that
/// are not among the entries are nobody's business here: who merges has looked whether they are done.
pub fn merge_order(entries: &[Entry]) -> Result<Vec<usize>, Cycle> {
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
    assert_eq!(order.len(), entries.len(), "a graph without circles has an order of all");
    Ok(order)
}

/// The name that a reference means: a name, a stem (`PLAN-x`) or a file name (`PLAN-x.md`).
pub fn key(reference: &str) -> &str {
    let stem = reference.trim();
    let stem = stem.strip_suffix(".md").unwrap_or(stem);
    stem.strip_prefix("PLAN-").unwrap_or(stem)
}

/// Who is called what.
struct Roll<'a> {
    places: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Roll<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            places.entry(key(&entry.name)).or_default().push(place);
        }
        Self { places }
    }

    fn called(&self, reference: &str) -> &[usize] {
        self.places.get(key(reference)).map_or(&[], Vec::as_slice)
    }

    /// Who waits for whom among the entries that count.
    fn graph(&self, entries: &[Entry], counts: impl Fn(&Entry) -> bool) -> Graph {
        let needs = |entry: &Entry| {
            let called = entry.depends_on.iter().flat_map(|name| self.called(name));
            called.copied().filter(|&place| counts(entry) && counts(&entries[place])).collect()
        };
        Graph::new(entries.iter().map(needs).collect())
    }

    /// Why something that a plan depends on holds it back; `None` if that is done.
    fn reason(&self, entries: &[Entry], name: &str) -> Option<Reason> {
        let plan = key(name).to_owned();
        match self.called(name) {
            [only] => {
                let status = entries[*only].status.clone();
                (status != Status::Done).then_some(Reason::Waits { plan, status })
            }
            [] => {
                let meant = nearest::nearest(&plan, self.places.keys().copied()).map(str::to_owned);
                Some(Reason::Unknown { plan, meant })
            }
            several => Some(Reason::Ambiguous { plan, count: several.len() }),
        }
    }
}

fn named(entries: &[Entry], cycle: &[usize]) -> Cycle {
    Cycle { plans: cycle.iter().map(|&place| key(&entries[place].name).to_owned()).collect() }
}

#[cfg(test)]
mod tests;
