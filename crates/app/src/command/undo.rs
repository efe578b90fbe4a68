//! `undo`: undoes your last decision about a plan, unless it has already been acted on.

use planwright_engine::api::local_time;

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan; the path of a deleted plan restores it
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let undone = workspace()?.undo(&args.plan)?;
    out.warn_all(&undone.complaints);
    let word = out.palette().paint(Tone::Good, "undone");
    let what = format!("{} of {}", undone.took_back, local_time(undone.said_at_ms));
    out.line(&format!(
        "{word}  {}  {}   {}",
        clean_line(&undone.plan),
        clean_line(&what),
        clean_line(&undone.text)
    ));
    out.line(&format!("        the plan is {} again", undone.state));
    let next = NextCommand::new(["planwright", "review", undone.path.as_str()]);
    Ok(Response::done("undo", &undone).next(next))
}
