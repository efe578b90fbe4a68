//! `simulate`: what a run of a plan would do, without the checker. Starts nothing and writes nothing.

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::wording::ahead;
use crate::output::wording::ahead::Contracts;
use crate::output::{Failure, NextCommand, Out, Response};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan [default: the plan this worktree uses]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    let simulation = plan.simulate()?;
    ahead::print(&simulation, Contracts::Shown, out);
    out.line("nothing was started or written");
    // Not `run`: what only the checker finds out was not asked here.
    let next = NextCommand::new(["planwright", "verify", plan.shown().as_str()]);
    Ok(Response::done("simulate", &simulation).next(next))
}
