//! How a worktree could not be made, found or removed.

use std::path::Path;

use planwright_engine::core::workspace::worktree::{KeepReason, typed};
use planwright_engine::git::worktree::script_digest;
use planwright_engine::git::{base, repository, worktree};

use crate::output::{Exit, Failure, NextCommand};

/// How many digits of a digest are enough.
pub(crate) const DIGITS_MIN: usize = 8;

/// A command line as it is typed.
pub(crate) fn typed_command(command: &[String]) -> String {
    typed(&command.iter().map(String::as_str).collect::<Vec<_>>())
}

impl From<worktree::Error> for Failure {
    fn from(error: worktree::Error) -> Self {
        let failure = |exit| Self::from_error(exit, &error);
        let all = || NextCommand::new(["planwright", "worktree", "list"]);
        match &error {
            worktree::Error::NoTree { meant: Some(meant), .. } => {
                failure(Exit::Usage).hint(format!("did you mean `{meant}`?")).next(all())
            }
            worktree::Error::NoTree { meant: None, .. } => failure(Exit::Usage).next(all()),
            worktree::Error::Name(_) => failure(Exit::Usage).hint("pass another with --name"),
            worktree::Error::Taken { .. } => {
                failure(Exit::No).hint("pass another name with --name; nothing was created").next(all())
            }
            worktree::Error::HasTree { name, .. } => failure(Exit::No)
                .hint("a plan has one worktree; omit --name to use it")
                .next(NextCommand::new(["planwright", "worktree", "path", name])),
            worktree::Error::InTheWay { .. } => {
                failure(Exit::No).hint("move it away, or pass another name with --name").next(all())
            }
            worktree::Error::AtWork { .. } => failure(Exit::Moved).hint("wait for it").next(all()),
            worktree::Error::Elsewhere { .. } => failure(Exit::Usage)
                .hint("a worktree is a copy of the repository, so its plan must be inside it")
                .next(NextCommand::new(["planwright", "list"])),
            worktree::Error::Misplaced { .. } => failure(Exit::Usage)
                .hint("set worktree.folder in your own settings")
                .next(NextCommand::new(["planwright", "config", "worktree.folder"])),
            worktree::Error::Repositories(_) => failure(Exit::Usage)
                .hint("set repositories to their paths")
                .next(NextCommand::new(["planwright", "config"])),
            worktree::Error::NoCommit { .. } => {
                failure(Exit::Usage).hint("a worktree needs a commit: create one, or pass --base")
            }
            worktree::Error::HasBranch { .. } => failure(Exit::No)
                .hint("omit --base to continue existing work; nothing was created")
                .next(all()),
            worktree::Error::Kept { name, why, path } => stays(failure, (name, path), why),
            worktree::Error::TearDown { said, .. } => {
                let mut failure = failure(Exit::No).next(all());
                failure.causes.extend(Some(said.trim_end().to_owned()).filter(|said| !said.is_empty()));
                failure
            }
            worktree::Error::Unallowed { name, command } => {
                let digest = &script_digest(command)[..DIGITS_MIN];
                failure(Exit::Person)
                    .hint(format!("a person must read and allow it: {}", typed_command(command)))
                    .next(NextCommand::new(["planwright", "worktree", "remove", name, "--allow", digest]))
            }
            worktree::Error::Ports { .. } => failure(Exit::No)
                .hint("remove worktrees, or widen the range: worktree.port_min, worktree.port_max")
                .next(all()),
            worktree::Error::Pattern { .. } => failure(Exit::Usage)
                .hint("use .gitignore patterns")
                .next(NextCommand::new(["planwright", "config", "worktree.include"])),
            worktree::Error::Base(base::Error::NoRepository { .. })
            | worktree::Error::Keep(repository::Error::NoRepository { .. }) => {
                failure(Exit::No).hint("a worktree needs a git repository with a commit: create one first")
            }
            worktree::Error::State(_)
            | worktree::Error::Base(_)
            | worktree::Error::Keep(_)
            | worktree::Error::Process(_)
            | worktree::Error::Journal(_)
            | worktree::Error::Store(_)
            | worktree::Error::Binding(_)
            | worktree::Error::Project(_)
            | worktree::Error::File { .. }
            | worktree::Error::NoGit { .. }
            | worktree::Error::Another { .. }
            | worktree::Error::NoBase { .. } => failure(Exit::Machine),
        }
    }
}

/// Says why a tree was not removed.
fn stays(failure: impl Fn(Exit) -> Failure, (name, path): (&str, &Path), why: &KeepReason) -> Failure {
    match why {
        KeepReason::Work(_) => failure(Exit::No)
            .hint("nothing was removed; finish the plan or save the changes first")
            .next(NextCommand::new(["cd", path.to_string_lossy().as_ref()])),
        KeepReason::Beside(root) => {
            failure(Exit::No).hint("nothing was removed").next(NextCommand::new(["cd", root]))
        }
        KeepReason::Busy(_) => failure(Exit::Moved).next(NextCommand::new(["planwright", "status"])),
        KeepReason::Yours | KeepReason::Other | KeepReason::Active | KeepReason::Dangling(_) => {
            failure(Exit::No).next(NextCommand::new(["planwright", "worktree", "path", name]))
        }
    }
}
