//! Who asks. Rights hang on the caller, not on the front end: only a person decides, whatever an agent calls.

use std::fmt;

use planwright_core::agent::profile::PROFILES;
use planwright_core::plan::identity::Identity;

use crate::api::error::{Error, ErrorKind};
use crate::system::process;
use crate::system::process::JobSign;
use crate::system::user::user;

/// Variables that agents of any make set in the shells that they use.
const AGENT_VARIABLES: &[&str] = &["AI_AGENT"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// By name.
    Person(String),
    /// An agent outside of planwright, known by a variable of its shell. That stops mistakes, not attacks.
    Agent { name: String, variable: String },
    /// Something that planwright itself has started: known for certain.
    Attempt(JobSign),
}

/// What only a person may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    AddDiscovery,
    AdoptRecord,
    AllowSetup,
    AllowTeardown,
    Anchor,
    Answer,
    Approve,
    ApproveOrRun,
    Archive,
    AssignRoles,
    Cancel,
    ChangePolicy,
    ChangeSettings,
    ConnectAgents,
    Delete,
    Merge,
    OpenEditor,
    Reject,
    RemoveWorktree,
    PruneWorktrees,
    Repair,
    Retry,
    Revise,
    RollBack,
    SetRecordAside,
    Shelve,
    Stop,
    Undo,
    Unshelve,
    Work,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddDiscovery => "add follow-up work as a step",
            Self::AdoptRecord => "adopt a record",
            Self::AllowSetup => "allow a setup command",
            Self::AllowTeardown => "allow a teardown command",
            Self::Anchor => "anchor the record",
            Self::Answer => "answer",
            Self::Approve => "approve",
            Self::ApproveOrRun => "approve or run a plan",
            Self::Archive => "archive plans",
            Self::AssignRoles => "assign roles",
            Self::Cancel => "cancel a run",
            Self::ChangePolicy => "change the policy",
            Self::ChangeSettings => "change settings",
            Self::ConnectAgents => "connect agents",
            Self::Delete => "delete a plan",
            Self::Merge => "merge plans",
            Self::OpenEditor => "open an editor",
            Self::Reject => "reject a plan",
            Self::RemoveWorktree => "remove a worktree",
            Self::PruneWorktrees => "remove worktrees",
            Self::Repair => "fix with `doctor --fix`",
            Self::Retry => "retry a plan",
            Self::Revise => "revise a plan",
            Self::RollBack => "roll back a run",
            Self::SetRecordAside => "set a record aside",
            Self::Shelve => "shelve a plan",
            Self::Stop => "stop a run",
            Self::Undo => "undo a decision",
            Self::Unshelve => "unshelve a plan",
            Self::Work => "work for runs of other processes",
        })
    }
}

impl Caller {
    /// Who started this process.
    pub fn of_process() -> Self {
        let known =
            PROFILES.iter().flat_map(|profile| profile.signs.iter().map(|sign| (*sign, profile.name)));
        let mut all = known.chain(AGENT_VARIABLES.iter().map(|sign| (*sign, "an agent")));
        if let Some((variable, name)) = all.find(|(sign, _)| std::env::var_os(sign).is_some()) {
            return Self::Agent { name: name.to_owned(), variable: variable.to_owned() };
        }
        process::job_above().map_or_else(|| Self::Person(user()), Self::Attempt)
    }

    pub fn is_person(&self) -> bool {
        matches!(self, Self::Person(_))
    }

    /// What gives an agent away.
    pub fn sign(&self) -> Option<String> {
        match self {
            Self::Person(_) => None,
            Self::Agent { variable, .. } => Some(variable.clone()),
            Self::Attempt(sign) => Some(sign.to_string()),
        }
    }

    /// Under which name what it does is recorded.
    pub fn identity(&self) -> Identity {
        match self {
            Self::Person(name) => Identity::person(name),
            Self::Agent { name, .. } => Identity::agent(name),
            Self::Attempt(_) => Identity::agent("an attempt"),
        }
    }

    /// Refuses everyone but a person.
    pub fn may(&self, right: Right) -> Result<(), Error> {
        let Some(sign) = self.sign() else { return Ok(()) };
        let message = format!("only a person may {right}; this terminal belongs to an agent ({sign})");
        let mut error = Error::new(ErrorKind::NeedsPerson, message);
        if let Self::Attempt(sign) = self {
            // A cause: the hint that an operation has of its own is still to come.
            error.causes.extend(sign.way_out().map(str::to_owned));
        }
        Err(error)
    }
}

/// A person's yes to what an agent asks for, given where the agent can't answer: in a dialog of its client.
pub struct Confirmation {
    by: String,
}

impl Confirmation {
    /// Refused if this process belongs to an agent, which could then be the client that shows the dialog.
    pub fn by(person: &str, right: Right) -> Result<Self, Error> {
        Caller::of_process().may(right)?;
        Ok(Self { by: person.to_owned() })
    }

    pub(crate) fn into_caller(self) -> Caller {
        Caller::Person(self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_has_rights() {
        let agent = Caller::Agent { name: "claude".to_owned(), variable: "CLAUDECODE".to_owned() };
        let attempt = Caller::Attempt(JobSign::Limit(7));
        for right in [Right::Approve, Right::ChangePolicy, Right::Answer, Right::Work] {
            assert!(Caller::Person("ada".to_owned()).may(right).is_ok());
            for caller in [&agent, &attempt] {
                assert_eq!(caller.may(right).map_err(|error| error.kind), Err(ErrorKind::NeedsPerson));
            }
        }
        assert_eq!(agent.identity(), Identity::agent("claude"));
    }
}
