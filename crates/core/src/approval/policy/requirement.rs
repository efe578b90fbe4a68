//! What an approval requires: the default, additional requirements for some plans, and those of the plan
//! itself. The strictest of all that apply wins.

use std::collections::BTreeSet;

use super::{Approvers, BY_DEFAULT, Policy, PolicyFacts, PolicyQuestion};
use crate::plan::draft::REQUIRED_FROM;
use crate::plan::verified::{Plan, Step};
use crate::syntax::glob;
use crate::syntax::glob::Glob;

/// What an approval requires. `None` means the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirement {
    /// The people and groups who may approve; `None` for anybody.
    pub from: Option<Vec<String>>,
    pub needed: Option<u32>,
    /// Whether the proposer may approve.
    pub planner_may_approve: Option<bool>,
    pub expires_seconds: Option<u64>,
    /// Whether approvals must be signed.
    pub is_signed: Option<bool>,
}

/// Additional requirements if the plan may do one of these things. What a plan doesn't declare, it may do.
#[derive(Debug, Clone, Default)]
pub struct When {
    pub name: String,
    /// A step may touch one of these.
    pub paths: Option<Vec<Glob>>,
    /// A step may use one of these.
    pub tools: Option<Vec<String>>,
    /// It may cost this much, in millionths of a dollar.
    pub micro_dollars: Option<u64>,
    pub demand: Requirement,
}

impl When {
    /// Whether all conditions may hold for a plan.
    fn may_apply(&self, plan: &Plan) -> bool {
        let touches = |paths: &Vec<Glob>| plan.steps.iter().any(|step| may_touch(step, paths));
        let uses = |tools: &Vec<String>| plan.steps.iter().any(|step| may_use(step, tools));
        let costs = |least: u64| plan.budget.micro_dollars.is_none_or(|most| most >= least);
        self.paths.as_ref().is_none_or(touches)
            && self.tools.as_ref().is_none_or(uses)
            && self.micro_dollars.is_none_or(costs)
    }
}

/// A step whose `touches` is missing or invalid may touch everything.
fn may_touch(step: &Step, paths: &[Glob]) -> bool {
    let Some(touches) = &step.touches else { return true };
    touches.iter().any(|touched| match Glob::new(touched) {
        Ok(touched) => paths.iter().any(|path| glob::collision(&touched, path).is_some()),
        Err(_) => true,
    })
}

/// A step that lists no tool may use all of them; `Bash(git:*)` is a way to use `bash`.
fn may_use(step: &Step, tools: &[String]) -> bool {
    let plain = |tool: &str| tool.split('(').next().unwrap_or_default().trim().to_lowercase();
    let uses = |used: &String| tools.iter().any(|tool| plain(tool) == plain(used));
    step.tools.is_empty() || step.tools.iter().any(uses)
}

/// The sum of all requirements.
pub(super) struct Gathered {
    pub(super) ask: PolicyQuestion,
    /// Whether only the default applies.
    pub(super) is_usual: bool,
}

pub(super) fn gather(policy: Option<&Policy>, plan: &Plan, facts: &PolicyFacts<'_>) -> Gathered {
    let none = Policy::default();
    let rules = policy.unwrap_or(&none);
    let when: Vec<&When> = rules.when.iter().filter(|when| when.may_apply(plan)).collect();
    let demands = || std::iter::once(&rules.demand).chain(when.iter().map(|when| &when.demand));
    let mut from = Approvers::Anyone;
    for parties in demands().filter_map(|demand| demand.from.as_ref()) {
        from = from.narrowed(rules.people_of(parties));
    }
    if let Some(parties) = facts.required_from {
        from = from.narrowed(rules.people_of(parties));
    }
    let expires = demands().filter_map(|demand| demand.expires_seconds).min();
    let until = |seconds: u64| facts.now_ms.saturating_add(seconds.saturating_mul(1000));
    let ask = PolicyQuestion {
        needed: demands().filter_map(|demand| demand.needed).max().unwrap_or(1).max(1),
        from,
        planner_may_approve: demands().all(|demand| demand.planner_may_approve.unwrap_or(true)),
        until_ms: expires.map(until),
        is_signed: demands().any(|demand| demand.is_signed.unwrap_or(false)),
        rule: rule(policy, &when, facts),
        proposer: facts.proposer.clone(),
        passed_over: Vec::new(),
    };
    Gathered { ask, is_usual: when.is_empty() && facts.required_from.is_none() }
}

fn rule(policy: Option<&Policy>, when: &[&When], facts: &PolicyFacts<'_>) -> String {
    let usual = if policy.is_some() { "approval" } else { BY_DEFAULT };
    let mut names = vec![usual.to_owned()];
    names.extend(when.iter().map(|when| format!("approval.when `{}`", when.name)));
    names.extend(facts.required_from.map(|_| format!("{REQUIRED_FROM} of the plan")));
    names.join(" + ")
}

impl Approvers {
    fn narrowed(self, people: BTreeSet<String>) -> Self {
        match self {
            Self::Anyone => Self::These(people),
            Self::These(before) => Self::These(before.intersection(&people).cloned().collect()),
        }
    }
}
