//! The arbiter recommends the agent for the next step and what to do next, with its reasons; the same inputs
//! give the same choice. It never acts, and never chooses what [`crate::run::schedule`] would not do: [`table`] is
//! derived from that.

mod context;
mod state_diagram;

pub use context::{ArbiterContext, PriorAttempt, context, history};
pub use state_diagram::{DiagramStage, STAGES, diagram};

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::reply;
use crate::agent::work_item::WorkKind;
use crate::plan::verified::Plan;
use crate::run::event::{AskAnswer, AskReason, AttemptEnd, AttemptFinish, Event, Judged, StepEvent};
use crate::run::schedule;
use crate::run::schedule::{Action, HUMAN, SHELL, ScheduleLimits, next_actions};
use crate::run::state::{Phase, RunState};

/// The name given for a choice that no agent made.
pub const BUILT_IN: &str = "built-in";
/// After this many consecutive failures with the same output, a new plan helps more than another question.
const SAME_FAILURES: usize = 2;
/// Longer reasons are truncated.
const REASON_BYTES_MAX: usize = 512;

/// What to do next with a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArbiterAction {
    Continue,
    /// Retry a step that failed.
    Retry,
    /// A person sends the plan back to be revised.
    Replan,
    /// Ask a person.
    Escalate,
}

impl ArbiterAction {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Retry => "retry",
            Self::Replan => "replan",
            Self::Escalate => "escalate",
        }
    }
}

/// The choices that are allowed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Candidates {
    /// The index of the step; `None` for the whole run.
    pub step: Option<usize>,
    /// The actions that `decide` allows now, the default first. Never empty.
    pub actions: Vec<ArbiterAction>,
    /// The agents that could run the step.
    pub agents: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ArbiterChoice {
    /// The index of the step; `None` for the whole run.
    pub step: Option<usize>,
    /// `None` if no agent can do it.
    pub agent: Option<String>,
    pub action: ArbiterAction,
    /// One sentence each.
    pub reasons: Vec<String>,
    /// [`BUILT_IN`], or the name of an agent.
    pub by: String,
    /// Whether an agent's answer was ignored.
    #[serde(skip)]
    pub is_overruled: bool,
}

/// An agent's success rate at one kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Share {
    pub passed: u64,
    /// All attempts that were judged, or timed out.
    pub judged: u64,
}

/// The success rates of agents, by kind of work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArbiterRecords(BTreeMap<(String, &'static str), Share>);

impl ArbiterRecords {
    /// Counts the attempts of a run. The same run must not be counted twice.
    pub fn count<'a>(&mut self, plan: &Plan, events: impl Iterator<Item = &'a Event>) {
        let mut agents: BTreeMap<(&str, u32), &str> = BTreeMap::new();
        for event in events {
            let Event::Step { step, event } = event else { continue };
            let is_passed = match event {
                StepEvent::Started(start) => {
                    agents.insert((step, start.attempt), &start.agent);
                    continue;
                }
                StepEvent::Finished(AttemptFinish { end: AttemptEnd::TimedOut(_), .. }) => false,
                StepEvent::Judged { of: Judged::Attempt(_), receipt, .. } => receipt.verdict.is_passed(),
                StepEvent::Finished(_)
                | StepEvent::Faulted { .. }
                | StepEvent::Judged { of: Judged::Claim | Judged::Closing(_), .. } => continue,
            };
            // Manual work has no agent.
            let attempt = event.of().number().unwrap_or_default();
            let Some(agent) = agents.get(&(step.as_str(), attempt)) else { continue };
            let Some(own) = plan.steps.iter().find(|own| own.id == *step) else { continue };
            let share = self.0.entry(((*agent).to_owned(), WorkKind::of(&own.target).word())).or_default();
            share.judged += 1;
            share.passed += u64::from(is_passed);
        }
    }

    /// `None` if no attempt of this agent at this kind of work was judged.
    pub fn share(&self, agent: &str, kind: WorkKind) -> Option<Share> {
        self.0.get(&(agent.to_owned(), kind.word())).copied()
    }

    /// The agent with the highest success rate at this kind of work; the first name wins a tie.
    fn best<'a>(
        &self,
        agents: impl Iterator<Item = &'a String>,
        kind: WorkKind,
    ) -> Option<(&'a String, Share)> {
        let mut best: Option<(&String, Share)> = None;
        for agent in agents {
            let Some(share) = self.share(agent, kind) else { continue };
            let is_better = best.is_none_or(|(name, than)| {
                let (one, other) = (share.passed * than.judged, than.passed * share.judged);
                one > other || one == other && agent < name
            });
            if is_better {
                best = Some((agent, share));
            }
        }
        best
    }
}

#[derive(Debug, Clone, Default)]
pub struct Agents {
    /// Every agent that has a command line, or is built in.
    pub configured: BTreeSet<String>,
    /// The agent assigned to each role.
    pub roles: BTreeMap<String, String>,
    pub records: ArbiterRecords,
}

impl Agents {
    /// Resolves a step's target: a role or an agent.
    pub fn suggested<'a>(&'a self, target: &'a str) -> &'a str {
        self.roles.get(target).map_or(target, String::as_str)
    }
}

/// The state of a plan that has not been run, as if its run had just started.
pub fn begun(plan: &Plan) -> RunState {
    let mut state = RunState::new(plan);
    state.phase = Phase::Running;
    state
}

/// The choices that are allowed now.
///
/// | result of `decide`, or open question | actions |
/// |---|---|
/// | a first attempt, a contract, the end | continue |
/// | another attempt at a step that failed | retry |
/// | all attempts failed: ask | escalate, replan |
/// | any other question | escalate |
pub fn table(
    plan: &Plan,
    state: &RunState,
    agents: &Agents,
    (limits, now): (&ScheduleLimits, u64),
) -> Candidates {
    let (step, actions) = turn(plan, state, limits, now);
    let agents = match step.map(|place| plan.steps[place].target.as_str()) {
        Some(target) if target != HUMAN => {
            // A script can't do a task described in prose, and a person is never chosen.
            let is_able = |name: &&String| match name.as_str() {
                HUMAN => false,
                SHELL => agents.suggested(target) == SHELL,
                _ => true,
            };
            agents.configured.iter().filter(is_able).cloned().collect()
        }
        Some(_) | None => Vec::new(),
    };
    Candidates { step, actions, agents }
}

/// The step to act on, the first in plan order, and the actions that are allowed.
fn turn(
    plan: &Plan,
    state: &RunState,
    limits: &ScheduleLimits,
    now: u64,
) -> (Option<usize>, Vec<ArbiterAction>) {
    let open = state.asks.values().map(|ask| (ask.step, on_question(plan, ask.step, ask.reason)));
    let commands = next_actions(plan, state, limits, now);
    let said = commands.iter().filter_map(|command| match command {
        Action::Attempt { step, .. } => {
            let is_fresh = state.steps[*step].history.failed.is_empty();
            let action = if is_fresh { ArbiterAction::Continue } else { ArbiterAction::Retry };
            Some((Some(*step), vec![action]))
        }
        Action::Contract { step, .. } => Some((Some(*step), vec![ArbiterAction::Continue])),
        Action::Ask { step, reason, .. } => Some((*step, on_question(plan, *step, *reason))),
        Action::Close { .. } | Action::Finish { .. } | Action::Warn { .. } | Action::Wake { .. } => None,
    });
    let mut turns: Vec<(Option<usize>, Vec<ArbiterAction>)> = open.chain(said).collect();
    // What can proceed comes before what needs a person; a question about the whole run blocks everything.
    turns.sort_by_key(|(step, actions)| (step.is_some(), actions[0] == ArbiterAction::Escalate, *step));
    turns.into_iter().next().unwrap_or((None, vec![ArbiterAction::Continue]))
}

/// The actions that a question allows. Replan only if its answers include that, and attempts have failed.
fn on_question(plan: &Plan, step: Option<usize>, reason: AskReason) -> Vec<ArbiterAction> {
    let revise = AskAnswer::Revise { reason: String::new() };
    let contract = step.map(|place| &plan.steps[place].contract);
    let may_replan = reason == AskReason::AttemptsSpent && schedule::fits(reason, &revise, contract);
    let replan = may_replan.then_some(ArbiterAction::Replan);
    std::iter::once(ArbiterAction::Escalate).chain(replan).collect()
}

pub fn choose(plan: &Plan, state: &RunState, agents: &Agents, table: &Candidates) -> ArbiterChoice {
    let mut reasons = Vec::new();
    let agent = table.step.and_then(|place| {
        let (agent, why) = agent_for(&plan.steps[place].target, agents, &table.agents)?;
        reasons.push(why);
        Some(agent)
    });
    if let (Some(place), None) = (table.step, &agent) {
        let target = &plan.steps[place].target;
        reasons.push(match target == HUMAN {
            true => "the step is manual".to_owned(),
            false => format!("`{target}` is not configured, and no other agent is"),
        });
    }
    let (action, why) = action_for(state, table);
    reasons.push(why);
    ArbiterChoice { step: table.step, agent, action, reasons, by: BUILT_IN.to_owned(), is_overruled: false }
}

/// The agent for a target: the one it names, else the best by history, else the first by name.
pub fn agent_for(target: &str, agents: &Agents, among: &[String]) -> Option<(String, String)> {
    let suggested = agents.suggested(target);
    if among.iter().any(|name| name == suggested) {
        let why = match suggested == target {
            true => format!("the step names `{target}`"),
            false => format!("the step names role `{target}`, assigned to `{suggested}`"),
        };
        return Some((suggested.to_owned(), why));
    }
    let kind = WorkKind::of(target);
    // A script can't do a task described in prose, and a person is never chosen.
    let able = || among.iter().filter(|name| ![SHELL, HUMAN].contains(&name.as_str()));
    if let Some((agent, share)) = agents.records.best(able(), kind) {
        let (passed, judged, kind) = (share.passed, share.judged, kind.word());
        let why = format!(
            "`{target}` is not configured; `{agent}` has the best record at {kind} steps: {passed} of {judged} passed"
        );
        return Some((agent.clone(), why));
    }
    let any = able().min()?;
    Some((
        any.clone(),
        format!("`{target}` is not configured and no agent has a history; `{any}` is first by name"),
    ))
}

fn action_for(state: &RunState, table: &Candidates) -> (ArbiterAction, String) {
    let usual = table.actions[0];
    let now = table.step.map(|place| &state.steps[place]);
    let same = now.map_or(0, |now| now.history.same_failure());
    let failure = now.and_then(|now| now.history.failed.last()).map(|last| last.failure.to_string());
    let because = failure.map(|failure| format!(": {failure}")).unwrap_or_default();
    match usual {
        ArbiterAction::Continue if table.step.is_none() => (usual, "there are no choices left".to_owned()),
        ArbiterAction::Continue => (usual, "no attempt at the step has failed".to_owned()),
        ArbiterAction::Retry => (usual, format!("the last attempt failed; the step may be retried{because}")),
        ArbiterAction::Escalate | ArbiterAction::Replan
            if table.actions.contains(&ArbiterAction::Replan) && same >= SAME_FAILURES =>
        {
            let why = format!(
                "the contract failed {same} times in a row with the same output{because}; the plan may be wrong"
            );
            (ArbiterAction::Replan, why)
        }
        ArbiterAction::Escalate | ArbiterAction::Replan => {
            (usual, format!("only a person can decide{because}"))
        }
    }
}

/// The prompt for an agent that acts as arbiter: the context and the allowed choices.
pub fn prompt(context: &ArbiterContext<'_>, table: &Candidates) -> String {
    let agents = if table.agents.is_empty() { "none".to_owned() } else { table.agents.join(", ") };
    let actions: Vec<&str> = table.actions.iter().map(|action| action.word()).collect();
    format!(
        "{}\n## Choices\n\nAgents: {agents}\nActions: {}\n\nAnswer with one JSON object and nothing else: \
         {{\"agent\": one of the agents, \"action\": one of the actions, \"reason\": \"one sentence\"}}\n",
        self::context(context),
        actions.join(", ")
    )
}

/// Accepts an agent's choice only if it is in the table; otherwise the built-in choice stays, with the
/// reason.
pub fn bounded(
    built_in: ArbiterChoice,
    table: &Candidates,
    (by, said): (&str, Result<&str, String>),
) -> ArbiterChoice {
    let refuse = |built_in: ArbiterChoice, why: String| {
        let mut choice = built_in;
        choice.reasons.insert(0, format!("ignored the answer of arbiter `{by}`: {why}"));
        choice.is_overruled = true;
        choice
    };
    let object = match said {
        Ok(text) => reply::parse_object(text, &["agent", "action"]),
        Err(why) => return refuse(built_in, why),
    };
    let Some(object) = object else { return refuse(built_in, "it is not a choice in JSON".to_owned()) };
    let (agent, action) = (reply::text(&object, "agent", 256), reply::text(&object, "action", 64));
    let Some(&action) = table.actions.iter().find(|known| known.word() == action) else {
        let allowed: Vec<&str> = table.actions.iter().map(|action| action.word()).collect();
        return refuse(
            built_in,
            format!("invalid action `{action}`, expected one of {}", allowed.join(", ")),
        );
    };
    // Where no agent can be chosen, ignore the one it names.
    if !table.agents.is_empty() && !table.agents.contains(&agent) {
        return refuse(
            built_in,
            format!("invalid agent `{agent}`, expected one of {}", table.agents.join(", ")),
        );
    }
    let agent = Some(agent).filter(|agent| table.agents.contains(agent));
    let reason = reply::text(&object, "reason", REASON_BYTES_MAX);
    let reasons = if reason.is_empty() { vec!["it gave no reason".to_owned()] } else { vec![reason] };
    ArbiterChoice { step: table.step, agent, action, reasons, by: by.to_owned(), is_overruled: false }
}
