//! Asks an agent for an opinion: as arbiter, as judge of work, as reviewer of a plan. Starts it with a
//! deadline, gives it one prompt and returns its last message; never acts on it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright_core::agent::account::{Tokens, Usage};
use planwright_core::agent::profile::{AgentIdentity, FieldPaths, TranscriptReader};

use crate::config::{Config, schema};
use crate::run::attempt_dir;
use crate::run::attempt_dir::AttemptDir;
use crate::run::contract::milliseconds;
use crate::run::permission;
use crate::store::state_dir;
use crate::system::fault;
use crate::system::fault::Fault;
use crate::system::process;
use crate::system::process::{How, ProcessEnd, ProcessJob, Stop};

/// Bytes kept of an agent's output.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// Bytes of its error output that are passed on.
const COMPLAINT_BYTES_MAX: usize = 300;

/// An agent that is consulted.
#[derive(Debug, Clone)]
pub struct AgentQuery {
    pub name: String,
    /// It reads the prompt from standard input.
    pub command: Vec<String>,
    /// Its profile; `None`: that of its program, if it has one.
    pub like: Option<String>,
    pub environment: Vec<String>,
    /// Where its output reports usage and its answer, if set.
    pub places: FieldPaths,
}

#[derive(Debug, Clone, Copy)]
pub struct AgentQuestion<'a> {
    pub prompt: &'a str,
    /// The settings: its time limit, and what counts as reading.
    pub config: &'a Config,
    pub root: &'a Path,
    /// Whether it works in the project, read-only; otherwise in an empty directory of its own.
    pub is_inside: bool,
    /// Its role: `arbiter`, `judge`, `reviewer`.
    pub role: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReply {
    pub text: String,
    /// The cost, as far as it reports it.
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither a role nor an agent has this name.
    #[error("agent `{name}` has no command; set agents.{name}.command")]
    Nobody { name: String },
    /// It is not an agent that answers.
    #[error("cannot ask `{name}`: it is not an agent that answers")]
    Mute { name: String },
    /// Its command comes from a file that agents can write, and is not approved.
    #[error(
        "the command of `{name}` is set in planwright.toml, which agents can write, so it runs only in an approved run"
    )]
    Unapproved {
        name: String,
        /// The command that the project sets.
        command: Vec<String>,
    },
    #[error("`{name}` timed out after {seconds} s")]
    Late { name: String, seconds: u64 },
    /// It exited without an answer.
    #[error("no answer from `{name}`: {how}")]
    Silent {
        name: String,
        /// How it exited, and its error output.
        how: String,
    },
    #[error("`{name}` was interrupted")]
    Stopped { name: String },
    /// The machine failed, which says nothing about the agent.
    #[error("cannot ask `{name}`: {fault}")]
    Machine { name: String, fault: Fault },
}

impl AgentQuery {
    /// The agent with this role or name, if it may run without an approval: by its own profile, or by the
    /// user's settings.
    pub fn find(config: &Config, name: &str) -> Result<Self, Error> {
        let name = config.agent_of(name).to_owned();
        if schema::BUILT_IN.contains(&name.as_str()) {
            return Err(Error::Mute { name });
        }
        let said = config.agents.get(&name).cloned().unwrap_or_default();
        if config.is_projects_word(&name) {
            let command = config.command_of(&name);
            return Err(Error::Unapproved { name, command });
        }
        let command = config.command_of(&name);
        match command.is_empty() {
            true => Err(Error::Nobody { name }),
            false => {
                let (like, environment, places) = (said.like, said.environment, said.places);
                Ok(Self { name, command, like, environment, places })
            }
        }
    }

    /// Asks once. When it returns, nothing that the agent started is alive.
    pub fn ask(&self, question: AgentQuestion<'_>, stop: &Stop) -> Result<AgentReply, Error> {
        let AgentQuestion { config, root, role, .. } = question;
        let silent = |how: String| Error::Silent { name: self.name.clone(), how };
        let unable = |error: &(dyn std::error::Error + 'static)| self.unable(error);
        let states = state_dir::of_project(root).map_err(|error| unable(&error))?;
        let above = states.join("advisers");
        let role = role.replace('/', "-");
        // Its input and output are kept apart from its working directory, where nothing may influence it.
        let made = |name: &str| AttemptDir::at(&above, name).map_err(|error| unable(&error));
        let folder = made(&role)?;
        let desk = if question.is_inside { None } else { Some(made(&format!("{role}-desk"))?) };
        let place = desk.as_ref().map_or(root, AttemptDir::path);
        if !place.is_dir() {
            return Err(silent("it has no working directory".to_owned()));
        }
        let make = self.make();
        // It only reads: its own rules and hooks enforce that, as far as its profile has any.
        let held = permission::planning((config, place), make, folder.path());
        let held = held.map_err(|error| unable(&error))?;
        let words: Vec<String> = self.command.iter().map(|word| folder.word(word)).collect();
        let argv = permission::own_bridge(held.applied_to(&words)).map_err(silent)?;
        let mut env = attempt_dir::environment(make, &self.environment);
        permission::lay_over(&mut env, held.environment);
        self.answer((argv, env), (place, &folder), question, stop)
    }

    /// Why it cannot be asked: it gave no answer, or the machine failed.
    fn unable(&self, error: &(dyn std::error::Error + 'static)) -> Error {
        let name = self.name.clone();
        match Fault::caused(error) {
            Some(fault) => Error::Machine { name, fault },
            None => Error::Silent { name, how: fault::told(error) },
        }
    }

    fn make(&self) -> AgentIdentity {
        AgentIdentity::of(&self.command, self.like.as_deref())
    }

    fn answer(
        &self,
        (argv, env): (Vec<String>, Vec<(String, String)>),
        (place, folder): (&Path, &AttemptDir),
        question: AgentQuestion<'_>,
        stop: &Stop,
    ) -> Result<AgentReply, Error> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let seconds = question.config.consult.seconds;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let job = ProcessJob {
            argv,
            folder: place.to_owned(),
            env,
            input: question.prompt.as_bytes().to_vec(),
            deadline: Duration::from_secs(seconds),
            output_bytes_max: OUTPUT_BYTES_MAX,
            tag: format!("{}/{}-{count}", question.role, std::process::id()),
        };
        let profile = self.make().reader;
        let name = || self.name.clone();
        let ended = process::run(&job, stop).map_err(|error| self.unable(&error))?;
        let mut listener = TranscriptReader::of(profile, &self.places);
        listener.hear(ended.stdout.text().as_bytes());
        let mut heard = listener.finish();
        folder.hear_left(profile, &mut heard);
        let silent =
            |how: String| Err(Error::Silent { name: name(), how: format!("{how}{}", complaint(&ended)) });
        match &ended.how {
            How::TimedOut => return Err(Error::Late { name: name(), seconds }),
            How::Stopped => return Err(Error::Stopped { name: name() }),
            How::NotStarted(why) => return silent(why.clone()),
            // The exit code says nothing about the answer: some agents exit with 0 whatever happens, others
            // never do.
            How::Exited(code) if heard.said.trim().is_empty() => {
                return silent(format!("it exited with {code}"));
            }
            How::Signalled(signal) if heard.said.trim().is_empty() => {
                return silent(format!("it was killed by signal {signal}"));
            }
            How::Exited(_) | How::Signalled(_) => {}
        }
        let usage = Usage {
            tokens: heard.tokens.map(Tokens::total),
            micro_dollars: heard.micro_dollars,
            milliseconds: milliseconds(ended.duration),
        };
        Ok(AgentReply { text: heard.said, usage })
    }
}

/// The last line of an agent's error output.
fn complaint(ended: &ProcessEnd) -> String {
    let said = ended.stderr.tail(COMPLAINT_BYTES_MAX);
    said.lines()
        .rfind(|line| !line.trim().is_empty())
        .map(|line| format!(": {}", line.trim()))
        .unwrap_or_default()
}
