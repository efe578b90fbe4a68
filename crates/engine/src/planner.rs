//! Asks a planner: an agent that reads the project and answers with a plan. Starts the agent and listens to it; what the answer is
//! worth is for core, and nothing here writes into the workspace.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright_core::contracts;
use planwright_core::draft::Draft;
use planwright_core::planning::Surroundings;
use planwright_core::prompt::Context;

use crate::config::{Config, setting};
use crate::process::{self, How, Job, Stop};
use crate::project::{self, Project};
use crate::setup::KNOWN;
use crate::store::state;
use crate::workspace::Snapshot;
use crate::{facts, kind, topic};

/// The role of the agent that plans.
pub const ROLE: &str = "planner";
/// The role whose agent plans where nobody has that one.
const NEXT_ROLE: &str = "coder";
/// How much of what a planner says is kept.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// How much of what it complains about is passed on.
const COMPLAINT_BYTES_MAX: usize = 600;
/// How many plans of the project a planner is told of.
const PLANS_TOLD_MAX: usize = 100;

/// The agent that plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planner {
    /// Its name.
    pub name: String,
    /// Its command line; the prompt comes on its standard input.
    pub command: Vec<String>,
    /// Why it is this one.
    pub because: String,
}

/// What a planner said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its last message.
    pub text: String,
    /// Files of the workspace that changed while it was at work.
    pub changed: Vec<String>,
    /// How long it took.
    pub milliseconds: u64,
}

/// Why no planner answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody is known who could plan.
    #[error("no agent is known that could plan")]
    Nobody,
    /// Somebody is named who can't.
    #[error("{why}")]
    Unfit {
        /// The agent.
        name: String,
        /// Why not.
        why: String,
    },
    /// It is not installed.
    #[error("the planner `{name}` can't be started: there is no program `{program}` on the PATH")]
    Missing {
        /// The agent.
        name: String,
        /// Its program.
        program: String,
    },
    /// It took too long.
    #[error("the planner `{name}` did not answer within {seconds} s")]
    Late {
        /// The agent.
        name: String,
        /// The limit.
        seconds: u64,
    },
    /// It ended without an answer.
    #[error("the planner `{name}` gave no answer: {how}")]
    Silent {
        /// The agent.
        name: String,
        /// How it ended, and what it complained about.
        how: String,
    },
    /// Somebody told it to stop.
    #[error("the planner was stopped")]
    Stopped,
    /// The process could not be run.
    #[error("the planner could not be run")]
    Process(#[from] process::Error),
}

impl Planner {
    /// The agent that plans: the one that was asked for, else who plays the planner, else who plays the coder, else the first
    /// agent on this machine whose command line is known.
    pub fn find(config: &Config, asked: Option<&str>) -> Result<Self, Error> {
        let played =
            |role: &str| config.roles.get(role).map(|agent| (agent.clone(), format!("it plays the {role}")));
        let named = asked.map(|name| (config.agent_of(name).to_owned(), "you asked for it".to_owned()));
        let own =
            || config.agents.contains_key(ROLE).then(|| (ROLE.to_owned(), "it is called so".to_owned()));
        let found = named.or_else(|| played(ROLE)).or_else(own).or_else(|| played(NEXT_ROLE));
        let installed = || {
            let known =
                KNOWN.iter().find(|known| !known.command.is_empty() && facts::has_program(known.command[0]));
            known.map(|known| (known.name.to_owned(), "it is installed".to_owned()))
        };
        let (name, because) = found.or_else(installed).ok_or(Error::Nobody)?;
        let command = command_of(config, &name)?;
        if !facts::has_program(&command[0]) {
            return Err(Error::Missing { name, program: command[0].clone() });
        }
        Ok(Self { name, command, because })
    }

    /// Asks once. When it returns, nothing that the planner started is alive.
    pub fn ask(&self, project: &Project, prompt: &str, stop: &Stop) -> Result<Said, Error> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let seconds = project.config.draft.seconds;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let job = Job {
            argv: self.command.clone(),
            folder: project.root.clone(),
            // Agents bring their own credentials and settings.
            env: process::environment(),
            input: prompt.as_bytes().to_vec(),
            deadline: Duration::from_secs(seconds),
            output_bytes_max: OUTPUT_BYTES_MAX,
            tag: format!("planner/{}-{count}", std::process::id()),
        };
        let before = Snapshot::of(&project.root);
        let ended = process::run(&job, stop)?;
        let changed = Snapshot::of(&project.root).changed_since(&before);
        let text = heard(&self.command, &ended.stdout.text());
        let complaint = || {
            let said = ended.stderr.tail(COMPLAINT_BYTES_MAX);
            let said = said.trim();
            if said.is_empty() { String::new() } else { format!(": {said}") }
        };
        let name = || self.name.clone();
        let silent = |how: String| Err(Error::Silent { name: name(), how: format!("{how}{}", complaint()) });
        match &ended.how {
            How::TimedOut => return Err(Error::Late { name: name(), seconds }),
            How::Stopped => return Err(Error::Stopped),
            How::NotStarted(why) => return silent(why.clone()),
            // How it ended tells nothing about what it said: some agents end with 0 whatever happened, others never do.
            How::Exited(code) if text.trim().is_empty() => return silent(format!("it ended with {code}")),
            How::Signalled(signal) if text.trim().is_empty() => {
                return silent(format!("it was killed by signal {signal}"));
            }
            How::Exited(_) | How::Signalled(_) => {}
        }
        let milliseconds = u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX);
        Ok(Said { text, changed, milliseconds })
    }
}

/// The command line of an agent, by its name.
fn command_of(config: &Config, name: &str) -> Result<Vec<String>, Error> {
    let unfit = |why: String| Error::Unfit { name: name.to_owned(), why };
    if setting::BUILT_IN.contains(&name) {
        return Err(unfit(format!("`{name}` can't plan: it is no agent that answers")));
    }
    let own = config.agents.get(name).map(|agent| agent.command.clone());
    let known = || {
        let known = KNOWN.iter().find(|known| known.name == name && !known.command.is_empty());
        known.map(|known| known.command.iter().map(|&word| word.to_owned()).collect())
    };
    own.or_else(known).ok_or_else(|| unfit(format!("no command line is known for the planner `{name}`")))
}

/// The last message of an agent in what it printed.
fn heard(_command: &[String], stdout: &str) -> String {
    stdout.to_owned()
}

/// What a planner is told about the project. `draft` is the plan that is there already, if one is.
pub fn surroundings(project: &Project, draft: &Draft) -> Surroundings {
    let kind: contracts::Project = kind::of(project, draft);
    // Plans that can't be listed are none that a planner has to know of.
    let plans = project.plans().unwrap_or_default();
    Surroundings {
        kind,
        targets: facts::agents(project).into_iter().collect(),
        tools: Vec::new(),
        plans: plans.iter().take(PLANS_TOLD_MAX).map(|plan| project::name(plan)).collect(),
    }
}

/// A file that a planner is given to read, by a path as the user typed it.
pub fn code(project: &Project, path: &str) -> Context {
    let at: PathBuf = path.into();
    let text = topic::excerpt(&at, project.config.run.context_bytes);
    Context { reference: format!("file:{path}"), text }
}

/// Keeps an answer that could not be used, outside of the workspace, so that a person can mend it.
pub fn keep_answer(project: &Project, text: &str) -> Result<PathBuf, state::Error> {
    let folder = state::folder_of(&state::folder(), &project.root)?.join("drafts");
    let name = format!("{}.md", &blake3::hash(text.as_bytes()).to_hex()[..12]);
    state::keep(&folder, &name, text.as_bytes())?;
    Ok(folder.join(name))
}
