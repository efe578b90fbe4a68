//! How a worktree could not be made, found or removed.

use std::path::Path;

use crate::git::worktree::script_digest;
use crate::git::{base, repository, worktree};
use planwright_core::workspace::worktree::{KeepReason, typed};

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;

/// How many digits of a digest are enough.
pub const DIGITS_MIN: usize = 8;

/// A command line as it is typed.
pub fn typed_command(command: &[String]) -> String {
    typed(&command.iter().map(String::as_str).collect::<Vec<_>>())
}

impl From<worktree::Error> for Error {
    fn from(error: worktree::Error) -> Self {
        let failure = |kind| Self::from_error(kind, &error);
        let all = || NextCommand::new(["planwright", "worktree", "list"]);
        match &error {
            worktree::Error::NoTree { meant: Some(meant), .. } => {
                failure(ErrorKind::Usage).hint(format!("did you mean `{meant}`?")).next(all())
            }
            worktree::Error::NoTree { meant: None, .. } => failure(ErrorKind::Usage).next(all()),
            worktree::Error::Name(_) => failure(ErrorKind::Usage).hint("pass another with --name"),
            worktree::Error::Taken { .. } => failure(ErrorKind::Refused)
                .hint("pass another name with --name; nothing was created")
                .next(all()),
            worktree::Error::HasTree { name, .. } => failure(ErrorKind::Refused)
                .hint("a plan has one worktree; omit --name to use it")
                .next(NextCommand::new(["planwright", "worktree", "path", name])),
            worktree::Error::InTheWay { .. } => {
                failure(ErrorKind::Refused).hint("move it away, or pass another name with --name").next(all())
            }
            worktree::Error::AtWork { .. } => failure(ErrorKind::Moved).hint("wait for it").next(all()),
            worktree::Error::Elsewhere { .. } => failure(ErrorKind::Usage)
                .hint("a worktree is a copy of the repository, so its plan must be inside it")
                .next(NextCommand::new(["planwright", "list"])),
            worktree::Error::Misplaced { .. } => failure(ErrorKind::Usage)
                .hint("set worktree.folder in your own settings")
                .next(NextCommand::new(["planwright", "config", "worktree.folder"])),
            worktree::Error::Repositories(_) => failure(ErrorKind::Usage)
                .hint("set repositories to their paths")
                .next(NextCommand::new(["planwright", "config"])),
            worktree::Error::NoCommit { .. } => {
                failure(ErrorKind::Usage).hint("a worktree needs a commit: create one, or pass --base")
            }
            worktree::Error::HasBranch { .. } => failure(ErrorKind::Refused)
                .hint("omit --base to continue existing work; nothing was created")
                .next(all()),
            worktree::Error::Kept { name, why, path } => stays(failure, (name, path), why),
            worktree::Error::TearDown { said, .. } => {
                let mut failure = failure(ErrorKind::Refused).next(all());
                failure.causes.extend(Some(said.trim_end().to_owned()).filter(|said| !said.is_empty()));
                failure
            }
            worktree::Error::Unallowed { name, command } => {
                let digest = &script_digest(command)[..DIGITS_MIN];
                failure(ErrorKind::NeedsPerson)
                    .hint(format!("a person must read and allow it: {}", typed_command(command)))
                    .next(NextCommand::new(["planwright", "worktree", "remove", name, "--allow", digest]))
            }
            worktree::Error::Ports { .. } => failure(ErrorKind::Refused)
                .hint("remove worktrees, or widen the range: worktree.port_min, worktree.port_max")
                .next(all()),
            worktree::Error::Pattern { .. } => failure(ErrorKind::Usage)
                .hint("use .gitignore patterns")
                .next(NextCommand::new(["planwright", "config", "worktree.include"])),
            worktree::Error::Base(base::Error::NoRepository { .. })
            | worktree::Error::Keep(repository::Error::NoRepository { .. }) => failure(ErrorKind::Refused)
                .hint("a worktree needs a git repository with a commit: create one first"),
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
            | worktree::Error::NoBase { .. } => failure(ErrorKind::Machine),
        }
    }
}

/// Says why a tree was not removed.
fn stays(failure: impl Fn(ErrorKind) -> Error, (name, path): (&str, &Path), why: &KeepReason) -> Error {
    match why {
        KeepReason::Work(_) => failure(ErrorKind::Refused)
            .hint("nothing was removed; finish the plan or save the changes first")
            .next(NextCommand::new(["cd", path.to_string_lossy().as_ref()])),
        KeepReason::Beside(root) => {
            failure(ErrorKind::Refused).hint("nothing was removed").next(NextCommand::new(["cd", root]))
        }
        KeepReason::Busy(_) => failure(ErrorKind::Moved).next(NextCommand::new(["planwright", "status"])),
        KeepReason::Yours | KeepReason::Other | KeepReason::Active | KeepReason::Dangling(_) => {
            failure(ErrorKind::Refused).next(NextCommand::new(["planwright", "worktree", "path", name]))
        }
    }
}
