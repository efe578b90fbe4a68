//! One hook: which events it wants and how it receives them. Runs its command under a supervisor, with a
//! deadline and an output limit; only its exit status counts, never its output.

use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::workspace::notification::{Notification, Trigger};

use super::webhook::Webhook;
use crate::config::{Hooks, hook_name};
use crate::system::process;
use crate::system::process::{How, ProcessEnd, ProcessJob, Stop};

/// How much of a hook's output is read.
const OUTPUT_BYTES_MAX: usize = 8192;
/// How much of the end of its output is kept.
const WORDS_BYTES_MAX: usize = 200;
/// The variable that tells a hook its project.
const ROOT: &str = "PLANWRIGHT_ROOT";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub name: &'static str,
    way: Way,
    deadline: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// A command for one occasion; it reads the notice from stdin.
    Command(Trigger, Vec<String>),
    /// A URL that receives every occasion.
    Webhook(Webhook),
}

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

pub fn wants(hook: &Hook, notice: &Notification) -> bool {
    match (&hook.way, notice.occasion) {
        (_, None) => false,
        (Way::Command(occasion, _), Some(what)) => *occasion == what,
        (Way::Webhook(_), Some(_)) => true,
    }
}

impl Hook {
    pub fn program(&self) -> &str {
        match &self.way {
            Way::Command(_, argv) => argv.first().map(String::as_str).unwrap_or_default(),
            Way::Webhook(_) => super::webhook::PROGRAM,
        }
    }

    /// What is wrong with its settings, before anything is sent.
    pub fn fault(&self, root: &Path) -> Option<String> {
        match &self.way {
            Way::Command(..) => None,
            Way::Webhook(webhook) => webhook.check(root).err(),
        }
    }

    /// Delivers a notice; says why if it was not accepted. `line` is the notice as sent.
    pub(super) fn tell(
        &self,
        notice: &Notification,
        line: &str,
        (root, tag): (&Path, String),
        now_ms: u64,
    ) -> Result<(), String> {
        let mut job = ProcessJob {
            argv: Vec::new(),
            // Not in the project: an agent could create a program at a relative path there.
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

fn run(job: &ProcessJob) -> Result<ProcessEnd, String> {
    // Leftovers of an earlier process for this hook are dead before it is called again.
    process::reclaim(&job.tag).map_err(|error| error.to_string())?;
    process::run(job, &Stop::new()).map_err(|error| error.to_string())
}

fn taken(ended: &ProcessEnd, deadline: Duration) -> Result<(), String> {
    let why = match &ended.how {
        How::Exited(0) => return Ok(()),
        How::Exited(code) => format!("exited with {code}"),
        How::Signalled(signal) => format!("killed by signal {signal}"),
        How::TimedOut => format!("timed out after {} s", deadline.as_secs()),
        How::Stopped => "interrupted".to_owned(),
        How::NotStarted(why) => format!("cannot start: {why}"),
    };
    let words = ended.stderr.tail(WORDS_BYTES_MAX);
    let words = words.trim().lines().next_back().unwrap_or_default();
    Err(if words.is_empty() { why } else { format!("{why}: {words}") })
}

fn home() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute() && home.is_dir()).unwrap_or_else(|| "/".into())
}
