//! What is left where orphans cannot be adopted: the process group. What leaves its group is not found here.

use std::io;
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::Sender;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::Error;
use super::shim::Event;

/// Where a file descriptor of this process can be opened by its number.
pub(super) const DESCRIPTORS: &str = "/dev/fd";

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    /// Its number.
    pub(super) pid: i32,
}

/// The program that runs now.
pub(super) fn executable() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Does nothing: orphans go to the first process of the system.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Does nothing: no signal tells that a parent died.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn die_with(_parent: i32) -> io::Result<()> {
    Ok(())
}

/// Waits for the command, tells how it ended, and that there is no child left.
pub(super) fn reap(mut command: Child, events: &Sender<Event>) {
    // Whoever listens is gone only together with this whole process, so an event that nobody takes is no loss.
    if let Ok(status) = command.wait() {
        let _ = events.send(Event::Ended(status));
    }
    let _ = events.send(Event::Childless);
}

/// Kills the process group of the command; whom that hits is not known.
pub(super) fn kill_below(command: i32) -> Vec<Identity> {
    // A group that is gone is what this is for.
    let _ = killpg(Pid::from_raw(command), Signal::SIGKILL);
    Vec::new()
}

/// Finds nobody: the environment of other processes cannot be read.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn tags(_prefix: &str) -> Result<std::collections::BTreeMap<String, usize>, Error> {
    Ok(std::collections::BTreeMap::new())
}

/// Kills nobody: the environment of other processes cannot be read.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn kill_tagged(_tag: &str, _is_ours: &dyn Fn(&str) -> bool) -> Result<usize, Error> {
    Ok(0)
}

/// The tag of the job that this process belongs to, as far as its own environment says.
pub(super) fn tag_above() -> Option<String> {
    std::env::var(super::TAG).ok()
}
