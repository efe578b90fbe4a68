//! Which of several finished plans land together. Every set of plans can be tried on what is merged of them; this says which
//! set to try next, and in the end who lands, who is evicted by which evidence, and who is held back because of that.
//!
//! Nothing is remembered but what trials came to: where the search stands follows from them, so it can be cut off anywhere.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan of a batch. Its place is its number in merge order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The places of the plans of the batch that it depends on; all of them come before it.
    pub after: Vec<usize>,
}

/// What trying some plans together came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// Their branches merge, and every contract of theirs passes on the result.
    Passes,
    /// A branch can't be merged with those before it.
    Conflicts(Conflict),
    /// They merge, and a contract of theirs fails on the result.
    Fails(Evidence),
}

/// Two changes of the same lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The place of the plan whose branch can't be merged.
    pub place: usize,
    /// The places of the plans that changed the same files; none: the branch that all of them go into did.
    pub with: Vec<usize>,
    pub paths: Vec<String>,
}

/// What shows that plans do not work together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The plan whose contract it is.
    pub plan: String,
    /// The id of the step.
    pub step: String,
    /// The command; empty where a sealed file is at fault.
    pub contract: String,
    /// How it failed: `exit 1`.
    pub failure: String,
    /// The end of what it printed.
    pub output: String,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The plans at these places are to be tried together, in this order.
    Try(Vec<usize>),
    /// Nothing is left to try.
    Settled(Settled),
}

/// Who lands, and who does not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// The places of the plans that land, in order. They were tried together, exactly these, and passed.
    pub landed: Vec<usize>,
    /// Who is evicted, in order, and why.
    pub evicted: Vec<(usize, Why)>,
    /// Who would have to wait for a plan that is evicted or held back itself: the place, and that of the other.
    pub held: Vec<(usize, usize)>,
}

/// Why a plan is evicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It fails without any other plan of the batch but those that it depends on.
    Alone(Evidence),
    /// It is fine by itself and breaks together with these, which come before it.
    With(Vec<usize>, Evidence),
    /// It can't be merged.
    Conflict(Conflict),
}

/// The search for the plans that can land.
#[derive(Debug, Clone)]
pub struct Search {
    members: Vec<Member>,
    known: BTreeMap<Vec<usize>, Trial>,
}

/// A set of plans about which nothing is known yet.
type Unknown = Vec<usize>;

impl Search {
    /// A search among plans in merge order.
    ///
    /// # Panics
    ///
    /// If a plan depends on one that does not come before it: then this is no merge order.
    pub fn new(members: Vec<Member>) -> Self {
        let is_ordered = |(place, member): (usize, &Member)| member.after.iter().all(|&other| other < place);
        assert!(members.iter().enumerate().all(is_ordered), "a plan comes after those that it depends on");
        Self { members, known: BTreeMap::new() }
    }

    /// What is to be tried next, or what it all came to.
    pub fn next(&self) -> Next {
        match self.settle() {
            Ok(settled) => Next::Settled(settled),
            Err(unknown) => Next::Try(unknown),
        }
    }

    /// Takes over what a trial came to.
    pub fn learn(&mut self, plans: Vec<usize>, trial: Trial) {
        self.known.insert(plans, trial);
    }

    /// How many sets were tried on whose result contracts ran.
    pub fn runs(&self) -> usize {
        self.known.values().filter(|trial| !matches!(trial, Trial::Conflicts(_))).count()
    }

    fn ask(&self, plans: &[usize]) -> Result<&Trial, Unknown> {
        self.known.get(plans).ok_or_else(|| plans.to_vec())
    }

    /// All plans first, since mostly all of them are fine. Where they are not, the first one whose addition breaks those before
    /// it goes, and the rest is tried again together with all that are known to be fine.
    fn settle(&self) -> Result<Settled, Unknown> {
        let mut good: Vec<usize> = Vec::new();
        let mut out: BTreeMap<usize, Why> = BTreeMap::new();
        let mut open = self.open(&[], &out);
        while !open.is_empty() {
            let all = [good.as_slice(), &open].concat();
            match self.ask(&all)? {
                Trial::Passes => {
                    good = all;
                    break;
                }
                Trial::Conflicts(conflict) => {
                    assert!(open.contains(&conflict.place), "what passed together can be merged");
                    out.insert(conflict.place, Why::Conflict(conflict.clone()));
                }
                Trial::Fails(_) => {
                    let count = self.first_break(&open, |tried| [good.as_slice(), tried].concat())?;
                    let culprit = open[count - 1];
                    good.extend(&open[..count - 1]);
                    let why = self.name(&good, culprit)?;
                    // Whoever was in conflict with a plan that goes has another chance.
                    out.retain(|&place, why| place < culprit || !matches!(why, Why::Conflict(_)));
                    out.insert(culprit, why);
                }
            }
            open = self.open(&good, &out);
        }
        let held = self.held(&out);
        Ok(Settled { landed: good, evicted: out.into_iter().collect(), held })
    }

    /// Who may still land: not known to be fine yet, not out, and waiting for nobody who is.
    fn open(&self, good: &[usize], out: &BTreeMap<usize, Why>) -> Vec<usize> {
        let held = self.held(out);
        let is_held = |place: usize| held.iter().any(|&(one, _)| one == place);
        let places = 0..self.members.len();
        places.filter(|place| !good.contains(place) && !out.contains_key(place) && !is_held(*place)).collect()
    }

    /// Who waits for a plan that is out, or for one that waits for such a plan.
    fn held(&self, out: &BTreeMap<usize, Why>) -> Vec<(usize, usize)> {
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

    /// How many of these it takes, from the first on, until a set fails that passes with one less. None of them passes, all
    /// of them fail.
    fn first_break(&self, plans: &[usize], set: impl Fn(&[usize]) -> Vec<usize>) -> Result<usize, Unknown> {
        let (mut passes, mut fails) = (0, plans.len());
        while fails - passes > 1 {
            let middle = passes.midpoint(fails);
            match self.ask(&set(&plans[..middle]))? {
                Trial::Fails(_) => fails = middle,
                // A set that can't even be merged does not show what is looked for.
                Trial::Passes | Trial::Conflicts(_) => passes = middle,
            }
        }
        Ok(fails)
    }

    /// Why a plan breaks those that are fine without it: by itself, or together with whom.
    fn name(&self, good: &[usize], culprit: usize) -> Result<Why, Unknown> {
        let own = self.with_needs(&[culprit]);
        let whole = sorted([good, &[culprit]].concat());
        if let Trial::Fails(evidence) = self.ask(&own)? {
            return Ok(Why::Alone(evidence.clone()));
        }
        let others: Vec<usize> = good.iter().copied().filter(|place| !own.contains(place)).collect();
        let set = |some: &[usize]| sorted([own.as_slice(), some].concat());
        let count = self.first_break(&others, set)?;
        let partner = others[count - 1];
        if let Trial::Fails(evidence) = self.ask(&self.with_needs(&[partner, culprit]))? {
            return Ok(Why::With(vec![partner], evidence.clone()));
        }
        let some = others[..count].to_vec();
        let shown = match self.ask(&set(&some))? {
            Trial::Fails(evidence) => Some(evidence),
            Trial::Passes | Trial::Conflicts(_) => None,
        };
        match (shown, self.ask(&whole)?) {
            (Some(evidence), _) => Ok(Why::With(some, evidence.clone())),
            (None, Trial::Fails(evidence)) => Ok(Why::With(others, evidence.clone())),
            (None, Trial::Passes | Trial::Conflicts(_)) => panic!("the set that is taken apart fails"),
        }
    }

    /// These plans and everything that they depend on, in order.
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
