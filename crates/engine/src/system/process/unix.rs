//! The fallback where orphans cannot be adopted: the process group. A process that leaves its group is not
//! found.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::sys::socket::MsgFlags;
use nix::unistd::Pid;

use super::Error;
use super::fork::try_wait;
use super::poll::PollEvent;

/// Where a file descriptor of this process can be opened by its number.
pub(super) const DESCRIPTORS: &str = "/dev/fd";

/// The tag in a supervisor's environment, which nothing can read here.
pub(super) const CHANGING: &str = "supervisor";
/// Received descriptors do not close on exec; they are closed at once instead.
pub(super) const PASSED: MsgFlags = MsgFlags::empty();

/// What others could see of a job; nothing here.
pub(super) struct HeldTag;

/// Shows nothing: nothing can look for it.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn hold_tag(_tag: &str) -> io::Result<HeldTag> {
    Ok(HeldTag)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) pid: i32,
}

pub(super) fn executable() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Does nothing: orphans go to the init process.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Does nothing: no signal reports the death of a parent.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn die_with(_parent: i32) -> io::Result<()> {
    Ok(())
}

/// Does nothing: no limit could be a mark.
pub(super) fn mark_job() {}

/// Finds nothing: no process is marked.
pub(super) fn job_mark() -> Option<u64> {
    None
}

/// Does not notify when children exit: the caller polls.
pub(super) struct Deaths;

impl Deaths {
    /// The polling interval without notification.
    pub(super) const LOOK: Option<Duration> = Some(Duration::from_millis(5));

    #[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "other systems have one")]
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    #[expect(clippy::unused_self, reason = "other systems have something to forget")]
    pub(super) fn forget(&self) {}
}

/// Reaps the command once it has exited; this process knows of no other.
pub(super) fn reap(command: &mut Option<i32>) -> Option<PollEvent> {
    let Some(pid) = *command else { return Some(PollEvent::Childless) };
    let status = try_wait(pid).ok().flatten()?;
    *command = None;
    Some(PollEvent::Ended(status))
}

/// Kills the process group of the command; which processes that hits is unknown.
pub(super) fn kill_below(command: i32) -> Vec<Identity> {
    // A group that is already gone is fine.
    let _ = killpg(Pid::from_raw(command), Signal::SIGKILL);
    Vec::new()
}

/// Finds nothing: the environment of other processes cannot be read.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn tags(_prefix: &str) -> Result<std::collections::BTreeMap<String, usize>, Error> {
    Ok(std::collections::BTreeMap::new())
}

/// Kills nothing: the environment of other processes cannot be read.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn kill_tagged(_tag: &str, _is_ours: &dyn Fn(&str) -> bool) -> Result<usize, Error> {
    Ok(0)
}

/// Finds nothing: the environment of other processes cannot be read.
pub(super) fn variable_above(_: &str) -> Option<String> {
    None
}

/// The tag of this process's job, as far as its own environment says.
pub(super) fn tag_above() -> Option<String> {
    std::env::var(super::TAG).ok()
}

/// Nothing is known here that keeps processes of one user apart.
pub(super) fn guard_memory() {}
