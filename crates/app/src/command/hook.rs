//! `hook`: called by agents before a tool call and when a session starts, is compacted or ends. Reads JSON from
//! stdin; exit 0 allows it, exit 2 with a reason on stderr blocks it.

use planwright_engine::api::answer_hook;

use crate::output::{Exit, Failure, Out, Response, clean};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// pre-tool, session-start, pre-compact or stop [default: from the input]
    event: Option<String>,
    /// Print JSON for allowed calls as well, for agents that need it
    #[arg(long)]
    grant: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let answer = answer_hook(args.event.as_deref())?;
    out.warn_all(&answer.complaints);
    if !answer.allowed {
        out.complain(&format!("{}\n", clean(&answer.text)));
        return Ok(Response::new(Exit::Usage, "hook", &answer));
    }
    match answer.grant.filter(|_| args.grant) {
        Some(grant) => out.line(grant),
        None => out.data(&clean(&answer.text)),
    }
    Ok(Response::done("hook", &answer))
}
