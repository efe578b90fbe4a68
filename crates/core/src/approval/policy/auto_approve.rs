//! Rules that approve a plan without a person. A rule matches only if every condition certainly holds: what a
//! plan doesn't declare counts against it.

use std::collections::BTreeMap;

use super::PolicyFacts;
use crate::plan::verified::{Contract, Plan, Step};
use crate::run::baseline::BaselineResult;
use crate::run::schedule::SHELL;
use crate::syntax::glob;
use crate::syntax::glob::Glob;

/// A rule that approves a plan without a person. All its conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct Automatic {
    pub name: String,
    /// Everything that a step may touch is within these.
    pub paths: Option<Vec<Glob>>,
    /// Every tool that a step may use is one of these.
    pub tools: Option<ToolLists>,
    /// The target of every step is one of these.
    pub agents: Option<Vec<String>>,
    /// The agent command of every target is exactly this one.
    pub commands: Option<BTreeMap<String, Vec<String>>>,
    /// One of these proposed it.
    pub proposers: Option<Vec<String>>,
    /// It costs at most this, in millionths of a dollar.
    pub micro_dollars: Option<u64>,
    /// It uses at most this many tokens.
    pub tokens: Option<u64>,
    /// It takes at most this long.
    pub seconds: Option<u64>,
    /// It has at most this many steps.
    pub steps_max: Option<u32>,
    /// It is written in one of these dialects.
    pub dialects: Option<Vec<String>>,
    /// Every contract was run before the work and failed, as it should.
    pub is_red_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolLists {
    /// All of them, including steps that list none.
    Any,
    These(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutoDecision {
    Holds,
    /// A condition doesn't hold, or not certainly; contains the reason.
    Fails(String),
}

impl Automatic {
    /// Whether the rule has no condition.
    pub fn is_empty(&self) -> bool {
        self.paths.is_none()
            && self.tools.is_none()
            && self.agents.is_none()
            && self.commands.is_none()
            && self.proposers.is_none()
            && [self.micro_dollars, self.tokens, self.seconds].iter().all(Option::is_none)
            && self.steps_max.is_none()
            && self.dialects.is_none()
            && !self.is_red_required
    }

    pub fn judge(&self, plan: &Plan, facts: &PolicyFacts<'_>) -> AutoDecision {
        let why = if self.is_empty() || plan.steps.is_empty() {
            Some("the rule has no conditions".to_owned())
        } else {
            self.whole(plan, facts).or_else(|| plan.steps.iter().find_map(|step| self.step(step, facts)))
        };
        why.map_or(AutoDecision::Holds, AutoDecision::Fails)
    }

    /// Why the rule doesn't match the plan as a whole.
    fn whole(&self, plan: &Plan, facts: &PolicyFacts<'_>) -> Option<String> {
        let is_missing = |list: &Option<Vec<String>>, name: &str| {
            list.as_ref().is_some_and(|list| !list.iter().any(|known| known == name))
        };
        if is_missing(&self.proposers, &facts.proposer.name) {
            return Some(format!("proposed by {}", facts.proposer));
        }
        if is_missing(&self.dialects, facts.dialect) {
            return Some(format!("written in dialect {}", facts.dialect));
        }
        if self.steps_max.is_some_and(|most| plan.steps.len() > most as usize) {
            return Some(format!("too many steps: {}", plan.steps.len()));
        }
        // Anyone who can write the workspace settings can change these, so a rule may pin them.
        let is_other = |(target, command): &(&String, &Vec<String>)| {
            self.commands.as_ref().is_some_and(|commands| commands.get(*target) != Some(command))
        };
        if let Some((target, _)) = facts.agents.iter().find(is_other) {
            return Some(format!("the command of `{target}` is not the one in the rule"));
        }
        let budget = plan.budget;
        amount("dollars", self.micro_dollars, budget.micro_dollars)
            .or_else(|| amount("tokens", self.tokens, budget.tokens))
            .or_else(|| amount("seconds", self.seconds, budget.seconds))
    }

    /// Why the rule doesn't match a step.
    fn step(&self, step: &Step, facts: &PolicyFacts<'_>) -> Option<String> {
        let id = &step.id;
        self.untouchable(step)
            .or_else(|| self.unusable(step))
            .or_else(|| self.unserved(step, facts))
            .or_else(|| self.is_red_required.then(|| not_red(step, facts)).flatten())
            .map(|why| format!("step {id}: {why}"))
    }

    fn untouchable(&self, step: &Step) -> Option<String> {
        let paths = self.paths.as_ref()?;
        let Some(touches) = &step.touches else {
            return Some("no `touches` declared".to_owned());
        };
        if touches.is_empty() {
            return Some("no `touches` declared".to_owned());
        }
        let is_within =
            |touched: &String| Glob::new(touched).is_ok_and(|touched| glob::is_within(&touched, paths));
        let outside = touches.iter().find(|touched| !is_within(touched))?;
        Some(format!("`{outside}` may be outside the rule's paths"))
    }

    fn unusable(&self, step: &Step) -> Option<String> {
        match self.tools.as_ref()? {
            ToolLists::Any => None,
            ToolLists::These(_) if step.tools.is_empty() => Some("no `tools` declared".to_owned()),
            ToolLists::These(tools) => {
                let other = step.tools.iter().find(|tool| !tools.contains(tool))?;
                Some(format!("tool `{other}` is not in the rule"))
            }
        }
    }

    fn unserved(&self, step: &Step, facts: &PolicyFacts<'_>) -> Option<String> {
        let target = &step.target;
        let named =
            |name: &str| self.agents.as_ref().is_some_and(|agents| agents.iter().any(|agent| agent == name));
        let command = facts.agents.get(target);
        // A script runs exactly as the planner wrote it, so a rule must allow that explicitly.
        let is_script = target == SHELL || command.is_some_and(|words| words.len() == 1 && words[0] == SHELL);
        if is_script && !named(SHELL) {
            return Some("the task is a script, and the rule's agents do not include `shell`".to_owned());
        }
        (self.agents.is_some() && !named(target)).then(|| format!("agent `{target}` is not in the rule"))
    }
}

/// Why an amount is too high: above the rule's limit, or not limited at all.
fn amount(unit: &str, most: Option<u64>, budget: Option<u64>) -> Option<String> {
    match (most, budget) {
        (None, _) => None,
        (Some(_), None) => Some(format!("the budget does not limit {unit}")),
        (Some(most), Some(budget)) if budget <= most => None,
        (Some(_), Some(_)) => Some(format!("the budget allows more {unit} than the rule")),
    }
}

/// Why a contract isn't known to fail before the work. The planner's excuse doesn't count here.
fn not_red(step: &Step, facts: &PolicyFacts<'_>) -> Option<String> {
    match step.contract {
        Contract::Manual => return None,
        Contract::Shell { .. } => {}
    }
    let mut red = facts.red.iter().filter(|red| red.step == step.id).peekable();
    if red.peek().is_none() {
        return Some("the contract was not run before the work".to_owned());
    }
    let other = red.find(|red| !matches!(red.before, BaselineResult::Fails(_)))?;
    Some(format!("the contract {}", other.before.meaning()))
}
