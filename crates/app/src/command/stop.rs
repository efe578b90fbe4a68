//! `stop`: pauses a run. Running attempts finish first, or end immediately with `--now`; nothing is lost.

use planwright_engine::api::{StopMode, StopView};

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to pause
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// End running attempts; they do not count
    #[arg(long)]
    now: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let run = workspace()?.run_of(&args.plan)?;
    let view = run.stop(if args.now { StopMode::Now } else { StopMode::AfterAttempts })?;
    out.warn_all(&view.complaints);
    print(&view, out);
    let next = NextCommand::new(["planwright", "log", run.shown().as_str()]);
    Ok(Response::done("stop", &view).next(next))
}

fn print(view: &StopView, out: &mut Out<'_>) {
    let word = out.palette().paint(Tone::Good, "stopped");
    let plan = clean_line(&view.plan);
    out.line(&format!("{word}  {plan}   resume with planwright run {plan}"));
    for what in &view.under_way {
        out.line(&format!("         was running: {}", clean_line(what)));
    }
    if let Some(holder) = &view.driven_by {
        out.line(&format!("         {} pauses when its running attempts end", clean_line(holder)));
    }
}
