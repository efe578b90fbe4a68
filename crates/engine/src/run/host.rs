//! The embedded host: a journal in `SQLite`, agents and contracts as local processes, marks mirrored into the
//! plan file once the verdict is durable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use planwright_core::agent::prompt;
use planwright_core::plan::verified::{Contract, Plan};
use planwright_core::run::event::{
    AskReason, AttemptEnd, AttemptFinish, AttemptStart, Event, Judged, StepEvent,
};
use planwright_core::run::schedule::{Action, outlook};
use planwright_core::run::state::{FailedAttempt, Pending, Regression, RunState, StepState, StepStatus};
use planwright_core::run::summary::RunSummary;
use planwright_core::syntax::source::Source;

use crate::run::checkout;
use crate::run::driver::{Host, HostEvent, Recovered, lost};
use crate::run::mirror::Mirror;
use crate::run::worker;
use crate::run::worker::{Done, Worker, WorkerInput, panicked, unjudged, unmade};
use crate::store::journal;
use crate::store::journal::{
    Append, AppendResult, BEAT_MS, Health, Queued, RunId, RunLock, Store, driver_name,
};
use crate::store::plan_file;
use crate::system::fault::Fault;
use crate::system::process;
use crate::system::process::Stop;

/// How often the journal is polled for what others recorded.
const LOOK: Duration = Duration::from_millis(100);
/// How often workers of other processes are checked.
const WORKERS: Duration = Duration::from_secs(1);
/// How long running work may take to end with its host: longer than killing a process step by step.
const ENDING_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot access the journal")]
    Journal(#[from] journal::Error),
    /// Leftovers of an earlier process cannot be ended.
    #[error("cannot end processes of an earlier run")]
    Process(#[from] process::Error),
    #[error("cannot read what is in the workspace")]
    Tree(#[source] Box<checkout::Error>),
    #[error("cannot update the plan file")]
    Store(#[from] plan_file::Error),
    /// Another process recorded what only the owner of a run may record.
    #[error("{run} is already running in another process")]
    Fenced { run: RunId },
}

/// How a run is executed.
#[derive(Debug, Clone)]
pub struct DriveSetup {
    /// Parallel attempts in this process; workers of other processes make the rest.
    pub workers: usize,
    /// Requested when the user wants to leave.
    pub leave: Stop,
    /// A step on which several agents compete, by id, and how many.
    pub tournament: Option<(String, u32)>,
}

/// An attempt: step index and number.
type Attempt = (usize, u32);
/// A contract: step index and what it judges.
type ContractKey = (usize, Judged);

/// A run on this machine.
pub struct LocalHost {
    worker: Arc<Worker>,
    hands: DriveSetup,
    run: RunId,
    /// The last event that this process has seen.
    seen: u64,
    pub(crate) mirror: Mirror,
    /// Events that others recorded meanwhile.
    foreign: VecDeque<Event>,
    /// The prompts of attempts whose intent is recorded: what is saved is what is delivered.
    prompts: BTreeMap<Attempt, String>,
    /// Bytes to save with the next events.
    blobs: Vec<Vec<u8>>,
    /// Attempts of this process.
    own: BTreeSet<Attempt>,
    /// Contracts running in this process.
    contracts: usize,
    /// Attempts of other processes.
    others: BTreeSet<Attempt>,
    /// Attempts of others that must end. A worker that has just claimed one may not have started it yet.
    ending: BTreeSet<Attempt>,
    /// Attempts of others that we ended.
    ended: BTreeSet<Attempt>,
    results: mpsc::Receiver<Report>,
    report: mpsc::Sender<Report>,
    /// Ends what this process runs.
    stop: Stop,
    is_leaving: bool,
    beaten: Instant,
    visited: Instant,
    /// Released with the host, after everything it ran.
    _rights: [RunLock; 2],
}

/// A report of a thread of this process.
enum Report {
    Attempt(Attempt, Result<Done, String>),
    Contract(ContractKey, Result<Option<Done>, String>),
}

impl LocalHost {
    /// A host for `run`, whose plan is at `path` and was approved as `source`, with the right to run it.
    pub(crate) fn new(
        (worker, rights): (Worker, [RunLock; 2]),
        run: RunId,
        (path, source): (&Path, Source),
        hands: DriveSetup,
    ) -> Self {
        let (report, results) = mpsc::channel();
        let mirror = Mirror::new(path, source, &worker.store, worker.config.limits.plan_bytes);
        Self {
            worker: Arc::new(worker),
            hands,
            run,
            seen: 0,
            mirror,
            foreign: VecDeque::new(),
            prompts: BTreeMap::new(),
            blobs: Vec::new(),
            own: BTreeSet::new(),
            contracts: 0,
            others: BTreeSet::new(),
            ending: BTreeSet::new(),
            ended: BTreeSet::new(),
            results,
            report,
            stop: Stop::new(),
            is_leaving: false,
            beaten: Instant::now(),
            visited: Instant::now(),
            _rights: rights,
        }
    }

    fn store(&self) -> &Store {
        &self.worker.store
    }

    fn plan(&self) -> &Plan {
        &self.worker.plan
    }

    fn is_free(&self) -> bool {
        self.own.len() < self.hands.workers
    }

    /// Reads what others recorded since the last look.
    fn look(&mut self) -> Result<(), Error> {
        for recorded in self.store().events(self.run, self.seen)? {
            self.seen = recorded.seq;
            self.mirror.note(&self.worker.plan, &recorded.event, recorded.at_ms);
            self.foreign.push_back(recorded.event);
        }
        Ok(())
    }

    /// The tag by which all processes of an attempt are found. The slash ends the number: attempt 1 is not
    /// attempt 12.
    fn tag(&self, (step, attempt): Attempt) -> String {
        format!("{}/{}/{attempt}/", self.worker.tag, self.plan().steps[step].id)
    }

    fn attempt(&mut self, (step, attempt): Attempt, told: WorkerInput) {
        let (worker, stop) = (Arc::clone(&self.worker), self.stop.clone());
        let (report, unable) = (self.report.clone(), self.report.clone());
        let id = self.plan().steps[step].id.clone();
        self.own.insert((step, attempt));
        let work = move || worker.attempt(&worker.plan.steps[step], attempt, &told, &stop);
        // The receiver lives as long as the host; a host that is gone needs no report.
        let report = move |done| drop(report.send(Report::Attempt((step, attempt), done)));
        if let Err(fault) = worker::begin(&id, work, report) {
            unable.send(Report::Attempt((step, attempt), Ok(unmade(&id, attempt, fault)))).ok();
        }
    }

    fn contract(&mut self, (step, of): ContractKey, state: &StepState) {
        let (worker, stop, run) = (Arc::clone(&self.worker), self.stop.clone(), self.run);
        let (report, unable) = (self.report.clone(), self.report.clone());
        let (changed, strayed) = (state.status.changed().to_vec(), state.history.strayed.clone());
        let id = self.plan().steps[step].id.clone();
        self.contracts += 1;
        let look = move || {
            let own = &worker.plan.steps[step];
            match of {
                Judged::Claim => worker.contract((own, 0), (&changed, &strayed), &stop),
                Judged::Attempt(attempt) => worker.contract((own, attempt), (&changed, &strayed), &stop),
                Judged::Closing(round) => worker.recheck((own, round), run, &stop),
            }
        };
        let report = move |done| drop(report.send(Report::Contract((step, of), done)));
        if let Err(fault) = worker::begin(&id, look, report) {
            unable.send(Report::Contract((step, of), Ok(Some(unjudged(&id, of, fault))))).ok();
        }
    }

    /// What a thread of this process has to report, if anything comes within the time.
    fn report(&mut self, patience: Duration) -> Option<Result<HostEvent, Error>> {
        let ((step, of), done) = match self.results.recv_timeout(patience) {
            Ok(Report::Attempt((step, attempt), done)) => {
                self.own.remove(&(step, attempt));
                let of = Judged::Attempt(attempt);
                let end = |id: &str, fault| panicked(id, attempt, fault);
                ((step, of), done.map(Some).or_else(|panic| self.unfinished((step, of), &panic, end)))
            }
            Ok(Report::Contract((step, of), done)) => {
                self.contracts -= 1;
                let end = |id: &str, fault| unjudged(id, of, fault);
                ((step, of), done.or_else(|panic| self.unfinished((step, of), &panic, end)))
            }
            Err(mpsc::RecvTimeoutError::Timeout | mpsc::RecvTimeoutError::Disconnected) => return None,
        };
        Some(done.map(|done| match done {
            None => HostEvent::Dropped { step, of },
            Some(done) => {
                self.blobs.extend(done.blobs);
                HostEvent::Ended(Box::new(done.event))
            }
        }))
    }

    /// What comes of work whose thread panicked: nothing of it is alive, and nothing is known of it.
    fn unfinished(
        &self,
        (step, of): ContractKey,
        panic: &str,
        end: impl Fn(&str, Fault) -> Done,
    ) -> Result<Option<Done>, Error> {
        process::reclaim(&format!("{}/{}/{of}/", self.worker.tag, self.plan().steps[step].id))?;
        let why = format!("internal error, please report it: {panic}");
        Ok(Some(end(&self.plan().steps[step].id, Fault { why, errno: None })))
    }

    /// What other processes delivered, or that one of them died.
    fn visit(&mut self) -> Result<Option<HostEvent>, Error> {
        if self.others.is_empty() {
            return Ok(None);
        }
        self.end_others()?;
        for event in self.store().delivered(self.run)? {
            let Some(key) = self.key_of(&event).filter(|key| self.others.remove(key)) else { continue };
            let event = if self.ended.remove(&key) { stopped(event) } else { event };
            return Ok(Some(HostEvent::Ended(Box::new(event))));
        }
        if self.visited.elapsed() < WORKERS {
            return Ok(None);
        }
        self.visited = Instant::now();
        for queued in self.store().queue()?.into_iter().filter(|queued| queued.run == self.run) {
            let Some(lease) = queued.lease.filter(|lease| !lease.is_delivered) else { continue };
            let place = self.plan().steps.iter().position(|step| step.id == queued.step);
            let Some(key) = place.map(|place| (place, queued.attempt)) else { continue };
            if self.others.contains(&key) && self.store().health(&lease, self.now())? == Health::Dead {
                process::reclaim(&self.tag(key))?;
                self.others.remove(&key);
                return Ok(Some(HostEvent::Ended(Box::new(lost(&queued.step, queued.attempt)))));
            }
        }
        Ok(None)
    }

    /// Ends attempts of other processes that must end, as far as they have started.
    fn end_others(&mut self) -> Result<(), Error> {
        self.ending.retain(|key| self.others.contains(key));
        for key in self.ending.clone() {
            if process::reclaim(&self.tag(key))? > 0 {
                self.ended.insert(key);
            }
        }
        Ok(())
    }

    /// Withdraws an attempt that no worker has claimed yet; returns whether there was one. It is reported
    /// like any other.
    fn withdraw(&mut self, (step, attempt): Attempt) -> Result<bool, Error> {
        let id = self.plan().steps[step].id.clone();
        let claim = (self.run, id.as_str(), attempt);
        let is_ours = self.store().claim_this(&driver_name(self.run), claim, self.now())?.is_some();
        if is_ours {
            self.others.remove(&(step, attempt));
            self.own.insert((step, attempt));
            let done = Done { event: stopped(lost(&id, attempt)), blobs: Vec::new() };
            self.report.send(Report::Attempt((step, attempt), Ok(done))).expect("the host has the other end");
        }
        Ok(is_ours)
    }

    fn key_of(&self, event: &Event) -> Option<Attempt> {
        let place = self.plan().steps.iter().position(|step| event.step() == Some(step.id.as_str()))?;
        Some((place, event.attempt()?))
    }

    /// Periodic work while waiting.
    fn keep_house(&mut self) -> Result<(), Error> {
        if self.mirror.due() == Some(Duration::ZERO) {
            self.mirror.settle();
        }
        if !self.own.is_empty() && self.beaten.elapsed() >= Duration::from_millis(BEAT_MS) {
            self.beaten = Instant::now();
            self.store().beat_all(&driver_name(self.run), self.now())?;
        }
        self.look()
    }
}

/// What this process runs ends with its host. A thread may be about to start a process that is not visible
/// yet, so looking for processes would not find it.
impl Drop for LocalHost {
    fn drop(&mut self) {
        self.stop.request();
        while !(self.own.is_empty() && self.contracts == 0) && self.report(ENDING_MAX).is_some() {}
    }
}

/// The result of another process's attempt that we ended.
fn stopped(mut event: Event) -> Event {
    if let Event::Step { event: StepEvent::Finished(AttemptFinish { end, .. }), .. } = &mut event {
        *end = AttemptEnd::Stopped;
    }
    event
}

impl Host for LocalHost {
    type Error = Error;

    fn history(&mut self) -> Result<Vec<Event>, Error> {
        let recorded = self.store().events(self.run, 0)?;
        self.seen = recorded.last().map_or(0, |last| last.seq);
        self.foreign.clear();
        Ok(recorded.into_iter().map(|recorded| recorded.event).collect())
    }

    fn record(&mut self, state: &RunState, events: &[Event]) -> Result<Vec<Event>, Error> {
        loop {
            if !self.foreign.is_empty() {
                return Ok(self.foreign.drain(..).collect());
            }
            let at_ms = self.now();
            let addition = Append {
                after: self.seen,
                events,
                blobs: self.blobs.clone(),
                claim_for: self.is_free().then(|| driver_name(self.run)),
                tally: Some(RunSummary::of(self.plan(), state)),
                at_ms,
            };
            match self.store().add(self.run, addition)? {
                AppendResult::Written { seq } => {
                    self.seen = seq;
                    self.blobs.clear();
                    for event in events {
                        self.mirror.note(&self.worker.plan, event, at_ms);
                    }
                    return Ok(Vec::new());
                }
                AppendResult::Moved => self.look()?,
                // Whoever recorded it is not the driver: it is told what was recorded.
                AppendResult::Known => {
                    self.look()?;
                    if self.foreign.is_empty() {
                        return Err(Error::Fenced { run: self.run });
                    }
                }
            }
        }
    }

    fn intend(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Event, Error> {
        let feedback = self.worker.feedback(&state.steps[step], &self.blobs);
        let known = &self.plan().steps[step];
        let prompt = prompt::prompt(known, &self.worker.context(known), &feedback);
        let intent = Event::Step {
            step: known.id.clone(),
            event: StepEvent::Started(AttemptStart {
                attempt,
                agent: self.worker.agent_name(known),
                prompt: journal::blob_of(prompt.as_bytes()),
            }),
        };
        self.blobs.push(prompt.clone().into_bytes());
        self.prompts.insert((step, attempt), prompt);
        Ok(intent)
    }

    fn question(&mut self, state: &RunState, ask: &Action) -> Result<String, Error> {
        let Action::Ask { step, reason, .. } = ask else { return Ok(String::new()) };
        Ok(match (step, reason) {
            (Some(place), AskReason::AttemptsSpent) => self.failure(&state.steps[*place]),
            (Some(place), AskReason::Manual) => {
                let step = &self.plan().steps[*place];
                let by_whom = if step.contract == Contract::Manual {
                    "Confirm that this is done"
                } else {
                    "Do this; the contract decides"
                };
                format!("{by_whom}: {}", step.task)
            }
            (_, AskReason::Lost) => {
                "Attempts were interrupted too often: planwright died while the agent was working.".to_owned()
            }
            (Some(place), AskReason::Parked) => {
                let why = self.worker.can_run(&self.plan().steps[*place]).err();
                let pending = &state.steps[*place].status;
                let said = if let StepStatus::Pending(Pending::Unavailable { why, .. }) = pending {
                    Some(why.clone()).filter(|why| !why.is_empty())
                } else {
                    None
                };
                why.or(said).unwrap_or_else(|| "The agent is unavailable.".to_owned())
            }
            (_, AskReason::Budget) => format!("The budget is used up: {}.", outlook(self.plan(), state)),
            (Some(place), AskReason::Question) => {
                let pending = &state.steps[*place].status;
                if let StepStatus::Pending(Pending::Retry { question: Some(question) }) = pending {
                    question.clone()
                } else {
                    String::new()
                }
            }
            (Some(place), AskReason::Strayed) => {
                let paths: Vec<&str> =
                    state.steps[*place].history.strayed.iter().map(String::as_str).collect();
                format!(
                    "An attempt changed files outside its scope: {}. Undo what should not stay; no contract runs before you answer.",
                    paths.join(", ")
                )
            }
            (Some(place), AskReason::Regressed) => self.regression(&state.steps[*place]),
            (_, AskReason::Unsettled) => {
                "Contracts change files that are not ignored, so no content has a verdict of all of them. Make them only look, or ignore what they write.".to_owned()
            }
            (Some(place), AskReason::Machine) => {
                let step = &state.steps[*place];
                let why = step.status.fault().map(|fault| fault.why.as_str()).unwrap_or_default();
                format!("The machine failed: {why}. No attempt was counted; answer retry once that is fixed.")
            }
            (_, AskReason::Stalled)
            | (
                None,
                AskReason::AttemptsSpent
                | AskReason::Regressed
                | AskReason::Manual
                | AskReason::Parked
                | AskReason::Question
                | AskReason::Strayed
                | AskReason::Machine,
            ) => String::new(),
        })
    }

    fn tree(&mut self) -> Result<String, Error> {
        self.worker.final_tree().map_err(|error| Error::Tree(Box::new(error)))
    }

    fn begin(&mut self, state: &RunState, command: &Action) -> Result<(), Error> {
        match *command {
            Action::Attempt { step, attempt } => {
                let prompt =
                    self.prompts.remove(&(step, attempt)).expect("an attempt is intended before it begins");
                if self.is_free() {
                    let feedback =
                        self.worker.feedback(&state.steps[step], &self.blobs).text(&self.plan().steps[step]);
                    self.attempt((step, attempt), WorkerInput { prompt, feedback });
                } else {
                    self.others.insert((step, attempt));
                }
            }
            Action::Contract { step, of } => {
                self.contract((step, of), &state.steps[step]);
            }
            Action::Ask { .. }
            | Action::Close { .. }
            | Action::Warn { .. }
            | Action::Wake { .. }
            | Action::Finish { .. } => {}
        }
        Ok(())
    }

    fn recover(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Recovered, Error> {
        let key = (step, attempt);
        let id = self.plan().steps[step].id.clone();
        let is_it = |queued: &Queued| {
            (queued.run, queued.step.as_str(), queued.attempt) == (self.run, id.as_str(), attempt)
        };
        let queued = self.store().queue()?.into_iter().find(is_it).filter(|_| state.outcome().is_none());
        let is_alive = match &queued {
            None => false,
            Some(Queued { lease: None, .. }) => true,
            Some(Queued { lease: Some(lease), .. }) if lease.is_delivered => true,
            // The process that claimed it under this name is dead: we hold its lock.
            Some(Queued { lease: Some(lease), .. }) if lease.worker == driver_name(self.run) => false,
            Some(Queued { lease: Some(lease), .. }) => {
                self.store().health(lease, self.now())? != Health::Dead
            }
        };
        if !is_alive {
            process::reclaim(&self.tag(key))?;
            return Ok(Recovered::Dead);
        }
        let claim = (self.run, id.as_str(), attempt);
        let claim = match self.is_free() {
            true => self.store().claim_this(&driver_name(self.run), claim, self.now())?,
            false => None,
        };
        match claim {
            Some(claim) => {
                let prompt = String::from_utf8_lossy(&self.store().get(&claim.prompt)?).into_owned();
                let feedback =
                    self.worker.feedback(&state.steps[step], &self.blobs).text(&self.plan().steps[step]);
                self.attempt(key, WorkerInput { prompt, feedback });
            }
            None => drop(self.others.insert(key)),
        }
        Ok(Recovered::UnderWay)
    }

    fn interrupt(&mut self) -> Result<(), Error> {
        self.stop.request();
        // Later starts are not affected.
        self.stop = Stop::new();
        for key in self.others.clone() {
            if !self.withdraw(key)? {
                self.ending.insert(key);
            }
        }
        self.end_others()
    }

    fn next(&mut self, wake: Option<u64>) -> Result<HostEvent, Error> {
        loop {
            if !self.foreign.is_empty() {
                return Ok(HostEvent::Recorded(self.foreign.drain(..).collect()));
            }
            if self.hands.leave.is_requested() && !self.is_leaving {
                self.is_leaving = true;
                self.stop.request();
                return Ok(HostEvent::Leave);
            }
            if self.is_leaving && self.own.is_empty() && self.contracts == 0 {
                return Ok(HostEvent::Left);
            }
            let patience = self.mirror.due().map_or(LOOK, |due| due.min(LOOK));
            if let Some(happening) = self.report(patience) {
                return happening;
            }
            self.keep_house()?;
            if let Some(happening) = self.visit()? {
                return Ok(happening);
            }
            if wake.is_some_and(|at| self.now() >= at) {
                return Ok(HostEvent::Time);
            }
        }
    }

    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn is_current(&mut self) -> Result<bool, Error> {
        Ok(self.mirror.is_current()?)
    }
}

impl LocalHost {
    /// The question about a step whose contract passed and fails on the final tree.
    fn regression(&self, step: &StepState) -> String {
        let feedback = self.worker.feedback(step, &self.blobs);
        let culprit = match step.history.regressed() {
            Some(Regression::BrokenBy(Some(culprit))) => self.named(culprit),
            Some(Regression::BrokenBy(None) | Regression::Broke(_)) | None => "a later change".to_owned(),
        };
        let failure = &feedback.failure;
        format!(
            "The contract passed, but fails on the final tree ({failure}): {culprit} broke it.\n{}",
            feedback.output
        )
    }

    /// A step as people know it.
    fn named(&self, id: &str) -> String {
        let number = self.plan().steps.iter().find(|step| step.id == id).map(|step| step.number);
        number.map_or_else(|| format!("step `{id}`"), |number| format!("step {number} `{id}`"))
    }

    /// The question about a step whose attempts are spent: the verdict, what was tried, and whether the
    /// failure is always the same.
    fn failure(&self, step: &StepState) -> String {
        let feedback = self.worker.feedback(step, &self.blobs);
        let same = match step.history.same_failure() {
            0 | 1 => String::new(),
            times => format!(" The same failure {times} times."),
        };
        let times = match step.history.failures() {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        let mut text = format!("The contract failed {times}: {}.{same}\n", feedback.failure);
        for FailedAttempt { attempt, failure, changed, .. } in &step.history.failed {
            let changed = if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") };
            text.push_str(&format!("attempt {attempt} changed {changed}: {failure}\n"));
        }
        text + &feedback.output
    }
}
