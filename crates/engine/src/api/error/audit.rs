//! How the audit of a record, and of its contracts, failed.

use crate::audit;
use crate::audit::rerun;
use crate::git::base;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;

impl From<audit::Error> for Error {
    fn from(error: audit::Error) -> Self {
        let failure = |kind| Self::from_error(kind, &error);
        match error {
            audit::Error::Project(error) => error.into(),
            audit::Error::Store(error) => error.into(),
            audit::Error::Git(base::Error::NoRepository { .. }) => failure(ErrorKind::Refused)
                .hint("anchors need a git repository")
                .next(NextCommand::new(["planwright", "audit"])),
            audit::Error::Found(_) | audit::Error::Unwritable { .. } => {
                failure(ErrorKind::Refused).next(NextCommand::new(["planwright", "audit"]))
            }
            audit::Error::Nothing { .. } | audit::Error::NoRecord => failure(ErrorKind::Refused)
                .hint("a record starts with a proposal or a run")
                .next(NextCommand::new(["planwright", "list"])),
            audit::Error::Journal(_) | audit::Error::Git(_) | audit::Error::File { .. } => {
                failure(ErrorKind::Machine)
            }
        }
    }
}

impl From<rerun::Error> for Error {
    fn from(error: rerun::Error) -> Self {
        let failure = |kind| Self::from_error(kind, &error);
        match error {
            rerun::Error::Store(error) => error.into(),
            rerun::Error::Exported(error) => (*error).into(),
            rerun::Error::Moved => failure(ErrorKind::Moved)
                .hint("run it again when no other process writes to the directory")
                .next(NextCommand::new(["planwright", "audit", "--rerun"])),
            rerun::Error::Nested => {
                failure(ErrorKind::Refused).next(NextCommand::new(["planwright", "audit"]))
            }
            rerun::Error::Base(base::Error::NoCommit { .. } | base::Error::NoRepository { .. }) => {
                failure(ErrorKind::Usage).next(NextCommand::new(["planwright", "help", "audit"]))
            }
            rerun::Error::Base(base::Error::Ports(error)) => (*error).into(),
            rerun::Error::Base(_) | rerun::Error::State(_) | rerun::Error::Journal(_) => {
                failure(ErrorKind::Machine)
            }
        }
    }
}
