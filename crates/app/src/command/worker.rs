//! `worker`: makes attempts for runs that other processes own. Judges nothing: it delivers the result, and the owner
//! of the run continues from there.

use std::time::Duration;

use planwright_engine::api::{Stop, WorkUntil, WorkerNews, WorkerOptions};

use crate::interaction::project::workspace;
use crate::interaction::signal::Signals;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

/// How often this process checks whether it should leave.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Attempts in parallel
    #[arg(long, default_value_t = 1, value_name = "N")]
    jobs: usize,
    /// Exit when there is nothing to do
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.jobs == 0 {
        return Err(Failure::new(Exit::Usage, "--jobs must be at least 1").next(NextCommand::new([
            "planwright",
            "help",
            "worker",
        ])));
    }
    let workspace = workspace()?;
    let signals = Signals::listen()
        .map_err(|error| Failure::new(Exit::Machine, "cannot listen for signals").because(&error))?;
    let until = if args.once { WorkUntil::Idle } else { WorkUntil::Told };
    let shift = WorkerOptions { jobs: args.jobs, until, leave: Stop::new() };
    if !args.once {
        out.talk("waiting for attempts; stop with Ctrl-C, nothing is lost");
    }
    let is_over = Stop::new();
    let view = std::thread::scope(|scope| {
        let watch = || {
            while !is_over.is_requested() {
                if signals.leave().is_some() {
                    shift.leave.request();
                }
                std::thread::sleep(LOOK);
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, watch).map_err(|error| {
            Failure::new(Exit::Machine, "cannot start a thread for signals").because(&error)
        })?;
        let worked = workspace.work(&shift, &mut |attempt, news| tell(attempt, news, out));
        is_over.request();
        worked.map_err(Failure::from)
    })?;
    let word = out.palette().paint(Tone::Good, "stopped");
    out.line(&format!("{word}  {} delivered", view.delivered));
    let exit = signals.leave().unwrap_or(Exit::Done);
    Ok(Response::new(exit, "worker", &view).next(NextCommand::new(["planwright", "status"])))
}

fn tell(attempt: &str, news: &WorkerNews<'_>, out: &mut Out<'_>) {
    let (word, more) = match news {
        WorkerNews::Took => ("took", String::new()),
        WorkerNews::Delivered(end) => ("delivered", end.map(wording::end_words).unwrap_or_default()),
        WorkerNews::Dropped => ("dropped", "its run no longer needs it".to_owned()),
    };
    out.line(&clean_line(&format!("{word}  {attempt}  {more}")));
    out.flush();
}
