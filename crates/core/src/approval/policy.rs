//! Who may approve a plan, by written rule: the policy as data, and its decisions. Never reads a file; the
//! engine loads and parses policies. Whatever can't be proven needs a person.

mod auto_approve;
mod requirement;
mod name;
mod required_approver;

pub use auto_approve::{AutoDecision, Automatic, ToolLists};
pub use name::{is_plain, is_same};
pub use required_approver::required_from;
pub use requirement::{Requirement, When};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::plan::identity::{Identity, Role};
use crate::plan::verified::Plan;
use crate::run::baseline::Baseline;
use crate::run::event::AgentCommands;
use crate::run::opinion::Authority;

/// The rule without a policy.
pub const BY_DEFAULT: &str = "a person, by default";

/// The prefix of a group: `group:leads`.
pub const GROUP: &str = "group:";

/// A policy. What it omits is as in [`BY_DEFAULT`].
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Rules that approve a plan without a person; the first that matches wins.
    pub automatic: Vec<Automatic>,
    /// The requirements for all other plans.
    pub demand: Requirement,
    /// Additional requirements for some plans.
    pub when: Vec<When>,
    /// Members by group.
    pub groups: BTreeMap<String, BTreeSet<String>>,
    pub people: BTreeMap<String, Person>,
    /// The weight of a judge's opinion.
    pub judge: Authority,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Person {
    /// Their principal in the list of allowed signers; `None` if it is their name.
    pub principal: Option<String>,
    /// The fingerprint of their only key; `None` for any key that the list of allowed signers has for them.
    pub key: Option<String>,
}

/// What a decision needs to know besides the plan itself.
#[derive(Debug, Clone, Copy)]
pub struct PolicyFacts<'a> {
    pub proposer: &'a Identity,
    /// The results of its contracts before the work.
    pub red: &'a [Baseline],
    pub dialect: &'a str,
    /// The agent commands that would run it, by target.
    pub agents: &'a AgentCommands,
    /// The approvers that the plan itself requires, as [`required_from`] reads them.
    pub required_from: Option<&'a [String]>,
    /// In milliseconds since 1970.
    pub now_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A rule approves it.
    Automatic {
        rule: String,
        /// When the approval expires, in milliseconds since 1970.
        until_ms: Option<u64>,
    },
    Ask(PolicyQuestion),
}

/// The required approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyQuestion {
    /// How many different people.
    pub needed: u32,
    pub from: Approvers,
    /// Whether the proposer may approve.
    pub planner_may_approve: bool,
    /// When an approval made now expires, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// Whether approvals must be signed.
    pub is_signed: bool,
    /// The names of the rules that require this.
    pub rule: String,
    pub proposer: Identity,
    /// The automatic rules that don't match, each with the reason.
    pub passed_over: Vec<PassedOver>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOver {
    pub rule: String,
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approvers {
    Anyone,
    These(BTreeSet<String>),
}

/// Whether an approval has a valid signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureStatus {
    Yes,
    No,
}

/// An approval that doesn't count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRefusal {
    pub who: Identity,
    pub why: RefusalReason,
    pub rule: String,
    /// Who may approve, in prose.
    pub may: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalReason {
    /// Not a person.
    NoPerson,
    NotAmong,
    /// They proposed the plan.
    Planner {
        /// The name in the proposal.
        proposer: String,
    },
    Unsigned,
    /// They already approved it.
    Twice {
        /// The name in that approval.
        before: String,
    },
    /// Fewer people may approve than are required.
    TooFew {
        needed: u32,
    },
}

/// Whether a plan needs a person's approval, and whose. Without a policy it always does.
pub fn decide(policy: Option<&Policy>, plan: &Plan, facts: &PolicyFacts<'_>) -> Decision {
    let none = Policy::default();
    let applies = policy.unwrap_or(&none);
    let judged: Vec<(&Automatic, AutoDecision)> =
        applies.automatic.iter().map(|rule| (rule, rule.judge(plan, facts))).collect();
    let mut asked = requirement::gather(policy, plan, facts);
    // A rule can't replace approvers that the policy requires for certain paths or that the plan itself
    // names.
    if asked.is_usual
        && let Some((rule, _)) = judged.iter().find(|(_, judged)| matches!(judged, AutoDecision::Holds))
    {
        return Decision::Automatic { rule: rule.name.clone(), until_ms: asked.ask.until_ms };
    }
    asked.ask.passed_over = judged
        .into_iter()
        .map(|(rule, judged)| {
            let because = match judged {
                AutoDecision::Holds => format!("{} requires people", asked.ask.rule),
                AutoDecision::Fails(because) => because,
            };
            PassedOver { rule: rule.name.clone(), because }
        })
        .collect();
    Decision::Ask(asked.ask)
}

/// The required approvals when people decide, even if a rule would approve.
pub fn ask(policy: Option<&Policy>, plan: &Plan, facts: &PolicyFacts<'_>) -> PolicyQuestion {
    requirement::gather(policy, plan, facts).ask
}

/// Whether an approval counts after those in `before`; returns the rule.
pub fn may_approve(
    ask: &PolicyQuestion,
    who: &Identity,
    signed: SignatureStatus,
    before: &[Identity],
) -> Result<String, PolicyRefusal> {
    match why_not(ask, who, signed, before) {
        None => Ok(ask.rule.clone()),
        Some(why) => Err(PolicyRefusal { who: who.clone(), why, rule: ask.rule.clone(), may: ask.may() }),
    }
}

fn why_not(
    ask: &PolicyQuestion,
    who: &Identity,
    signed: SignatureStatus,
    before: &[Identity],
) -> Option<RefusalReason> {
    match who.role {
        Role::Person => {}
        Role::Agent | Role::Policy | Role::Age => return Some(RefusalReason::NoPerson),
    }
    if ask.eligible().is_some_and(|people| people.len() < ask.needed as usize) {
        return Some(RefusalReason::TooFew { needed: ask.needed });
    }
    if let Approvers::These(people) = &ask.from
        && !people.contains(&who.name)
    {
        return Some(RefusalReason::NotAmong);
    }
    if !ask.planner_may_approve && is_same(&who.name, &ask.proposer.name) {
        return Some(RefusalReason::Planner { proposer: ask.proposer.name.clone() });
    }
    if let Some(twin) = before.iter().find(|known| is_same(&known.name, &who.name)) {
        return Some(RefusalReason::Twice { before: twin.name.clone() });
    }
    (ask.is_signed && signed == SignatureStatus::No).then_some(RefusalReason::Unsigned)
}

impl Policy {
    /// The people in a list of names and groups. An unknown group is empty.
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

    /// Somebody's principal in the list of allowed signers.
    pub fn principal_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.people.get(name).and_then(|person| person.principal.as_deref()).unwrap_or(name)
    }

    /// Whether somebody may sign with this key.
    pub fn takes_key(&self, name: &str, fingerprint: &str) -> bool {
        let key = self.people.get(name).and_then(|person| person.key.as_deref());
        key.is_none_or(|key| key == fingerprint)
    }
}

impl PolicyQuestion {
    /// The people who may approve, if they are listed.
    fn eligible(&self) -> Option<BTreeSet<&str>> {
        let Approvers::These(people) = &self.from else { return None };
        let may = |name: &&str| self.planner_may_approve || !is_same(name, &self.proposer.name);
        Some(people.iter().map(String::as_str).filter(may).collect())
    }

    /// Who may approve, in prose.
    pub fn may(&self) -> String {
        let except = match self.planner_may_approve {
            true => String::new(),
            false => format!(" except {}, who proposed it", self.proposer.name),
        };
        match (self.eligible(), &self.from) {
            (None, _) | (_, Approvers::Anyone) => format!("any person{except}"),
            (Some(people), Approvers::These(_)) if people.is_empty() => "nobody".to_owned(),
            (Some(people), Approvers::These(_)) => people.into_iter().collect::<Vec<_>>().join(", "),
        }
    }
}

impl fmt::Display for PolicyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { who, why, rule, may } = self;
        match why {
            RefusalReason::NoPerson => write!(f, "{who} may not approve: only a person may")?,
            RefusalReason::NotAmong => write!(f, "{who} may not approve this plan")?,
            RefusalReason::Planner { proposer } if who.name == *proposer => {
                write!(f, "{who} proposed this plan; somebody else must approve it")?;
            }
            RefusalReason::Planner { proposer } => {
                write!(f, "{who} may be the same person as {proposer}, who proposed this plan")?;
            }
            RefusalReason::Unsigned => write!(f, "the approval by {who} is not signed")?,
            RefusalReason::Twice { before } if who.name == *before => write!(f, "{who} already approved it")?,
            RefusalReason::Twice { before } => {
                write!(f, "{who} may be the same person as {before}, who already approved it")?;
            }
            RefusalReason::TooFew { needed } => {
                write!(f, "{needed} approvals are required, but fewer people may approve")?;
            }
        }
        write!(f, " (rule: {rule}; may approve: {may})")
    }
}

impl std::error::Error for PolicyRefusal {}
