//! The only place that starts a process. Owns deadlines, output caps and the proof that nothing is left alive; never
//! interprets what a process says, except for the syntax check of bash, which is asked here because nobody else may.

mod capture;
mod line_protocol;
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

pub use bash_check::check_bash;
pub use capture::Capture;
pub use git::{Answer, Repository};
pub(crate) use git::{filters, identity, path_outside};
pub use line_protocol::{Dialogue, Said};
pub use output_reader::Listener;
pub use shim::{SHIM, shim_main, shim_main_without_sweep};
pub use ssh_keygen::sign_with_ssh;
pub use supervise::{Supervisors, run};

/// The variable by which the processes of a job are found again: it holds the job's tag.
pub const TAG: &str = "PLANWRIGHT_TAG";
/// How long a command may take to end by itself once it was asked to.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long a killed process may take to be gone. One that hangs in the kernel is not waited for any longer.
const DEATH_MAX: Duration = Duration::from_secs(10);
/// How long killed processes are given before they are looked at again.
const ROUND: Duration = Duration::from_millis(2);

/// One process that is supervised: an agent, a contract, a set-up.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program and its arguments. The program is looked for in the PATH of `env`.
    pub argv: Vec<String>,
    /// The folder that it runs in.
    pub folder: PathBuf,
    /// Its whole environment, but for the tag.
    pub env: Vec<(String, String)>,
    /// What it can read from its standard input.
    pub input: Vec<u8>,
    /// How long it may take.
    pub deadline: Duration,
    /// How much of each output is kept.
    pub output_bytes_max: usize,
    /// The name by which its processes are found after a crash. No other job that runs may have the same.
    pub tag: String,
}

/// How a job ended. Nothing that it started is alive.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How the command itself ended.
    pub how: How,
    /// Standard output and standard error, in the order in which they arrived.
    pub output: Capture,
    pub stdout: Capture,
    pub stderr: Capture,
    /// How long it took, until nothing of it was alive.
    pub duration: Duration,
    /// Processes that were alive after the command had ended, and were killed.
    pub leftovers: usize,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// It ended by itself, with this exit code.
    Exited(i32),
    /// This signal killed it, and it was not ours.
    Signalled(i32),
    /// It was killed at its deadline.
    TimedOut,
    /// It was killed because the caller said so.
    Stopped,
    /// It was never run, for this reason.
    NotStarted(String),
}

/// A handle with which jobs are told to stop. Its clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Returns a handle that nobody has used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells every job that runs with this handle to stop, and those that are started later.
    pub fn request(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether somebody said stop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What can go wrong with a process.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started.
    #[error("cannot start `{program}`")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    /// Talking to the process failed.
    #[error("cannot talk to `{program}`")]
    Talk {
        program: String,
        #[source]
        source: io::Error,
    },
    /// The process did not end in time and was killed.
    #[error("`{program}` did not end within {seconds} s")]
    Deadline { program: String, seconds: u64 },
    /// The supervisor of the process is gone, so nobody can say how the process ended. It was killed.
    #[error("the supervisor of `{program}` died before it could say how that ended")]
    Lost { program: String },
    /// Processes stay alive although they were killed.
    #[error("{count} processes of `{tag}` cannot be killed")]
    Alive {
        /// The tag, or the beginning of it.
        tag: String,
        count: usize,
    },
    /// The running processes could not be listed.
    #[error("cannot list the running processes")]
    List {
        #[source]
        source: io::Error,
    },
    /// This process was started as a supervisor, but its `main` did not call [`shim_main`].
    #[error("this program cannot supervise `{program}`: its `main` does not serve `{SHIM}`")]
    NoShim {
        /// The program that was to be run.
        program: String,
    },
}

/// Kills every process of this user whose tag starts with `tag_prefix`, and what these started; returns how many.
///
/// For the time after a crash of the harness: when it returns, they are proven dead. End the prefix with what separates
/// the parts of a tag, or `run-1` takes `run-10` with it. A process that wiped its environment is found as long as one
/// above it has the tag.
pub fn reclaim(tag_prefix: &str) -> Result<usize, Error> {
    system::kill_tagged(tag_prefix, &|tag| tag.starts_with(tag_prefix))
}

/// By what a process is known to be a part of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobSign {
    /// The tag of the job, in the environment of a process above.
    Tag(String),
    /// A hard limit that a job has and others have not; which job it is can't be seen.
    Limit(u64),
}

impl JobSign {
    /// The tag of the job, where it can be seen.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Tag(tag) => Some(tag),
            Self::Limit(_) => None,
        }
    }

    /// What a person does who is taken for an agent by it.
    pub fn way_out(&self) -> Option<&'static str> {
        match self {
            Self::Tag(_) => None,
            Self::Limit(_) => Some(
                "planwright sets this limit for agents and contracts; where none is at work another program has set one, and a new login, in which `ulimit -Hx` says unlimited, is free of it",
            ),
        }
    }
}

impl fmt::Display for JobSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "{TAG}={tag}"),
            Self::Limit(limit) => write!(f, "its hard limit RLIMIT_LOCKS is {limit}"),
        }
    }
}

/// By what this process is a part of a job, if it is: then an agent or a contract has started it, in however roundabout a way.
pub fn job_above() -> Option<JobSign> {
    let limit = || system::job_mark().map(JobSign::Limit);
    system::tag_above().map(JobSign::Tag).or_else(limit)
}

/// A variable of this process, or of the nearest one above it within the same job that has it: some agents start their tools
/// without the environment that they were given.
pub fn variable_above(name: &str) -> Option<String> {
    std::env::var(name).ok().or_else(|| system::variable_above(name))
}

/// The tags of living processes of this user that start with `tag_prefix`, each with how many processes have it.
pub fn tags(tag_prefix: &str) -> Result<std::collections::BTreeMap<String, usize>, Error> {
    system::tags(tag_prefix)
}

/// The environment of this process, as far as it is text: for programs that bring their own settings and credentials.
pub fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Runs git in a folder; returns what it printed and whether it succeeded.
pub fn git(folder: &std::path::Path, words: &[&std::ffi::OsStr]) -> Result<(String, Option<i32>), Error> {
    let mut git = std::process::Command::new("git");
    git.args(words).current_dir(folder).stdin(std::process::Stdio::null());
    let ended = git.output().map_err(|source| Error::Start { program: "git".to_owned(), source })?;
    Ok((String::from_utf8_lossy(&ended.stdout).into_owned(), ended.status.code()))
}

/// Makes a git repository in a folder that is our own and new, with everything that lies in it committed: where there is no
/// commit, nothing can be looked at before the work.
pub fn init_repository(folder: &std::path::Path) -> Result<(), Error> {
    // Whoever has no name yet, or signs every commit, still has a demo.
    let plain =
        ["-c", "user.name=planwright", "-c", "user.email=planwright@localhost", "-c", "commit.gpgsign=false"];
    let acts: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["add", "--all"],
        &["commit", "--quiet", "--no-verify", "--message", "a plan"],
    ];
    for words in acts {
        let mut git = std::process::Command::new("git");
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
