//! Makes a copy of this process and collects it again. The only unsafe code of the workspace is here: a copy can't be made without.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::unistd::ForkResult;
use rustix::process::{Pid, WaitOptions, waitpid};

/// Which of the two processes this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fork {
    /// The one that was there, and the number of its copy.
    Parent(i32),
    Copy,
}

/// Makes a copy of this process. Refused in a process with several threads: only the one that calls would be in the copy, and locks
/// that others hold would be held for ever.
#[expect(unsafe_code, reason = "no system has a safe way to do this")]
pub(super) fn fork() -> io::Result<Fork> {
    if !has_one_thread()? {
        return Err(io::Error::other("a process with several threads can't be copied"));
    }
    // SAFETY: a fork is unsafe because of other threads, and there are none: only this thread could have started one since.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(Fork::Parent(child.as_raw())),
        ForkResult::Child => Ok(Fork::Copy),
    }
}

#[cfg(target_os = "linux")]
fn has_one_thread() -> io::Result<bool> {
    Ok(std::fs::read_dir("/proc/self/task")?.count() == 1)
}

/// Nothing tells here. `main` becomes a supervisor before it starts any thread.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
fn has_one_thread() -> io::Result<bool> {
    Ok(true)
}

/// Collects a child if it has ended. Whatever signal ended it: nix has names for some of them only, and loses the others.
pub(super) fn try_wait(pid: i32) -> io::Result<Option<ExitStatus>> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(ended) => return Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw()))),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fork;

    // The twin of every supervisor that works: they have one thread.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_with_several_threads_is_not_copied() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || receiver.recv());
        assert!(fork().is_err());
        drop(sender);
        other.join().expect("no panic").expect_err("nobody sends");
    }
}
