//! `new NAME --from PLAN`: a new draft with the text of another plan, without its proofs and decisions.

use crate::interaction::project::workspace;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

pub(crate) fn run(from: &str, name: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let data = workspace()?.copy_plan(from, name)?;
    let word = out.palette().paint(Tone::Good, "wrote");
    out.line(&format!("{word}  {}   from {}", clean_line(&data.path), clean_line(&data.from)));
    Ok(Response::done("clone", &data).next(NextCommand::new(["planwright", "verify", data.path.as_str()])))
}
