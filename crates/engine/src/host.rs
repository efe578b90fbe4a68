//! The embedded host: a journal in `SQLite`, agents and contracts as processes of this machine, marks mirrored into the plan
//! file after the verdict is durable.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use planwright_core::change::Change;
use planwright_core::decide::Command;
use planwright_core::dialect;
use planwright_core::draft::{Draft, Mark};
use planwright_core::event::{Event, Outcome, Reason};
use planwright_core::plan::{Contract, Plan};
use planwright_core::prompt;
use planwright_core::run::{RunState, Status};
use planwright_core::source::{self, Source};

use crate::driver::{Happening, Host};
use crate::process;
use crate::store::journal::{self, Appended, RunId, Store};
use crate::store::{self, Text};
use crate::worker::{self, Worker};

/// How often the journal is looked at for what others recorded.
const LOOK: Duration = Duration::from_millis(100);
/// How often a mark is tried again when somebody edits the plan at the same time.
const MIRROR_TRIES: usize = 5;

/// What can go wrong with the embedded host.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The journal can't be read or written.
    #[error("the journal failed")]
    Journal(#[from] journal::Error),
    /// What an earlier driver left behind can't be ended.
    #[error("processes of an earlier driver can't be ended")]
    Process(#[from] process::Error),
    /// The plan file can't be read.
    #[error("the plan file failed")]
    Store(#[from] store::Error),
    /// Another process recorded what only one driver may record.
    #[error("another driver is at work on {run}")]
    Fenced {
        /// The run.
        run: RunId,
    },
}

/// A run on this machine.
pub struct Embedded {
    pub(crate) worker: Arc<Worker>,
    run: RunId,
    /// The last event that this driver has seen.
    seen: u64,
    /// The plan file.
    path: PathBuf,
    /// A text of it that means what was approved: the last such one that this driver saw or wrote.
    text: String,
    /// What others recorded while we did.
    foreign: VecDeque<Event>,
    /// What the agent of an attempt whose intent is recorded will be told: what is kept is what is delivered.
    prompts: BTreeMap<(usize, u32), String>,
    results: mpsc::Receiver<Result<Event, journal::Error>>,
    report: mpsc::Sender<Result<Event, journal::Error>>,
    /// What went wrong with the mirror in the plan file; nothing is lost by it.
    pub complaints: Vec<String>,
}

impl Embedded {
    /// A host for `run`, whose plan file is `path` and reads `text` now.
    pub fn new(worker: Arc<Worker>, run: RunId, path: PathBuf, text: String) -> Self {
        let (report, results) = mpsc::channel();
        Self {
            worker,
            run,
            seen: 0,
            path,
            text,
            foreign: VecDeque::new(),
            prompts: BTreeMap::new(),
            results,
            report,
            complaints: Vec::new(),
        }
    }

    fn store(&self) -> &Store {
        &self.worker.store
    }

    fn plan(&self) -> &Plan {
        &self.worker.plan
    }

    /// Takes over what others recorded since we last looked.
    fn look(&mut self) -> Result<(), Error> {
        for recorded in self.store().events(self.run, self.seen)? {
            self.seen = recorded.seq;
            self.foreign.push_back(recorded.event);
        }
        Ok(())
    }

    /// Mirrors what was recorded into the plan file. The journal is the truth: a mirror that can't be set is only said.
    fn mirror(&mut self, event: &Event) {
        let change = match event {
            Event::ContractFinished { step, receipt, .. } => {
                self.mark(step, receipt.verdict.is_passed().then_some(Mark::Done))
            }
            Event::RunFinished { outcome: Outcome::Done, .. } => Some(set_status("done")),
            Event::RunFinished { outcome: Outcome::Failed | Outcome::Cancelled, .. } => {
                Some(set_status("failed"))
            }
            Event::RunStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::AttemptFinished { .. }
            | Event::AskOpened { .. }
            | Event::AskAnswered { .. }
            | Event::BudgetWarned { .. }
            | Event::RunStopped { .. }
            | Event::RunResumed { .. } => None,
        };
        if let Some(change) = change
            && let Err(why) = self.change_file(&change)
        {
            self.complain(&why);
        }
    }

    /// Mirrors where the run stands: what a person settled while nobody drove it, and what a driver that died had no time for.
    pub fn mirror_state(&mut self, state: &RunState) {
        let passed =
            state.steps.iter().enumerate().filter(|(_, step)| matches!(step.status, Status::Passed { .. }));
        let marks = passed.map(|(step, _)| Change::Mark { step, mark: Some(Mark::Done) });
        let status = match state.outcome() {
            None => "in-progress",
            Some(Outcome::Done) => "done",
            Some(Outcome::Failed | Outcome::Cancelled) => "failed",
        };
        for change in marks.chain([set_status(status)]).collect::<Vec<_>>() {
            if let Err(why) = self.change_file(&change) {
                self.complain(&why);
                return;
            }
        }
    }

    fn complain(&mut self, why: &str) {
        let complaint = format!("{} was not marked: {why}", self.path.display());
        if !self.complaints.contains(&complaint) {
            self.complaints.push(complaint);
        }
    }

    fn mark(&self, step: &str, mark: Option<Mark>) -> Option<Change> {
        let place = self.plan().steps.iter().position(|known| known.id == step)?;
        Some(Change::Mark { step: place, mark })
    }

    fn change_file(&mut self, change: &Change) -> Result<(), String> {
        for _ in 0..MIRROR_TRIES {
            let text = match store::read(&self.path, "plan", self.worker.config.limits.plan_bytes)
                .map_err(|error| error.to_string())?
            {
                Text::Plan(source) => source,
                Text::Unreadable(unreadable) => return Err(unreadable.diagnostic.message),
            };
            // Where the plan says something else now, the same place may be another step.
            if text.text() != self.text && meaning(text.text()) != meaning(&self.text) {
                return Err("it was edited meanwhile".to_owned());
            }
            let edits = match dialect::of(text.text()).patch(&text, change) {
                Ok(edits) => edits,
                Err(refusal) => return Err(refusal.to_string()),
            };
            let new = source::apply(text.text(), &edits);
            if new == text.text() {
                return Ok(());
            }
            match store::replace(&self.path, text.text(), &new) {
                Ok(()) => {
                    self.text = new;
                    return Ok(());
                }
                Err(store::Error::Moved { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("somebody keeps editing it".to_owned())
    }
}

fn set_status(status: &str) -> Change {
    Change::Set { key: "status".to_owned(), value: status.to_owned() }
}

/// What a plan says apart from what the harness writes into it.
pub(crate) fn meaning(text: &str) -> Draft {
    let source = Source::new("plan", text);
    let mut draft = (dialect::of(text).parse)(&source);
    draft.frontmatter.entries.retain(|entry| entry.key.value != "status");
    draft.notes.clear();
    draft.steps.iter_mut().for_each(|step| step.marks.clear());
    draft
}

impl Host for Embedded {
    type Error = Error;

    fn history(&mut self) -> Result<Vec<Event>, Error> {
        let recorded = self.store().events(self.run, 0)?;
        self.seen = recorded.last().map_or(0, |last| last.seq);
        Ok(recorded.into_iter().map(|recorded| recorded.event).collect())
    }

    fn record(&mut self, events: &[Event]) -> Result<Vec<Event>, Error> {
        loop {
            if !self.foreign.is_empty() {
                return Ok(self.foreign.drain(..).collect());
            }
            match self.store().append(self.run, self.seen, events, self.now())? {
                Appended::Written { seq } => {
                    self.seen = seq;
                    for event in events {
                        self.mirror(event);
                    }
                    return Ok(Vec::new());
                }
                Appended::Moved => self.look()?,
                Appended::Known => return Err(Error::Fenced { run: self.run }),
            }
        }
    }

    fn intend(&mut self, state: &RunState, step: usize, attempt: u32) -> Result<Event, Error> {
        let prompt = self.prompt(state, step);
        let blob = self.store().put(prompt.as_bytes())?;
        self.prompts.insert((step, attempt), prompt);
        let step = &self.plan().steps[step];
        let agent = self.worker.agent_name(step);
        Ok(Event::AttemptStarted { step: step.id.clone(), attempt, agent, prompt: blob })
    }

    fn question(&mut self, state: &RunState, ask: &Command) -> Result<String, Error> {
        let Command::Ask { step, reason, .. } = ask else { return Ok(String::new()) };
        Ok(match (step, reason) {
            (Some(place), Reason::AttemptsSpent) => {
                let feedback = self.worker.feedback(&state.steps[*place]);
                let same = state.steps[*place].same_failure;
                let same = if same > 1 { format!(" The same failure {same} times.") } else { String::new() };
                format!(
                    "The contract failed {} times: {}.{same}\n{}",
                    state.steps[*place].failures, feedback.failure, feedback.output
                )
            }
            (Some(place), Reason::Manual) => {
                let step = &self.plan().steps[*place];
                let by_whom = if step.contract == Contract::Manual {
                    "Confirm that it is done"
                } else {
                    "Do it; the contract judges"
                };
                format!("{by_whom}: {}", step.task)
            }
            (_, Reason::Lost) => {
                "Attempts were lost too often: the harness died while the agent was at work.".to_owned()
            }
            (Some(place), Reason::Parked) => {
                let why = self.worker.can_run(&self.plan().steps[*place]).err();
                why.unwrap_or_else(|| "The agent can't be had.".to_owned())
            }
            (_, Reason::Budget) => {
                let left = state.steps.iter().filter(|step| !step.status.is_settled()).count();
                format!("The budget is spent, {left} steps are left.")
            }
            (None, Reason::AttemptsSpent | Reason::Manual | Reason::Parked) => String::new(),
        })
    }

    fn begin(&mut self, state: &RunState, command: &Command) -> Result<(), Error> {
        let worker = Arc::clone(&self.worker);
        let report = self.report.clone();
        // The receiver lives as long as the host; a host that is gone needs no report.
        match *command {
            Command::Attempt { step, attempt } => {
                let prompt =
                    self.prompts.remove(&(step, attempt)).expect("an attempt is intended before it begins");
                let feedback = self.worker.feedback(&state.steps[step]).text(&self.plan().steps[step]);
                std::thread::spawn(move || {
                    report.send(worker.attempt(&worker.plan.steps[step], attempt, &prompt, &feedback)).ok();
                });
            }
            Command::Contract { step, attempt } => {
                std::thread::spawn(move || {
                    report.send(worker.contract(&worker.plan.steps[step], attempt)).ok();
                });
            }
            Command::Ask { .. } | Command::Warn { .. } | Command::Wake { .. } | Command::Finish { .. } => {}
        }
        Ok(())
    }

    fn bury(&mut self, step: usize, attempt: u32) -> Result<(), Error> {
        // The slash ends the number: attempt 1 is not attempt 12.
        process::reclaim(&format!("{}/{}/{attempt}/", self.worker.tag, self.plan().steps[step].id))?;
        Ok(())
    }

    fn next(&mut self, wake: Option<u64>) -> Result<Happening, Error> {
        loop {
            if !self.foreign.is_empty() {
                return Ok(Happening::Recorded(self.foreign.drain(..).collect()));
            }
            match self.results.recv_timeout(LOOK) {
                Ok(Ok(event)) if self.worker.stop.is_requested() && worker::is_interrupted(&event) => {
                    return Ok(Happening::Leave);
                }
                Ok(Ok(event)) => return Ok(Happening::Ended(event)),
                Ok(Err(error)) => return Err(error.into()),
                Err(mpsc::RecvTimeoutError::Timeout | mpsc::RecvTimeoutError::Disconnected) => {}
            }
            self.look()?;
            if wake.is_some_and(|at| self.now() >= at) {
                return Ok(Happening::Time);
            }
        }
    }

    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn is_current(&mut self) -> Result<bool, Error> {
        let text = match store::read(&self.path, "plan", self.worker.config.limits.plan_bytes) {
            Ok(Text::Plan(source)) => source.text().to_owned(),
            Ok(Text::Unreadable(_)) | Err(store::Error::Missing { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if text == self.text {
            return Ok(true);
        }
        let is_same = meaning(&text) == meaning(&self.text);
        if is_same {
            self.text = text;
        }
        Ok(is_same)
    }
}

impl Embedded {
    fn prompt(&self, state: &RunState, step: usize) -> String {
        let feedback = self.worker.feedback(&state.steps[step]);
        let step = &self.plan().steps[step];
        prompt::prompt(step, &self.worker.context(step), &feedback)
    }
}
