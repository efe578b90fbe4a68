//! The exit codes, which are documented promises. Owns their numbers and meanings; decides nothing.

use std::process::ExitCode;

use planwright_engine::api::ErrorKind;

/// How a command ended, as its caller learns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// What was asked is done.
    Done,
    /// It was asked and looked at, and the honest answer is no.
    No,
    /// The command line or the settings are wrong.
    Usage,
    /// Only a person may continue.
    Person,
    /// What the command relied on has changed.
    Moved,
    /// A disk, a permission or a missing program prevented it.
    Machine,
    /// Timed out.
    TimedOut,
    /// Interrupted from the keyboard.
    Interrupted,
    Terminated,
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Refused => Self::No,
            ErrorKind::Usage => Self::Usage,
            ErrorKind::NeedsPerson => Self::Person,
            ErrorKind::Moved => Self::Moved,
            ErrorKind::Machine => Self::Machine,
            ErrorKind::Interrupted => Self::Interrupted,
            ErrorKind::Stopped => Self::Terminated,
        }
    }
}

/// Every exit code with its word and its meaning, in ascending order.
pub const EXIT_CODES: &[(u8, &str, &str)] = &[
    (0, "done", "done"),
    (1, "no", "failed: the plan has errors, a contract failed, or a check does not hold"),
    (2, "usage", "wrong use: unknown command, option, plan or value; nothing was done"),
    (3, "person", "needs you: to approve, to answer or to decide"),
    (4, "moved", "changed: the plan, branch or approval is not what it was; check again"),
    (5, "machine", "system error: a file cannot be read or written, or a program is missing"),
    (124, "timed-out", "timed out"),
    (130, "interrupted", "interrupted from the keyboard (SIGINT)"),
    (143, "terminated", "terminated (SIGTERM)"),
];

impl Exit {
    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::Person => 3,
            Self::Moved => 4,
            Self::Machine => 5,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The word for it, as in [`EXIT_CODES`]; error envelopes call it the kind.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::No => "no",
            Self::Usage => "usage",
            Self::Person => "person",
            Self::Moved => "moved",
            Self::Machine => "machine",
            Self::TimedOut => "timed-out",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Exit; 9] = [
        Exit::Done,
        Exit::No,
        Exit::Usage,
        Exit::Person,
        Exit::Moved,
        Exit::Machine,
        Exit::TimedOut,
        Exit::Interrupted,
        Exit::Terminated,
    ];

    #[test]
    fn the_table_and_the_enum_say_the_same() {
        let told: Vec<(u8, &str)> = EXIT_CODES.iter().map(|&(code, word, _)| (code, word)).collect();
        assert_eq!(told, ALL.map(|exit| (exit.code(), exit.word())));
    }

    #[test]
    fn the_page_holds_every_row_and_no_other() {
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/exit-codes.md"));
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        let expected: Vec<String> = EXIT_CODES
            .iter()
            .map(|(code, word, meaning)| format!("| {code} | {word} | {meaning} |"))
            .collect();
        assert_eq!(rows, expected);
    }
}
