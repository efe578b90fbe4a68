//! Decides what to do next, as data. Pure: the same plan, state, limits and time give the same commands, on
//! every machine and in every replay. Never skips, reorders or changes steps of a plan.

use std::collections::BTreeSet;

use crate::plan::verified::{Contract, Last, Plan, Step};
use crate::run::event::{AskAnswer, AskReason, Judged, JudgedBy, MachineFault, RunOutcome};
use crate::run::state::{Pending, Phase, Regression, RunState, StepState, StepStatus};
use crate::syntax::count::counted;
use crate::syntax::glob;
use crate::syntax::glob::Glob;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleLimits {
    /// Parallel attempts.
    pub jobs: usize,
    /// Interrupted attempts of one step before planwright asks a person.
    pub lost_max: u32,
    /// Times in a row that a step's agent may be unavailable before planwright asks a person.
    pub parked_max: u32,
    /// Errors of the machine in a row, on one step, after which planwright retries before it asks a person.
    pub faults_max: u32,
    /// The percentage of a budget at which planwright warns.
    pub warn_percent: u64,
    /// Rounds of the closing check that may find a broken contract before planwright asks a person.
    pub broken_rounds_max: u32,
    /// Rounds of the closing check on end that may leave verdicts for different trees before planwright asks a
    /// person.
    pub closing_rounds_max: u32,
    /// Whether planwright asks a person when attempts changed files outside the step's scope.
    pub is_straying_asked: bool,
    /// Indexes of the steps that may start; `None` for all.
    pub steps: Option<BTreeSet<usize>>,
}

impl ScheduleLimits {
    fn allow(&self, place: usize) -> bool {
        self.steps.as_ref().is_none_or(|steps| steps.contains(&place))
    }
}

impl Default for ScheduleLimits {
    fn default() -> Self {
        Self {
            jobs: 1,
            lost_max: 3,
            parked_max: 20,
            faults_max: 3,
            warn_percent: 80,
            broken_rounds_max: 2,
            closing_rounds_max: 3,
            is_straying_asked: false,
            steps: None,
        }
    }
}

/// The target of a manual step.
pub const HUMAN: &str = "human";
/// The target whose task is a script that planwright itself runs.
pub const SHELL: &str = "shell";

/// Something to do. Every command has a key under which its result is recorded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Attempt {
        /// The index of the step.
        step: usize,
        attempt: u32,
    },
    /// Run the contract of a claim, of an attempt that ended, or again on the final tree.
    Contract {
        step: usize,
        of: Judged,
    },
    Ask {
        ask: String,
        /// The step that is blocked by the question; `None` for the whole run.
        step: Option<usize>,
        reason: AskReason,
    },
    /// Look which tree is the final one, and begin a round of the closing check.
    Close {
        round: u32,
    },
    /// Warn that most of a budget is spent.
    Warn {
        limit: &'static str,
        /// The percentage spent.
        percent: u64,
    },
    /// Decide again at this time, in milliseconds since 1970.
    Wake {
        at: u64,
    },
    Finish {
        outcome: RunOutcome,
        why: String,
    },
}

impl Action {
    pub const fn wake(&self) -> Option<u64> {
        match self {
            Self::Wake { at } => Some(*at),
            Self::Attempt { .. }
            | Self::Contract { .. }
            | Self::Ask { .. }
            | Self::Close { .. }
            | Self::Warn { .. }
            | Self::Finish { .. } => None,
        }
    }

    /// The key under which the result is recorded.
    pub fn key(&self, plan: &Plan) -> String {
        match self {
            Self::Attempt { step, attempt } => format!("{}/{attempt}/attempt", plan.steps[*step].id),
            Self::Contract { step, of } => format!("{}/{of}/contract", plan.steps[*step].id),
            Self::Ask { ask, .. } => format!("{ask}/ask"),
            Self::Close { round } => format!("{round}/close"),
            Self::Warn { limit, .. } => format!("{limit}/warn"),
            Self::Wake { at } => format!("{at}/wake"),
            Self::Finish { .. } => "finish".to_owned(),
        }
    }
}

/// The commands to run now. Repeats those whose result is still pending; the caller recognizes them by their
/// keys.
pub fn next_actions(plan: &Plan, state: &RunState, limits: &ScheduleLimits, now: u64) -> Vec<Action> {
    let survey = match state.phase {
        Phase::New | Phase::Finished { .. } => return Vec::new(),
        // Finished attempts are still judged; nothing starts, and nothing is asked.
        Phase::Stopped { .. } => {
            let mut commands = judgements(plan, state, (&Survey::of(plan, state), limits), now);
            commands.retain(|command| !matches!(command, Action::Ask { .. }));
            return commands;
        }
        Phase::Running => Survey::of(plan, state),
    };
    let mut commands = judgements(plan, state, (&survey, limits), now);
    if let Some(finish) = finished(plan, state, limits, &survey) {
        // After an abort nothing new starts; running attempts end first, so that nothing outlives the run.
        return if survey.active.is_empty() { finish } else { commands };
    }
    if survey.is_closing {
        // No work begins before the whole round is judged: it would change the tree under the other contracts.
        return commands;
    }
    let (mut asks, mut ready) = (Vec::new(), Vec::new());
    for &place in survey.unblocked.iter().filter(|&&place| limits.allow(place)) {
        match ask_about(plan, state, limits, place) {
            Some(ask) => asks.push(ask),
            None => ready.push(place),
        }
    }
    let dispatch = dispatch(plan, state, limits, (&ready, survey.active), now);
    if dispatch.iter().any(|command| matches!(command, Action::Attempt { .. })) {
        match budget(plan, state, limits) {
            Spent::Over(ask) => {
                commands.extend(ask);
                commands.extend(asks);
                return commands;
            }
            Spent::Nearly(warnings) => commands.extend(warnings),
        }
    }
    commands.extend(asks);
    commands.extend(dispatch);
    commands
}

/// The steps that matter now. Plans are long and `decide` runs on every event, so this is the only pass over
/// all steps.
#[derive(Default)]
struct Survey {
    /// An agent or a contract is running on these, or has to.
    active: Vec<usize>,
    /// Ready to start.
    unblocked: Vec<usize>,
    /// The first step without attempts left whose `on_fail` is abort.
    aborted: Option<usize>,
    /// Whether any step isn't done.
    is_open: bool,
    /// Whether a contract has to run again for the closing check.
    is_closing: bool,
}

impl Survey {
    fn of(plan: &Plan, state: &RunState) -> Self {
        let mut survey = Self::default();
        for (place, now) in state.steps.iter().enumerate() {
            match now.status {
                StepStatus::Passed { .. }
                | StepStatus::Skipped { .. }
                | StepStatus::Pending(Pending::Recheck) => continue,
                StepStatus::Judging { of: Judged::Closing(_), .. } => {
                    survey.active.push(place);
                    survey.is_closing = true;
                }
                StepStatus::Running { .. } | StepStatus::Judging { of: Judged::Attempt(_), .. } => {
                    survey.active.push(place);
                }
                StepStatus::Judging { of: Judged::Claim, .. } => {
                    survey.active.extend(is_unblocked(plan, state, place).then_some(place));
                }
                StepStatus::Pending(_) => {
                    let step = &plan.steps[place];
                    if survey.aborted.is_none() && is_spent(step, now) && step.on_fail.then == Last::Abort {
                        survey.aborted = Some(place);
                    }
                    if is_unblocked(plan, state, place) {
                        survey.unblocked.push(place);
                    }
                }
                StepStatus::Waiting { .. } => {}
            }
            survey.is_open = true;
        }
        survey
    }
}

/// A run is finished when every step is done and every contract holds on the final tree, or when a step without
/// attempts left has `on_fail: abort`.
fn finished(plan: &Plan, state: &RunState, limits: &ScheduleLimits, survey: &Survey) -> Option<Vec<Action>> {
    if let Some(step) = survey.aborted.map(|place| &plan.steps[place]) {
        let why = format!("step {} `{}` failed; on_fail is abort", step.number, step.id);
        return Some(vec![Action::Finish { outcome: RunOutcome::Failed, why }]);
    }
    (!survey.is_open).then(|| closing(state, limits).into_iter().collect())
}

/// What is left when every step is done: look at the final tree, until all contracts that must hold have a
/// verdict for one and the same.
fn closing(state: &RunState, limits: &ScheduleLimits) -> Option<Action> {
    if state.is_closed() || state.required().next().is_none() {
        return Some(Action::Finish { outcome: RunOutcome::Done, why: String::new() });
    }
    let is_unsettled = state.closing.tree.is_some() && state.closing.in_a_row >= limits.closing_rounds_max;
    if !is_unsettled {
        return Some(Action::Close { round: state.closing.rounds + 1 });
    }
    let is_asked = state.asks.values().any(|ask| ask.reason == AskReason::Unsettled);
    let ask = format!("run/closing/{}", state.asked + 1);
    (!is_asked).then_some(Action::Ask { ask, step: None, reason: AskReason::Unsettled })
}

/// Contracts that can run. A step that a person took over waits until no agent is running that may change the
/// same files; one that is marked as done waits for the steps it needs, so that those are judged first. Of the
/// contracts that run again at the end, no more run at once than there are jobs.
///
/// One that an error of the machine kept from telling anything runs again after a pause; a person is asked when
/// that happens too often.
fn judgements(
    plan: &Plan,
    state: &RunState,
    (survey, limits): (&Survey, &ScheduleLimits),
    now: u64,
) -> Vec<Action> {
    let running = |other: &usize| matches!(state.steps[*other].status, StepStatus::Running { .. });
    let judgement = |&step: &usize| match &state.steps[step].status {
        StepStatus::Judging { .. }
            if survey.active.iter().any(|other| running(other) && meet(plan, step, *other)) =>
        {
            None
        }
        StepStatus::Judging { fault: Some(fault), .. } if is_faulty(limits, &state.steps[step], fault) => {
            Some(ask(state, step, AskReason::Machine))
        }
        StepStatus::Judging { fault: Some(MachineFault { until: Some(until), .. }), .. } if *until > now => {
            Some(Action::Wake { at: *until })
        }
        StepStatus::Judging { of, .. } => Some(Action::Contract { step, of: *of }),
        StepStatus::Pending(_)
        | StepStatus::Running { .. }
        | StepStatus::Passed { .. }
        | StepStatus::Waiting { .. }
        | StepStatus::Skipped { .. } => None,
    };
    let mut commands: Vec<Action> = survey.active.iter().filter_map(judgement).collect();
    let mut again = if state.is_stopped() { 0 } else { limits.jobs };
    commands.retain(|command| match command {
        Action::Contract { of: Judged::Closing(_), .. } => {
            let is_free = again > 0;
            again = again.saturating_sub(1);
            is_free
        }
        Action::Contract { .. }
        | Action::Attempt { .. }
        | Action::Ask { .. }
        | Action::Close { .. }
        | Action::Warn { .. }
        | Action::Wake { .. }
        | Action::Finish { .. } => true,
    });
    commands
}

/// Whether a person has to look at the machine before anything is retried.
fn is_faulty(limits: &ScheduleLimits, step: &StepState, fault: &MachineFault) -> bool {
    fault.until.is_none() || step.history.faults > limits.faults_max
}

/// A question about a step. The counter makes a new one after one that was answered with "stop".
fn ask(state: &RunState, place: usize, reason: AskReason) -> Action {
    let step = &state.steps[place];
    Action::Ask { ask: format!("{}/{}", step.id, step.history.asked + 1), step: Some(place), reason }
}

/// Whether all attempts that the step and people allow have failed.
fn is_spent(step: &Step, now: &StepState) -> bool {
    now.history.failures() > step.on_fail.retries.saturating_add(now.history.granted)
}

/// The question about a step that isn't blocked otherwise.
fn ask_about(plan: &Plan, state: &RunState, limits: &ScheduleLimits, place: usize) -> Option<Action> {
    let reason = ask_reason(&plan.steps[place], &state.steps[place], limits, state.closing.broken_rounds())?;
    Some(ask(state, place, reason))
}

/// Why a pending step needs a person before its next attempt, after so many rounds of the closing check that found
/// a broken contract.
pub fn ask_reason(
    step: &Step,
    now: &StepState,
    limits: &ScheduleLimits,
    broken_rounds: u32,
) -> Option<AskReason> {
    let StepStatus::Pending(pending) = &now.status else { return None };
    let history = &now.history;
    let is_broken = matches!(history.regressed(), Some(Regression::BrokenBy(_)));
    let reason = if let Pending::Faulted(fault) = pending
        && is_faulty(limits, now, fault)
    {
        AskReason::Machine
    } else if matches!(pending, Pending::Retry { question: Some(_) }) {
        AskReason::Question
    } else if is_broken && (is_spent(step, now) || broken_rounds > limits.broken_rounds_max) {
        AskReason::Regressed
    } else if is_spent(step, now) {
        AskReason::AttemptsSpent
    } else if limits.is_straying_asked && !history.strayed.is_empty() {
        // Hold back the contract until a person has seen the change: more attempts would be wasted.
        AskReason::Strayed
    } else if history.lost > limits.lost_max {
        AskReason::Lost
    } else if matches!(pending, Pending::Unavailable { until: None, .. })
        || history.unavailable > limits.parked_max
    {
        AskReason::Parked
    } else if step.target == HUMAN || *pending == Pending::HandedOver {
        AskReason::Manual
    } else {
        return None;
    };
    Some(reason)
}

/// Whether everything that the step needs is done.
fn is_unblocked(plan: &Plan, state: &RunState, place: usize) -> bool {
    plan.steps[place].needs.iter().all(|&before| state.steps[before].status.is_at_rest())
}

/// Starts up to `jobs` steps, and never two that may change the same file.
fn dispatch(
    plan: &Plan,
    state: &RunState,
    limits: &ScheduleLimits,
    (ready, mut active): (&[usize], Vec<usize>),
    now: u64,
) -> Vec<Action> {
    let mut commands = Vec::new();
    let mut wake: Option<u64> = None;
    for place in in_order_of_need(plan, limits, ready) {
        let step = &state.steps[place];
        if let StepStatus::Pending(
            Pending::Unavailable { until: Some(until), .. }
            | Pending::Faulted(MachineFault { until: Some(until), .. }),
        ) = step.status
            && until > now
        {
            wake = Some(wake.map_or(until, |earliest| earliest.min(until)));
            continue;
        }
        let is_free = active.len() < limits.jobs && !active.iter().any(|&other| meet(plan, place, other));
        if is_free {
            active.push(place);
            commands.push(Action::Attempt { step: place, attempt: step.history.attempts + 1 });
        }
    }
    commands.extend(wake.map(|at| Action::Wake { at }));
    commands
}

/// The order in which ready steps start. With one job it is plan order. With several, the longest chain of
/// dependent steps comes first, because the longest chain determines when a run ends.
fn in_order_of_need(plan: &Plan, limits: &ScheduleLimits, ready: &[usize]) -> Vec<usize> {
    let mut order = ready.to_vec();
    if limits.jobs > 1 && order.len() > 1 {
        let chains = plan.graph().chains();
        order.sort_by_key(|&place| std::cmp::Reverse(chains[place]));
    }
    order
}

/// Whether two steps may change the same file. A step whose `touches` is missing or invalid may change any.
fn meet(plan: &Plan, one: usize, other: usize) -> bool {
    let touches = |place: usize| plan.steps[place].touches.as_deref();
    let (Some(one), Some(other)) = (touches(one), touches(other)) else { return true };
    // A shortcut: in long plans many steps share a pattern, and equal patterns always meet.
    if one.iter().any(|pattern| other.contains(pattern)) {
        return true;
    }
    match (patterns(one), patterns(other)) {
        (Some(one), Some(other)) => {
            one.iter().any(|one| other.iter().any(|other| glob::collision(one, other).is_some()))
        }
        (None, _) | (_, None) => true,
    }
}

fn patterns(touches: &[String]) -> Option<Vec<Glob>> {
    touches.iter().map(|pattern| Glob::new(pattern).ok()).collect()
}

enum Spent {
    Nearly(Vec<Action>),
    Over(Option<Action>),
}

/// Compares what was spent with the budget, before anything starts.
fn budget(plan: &Plan, state: &RunState, limits: &ScheduleLimits) -> Spent {
    let checks = [
        (
            "tokens",
            state.spent.tokens,
            plan.budget.tokens.map(|limit| limit.saturating_add(state.granted.tokens)),
        ),
        (
            "dollars",
            state.spent.micro_dollars,
            plan.budget.micro_dollars.map(|limit| limit.saturating_add(state.granted.micro_dollars)),
        ),
        (
            "time",
            Some(state.spent.milliseconds),
            plan.budget.seconds.map(|limit| limit.saturating_add(state.granted.seconds).saturating_mul(1000)),
        ),
    ];
    let mut warnings = Vec::new();
    for (name, spent, limit) in checks {
        // Zero is never over budget: a free plan has a budget of $0.
        let (Some(spent @ 1..), Some(limit)) = (spent, limit) else { continue };
        let percent = u128::from(spent) * 100 / u128::from(limit.max(1));
        let percent = u64::try_from(percent).unwrap_or(u64::MAX);
        if percent >= 100 {
            let is_open = state.asks.values().any(|ask| ask.reason == AskReason::Budget);
            // A step's question is `ID/NUMBER`, so this one can't collide with it.
            let ask = format!("run/budget/{}", state.asked + 1);
            return Spent::Over((!is_open).then_some(Action::Ask {
                ask,
                step: None,
                reason: AskReason::Budget,
            }));
        }
        if percent >= limits.warn_percent && !state.warned.iter().any(|warned| warned == name) {
            warnings.push(Action::Warn { limit: name, percent });
        }
    }
    Spent::Nearly(warnings)
}

/// What is left to do and what it will take, if the remaining steps cost as much as the others did.
pub fn outlook(plan: &Plan, state: &RunState) -> String {
    let left = state.steps.iter().filter(|step| !step.status.is_settled()).count() as u64;
    let settled = (state.steps.len() as u64).saturating_sub(left).max(1);
    let more = |spent: u64, limit: u64| {
        let need = u128::from(spent) * u128::from(left) / u128::from(settled) + u128::from(spent);
        u64::try_from(need).unwrap_or(u64::MAX).saturating_sub(limit)
    };
    let limits = [
        (state.spent.tokens, plan.budget.tokens, state.granted.tokens, 1),
        (state.spent.micro_dollars, plan.budget.micro_dollars, state.granted.micro_dollars, 1),
        (Some(state.spent.milliseconds), plan.budget.seconds, state.granted.seconds, 1000),
    ];
    let [tokens, money, time] = limits.map(|(spent, limit, granted, unit)| {
        let limit = limit?.saturating_add(granted).saturating_mul(unit);
        Some(more(spent?, limit)).filter(|&more| more > 0)
    });
    let needs: Vec<String> = [
        tokens.map(|tokens| format!("{tokens} tokens")),
        money.map(|money| format!("${}.{:02}", money / 1_000_000, money % 1_000_000 / 10_000)),
        time.map(|time| format!("{} s", time.div_ceil(1000))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let steps = counted(left, "step left", "steps left");
    match needs.is_empty() {
        true => steps,
        false => format!("{steps}, need about {} more", needs.join(", ")),
    }
}

/// Whether this answer fits a question of this kind about a step with this contract.
pub fn fits(reason: AskReason, answer: &AskAnswer, contract: Option<&Contract>) -> bool {
    reason.answers(JudgedBy::of(contract)).contains(&answer.kind())
}
