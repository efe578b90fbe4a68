//! Who may say yes to a plan, by written rule: the policy as data, and what it answers. Never reads a file: what a policy is
//! read from, and how it is spelled, is the engine's business. Where something can't be proven, a person is asked.

mod auto_approve;
mod requirement;
mod name;
mod required_approver;

pub use auto_approve::{Automatic, Judged, Tools};
pub use name::{is_plain, is_same};
pub use required_approver::{REQUIRED_FROM, required_from};
pub use requirement::{Demand, When};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::approval::ledger::{Role, Who};
use crate::plan::verified::Plan;
use crate::run::baseline::Red;
use crate::run::event::Agents;
use crate::run::opinion::Weight;

/// The rule where there is no policy at all.
pub const BY_DEFAULT: &str = "a person, by default";

/// What a party that is a group begins with: `group:leads`.
pub const GROUP: &str = "group:";

/// A policy. What it leaves out asks for no more than [`BY_DEFAULT`] does.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Rules by which a plan is approved without a person; the first that holds counts.
    pub automatic: Vec<Automatic>,
    /// What holds for every other plan.
    pub demand: Demand,
    /// What holds besides for some.
    pub when: Vec<When>,
    /// The people of every group.
    pub groups: BTreeMap<String, BTreeSet<String>>,
    /// What is known of people.
    pub people: BTreeMap<String, Person>,
    /// What the opinion of a judge counts for.
    pub judge: Weight,
}

/// What is known of somebody.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Person {
    /// Who they are in the list of signers; `None`: their name.
    pub principal: Option<String>,
    /// The fingerprint of their only key; `None`: whichever the list of signers has for them.
    pub key: Option<String>,
}

/// What is known about a plan beside what it says.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub proposer: &'a Who,
    /// What its contracts said before the work.
    pub red: &'a [Red],
    /// The dialect that it is written in.
    pub dialect: &'a str,
    /// The command lines that would carry it out, by target.
    pub agents: &'a Agents,
    /// Who the plan itself wants to approve it, as [`required_from`] reads it.
    pub required_from: Option<&'a [String]>,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
}

/// What a policy says about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A written rule says yes.
    Automatic {
        /// The name of the rule.
        rule: String,
        /// Until when that holds, in milliseconds since 1970.
        until_ms: Option<u64>,
    },
    Ask(Ask),
}

/// Who has to say yes, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// How many different people have to.
    pub needed: u32,
    pub from: Approvers,
    /// Whether the one who proposed the plan may be one of them.
    pub planner_may_approve: bool,
    /// Until when a yes of now holds, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// Whether only a signed yes counts.
    pub is_signed: bool,
    /// The rules that say all this.
    pub rule: String,
    /// Who proposed the plan.
    pub proposer: Who,
    /// The rules that might have said yes, each with why it does not.
    pub passed_over: Vec<PassedOver>,
}

/// A rule that does not hold for a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    pub rule: String,
    pub because: String,
}

/// Who may say yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approvers {
    Anyone,
    These(BTreeSet<String>),
}

/// Whether a yes comes with a signature that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    Yes,
    No,
}

/// A yes that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub who: Who,
    /// Why it does not.
    pub why: Why,
    /// The rule that refuses.
    pub rule: String,
    /// Who may, in words.
    pub may: String,
}

/// Why somebody's yes does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// They are no person.
    NoPerson,
    /// They are not among those who may.
    NotAmong,
    /// They proposed the plan.
    Planner {
        /// The name that the plan was proposed under.
        proposer: String,
    },
    /// It is not signed.
    Unsigned,
    /// They said yes already.
    Twice {
        /// The name that they said it under.
        before: String,
    },
    /// There are fewer people who may than have to.
    TooFew {
        /// How many have to.
        needed: u32,
    },
}

/// Says whether a plan needs a person, and whom. Without a policy it always does.
pub fn decide(policy: Option<&Policy>, plan: &Plan, facts: &Facts<'_>) -> Decision {
    let none = Policy::default();
    let applies = policy.unwrap_or(&none);
    let judged: Vec<(&Automatic, Judged)> =
        applies.automatic.iter().map(|rule| (rule, rule.judge(plan, facts))).collect();
    let mut asked = requirement::gather(policy, plan, facts);
    // Whoever is asked for by name, for what the plan touches or by the plan itself, is not replaced by a rule.
    if asked.is_usual
        && let Some((rule, _)) = judged.iter().find(|(_, judged)| matches!(judged, Judged::Holds))
    {
        return Decision::Automatic { rule: rule.name.clone(), until_ms: asked.ask.until_ms };
    }
    asked.ask.passed_over = judged
        .into_iter()
        .map(|(rule, judged)| {
            let because = match judged {
                Judged::Holds => format!("{} asks for people", asked.ask.rule),
                Judged::Fails(because) => because,
            };
            PassedOver { rule: rule.name.clone(), because }
        })
        .collect();
    Decision::Ask(asked.ask)
}

/// Whom a policy asks for a plan when people decide, also where a rule would say yes.
pub fn ask(policy: Option<&Policy>, plan: &Plan, facts: &Facts<'_>) -> Ask {
    requirement::gather(policy, plan, facts).ask
}

/// Whether somebody's yes counts, after those that `before` said; says by which rule.
pub fn may_approve(ask: &Ask, who: &Who, signed: Signed, before: &[Who]) -> Result<String, Refusal> {
    match why_not(ask, who, signed, before) {
        None => Ok(ask.rule.clone()),
        Some(why) => Err(Refusal { who: who.clone(), why, rule: ask.rule.clone(), may: ask.may() }),
    }
}

fn why_not(ask: &Ask, who: &Who, signed: Signed, before: &[Who]) -> Option<Why> {
    match who.role {
        Role::Person => {}
        Role::Agent | Role::Policy | Role::Age => return Some(Why::NoPerson),
    }
    if ask.eligible().is_some_and(|people| people.len() < ask.needed as usize) {
        return Some(Why::TooFew { needed: ask.needed });
    }
    if let Approvers::These(people) = &ask.from
        && !people.contains(&who.name)
    {
        return Some(Why::NotAmong);
    }
    if !ask.planner_may_approve && is_same(&who.name, &ask.proposer.name) {
        return Some(Why::Planner { proposer: ask.proposer.name.clone() });
    }
    if let Some(twin) = before.iter().find(|known| is_same(&known.name, &who.name)) {
        return Some(Why::Twice { before: twin.name.clone() });
    }
    (ask.is_signed && signed == Signed::No).then_some(Why::Unsigned)
}

impl Policy {
    /// The people that are meant by names and groups. A group that there is not has nobody in it.
    pub fn people_of<'a>(&self, parties: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let mut people = BTreeSet::new();
        for party in parties {
            match party.strip_prefix(GROUP) {
                Some(group) => people.extend(self.groups.get(group.trim()).into_iter().flatten().cloned()),
                None => drop(people.insert(party.clone())),
            }
        }
        people
    }

    /// Who somebody is in the list of signers.
    pub fn principal_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.people.get(name).and_then(|person| person.principal.as_deref()).unwrap_or(name)
    }

    /// Whether a key is one that somebody may sign with.
    pub fn takes_key(&self, name: &str, fingerprint: &str) -> bool {
        let key = self.people.get(name).and_then(|person| person.key.as_deref());
        key.is_none_or(|key| key == fingerprint)
    }
}

impl Ask {
    /// The people who may, if they can be counted.
    fn eligible(&self) -> Option<BTreeSet<&str>> {
        let Approvers::These(people) = &self.from else { return None };
        let may = |name: &&str| self.planner_may_approve || !is_same(name, &self.proposer.name);
        Some(people.iter().map(String::as_str).filter(may).collect())
    }

    /// Who may, in words.
    pub fn may(&self) -> String {
        let except = match self.planner_may_approve {
            true => String::new(),
            false => format!(" but {}, who proposed it", self.proposer.name),
        };
        match (self.eligible(), &self.from) {
            (None, _) | (_, Approvers::Anyone) => format!("any person{except}"),
            (Some(people), Approvers::These(_)) if people.is_empty() => "nobody".to_owned(),
            (Some(people), Approvers::These(_)) => people.into_iter().collect::<Vec<_>>().join(", "),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { who, why, rule, may } = self;
        match why {
            Why::NoPerson => write!(f, "{who} may not approve: only a person may")?,
            Why::NotAmong => write!(f, "{who} may not approve this plan")?,
            Why::Planner { proposer } if who.name == *proposer => {
                write!(f, "{who} proposed this plan, and somebody else has to approve it")?;
            }
            Why::Planner { proposer } => {
                write!(f, "{who} can't be told from {proposer}, who proposed this plan")?;
            }
            Why::Unsigned => write!(f, "the approval by {who} is not signed")?,
            Why::Twice { before } if who.name == *before => write!(f, "{who} has approved already")?,
            Why::Twice { before } => {
                write!(f, "{who} can't be told from {before}, who has approved already")?;
            }
            Why::TooFew { needed } => {
                write!(f, "{needed} people have to approve, and there are fewer who may")?;
            }
        }
        write!(f, " (rule: {rule}; may approve: {may})")
    }
}

impl std::error::Error for Refusal {}
