//! Why a project, a plan, a run or a setting could not be read or changed.

use std::path::Path;

use crate::config::Error as ConfigError;
use crate::git::merge_driver as driver;
use crate::run as runs;
use crate::run::baseline;
use crate::run::checkout;
use crate::run::simulate;
use crate::store::plan_file;
use crate::workspace::{active_plan, project};
use planwright_core::plan::edit::EditError;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;

/// What is found as a plan without being named by its path.
pub const WHAT_IS_A_PLAN: &str = "a plan has `type: plan` in its frontmatter, or is in the place of its dialect: \
    PLAN.md, .rawko/plans/, .pi/plans/, plan.md with tasks/";

impl From<baseline::Error> for Error {
    fn from(error: baseline::Error) -> Self {
        match error {
            baseline::Error::Project(error) => error.into(),
            baseline::Error::Base(_) => Self::from_error(ErrorKind::Machine, &error),
        }
    }
}

impl From<project::Error> for Error {
    fn from(error: project::Error) -> Self {
        let failure = |kind| Self::from_error(kind, &error);
        match error {
            project::Error::Config(error) => error.into(),
            project::Error::Store(error) => error.into(),
            project::Error::Process(_)
            | project::Error::Search { .. }
            | project::Error::Unread { .. }
            | project::Error::Stream { .. } => failure(ErrorKind::Machine),
            project::Error::NoFolder { .. } | project::Error::Crowded { .. } => failure(ErrorKind::Usage)
                .hint("run this inside a project: a directory with .git or planwright.toml"),
            project::Error::NoPlan { meant: Some(ref meant), .. } => failure(ErrorKind::Usage)
                .hint(format!("did you mean `{meant}`?"))
                .next(NextCommand::new(["planwright", "list"])),
            project::Error::NoPlan { .. } => {
                failure(ErrorKind::Usage).hint(WHAT_IS_A_PLAN).next(NextCommand::new(["planwright", "list"]))
            }
            project::Error::Staged { ref name, ref path } => failure(ErrorKind::Usage)
                .hint(format!("it is in {}", shown(path)))
                .next(NextCommand::new(["planwright", "unshelve", name.as_str()])),
            project::Error::Ambiguous { ref plans, ref name } => {
                let plans: Vec<String> = plans.iter().map(|plan| shown(plan)).collect();
                failure(ErrorKind::Usage)
                    .hint(format!("pass one of: {}", plans.join(", ")))
                    .next(NextCommand::new(["planwright", "list", &format!("--find={name}")]))
            }
        }
    }
}

impl From<runs::Error> for Error {
    fn from(error: runs::Error) -> Self {
        match error {
            runs::Error::Project(error) => error.into(),
            runs::Error::Driven { .. } => Self::from_error(ErrorKind::Moved, &error)
                .hint("wait for it, or check its status")
                .next(NextCommand::new(["planwright", "status"])),
            runs::Error::Occupied { .. } => Self::from_error(ErrorKind::Moved, &error)
                .hint("one plan at a time runs in a directory: `run --wait` waits, `run --worktree` uses another one")
                .next(NextCommand::new(["planwright", "status"])),
            runs::Error::Illegal(_) => {
                Self::from_error(ErrorKind::Moved, &error).next(NextCommand::new(["planwright", "status"]))
            }
            runs::Error::NoJudge { .. } => Self::from_error(ErrorKind::Usage, &error)
                .hint("a person confirms this step; name one with a contract")
                .next(NextCommand::new(["planwright", "help", "run"])),
            runs::Error::Unlanded { ref step } => {
                let message = format!("no checkpoint for step `{step}`");
                Self::new(ErrorKind::Refused, message)
                    .hint("planwright saves a checkpoint when a step passes in a git repository with a commit")
                    .next(NextCommand::new(["planwright", "status"]))
            }
            runs::Error::Ground(checkout::Error::InTheWay { .. }) => {
                Self::from_error(ErrorKind::Refused, &error).hint("move them and try again; nothing was restored")
            }
            runs::Error::Ground(checkout::Error::NoRepository { .. }) => Self::from_error(ErrorKind::Refused, &error)
                .hint("worktrees need a commit: create a repository and commit")
                .next(NextCommand::new(["git", "init"])),
            runs::Error::Ground(_)
            | runs::Error::Journal(_)
            | runs::Error::Unchecked(_)
            | runs::Error::Drive(_)
            | runs::Error::Plan { .. }
            | runs::Error::Contended { .. }
            | runs::Error::Panicked { .. }
            | runs::Error::Broken { .. } => Self::from_error(ErrorKind::Machine, &error),
        }
    }
}

impl From<simulate::Error> for Error {
    fn from(error: simulate::Error) -> Self {
        match error {
            simulate::Error::Project(error) => error.into(),
            simulate::Error::Runs(error) => error.into(),
        }
    }
}

impl From<driver::Error> for Error {
    fn from(error: driver::Error) -> Self {
        match error {
            driver::Error::Store(error) => error.into(),
            driver::Error::NoRepository { .. } => Self::from_error(ErrorKind::Refused, &error)
                .hint("the merge driver is a repository setting: create a repository first")
                .next(NextCommand::new(["git", "init"])),
            driver::Error::Read { .. }
            | driver::Error::State(_)
            | driver::Error::Git(_)
            | driver::Error::Refused { .. } => Self::from_error(ErrorKind::Machine, &error),
        }
    }
}

impl From<plan_file::Error> for Error {
    fn from(mut error: plan_file::Error) -> Self {
        *error.path_mut() = shown(error.path_mut()).into();
        let failure = |kind| Self::from_error(kind, &error);
        match &error {
            plan_file::Error::Missing { .. } => {
                failure(ErrorKind::Usage).next(NextCommand::new(["planwright", "list"]))
            }
            plan_file::Error::NoFolder { .. } => {
                failure(ErrorKind::Usage).hint("omit --dialect, or pass `--dialect directory`")
            }
            plan_file::Error::NotAFile { .. } => failure(ErrorKind::Usage)
                .hint("a plan is a file, or a directory with plan.md and tasks/")
                .next(NextCommand::new(["planwright", "list"])),
            plan_file::Error::Exists { path } => failure(ErrorKind::Usage)
                .hint("choose another name; nothing was written")
                .next(NextCommand::new(["planwright", "show", path.to_string_lossy().as_ref()])),
            plan_file::Error::Restless { .. } | plan_file::Error::Moved { .. } => {
                failure(ErrorKind::Moved).hint("check it again; nothing was written")
            }
            plan_file::Error::Read { .. }
            | plan_file::Error::Write { .. }
            | plan_file::Error::Astray { .. } => failure(ErrorKind::Machine),
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        let failure = match &error {
            ConfigError::Read { path, source } => {
                Self::new(ErrorKind::Machine, format!("cannot read {}", shown(path))).because(source)
            }
            ConfigError::Invalid { path, .. } => {
                Self::new(ErrorKind::Usage, format!("invalid configuration {}", shown(path)))
            }
            ConfigError::Environment { .. } | ConfigError::Flag { .. } => {
                Self::from_error(ErrorKind::Usage, &error)
            }
        };
        error.faults().iter().fold(failure, |failure, fault| failure.because(fault))
    }
}

impl From<active_plan::Error> for Error {
    fn from(error: active_plan::Error) -> Self {
        match error {
            active_plan::Error::Store(error) => error.into(),
            active_plan::Error::Loud(fault) => Self::new(ErrorKind::Usage, fault.to_string())
                .hint(fault.way_out())
                .next(NextCommand::new(["planwright", "list-plans"])),
            active_plan::Error::NoFolder { .. } => Self::from_error(ErrorKind::Refused, &error)
                .hint("named plans are in `.harness`, or in the directory of setting plans.harness")
                .next(NextCommand::new(["planwright", "list"])),
            active_plan::Error::Unprintable { .. } => Self::from_error(ErrorKind::Usage, &error)
                .hint("rename the directory")
                .next(NextCommand::new(["planwright", "list"])),
            active_plan::Error::Read { .. } => Self::from_error(ErrorKind::Machine, &error),
        }
    }
}

/// Says that a change was refused.
pub fn unchanged(path: &Path, refusal: &EditError) -> Error {
    Error::new(ErrorKind::Refused, format!("{} was not changed", shown(path))).because(refusal)
}
