//! `reopen`: gives a plan back to its author: a proposal that is taken back, or a plan that ended and is taken up again.

use planwright_engine::approval::Approvals;
use planwright_engine::workspace::project;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Opened, open, refuse_agents, shown};
use crate::interaction::confirm::who;
use crate::interaction::target::NamedPlan;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Why
    #[arg(short, long, default_value = "")]
    message: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reopened {
    /// The plan.
    pub(crate) plan: String,
    /// Where it stood.
    pub(crate) from: String,
    /// Where it stands now.
    pub(crate) state: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    refuse_agents("take a plan back")?;
    let Opened { path, project, .. } = open(&args.plan)?;
    let decisions = Approvals::open(&project)?;
    let from = decisions.case(&path)?.state();
    let (case, complaints) = decisions.reopen(&path, &who(), &args.message)?;
    out.warn_all(&complaints);
    let data =
        Reopened { plan: project::name(&path), from: from.to_string(), state: case.state().to_string() };
    let word = out.palette().paint(Tone::Good, "reopened");
    out.line(&format!("{word}  {}   was {}, is {}", clean_line(&data.plan), data.from, data.state));
    Ok(Response::done("reopen", &data).next(NextCommand::new([
        "planwright",
        "propose",
        shown(&path).as_str(),
    ])))
}
