//! `worker`: makes attempts for runs that other processes own. Judges nothing: it delivers the result, and the owner
//! of the run continues from there.

use std::time::Duration;

use planwright_engine::core::run::event::{Event, StepEvent};
use planwright_engine::run::Runs;
use planwright_engine::run::remote_worker;
use planwright_engine::run::remote_worker::{WorkUntil, WorkerEvent, WorkerOptions};
use planwright_engine::store::journal::{RunId, WorkClaim};
use planwright_engine::system::process::Stop;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::here;
use crate::interaction::signal::Signals;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

/// How often this process looks whether it was told to leave.
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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Worked {
    /// How many attempts were made and delivered.
    pub(crate) delivered: usize,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.jobs == 0 {
        return Err(Failure::new(Exit::Usage, "--jobs must be at least 1").next(NextCommand::new([
            "planwright",
            "help",
            "worker",
        ])));
    }
    let runs = Runs::open(&here()?)?;
    let signals = Signals::listen()
        .map_err(|error| Failure::new(Exit::Machine, "cannot listen for signals").because(&error))?;
    let until = if args.once { WorkUntil::Idle } else { WorkUntil::Told };
    let shift = WorkerOptions { jobs: args.jobs, until, leave: Stop::new() };
    if !args.once {
        out.talk("waiting for attempts; stop with Ctrl-C, nothing is lost");
    }
    let is_over = Stop::new();
    let delivered = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.is_requested() {
                if signals.leave().is_some() {
                    shift.leave.request();
                }
                std::thread::sleep(LOOK);
            }
        });
        let delivered = remote_worker::work(&runs, &shift, &mut |news| tell(&runs, news, out));
        is_over.request();
        delivered
    })?;
    let word = out.palette().paint(Tone::Good, "stopped");
    out.line(&format!("{word}  {delivered} delivered"));
    let exit = signals.leave().unwrap_or(Exit::Done);
    Ok(Response::new(exit, "worker", &Worked { delivered }).next(NextCommand::new(["planwright", "status"])))
}

fn tell(runs: &Runs, news: &WorkerEvent<'_>, out: &mut Out<'_>) {
    let (word, claim, more) = match news {
        WorkerEvent::Took(claim) => ("took", claim, String::new()),
        WorkerEvent::Delivered(claim, event) => ("delivered", claim, ended(event)),
        WorkerEvent::Fenced(claim) => ("dropped", claim, "its run no longer needs it".to_owned()),
    };
    let name = name_of(runs, claim.run);
    let WorkClaim { step, attempt, .. } = claim;
    out.line(&clean_line(&format!("{word}  {name}/{step}@{attempt}  {more}")));
    out.flush();
}

fn name_of(runs: &Runs, run: RunId) -> String {
    runs.store().run(run).map_or_else(|_| run.to_string(), |row| row.name)
}

fn ended(event: &Event) -> String {
    match event {
        Event::Step { event: StepEvent::Finished(finish), .. } => wording::end_words(&finish.end),
        Event::Run(_) | Event::Step { .. } | Event::Ask { .. } => String::new(),
    }
}
