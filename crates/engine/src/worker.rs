//! Carries out one command of a run: an attempt by an agent, or a contract. Reports what happened as an event; only
//! [`planwright_core::judge`] makes a verdict of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::event::{AttemptEnd, Event, Receipt, Usage};
use planwright_core::judge::{Observation, judge};
use planwright_core::plan::{Contract, Plan, Reference, Step};
use planwright_core::prompt::{Context, Excerpt, Feedback};

use crate::config::Config;
use crate::facts;
use crate::process::{self, Ended, How, Job, Stop, Supervisors};
use crate::store::{self, journal::Store};
use crate::workspace::Snapshot;

/// How long an attempt may take where the step does not say.
const ATTEMPT_SECONDS: u64 = 600;
/// How long a contract may take.
const CONTRACT_SECONDS: u64 = 60;
/// How much of an output is kept.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// How much of a file an agent is given to read.
const CONTEXT_BYTES_MAX: u64 = 64 << 10;
/// How much of a contract's output goes into the next prompt.
const FEEDBACK_BYTES_MAX: usize = 4 << 10;

/// Carries out the commands of one run.
pub struct Worker {
    /// The root of the project: where agents work and contracts look.
    pub root: PathBuf,
    /// Its settings.
    pub config: Config,
    /// The plan that was approved.
    pub plan: Arc<Plan>,
    /// Its digest.
    pub digest: String,
    /// Names the run in the environment of its processes.
    pub tag: String,
    /// Where outputs go.
    pub store: Arc<Store>,
    /// Ends everything that runs.
    pub stop: Stop,
    /// Supervise agents.
    pub for_agents: Supervisors,
    /// Supervise contracts. They are others than those of agents, which can reach theirs.
    pub for_contracts: Supervisors,
}

/// What does a step.
enum Agent {
    /// Runs the script that is the task.
    Shell,
    /// A command line that gets the prompt on its stdin.
    Command(Vec<String>),
}

impl Worker {
    /// The agent that a step is for, by name.
    pub fn agent_name(&self, step: &Step) -> String {
        self.config.roles.get(&step.target).cloned().unwrap_or_else(|| step.target.clone())
    }

    /// Why the step's agent can't be run, if it can't.
    pub fn can_run(&self, step: &Step) -> Result<(), String> {
        self.agent(step).map(|_| ())
    }

    fn agent(&self, step: &Step) -> Result<Agent, String> {
        let name = self.agent_name(step);
        match (name.as_str(), self.config.agents.get(&name)) {
            ("shell", _) => Ok(Agent::Shell),
            (_, Some(agent)) if !agent.command.is_empty() => Ok(Agent::Command(agent.command.clone())),
            _ if name == step.target => Err(format!(
                "no command line is known for `{name}`: add it to [roles] or [agents.{name}] in planwright.toml"
            )),
            _ => Err(format!(
                "the role `{}` is for `{name}`, of which planwright.toml has no command",
                step.target
            )),
        }
    }

    /// What the agent is given to read. What can't be read is said, and nothing else is lost.
    pub fn context(&self, step: &Step) -> Vec<Context> {
        let given = step.reads.iter().map(|reference| match reference {
            Reference::File(path) => (format!("file:{path}"), self.root.join(path)),
            Reference::Topic(name) => {
                (format!("topic:{name}"), self.root.join(facts::TOPICS).join(format!("{name}.md")))
            }
        });
        given.map(|(reference, path)| Context { reference, text: excerpt(&path) }).collect()
    }

    /// What the last attempt came to, for the next one.
    pub fn feedback(&self, state: &planwright_core::run::StepState) -> Feedback {
        let Some(last) = &state.last_failure else {
            return Feedback { hint: state.hint.clone(), ..Feedback::default() };
        };
        let output = last.output.as_ref().and_then(|blob| self.store.get(blob).ok()).unwrap_or_default();
        let text = String::from_utf8_lossy(&output);
        let start = text.ceil_char_boundary(text.len().saturating_sub(FEEDBACK_BYTES_MAX));
        Feedback {
            failure: last.failure.to_string(),
            output: text[start..].to_owned(),
            changed: last.changed.clone(),
            hint: state.hint.clone(),
        }
    }

    /// Makes an attempt: a fresh agent, which ends before this returns, and everything that it started with it.
    pub fn attempt(
        &self,
        step: &Step,
        attempt: u32,
        prompt: &str,
        feedback: &str,
    ) -> Result<Event, store::journal::Error> {
        let before = Snapshot::of(&self.root);
        let (end, output, milliseconds) = match self.agent(step) {
            Err(why) => (AttemptEnd::Parked { why: why.clone(), until: None }, why.into_bytes(), 0),
            Ok(agent) => {
                let job = self.attempt_job(&agent, step, attempt, (prompt, feedback));
                attempt_end(self.for_agents.run(&job, &self.stop), job.deadline)
            }
        };
        let changed = Snapshot::of(&self.root).changed_since(&before);
        Ok(Event::AttemptFinished {
            step: step.id.clone(),
            attempt,
            end,
            output: Some(self.store.put(&output)?),
            usage: Usage { milliseconds, ..Usage::default() },
            changed,
        })
    }

    fn attempt_job(&self, agent: &Agent, step: &Step, attempt: u32, (prompt, feedback): (&str, &str)) -> Job {
        let deadline = Duration::from_secs(step.timeout_seconds.unwrap_or(ATTEMPT_SECONDS));
        let mut env = self.environment(step);
        let (argv, input) = match agent {
            Agent::Shell => {
                // An attempt is made once, so its file can't be there yet; a script without one has no feedback to read.
                let file = self.store.folder().join("feedback").join(format!(
                    "{}-{}-{attempt}",
                    self.tag.replace('/', "-"),
                    step.id
                ));
                if store::create(&file, feedback).is_ok() {
                    env.push(("PLANWRIGHT_FEEDBACK".to_owned(), file.to_string_lossy().into_owned()));
                }
                (bash(&script(&step.task)), Vec::new())
            }
            Agent::Command(argv) => {
                // Agents bring their own credentials and settings: they get the environment of the harness.
                let text = |(name, value): (OsString, OsString)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                };
                env = std::env::vars_os().filter_map(text).chain(env).collect();
                (argv.clone(), prompt.as_bytes().to_vec())
            }
        };
        let tag = format!("{}/{}/{attempt}/agent", self.tag, step.id);
        Job { argv, folder: self.root.clone(), env, input, deadline, output_bytes_max: OUTPUT_BYTES_MAX, tag }
    }

    /// Runs the contract of a step and has it judged.
    pub fn contract(&self, step: &Step, attempt: u32) -> Result<Event, store::journal::Error> {
        let Contract::Shell { command, expect } = &step.contract else {
            panic!("a step without a contract is never judged by one")
        };
        let deadline = Duration::from_secs(CONTRACT_SECONDS);
        let job = Job {
            argv: bash(command),
            folder: self.root.clone(),
            env: self.environment(step),
            input: Vec::new(),
            deadline,
            output_bytes_max: OUTPUT_BYTES_MAX,
            tag: format!("{}/{}/{attempt}/contract", self.tag, step.id),
        };
        let (observation, output, milliseconds) = observe(self.for_contracts.run(&job, &self.stop), deadline);
        let receipt = Receipt {
            verdict: judge(*expect, &observation),
            observation,
            digest: self.digest.clone(),
            contract: blake3::hash(command.as_bytes()).to_hex().to_string(),
            tier: "open".to_owned(),
            output: self.store.put(output.as_bytes())?,
            milliseconds,
        };
        Ok(Event::ContractFinished { step: step.id.clone(), attempt, receipt })
    }

    /// The environment of contracts and scripts: these few variables, and what the step declares.
    fn environment(&self, step: &Step) -> Vec<(String, String)> {
        let kept = ["HOME", "LANG", "TMPDIR", "USER"];
        let mut env: Vec<(String, String)> = kept
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .chain([("PATH".to_owned(), self.search_path())])
            .collect();
        let declared = step.env.iter().filter_map(|pair| pair.split_once('='));
        let declared = declared.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        // The checker refuses these (PW0505); a plan that was approved by an older one still can't set them.
        env.extend(declared.filter(|(name, _)| !planwright_core::verify::is_obeyed(name)));
        env
    }

    /// The PATH without folders that an agent could put a program into: relative ones and those in the workspace.
    fn search_path(&self) -> String {
        let path = facts::search_path();
        let folders = std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute() && !folder.starts_with(&self.root));
        std::env::join_paths(folders).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

fn bash(command: &str) -> Vec<String> {
    ["bash", "-euo", "pipefail", "-c", command].map(str::to_owned).to_vec()
}

/// The script of a task for the agent `shell`: what stands in its only block of code, or the whole text.
fn script(task: &str) -> String {
    let fence: String = task.chars().take_while(|&character| character == '`' || character == '~').collect();
    let inner = task.strip_prefix(&fence).and_then(|rest| rest.trim_end().strip_suffix(&fence));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((_, body)) if fence.len() >= 3 && !body.contains(&format!("\n{fence}\n")) => body.to_owned(),
        Some(_) | None => task.to_owned(),
    }
}

fn excerpt(path: &Path) -> Result<Excerpt, String> {
    let text = store::read_text(path, CONTEXT_BYTES_MAX).map_err(|error| error.to_string())?;
    let length = path.metadata().map(|data| data.len()).unwrap_or_default();
    Ok(Excerpt { bytes_cut: length.saturating_sub(text.len() as u64), text })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How an attempt ended. A harness that is told to leave loses the attempt; it does not fail it.
fn attempt_end(ended: Result<Ended, process::Error>, deadline: Duration) -> (AttemptEnd, Vec<u8>, u64) {
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return (AttemptEnd::Parked { why: error.to_string(), until: None }, Vec::new(), 0),
    };
    let end = match ended.how {
        How::Exited(code) => AttemptEnd::Exited(code),
        How::Signalled(signal) => AttemptEnd::Signalled(signal),
        How::TimedOut => AttemptEnd::TimedOut(deadline.as_secs()),
        How::Stopped => AttemptEnd::Lost,
        How::NotStarted(why) => AttemptEnd::Parked { why, until: None },
    };
    (end, ended.output.text().into_bytes(), milliseconds(ended.duration))
}

fn observe(ended: Result<Ended, process::Error>, deadline: Duration) -> (Observation, String, u64) {
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return (Observation::NotStarted(error.to_string()), String::new(), 0),
    };
    let observation = match ended.how {
        How::Exited(code) => Observation::Exited(code),
        How::Signalled(signal) => Observation::Signalled(signal),
        How::TimedOut => Observation::TimedOut(deadline.as_secs()),
        How::Stopped => Observation::NotStarted("the harness was told to leave".to_owned()),
        How::NotStarted(why) => Observation::NotStarted(why),
    };
    (observation, ended.output.text(), milliseconds(ended.duration))
}

/// Whether an event only says that the harness was told to leave: such a result is not recorded.
pub(crate) fn is_interrupted(event: &Event) -> bool {
    match event {
        Event::AttemptFinished { end, .. } => *end == AttemptEnd::Lost,
        Event::ContractFinished { receipt, .. } => {
            receipt.observation == Observation::NotStarted("the harness was told to leave".to_owned())
        }
        Event::RunStarted { .. }
        | Event::AttemptStarted { .. }
        | Event::AskOpened { .. }
        | Event::AskAnswered { .. }
        | Event::BudgetWarned { .. }
        | Event::RunStopped { .. }
        | Event::RunResumed { .. }
        | Event::RunFinished { .. } => false,
    }
}
