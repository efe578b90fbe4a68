//! Which of several finished plans merge together. Any set of plans can be tried on the merged result; this
//! decides which set to try next, and finally which plans merge, which are evicted on what evidence, and
//! which are held back because of that. Remembers only trial results: the state of the search follows from
//! them, so it can be interrupted anywhere.

use std::collections::BTreeMap;

use crate::approval::ledger::Evidence;

/// A plan of a batch. Its index is its position in merge order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPlan {
    /// The indexes of the plans in the batch that it depends on; all come before it.
    pub after: Vec<usize>,
}

/// The result of trying some plans together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialMerge {
    /// Their branches merge, and all their contracts pass on the result.
    Passes,
    /// A branch can't be merged with those before it.
    Conflicts(Conflict),
    /// They merge, but one of their contracts fails on the result.
    Fails(Evidence),
}

/// Two changes of the same lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The index of the plan whose branch can't be merged.
    pub place: usize,
    /// The indexes of the plans that changed the same files; empty if the target branch did.
    pub with: Vec<usize>,
    pub paths: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextTrial {
    /// Try the plans at these indexes together, in this order.
    Try(Vec<usize>),
    /// Nothing is left to try.
    Settled(MergeOutcome),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergeOutcome {
    /// The indexes of the plans that merge, in order. Exactly this set was tried together and passed.
    pub landed: Vec<usize>,
    /// The evicted plans, in order, and why.
    pub evicted: Vec<(usize, EvictionReason)>,
    /// Plans that depend on an evicted or held plan: the index of each, and of that other plan.
    pub held: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvictionReason {
    /// It fails with only its dependencies from the batch.
    Alone(Evidence),
    /// It passes alone and fails together with these, which come before it.
    With(Vec<usize>, Evidence),
    Conflict(Conflict),
}

/// The search for the plans that can merge.
#[derive(Debug, Clone)]
pub struct Bisection {
    members: Vec<QueuedPlan>,
    known: BTreeMap<Vec<usize>, TrialMerge>,
}

/// A set of plans that has not been tried yet.
type Unknown = Vec<usize>;

impl Bisection {
    /// # Panics
    ///
    /// If a plan depends on one that doesn't come before it.
    pub fn new(members: Vec<QueuedPlan>) -> Self {
        let is_ordered =
            |(place, member): (usize, &QueuedPlan)| member.after.iter().all(|&other| other < place);
        assert!(members.iter().enumerate().all(is_ordered), "a plan comes after those that it depends on");
        Self { members, known: BTreeMap::new() }
    }

    /// The next set to try, or the result.
    pub fn next(&self) -> NextTrial {
        match self.settle() {
            Ok(settled) => NextTrial::Settled(settled),
            Err(unknown) => NextTrial::Try(unknown),
        }
    }

    pub fn learn(&mut self, plans: Vec<usize>, trial: TrialMerge) {
        self.known.insert(plans, trial);
    }

    /// The number of trials in which contracts ran.
    pub fn runs(&self) -> usize {
        self.known.values().filter(|trial| !matches!(trial, TrialMerge::Conflicts(_))).count()
    }

    fn ask(&self, plans: &[usize]) -> Result<&TrialMerge, Unknown> {
        self.known.get(plans).ok_or_else(|| plans.to_vec())
    }

    /// Tries all plans first, since usually all are fine. If they aren't, evicts the first one whose addition
    /// breaks those before it, and tries the rest again together with all that are known to pass.
    fn settle(&self) -> Result<MergeOutcome, Unknown> {
        let mut good: Vec<usize> = Vec::new();
        let mut out: BTreeMap<usize, EvictionReason> = BTreeMap::new();
        let mut open = self.open(&[], &out);
        while !open.is_empty() {
            let all = [good.as_slice(), &open].concat();
            match self.ask(&all)? {
                TrialMerge::Passes => {
                    good = all;
                    break;
                }
                TrialMerge::Conflicts(conflict) => {
                    assert!(open.contains(&conflict.place), "plans that passed together can be merged");
                    out.insert(conflict.place, EvictionReason::Conflict(conflict.clone()));
                }
                TrialMerge::Fails(_) => {
                    let count = self.first_break(&open, |tried| [good.as_slice(), tried].concat())?;
                    let culprit = open[count - 1];
                    good.extend(&open[..count - 1]);
                    let why = self.name(&good, culprit)?;
                    // A plan in conflict with an evicted one gets another chance.
                    out.retain(|&place, why| place < culprit || !matches!(why, EvictionReason::Conflict(_)));
                    out.insert(culprit, why);
                }
            }
            open = self.open(&good, &out);
        }
        let held = self.held(&out);
        Ok(MergeOutcome { landed: good, evicted: out.into_iter().collect(), held })
    }

    /// The plans that may still merge: not known to pass, not evicted, and not dependent on an evicted plan.
    fn open(&self, good: &[usize], out: &BTreeMap<usize, EvictionReason>) -> Vec<usize> {
        let held = self.held(out);
        let is_held = |place: usize| held.iter().any(|&(one, _)| one == place);
        let places = 0..self.members.len();
        places.filter(|place| !good.contains(place) && !out.contains_key(place) && !is_held(*place)).collect()
    }

    /// The plans that depend on an evicted plan, directly or not.
    fn held(&self, out: &BTreeMap<usize, EvictionReason>) -> Vec<(usize, usize)> {
        let mut held: Vec<(usize, usize)> = Vec::new();
        for (place, member) in self.members.iter().enumerate() {
            let is_gone =
                |other: &&usize| out.contains_key(other) || held.iter().any(|(one, _)| one == *other);
            if let Some(&other) = member.after.iter().find(is_gone)
                && !out.contains_key(&place)
            {
                held.push((place, other));
            }
        }
        held
    }

    /// Bisects to the number of these, from the first on, whose set fails while the set with one less passes.
    /// Requires that the set passes without any of them and fails with all.
    fn first_break(&self, plans: &[usize], set: impl Fn(&[usize]) -> Vec<usize>) -> Result<usize, Unknown> {
        let (mut passes, mut fails) = (0, plans.len());
        while fails - passes > 1 {
            let middle = passes.midpoint(fails);
            match self.ask(&set(&plans[..middle]))? {
                TrialMerge::Fails(_) => fails = middle,
                // A set that can't even be merged doesn't show the failure.
                TrialMerge::Passes | TrialMerge::Conflicts(_) => passes = middle,
            }
        }
        Ok(fails)
    }

    /// Why a plan breaks those that pass without it: alone, or in combination with which.
    fn name(&self, good: &[usize], culprit: usize) -> Result<EvictionReason, Unknown> {
        let own = self.with_needs(&[culprit]);
        let whole = sorted([good, &[culprit]].concat());
        if let TrialMerge::Fails(evidence) = self.ask(&own)? {
            return Ok(EvictionReason::Alone(evidence.clone()));
        }
        let others: Vec<usize> = good.iter().copied().filter(|place| !own.contains(place)).collect();
        let set = |some: &[usize]| sorted([own.as_slice(), some].concat());
        let count = self.first_break(&others, set)?;
        let partner = others[count - 1];
        if let TrialMerge::Fails(evidence) = self.ask(&self.with_needs(&[partner, culprit]))? {
            return Ok(EvictionReason::With(vec![partner], evidence.clone()));
        }
        let some = others[..count].to_vec();
        let shown = match self.ask(&set(&some))? {
            TrialMerge::Fails(evidence) => Some(evidence),
            TrialMerge::Passes | TrialMerge::Conflicts(_) => None,
        };
        match (shown, self.ask(&whole)?) {
            (Some(evidence), _) => Ok(EvictionReason::With(some, evidence.clone())),
            (None, TrialMerge::Fails(evidence)) => Ok(EvictionReason::With(others, evidence.clone())),
            (None, TrialMerge::Passes | TrialMerge::Conflicts(_)) => panic!("the set being bisected fails"),
        }
    }

    /// These plans and all their dependencies, in order.
    fn with_needs(&self, plans: &[usize]) -> Vec<usize> {
        let mut all = plans.to_vec();
        let mut next = 0;
        while let Some(&place) = all.get(next) {
            let more: Vec<usize> =
                self.members[place].after.iter().copied().filter(|other| !all.contains(other)).collect();
            all.extend(more);
            next += 1;
        }
        sorted(all)
    }
}

fn sorted(mut plans: Vec<usize>) -> Vec<usize> {
    plans.sort_unstable();
    plans.dedup();
    plans
}
