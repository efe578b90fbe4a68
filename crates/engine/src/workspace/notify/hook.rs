//! One hook: what it wants to hear of, and how it is told. Starts what it is told with under a supervisor, with a deadline and
//! a cap on what it may say; what it says is never believed, only how it ended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::workspace::notification::{Notice, Occasion};

use super::webhook::Webhook;
use crate::config::{Hooks, hook_name};
use crate::system::process;
use crate::system::process::{Ended, How, Job, Stop};

/// How much of what a hook says is looked at.
const OUTPUT_BYTES_MAX: usize = 8192;
/// How much of its last words is kept.
const WORDS_BYTES_MAX: usize = 200;
/// The variable that tells a hook which project it is about.
const ROOT: &str = "PLANWRIGHT_ROOT";

/// Somebody who is told of what happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Its name: `needs_you`, `done`, `failed` or `webhook`.
    pub name: &'static str,
    way: Way,
    deadline: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// A command for one occasion; the notice comes on its stdin.
    Command(Occasion, Vec<String>),
    /// An address that hears of every occasion.
    Webhook(Webhook),
}

/// The hooks that the settings name.
pub fn hooks_of(hooks: &Hooks) -> Vec<Hook> {
    let deadline = Duration::from_secs(hooks.seconds);
    let commands = hooks.commands.iter().map(|(occasion, argv)| Hook {
        name: hook_name(*occasion),
        way: Way::Command(*occasion, argv.clone()),
        deadline,
    });
    let webhook = hooks.webhook_url.as_ref().map(|url| Hook {
        name: "webhook",
        way: Way::Webhook(Webhook { url: url.clone(), secret_file: hooks.webhook_secret_file.clone() }),
        deadline,
    });
    commands.chain(webhook).collect()
}

/// Whether a hook wants to hear of something.
pub fn wants(hook: &Hook, notice: &Notice) -> bool {
    match (&hook.way, notice.occasion) {
        (_, None) => false,
        (Way::Command(occasion, _), Some(what)) => *occasion == what,
        (Way::Webhook(_), Some(_)) => true,
    }
}

impl Hook {
    /// The program that it takes.
    pub fn program(&self) -> &str {
        match &self.way {
            Way::Command(_, argv) => argv.first().map(String::as_str).unwrap_or_default(),
            Way::Webhook(_) => super::webhook::PROGRAM,
        }
    }

    /// What is wrong with how it is set, before anything is sent.
    pub fn fault(&self, root: &Path) -> Option<String> {
        match &self.way {
            Way::Command(..) => None,
            Way::Webhook(webhook) => webhook.check(root).err(),
        }
    }

    /// Tells it; says why where it did not take it. `line` is the notice as it is sent.
    pub(super) fn tell(
        &self,
        notice: &Notice,
        line: &str,
        (root, tag): (&Path, String),
        now_ms: u64,
    ) -> Result<(), String> {
        let mut job = Job {
            argv: Vec::new(),
            // Not in the project: a program that is named by a relative path would be an agent's to make.
            folder: home(),
            env: process::environment(),
            input: Vec::new(),
            deadline: self.deadline,
            output_bytes_max: OUTPUT_BYTES_MAX,
            tag,
        };
        job.env.retain(|(name, _)| name != ROOT);
        job.env.push((ROOT.to_owned(), root.to_string_lossy().into_owned()));
        match &self.way {
            Way::Command(_, argv) => {
                job.argv.clone_from(argv);
                job.input = line.as_bytes().to_vec();
                taken(&run(&job)?, self.deadline)
            }
            Way::Webhook(webhook) => {
                (job.argv, job.input) =
                    webhook.request(root, (&notice.id, notice.name()), line, now_ms / 1000)?;
                Webhook::taken(&run(&job)?)
            }
        }
    }
}

fn run(job: &Job) -> Result<Ended, String> {
    // What an earlier process left of this hook is dead before it is told again.
    process::reclaim(&job.tag).map_err(|error| error.to_string())?;
    process::run(job, &Stop::new()).map_err(|error| error.to_string())
}

fn taken(ended: &Ended, deadline: Duration) -> Result<(), String> {
    let why = match &ended.how {
        How::Exited(0) => return Ok(()),
        How::Exited(code) => format!("it ended with {code}"),
        How::Signalled(signal) => format!("signal {signal} ended it"),
        How::TimedOut => format!("it took longer than {} s", deadline.as_secs()),
        How::Stopped => "it was stopped".to_owned(),
        How::NotStarted(why) => format!("it can't be started: {why}"),
    };
    let words = ended.stderr.tail(WORDS_BYTES_MAX);
    let words = words.trim().lines().next_back().unwrap_or_default();
    Err(if words.is_empty() { why } else { format!("{why}: {words}") })
}

fn home() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute() && home.is_dir()).unwrap_or_else(|| "/".into())
}
