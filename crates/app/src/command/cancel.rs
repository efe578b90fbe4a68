//! `cancel`: a person ends a plan or its run for good. Running attempts end.

use planwright_engine::api::RunOutcome;

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to cancel
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Reason
    #[arg(short, long)]
    message: String,
    /// Record the run as failed, not as cancelled
    #[arg(long)]
    failed: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    let (outcome, word) =
        if args.failed { (RunOutcome::Failed, "failed") } else { (RunOutcome::Cancelled, "cancelled") };
    let cancelled = plan.cancel(outcome, &args.message)?;
    out.warn_all(&cancelled.complaints);
    let word = out.palette().paint(Tone::Good, word);
    out.line(&format!("{word}  {}   {}", clean_line(&cancelled.plan), clean_line(&args.message)));
    for what in &cancelled.under_way {
        out.line(&format!("           was running: {}", clean_line(what)));
    }
    if let Some(holder) = &cancelled.driven_by {
        out.line(&format!("           {} is still ending its attempts", clean_line(holder)));
    }
    let verb = if cancelled.run.is_some() { "log" } else { "undo" };
    let next = NextCommand::new(["planwright", verb, plan.shown().as_str()]);
    Ok(Response::done("cancel", &cancelled).next(next))
}
