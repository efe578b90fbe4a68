//! The fake world: a journal that survives crashes, agents and contracts that end when and how chance says, people who
//! answer when they like. It watches what the driver does and keeps every breach of the rules as a fault.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::agent::account::{Account, Usage};
use planwright_core::agent::report::ReportLine;
use planwright_core::plan::verified::{Contract, Last, Plan};
use planwright_core::run::event::{
    AgentCommands, AgentsApproval, AskAnswer, AskEvent, AskReason, AttemptEnd, AttemptFinish, AttemptStart,
    Event, Judged, MachineFault, RunEvent, RunOutcome, StepEvent, StopMode,
};
use planwright_core::run::judge::{ContractRun, Observation};
use planwright_core::run::receipt::{Provenance, Receipt};
use planwright_core::run::schedule::{HUMAN, ScheduleLimits};
use planwright_core::run::state::{Phase, RunState, StepStatus};
use planwright_core::syntax::glob;
use planwright_core::syntax::glob::Glob;

use crate::random::Random;

/// What a host gets wrong on purpose, so that the checks are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    Nothing,
    /// Begins an attempt before its intent is durable.
    BeginsFirst,
    /// Now and then says that something is durable that is not.
    LosesRecords,
    /// Now and then records an event twice.
    RecordsTwice,
    /// Says that nothing of an attempt is alive, and leaves it alive.
    BuriesNothing,
    /// Drives a plan whose needs were left out.
    IgnoresNeeds,
    /// Drives a plan whose contracts need not hold at the end.
    SkipsClosing,
    /// Takes every content for the same.
    SeesNoChange,
    /// Takes an error of the machine for the end of an agent, or for what a contract said.
    SwallowsFaults,
}

/// How the world answers.
#[derive(Debug, Clone)]
pub(crate) enum Temper {
    /// By chance, in any order, with crashes, jumps of the clock and people who meddle.
    Wild,
    /// Agents end by themselves, contracts exit with the code that the step's list has for this try; the last one counts on.
    Calm(BTreeMap<String, Vec<i32>>),
}

/// The driver's process died.
#[derive(Debug, thiserror::Error)]
#[error("the driver died")]
pub(crate) struct Crash;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Attempt,
    Contract,
}

/// A process of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) kind: Kind,
    pub(crate) place: usize,
    pub(crate) of: Judged,
    /// The content that it began with, as hosts see it.
    pub(crate) tree: String,
    /// The driver that began it, or [`OUTSIDE`].
    pub(crate) driver: u32,
}

/// Stands for a worker of another process: it outlives drivers, and what it does comes to whoever drives.
pub(crate) const OUTSIDE: u32 = 0;

pub(crate) struct World {
    /// The plan that was approved.
    pub(crate) plan: Plan,
    pub(crate) limits: ScheduleLimits,
    pub(crate) random: Random,
    pub(crate) sabotage: Sabotage,
    pub(crate) temper: Temper,
    pub(crate) journal: Vec<Event>,
    /// The fold of the journal.
    pub(crate) state: RunState,
    keys: BTreeSet<String>,
    pub(crate) clock: u64,
    pub(crate) live: Vec<Work>,
    /// Every attempt that began, as `s1/2`.
    pub(crate) begun: Vec<String>,
    /// Steps whose agents go on until they are ended.
    pub(crate) held: BTreeSet<String>,
    /// Whether a worker of another process makes the attempts.
    pub(crate) is_worked_outside: bool,
    /// Whether the user wants to leave, and the driver does not know it yet.
    pub(crate) is_leave_wanted: bool,
    /// Results that a dead driver never took.
    pub(crate) late: Vec<Event>,
    /// Results that were delivered, which may come again.
    pub(crate) delivered: Vec<Event>,
    /// Pieces of work that the machine keeps from their end, by the order in which they end.
    pub(crate) broken: BTreeSet<u64>,
    /// Attempts and contracts that ended.
    pub(crate) ended: u64,
    /// What really ended, by key.
    ran: BTreeMap<String, Vec<Event>>,
    pub(crate) drivers: u32,
    pub(crate) is_edited: bool,
    /// Whether the driver knows that the plan was edited.
    pub(crate) is_edit_known: bool,
    /// Points at which the driver dies, counted over the whole run.
    pub(crate) deaths: BTreeSet<u64>,
    pub(crate) points: u64,
    pub(crate) chance_deaths: u32,
    pub(crate) chance_acts: u32,
    answers: u32,
    /// What lies in the workspace: the last work at each step.
    content: BTreeMap<usize, u64>,
    /// Contracts that fail in a round of the closing check of a calm world.
    pub(crate) breaks: BTreeSet<(String, u32)>,
    pub(crate) faults: Vec<String>,
    /// Whether the touches of two steps meet, worked out once.
    meets: Vec<Vec<bool>>,
}

impl World {
    pub(crate) fn new(plan: Plan, limits: ScheduleLimits, temper: Temper, seed: u64) -> Self {
        let state = RunState::new(&plan);
        let meets = meets(&plan);
        let is_wild = matches!(temper, Temper::Wild);
        Self {
            plan,
            limits,
            random: Random::new(seed),
            sabotage: Sabotage::Nothing,
            temper,
            journal: Vec::new(),
            state,
            keys: BTreeSet::new(),
            clock: 1_000_000,
            live: Vec::new(),
            begun: Vec::new(),
            held: BTreeSet::new(),
            is_worked_outside: false,
            is_leave_wanted: false,
            late: Vec::new(),
            delivered: Vec::new(),
            broken: BTreeSet::new(),
            ended: 0,
            ran: BTreeMap::new(),
            drivers: 0,
            is_edited: false,
            is_edit_known: false,
            deaths: BTreeSet::new(),
            points: 0,
            chance_deaths: if is_wild { 5 } else { 0 },
            chance_acts: if is_wild { 12 } else { 0 },
            answers: 0,
            content: BTreeMap::new(),
            breaks: BTreeSet::new(),
            faults: Vec::new(),
            meets,
        }
    }

    /// The hash of what lies in the workspace.
    fn tree(&self) -> String {
        format!("{:?}", self.content)
    }

    /// The same as a host sees it.
    pub(crate) fn shown_tree(&self) -> String {
        if self.sabotage == Sabotage::SeesNoChange { "always".to_owned() } else { self.tree() }
    }

    /// Somebody works on a step.
    fn work_on(&mut self, place: usize) {
        let work = match self.temper {
            // The same work leaves the same.
            Temper::Calm(_) => self.state.steps[place].history.failed.len() as u64,
            Temper::Wild => self.random.below(1 << 40),
        };
        self.content.insert(place, work);
    }

    pub(crate) fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// A moment at which the driver may die.
    pub(crate) fn point(&mut self) -> Result<(), Crash> {
        self.points += 1;
        let by_chance = self.chance_deaths > 0 && self.random.once_in(40);
        if by_chance {
            self.chance_deaths -= 1;
        }
        if by_chance || self.deaths.contains(&self.points) { Err(Crash) } else { Ok(()) }
    }

    /// Appends to the journal, and holds every rule that can be held there.
    pub(crate) fn append(&mut self, event: &Event) {
        if let Some(key) = event.key()
            && !self.keys.insert(key.clone())
        {
            self.fault(format!("{key} was recorded twice"));
        }
        self.check_record(event);
        let failures = self.failures(event);
        if let Err(illegal) = self.state.apply(event) {
            self.fault(format!("the journal is corrupt: {illegal}"));
        }
        if is_machine(event) && self.failures(event) != failures {
            self.fault("an error of the machine cost an attempt");
        }
        self.journal.push(event.clone());
    }

    /// The failed attempts of the step that an event is about.
    fn failures(&self, event: &Event) -> Option<u32> {
        let place = event.step().and_then(|step| self.state.place(step))?;
        Some(self.state.steps[place].history.failures())
    }

    fn check_record(&mut self, event: &Event) {
        match event {
            Event::Step { step, event: StepEvent::Started(AttemptStart { attempt, .. }) } => {
                self.check_intent(step, *attempt);
            }
            Event::Step { step, event: StepEvent::Finished(AttemptFinish { attempt, end, .. }) } => {
                let is_alive = self.live.iter().any(|work| {
                    work.kind == Kind::Attempt
                        && work.of == Judged::Attempt(*attempt)
                        && self.plan.steps[work.place].id == *step
                });
                if is_alive {
                    self.fault(format!("{step}/{attempt} is recorded as over and is alive"));
                }
                if *end != AttemptEnd::Lost {
                    self.check_result(event);
                }
            }
            Event::Step { event: StepEvent::Judged { .. } | StepEvent::Faulted { .. }, .. } => {
                self.check_result(event);
            }
            Event::Run(RunEvent::Finished { outcome, .. }) => self.check_end(*outcome),
            Event::Run(_) | Event::Ask { .. } => {}
        }
    }

    fn check_result(&mut self, event: &Event) {
        let key = event.key().unwrap_or_default();
        if !self.ran.get(&key).is_some_and(|results| results.contains(event)) {
            self.fault(format!("{key} was recorded and never happened so"));
        }
    }

    fn check_intent(&mut self, id: &str, attempt: u32) {
        let Some(place) = self.state.place(id) else { return self.fault(format!("{id} is no step")) };
        let (step, now) = (&self.plan.steps[place], &self.state.steps[place]);
        let open: Vec<&str> = step
            .needs
            .iter()
            .filter(|&&before| !self.state.steps[before].status.is_at_rest())
            .map(|&before| self.plan.steps[before].id.as_str())
            .collect();
        let budget = &self.plan.budget;
        let over = |spent: u64, limit: Option<u64>, more: u64| {
            limit.is_some_and(|limit| spent > 0 && spent >= limit + more)
        };
        let (spent, granted) = (self.state.spent, self.state.granted);
        let is_over = over(spent.tokens.unwrap_or(0), budget.tokens, granted.tokens)
            || over(spent.micro_dollars.unwrap_or(0), budget.micro_dollars, granted.micro_dollars)
            || over(spent.milliseconds / 1_000, budget.seconds, granted.seconds);
        let faults = [
            (!open.is_empty())
                .then(|| format!("{id}/{attempt} does not wait for its needs: {}", open.join(", "))),
            (now.history.failures() > step.on_fail.retries + now.history.granted)
                .then(|| format!("{id}/{attempt} is one attempt too many")),
            (step.target == HUMAN).then(|| format!("{id}/{attempt} is a person's to do")),
            is_over.then(|| format!("{id}/{attempt} begins with the budget spent")),
            (self.state.phase != Phase::Running)
                .then(|| format!("{id}/{attempt} begins in a run that is stopped or over")),
            self.is_edit_known.then(|| format!("{id}/{attempt} begins though the plan was edited")),
        ];
        self.faults.extend(faults.into_iter().flatten());
    }

    fn check_end(&mut self, outcome: RunOutcome) {
        let steps = || self.plan.steps.iter().zip(&self.state.steps);
        let is_right = match outcome {
            RunOutcome::Done => {
                steps().all(|(_, now)| now.status.is_settled())
                    && (0..self.plan.steps.len()).all(|place| self.holds(place))
            }
            RunOutcome::Failed => steps().any(|(step, now)| {
                step.on_fail.then == Last::Abort
                    && now.history.failures() > step.on_fail.retries + now.history.granted
            }),
            RunOutcome::Cancelled => true,
        };
        if !is_right {
            self.fault(format!("the run ends as {outcome:?} and is not"));
        }
        if outcome != RunOutcome::Cancelled && self.live.iter().any(|work| work.kind == Kind::Attempt) {
            self.fault("an attempt outlives its run");
        }
    }

    /// Whether a contract need not hold, or its last verdict is a pass on what lies in the workspace now.
    fn holds(&self, place: usize) -> bool {
        let step = &self.plan.steps[place];
        let has_passed = |place: usize| matches!(self.state.steps[place].status, StepStatus::Passed { .. });
        if step.contract == Contract::Manual || !has_passed(place) || step.holds_until.is_some_and(has_passed)
        {
            return true;
        }
        let last = self.journal.iter().rev().find_map(|event| match event {
            Event::Step { step: id, event: StepEvent::Judged { receipt, .. } } if *id == step.id => {
                Some(receipt)
            }
            Event::Step { .. } | Event::Run(_) | Event::Ask { .. } => None,
        });
        last.is_some_and(|receipt| receipt.verdict.is_passed() && receipt.tree == self.tree())
    }

    /// A process begins. The driver says so; the journal must have said so before.
    pub(crate) fn spawn(&mut self, work: Work) {
        let id = self.plan.steps[work.place].id.clone();
        let name = format!("{id}/{}", work.of);
        let status = self.state.steps[work.place].status.clone();
        let attempts: Vec<Work> =
            self.live.iter().filter(|other| other.kind == Kind::Attempt).cloned().collect();
        let ended = format!("{name}/attempt.finished");
        let is_intended = match (work.kind, &status) {
            // A contract only looks: it may begin when its agent has ended, before that is durable.
            (Kind::Contract, StepStatus::Running { attempt }) => {
                Judged::Attempt(*attempt) == work.of && self.ran.contains_key(&ended)
            }
            (Kind::Attempt, StepStatus::Running { attempt }) => Judged::Attempt(*attempt) == work.of,
            (Kind::Contract, StepStatus::Judging { of, .. }) => *of == work.of,
            (Kind::Attempt | Kind::Contract, _) => false,
        };
        if !is_intended {
            self.fault(format!(
                "{:?} {name} begins before its intent is durable: the step is {}",
                work.kind,
                status.word()
            ));
        }
        for other in &attempts {
            if other.place == work.place {
                self.fault(format!(
                    "{:?} {name} begins while attempt {} of the step is alive",
                    work.kind, other.of
                ));
            } else if self.meets[work.place][other.place] {
                let other = &self.plan.steps[other.place].id;
                self.faults.push(format!("{:?} {name} may touch what {other} is touching", work.kind));
            }
        }
        if work.kind == Kind::Attempt && attempts.len() >= self.limits.jobs {
            self.fault(format!("{name} is one job too many"));
        }
        if work.kind == Kind::Attempt {
            self.begun.push(name);
        }
        self.live.push(work);
    }

    /// Whether a process goes on until it is ended.
    pub(crate) fn is_held(&self, work: &Work) -> bool {
        work.kind == Kind::Attempt && self.held.contains(&self.plan.steps[work.place].id)
    }

    /// Attempts that are alive, as `s1/2`.
    pub(crate) fn alive(&self) -> BTreeSet<String> {
        let attempts = self.live.iter().filter(|work| work.kind == Kind::Attempt);
        attempts.map(|work| format!("{}/{}", self.plan.steps[work.place].id, work.of)).collect()
    }

    /// What an agent reports: now and then it has a question.
    fn account(&mut self) -> Account {
        let is_asking = matches!(self.temper, Temper::Wild) && self.random.once_in(8);
        let report = is_asking.then(|| ReportLine::Ask { text: "which one?".to_owned() });
        Account { report: report.into_iter().collect(), ..Account::default() }
    }

    /// A process ends by itself; returns its result.
    pub(crate) fn end(&mut self, index: usize) -> Event {
        self.end_as(index, None)
    }

    /// A process ends, an attempt in a given way; returns its result.
    pub(crate) fn end_as(&mut self, index: usize, given: Option<AttemptEnd>) -> Event {
        let work = self.live.remove(index);
        let step = self.plan.steps[work.place].id.clone();
        self.ended += 1;
        let fault = self.machine_fault();
        let given = given.or_else(|| fault.clone().map(AttemptEnd::Faulted));
        let event = match work.kind {
            Kind::Attempt => {
                let (end, usage) = self.attempt_end();
                let end = given.unwrap_or(end);
                self.work_on(work.place);
                let changed = vec![format!("{step}.rs")];
                Event::Step {
                    step,
                    event: StepEvent::Finished(AttemptFinish {
                        attempt: work.of.number().unwrap_or_default(),
                        end,
                        output: None,
                        usage,
                        changed,
                        account: self.account(),
                    }),
                }
            }
            Kind::Contract if let Some(fault) = fault => {
                Event::Step { step, event: StepEvent::Faulted { of: work.of, fault } }
            }
            Kind::Contract => {
                let observation = self.observation(work.place, work.of);
                let receipt = receipt(observation, format!("run {}", self.points), work.tree);
                Event::Step { step, event: StepEvent::Judged { of: work.of, receipt, broken_by: None } }
            }
        };
        self.ran.entry(event.key().unwrap_or_default()).or_default().push(event.clone());
        event
    }

    /// The error that kept the piece of work from its end, if there was one.
    fn machine_fault(&mut self) -> Option<MachineFault> {
        let is_wild = matches!(self.temper, Temper::Wild);
        if !(self.broken.contains(&self.ended) || is_wild && self.random.once_in(8)) {
            return None;
        }
        let until = (!is_wild || !self.random.once_in(4)).then_some(self.clock + 50);
        Some(MachineFault { why: "no space left".to_owned(), errno: Some(28), until })
    }

    /// What a host makes of an error of the machine that takes it for an answer.
    pub(crate) fn swallowed(&mut self, event: Event) -> Event {
        match event {
            Event::Step { step, event: StepEvent::Finished(finish) }
                if matches!(finish.end, AttemptEnd::Faulted(_)) =>
            {
                let finish = AttemptFinish { end: AttemptEnd::Exited(0), ..finish };
                Event::Step { step, event: StepEvent::Finished(finish) }
            }
            Event::Step { step, event: StepEvent::Faulted { of, .. } } => {
                let code = i32::from(self.random.once_in(2));
                let receipt = receipt(Observation::Exited(code), "never ran".to_owned(), self.tree());
                Event::Step { step, event: StepEvent::Judged { of, receipt, broken_by: None } }
            }
            Event::Step { .. } | Event::Run(_) | Event::Ask { .. } => event,
        }
    }

    fn attempt_end(&mut self) -> (AttemptEnd, Usage) {
        if let Temper::Calm(_) = self.temper {
            return (AttemptEnd::Exited(0), Usage::default());
        }
        let random = &mut self.random;
        let usage = Usage {
            tokens: random.once_in(2).then(|| random.below(200)),
            micro_dollars: random.once_in(3).then(|| random.below(200)),
            milliseconds: random.below(3_000),
        };
        let end = match random.below(16) {
            0..=9 => AttemptEnd::Exited(0),
            10 => AttemptEnd::Exited(1),
            11 => AttemptEnd::Signalled(9),
            12 | 13 => AttemptEnd::TimedOut(600),
            14 => AttemptEnd::Parked {
                why: "out of quota".to_owned(),
                until: Some((self.clock + random.below(500)).saturating_sub(100)),
            },
            _ => AttemptEnd::Parked { why: "no such program".to_owned(), until: None },
        };
        (end, usage)
    }

    fn observation(&mut self, place: usize, of: Judged) -> Observation {
        if let Temper::Calm(codes) = &self.temper {
            let step = &self.state.steps[place];
            if let Judged::Closing(round) = of {
                return Observation::Exited(i32::from(self.breaks.contains(&(step.id.clone(), round))));
            }
            let codes = codes.get(&step.id).map_or(&[0][..], Vec::as_slice);
            let tries = step.history.failed.len();
            return Observation::Exited(codes[tries.min(codes.len() - 1)]);
        }
        if matches!(of, Judged::Closing(_)) && !self.random.once_in(6) {
            return Observation::Exited(0);
        }
        match self.random.below(12) {
            0..=6 => Observation::Exited(0),
            7 | 8 => Observation::Exited(1),
            9 => Observation::Signalled(9),
            10 => Observation::TimedOut(60),
            _ => Observation::NotStarted("no bash".to_owned()),
        }
    }

    /// The driver is dead: what it began dies with it, or lives on until it is buried, or ends where nobody listens.
    pub(crate) fn orphan(&mut self) {
        let mut index = 0;
        while index < self.live.len() {
            if self.live[index].driver == OUTSIDE || self.is_held(&self.live[index]) {
                index += 1;
                continue;
            }
            match (self.random.below(3), self.live[index].kind) {
                (0, Kind::Attempt | Kind::Contract) => drop(self.live.remove(index)),
                (1, Kind::Attempt) => index += 1,
                (_, Kind::Attempt | Kind::Contract) => {
                    let result = self.end(index);
                    self.late.push(result);
                }
            }
        }
    }

    /// People may do something now.
    pub(crate) fn meddle(&mut self) {
        if self.chance_acts == 0 || !self.random.once_in(8) {
            return;
        }
        self.chance_acts -= 1;
        let act = self.random.below(21);
        if act == 20 {
            let by = || "ada".to_owned();
            let agents = AgentCommands::new();
            self.act(&Event::Run(RunEvent::AgentsApproved(AgentsApproval {
                approved_by: by(),
                approved_at: by(),
                agents,
            })));
        } else if act == 0 && self.random.once_in(3) {
            self.act(&Event::Run(RunEvent::Finished {
                outcome: RunOutcome::Cancelled,
                why: "no more".to_owned(),
            }));
        } else if act < 4 {
            let when = self.random.pick(&[StopMode::AfterAttempts, StopMode::Now]);
            self.act(&Event::Run(RunEvent::Stopped { by: "ada".to_owned(), mode: when }));
        } else if act < 6 {
            self.act(&Event::Run(RunEvent::Resumed { by: "ada".to_owned() }));
        } else if act < 7 {
            self.is_edited = true;
        } else if act < 9 {
            let jump = self.random.below(100_000);
            self.clock =
                if self.random.once_in(2) { self.clock.saturating_sub(jump) } else { self.clock + jump };
        } else {
            self.answer();
        }
    }

    /// A person records something, if it fits: they look before they write, in one transaction.
    pub(crate) fn act(&mut self, event: &Event) {
        if self.state.clone().apply(event).is_ok() {
            self.append(event);
        }
    }

    /// A person answers an open ask, if there is one.
    pub(crate) fn answer(&mut self) {
        let names: Vec<String> = self.state.asks.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let ask = self.random.pick(&names);
        let place = self.state.asks[&ask].step;
        let is_manual = place.is_some_and(|place| self.plan.steps[place].contract == Contract::Manual);
        // A person confirms what has no contract, and takes over what has one.
        let judge = if is_manual { AskAnswer::Confirm } else { AskAnswer::TakeOver };
        let answer = match self.temper {
            Temper::Calm(_) => self.calm_answer(&ask, judge),
            Temper::Wild => self.wild_answer(&ask, judge),
        };
        self.answers += 1;
        if let (AskAnswer::TakeOver, Some(place)) = (&answer, place) {
            self.work_on(place);
        }
        self.act(&Event::Ask { ask, event: AskEvent::Answered { answer, by: "ada".to_owned() } });
    }

    fn wild_answer(&mut self, ask: &str, judge: AskAnswer) -> AskAnswer {
        let skip = AskAnswer::Skip { reason: "not needed".to_owned() };
        let is_patient = self.answers < 12;
        match (self.state.asks[ask].reason, is_patient) {
            (AskReason::Budget, true) if self.random.once_in(6) => AskAnswer::Stop,
            (AskReason::Budget, true) => {
                let more = self.random.below(400);
                AskAnswer::Budget { micro_dollars: more, tokens: more, seconds: more / 100 }
            }
            (AskReason::Budget, false) => {
                AskAnswer::Budget { micro_dollars: 1 << 40, tokens: 1 << 40, seconds: 1 << 40 }
            }
            (AskReason::Unsettled, _) => AskAnswer::Retry { hint: String::new() },
            (AskReason::Regressed, true) if self.random.once_in(2) => {
                let step = self.random.pick(&self.plan.steps).id.clone();
                AskAnswer::RetryStep { step, hint: "not like this".to_owned() }
            }
            (
                AskReason::AttemptsSpent
                | AskReason::Manual
                | AskReason::Lost
                | AskReason::Parked
                | AskReason::Stalled
                | AskReason::Question
                | AskReason::Strayed
                | AskReason::Regressed
                | AskReason::Machine,
                true,
            ) => {
                let retry = AskAnswer::Retry { hint: "look again".to_owned() };
                self.random.pick(&[retry.clone(), retry, judge.clone(), judge, skip, AskAnswer::Stop])
            }
            (
                AskReason::AttemptsSpent
                | AskReason::Manual
                | AskReason::Lost
                | AskReason::Parked
                | AskReason::Stalled
                | AskReason::Question
                | AskReason::Strayed
                | AskReason::Regressed
                | AskReason::Machine,
                false,
            ) => skip,
        }
    }

    /// The same question gets the same answer in every schedule.
    fn calm_answer(&self, ask: &str, judge: AskAnswer) -> AskAnswer {
        let open = &self.state.asks[ask];
        let is_same = |event: &&Event| {
            let Event::Ask { event: AskEvent::Opened { step, reason, .. }, .. } = event else { return false };
            *reason == open.reason && open.step.map(|place| &self.plan.steps[place].id) == step.as_ref()
        };
        let asked = self.journal.iter().filter(is_same).count();
        match open.reason {
            AskReason::Budget => {
                AskAnswer::Budget { micro_dollars: 1 << 40, tokens: 1 << 40, seconds: 1 << 40 }
            }
            AskReason::Manual => judge,
            AskReason::AttemptsSpent if asked > 1 => AskAnswer::Skip { reason: "not needed".to_owned() },
            AskReason::AttemptsSpent
            | AskReason::Lost
            | AskReason::Parked
            | AskReason::Stalled
            | AskReason::Question
            | AskReason::Regressed
            | AskReason::Unsettled
            | AskReason::Strayed
            | AskReason::Machine => AskAnswer::Retry { hint: "look again".to_owned() },
        }
    }
}

fn receipt(observation: Observation, output: String, tree: String) -> Receipt {
    let run = ContractRun { expect: None, contract: "c".to_owned(), observation, output, milliseconds: 1 };
    let by = Provenance { digest: "d".to_owned(), tier: "open".to_owned(), tree, ..Provenance::default() };
    Receipt::new(&run, None, by)
}

/// Whether an event is an error of the machine.
fn is_machine(event: &Event) -> bool {
    match event {
        Event::Step { event: StepEvent::Faulted { .. }, .. } => true,
        Event::Step { event: StepEvent::Finished(finish), .. } => {
            matches!(finish.end, AttemptEnd::Faulted(_))
        }
        Event::Step { .. } | Event::Run(_) | Event::Ask { .. } => false,
    }
}

fn meets(plan: &Plan) -> Vec<Vec<bool>> {
    let globs = |place: usize| -> Option<Vec<Glob>> {
        plan.steps[place].touches.as_ref()?.iter().map(|pattern| Glob::new(pattern).ok()).collect()
    };
    let all: Vec<Option<Vec<Glob>>> = (0..plan.steps.len()).map(globs).collect();
    let meet = |one: &Option<Vec<Glob>>, other: &Option<Vec<Glob>>| match (one, other) {
        (Some(one), Some(other)) => {
            one.iter().any(|one| other.iter().any(|other| glob::intersection(one, other).is_some()))
        }
        (None, _) | (_, None) => true,
    };
    all.iter().map(|one| all.iter().map(|other| meet(one, other)).collect()).collect()
}
