//! Why a planning session refuses a command, in the words of the command that was typed.

use planwright_core::workspace::session::SessionRefusal;
use planwright_core::workspace::session::prompt::{PROGRAM, TOPIC_CHARS_MAX};

use crate::agent::planning_session;
use crate::agent::planning_session::VARIABLE;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;

/// Whose words are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionCommands {
    /// Those of document E.
    Agentctl,
    /// Ours.
    Planwright,
}

impl SessionCommands {
    pub fn drop(self, thread: &str) -> NextCommand {
        match self {
            Self::Agentctl => NextCommand::new([PROGRAM, "plan", "remove-thread", "--thread-id", thread]),
            Self::Planwright => NextCommand::new(["planwright", "session", "drop", thread]),
        }
    }

    pub fn clear(self) -> NextCommand {
        match self {
            Self::Agentctl => NextCommand::new([PROGRAM, "plan", "clear-current"]),
            Self::Planwright => NextCommand::new(["planwright", "session", "clear"]),
        }
    }

    fn help(self) -> NextCommand {
        match self {
            Self::Agentctl => NextCommand::new([PROGRAM, "--help"]),
            Self::Planwright => NextCommand::new(["planwright", "help", "session"]),
        }
    }

    pub fn commit(self) -> NextCommand {
        match self {
            Self::Agentctl => NextCommand::new([PROGRAM, "plan", "commit"]),
            Self::Planwright => NextCommand::new(["planwright", "session", "commit"]),
        }
    }
}

/// Says why a command of a session failed.
pub fn session_failed(error: planning_session::Error, commands: SessionCommands) -> Error {
    let failure = |kind| Error::from_error(kind, &error);
    match error {
        planning_session::Error::Store(error) => error.into(),
        planning_session::Error::Project(error) => error.into(),
        planning_session::Error::Decisions(error) => error.into(),
        planning_session::Error::Refused(ref refusal) => refused(refusal, failure, commands),
        planning_session::Error::Inside { .. } | planning_session::Error::Homeless => {
            failure(ErrorKind::Usage)
                .hint("set session.plans to a directory outside any repository")
                .next(NextCommand::new(["planwright", "config", "session.plans"]))
        }
        planning_session::Error::Astray { .. } => {
            failure(ErrorKind::Refused).hint("remove it; planwright creates the directory again")
        }
        planning_session::Error::Record { .. }
        | planning_session::Error::Folder { .. }
        | planning_session::Error::Undiscarded { .. }
        | planning_session::Error::State(_) => failure(ErrorKind::Machine),
    }
}

fn refused(
    refusal: &SessionRefusal,
    failure: impl Fn(ErrorKind) -> Error,
    commands: SessionCommands,
) -> Error {
    match refusal {
        SessionRefusal::Unknown { known, .. } => {
            let known = match known.is_empty() {
                true => "this session has no threads".to_owned(),
                false => format!("its threads are {}", known.join(", ")),
            };
            failure(ErrorKind::Usage).hint(known).next(NextCommand::new(["planwright", "session", "show"]))
        }
        SessionRefusal::Current { .. } => failure(ErrorKind::Refused)
            .hint("clear it to remove its plan; the thread stays")
            .next(commands.clear()),
        SessionRefusal::Full => {
            failure(ErrorKind::Refused).hint("remove a thread that is no longer needed")
        }
        SessionRefusal::EmptyTopic | SessionRefusal::LongTopic { .. } | SessionRefusal::HiddenTopic => {
            failure(ErrorKind::Usage)
                .hint(format!("use one line of 1 to {TOPIC_CHARS_MAX} characters"))
                .next(commands.help())
        }
        SessionRefusal::Name { .. } => failure(ErrorKind::Usage)
            .hint(format!(
                "{VARIABLE} accepts up to 64 letters, digits, `-`, `_` and `.`; if it is not set, this directory has \
                 its own session"
            ))
            .next(commands.help()),
    }
}
