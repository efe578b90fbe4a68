//! `stop`: pauses a run. Running attempts finish first, or end immediately with `--now`; nothing is lost.

use planwright_engine::core::run::event::StopMode;
use planwright_engine::store::journal::LockHolder;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::driver::{under_way, wait_for_driver};
use crate::interaction::target::{NamedPlan, RunOf, run_of};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Stopped {
    /// The plan.
    pub(crate) plan: String,
    /// The number of the run.
    pub(crate) run: i64,
    /// What was running when it was paused.
    pub(crate) under_way: Vec<String>,
    /// The process that still runs it, because an attempt has not ended.
    pub(crate) driven_by: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Stop)?;
    let RunOf { path, runs, run, .. } = run_of(&args.plan)?;
    let name = run.row.name.clone();
    let next = NextCommand::new(["planwright", "log", shown(&path).as_str()]);
    if run.state.outcome().is_some() {
        return Err(Failure::new(Exit::No, format!("{name} is not running")).next(next));
    }
    let when = if args.now { StopMode::Now } else { StopMode::AfterAttempts };
    let busy = under_way(&run);
    let is_known = run.state.is_stopped() && (busy.is_empty() || !args.now);
    if !is_known {
        runs.stop(&run, when)?;
    }
    let holder = wait_for_driver(&runs, &run)?;
    if holder.is_none() {
        for complaint in runs.mirror(run.row.id, &path)? {
            out.warn(&complaint);
        }
    }
    print(&name, &busy, holder.as_ref(), out);
    let stopped = Stopped {
        plan: name,
        run: run.row.id.number(),
        under_way: busy,
        driven_by: holder.map(|holder| holder.to_string()),
    };
    Ok(Response::done("stop", &stopped).next(next))
}

fn print(name: &str, busy: &[String], holder: Option<&LockHolder>, out: &mut Out<'_>) {
    let word = out.palette().paint(Tone::Good, "stopped");
    out.line(&format!("{word}  {}   resume with planwright run", clean_line(name)));
    for what in busy {
        out.line(&format!("         was running: {}", clean_line(what)));
    }
    if let Some(holder) = holder {
        let who = clean_line(&holder.to_string()).into_owned();
        out.line(&format!("         {who} pauses when its running attempts end"));
    }
}
