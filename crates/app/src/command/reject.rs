//! `reject`: a person rejects a plan and says what should change. The plan returns to its author; nothing starts.

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to reject
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// What should change; sent to the planner
    #[arg(short, long)]
    message: String,
    /// Reject only if this digest is proposed
    #[arg(long, value_name = "DIGEST")]
    rev: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    let rejected = plan.reject(args.rev.as_deref(), &args.message)?;
    out.warn_all(&rejected.complaints);
    let word = out.palette().paint(Tone::Attention, "rejected");
    let (name, message) = (clean_line(&rejected.plan), clean_line(&args.message));
    out.line(&format!("{word}  {name}  r{}   {message}", rejected.revision));
    if rejected.is_spent {
        let times = rejected.rejections;
        out.line(&format!("          rejected {times} times: revise it before it is proposed again"));
    }
    let verb = if rejected.is_spent { "revise" } else { "show" };
    let next = NextCommand::new(["planwright", verb, plan.shown().as_str()]);
    Ok(Response::done("reject", &rejected).next(next))
}
