//! Asks an agent for its word: as arbiter, as judge of work, as reviewer of a plan. Starts it with a deadline, gives it one
//! prompt and takes its last message; nothing that it says is acted on here.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright_core::agent::profile;
use planwright_core::agent::profile::{Listener, Make, Places};
use planwright_core::run::event::Usage;

use crate::config::{Config, schema};
use crate::run::attempt_dir;
use crate::run::attempt_dir::Folder;
use crate::run::contract::milliseconds;
use crate::run::permission;
use crate::store::state_dir;
use crate::system::process;
use crate::system::process::{Ended, How, Job, Stop};

/// How much of what an agent says is kept.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// How much of what it complains about is passed on.
const COMPLAINT_BYTES_MAX: usize = 300;

/// An agent that is asked.
#[derive(Debug, Clone)]
pub struct Adviser {
    pub name: String,
    /// Its command line; the prompt comes on its standard input.
    pub command: Vec<String>,
    /// The profile that it is said to be like; `None`: that of its program, if it has one.
    pub like: Option<String>,
    /// Variables of its environment, each as `NAME=VALUE`.
    pub environment: Vec<String>,
    /// Where its output says what it used and what it said, if somebody told us.
    pub places: Places,
}

/// What it is asked, and where.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What it is told.
    pub prompt: &'a str,
    /// The settings: how long it may take, and what counts as reading.
    pub config: &'a Config,
    /// The root of the project.
    pub root: &'a Path,
    /// Whether it works in the project, where it only reads; else in an empty folder of its own.
    pub is_inside: bool,
    /// What it is asked as: `arbiter`, `judge`, `reviewer`.
    pub role: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
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
    Mute { name: String },
    /// Its command line comes from a file that agents write, and nobody approved it.
    #[error(
        "the command line of `{name}` comes from planwright.toml, which agents can write, so it is run only in an approved run"
    )]
    Unapproved {
        name: String,
        /// The command line that the project says.
        command: Vec<String>,
    },
    /// It took too long.
    #[error("`{name}` did not answer within {seconds} s")]
    Late { name: String, seconds: u64 },
    /// It ended without an answer.
    #[error("`{name}` gave no answer: {how}")]
    Silent {
        name: String,
        /// How it ended, and what it complained about.
        how: String,
    },
    #[error("`{name}` was stopped")]
    Stopped { name: String },
}

impl Adviser {
    /// The agent with this role or name, if it may be run without an approval: by its own profile, or by what the user says.
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
    pub fn ask(&self, question: Question<'_>, stop: &Stop) -> Result<Said, Error> {
        let Question { config, root, role, .. } = question;
        let silent = |how: String| Error::Silent { name: self.name.clone(), how };
        let states =
            state_dir::folder_of(&state_dir::folder(), root).map_err(|error| silent(error.to_string()))?;
        let above = states.join("advisers");
        let role = role.replace('/', "-");
        // What it is given and leaves lies apart from where it works: there, nothing lies that speaks to it.
        let folder = Folder::at(&above, &role);
        let desk = (!question.is_inside).then(|| Folder::at(&above, &format!("{role}-desk")));
        let place = desk.as_ref().map_or(root, Folder::path);
        if !place.is_dir() {
            return Err(silent("it has no folder to work in".to_owned()));
        }
        let make = self.make();
        // It only reads: its own rules and hooks say so, as far as its profile has any.
        let held = permission::planning((config, place), make, folder.path());
        let held = held.map_err(|error| silent(format!("it can't be held to reading: {error}")))?;
        let words: Vec<String> = self.command.iter().map(|word| folder.word(word)).collect();
        let argv = permission::own_bridge(held.applied_to(&words)).map_err(silent)?;
        let mut env = attempt_dir::environment(make, &self.environment);
        permission::lay_over(&mut env, held.environment);
        self.answer((argv, env), (place, &folder), question, stop)
    }

    fn make(&self) -> Make {
        Make::of(&self.command, self.like.as_deref())
    }

    /// What it says when it is started like this.
    fn answer(
        &self,
        (argv, env): (Vec<String>, Vec<(String, String)>),
        (place, folder): (&Path, &Folder),
        question: Question<'_>,
        stop: &Stop,
    ) -> Result<Said, Error> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let seconds = question.config.consult.seconds;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let job = Job {
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
        let ended = process::run(&job, stop)
            .map_err(|error| Error::Silent { name: name(), how: error.to_string() })?;
        let mut listener = Listener::of(profile, &self.places);
        listener.hear(ended.stdout.text().as_bytes());
        let mut heard = listener.finish();
        folder.hear_left(profile, &mut heard);
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
            tokens: heard.tokens.map(profile::Tokens::total),
            micro_dollars: heard.micro_dollars,
            milliseconds: milliseconds(ended.duration),
        };
        Ok(Said { text: heard.said, usage })
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
