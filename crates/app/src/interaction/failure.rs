//! In which way the engine failed: the exit code, the words and the way out for each of its errors.

mod audit;
pub(crate) mod merge;
pub(crate) mod worktree;

use std::path::Path;

use planwright_engine::config::Error as ConfigError;
use planwright_engine::core::plan::edit::EditError;
use planwright_engine::git::merge_driver as driver;
use planwright_engine::run as runs;
use planwright_engine::run::baseline;
use planwright_engine::run::checkout;
use planwright_engine::store::plan_file;
use planwright_engine::workspace::{active_plan, project};

use super::project::shown;
use crate::output::{Exit, Failure, NextCommand};

/// What is found as a plan without being named by its path.
pub(crate) const WHAT_IS_A_PLAN: &str = "a plan has `type: plan` in its frontmatter, or is in the place of its dialect: \
    PLAN.md, .rawko/plans/, .pi/plans/, plan.md with tasks/";

impl From<baseline::Error> for Failure {
    fn from(error: baseline::Error) -> Self {
        match error {
            baseline::Error::Project(error) => error.into(),
            baseline::Error::Base(_) => Self::from_error(Exit::Machine, &error),
        }
    }
}

impl From<project::Error> for Failure {
    fn from(error: project::Error) -> Self {
        let failure = |exit| Self::from_error(exit, &error);
        match error {
            project::Error::Config(error) => error.into(),
            project::Error::Store(error) => error.into(),
            project::Error::Process(_) | project::Error::Search { .. } | project::Error::Stream { .. } => {
                failure(Exit::Machine)
            }
            project::Error::NoFolder { .. } | project::Error::Crowded { .. } => failure(Exit::Usage)
                .hint("run this inside a project: a directory with .git or planwright.toml"),
            project::Error::NoPlan { meant: Some(ref meant), .. } => failure(Exit::Usage)
                .hint(format!("did you mean `{meant}`?"))
                .next(NextCommand::new(["planwright", "list"])),
            project::Error::NoPlan { .. } => {
                failure(Exit::Usage).hint(WHAT_IS_A_PLAN).next(NextCommand::new(["planwright", "list"]))
            }
            project::Error::Staged { ref name, ref path } => failure(Exit::Usage)
                .hint(format!("it is in {}", shown(path)))
                .next(NextCommand::new(["planwright", "unshelve", name.as_str()])),
            project::Error::Ambiguous { ref plans, ref name } => {
                let plans: Vec<String> = plans.iter().map(|plan| shown(plan)).collect();
                failure(Exit::Usage)
                    .hint(format!("pass one of: {}", plans.join(", ")))
                    .next(NextCommand::new(["planwright", "list", &format!("--find={name}")]))
            }
        }
    }
}

impl From<runs::Error> for Failure {
    fn from(error: runs::Error) -> Self {
        match error {
            runs::Error::Project(error) => error.into(),
            runs::Error::Driven { .. } => Self::from_error(Exit::Moved, &error)
                .hint("wait for it, or check its status")
                .next(NextCommand::new(["planwright", "status"])),
            runs::Error::Occupied { .. } => Self::from_error(Exit::Moved, &error)
                .hint("one plan at a time runs in a directory: `run --wait` waits, `run --worktree` uses another one")
                .next(NextCommand::new(["planwright", "status"])),
            runs::Error::Illegal(_) => {
                Self::from_error(Exit::Moved, &error).next(NextCommand::new(["planwright", "status"]))
            }
            runs::Error::NoJudge { .. } => Self::from_error(Exit::Usage, &error)
                .hint("a person confirms this step; name one with a contract")
                .next(NextCommand::new(["planwright", "help", "run"])),
            runs::Error::Unlanded { ref step } => {
                let message = format!("no checkpoint for step `{step}`");
                Self::new(Exit::No, message)
                    .hint("planwright saves a checkpoint when a step passes in a git repository with a commit")
                    .next(NextCommand::new(["planwright", "status"]))
            }
            runs::Error::Ground(checkout::Error::InTheWay { .. }) => {
                Self::from_error(Exit::No, &error).hint("move them and try again; nothing was restored")
            }
            runs::Error::Ground(checkout::Error::NoRepository { .. }) => Self::from_error(Exit::No, &error)
                .hint("worktrees need a commit: create a repository and commit")
                .next(NextCommand::new(["git", "init"])),
            runs::Error::Ground(_)
            | runs::Error::Journal(_)
            | runs::Error::Drive(_)
            | runs::Error::Plan { .. }
            | runs::Error::Contended { .. }
            | runs::Error::Panicked { .. }
            | runs::Error::Broken { .. } => Self::from_error(Exit::Machine, &error),
        }
    }
}

impl From<planwright_engine::run::simulate::Error> for Failure {
    fn from(error: planwright_engine::run::simulate::Error) -> Self {
        match error {
            planwright_engine::run::simulate::Error::Project(error) => error.into(),
            planwright_engine::run::simulate::Error::Runs(error) => error.into(),
        }
    }
}

impl From<driver::Error> for Failure {
    fn from(error: driver::Error) -> Self {
        match error {
            driver::Error::Store(error) => error.into(),
            driver::Error::NoRepository { .. } => Self::from_error(Exit::No, &error)
                .hint("the merge driver is a repository setting: create a repository first")
                .next(NextCommand::new(["git", "init"])),
            driver::Error::Read { .. }
            | driver::Error::State(_)
            | driver::Error::Git(_)
            | driver::Error::Refused { .. } => Self::from_error(Exit::Machine, &error),
        }
    }
}

impl From<plan_file::Error> for Failure {
    fn from(mut error: plan_file::Error) -> Self {
        *error.path_mut() = shown(error.path_mut()).into();
        let failure = |exit| Self::from_error(exit, &error);
        match &error {
            plan_file::Error::Missing { .. } => {
                failure(Exit::Usage).next(NextCommand::new(["planwright", "list"]))
            }
            plan_file::Error::NoFolder { .. } => {
                failure(Exit::Usage).hint("omit --dialect, or pass `--dialect directory`")
            }
            plan_file::Error::NotAFile { .. } => failure(Exit::Usage)
                .hint("a plan is a file, or a directory with plan.md and tasks/")
                .next(NextCommand::new(["planwright", "list"])),
            plan_file::Error::Exists { path } => failure(Exit::Usage)
                .hint("choose another name; nothing was written")
                .next(NextCommand::new(["planwright", "show", path.to_string_lossy().as_ref()])),
            plan_file::Error::Restless { .. } | plan_file::Error::Moved { .. } => {
                failure(Exit::Moved).hint("check it again; nothing was written")
            }
            plan_file::Error::Read { .. }
            | plan_file::Error::Write { .. }
            | plan_file::Error::Astray { .. } => failure(Exit::Machine),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let failure = match &error {
            ConfigError::Read { path, source } => {
                Self::new(Exit::Machine, format!("cannot read {}", shown(path))).because(source)
            }
            ConfigError::Invalid { path, .. } => {
                Self::new(Exit::Usage, format!("invalid configuration {}", shown(path)))
            }
            ConfigError::Environment { .. } | ConfigError::Flag { .. } => {
                Self::from_error(Exit::Usage, &error)
            }
        };
        error.faults().iter().fold(failure, |failure, fault| failure.because(fault))
    }
}

impl From<active_plan::Error> for Failure {
    fn from(error: active_plan::Error) -> Self {
        match error {
            active_plan::Error::Store(error) => error.into(),
            active_plan::Error::Loud(fault) => Self::new(Exit::Usage, fault.to_string())
                .hint(fault.way_out())
                .next(NextCommand::new(["planwright", "list-plans"])),
            active_plan::Error::NoFolder { .. } => Self::from_error(Exit::No, &error)
                .hint("named plans are in `.harness`, or in the directory of setting plans.harness")
                .next(NextCommand::new(["planwright", "list"])),
            active_plan::Error::Unprintable { .. } => Self::from_error(Exit::Usage, &error)
                .hint("rename the directory")
                .next(NextCommand::new(["planwright", "list"])),
            active_plan::Error::Read { .. } => Self::from_error(Exit::Machine, &error),
        }
    }
}

/// Says that a change was refused.
pub(crate) fn refused(path: &Path, refusal: &EditError) -> Failure {
    Failure::new(Exit::No, format!("{} was not changed", shown(path))).because(refusal)
}
