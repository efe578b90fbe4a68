//! Rules by which a plan is approved without a person. A rule holds only if every one of its conditions is certain: what a plan
//! does not say counts against it.

use std::collections::BTreeMap;

use super::Facts;
use crate::plan::verified::{Contract, Plan, Step};
use crate::run::baseline::Before;
use crate::run::schedule::SHELL;
use crate::syntax::glob;
use crate::syntax::glob::Glob;

/// A rule by which a plan is approved without a person. All conditions that it has must hold.
#[derive(Debug, Clone, Default)]
pub struct Automatic {
    pub name: String,
    /// Everything that a step may touch lies in these.
    pub paths: Option<Vec<Glob>>,
    /// Every tool that a step may use is one of these.
    pub tools: Option<Tools>,
    /// The target of every step is one of these.
    pub agents: Option<Vec<String>>,
    /// Every command line that the settings have for the plan is exactly this, by target.
    pub commands: Option<BTreeMap<String, Vec<String>>>,
    /// One of these proposed it.
    pub proposers: Option<Vec<String>>,
    /// It costs no more than this, in millionths of a dollar.
    pub micro_dollars: Option<u64>,
    /// It takes no more tokens than this.
    pub tokens: Option<u64>,
    /// It takes no longer than this.
    pub seconds: Option<u64>,
    /// It has no more steps than this.
    pub steps_max: Option<u32>,
    /// It is written in one of these dialects.
    pub dialects: Option<Vec<String>>,
    /// Every contract was run before the work, and fails as it should.
    pub is_red_required: bool,
}

/// The tools that a rule allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tools {
    /// All of them, and steps that list none.
    Any,
    These(Vec<String>),
}

/// What a rule says about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// All of its conditions hold.
    Holds,
    /// One does not, or is not certain to; says which.
    Fails(String),
}

impl Automatic {
    /// Whether the rule says nothing that could fail.
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

    /// Whether the rule holds for a plan.
    pub fn judge(&self, plan: &Plan, facts: &Facts<'_>) -> Judged {
        let why = if self.is_empty() || plan.steps.is_empty() {
            Some("nothing could fail".to_owned())
        } else {
            self.whole(plan, facts).or_else(|| plan.steps.iter().find_map(|step| self.step(step, facts)))
        };
        why.map_or(Judged::Holds, Judged::Fails)
    }

    /// Why the rule does not hold for a plan as a whole.
    fn whole(&self, plan: &Plan, facts: &Facts<'_>) -> Option<String> {
        let is_missing = |list: &Option<Vec<String>>, name: &str| {
            list.as_ref().is_some_and(|list| !list.iter().any(|known| known == name))
        };
        if is_missing(&self.proposers, &facts.proposer.name) {
            return Some(format!("it was proposed by {}", facts.proposer));
        }
        if is_missing(&self.dialects, facts.dialect) {
            return Some(format!("it is written in the dialect {}", facts.dialect));
        }
        if self.steps_max.is_some_and(|most| plan.steps.len() > most as usize) {
            return Some(format!("it has {} steps", plan.steps.len()));
        }
        // Whoever can write the settings of a workspace can write these, so a rule may pin them.
        let is_other = |(target, command): &(&String, &Vec<String>)| {
            self.commands.as_ref().is_some_and(|commands| commands.get(*target) != Some(command))
        };
        if let Some((target, _)) = facts.agents.iter().find(is_other) {
            return Some(format!("the command line of `{target}` is not the one of the rule"));
        }
        let budget = plan.budget;
        amount("dollars", self.micro_dollars, budget.micro_dollars)
            .or_else(|| amount("tokens", self.tokens, budget.tokens))
            .or_else(|| amount("seconds", self.seconds, budget.seconds))
    }

    /// Why the rule does not hold for a step.
    fn step(&self, step: &Step, facts: &Facts<'_>) -> Option<String> {
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
            return Some("it does not say what it touches".to_owned());
        };
        if touches.is_empty() {
            return Some("it does not say what it touches".to_owned());
        }
        let is_within =
            |touched: &String| Glob::new(touched).is_ok_and(|touched| glob::is_within(&touched, paths));
        let outside = touches.iter().find(|touched| !is_within(touched))?;
        Some(format!("`{outside}` is not certain to lie in the paths of the rule"))
    }

    fn unusable(&self, step: &Step) -> Option<String> {
        match self.tools.as_ref()? {
            Tools::Any => None,
            Tools::These(_) if step.tools.is_empty() => {
                Some("it does not say which tools it uses".to_owned())
            }
            Tools::These(tools) => {
                let other = step.tools.iter().find(|tool| !tools.contains(tool))?;
                Some(format!("the rule does not have the tool `{other}`"))
            }
        }
    }

    fn unserved(&self, step: &Step, facts: &Facts<'_>) -> Option<String> {
        let target = &step.target;
        let named =
            |name: &str| self.agents.as_ref().is_some_and(|agents| agents.iter().any(|agent| agent == name));
        let command = facts.agents.get(target);
        // A script is carried out as the planner wrote it: whoever allows that has to say so.
        let is_script = target == SHELL || command.is_some_and(|words| words.len() == 1 && words[0] == SHELL);
        if is_script && !named(SHELL) {
            return Some(
                "its task is a script, and the rule does not name `shell` among its agents".to_owned(),
            );
        }
        (self.agents.is_some() && !named(target))
            .then(|| format!("the rule does not have the agent `{target}`"))
    }
}

/// Why an amount is too much: it is more than the rule has, or not limited at all.
fn amount(unit: &str, most: Option<u64>, budget: Option<u64>) -> Option<String> {
    match (most, budget) {
        (None, _) => None,
        (Some(_), None) => Some(format!("its budget has no limit of {unit}")),
        (Some(most), Some(budget)) if budget <= most => None,
        (Some(_), Some(_)) => Some(format!("its budget has more {unit}")),
    }
}

/// Why a contract is not known to fail before the work. An excuse is the planner's word, so it is none here.
fn not_red(step: &Step, facts: &Facts<'_>) -> Option<String> {
    match step.contract {
        Contract::Manual => return None,
        Contract::Shell { .. } => {}
    }
    let mut red = facts.red.iter().filter(|red| red.step == step.id).peekable();
    if red.peek().is_none() {
        return Some("its contract was not run before the work".to_owned());
    }
    let other = red.find(|red| !matches!(red.before, Before::Fails(_)))?;
    Some(format!("its contract {}", other.before.meaning()))
}
