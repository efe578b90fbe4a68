//! `quick`: one task and its contract, run immediately. The one-step plan is stored outside the workspace; it is
//! shown, approved and run like any other.

use planwright_engine::api::QuickTask;

use crate::interaction::project::workspace;
use crate::interaction::target::Opened;
use crate::output::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Task for the agent
    #[arg(value_name = "TASK")]
    task: String,
    /// Command that exits 0 only when the task is done
    #[arg(long, value_name = "COMMAND")]
    contract: String,
    /// Role or agent for the task
    #[arg(long, value_name = "AGENT", default_value = "coder")]
    agent: String,
    /// Retries after a failure
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Approve this digest (8 digits or more); required without a terminal
    #[arg(long, value_name = "DIGEST")]
    pub(crate) rev: Option<String>,
    /// Show steps, agents, files and forecast; start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Makes the plan, outside of the workspace, and opens it.
pub(crate) fn open(args: &Args) -> Result<Opened, Failure> {
    let Args { task, contract, agent, retries, .. } = args;
    let plan = workspace()?.quick(&QuickTask { task, contract, agent, retries: *retries })?;
    let (path, source) = (plan.path().to_owned(), plan.source().clone());
    Ok(Opened { path, source, project: plan.workspace().project().clone(), step: None })
}
