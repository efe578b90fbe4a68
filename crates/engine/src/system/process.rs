//! The only place that starts a process. Owns deadlines, output limits and the proof that nothing is left
//! alive; never interprets output, except for bash's syntax check, which is here because nothing else may
//! start bash.

mod capture;
mod exchange;
mod line_protocol;
mod editor;
mod fork;
mod git;
mod ssh_keygen;
mod poll;
mod output_reader;
mod shim;
mod supervise;
mod bash_check;
#[cfg(target_os = "linux")]
#[path = "process/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "process/unix.rs"]
mod system;
mod wire;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::system::program::Tool;

pub use bash_check::check_bash;
pub use capture::Capture;
pub use editor::edit;
pub use git::{GitOutput, Repository};
pub(crate) use git::{filters, identity, merge_file};
pub use line_protocol::{LineProtocol, ProtocolLine};
pub use output_reader::OutputListener;
pub use shim::{SHIM, shim_main, shim_main_without_sweep};
pub use ssh_keygen::sign_with_ssh;
pub use supervise::{Supervisors, run};

/// The variable that holds a job's tag, by which its processes are found again.
pub const TAG: &str = "PLANWRIGHT_TAG";
/// How long a command may take to exit once it was asked to.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long a killed process may take to disappear. One that hangs in the kernel is not waited for any
/// longer.
const DEATH_MAX: Duration = Duration::from_secs(10);
/// The delay before killed processes are checked again.
const ROUND: Duration = Duration::from_millis(2);

/// One supervised process: an agent, a contract, a setup.
#[derive(Debug, Clone)]
pub struct ProcessJob {
    /// The program and its arguments. The program is searched in the PATH of `env`.
    pub argv: Vec<String>,
    pub folder: PathBuf,
    /// Its whole environment, apart from the tag.
    pub env: Vec<(String, String)>,
    pub input: Vec<u8>,
    pub deadline: Duration,
    /// How much of each output is kept.
    pub output_bytes_max: usize,
    /// The name by which its processes are found after a crash. No other running job may have the same.
    pub tag: String,
}

/// How a job ended. Nothing that it started is alive.
#[derive(Debug, Clone)]
pub struct ProcessEnd {
    pub how: How,
    /// Standard output and standard error, in the order of arrival.
    pub output: Capture,
    pub stdout: Capture,
    pub stderr: Capture,
    /// The time until nothing of it was alive.
    pub duration: Duration,
    /// Processes that outlived the command and were killed.
    pub leftovers: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    Exited(i32),
    /// A signal that was not ours killed it.
    Signalled(i32),
    /// It was killed at its deadline.
    TimedOut,
    /// It was killed on request.
    Stopped,
    /// It was never started, for this reason.
    NotStarted(String),
}

/// A handle that tells jobs to stop. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells every job with this handle to stop, including later ones.
    pub fn request(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot start `{program}`")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot communicate with `{program}`")]
    Talk {
        program: String,
        #[source]
        source: io::Error,
    },
    /// The process timed out and was killed.
    #[error("`{program}` timed out after {seconds} s")]
    Deadline { program: String, seconds: u64 },
    /// The supervisor is gone, so how the process ended is unknown. It was killed.
    #[error("the supervisor of `{program}` died before it reported the exit status")]
    Lost { program: String },
    /// Processes stay alive although they were killed.
    #[error("cannot kill {count} {} of `{tag}`", if *count == 1 { "process" } else { "processes" })]
    Alive {
        /// The tag, or its prefix.
        tag: String,
        count: usize,
    },
    #[error("cannot list the running processes")]
    List {
        #[source]
        source: io::Error,
    },
    /// This process was started as a supervisor, but its `main` did not call [`shim_main`].
    #[error("cannot supervise `{program}`: this program's `main` does not handle `{SHIM}`")]
    NoShim { program: String },
}

/// Kills every process of this user whose tag starts with `tag_prefix`, and their descendants; returns how
/// many.
///
/// For use after a crash of planwright: when it returns, they are proven dead. End the prefix with the
/// separator of tag parts, or `run-1` takes `run-10` with it. A process that wiped its environment is found
/// while an ancestor has the tag.
pub fn reclaim(tag_prefix: &str) -> Result<usize, Error> {
    system::kill_tagged(tag_prefix, &|tag| tag.starts_with(tag_prefix))
}

/// Keeps other processes of this user from reading or changing the memory of this one, where the system can.
pub fn guard_memory() {
    system::guard_memory();
}

/// How a process is known to be part of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobSign {
    /// The tag of the job, in the environment of an ancestor.
    Tag(String),
    /// A hard limit that only jobs have; it does not tell which job.
    Limit(u64),
}

impl JobSign {
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Tag(tag) => Some(tag),
            Self::Limit(_) => None,
        }
    }

    /// What a person can do who is mistaken for an agent because of it.
    pub fn way_out(&self) -> Option<&'static str> {
        match self {
            Self::Tag(_) => None,
            Self::Limit(_) => Some(
                "planwright sets this limit for agents and contracts; if none is running, another program set it, and a new login, where `ulimit -Hx` prints unlimited, is free of it",
            ),
        }
    }
}

impl fmt::Display for JobSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "{TAG}={tag}"),
            Self::Limit(limit) => write!(f, "the hard limit RLIMIT_LOCKS is {limit}"),
        }
    }
}

/// How this process is known to be part of a job, if it is: then an agent or a contract started it, directly
/// or not.
pub fn job_above() -> Option<JobSign> {
    let limit = || system::job_mark().map(JobSign::Limit);
    system::tag_above().map(JobSign::Tag).or_else(limit)
}

/// A variable of this process, or of its nearest ancestor within the same job that has it: some agents start
/// their tools without the environment they were given.
pub fn variable_above(name: &str) -> Option<String> {
    std::env::var(name).ok().or_else(|| system::variable_above(name))
}

/// The tags of live processes of this user that start with `tag_prefix`, each with the number of processes.
pub fn tags(tag_prefix: &str) -> Result<std::collections::BTreeMap<String, usize>, Error> {
    system::tags(tag_prefix)
}

/// The environment of this process, as far as it is text, for programs that need their own settings and
/// credentials.
pub fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Creates a git repository in a new directory of ours and commits its contents: without a commit there is no
/// base to check contracts on.
pub fn init_repository(folder: &std::path::Path) -> Result<(), Error> {
    // Users without a git identity, or who sign every commit, still get a demo.
    let plain =
        ["-c", "user.name=planwright", "-c", "user.email=planwright@localhost", "-c", "commit.gpgsign=false"];
    let acts: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["add", "--all"],
        &["commit", "--quiet", "--no-verify", "--message", "a plan"],
    ];
    for words in acts {
        let mut git = std::process::Command::new(Tool::Git.path(&[]));
        git.args(plain).args(words).current_dir(folder).stdin(std::process::Stdio::null());
        let start = |source| Error::Start { program: "git".to_owned(), source };
        let ended = git.stdout(std::process::Stdio::null()).status().map_err(start)?;
        if !ended.success() {
            let source = io::Error::other(format!("git {}: {ended}", words[0]));
            return Err(Error::Talk { program: "git".to_owned(), source });
        }
    }
    Ok(())
}
