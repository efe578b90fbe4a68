//! `retry`: carries a plan that failed through once more, on the strength of the same approval. What passed is looked at again,
//! not done again.

use planwright_engine::approval::Approvals;
use planwright_engine::core::plan::lifecycle::PlanState;
use planwright_engine::workspace::project;

use super::{Opened, open, refuse_agents, shown};
use crate::interaction::target::NamedPlan;
use crate::output::{Exit, Failure, NextCommand};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
}

/// Refuses a plan that has not failed.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    refuse_agents("have a plan tried again")?;
    let Opened { path, project, .. } = open(&args.plan)?;
    let state = Approvals::open(&project)?.case(&path)?.state();
    if state == PlanState::Failed {
        return Ok(());
    }
    let verb = match state {
        PlanState::Waiting(_) => "answer",
        PlanState::Cancelled | PlanState::Done | PlanState::Rejected => "reopen",
        PlanState::Draft
        | PlanState::Proposed
        | PlanState::Approved
        | PlanState::Running
        | PlanState::Failed => "run",
    };
    let message = format!("{} is {state}, and only a plan that failed is tried again", project::name(&path));
    Err(Failure::new(Exit::No, message).next(NextCommand::new(["planwright", verb, shown(&path).as_str()])))
}
