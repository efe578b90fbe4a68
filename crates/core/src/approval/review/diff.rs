//! What changed between two plans, apart from the direction of their contracts: which step corresponds to
//! which, what was added, removed or moved, and every changed field. Leaving out a field is a compile error.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::plan::budget::Budget;
use crate::plan::verified::{Contract, Plan, Reference, Step};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// `None` for the plan as a whole.
    pub step: Option<String>,
    /// The number of the step in the plan that contains it.
    pub number: Option<u32>,
    pub what: DiffSubject,
    /// `None` if it was empty.
    pub was: Option<String>,
    /// `None` if it is empty now.
    pub now: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiffSubject {
    Added,
    Removed,
    Moved,
    Number,
    Id,
    Title,
    Owner,
    Context,
    Priority,
    Budget,
    Target,
    Task,
    Contract,
    OnFail,
    Needs,
    Reads,
    Touches,
    Accept,
    Timeout,
    ContractTimeout,
    Tools,
    Env,
    Network,
    /// The command that prepares the contract's checkout.
    Setup,
    Sealed,
    /// The step after which the contract need not hold any more.
    HoldsUntil,
    /// Why the contract may pass before the work.
    Green,
    /// The question for an agent about the work.
    Judge,
}

impl DiffSubject {
    /// The character that introduces it in a list of changes.
    pub fn sign(self) -> char {
        if self == Self::Added {
            return '+';
        }
        if self == Self::Removed { '-' } else { '~' }
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Moved => "moved",
            Self::Number => "number",
            Self::Id => "id",
            Self::Title => "title",
            Self::Owner => "owner",
            Self::Context => "context",
            Self::Priority => "priority",
            Self::Budget => "budget",
            Self::Target => "target",
            Self::Task => "task",
            Self::Contract => "contract",
            Self::OnFail => "on_fail",
            Self::Needs => "needs",
            Self::Reads => "reads",
            Self::Touches => "touches",
            Self::Accept => "accept",
            Self::Timeout => "timeout",
            Self::ContractTimeout => "contract timeout",
            Self::Tools => "tools",
            Self::Env => "env",
            Self::Network => "network",
            Self::Setup => "setup",
            Self::Sealed => "sealed",
            Self::HoldsUntil => "holds until",
            Self::Green => "green",
            Self::Judge => "judge",
        }
    }
}

/// For every step of `new`, the index of the same step in `old`: matched by id, else by title, else by
/// contract.
pub fn pairs(old: &Plan, new: &Plan) -> Vec<Option<usize>> {
    let mut pairs: Vec<Option<usize>> = vec![None; new.steps.len()];
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let id = |step: &Step| Some(step.id.clone());
    let title = |step: &Step| Some(step.title.clone()).filter(|title| !title.is_empty());
    let contract = |step: &Step| step.contract.command().map(str::to_owned);
    for key in [&id as &dyn Fn(&Step) -> Option<String>, &title, &contract] {
        let mut known = BTreeMap::new();
        for (place, step) in old.steps.iter().enumerate().rev().filter(|(place, _)| !taken.contains(place)) {
            if let Some(key) = key(step) {
                known.insert(key, place);
            }
        }
        for (step, pair) in new.steps.iter().zip(&mut pairs).filter(|(_, pair)| pair.is_none()) {
            let found = key(step).and_then(|key| known.remove(&key));
            taken.extend(found);
            *pair = found;
        }
    }
    pairs
}

/// Everything that changed between two plans: first the plan, then the steps in their new order.
pub fn differences(old: &Plan, new: &Plan, pairs: &[Option<usize>]) -> Vec<Difference> {
    let mut found = Vec::new();
    of_plan(old, new, &mut found);
    let moved = moved(pairs);
    for (place, (step, pair)) in new.steps.iter().zip(pairs).enumerate() {
        match pair {
            None => found.push(Difference {
                now: Some(step.title.clone()),
                ..Difference::of(Some(step), DiffSubject::Added)
            }),
            Some(pair) => {
                let was = &old.steps[*pair];
                if moved.contains(&place) {
                    let mut difference = Difference::of(Some(step), DiffSubject::Moved);
                    difference.was = Some(was.number.to_string());
                    difference.now = Some(step.number.to_string());
                    found.push(difference);
                } else if is_renumbered((was.number, *pair), (step.number, place)) {
                    let mut difference = Difference::of(Some(step), DiffSubject::Number);
                    difference.was = Some(was.number.to_string());
                    difference.now = Some(step.number.to_string());
                    found.push(difference);
                }
                of_step((old, was), (new, step), &mut found);
            }
        }
    }
    let kept: BTreeSet<usize> = pairs.iter().copied().flatten().collect();
    let gone = old.steps.iter().enumerate().filter(|(place, _)| !kept.contains(place));
    found.extend(gone.map(|(_, step)| Difference {
        was: Some(step.title.clone()),
        ..Difference::of(Some(step), DiffSubject::Removed)
    }));
    found
}

impl Difference {
    fn of(step: Option<&Step>, what: DiffSubject) -> Self {
        Self {
            step: step.map(|step| step.id.clone()),
            number: step.map(|step| step.number),
            what,
            was: None,
            now: None,
        }
    }
}

/// Whether a number changed by more than the steps before it explain.
fn is_renumbered((was, old_place): (u32, usize), (now, new_place): (u32, usize)) -> bool {
    i64::from(now) - i64::from(was) != distance(old_place, new_place)
}

fn distance(from: usize, to: usize) -> i64 {
    i64::try_from(to).unwrap_or(i64::MAX) - i64::try_from(from).unwrap_or(i64::MAX)
}

/// The indexes of the steps whose order changed.
fn moved(pairs: &[Option<usize>]) -> BTreeSet<usize> {
    let order: Vec<usize> = pairs.iter().copied().flatten().collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let mut stayed: BTreeSet<usize> = BTreeSet::new();
    for op in capture_diff_slices(Algorithm::Myers, &sorted, &order) {
        if let DiffOp::Equal { new_index, len, .. } = op {
            stayed.extend(&order[new_index..new_index + len]);
        }
    }
    let is_moved = |pair: &Option<usize>| pair.is_some_and(|pair| !stayed.contains(&pair));
    pairs.iter().enumerate().filter(|(_, pair)| is_moved(pair)).map(|(place, _)| place).collect()
}

/// Compares fields of one step, or of the plan.
struct Comparison<'a> {
    step: Option<&'a Step>,
    found: &'a mut Vec<Difference>,
}

impl Comparison<'_> {
    fn field<T: PartialEq>(&mut self, what: DiffSubject, was: &T, now: &T, show: impl Fn(&T) -> String) {
        if was != now {
            let said = |value: &T| Some(show(value)).filter(|text| !text.is_empty());
            let difference = Difference::of(self.step, what);
            self.found.push(Difference { was: said(was), now: said(now), ..difference });
        }
    }
}

fn of_plan(old: &Plan, new: &Plan, found: &mut Vec<Difference>) {
    // Destructured, so that a new field can't be forgotten.
    let Plan { title, owner, context, priority, budget, steps: _ } = new;
    let mut comparison = Comparison { step: None, found };
    comparison.field(DiffSubject::Title, &old.title, title, String::clone);
    comparison.field(DiffSubject::Owner, &old.owner, owner, String::clone);
    comparison.field(DiffSubject::Context, &old.context, context, String::clone);
    comparison.field(DiffSubject::Priority, &old.priority, priority, String::clone);
    comparison.field(DiffSubject::Budget, &old.budget, budget, spent);
}

fn of_step((old, was): (&Plan, &Step), (new, step): (&Plan, &Step), found: &mut Vec<Difference>) {
    let Step {
        number: _,
        id,
        title,
        mark: _,
        target,
        task,
        contract,
        on_fail,
        needs,
        reads,
        touches,
        accept,
        timeout_seconds,
        contract_timeout_seconds,
        tools,
        env,
        network,
        setup,
        sealed,
        holds_until,
        green,
        judge,
    } = step;
    let mut comparison = Comparison { step: Some(step), found };
    comparison.field(DiffSubject::Id, &was.id, id, String::clone);
    comparison.field(DiffSubject::Title, &was.title, title, String::clone);
    comparison.field(DiffSubject::Target, &was.target, target, String::clone);
    comparison.field(DiffSubject::Task, &was.task, task, String::clone);
    comparison.field(DiffSubject::Contract, &was.contract, contract, contract_text);
    comparison.field(DiffSubject::OnFail, &was.on_fail, on_fail, ToString::to_string);
    comparison.field(DiffSubject::Needs, &ids(old, &was.needs), &ids(new, needs), |ids| ids.join(", "));
    comparison.field(DiffSubject::Reads, &was.reads, reads, |reads| references(reads));
    comparison.field(DiffSubject::Touches, &was.touches, touches, |globs| declared(globs.as_deref()));
    comparison.field(DiffSubject::Accept, &was.accept, accept, |lines| lines.join("\n"));
    comparison.field(DiffSubject::Timeout, &was.timeout_seconds, timeout_seconds, |time| seconds(*time));
    let limits = (&was.contract_timeout_seconds, contract_timeout_seconds);
    comparison.field(DiffSubject::ContractTimeout, limits.0, limits.1, |time| seconds(*time));
    comparison.field(DiffSubject::Tools, &was.tools, tools, |tools| tools.join("\n"));
    comparison.field(DiffSubject::Env, &was.env, env, |lines| lines.join("\n"));
    comparison.field(DiffSubject::Network, &was.network, network, |text| text.clone().unwrap_or_default());
    comparison.field(DiffSubject::Setup, &was.setup, setup, |text| text.clone().unwrap_or_default());
    comparison.field(DiffSubject::Sealed, &was.sealed, sealed, |globs| globs.join("\n"));
    let until = |plan: &Plan, place: Option<usize>| ids(plan, place.as_slice()).join("");
    let (before, after) = (until(old, was.holds_until), until(new, *holds_until));
    comparison.field(DiffSubject::HoldsUntil, &before, &after, String::clone);
    comparison.field(DiffSubject::Green, &was.green, green, |text| text.clone().unwrap_or_default());
    comparison.field(DiffSubject::Judge, &was.judge, judge, |text| text.clone().unwrap_or_default());
}

fn contract_text(contract: &Contract) -> String {
    match contract {
        Contract::Shell { command, expect: 0 } => command.clone(),
        Contract::Shell { command, expect } => format!("{command}\nexpects exit {expect}"),
        Contract::Manual => "confirmed by a person".to_owned(),
    }
}

fn ids(plan: &Plan, places: &[usize]) -> Vec<String> {
    places.iter().map(|&place| plan.steps[place].id.clone()).collect()
}

fn references(reads: &[Reference]) -> String {
    let spelled = reads.iter().map(|reference| match reference {
        Reference::File(path) => format!("file:{path}"),
        Reference::Topic(name) => format!("topic:{name}"),
    });
    spelled.collect::<Vec<_>>().join("\n")
}

fn declared(touches: Option<&[String]>) -> String {
    match touches {
        None => "not declared".to_owned(),
        Some([]) => "nothing".to_owned(),
        Some(globs) => globs.join("\n"),
    }
}

fn seconds(time: Option<u64>) -> String {
    time.map_or(String::new(), |seconds| format!("{seconds} s"))
}

fn spent(budget: &Budget) -> String {
    let Budget { tokens, micro_dollars, seconds } = budget;
    let money = |micro: u64| format!("${}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000);
    let amounts = [
        tokens.map(|tokens| format!("{tokens} tokens")),
        micro_dollars.map(money),
        seconds.map(|seconds| format!("{seconds} s")),
    ];
    amounts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
