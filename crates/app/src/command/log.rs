//! `log`: the events of a run, and prompt, agent output and contract output of an attempt. Shows what is recorded;
//! never runs anything.

mod attempt;
pub(crate) mod events;
pub(crate) mod versions;

use planwright_engine::api::{RecordedEvent, RunLog};

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::wording;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan, step, or attempt N of a step [default: the plan this worktree uses]
    #[arg(value_name = "PLAN[/STEP[@N]]", default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    /// Show step N only
    #[arg(value_name = "task N", num_args = 0..=2)]
    pub(crate) task: Vec<String>,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Show the prompt of an attempt
    #[arg(long, group = "part")]
    prompt: bool,
    /// Show the agent's output
    #[arg(long, group = "part")]
    agent: bool,
    /// Show the contract's output
    #[arg(long, group = "part")]
    contract: bool,
    /// Print the recorded bytes unchanged; not to a terminal
    #[arg(long, requires = "part")]
    raw: bool,
    /// Wait for more events until the run stops
    #[arg(short, long, conflicts_with = "part")]
    pub(crate) follow: bool,
    /// Show run N [default: the newest]
    #[arg(long, value_name = "N")]
    run: Option<i64>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let log = workspace()?.log(&args.plan, args.run)?;
    if args.follow {
        return follow(&log, out);
    }
    if args.prompt || args.agent || args.contract {
        return attempt::part(args, &log, out);
    }
    let view = log.view()?;
    match &view.attempt {
        Some(attempt) => attempt::print(&log, attempt, out),
        None => print(&log, log.events(), out),
    }
    Ok(Response::done("log", &view))
}

fn print<'a>(log: &RunLog, events: impl Iterator<Item = &'a RecordedEvent>, out: &mut Out<'_>) {
    let now = wording::now();
    let mut table = Table::new();
    for recorded in events {
        let event = &recorded.event;
        let attempt = event.attempt().map(|attempt| format!("attempt {attempt}")).unwrap_or_default();
        let place = wording::place("", event);
        table.row([
            Cell::new(recorded.seq.to_string()).right().tone(Tone::Muted),
            Cell::new(wording::clock_time(recorded.at_ms, now)).tone(Tone::Muted),
            Cell::new(place.trim_start_matches('/')).tone(Tone::Strong),
            Cell::new(event.name()),
            Cell::new(attempt),
            Cell::new(detail(log, recorded)),
        ]);
    }
    out.table(&table);
}

/// What an event says, and with a verdict where the time went.
fn detail(log: &RunLog, recorded: &RecordedEvent) -> String {
    let said = wording::detail(&recorded.event);
    match log.times(recorded) {
        Some(times) => format!("{said}, {}", wording::times(&times)),
        None => said,
    }
}

/// Follows the events until the run finishes or no process is running it.
fn follow(log: &RunLog, out: &mut Out<'_>) -> Result<Response, Failure> {
    log.follow(&mut |news| {
        match news {
            Some((recorded, notification)) => {
                print(log, std::iter::once(recorded), out);
                out.event(&Response::done("event", &notification));
            }
            None => out.flush(),
        }
        out.is_open()
    })?;
    let next = NextCommand::new(["planwright", "status", log.name()]);
    Ok(Response::done("log", &log.head()).next(next))
}
