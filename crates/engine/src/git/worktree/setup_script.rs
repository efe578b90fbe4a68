//! Runs the user's setup and teardown commands in worktrees. They run as the user, so a command that only the
//! project sets, and agents can therefore write, runs only after the user has allowed exactly that command.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Error;
use crate::config::WorktreeScript;
use crate::store::{plan_file, state_dir};
use crate::system::process;
use crate::system::process::{How, ProcessJob, Stop};

/// The file of allowed commands, in the state directory of the repository: one hash per line.
const ALLOWED: &str = "scripts";
const ALLOWED_BYTES_MAX: u64 = 1 << 20;
/// How much of a script's output is kept, and how much of that is shown.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
const SHOWN_BYTES_MAX: usize = 4 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptRun {
    /// There is none, or it was not requested.
    Nothing,
    /// Only the project sets it, and the user has not allowed it.
    Unallowed {
        command: Vec<String>,
    },
    Well,
    Badly {
        how: String,
        /// The end of its output.
        said: String,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptTarget<'a> {
    /// The workspace that the worktree belongs to.
    pub(super) root: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) ports: &'a [u16],
    pub(super) seconds: u64,
}

/// The hash of exactly one command, by which it is allowed.
pub fn digest(command: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    for word in command {
        // No word of a command contains a zero byte.
        hasher.update(word.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex().to_string()
}

/// Whether a script may run: the user sets it, or has allowed it.
pub(super) fn is_allowed(root: &Path, script: &WorktreeScript) -> Result<bool, Error> {
    if !script.is_projects || script.command.is_empty() {
        return Ok(true);
    }
    let digest = digest(&script.command);
    Ok(allowed(&file(root)?).lines().any(|line| line == digest))
}

/// Records that the user has allowed a script.
pub(super) fn allow(root: &Path, script: &WorktreeScript) -> Result<(), Error> {
    if is_allowed(root, script)? {
        return Ok(());
    }
    let path = state_dir::claim_for_project(root)?.join(ALLOWED);
    let text = format!("{}{}\n", allowed(&path), digest(&script.command));
    plan_file::put_private(&path, &text).map_err(|source| Error::File { path, source })
}

fn file(root: &Path) -> Result<PathBuf, Error> {
    Ok(state_dir::of_project(root)?.join(ALLOWED))
}

fn allowed(path: &Path) -> String {
    // An unreadable file allows nothing.
    plan_file::read_text(path, ALLOWED_BYTES_MAX).unwrap_or_default()
}

/// Runs a script, if allowed. When this returns, nothing that it started is alive.
pub(super) fn run(script: &WorktreeScript, ground: ScriptTarget<'_>) -> Result<ScriptRun, Error> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    if script.command.is_empty() {
        return Ok(ScriptRun::Nothing);
    }
    if !is_allowed(ground.root, script)? {
        return Ok(ScriptRun::Unallowed { command: script.command.clone() });
    }
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut env = process::environment();
    let mut own = super::ports::variables(ground.ports);
    own.push(("PLANWRIGHT_WORKSPACE".to_owned(), path(ground.root)));
    own.push(("PLANWRIGHT_TREE".to_owned(), path(ground.folder)));
    env.retain(|(name, _)| own.iter().all(|(known, _)| known != name));
    env.extend(own);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let job = ProcessJob {
        argv: script.command.clone(),
        folder: ground.folder.to_owned(),
        env,
        input: Vec::new(),
        deadline: Duration::from_secs(ground.seconds),
        output_bytes_max: OUTPUT_BYTES_MAX,
        tag: format!("worktree/{}-{count}", std::process::id()),
    };
    let ended = process::run(&job, &Stop::new()).map_err(|error| Error::Base(error.into()))?;
    let how = match ended.how {
        How::Exited(0) => return Ok(ScriptRun::Well),
        How::Exited(code) => format!("it exited with {code}"),
        How::Signalled(signal) => format!("it was killed by signal {signal}"),
        How::TimedOut => format!("it timed out after {} s", ground.seconds),
        How::Stopped => "it was interrupted".to_owned(),
        How::NotStarted(why) => why,
    };
    Ok(ScriptRun::Badly { how, said: ended.output.tail(SHOWN_BYTES_MAX) })
}
