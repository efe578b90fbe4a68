//! `shelve` and `unshelve`: move a plan into `queued-plans/`, and back. Never over another
//! plan, and never one that has shipped.

use planwright_engine::api::ShelveView;

use crate::interaction::duplicate::warn_of_duplicates;
use crate::interaction::project::workspace;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan; `unshelve` accepts a name, PLAN-x or a file name
    plan: String,
}

/// Moves a plan to the shelf.
pub(crate) fn shelve(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = workspace()?.shelve(&args.plan)?;
    tell("shelved", &view, out);
    let next = NextCommand::new(["planwright", "unshelve", view.name.as_str()]);
    Ok(Response::done("stage", &view).next(next))
}

/// Moves a shelved plan back.
pub(crate) fn unshelve(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = workspace()?.unshelve(&args.plan)?;
    tell("unshelved", &view, out);
    let next = NextCommand::new(["planwright", "verify", view.to.as_str()]);
    Ok(Response::done("activate", &view).next(next))
}

fn tell(word: &str, view: &ShelveView, out: &mut Out<'_>) {
    warn_of_duplicates(&view.duplicates, out);
    let word = out.palette().paint(Tone::Good, word);
    out.line(&format!("{word}  {}   from {}", clean_line(&view.to), clean_line(&view.from)));
}
