//! What is recorded of a run: its events, and prompt, agent output and contract output of each attempt. Reads only.

use std::time::Duration;

use planwright_core::agent::account::Account;
use planwright_core::agent::finding;
use planwright_core::agent::profile;
use planwright_core::agent::report;
use planwright_core::agent::report::ReportLine;
use planwright_core::run::event::{AskEvent, Event, Judged, RunEvent, StepEvent};
use planwright_core::run::receipt::Blob;
use planwright_core::workspace::notification::Notification;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::target::{PlanRun, step_of_run};
use crate::api::workspace::Workspace;
use crate::run;
use crate::store::journal;
use crate::store::journal::{RecordedEvent, RunId};

/// Time to wait for events before checking whether the run still has a process.
const LOOK: Duration = Duration::from_millis(250);

#[derive(Debug, Serialize, JsonSchema)]
pub struct LogView {
    /// The plan.
    pub plan: String,
    /// The number of the run.
    pub run: i64,
    /// The events, oldest first. With `--follow` each has an envelope of its own instead.
    pub events: Vec<LogEntryView>,
    /// The text that was asked for.
    pub text: Option<String>,
    /// The attempt that was asked for, whole.
    pub attempt: Option<AttemptView>,
}

/// One event.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogEntryView {
    /// Its place in the journal.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened.
    pub event: Value,
    /// Where the time went, with the verdict on an attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<AttemptTimes>,
}

/// Where the time of an attempt went, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AttemptTimes {
    /// From its dispatch to the verdict.
    pub total_ms: u64,
    /// The agent worked.
    pub agent_ms: u64,
    /// The contract ran.
    pub contract_ms: u64,
    /// The rest: for a worker, a place to work in, a reviewer or the disk.
    pub waiting_ms: u64,
}

impl AttemptTimes {
    /// The times of the attempt that this event judges, if it does.
    fn of(events: &[RecordedEvent], judged: &RecordedEvent) -> Option<Self> {
        let Event::Step { step, event: StepEvent::Judged { of, receipt, .. } } = &judged.event else {
            return None;
        };
        let attempt = of.number()?;
        let own = |event: &Event| event.step() == Some(step) && event.attempt() == Some(attempt);
        let mut own =
            events.iter().rev().filter(|recorded| recorded.seq < judged.seq && own(&recorded.event));
        let agent_ms = own.find_map(|recorded| match &recorded.event {
            Event::Step { event: StepEvent::Finished(finish), .. } => Some(finish.usage.milliseconds),
            Event::Step {
                event: StepEvent::Started(_) | StepEvent::Judged { .. } | StepEvent::Faulted { .. },
                ..
            }
            | Event::Run(_)
            | Event::Ask { .. } => None,
        })?;
        let began =
            own.find(|recorded| matches!(recorded.event, Event::Step { event: StepEvent::Started(_), .. }))?;
        let contract_ms = receipt.milliseconds;
        // Clocks may be set back meanwhile; what was measured counts.
        let total_ms = judged.at_ms.saturating_sub(began.at_ms).max(agent_ms.saturating_add(contract_ms));
        Some(Self { total_ms, agent_ms, contract_ms, waiting_ms: total_ms - agent_ms - contract_ms })
    }
}

/// Everything that is kept of an attempt.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AttemptView {
    /// The step.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// The session of the agent, by which a person can look into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that did the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the agent was told.
    pub prompt: Option<String>,
    /// What the agent said.
    pub output: Option<String>,
    /// What the contract printed.
    pub contract: Option<String>,
    /// What the agent reported, one per line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<String>,
    /// What a reviewer found, one per line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Whether it is the contract of a step that was marked as done.
    #[serde(skip)]
    pub is_claim: bool,
    #[serde(skip)]
    pub account: Account,
    /// The command by which a person looks into the session.
    #[serde(skip)]
    pub resume: Option<String>,
    /// What was recorded, but is no longer kept.
    #[serde(skip)]
    pub dropped: Vec<AttemptPart>,
}

/// What can be kept of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptPart {
    Prompt,
    Agent,
    Contract,
}

impl AttemptPart {
    /// The part, if this event has it.
    fn kept(self, event: &Event) -> Option<&Blob> {
        let Event::Step { event, .. } = event else { return None };
        match (self, event) {
            (Self::Prompt, StepEvent::Started(start)) => Some(&start.prompt),
            (Self::Agent, StepEvent::Finished(finish)) => finish.output.as_ref(),
            (Self::Contract, StepEvent::Judged { receipt, .. }) => Some(&receipt.output),
            (Self::Prompt | Self::Agent | Self::Contract, _) => None,
        }
    }
}

/// What was recorded in the place of a part.
pub enum RecordedPart {
    /// Nothing.
    Missing,
    /// Something with this hash that was deleted.
    Dropped(String),
    Kept(Vec<u8>),
}

/// The log of a run, of a step or of an attempt.
pub struct RunLog {
    found: PlanRun,
    step: Option<String>,
    attempt: Option<u32>,
}

impl Workspace {
    /// The log that `address` means: `PLAN`, `PLAN/STEP` or `PLAN/STEP@N`, of the run with this number or the newest.
    pub fn log(&self, address: &str, run: Option<i64>) -> Result<RunLog, Error> {
        let (plan, attempt) = attempt_of(address)?;
        let mut found = self.run_of(plan)?;
        let id = |found: &PlanRun| found.step.map(|place| found.run.plan.steps[place].id.clone());
        if let Some(number) = run {
            // The step may have another place there.
            let step = id(&found);
            found.run = found.older(number)?;
            found.step = step.map(|step| step_of_run(&found.run, &step)).transpose()?;
        }
        let step = id(&found);
        if attempt.is_some() && step.is_none() {
            return Err(Error::new(ErrorKind::Usage, format!("`{address}` has an attempt but no step"))
                .hint("use PLAN/STEP@N")
                .next(NextCommand::new(["planwright", "log", plan])));
        }
        let log = RunLog { found, step, attempt };
        log.check_attempt()?;
        Ok(log)
    }
}

/// The plan or step, and the attempt.
fn attempt_of(address: &str) -> Result<(&str, Option<u32>), Error> {
    let Some((address, attempt)) = address.rsplit_once('@') else { return Ok((address, None)) };
    match attempt.parse() {
        Ok(number) => Ok((address, Some(number))),
        Err(_) => Err(Error::new(ErrorKind::Usage, format!("invalid attempt `{attempt}`"))
            .hint("attempts start at 1")
            .next(NextCommand::new(["planwright", "help", "log"]))),
    }
}

impl PlanRun {
    /// An older run of the same plan.
    fn older(&self, number: i64) -> Result<run::Run, Error> {
        let rows = self.runs.store().runs_of(&self.run.row.plan).map_err(run::Error::from)?;
        let numbers: Vec<i64> = rows.iter().map(|row| row.id.number()).collect();
        if !numbers.contains(&number) {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            return Err(Error::new(ErrorKind::Usage, format!("{} has no run {number}", self.name()))
                .hint(format!("its runs are {}", numbers.join(", ")))
                .next(NextCommand::new(["planwright", "log", self.shown().as_str()])));
        }
        Ok(self.runs.run(RunId::new(number))?)
    }
}

/// Takes an event as it happens, or nothing after each look, and says whether somebody still listens.
pub type FollowedEvent<'a> = dyn FnMut(Option<(&RecordedEvent, Notification)>) -> bool + 'a;

impl RunLog {
    /// The name of the plan.
    pub fn name(&self) -> &str {
        self.found.name()
    }

    /// Rejects an unknown attempt and lists the known ones.
    fn check_attempt(&self) -> Result<(), Error> {
        let (Some(step), Some(attempt)) = (&self.step, self.attempt) else { return Ok(()) };
        let events = self.found.run.events.iter().map(|recorded| &recorded.event);
        let mut known: Vec<u32> =
            events.filter(|event| event.step() == Some(step)).filter_map(Event::attempt).collect();
        known.sort_unstable();
        known.dedup();
        if known.contains(&attempt) {
            return Ok(());
        }
        let name = format!("{}/{step}", self.name());
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        let hint = match known.is_empty() {
            true => "no attempts yet".to_owned(),
            false => format!("its attempts are {}", known.join(", ")),
        };
        Err(Error::new(ErrorKind::Usage, format!("{name} has no attempt {attempt}"))
            .hint(hint)
            .next(NextCommand::new(["planwright", "log", name.as_str()])))
    }

    fn has(&self, event: &Event) -> bool {
        self.step.as_ref().is_none_or(|step| step_of_event(event) == Some(step))
            && (self.attempt.is_none() || event.attempt() == self.attempt)
    }

    pub fn events(&self) -> impl DoubleEndedIterator<Item = &RecordedEvent> {
        self.found.run.events.iter().filter(|recorded| self.has(&recorded.event))
    }

    /// Where the time went, if the event is the verdict on an attempt.
    pub fn times(&self, recorded: &RecordedEvent) -> Option<AttemptTimes> {
        AttemptTimes::of(&self.found.run.events, recorded)
    }

    /// The log without any event or text.
    pub fn head(&self) -> LogView {
        let run = self.found.run.row.id.number();
        LogView { plan: self.name().to_owned(), run, events: Vec::new(), text: None, attempt: None }
    }

    /// The events, and the attempt if one was named.
    pub fn view(&self) -> Result<LogView, Error> {
        let events = self.events().map(|recorded| LogEntryView {
            seq: recorded.seq,
            at_ms: recorded.at_ms,
            event: serde_json::to_value(&recorded.event).unwrap_or_default(),
            times: self.times(recorded),
        });
        Ok(LogView { events: events.collect(), attempt: self.attempt()?, ..self.head() })
    }

    /// One part: of the attempt that was named, or of the last that has it.
    pub fn part(&self, part: AttemptPart) -> Result<RecordedPart, Error> {
        let Some(blob) = self.events().rev().find_map(|recorded| part.kept(&recorded.event)) else {
            return Ok(RecordedPart::Missing);
        };
        Ok(match self.still_kept(blob)? {
            Some(bytes) => RecordedPart::Kept(bytes),
            None => RecordedPart::Dropped(blob.0.clone()),
        })
    }

    /// Everything that is kept of the attempt that was named.
    fn attempt(&self) -> Result<Option<AttemptView>, Error> {
        let (Some(step), Some(attempt)) = (&self.step, self.attempt) else { return Ok(None) };
        let own = || self.events().map(|recorded| &recorded.event);
        let mut dropped = Vec::new();
        let mut text = |part: AttemptPart| -> Result<Option<String>, Error> {
            let Some(blob) = own().find_map(|event| part.kept(event)) else { return Ok(None) };
            let bytes = self.still_kept(blob)?;
            dropped.extend(bytes.is_none().then_some(part));
            Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let (prompt, output) = (text(AttemptPart::Prompt)?, text(AttemptPart::Agent)?);
        let contract = text(AttemptPart::Contract)?;
        let account = own().find_map(account_of).cloned().unwrap_or_default();
        let profile = own().find_map(agent_of).and_then(profile::profile);
        let resume = account.session.as_ref().zip(profile).and_then(|(session, profile)| {
            Some(format!("{} {}", profile.program, profile.resume_words(session)?.join(" ")))
        });
        Ok(Some(AttemptView {
            step: step.clone(),
            attempt,
            session: account.session.clone(),
            model: account.model.clone(),
            prompt,
            output,
            contract,
            reported: reported(&account),
            findings: report::findings(&account.report).map(finding::line).collect(),
            is_claim: Judged::attempt(attempt) == Judged::Claim,
            account,
            resume,
            dropped,
        }))
    }

    /// The content of a blob; `None` if it was deleted.
    fn still_kept(&self, blob: &Blob) -> Result<Option<Vec<u8>>, Error> {
        match self.found.runs.blob(blob) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(run::Error::Journal(journal::Error::Dropped { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reports every event until the run finishes, no process is running it, or nobody listens: `tell` says whether somebody
    /// does, and is called without an event after each look.
    pub fn follow(&self, tell: &mut FollowedEvent<'_>) -> Result<(), Error> {
        let PlanRun { runs, run, .. } = &self.found;
        let mut seen = 0;
        let mut is_over = self.found.is_over();
        loop {
            // Checked before reading events, so that the last ones are not missed.
            let is_driven = runs.is_driven(run)?;
            for recorded in &runs.store().events(run.row.id, seen).map_err(run::Error::from)? {
                seen = recorded.seq;
                is_over |= matches!(recorded.event, Event::Run(RunEvent::Finished { .. }));
                if self.has(&recorded.event) {
                    tell(Some((recorded, runs.notification(run, recorded))));
                }
            }
            let is_heard = tell(None);
            if is_over || !is_driven || !is_heard {
                return Ok(());
            }
            runs.store().wait(run.row.id, seen, LOOK).map_err(run::Error::from)?;
        }
    }
}

/// The step that an event is about; an answer is about the one that its question is named for.
pub fn step_of_event(event: &Event) -> Option<&str> {
    let asked = || {
        let Event::Ask { ask, event: AskEvent::Answered { .. } } = event else { return None };
        // One about the run has a name that no step can have.
        ask.rsplit_once('/').map(|(step, _)| step).filter(|step| !step.contains('/'))
    };
    event.step().or_else(asked)
}

/// What is known of an attempt, if this event says it.
fn account_of(event: &Event) -> Option<&Account> {
    if let Event::Step { event: StepEvent::Finished(finish), .. } = event {
        Some(&finish.account)
    } else {
        None
    }
}

fn agent_of(event: &Event) -> Option<&str> {
    if let Event::Step { event: StepEvent::Started(start), .. } = event { Some(&start.agent) } else { None }
}

/// What an agent reported, findings left out, one per line.
fn reported(account: &Account) -> Vec<String> {
    let lines = account.report.iter().filter_map(|line| match line {
        ReportLine::Note { text } => Some(format!("note  {text}")),
        ReportLine::Ask { text } => Some(format!("asks  {text}")),
        ReportLine::Finish { text } => Some(format!("reports done  {text}")),
        ReportLine::Discovered { title, text } => {
            Some(format!("found  {title}  {text}").trim_end().to_owned())
        }
        ReportLine::Finding(_) => None,
    });
    lines.collect()
}
