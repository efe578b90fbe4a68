//! The state of a run: a fold over its journal. Only [`RunState::apply`] changes a status; it refuses any
//! pair of state and event that isn't in its tables.

mod step;

pub use step::{
    FailedAttempt, PassedBy, PassedTree, Pending, Regression, StepHistory, StepState, StepStatus,
};

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::account::Usage;
use crate::agent::report::ReportFinding;
use crate::plan::verified::Plan;
use crate::run::event::{
    AskAnswer, AskEvent, AskReason, Event, Judged, JudgedBy, RunEvent, RunOutcome, StepEvent,
};
use crate::run::receipt::Receipt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunState {
    pub phase: Phase,
    /// In plan order.
    pub steps: Vec<StepState>,
    /// Open questions, by name.
    pub asks: BTreeMap<String, AskState>,
    pub spent: Usage,
    /// What a person added to the budget.
    pub granted: Grant,
    /// Limits for which a warning was recorded.
    pub warned: Vec<String>,
    /// The number of questions about the whole run.
    pub asked: u32,
    pub closing: Closing,
    /// The index of each step in `steps`, by id: every event names one, and plans are long.
    places: BTreeMap<String, usize>,
}

/// The closing check: a run is done only if every contract holds on the final tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Closing {
    /// How many rounds there were.
    pub rounds: u32,
    /// The tree of the last round; `None` if anything was done since.
    pub tree: Option<String>,
    /// How many rounds there were on end without anything done in between.
    pub in_a_row: u32,
    /// The rounds that found a broken contract since a person last decided about one.
    pub broken: BTreeSet<u32>,
}

impl Closing {
    /// How many rounds found a contract that no longer holds.
    pub fn broken_rounds(&self) -> u32 {
        u32::try_from(self.broken.len()).unwrap_or(u32::MAX)
    }
}

/// What a person added to the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grant {
    /// In millionths of a dollar.
    pub micro_dollars: u64,
    pub tokens: u64,
    pub seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was recorded yet.
    New,
    Running,
    Stopped {
        by: String,
        why: StopReason,
    },
    Finished {
        outcome: RunOutcome,
        /// Whether it ended because the plan was sent back to its author.
        is_revised: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Paused,
    /// The plan was sent back to its author.
    Revised,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskState {
    /// The index of the step; `None` for the whole run.
    pub step: Option<usize>,
    pub reason: AskReason,
    /// The text of the question.
    pub text: String,
}

/// An event that doesn't fit the state: the journal is corrupt, or two processes wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Illegal {
    pub event: &'static str,
    /// The step, and its status.
    pub state: String,
    /// The events that the state allows.
    pub allowed: String,
}

impl std::fmt::Display for Illegal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} does not fit {}; allowed: {}", self.event, self.state, self.allowed)
    }
}

impl std::error::Error for Illegal {}

impl RunState {
    /// The initial state of a run of `plan`.
    pub fn new(plan: &Plan) -> Self {
        Self {
            phase: Phase::New,
            steps: plan.steps.iter().map(StepState::new).collect(),
            asks: BTreeMap::new(),
            spent: Usage::default(),
            granted: Grant::default(),
            warned: Vec::new(),
            asked: 0,
            closing: Closing::default(),
            places: plan.steps.iter().map(|step| step.id.clone()).zip(0..).collect(),
        }
    }

    /// `None` if the run isn't finished.
    pub const fn outcome(&self) -> Option<RunOutcome> {
        match self.phase {
            Phase::Finished { outcome, .. } => Some(outcome),
            Phase::New | Phase::Running | Phase::Stopped { .. } => None,
        }
    }

    /// Whether it is paused.
    pub const fn is_stopped(&self) -> bool {
        matches!(self.phase, Phase::Stopped { .. })
    }

    /// Whether it ended because the plan was sent back to its author.
    pub const fn is_revised(&self) -> bool {
        matches!(self.phase, Phase::Finished { is_revised: true, .. })
    }

    /// The reviewers' findings, each with the index of its step.
    pub fn findings(&self) -> impl Iterator<Item = (usize, &ReportFinding)> {
        let steps = self.steps.iter().enumerate();
        steps.flat_map(|(place, step)| step.history.findings.iter().map(move |finding| (place, finding)))
    }

    /// The steps whose contracts must hold at the end: those that passed by one, unless it was meant to lapse.
    pub fn required(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.steps.len()).filter(|&place| self.is_required(place))
    }

    fn is_required(&self, place: usize) -> bool {
        let step = &self.steps[place];
        let has_passed = |until: usize| matches!(self.steps[until].status, StepStatus::Passed { .. });
        let is_lapsed = step.holds_until.is_some_and(has_passed);
        match step.status {
            StepStatus::Passed { by: PassedBy::Contract(_) } => !is_lapsed,
            StepStatus::Pending(Pending::Recheck) => true,
            StepStatus::Passed { by: PassedBy::Person }
            | StepStatus::Skipped { .. }
            | StepStatus::Pending(_)
            | StepStatus::Running { .. }
            | StepStatus::Judging { .. }
            | StepStatus::Waiting { .. } => false,
        }
    }

    /// Whether every step is done and every contract that must hold has a verdict for the tree of the last round.
    pub fn is_closed(&self) -> bool {
        let is_proven = |tree: &String| self.required().all(|place| self.steps[place].holds_on(tree));
        self.steps.iter().all(|step| step.status.is_settled())
            && self.closing.tree.as_ref().is_some_and(is_proven)
    }

    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Folds one event into the state, or refuses it without any change.
    ///
    /// | phase | event | becomes |
    /// |---|---|---|
    /// | new | run.started | running |
    /// | running, stopped | run.stopped, ask.answered: stop, revise | stopped |
    /// | running, stopped | run.resumed | running |
    /// | running, stopped | run.finished | finished |
    /// | running, stopped | any other but run.started | the same |
    /// | finished: done, or failed by run.rechecked | run.rechecked | finished: done, or failed if a contract doesn't hold |
    ///
    /// A stop refuses no events: the process that runs the plan may see it only after it has recorded the
    /// next one.
    pub fn apply(&mut self, event: &Event) -> Result<(), Illegal> {
        match (&self.phase, event) {
            (Phase::New, Event::Run(RunEvent::Started(_))) => {
                self.phase = Phase::Running;
                Ok(())
            }
            (Phase::New, Event::Run(_) | Event::Step { .. } | Event::Ask { .. }) => {
                Err(self.illegal(event.name(), None, "run.started"))
            }
            (Phase::Running | Phase::Stopped { .. }, Event::Run(event)) => self.apply_run(event),
            (Phase::Running | Phase::Stopped { .. }, Event::Step { step, event }) => {
                let place = self.known(event.name(), step)?;
                self.steps[place].apply(event)?;
                self.spent = self.spent.plus(event.usage());
                match event {
                    StepEvent::Started(_) => self.closing.tree = None,
                    StepEvent::Judged { of: Judged::Closing(round), receipt, .. }
                        if !receipt.verdict.is_passed() =>
                    {
                        self.closing.broken.insert(*round);
                    }
                    StepEvent::Finished(_) | StepEvent::Faulted { .. } | StepEvent::Judged { .. } => {}
                }
                Ok(())
            }
            (Phase::Running | Phase::Stopped { .. }, Event::Ask { ask, event }) => self.apply_ask(ask, event),
            (Phase::Finished { .. }, Event::Run(RunEvent::Rechecked { receipts })) => self.recheck(receipts),
            (Phase::Finished { .. }, Event::Run(_) | Event::Step { .. } | Event::Ask { .. }) => {
                Err(self.illegal(event.name(), None, "none, the run is finished"))
            }
        }
    }

    fn illegal(&self, event: &'static str, place: Option<usize>, allowed: &str) -> Illegal {
        let state = match (place, &self.phase) {
            (Some(place), _) => return self.steps[place].illegal(event, allowed),
            (None, Phase::New) => "a run that is new".to_owned(),
            (None, Phase::Running) => "a run that is running".to_owned(),
            (None, Phase::Stopped { .. }) => "a run that is stopped".to_owned(),
            (None, Phase::Finished { outcome, .. }) => format!("a run that is finished({})", outcome.word()),
        };
        Illegal { event, state, allowed: allowed.to_owned() }
    }

    fn known(&self, event: &'static str, id: &str) -> Result<usize, Illegal> {
        self.place(id).ok_or_else(|| Illegal {
            event,
            state: format!("unknown step `{id}`"),
            allowed: "events of its steps".to_owned(),
        })
    }

    fn apply_run(&mut self, event: &RunEvent) -> Result<(), Illegal> {
        match event {
            RunEvent::Started(_) => {
                return Err(self.illegal(event.name(), None, "any event but a second start"));
            }
            // The engine decides which commands apply; no status depends on them.
            RunEvent::AgentsApproved(_) => {}
            RunEvent::BudgetWarned { limit, .. } if self.warned.contains(limit) => {
                return Err(self.illegal(event.name(), None, "the first warning of a limit"));
            }
            RunEvent::BudgetWarned { limit, .. } => self.warned.push(limit.clone()),
            RunEvent::Stopped { by, .. } => self.stop(by, StopReason::Paused),
            RunEvent::Resumed { .. } => self.phase = Phase::Running,
            RunEvent::Reopened { steps, .. } => {
                let places = steps.iter().map(|step| self.known(event.name(), step));
                let places = places.collect::<Result<Vec<_>, _>>()?;
                if let Some(&busy) = places.iter().find(|&&place| !self.steps[place].can_reopen()) {
                    let allowed = "none, it is running or waiting for an answer";
                    return Err(self.illegal(event.name(), Some(busy), allowed));
                }
                for place in places {
                    self.steps[place].reopen();
                }
                self.closing.tree = None;
            }
            RunEvent::Closing { round, tree } => {
                let open = self.steps.iter().position(|step| !step.status.is_at_rest());
                if *round != self.closing.rounds + 1 || open.is_some() {
                    let allowed = "the next closing check, when every step is done";
                    return Err(self.illegal(event.name(), open, allowed));
                }
                self.close(*round, tree);
            }
            RunEvent::Rechecked { .. } => {
                return Err(self.illegal(event.name(), None, "any event but a check after the end"));
            }
            RunEvent::Finished { outcome, .. } => {
                let is_revised = matches!(self.phase, Phase::Stopped { why: StopReason::Revised, .. });
                self.phase = Phase::Finished { outcome: *outcome, is_revised };
            }
        }
        Ok(())
    }

    /// Begins a round of the closing check.
    fn close(&mut self, round: u32, tree: &str) {
        let due: Vec<usize> = self.required().collect();
        for place in due {
            self.steps[place].recheck(round, tree);
        }
        let closing = &mut self.closing;
        closing.in_a_row = if closing.tree.is_some() { closing.in_a_row + 1 } else { 1 };
        closing.rounds = round;
        closing.tree = Some(tree.to_owned());
    }

    /// Whether it was done, and a contract doesn't hold on the tree that was there later.
    pub fn is_lapsed(&self) -> bool {
        self.steps.iter().any(|step| step.status.is_lapsed())
    }

    /// Contracts of a run that was done ran again on another tree. It is done as long as all of them hold.
    fn recheck(&mut self, receipts: &BTreeMap<String, Receipt>) -> Result<(), Illegal> {
        let name = "run.rechecked";
        let places = receipts.keys().map(|step| self.known(name, step)).collect::<Result<Vec<_>, _>>()?;
        if self.outcome() != Some(RunOutcome::Done) && !self.is_lapsed() {
            return Err(self.illegal(name, None, "none, the run is finished"));
        }
        if let Some(&other) = places.iter().find(|&&place| !self.steps[place].can_prove_again()) {
            return Err(self.illegal(name, Some(other), "none, no contract has passed"));
        }
        for (place, receipt) in places.into_iter().zip(receipts.values()) {
            self.steps[place].prove_again(receipt);
        }
        let outcome = if self.is_lapsed() { RunOutcome::Failed } else { RunOutcome::Done };
        self.phase = Phase::Finished { outcome, is_revised: false };
        Ok(())
    }

    fn apply_ask(&mut self, ask: &str, event: &AskEvent) -> Result<(), Illegal> {
        let name = event.name();
        match (self.asks.get(ask).cloned(), event) {
            (None, AskEvent::Opened { step, reason, text }) => {
                let step = step.as_ref().map(|step| self.known(name, step)).transpose()?;
                match step {
                    Some(place) => self.steps[place].ask(ask)?,
                    None => self.asked += 1,
                }
                self.asks.insert(ask.to_owned(), AskState { step, reason: *reason, text: text.clone() });
            }
            (Some(open), AskEvent::Opened { .. }) => {
                return Err(self.illegal(name, open.step, "a question that is not open yet"));
            }
            (None, AskEvent::Answered { .. }) => {
                return Err(self.illegal(name, None, "answers to open questions"));
            }
            (Some(open), AskEvent::Answered { answer, by }) => {
                let judged_by = open.step.map_or(JudgedBy::Contract, |place| self.steps[place].judged_by);
                let fitting = open.reason.answers(judged_by);
                if !fitting.contains(&answer.kind()) {
                    let words: Vec<&str> = fitting.iter().map(|kind| kind.word()).collect();
                    return Err(self.illegal(name, open.step, &words.join(", ")));
                }
                if let (AskAnswer::RetryStep { step, hint }, Some(broken)) = (answer, open.step) {
                    self.send_back(broken, step, hint)?;
                }
                match open.step {
                    Some(place) => self.steps[place].answer(open.reason, answer, by),
                    None => self.grant(answer),
                }
                self.closing.tree = None;
                if open.reason == AskReason::Regressed {
                    self.closing.broken.clear();
                }
                match answer {
                    AskAnswer::Stop => self.stop(by, StopReason::Paused),
                    AskAnswer::Revise { .. } => self.stop(by, StopReason::Revised),
                    AskAnswer::Retry { .. }
                    | AskAnswer::RetryStep { .. }
                    | AskAnswer::TakeOver
                    | AskAnswer::Confirm
                    | AskAnswer::Skip { .. }
                    | AskAnswer::Budget { .. } => {}
                }
                self.asks.remove(ask);
            }
        }
        Ok(())
    }

    /// Sends the step back to work that broke the contract of another one.
    fn send_back(&mut self, broken: usize, culprit: &str, hint: &str) -> Result<(), Illegal> {
        let place = self.known("ask.answered", culprit)?;
        if place == broken || !matches!(self.steps[place].status, StepStatus::Passed { .. }) {
            return Err(self.illegal("ask.answered", Some(place), "another step that has passed"));
        }
        let StepState { id, history, .. } = self.steps[broken].clone();
        let Some(last) = history.failed.last() else {
            unreachable!("step `{id}` is asked about because its contract failed")
        };
        self.steps[place].send_back(&id, (last.failure.clone(), last.output.clone()), hint);
        Ok(())
    }

    fn stop(&mut self, by: &str, why: StopReason) {
        self.phase = Phase::Stopped { by: by.to_owned(), why };
    }

    /// Takes an answer that fits a question about the whole run.
    fn grant(&mut self, answer: &AskAnswer) {
        match answer {
            AskAnswer::Budget { micro_dollars, tokens, seconds } => {
                let add = |total: &mut u64, more: u64| *total = total.saturating_add(more);
                add(&mut self.granted.micro_dollars, *micro_dollars);
                add(&mut self.granted.tokens, *tokens);
                add(&mut self.granted.seconds, *seconds);
            }
            // Whoever takes it up again has answered why it stood still.
            AskAnswer::Retry { .. } | AskAnswer::Stop | AskAnswer::Revise { .. } => {}
            AskAnswer::RetryStep { .. }
            | AskAnswer::TakeOver
            | AskAnswer::Confirm
            | AskAnswer::Skip { .. } => {
                unreachable!("{answer:?} fits no question about a run")
            }
        }
    }
}
