//! `archive`: puts a plan that is over out of the way. Nothing is deleted: it lies in the folder `archive/` beside where it was.

use planwright_engine::runs::Runs;
use planwright_engine::store;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Opened, open, shown};
use crate::out::{Answer, Exit, Failure, Next, Out, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan
    plan: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Archived {
    /// Where it was.
    pub(crate) from: String,
    /// Where it is.
    pub(crate) to: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let Opened { path, project, .. } = open(&args.plan)?;
    let run = Runs::open_existing(&project)?.map(|runs| runs.latest(&path)).transpose()?.flatten();
    if let Some(run) = run.filter(|run| run.state.outcome().is_none()) {
        let message = format!("{} is being run (run {})", shown(&path), run.row.id.number());
        let next = Next::new(["planwright", "status", shown(&path).as_str()]);
        return Err(Failure::new(Exit::Moved, message)
            .hint("end the run first; nothing was moved")
            .next(next));
    }
    let to = store::archive(&path)?;
    let archived = Archived { from: shown(&path), to: shown(&to) };
    let word = out.palette().paint(Tone::Good, "moved");
    out.line(&format!("{word}  {}   to {}", clean_line(&archived.from), clean_line(&archived.to)));
    Ok(Answer::done("archive", &archived).next(Next::new(["planwright", "list"])))
}
