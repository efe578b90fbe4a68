//! `log`: the events of a run, and prompt, agent output and contract output of an attempt. Shows what is recorded;
//! never runs anything.

mod attempt;
pub(crate) mod events;
pub(crate) mod versions;

use std::time::Duration;

use planwright_engine::core::run::event::{Event, RunEvent};
use planwright_engine::run as runs;
use planwright_engine::run::Run;
use planwright_engine::store::journal::{RecordedEvent, RunId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::interaction::target::{NamedPlan, RunOf, run_of};
use crate::output::wording;
use crate::output::wording::notice_of;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone};
use planwright_engine::api::{shown, step_of_run};

/// Time to wait for events before checking whether the run still has a process.
const LOOK: Duration = Duration::from_millis(250);

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Log {
    /// The plan.
    pub(crate) plan: String,
    /// The number of the run.
    pub(crate) run: i64,
    /// The events, oldest first. With `--follow` each has an envelope of its own instead.
    pub(crate) events: Vec<Entry>,
    /// The text that was asked for.
    pub(crate) text: Option<String>,
    /// The attempt that was asked for, whole.
    pub(crate) attempt: Option<AttemptData>,
}

/// One event.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// Its place in the journal.
    pub(crate) seq: u64,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// What happened.
    pub(crate) event: Value,
}

/// Everything that is kept of an attempt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AttemptData {
    /// The step.
    pub(crate) step: String,
    /// The attempt.
    pub(crate) attempt: u32,
    /// The session of the agent, by which a person can look into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The model that did the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What the agent was told.
    pub(crate) prompt: Option<String>,
    /// What the agent said.
    pub(crate) output: Option<String>,
    /// What the contract printed.
    pub(crate) contract: Option<String>,
    /// What the agent reported, one per line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reported: Vec<String>,
    /// What a reviewer found, one per line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<String>,
}

/// What of a run is asked for.
struct Wanted {
    step: Option<String>,
    attempt: Option<u32>,
}

impl Wanted {
    fn has(&self, plan: &str, event: &Event) -> bool {
        let is_step = |step: &String| wording::place(plan, event) == format!("{plan}/{step}");
        self.step.as_ref().is_none_or(is_step) && (self.attempt.is_none() || event.attempt() == self.attempt)
    }
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let (address, attempt) = address(&args.plan)?;
    let mut found = run_of(address)?;
    if let Some(number) = args.run {
        let older = older(&found, number)?;
        // The step may have another place there.
        let step = found.step.map(|place| found.run.plan.steps[place].id.clone());
        found.step = step.map(|step| step_of_run(&older, &step)).transpose()?;
        found.run = older;
    }
    let step = found.step.map(|place| found.run.plan.steps[place].id.clone());
    if attempt.is_some() && step.is_none() {
        return Err(Failure::new(Exit::Usage, format!("`{}` has an attempt but no step", args.plan))
            .hint("use PLAN/STEP@N")
            .next(NextCommand::new(["planwright", "log", address])));
    }
    let wanted = Wanted { step, attempt };
    attempt::check(&found.run, &wanted)?;
    if args.follow {
        return follow(&found, &wanted, out);
    }
    if args.prompt || args.agent || args.contract {
        return attempt::part(args, &found, &wanted, out);
    }
    let name = found.run.row.name.clone();
    let events: Vec<&RecordedEvent> =
        found.run.events.iter().filter(|recorded| wanted.has(&name, &recorded.event)).collect();
    let whole = match (&wanted.step, attempt) {
        (Some(step), Some(attempt)) => Some(attempt::whole(&found, (step, attempt), out)?),
        (_, None) | (None, _) => {
            print(&events, out);
            None
        }
    };
    let log = Log {
        plan: name,
        run: found.run.row.id.number(),
        events: events.iter().map(|recorded| entry(recorded)).collect(),
        text: None,
        attempt: whole,
    };
    Ok(Response::done("log", &log))
}

/// The plan or step, and the attempt.
fn address(text: &str) -> Result<(&str, Option<u32>), Failure> {
    let Some((address, attempt)) = text.rsplit_once('@') else { return Ok((text, None)) };
    match attempt.parse() {
        Ok(number) => Ok((address, Some(number))),
        Err(_) => Err(Failure::new(Exit::Usage, format!("invalid attempt `{attempt}`"))
            .hint("attempts start at 1")
            .next(NextCommand::new(["planwright", "help", "log"]))),
    }
}

/// An older run of the same plan.
fn older(found: &RunOf, number: i64) -> Result<Run, Failure> {
    let rows = found.runs.store().runs().map_err(runs::Error::from)?;
    let numbers: Vec<i64> =
        rows.iter().filter(|row| row.plan == found.run.row.plan).map(|row| row.id.number()).collect();
    if !numbers.contains(&number) {
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let message = format!("{} has no run {number}", found.run.row.name);
        return Err(Failure::new(Exit::Usage, message)
            .hint(format!("its runs are {}", numbers.join(", ")))
            .next(NextCommand::new(["planwright", "log", shown(&found.path).as_str()])));
    }
    Ok(found.runs.run(RunId::new(number))?)
}

fn entry(recorded: &RecordedEvent) -> Entry {
    Entry {
        seq: recorded.seq,
        at_ms: recorded.at_ms,
        event: serde_json::to_value(&recorded.event).unwrap_or_default(),
    }
}

fn print(events: &[&RecordedEvent], out: &mut Out<'_>) {
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
            Cell::new(wording::detail(event)),
        ]);
    }
    out.table(&table);
}

/// Follows the events until the run finishes or no process is running it.
fn follow(found: &RunOf, wanted: &Wanted, out: &mut Out<'_>) -> Result<Response, Failure> {
    let RunOf { runs, run, .. } = found;
    let (id, name) = (run.row.id, run.row.name.as_str());
    let mut seen = 0;
    let mut is_over = run.state.outcome().is_some();
    loop {
        // Check this before reading events, so that the last ones are not missed.
        let is_driven = runs.is_driven(run)?;
        let news = runs.store().events(id, seen).map_err(runs::Error::from)?;
        for recorded in &news {
            seen = recorded.seq;
            is_over |= matches!(recorded.event, Event::Run(RunEvent::Finished { .. }));
            if wanted.has(name, &recorded.event) {
                print(&[recorded], out);
                out.event(&Response::done("event", &notice_of(runs, run, recorded)));
            }
        }
        out.flush();
        if is_over || !is_driven || !out.is_open() {
            break;
        }
        runs.store().wait(id, seen, LOOK).map_err(runs::Error::from)?;
    }
    let log = Log { plan: name.to_owned(), run: id.number(), events: Vec::new(), text: None, attempt: None };
    Ok(Response::done("log", &log).next(NextCommand::new(["planwright", "status", name])))
}
