//! `retry`: carries a plan that failed through once more, on the strength of the same approval. What passed is looked at again,
//! not done again.

use planwright_engine::approval::Decisions;
use planwright_engine::core::plan::lifecycle::State;
use planwright_engine::workspace::project;

use super::{Opened, open, refuse_agents, shown};
use crate::interaction::target::Named;
use crate::output::{Exit, Failure, Next};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: Named,
}

/// Refuses a plan that has not failed.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    refuse_agents("have a plan tried again")?;
    let Opened { path, project, .. } = open(&args.plan)?;
    let state = Decisions::open(&project)?.case(&path)?.state();
    if state == State::Failed {
        return Ok(());
    }
    let verb = match state {
        State::Waiting(_) => "answer",
        State::Cancelled | State::Done | State::Rejected => "reopen",
        State::Draft | State::Proposed | State::Approved | State::Running | State::Failed => "run",
    };
    let message = format!("{} is {state}, and only a plan that failed is tried again", project::name(&path));
    Err(Failure::new(Exit::No, message).next(Next::new(["planwright", verb, shown(&path).as_str()])))
}
