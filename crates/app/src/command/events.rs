//! `events`: the journals of all runs of this project as one stream, one line per fact. Only reads: whoever listens, and
//! however they end, changes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use planwright_engine::clock;
use planwright_engine::core::budget;
use planwright_engine::core::dialect::{self, Birth, record};
use planwright_engine::core::event::{Answer as Said, Event};
use planwright_engine::core::source::Source;
use planwright_engine::runs::{self, Runs};
use planwright_engine::store::journal::{Recorded, RunId};
use schemars::JsonSchema;
use serde::Serialize;

use super::{EventData, here, project_of};
use crate::fact;
use crate::out::{Answer, Exit, Failure, Next, Out, Tone, clean_line};

/// How often the journals are looked at for news.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Go on with what happens next, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Only what came after this: a number in the journal, a time (14:30, 2026-01-31T14:30:00Z) or an age (14m)
    #[arg(long, value_name = "SEQ|TIME|AGE")]
    since: Option<String>,
    /// Only the runs of this plan
    #[arg(long)]
    plan: Option<String>,
    /// Print JSON lines in the names of another tool, and nothing that it has no name for
    #[arg(long, value_enum, value_name = "TOOL", conflicts_with = "json")]
    names: Option<Names>,
}

/// Whose names events go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Names {
    /// `PLAN_CREATED`, `STEP_STARTED`, `STEP_COMPLETED`, `STEP_FAILED`, `PLAN_REPLANNED`
    Record,
}

/// The data of the last envelope; before it, every event has one of its own, `planwright.event/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    /// How many events were told.
    pub(crate) events: usize,
}

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Begin,
    /// After the event with this number, in each journal.
    Seq(u64),
    /// After this time, in milliseconds since 1970.
    Time(u64),
}

/// One event, and which run it belongs to.
struct Fact {
    plan: String,
    run: RunId,
    recorded: Recorded,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let since = match &args.since {
        None => Since::Begin,
        Some(text) => since(text, fact::now()).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{text}` is neither a number, a time nor an age"))
                .hint("say 12, 14:30, 2026-01-31T14:30:00Z or 14m")
                .next(Next::new(["planwright", "help", "events"]))
        })?,
    };
    let path = args.plan.as_ref().map(|plan| here()?.address(plan).map_err(Failure::from)).transpose()?;
    let path = path.map(|address| address.plan);
    let project = path.as_deref().map_or_else(here, project_of)?;
    let runs = Runs::open(&project)?;
    let plan = path.map(|path| path.strip_prefix(&project.root).map(PathBuf::from).unwrap_or(path));
    let mut stream = Stream { runs, plan, since, seen: BTreeMap::new() };
    let mut told = 0;
    loop {
        for fact in stream.news()? {
            match args.names {
                None => tell(&fact, out),
                Some(Names::Record) => {
                    let Some(line) = record_line(&stream.runs, &fact)? else { continue };
                    out.line(&clean_line(&line));
                }
            }
            told += 1;
        }
        out.flush();
        if !args.follow || !out.is_open() {
            break;
        }
        std::thread::sleep(LOOK);
    }
    if told == 0 {
        out.talk("nothing has happened yet");
    }
    Ok(Answer::done("events", &Told { events: told }).next(Next::new(["planwright", "status"])))
}

/// Reads where to begin. A bare number is a place in the journal.
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

struct Stream {
    runs: Runs,
    /// Relative to the root of the project.
    plan: Option<PathBuf>,
    since: Since,
    /// The last event that was told, by run.
    seen: BTreeMap<RunId, u64>,
}

impl Stream {
    /// What happened since the last call, in the order in which it did.
    fn news(&mut self) -> Result<Vec<Fact>, Failure> {
        let store = self.runs.store();
        let mut news = Vec::new();
        for row in store.runs().map_err(runs::Error::from)? {
            if self.plan.as_ref().is_some_and(|plan| *plan != row.plan) {
                continue;
            }
            let first = if let Since::Seq(seq) = self.since { seq } else { 0 };
            let seen = self.seen.entry(row.id).or_insert(first);
            if row.head.seq <= *seen {
                continue;
            }
            for recorded in store.events(row.id, *seen).map_err(runs::Error::from)? {
                *seen = recorded.seq;
                let is_wanted = !matches!(self.since, Since::Time(at) if recorded.at_ms < at);
                if is_wanted {
                    news.push(Fact { plan: row.name.clone(), run: row.id, recorded });
                }
            }
        }
        news.sort_by_key(|fact| (fact.recorded.at_ms, fact.run, fact.recorded.seq));
        Ok(news)
    }
}

/// The line for what happened in the names of document B; `None` where it has none.
fn record_line(runs: &Runs, fact: &Fact) -> Result<Option<String>, Failure> {
    let run = runs.store().run(fact.run).map_err(runs::Error::from)?;
    let Some(source) = run.source().map(|source| as_record(&source)) else { return Ok(None) };
    let event = &fact.recorded.event;
    let follows = || source.draft().frontmatter.value("previousPlanId").is_some();
    if matches!(event, Event::RunStarted { .. }) && follows() {
        return Ok(Some(record::replanned_line(&source)));
    }
    if let Event::AskAnswered { ask, answer: Said::Confirm, by } = event {
        return confirmed_line(runs, fact, (ask, by));
    }
    let said = match event {
        Event::ContractFinished { receipt, .. } => match receipt.verdict.failure() {
            Some(failure) => failure.to_string(),
            None => said_by_agent(runs, fact)?,
        },
        Event::AttemptFinished { end, .. } => format!("{end:?}"),
        Event::RunStarted { .. }
        | Event::AgentsApproved { .. }
        | Event::AttemptStarted { .. }
        | Event::AskOpened { .. }
        | Event::AskAnswered { .. }
        | Event::BudgetWarned { .. }
        | Event::RunStopped { .. }
        | Event::RunResumed { .. }
        | Event::RunFinished { .. } => String::new(),
    };
    Ok(record::event_line(&source, event, said.trim_end()))
}

/// The line for a step that a person confirmed.
fn confirmed_line(runs: &Runs, fact: &Fact, (ask, by): (&str, &str)) -> Result<Option<String>, Failure> {
    let run = runs.run(fact.run)?;
    let opened = run.events.iter().find_map(|recorded| {
        let Event::AskOpened { ask: known, step, .. } = &recorded.event else { return None };
        step.clone().filter(|_| known == ask)
    });
    let index = opened.and_then(|step| run.plan.steps.iter().position(|known| known.id == step));
    let line = |index: usize| serde_json::json!({"type": "STEP_COMPLETED", "stepIndex": index, "output": format!("confirmed by {by}")});
    Ok(index.map(|index| line(index).to_string()))
}

/// A plan of any dialect as document B would have it.
fn as_record(source: &Source) -> Source {
    match dialect::named("record") {
        Some(record) if source.dialect() != record => {
            let birth = Birth { id: source.name(), now: "" };
            source.with(record.compose(&source.draft(), &birth)).written_in(record)
        }
        Some(_) | None => source.clone(),
    }
}

/// What the agent said in the attempt that a contract judged.
fn said_by_agent(runs: &Runs, fact: &Fact) -> Result<String, Failure> {
    let judged = (fact.recorded.event.step(), fact.recorded.event.attempt());
    for recorded in runs.store().events(fact.run, 0).map_err(runs::Error::from)? {
        if let Event::AttemptFinished { output: Some(output), .. } = &recorded.event
            && (recorded.event.step(), recorded.event.attempt()) == judged
        {
            return Ok(String::from_utf8_lossy(&runs.blob(output)?).into_owned());
        }
    }
    Ok(String::new())
}

fn tell(fact: &Fact, out: &mut Out<'_>) {
    let Fact { plan, run, recorded } = fact;
    let palette = out.palette();
    let time = fact::clock_time(recorded.at_ms, fact::now());
    let place = fact::place(plan, &recorded.event);
    let fields = fact::fields(&recorded.event);
    out.line(
        format!(
            "{} {} {:<17} {}",
            palette.paint(Tone::Muted, &time),
            palette.paint(Tone::Strong, &clean_line(&place)),
            recorded.event.name(),
            clean_line(&fields)
        )
        .trim_end(),
    );
    let data = EventData {
        plan: plan.clone(),
        run: run.number(),
        seq: recorded.seq,
        at_ms: recorded.at_ms,
        event: serde_json::to_value(&recorded.event).unwrap_or_default(),
    };
    out.event(&Answer::done("event", &data));
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
