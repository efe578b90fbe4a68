//! Errors of the machine: a broken or full disk, no more files, memory, processes. They say nothing about what was
//! being done, so they are told apart from every other error. Decides nothing.

use std::error::Error;
use std::io;

use nix::errno::Errno;

/// The errors of the machine, with the words of the C library, by which a program such as git reports them.
const MACHINE: &[(Errno, &str)] = &[
    (Errno::EIO, "Input/output error"),
    (Errno::ENOSPC, "No space left on device"),
    (Errno::EDQUOT, "Disk quota exceeded"),
    (Errno::EMFILE, "Too many open files"),
    (Errno::ENFILE, "Too many open files in system"),
    (Errno::EAGAIN, "Resource temporarily unavailable"),
    (Errno::ENOMEM, "Cannot allocate memory"),
    (Errno::ENOBUFS, "No buffer space available"),
    (Errno::EROFS, "Read-only file system"),
    (Errno::ESTALE, "Stale file handle"),
];

/// An error that says nothing about what was being done: of the machine, or of a supervisor that is gone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Fault {
    /// What failed, with its causes.
    pub why: String,
    /// The error number, if the system gave one.
    pub errno: Option<i32>,
}

impl Fault {
    /// This error and its causes, whatever they are.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        Self { why: told(error), errno: errno_in(error) }
    }

    /// The same if the machine caused it.
    pub fn caused(error: &(dyn Error + 'static)) -> Option<Self> {
        errno_in(error).map(|errno| Self { why: told(error), errno: Some(errno) })
    }
}

/// Whether this error number is the machine's.
pub(crate) fn is_machine(errno: i32) -> bool {
    MACHINE.iter().any(|(known, _)| *known as i32 == errno)
}

/// Whether an error is the machine's.
pub(crate) fn is_fault(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(is_machine)
}

/// The number of the machine's error that caused this one; `None` if it has another cause.
pub(crate) fn errno_in(error: &(dyn Error + 'static)) -> Option<i32> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(errno) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return Some(errno).filter(|&errno| is_machine(errno));
        }
        next = error.source();
    }
    errno_said(&told(error))
}

/// The number of the machine's error that a program reports in words.
fn errno_said(text: &str) -> Option<i32> {
    MACHINE.iter().find(|(_, words)| text.contains(words)).map(|(errno, _)| *errno as i32)
}

/// An error with its causes.
pub(crate) fn told(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let said = error.to_string();
        // A transparent error says the same as its cause.
        if !text.ends_with(&said) {
            text.push_str(&format!(": {said}"));
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::process;

    // M-20: an error of the machine is told from one that says something about the work.
    #[test]
    fn only_errors_of_the_machine_are_faults() {
        let start = |errno: Errno| process::Error::Start {
            program: "git".to_owned(),
            source: io::Error::from_raw_os_error(errno as i32),
        };
        for (errno, _) in MACHINE {
            assert_eq!(errno_in(&start(*errno)), Some(*errno as i32));
        }
        for errno in [Errno::ENOENT, Errno::EACCES, Errno::ENOEXEC, Errno::ENOTDIR, Errno::ELOOP] {
            assert_eq!(errno_in(&start(errno)), None);
        }
        let said = |text: &str| io::Error::other(format!("git cannot write a tree: fatal: {text}"));
        assert_eq!(errno_in(&said("write error: No space left on device")), Some(Errno::ENOSPC as i32));
        assert_eq!(errno_in(&said("not a valid object name")), None);
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let error = process::Error::Start { program: "git".to_owned(), source: io::Error::other("why") };
        assert_eq!(told(&error), "cannot start `git`: why");
    }
}
