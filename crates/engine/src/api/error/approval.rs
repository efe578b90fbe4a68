//! Why nothing was proposed, approved or started.

use std::io;
use std::path::Path;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::approval;
use crate::config::policy;
use crate::store::plan_file;

impl From<policy::Error> for Error {
    fn from(error: policy::Error) -> Self {
        let exit = match error {
            policy::Error::Invalid { .. } | policy::Error::Signers { .. } => ErrorKind::Usage,
            policy::Error::Workspace { .. } | policy::Error::Loose { .. } => ErrorKind::Refused,
            // It was named explicitly and does not exist.
            policy::Error::Read { ref source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ErrorKind::Usage
            }
            policy::Error::State { .. } | policy::Error::Read { .. } | policy::Error::Write { .. } => {
                ErrorKind::Machine
            }
        };
        let failure = Self::from_error(exit, &error);
        error.faults().iter().fold(failure, |failure, fault| failure.because(fault))
    }
}

impl From<approval::Error> for Error {
    fn from(error: approval::Error) -> Self {
        let failure = |kind| Self::from_error(kind, &error);
        match error {
            approval::Error::Runs(error) => error.into(),
            approval::Error::Store(error) => error.into(),
            approval::Error::Unclean { ref plan, .. } => failure(ErrorKind::Refused)
                .hint("nothing was proposed")
                .next(NextCommand::new(["planwright", "verify", plan])),
            approval::Error::Over { ref plan, .. } => failure(ErrorKind::Refused)
                .hint("return it to draft first; nothing was recorded")
                .next(NextCommand::new(["planwright", "revise", plan])),
            approval::Error::Unfit(_) | approval::Error::Unsigned(_) => {
                failure(ErrorKind::Refused).hint("nothing was recorded")
            }
            approval::Error::Policy(error) => error.into(),
            approval::Error::Signature(_) => failure(ErrorKind::NeedsPerson)
                .hint("nothing was recorded; the list of signers decides whose keys count")
                .next(NextCommand::new(["planwright", "policy"])),
            approval::Error::Refused(_) => failure(ErrorKind::NeedsPerson).hint("nothing was recorded"),
            approval::Error::Moved { ref plan, .. } => failure(ErrorKind::Moved)
                .hint("review it again; nothing was recorded")
                .next(NextCommand::new(["planwright", "review", plan])),
            approval::Error::Lapsed { ref plan, .. } => failure(ErrorKind::Moved)
                .hint("propose it again and review the changes; nothing was started")
                .next(NextCommand::new(["planwright", "propose", plan])),
            approval::Error::Unapproved { ref plan } => {
                failure(ErrorKind::NeedsPerson).next(NextCommand::new(["planwright", "propose", plan]))
            }
            approval::Error::OpenElsewhere { ref plan, is_tree, .. } => {
                let next = match is_tree {
                    true => NextCommand::new(["planwright", "run", plan, "--worktree"]),
                    false => NextCommand::new(["planwright", "cancel", plan]),
                };
                failure(ErrorKind::Moved)
                    .hint("a plan has one run at a time: resume it there, or cancel it")
                    .next(next)
            }
            approval::Error::Staged { ref plan } => failure(ErrorKind::Refused)
                .hint("nothing was proposed or started")
                .next(NextCommand::new(["planwright", "unshelve", &plan_file::name(Path::new(plan))])),
            approval::Error::Tripped { ref plan, .. } => failure(ErrorKind::NeedsPerson)
                .hint("a person must approve it again; nothing was started")
                .next(NextCommand::new(["planwright", "run", plan])),
            approval::Error::Running { ref plan, .. } => failure(ErrorKind::Moved)
                .hint("end the run first; nothing was recorded")
                .next(NextCommand::new(["planwright", "status", plan])),
            approval::Error::Seal(_) => failure(ErrorKind::Refused).hint("nothing was proposed"),
            approval::Error::Program(_) => {
                failure(ErrorKind::Machine).hint("nothing was approved or started")
            }
            approval::Error::Revision { ref plan, .. } => {
                failure(ErrorKind::Usage).next(NextCommand::new(["planwright", "review", plan]))
            }
            approval::Error::Broken { .. } => {
                failure(ErrorKind::Machine).next(NextCommand::new(["planwright", "doctor"]))
            }
            approval::Error::Base(_) | approval::Error::Journal(_) | approval::Error::Text { .. } => {
                failure(ErrorKind::Machine)
            }
        }
    }
}
