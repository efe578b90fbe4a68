//! Why no planner wrote a plan.

use crate::agent::planner;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::config::SettingValue;

impl From<planner::Error> for Error {
    fn from(error: planner::Error) -> Self {
        const ROLE: &str = "set [roles] planner = \"claude\" in planwright.toml, write the plan with `planwright \
            new`, or pass one with --from";
        let failure = |kind| Self::from_error(kind, &error);
        match &error {
            planner::Error::Nobody | planner::Error::Unfit { .. } | planner::Error::Missing { .. } => {
                failure(ErrorKind::Refused).hint(ROLE).next(NextCommand::new(["planwright", "doctor"]))
            }
            planner::Error::Unapproved { name, command } => {
                let (key, words) =
                    (format!("agents.{name}.command"), SettingValue::Words(command.clone()).to_string());
                failure(ErrorKind::NeedsPerson)
                    .hint(format!(
                        "check the command, set it in your own settings and remove it from the project's, which \
                         win: planwright config unset {key}"
                    ))
                    .next(NextCommand::new(["planwright", "config", "set", &key, &words, "--user"]))
            }
            planner::Error::Late { .. } => failure(ErrorKind::Refused)
                .hint("nothing was written; draft.seconds sets the time limit")
                .next(NextCommand::new(["planwright", "config", "draft.seconds"])),
            planner::Error::Silent { .. } => failure(ErrorKind::Refused)
                .hint("nothing was written")
                .next(NextCommand::new(["planwright", "doctor"])),
            planner::Error::Stopped => failure(ErrorKind::Stopped).hint("nothing was written"),
            planner::Error::State(_) | planner::Error::Changes(_) | planner::Error::Process(_) => {
                failure(ErrorKind::Machine).hint("nothing was written")
            }
        }
    }
}
