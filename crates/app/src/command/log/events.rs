//! `log --all`: journals of all runs and ledgers of all plans as one stream, one line per event. Read-only.
//! `--deliver` sends the hooks what they missed.

use std::time::Duration;

use clap::ValueEnum;
use planwright_engine::api::{EventsView, FeedItem, FeedSubject, Since};

use crate::interaction::notifier;
use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

/// How often the store is looked at for news.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Whether to wait for more events, as `log --follow` does
    #[arg(skip)]
    pub(crate) follow: bool,
    /// Show events after a number, a time (14:30, 2026-01-31T14:30:00Z) or an age (14m)
    #[arg(long, value_name = "SEQ|TIME|AGE", requires = "all")]
    since: Option<String>,
    /// Show events of this plan only
    #[arg(id = "of_plan", long = "plan", value_name = "PLAN", requires = "all")]
    pub(crate) plan: Option<String>,
    /// Print JSON lines with the event names of another tool; skip others
    #[arg(long, value_enum, value_name = "TOOL", conflicts_with = "json", requires = "all")]
    names: Option<Names>,
    /// Send missed events to the hooks in the settings; print no events
    #[arg(long, conflicts_with_all = ["follow", "since", "of_plan", "names"], requires = "all")]
    deliver: bool,
}

/// Whose names events go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Names {
    /// `PLAN_CREATED`, `STEP_STARTED`, `STEP_COMPLETED`, `STEP_FAILED`, `PLAN_REPLANNED`
    #[value(alias = "rawko")]
    Record,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.deliver {
        return deliver(out);
    }
    let since = match &args.since {
        None => Since::Begin,
        Some(text) => Since::read(text, wording::now()).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{text}` is not a number, a time or an age"))
                .hint("use 12, 14:30, 2026-01-31T14:30:00Z or 14m")
                .next(NextCommand::new(["planwright", "help", "log"]))
        })?,
    };
    let mut events = workspace()?.events(args.plan.as_deref(), since)?;
    let mut told = 0;
    loop {
        while let Some(batch) = events.next_batch()? {
            for fact in &batch {
                match args.names {
                    None => tell(fact, out),
                    Some(Names::Record) => {
                        let Some(line) = events.record_line(fact)? else { continue };
                        out.line(&clean_line(&line));
                    }
                }
                told += 1;
            }
            out.flush();
        }
        if !args.follow || !out.is_open() {
            break;
        }
        std::thread::sleep(LOOK);
    }
    if told == 0 {
        out.talk("no events");
    }
    let next = NextCommand::new(["planwright", "status"]);
    Ok(Response::done("events", &EventsView { events: told, hooks: Vec::new() }).next(next))
}

/// Sends the hooks the events they missed.
fn deliver(out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = workspace()?.deliver_events(notifier::encode)?;
    let hooks = &view.hooks;
    let mut table = Table::new();
    for hook in hooks {
        let skipped = if hook.skipped > 0 { format!("skipped {}", hook.skipped) } else { String::new() };
        let left = hook.left.as_deref().unwrap_or_default();
        let delivered = format!("delivered {}", hook.delivered);
        table.row([hook.hook.as_str(), &delivered, &skipped, &clean_line(left)]);
    }
    out.table(&table);
    if hooks.is_empty() {
        out.talk("no hooks configured");
    }
    let exit = if hooks.iter().any(|hook| hook.left.is_some()) { Exit::No } else { Exit::Done };
    let next = match (hooks.is_empty(), exit) {
        (true, _) => vec!["planwright", "config", "hooks.needs_you"],
        (false, Exit::Done) => vec!["planwright", "log", "--all", "--since=1h"],
        (false, _) => vec!["planwright", "log", "--all", "--deliver"],
    };
    Ok(Response::new(exit, "events", &view).next(NextCommand::new(next)))
}

fn tell(fact: &FeedItem, out: &mut Out<'_>) {
    let FeedItem { notice, what, .. } = fact;
    let palette = out.palette();
    let time = wording::clock_time(notice.at_ms, wording::now());
    let (place, fields) = match what {
        FeedSubject::Event(_, event) => (wording::place(&notice.plan, event), wording::fields(event)),
        FeedSubject::Entry(_, entry) => {
            (wording::entry::place(&notice.plan, entry), wording::entry::fields(entry))
        }
    };
    out.line(
        format!(
            "{} {} {:<17} {}",
            palette.paint(Tone::Muted, &time),
            palette.paint(Tone::Strong, &clean_line(&place)),
            notice.name(),
            clean_line(&fields)
        )
        .trim_end(),
    );
    out.event(&Response::done("event", notice));
}
