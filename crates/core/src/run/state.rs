//! The state of a run: a fold over its journal. Only [`RunState::apply`] changes a status; it refuses any
//! pair of state and event that isn't in its table.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::agent::account::Usage;
use crate::agent::report;
use crate::agent::report::ReportFinding;
use crate::plan::draft::Mark;
use crate::plan::verified::{Contract, Plan, Step};
use crate::run::event::{AskAnswer, AskReason, AttemptEnd, Event, JudgedBy, RunOutcome};
use crate::run::judge::JudgeFailure;
use crate::run::receipt::Blob;

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
    /// Whether the plan was sent back to its author.
    pub is_revised: bool,
    pub stopped_by: Option<String>,
    /// The index of each step in `steps`, by id: every event names one, and plans are long.
    places: BTreeMap<String, usize>,
}

/// What a person added to the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grant {
    /// In millionths of a dollar.
    pub micro_dollars: u64,
    pub tokens: u64,
    pub seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Nothing was recorded yet.
    New,
    Running,
    /// A person paused it.
    Stopped,
    Finished(RunOutcome),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepState {
    pub id: String,
    pub status: RunStatus,
    /// Attempts that were started.
    pub attempts: u32,
    /// Failed attempts that count against `on_fail`.
    pub failures: u32,
    /// Interrupted attempts, which don't count, up to a limit.
    pub lost: u32,
    /// Additional attempts that a person granted.
    pub granted: u32,
    /// A person's hint for the agent.
    pub hint: String,
    /// No attempt before this time, in milliseconds since 1970.
    pub parked_until: Option<u64>,
    /// Oldest first.
    pub failed: Vec<FailedAttempt>,
    /// How often in a row the contract failed with the same output.
    pub same_failure: u32,
    /// How often a person was asked about it.
    pub asked: u32,
    /// Whether an agent has finished it and a person has to confirm. Only for manual steps.
    pub is_handed_over: bool,
    /// The findings of its last attempt, if that was a reviewer's.
    pub findings: Vec<ReportFinding>,
    /// What its attempts changed outside their scope since a person last let it continue: a new attempt
    /// doesn't revert it.
    pub strayed: BTreeSet<String>,
    /// The agent's question in an attempt whose contract then failed.
    pub question: Option<String>,
    /// How often in a row the agent was unavailable.
    pub parked: u32,
    /// Why, the last time.
    pub parked_why: String,
    /// Whether a person confirms it instead of a contract.
    is_manual: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    pub attempt: u32,
    pub failure: JudgeFailure,
    /// `None` if no contract ran.
    pub output: Option<Blob>,
    pub changed: Vec<String>,
}

/// The status of a step. Ready and blocked follow from the graph and aren't stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// Nothing is running.
    Pending,
    Running {
        attempt: u32,
    },
    /// The agent has finished; the contract has no result yet.
    Judging {
        attempt: u32,
        changed: Vec<String>,
    },
    /// The contract passed, or a person confirmed a manual step.
    Passed {
        attempt: u32,
    },
    /// A question is open.
    Waiting {
        ask: String,
    },
    Skipped {
        by: String,
        reason: String,
    },
}

impl RunStatus {
    /// Whether the steps that need this one may start.
    pub const fn is_settled(&self) -> bool {
        match self {
            Self::Passed { .. } | Self::Skipped { .. } => true,
            Self::Pending | Self::Running { .. } | Self::Judging { .. } | Self::Waiting { .. } => false,
        }
    }

    /// The files changed by the attempt that is being judged; empty if there is none.
    pub fn changed(&self) -> &[String] {
        match self {
            Self::Judging { changed, .. } => changed,
            Self::Pending
            | Self::Running { .. }
            | Self::Passed { .. }
            | Self::Waiting { .. }
            | Self::Skipped { .. } => &[],
        }
    }

    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running { .. } => "running",
            Self::Judging { .. } => "judging",
            Self::Passed { .. } => "passed",
            Self::Waiting { .. } => "waiting",
            Self::Skipped { .. } => "skipped",
        }
    }
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
    pub allowed: &'static str,
}

impl std::fmt::Display for Illegal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} does not fit {}; allowed: {}", self.event, self.state, self.allowed)
    }
}

impl std::error::Error for Illegal {}

/// The attempt number of a claim: a mark in the file says that the step is done, and its contract is run to
/// verify that.
pub const CLAIM: u32 = 0;

/// A step that the file marks as done is judged before any attempt; a mark on a manual step is ignored.
fn first_status(step: &Step) -> RunStatus {
    match (step.mark, &step.contract) {
        (Some(Mark::Done), Contract::Shell { .. }) => {
            RunStatus::Judging { attempt: CLAIM, changed: Vec::new() }
        }
        (_, Contract::Shell { .. } | Contract::Manual) => RunStatus::Pending,
    }
}

impl RunState {
    /// The initial state of a run of `plan`.
    pub fn new(plan: &Plan) -> Self {
        let steps = plan.steps.iter().map(|step| StepState {
            id: step.id.clone(),
            status: first_status(step),
            attempts: 0,
            failures: 0,
            lost: 0,
            granted: 0,
            hint: String::new(),
            parked_until: None,
            failed: Vec::new(),
            same_failure: 0,
            asked: 0,
            is_handed_over: false,
            findings: Vec::new(),
            strayed: BTreeSet::new(),
            question: None,
            parked: 0,
            parked_why: String::new(),
            is_manual: step.contract == Contract::Manual,
        });
        Self {
            phase: Phase::New,
            steps: steps.collect(),
            asks: BTreeMap::new(),
            spent: Usage::default(),
            granted: Grant::default(),
            warned: Vec::new(),
            asked: 0,
            is_revised: false,
            stopped_by: None,
            places: plan.steps.iter().map(|step| step.id.clone()).zip(0..).collect(),
        }
    }

    /// `None` if the run isn't finished.
    pub const fn outcome(&self) -> Option<RunOutcome> {
        match self.phase {
            Phase::Finished(outcome) => Some(outcome),
            Phase::New | Phase::Running | Phase::Stopped => None,
        }
    }

    /// The reviewers' findings, each with the index of its step.
    pub fn findings(&self) -> impl Iterator<Item = (usize, &ReportFinding)> {
        let steps = self.steps.iter().enumerate();
        steps.flat_map(|(place, step)| step.findings.iter().map(move |finding| (place, finding)))
    }

    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Folds one event into the state, or refuses it without any change.
    ///
    /// | state of the step | event | becomes |
    /// |---|---|---|
    /// | judging 0 (claimed by a mark) | contract.finished 0, failed | pending, no failure |
    /// | pending | attempt.started k+1 | running k+1 |
    /// | running k | attempt.finished k: exited, signalled | judging k; pending if a person is the judge |
    /// | running k | attempt.finished k: timed out, lost, stopped, parked | pending |
    /// | judging k | contract.finished k, passed | passed k |
    /// | judging k | contract.finished k, failed | pending, one failure more |
    /// | pending | ask.opened | waiting |
    /// | waiting | ask.answered: retry | pending, one attempt granted where all were spent |
    /// | waiting | ask.answered: take over | judging k+1 |
    /// | waiting | ask.answered: confirm (no contract) | passed k |
    /// | waiting | ask.answered: skip | skipped |
    /// | waiting | ask.answered: stop, revise | pending; the run is stopped |
    /// | passed k, skipped, pending | steps.reopened | pending, no failures |
    ///
    /// A stop refuses no events: the process that runs the plan may see it only after it has recorded the
    /// next one.
    pub fn apply(&mut self, event: &Event) -> Result<(), Illegal> {
        if let Phase::Finished(_) = self.phase {
            return Err(self.illegal(event, None, "none, the run is finished"));
        }
        match event {
            Event::RunStarted { .. } if self.phase == Phase::New => self.phase = Phase::Running,
            Event::RunStarted { .. } => {
                return Err(self.illegal(event, None, "any event but a second start"));
            }
            _ if self.phase == Phase::New => return Err(self.illegal(event, None, "run.started")),
            Event::AttemptStarted { step, attempt, .. } => {
                let place = self.known(event, step)?;
                self.start(event, place, *attempt)?;
            }
            Event::AttemptFinished { step, attempt, end, usage, changed, account, .. } => {
                let place = self.known(event, step)?;
                self.finish_attempt(event, place, (*attempt, end, changed))?;
                // An agent that was unavailable or interrupted is retried and may ask again.
                let is_over =
                    matches!(end, AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) | AttemptEnd::TimedOut(_));
                let asked = report::question(&account.report).filter(|_| is_over);
                self.steps[place].question = asked.map(str::to_owned);
                self.steps[place].strayed.extend(account.outside.iter().cloned());
                self.steps[place].findings = report::findings(&account.report).cloned().collect();
                self.spent = self.spent.plus(*usage);
            }
            Event::ContractFinished { step, attempt, receipt } => {
                let place = self.known(event, step)?;
                let failure = receipt.verdict.failure().cloned();
                self.finish_contract(event, place, (*attempt, failure, receipt.output.clone()))?;
                if let Some(opinion) = &receipt.opinion {
                    self.spent = self.spent.plus(opinion.usage);
                }
            }
            Event::AskOpened { ask, step, reason, text } => {
                let place = step.as_ref().map(|step| self.known(event, step)).transpose()?;
                self.open(event, place, ask)?;
                self.asks.insert(ask.clone(), AskState { step: place, reason: *reason, text: text.clone() });
            }
            Event::AskAnswered { ask, answer, by } => self.answer(event, ask, answer, by)?,
            Event::BudgetWarned { limit, .. } if self.warned.contains(limit) => {
                return Err(self.illegal(event, None, "the first warning of a limit"));
            }
            Event::BudgetWarned { limit, .. } => self.warned.push(limit.clone()),
            // The engine decides which commands apply; no status depends on them.
            Event::AgentsApproved { .. } => {}
            Event::RunStopped { by, .. } => self.stop(by),
            Event::RunResumed { .. } => self.phase = Phase::Running,
            Event::StepsReopened { steps, .. } => self.reopen(event, steps)?,
            Event::RunFinished { outcome, .. } => self.phase = Phase::Finished(*outcome),
        }
        Ok(())
    }

    fn illegal(&self, event: &Event, place: Option<usize>, allowed: &'static str) -> Illegal {
        let state = match place {
            Some(place) => {
                format!("step `{}`, which is {}", self.steps[place].id, self.steps[place].status.word())
            }
            None => format!("a run that is {:?}", self.phase).to_lowercase(),
        };
        Illegal { event: event.name(), state, allowed }
    }

    fn known(&self, event: &Event, id: &str) -> Result<usize, Illegal> {
        self.place(id).ok_or_else(|| Illegal {
            event: event.name(),
            state: format!("unknown step `{id}`"),
            allowed: "events of its steps",
        })
    }

    fn start(&mut self, event: &Event, place: usize, attempt: u32) -> Result<(), Illegal> {
        let step = &mut self.steps[place];
        if step.status != RunStatus::Pending || attempt != step.attempts + 1 {
            return Err(self.illegal(event, Some(place), "the next attempt at a pending step"));
        }
        step.attempts = attempt;
        step.parked_until = None;
        step.is_handed_over = false;
        step.status = RunStatus::Running { attempt };
        Ok(())
    }

    fn finish_attempt(
        &mut self,
        event: &Event,
        place: usize,
        (attempt, end, changed): (u32, &AttemptEnd, &[String]),
    ) -> Result<(), Illegal> {
        let step = &mut self.steps[place];
        if step.status != (RunStatus::Running { attempt }) {
            return Err(self.illegal(event, Some(place), "the end of the running attempt"));
        }
        step.status = RunStatus::Pending;
        if !matches!(end, AttemptEnd::Parked { .. }) {
            step.parked = 0;
        }
        match end {
            // There is no contract to run; planwright asks a person.
            AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) if step.is_manual => step.is_handed_over = true,
            AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) => {
                step.status = RunStatus::Judging { attempt, changed: changed.to_vec() };
            }
            AttemptEnd::TimedOut(seconds) => {
                step.failures += 1;
                let failure = JudgeFailure::Timeout(*seconds);
                step.failed.push(FailedAttempt { attempt, failure, output: None, changed: changed.to_vec() });
            }
            AttemptEnd::Lost => step.lost += 1,
            AttemptEnd::Stopped => {}
            AttemptEnd::Parked { until, why } => {
                step.parked += 1;
                step.parked_why.clone_from(why);
                step.parked_until = Some(until.unwrap_or(u64::MAX));
            }
        }
        Ok(())
    }

    fn finish_contract(
        &mut self,
        event: &Event,
        place: usize,
        (attempt, failure, output): (u32, Option<JudgeFailure>, Blob),
    ) -> Result<(), Illegal> {
        let step = &mut self.steps[place];
        let changed = match &step.status {
            RunStatus::Judging { attempt: judged, changed } if *judged == attempt => changed.clone(),
            RunStatus::Pending
            | RunStatus::Running { .. }
            | RunStatus::Judging { .. }
            | RunStatus::Passed { .. }
            | RunStatus::Waiting { .. }
            | RunStatus::Skipped { .. } => {
                return Err(self.illegal(event, Some(place), "the contract of the attempt being judged"));
            }
        };
        match failure {
            None => {
                step.question = None;
                step.status = RunStatus::Passed { attempt };
            }
            // No attempt was made: the claim is void, and nothing else changes.
            Some(_) if attempt == CLAIM => step.status = RunStatus::Pending,
            Some(failure) => {
                let now = FailedAttempt { attempt, failure, output: Some(output), changed };
                let is_same = step.failed.last().is_some_and(|last| last.output == now.output);
                step.same_failure = if is_same { step.same_failure + 1 } else { 1 };
                step.failed.push(now);
                step.failures += 1;
                step.status = RunStatus::Pending;
            }
        }
        Ok(())
    }

    fn open(&mut self, event: &Event, place: Option<usize>, ask: &str) -> Result<(), Illegal> {
        if self.asks.contains_key(ask) {
            return Err(self.illegal(event, place, "a question that is not open yet"));
        }
        let Some(place) = place else {
            self.asked += 1;
            return Ok(());
        };
        if self.steps[place].status != RunStatus::Pending {
            return Err(self.illegal(event, Some(place), "a question about a pending step"));
        }
        self.steps[place].asked += 1;
        self.steps[place].status = RunStatus::Waiting { ask: ask.to_owned() };
        Ok(())
    }

    fn answer(&mut self, event: &Event, ask: &str, answer: &AskAnswer, by: &str) -> Result<(), Illegal> {
        let Some(open) = self.asks.get(ask).cloned() else {
            return Err(self.illegal(event, None, "answers to open questions"));
        };
        let is_manual = open.step.is_some_and(|place| self.steps[place].is_manual);
        let judged_by = if is_manual { JudgedBy::Person } else { JudgedBy::Contract };
        if !open.reason.answers(judged_by).contains(&answer.kind()) {
            return Err(self.illegal(event, open.step, allowed_answers(open.reason, judged_by)));
        }
        match open.step {
            Some(place) => self.settle((place, open.reason), (answer, by)),
            None => self.grant(answer),
        }
        if matches!(answer, AskAnswer::Stop | AskAnswer::Revise { .. }) {
            self.stop(by);
        }
        self.is_revised |= matches!(answer, AskAnswer::Revise { .. });
        self.asks.remove(ask);
        Ok(())
    }

    /// Resets done steps to their state before the first attempt, except for the attempt count, since two
    /// attempts must not share a name.
    fn reopen(&mut self, event: &Event, steps: &[String]) -> Result<(), Illegal> {
        let places = steps.iter().map(|step| self.known(event, step)).collect::<Result<Vec<_>, _>>()?;
        for &place in &places {
            match self.steps[place].status {
                RunStatus::Passed { .. } | RunStatus::Skipped { .. } | RunStatus::Pending => {}
                RunStatus::Running { .. } | RunStatus::Judging { .. } | RunStatus::Waiting { .. } => {
                    return Err(self.illegal(
                        event,
                        Some(place),
                        "none, it is running or waiting for an answer",
                    ));
                }
            }
        }
        for place in places {
            let step = &mut self.steps[place];
            *step = StepState {
                status: RunStatus::Pending,
                failures: 0,
                lost: 0,
                granted: 0,
                parked: 0,
                parked_until: None,
                same_failure: 0,
                is_handed_over: false,
                question: None,
                failed: Vec::new(),
                findings: Vec::new(),
                strayed: BTreeSet::new(),
                ..step.clone()
            };
        }
        Ok(())
    }

    fn stop(&mut self, by: &str) {
        self.phase = Phase::Stopped;
        self.stopped_by = Some(by.to_owned());
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
            AskAnswer::TakeOver | AskAnswer::Confirm | AskAnswer::Skip { .. } => {
                unreachable!("{answer:?} fits no question about a run")
            }
        }
    }

    /// Takes an answer that fits a question about a step.
    fn settle(&mut self, (place, reason): (usize, AskReason), (answer, by): (&AskAnswer, &str)) {
        let step = &mut self.steps[place];
        match answer {
            AskAnswer::Retry { hint } => {
                // Grant an attempt only if none is left. An attempt that ended in a question doesn't count.
                step.granted += u32::from(matches!(reason, AskReason::AttemptsSpent | AskReason::Question));
                step.lost = 0;
                step.parked = 0;
                step.parked_until = None;
                step.question = None;
                step.strayed.clear();
                step.hint.clone_from(hint);
                step.is_handed_over = false;
                step.status = RunStatus::Pending;
            }
            AskAnswer::TakeOver => {
                step.attempts += 1;
                step.question = None;
                // A person's attempt doesn't use up those of the agents.
                step.granted += 1;
                step.strayed.clear();
                step.status = RunStatus::Judging { attempt: step.attempts, changed: Vec::new() };
            }
            AskAnswer::Confirm => step.status = RunStatus::Passed { attempt: step.attempts },
            AskAnswer::Skip { reason } => {
                step.status = RunStatus::Skipped { by: by.to_owned(), reason: reason.clone() };
            }
            AskAnswer::Stop | AskAnswer::Revise { .. } => step.status = RunStatus::Pending,
            AskAnswer::Budget { .. } => unreachable!("{answer:?} fits no question about a step"),
        }
    }
}

/// The answers that fit, in words.
const fn allowed_answers(reason: AskReason, judged_by: JudgedBy) -> &'static str {
    match (reason, judged_by) {
        (AskReason::Budget, _) => "budget, revise, stop",
        (AskReason::Stalled, _) => "retry, revise, stop",
        (
            AskReason::AttemptsSpent
            | AskReason::Manual
            | AskReason::Lost
            | AskReason::Parked
            | AskReason::Question
            | AskReason::Strayed,
            JudgedBy::Person,
        ) => "confirm, retry, skip, revise, stop",
        (
            AskReason::AttemptsSpent
            | AskReason::Manual
            | AskReason::Lost
            | AskReason::Parked
            | AskReason::Question
            | AskReason::Strayed,
            JudgedBy::Contract,
        ) => "take over, retry, skip, revise, stop: the contract judges",
    }
}
