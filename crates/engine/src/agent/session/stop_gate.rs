//! The gate at the end of a session's turn: runs the contract of the current step and reports the result.
//! Advice, a few times per session: it records nothing in any journal, and the verdict still comes from a
//! run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use planwright_core::plan::verified::{Contract, Plan, Step};
use planwright_core::run::state::StepStatus;
use planwright_core::workspace::reminder::first_open;
use serde::{Deserialize, Serialize};

use super::{Error, approved};
use crate::approval::Approvals;
use crate::git::sealed;
use crate::run::Runs;
use crate::run::contract::{ContractRunner, Preview};
use crate::store::journal::RunId;
use crate::store::{plan_file, state_dir};
use crate::system::clock;
use crate::system::process;
use crate::system::process::{Stop, Supervisors};
use crate::workspace::project::Project;

/// Time limit of all contracts of one check; agents wait five minutes for a hook.
const LOOK: Duration = Duration::from_secs(200);
/// How much contract output is included.
const OUTPUT_BYTES_MAX: usize = 2000;
/// How many sessions are remembered.
const SESSIONS_MAX: usize = 200;
/// The record of reminders, in the state directory.
const RECORD: &str = "session-holds.json";
const RECORD_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub struct StopQuestion<'a> {
    /// The agent's name for it.
    pub session: &'a str,
    /// Whether it only continues because it was held back before.
    pub is_again: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    Open,
    /// It should continue, for this reason.
    Hold(String),
}

pub fn gate(project: &Project, asked: StopQuestion<'_>) -> Result<Gate, Error> {
    let holds_max = project.config.session.stop_holds;
    if holds_max == 0 || asked.session.is_empty() {
        return Ok(Gate::Open);
    }
    let mut record = Record::of(project);
    if record.count(asked.session) >= holds_max {
        return Ok(Gate::Open);
    }
    let Some(matter) = matter(project)? else { return Ok(Gate::Open) };
    let Some(words) = matter.look(project)? else { return Ok(Gate::Open) };
    // A session that returns with the same result does not know how to continue; a third reminder helps
    // nobody.
    if asked.is_again && record.is_last(asked.session, &words) {
        return Ok(Gate::Open);
    }
    // What cannot be counted has no limit, so nobody is held back then.
    let count = record.add(asked.session, &words)?;
    Ok(Gate::Hold(format!(
        "{words}\n(planwright, reminder {count} of at most {holds_max} in this session; this records nothing.)"
    )))
}

/// What a session works on: an approved plan, and its step if known.
struct Matter {
    plan: Plan,
    sealed: BTreeMap<String, String>,
    /// The name of the work; an agent in an attempt only knows its task.
    name: Option<String>,
    /// The only step to check.
    only: Option<usize>,
}

/// What a session in this project works on; `None` if that is nothing, runs in planwright itself, or is
/// unclear.
fn matter(project: &Project) -> Result<Option<Matter>, Error> {
    if let Some(sign) = process::job_above() {
        return sign.tag().map_or(Ok(None), |tag| of_attempt(project, tag));
    }
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(None) };
    if decisions.runs().newest()?.iter().any(|glance| glance.tally.outcome().is_none()) {
        return Ok(None);
    }
    let rows = approved(&decisions)?;
    let [row] = rows.as_slice() else { return Ok(None) };
    let case = decisions.case_of(row.plan.clone())?;
    // Only approved contracts run: the text in the workspace may be anyone's by now.
    let (Some(_), Some(revision)) = (case.standing.approved(clock::now()), case.standing.newest()) else {
        return Ok(None);
    };
    let plan = decisions.plan(&case, revision)?;
    let sealed = revision.subject.sealed.clone();
    Ok(Some(Matter { plan, sealed, name: Some(plan_file::name(&row.plan)), only: None }))
}

/// What an agent in an attempt works on, by the tag that it was started with: `…/RUN/STEP/ATTEMPT/agent`, or
/// `agent-NAME` for an entrant of a tournament.
fn of_attempt(project: &Project, tag: &str) -> Result<Option<Matter>, Error> {
    let parts: Vec<&str> = tag.rsplitn(5, '/').collect();
    let [kind, _, step, run, key] = parts.as_slice() else { return Ok(None) };
    let Some(runs) = Runs::open_existing(project)? else { return Ok(None) };
    let Ok(number) = run.parse() else { return Ok(None) };
    let is_agent = *kind == "agent" || kind.starts_with("agent-");
    if !is_agent || runs.store().key() != *key {
        return Ok(None);
    }
    let run = runs.run(RunId::new(number))?;
    let only = run.plan.steps.iter().position(|known| known.id == *step);
    let is_running = |place: usize| matches!(run.state.steps[place].status, StepStatus::Running { .. });
    Ok(only.filter(|&place| is_running(place)).map(|place| Matter {
        sealed: run.sealed(),
        name: None,
        only: Some(place),
        plan: run.plan,
    }))
}

impl Matter {
    /// The failing contract of the step; `None` if nothing speaks against ending.
    fn look(&self, project: &Project) -> Result<Option<String>, Error> {
        let moved = sealed::moved(&self.sealed, &sealed::of(&project.root, &self.plan)?);
        if !moved.is_empty() {
            return Ok(Some(format!(
                "{}; contracts rely on these files, so restore them.",
                moved.join("; ")
            )));
        }
        let begin = Instant::now();
        let mut settled = vec![false; self.plan.steps.len()];
        let next = |settled: &[bool]| self.only.or_else(|| first_open(&self.plan, settled));
        while let Some(place) = next(&settled).filter(|_| begin.elapsed() < LOOK) {
            let step = &self.plan.steps[place];
            let is_ours = step.contract != Contract::Manual && step.target != "human";
            let Some(seen) =
                is_ours.then(|| look(project, step, LOOK.saturating_sub(begin.elapsed()))).flatten()
            else {
                return Ok(None);
            };
            match &seen.failure {
                Some(failure) => return Ok(Some(self.words(step, &failure.to_string(), &seen.output))),
                None if self.only.is_some() => return Ok(None),
                None => settled[place] = true,
            }
        }
        Ok(None)
    }

    fn words(&self, step: &Step, failure: &str, output: &str) -> String {
        let what = match &self.name {
            Some(name) => format!("Step {} `{}` of the plan {name} ({})", step.number, step.id, step.title),
            None => "Your task".to_owned(),
        };
        let command = step.contract.command().unwrap_or_default();
        let expect = step.contract.expected_code().unwrap_or_default();
        let mut text = format!(
            "{what} is not done: its contract failed: {failure}.\n\nContract (must exit {expect}):\n{command}\n"
        );
        let output = output.trim_end();
        if !output.is_empty() {
            let from = output.len().saturating_sub(OUTPUT_BYTES_MAX);
            let from = (from..=output.len()).find(|&at| output.is_char_boundary(at)).unwrap_or(0);
            text.push_str(&format!("\nEnd of its output:\n{}\n", &output[from..]));
        }
        text.push_str("\nContinue, or say what blocks you.");
        text
    }
}

/// Checks a step within a time limit, including its setup; one that takes longer has no result. Its own
/// deadline would count as a failure, which is not known.
fn look(project: &Project, step: &Step, left: Duration) -> Option<Preview> {
    let runner = ContractRunner::new(&project.root, &project.config.run, &[]);
    let tag = format!("session/{}/contract", step.id);
    let stop = Stop::new();
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        let stop = &stop;
        let watch = move || {
            if is_done.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                stop.request();
            }
        };
        // Without somebody to watch the time, or if the machine fails, nothing is told either.
        std::thread::Builder::new().spawn_scoped(scope, watch).ok()?;
        let seen = runner.preview(step, &Supervisors::new(), &tag, stop).ok().flatten();
        drop(done);
        seen
    })
}

/// How often sessions were held back, and the last message.
struct Record {
    path: Option<PathBuf>,
    held: Vec<Held>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Held {
    /// The hash of the agent's name for the session.
    session: String,
    count: u32,
    /// The hash of the last message.
    words: String,
}

impl Record {
    fn of(project: &Project) -> Self {
        let folder = state_dir::of_project(&project.root).ok();
        let path = folder.map(|folder| folder.join(RECORD));
        let text = path.as_ref().and_then(|path| plan_file::read_text(path, RECORD_BYTES_MAX).ok());
        let held = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self { path, held }
    }

    fn find(&self, session: &str) -> Option<&Held> {
        let session = hash(session);
        self.held.iter().find(|held| held.session == session)
    }

    fn count(&self, session: &str) -> u32 {
        self.find(session).map_or(0, |held| held.count)
    }

    fn is_last(&self, session: &str, words: &str) -> bool {
        self.find(session).is_some_and(|held| held.words == hash(words))
    }

    /// Counts one more reminder, durably; returns the count.
    fn add(&mut self, session: &str, words: &str) -> Result<u32, Error> {
        let count = self.count(session) + 1;
        let session = hash(session);
        self.held.retain(|held| held.session != session);
        let over = (self.held.len() + 1).saturating_sub(SESSIONS_MAX);
        self.held.drain(..over);
        self.held.push(Held { session, count, words: hash(words) });
        let text = serde_json::to_string(&self.held).map_err(|error| Error::Note(error.into()))?;
        let path = self.path.as_ref().ok_or_else(|| Error::Note(std::io::ErrorKind::NotFound.into()))?;
        plan_file::put_private(path, &text).map_err(Error::Note)?;
        Ok(count)
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}
