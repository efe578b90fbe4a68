//! Why nothing was merged.

use crate::audit::rerun;
use crate::git::repository;
use crate::portfolio::merge_queue;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;

/// Says why nothing was merged; `again` is the command that tries it again.
pub fn merge_failed(error: merge_queue::Error, again: impl Fn() -> NextCommand) -> Error {
    let failure = |kind: ErrorKind| Error::from_error(kind, &error);
    match error {
        merge_queue::Error::Decisions(error) => error.into(),
        merge_queue::Error::Project(error) => error.into(),
        merge_queue::Error::Runs(error) => error.into(),
        merge_queue::Error::Checkout(error) => rerun::Error::from(error).into(),
        merge_queue::Error::Store(error) => error.into(),
        merge_queue::Error::Cycle(_) => failure(ErrorKind::Refused)
            .hint("`depends_on` in front of one of them has to go")
            .next(NextCommand::new(["planwright", "status", "--queue"])),
        merge_queue::Error::InTree { ref origin, .. } => {
            let origin = origin.to_string_lossy().into_owned();
            failure(ErrorKind::Refused).next(NextCommand::new(["cd", &origin]))
        }
        merge_queue::Error::NoBranch { .. } => failure(ErrorKind::Usage)
            .hint("say which branch: --into BRANCH")
            .next(NextCommand::new(["planwright", "help", "merge"])),
        merge_queue::Error::UnknownBranch { .. } => failure(ErrorKind::Usage)
            .hint("nothing was merged")
            .next(NextCommand::new(["git", "branch", "--list"])),
        merge_queue::Error::Elsewhere { ref path, .. } => {
            let path = path.to_string_lossy().into_owned();
            failure(ErrorKind::Refused)
                .hint("merge where its files are, so that they go along; nothing was merged")
                .next(NextCommand::new(["cd", &path]))
        }
        merge_queue::Error::Busy { .. } => failure(ErrorKind::Refused)
            .hint("finish or abort that first; nothing was merged")
            .next(NextCommand::new(["git", "status"])),
        merge_queue::Error::Held { .. } => {
            failure(ErrorKind::Moved).hint("wait for it, and merge again").next(again())
        }
        merge_queue::Error::NotDone { ref plan, .. } => failure(ErrorKind::Refused)
            .hint("only the journal decides when a plan is done")
            .next(NextCommand::new(["planwright", "status", plan])),
        merge_queue::Error::NoWork { ref plan, .. } => {
            failure(ErrorKind::Refused).next(NextCommand::new(["planwright", "log", plan, "--versions"]))
        }
        merge_queue::Error::Edited { ref paths } => {
            let other = paths.iter().find_map(|path| path.strip_prefix("../")?.split('/').next());
            let look = match other {
                Some(folder) => NextCommand::new(["git", "-C", &format!("../{folder}"), "status"]),
                None => NextCommand::new(["git", "status"]),
            };
            failure(ErrorKind::NeedsPerson)
                .hint("nothing was merged; commit the changes or run `git stash push`, then merge again")
                .next(look)
        }
        merge_queue::Error::Restless { .. } => failure(ErrorKind::Moved)
            .hint("nothing was merged; merge again when it stops moving")
            .next(again()),
        merge_queue::Error::Repositories(_) => failure(ErrorKind::Usage)
            .hint("set repositories.NAME to its path, and list it under `repositories:` in the plan")
            .next(NextCommand::new(["planwright", "config"])),
        merge_queue::Error::Stopped => failure(ErrorKind::Interrupted).next(again()),
        merge_queue::Error::Keep(repository::Error::NoRepository { .. }) => failure(ErrorKind::Refused)
            .hint("plans have branches where there is a repository")
            .next(NextCommand::new(["git", "init"])),
        merge_queue::Error::Keep(_)
        | merge_queue::Error::Base(_)
        | merge_queue::Error::State(_)
        | merge_queue::Error::Journal(_) => failure(ErrorKind::Machine),
    }
}
