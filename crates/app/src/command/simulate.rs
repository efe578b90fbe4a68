//! `simulate`: what a run of a plan would do, without the checker. Starts nothing and writes nothing.

use planwright_engine::core::verify;
use planwright_engine::run::simulate::simulate;
use planwright_engine::store::plan_file;

use crate::interaction::target::{NamedPlan, Opened, open};
use crate::output::wording::ahead;
use crate::output::wording::ahead::Contracts;
use crate::output::{Exit, Failure, NextCommand, Out, Response};
use planwright_engine::api::shown;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan [default: the plan this worktree uses]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let path = shown(&path);
    // The checker would start bash; what it alone can find out is `verify`'s to say.
    let plan = verify::trusted(&source).ok_or_else(|| {
        Failure::new(Exit::No, format!("cannot run {path}: it has errors")).next(NextCommand::new([
            "planwright",
            "verify",
            path.as_str(),
        ]))
    })?;
    let simulation = simulate(&project, &plan_file::name(path.as_ref()), &plan)?;
    ahead::print(&simulation, Contracts::Shown, out);
    out.line("nothing was started or written");
    // Not `run`: what only the checker finds out was not asked here.
    Ok(Response::done("simulate", &simulation).next(NextCommand::new([
        "planwright",
        "verify",
        path.as_str(),
    ])))
}
