//! `log --all`: journals of all runs and ledgers of all plans as one stream, one line per event. Read-only.
//! `--deliver` sends the hooks what they missed.

mod record;

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use planwright_engine::core::plan::budget;
use planwright_engine::run as runs;
use planwright_engine::run::Runs;
use planwright_engine::system::clock;
use planwright_engine::system::process;
use planwright_engine::workspace::feed::{EventFeed, FeedItem, FeedSubject, Filter};
use planwright_engine::workspace::notify;
use planwright_engine::workspace::notify::PendingDeliveries;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::notifier;
use crate::interaction::project::{here, project_of};
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

/// The data of the last envelope; before it, every event has one of its own, `planwright.event/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    /// How many events were told.
    pub(crate) events: u64,
    /// What became of them for each hook, with `--deliver`.
    pub(crate) hooks: Vec<HookData>,
}

/// What became of the news for one hook.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookData {
    /// Its name: `needs_you`, `done`, `failed` or `webhook`.
    pub(crate) hook: String,
    /// How many events it took.
    pub(crate) delivered: u64,
    /// How many were given up since this was last asked.
    pub(crate) skipped: u64,
    /// Why not everything was delivered; `None` where all of it was.
    pub(crate) left: Option<String>,
}

/// The starting point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Begin,
    /// After the event with this number, in each journal and ledger.
    Seq(u64),
    /// After this time, in milliseconds since 1970.
    Time(u64),
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.deliver {
        return deliver(out);
    }
    let since = match &args.since {
        None => Since::Begin,
        Some(text) => since(text, wording::now()).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{text}` is not a number, a time or an age"))
                .hint("use 12, 14:30, 2026-01-31T14:30:00Z or 14m")
                .next(NextCommand::new(["planwright", "help", "log"]))
        })?,
    };
    let path = args.plan.as_ref().map(|plan| here()?.address(plan).map_err(Failure::from)).transpose()?;
    let path = path.map(|address| address.plan);
    let project = path.as_deref().map_or_else(here, project_of)?;
    let runs = Runs::open(&project)?;
    let plan = path.map(|path| path.strip_prefix(&project.root).map(PathBuf::from).unwrap_or(path));
    let (after_seq, since_ms) = match since {
        Since::Begin => (0, 0),
        Since::Seq(seq) => (seq, 0),
        Since::Time(at) => (0, at),
    };
    let mut feed = EventFeed::after(runs.store(), &project.root, Filter { plan, after_seq, since_ms }, 0);
    let mut told = 0;
    loop {
        while let Some(batch) = feed.next_batch().map_err(runs::Error::from)? {
            for fact in &batch {
                match args.names {
                    None => tell(fact, out),
                    Some(Names::Record) => {
                        let Some(line) = record::line(&runs, fact)? else { continue };
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
    Ok(Response::done("events", &Told { events: told, hooks: Vec::new() }).next(next))
}

/// Sends the hooks the events they missed.
fn deliver(out: &mut Out<'_>) -> Result<Response, Failure> {
    if process::job_above().is_some() {
        let message = "an agent in a run cannot deliver events: your own hooks would miss them";
        return Err(Failure::new(Exit::No, message).next(NextCommand::new(["planwright", "log", "--all"])));
    }
    let project = here()?;
    let runs = Runs::open(&project)?;
    let told = notify::deliver(&project, runs.store(), notifier::encode).map_err(runs::Error::from)?;
    let hooks: Vec<HookData> = told.iter().map(data).collect();
    let mut table = Table::new();
    for hook in &hooks {
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
    let events = hooks.iter().map(|hook| hook.delivered).sum();
    Ok(Response::new(exit, "events", &Told { events, hooks }).next(NextCommand::new(next)))
}

fn data(told: &notify::Delivered) -> HookData {
    let left = match &told.rest {
        PendingDeliveries::Nothing => None,
        PendingDeliveries::Later(why) => Some(why.clone()),
        PendingDeliveries::Busy => Some("another process is delivering".to_owned()),
    };
    HookData { hook: told.hook.to_owned(), delivered: told.delivered, skipped: told.skipped, left }
}

/// Reads the starting point. A bare number is a journal sequence number.
fn since(text: &str, now_ms: u64) -> Option<Since> {
    let text = text.trim();
    if let Ok(seq) = text.parse() {
        return Some(Since::Seq(seq));
    }
    if let Some(at) = clock::read(text, now_ms) {
        return Some(Since::Time(at));
    }
    let age = budget::seconds(text)?;
    Some(Since::Time(now_ms.saturating_sub(age.saturating_mul(1000))))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_place_and_everything_with_a_unit_is_a_time() {
        let now = 1_767_268_800_000;
        assert_eq!(since("12", now), Some(Since::Seq(12)));
        assert_eq!(since("14m", now), Some(Since::Time(now - 14 * 60_000)));
        assert_eq!(since("2 days", now), Some(Since::Time(now - 172_800_000)));
        assert_eq!(since("2026-01-01T12:00:00Z", 0), Some(Since::Time(now)));
        assert_eq!([since("soon", now), since("$3", now), since("", now)], [None, None, None]);
    }
}
