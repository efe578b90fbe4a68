//! Why the engine did not do what a front end asked for: the kind, which decides the exit code, the message, and the fix.

mod approval;
mod audit;
pub mod merge;
mod planner;
pub mod session;
mod workspace;
pub mod worktree;

pub use workspace::{WHAT_IS_A_PLAN, unchanged};

use crate::api::next::NextCommand;

/// Why something was not done: what failed, on what, because of what, and the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// A lowercase fragment that names the act and the thing.
    pub message: String,
    /// What led to it, nearest first.
    pub causes: Vec<String>,
    pub hint: Option<String>,
    /// Commands that fix it.
    pub next: Vec<NextCommand>,
}

/// The kinds of errors; exit codes and the error codes of protocols follow from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The answer is no: a check or a contract failed.
    Refused,
    /// The request itself is wrong; nothing was done.
    Usage,
    /// Only a person may continue.
    NeedsPerson,
    /// What the request relied on has changed.
    Moved,
    /// A disk, a permission or a missing program prevented it.
    Machine,
    /// Interrupted from the keyboard.
    Interrupted,
    /// Told to end.
    Stopped,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), hint: None, next: Vec::new() }
    }

    /// An error with the message and the causes of `error`.
    pub fn from_error(kind: ErrorKind, error: &dyn std::error::Error) -> Self {
        let failure = Self::new(kind, error.to_string());
        match error.source() {
            Some(source) => failure.because(source),
            None => failure,
        }
    }

    /// Adds `error` and everything behind it as causes.
    #[must_use]
    pub fn because(mut self, error: &dyn std::error::Error) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let text = error.to_string();
            // Some libraries repeat the text of their source.
            if self.causes.last() != Some(&text) {
                self.causes.push(text);
            }
            cause = error.source();
        }
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a command that gets further.
    #[must_use]
    pub fn next(mut self, next: NextCommand) -> Self {
        self.next.push(next);
        self
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl std::error::Error for Error {}
