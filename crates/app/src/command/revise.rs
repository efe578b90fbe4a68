//! `revise PLAN`: returns a plan to draft: withdraws a proposal, or reopens a plan that has finished.

pub(crate) mod planner;

use crate::interaction::project::workspace;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

pub(crate) fn run(plan: &str, message: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(plan)?;
    let view = plan.reopen(message)?;
    out.warn_all(&view.complaints);
    let word = out.palette().paint(Tone::Good, "revised");
    out.line(&format!("{word}  {}   was {}, now {}", clean_line(&view.plan), view.from, view.state));
    let next = NextCommand::new(["planwright", "propose", plan.shown().as_str()]);
    Ok(Response::done("reopen", &view).next(next))
}
