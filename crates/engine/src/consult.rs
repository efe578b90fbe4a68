//! Asks an agent for its word: as arbiter, as judge of work, as reviewer of a plan. Starts it with a deadline, gives it one
//! prompt and takes its last message; nothing that it says is acted on here.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright_core::agent::{self, Listener};
use planwright_core::event::Usage;

use crate::config::{Config, setting};
use crate::contract::milliseconds;
use crate::process::{self, Ended, How, Job, Stop};

/// How much of what an agent says is kept.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// How much of what it complains about is passed on.
const COMPLAINT_BYTES_MAX: usize = 300;

/// An agent that is asked.
#[derive(Debug, Clone)]
pub struct Adviser {
    /// Its name.
    pub name: String,
    /// Its command line; the prompt comes on its standard input.
    pub command: Vec<String>,
    /// The profile that it is said to be like; `None`: that of its program, if it has one.
    pub like: Option<String>,
    /// Variables of its environment, each as `NAME=VALUE`.
    pub environment: Vec<String>,
}

/// What it is asked, and where.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What it is told.
    pub prompt: &'a str,
    /// The folder that it works in.
    pub folder: &'a Path,
    /// How long it may take.
    pub seconds: u64,
    /// What it is asked as: `arbiter`, `judge`, `reviewer`.
    pub role: &'a str,
}

/// What it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its last message.
    pub text: String,
    /// What that cost, as far as it says.
    pub usage: Usage,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody has the role, and the name is no agent's.
    #[error("no command line is known for `{name}`")]
    Nobody {
        /// The role or the name.
        name: String,
    },
    /// It is no agent that answers.
    #[error("`{name}` can't be asked: it is no agent that answers")]
    Mute {
        /// Its name.
        name: String,
    },
    /// Its command line comes from a file that agents write, and nobody approved it.
    #[error(
        "the command line of `{name}` comes from planwright.toml, which agents can write, so it is run only in an approved run"
    )]
    Unapproved {
        /// Its name.
        name: String,
        /// The command line that the project says.
        command: Vec<String>,
    },
    /// It took too long.
    #[error("`{name}` did not answer within {seconds} s")]
    Late {
        /// Its name.
        name: String,
        /// The limit.
        seconds: u64,
    },
    /// It ended without an answer.
    #[error("`{name}` gave no answer: {how}")]
    Silent {
        /// Its name.
        name: String,
        /// How it ended, and what it complained about.
        how: String,
    },
    /// Somebody said stop.
    #[error("`{name}` was stopped")]
    Stopped {
        /// Its name.
        name: String,
    },
}

impl Adviser {
    /// The agent with this role or name, if it may be run without an approval: by its own profile, or by what the user says.
    pub fn find(config: &Config, name: &str) -> Result<Self, Error> {
        let name = config.agent_of(name).to_owned();
        if setting::BUILT_IN.contains(&name.as_str()) {
            return Err(Error::Mute { name });
        }
        let said = config.agents.get(&name).cloned().unwrap_or_default();
        let known = agent::profile(&name).map(|profile| profile.command).unwrap_or_default();
        let is_known = said.like.is_none()
            && said.environment.is_empty()
            && (said.command.is_empty() || said.command.iter().eq(known));
        if said.is_projects && !is_known {
            let command = config.command_of(&name);
            return Err(Error::Unapproved { name, command });
        }
        let command = config.command_of(&name);
        match command.is_empty() {
            true => Err(Error::Nobody { name }),
            false => Ok(Self { name, command, like: said.like, environment: said.environment }),
        }
    }

    /// Asks once. When it returns, nothing that the agent started is alive.
    pub fn ask(&self, question: Question<'_>, stop: &Stop) -> Result<Said, Error> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let Question { prompt, folder, seconds, role } = question;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let profile =
            self.like.as_deref().and_then(agent::profile).or_else(|| agent::profile_of(&self.command));
        let job = Job {
            argv: self.command.clone(),
            folder: folder.to_owned(),
            // Agents bring their own credentials and settings.
            env: self.variables(profile),
            input: prompt.as_bytes().to_vec(),
            deadline: Duration::from_secs(seconds),
            output_bytes_max: OUTPUT_BYTES_MAX,
            tag: format!("{role}/{}-{count}", std::process::id()),
        };
        let name = || self.name.clone();
        let ended = process::run(&job, stop)
            .map_err(|error| Error::Silent { name: name(), how: error.to_string() })?;
        let mut listener = profile.map_or_else(Listener::of_unknown, agent::Profile::listener);
        listener.hear(ended.stdout.text().as_bytes());
        let heard = listener.finish();
        let silent =
            |how: String| Err(Error::Silent { name: name(), how: format!("{how}{}", complaint(&ended)) });
        match &ended.how {
            How::TimedOut => return Err(Error::Late { name: name(), seconds }),
            How::Stopped => return Err(Error::Stopped { name: name() }),
            How::NotStarted(why) => return silent(why.clone()),
            // How it ended tells nothing about what it said: some agents end with 0 whatever happened, others never do.
            How::Exited(code) if heard.said.trim().is_empty() => {
                return silent(format!("it ended with {code}"));
            }
            How::Signalled(signal) if heard.said.trim().is_empty() => {
                return silent(format!("it was killed by signal {signal}"));
            }
            How::Exited(_) | How::Signalled(_) => {}
        }
        let usage = Usage {
            tokens: heard.tokens.map(agent::Tokens::total),
            micro_dollars: heard.micro_dollars,
            milliseconds: milliseconds(ended.duration),
        };
        Ok(Said { text: heard.said, usage })
    }
}

impl Adviser {
    /// Its environment: that of the harness, what its profile adds unless the user says otherwise, and what is said for it.
    fn variables(&self, profile: Option<&agent::Profile>) -> Vec<(String, String)> {
        let mut all = process::environment();
        for (name, value) in profile.map(|profile| profile.environment).unwrap_or_default() {
            if !all.iter().any(|(known, _)| known == name) {
                all.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        for (name, value) in self.environment.iter().filter_map(|word| word.split_once('=')) {
            all.retain(|(known, _)| known != name);
            all.push((name.to_owned(), value.to_owned()));
        }
        all
    }
}

/// The last line of what an agent complained about.
fn complaint(ended: &Ended) -> String {
    let said = ended.stderr.tail(COMPLAINT_BYTES_MAX);
    said.lines()
        .rfind(|line| !line.trim().is_empty())
        .map(|line| format!(": {}", line.trim()))
        .unwrap_or_default()
}
