//! How the audit of a record, and of its contracts, failed.

use planwright_engine::audit;
use planwright_engine::audit::rerun;
use planwright_engine::git::base;

use crate::output::{Exit, Failure, NextCommand};

impl From<audit::Error> for Failure {
    fn from(error: audit::Error) -> Self {
        let failure = |exit| Self::from_error(exit, &error);
        match error {
            audit::Error::Project(error) => error.into(),
            audit::Error::Store(error) => error.into(),
            audit::Error::Git(base::Error::NoRepository { .. }) => failure(Exit::No)
                .hint("anchors need a git repository")
                .next(NextCommand::new(["planwright", "audit"])),
            audit::Error::Found(_) | audit::Error::Unwritable { .. } => {
                failure(Exit::No).next(NextCommand::new(["planwright", "audit"]))
            }
            audit::Error::Nothing { .. } | audit::Error::NoRecord => failure(Exit::No)
                .hint("a record starts with a proposal or a run")
                .next(NextCommand::new(["planwright", "list"])),
            audit::Error::Journal(_) | audit::Error::Git(_) | audit::Error::File { .. } => {
                failure(Exit::Machine)
            }
        }
    }
}

impl From<rerun::Error> for Failure {
    fn from(error: rerun::Error) -> Self {
        let failure = |exit| Self::from_error(exit, &error);
        match error {
            rerun::Error::Store(error) => error.into(),
            rerun::Error::Exported(error) => (*error).into(),
            rerun::Error::Moved => failure(Exit::Moved)
                .hint("run it again when no other process writes to the directory")
                .next(NextCommand::new(["planwright", "audit", "--rerun"])),
            rerun::Error::Nested => failure(Exit::No).next(NextCommand::new(["planwright", "audit"])),
            rerun::Error::Base(base::Error::NoCommit { .. } | base::Error::NoRepository { .. }) => {
                failure(Exit::Usage).next(NextCommand::new(["planwright", "help", "audit"]))
            }
            rerun::Error::Base(base::Error::Ports(error)) => (*error).into(),
            rerun::Error::Base(_) | rerun::Error::State(_) | rerun::Error::Journal(_) => {
                failure(Exit::Machine)
            }
        }
    }
}
