//! `cancel`: a run is over for good, because a person says so. What is under way is ended.

use schemars::JsonSchema;
use serde::Serialize;

use super::{RunOf, refuse_agents, run_of, shown, under_way, wait_for_driver};
use crate::out::{Answer, Exit, Failure, Next, Out, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan
    plan: String,
    /// Why
    #[arg(short, long)]
    message: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    /// The plan.
    pub(crate) plan: String,
    /// The number of the run.
    pub(crate) run: i64,
    /// What was under way and was ended.
    pub(crate) under_way: Vec<String>,
    /// Who still drives it, because something can't be ended yet.
    pub(crate) driven_by: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    refuse_agents("cancel a run")?;
    let RunOf { path, runs, run, .. } = run_of(&args.plan)?;
    let name = run.row.name.clone();
    let next = Next::new(["planwright", "log", shown(&path).as_str()]);
    if args.message.trim().is_empty() {
        let failure = Failure::new(Exit::Usage, "a run is cancelled for a reason, and this one is empty");
        return Err(failure.next(Next::new(["planwright", "help", "cancel"])));
    }
    if run.state.outcome().is_some() {
        let message = format!("{name} is over: there is nothing to cancel");
        return Err(Failure::new(Exit::No, message).next(next));
    }
    let busy = under_way(&run);
    runs.cancel(&run, &args.message)?;
    let holder = wait_for_driver(&runs, &run)?;
    if holder.is_none() {
        for complaint in runs.mirror(run.row.id, &path)? {
            out.warn(&complaint);
        }
    }
    let word = out.palette().paint(Tone::Good, "cancelled");
    out.line(&format!("{word}  {}   {}", clean_line(&name), clean_line(&args.message)));
    for what in &busy {
        out.line(&format!("           was under way: {}", clean_line(what)));
    }
    if let Some(holder) = &holder {
        let who = clean_line(&holder.to_string()).into_owned();
        out.line(&format!("           {who} is still ending it"));
    }
    let cancelled = Cancelled {
        plan: name,
        run: run.row.id.number(),
        under_way: busy,
        driven_by: holder.map(|holder| holder.to_string()),
    };
    Ok(Answer::done("cancel", &cancelled).next(next))
}
