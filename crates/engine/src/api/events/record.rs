//! Events under the names of document B. A plan is created when it is proposed and revised by every later revision;
//! one that was never proposed is created when its run starts.

use std::path::Path;

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::dialect;
use planwright_core::dialect::{NewPlan, record};
use planwright_core::run::event::{AskAnswer as Said, AskEvent, Event, RunEvent, RunStart, StepEvent};
use planwright_core::run::mirror;
use planwright_core::syntax::source::Source;

use crate::api::error::Error;
use crate::run;
use crate::run::Runs;
use crate::store::journal::RunId;
use crate::store::plan_count::parse;
use crate::workspace::feed::{FeedItem, FeedSubject};

/// The line for what happened; `None` where document B has no name for it.
pub(super) fn line(runs: &Runs, fact: &FeedItem) -> Result<Option<String>, Error> {
    match &fact.what {
        FeedSubject::Event(run, event) => of_event(runs, *run, event),
        FeedSubject::Entry(path, entry) => of_entry(runs, fact, (path, entry)),
    }
}

fn of_entry(
    runs: &Runs,
    fact: &FeedItem,
    (path, entry): (&Path, &LedgerEntry),
) -> Result<Option<String>, Error> {
    let LedgerEntry::Proposed { revision, text, dialect, .. } = entry else { return Ok(None) };
    let ledger = runs.store().ledger(path).map_err(run::Error::from)?;
    let is_same = |entry: &LedgerEntry| matches!(entry, LedgerEntry::Proposed { revision: known, .. } if known == revision);
    let first = ledger.iter().find(|said| is_same(&said.entry));
    // Proposing the same revision again is not a new plan.
    if first.is_some_and(|first| first.seq != fact.notice.seq) {
        return Ok(None);
    }
    let Some(dialect) = dialect::named(dialect) else { return Ok(None) };
    let text = String::from_utf8_lossy(&runs.blob(text)?).into_owned();
    let source =
        Source::new(fact.notice.plan.as_str(), text).at(fact.notice.path.as_str()).written_in(dialect);
    let follows = follows(&source);
    let source = as_record(&source);
    Ok(Some(match *revision > 1 || follows {
        true => record::replanned_line(&source),
        false => record::created_line(&source),
    }))
}

fn of_event(runs: &Runs, run: RunId, event: &Event) -> Result<Option<String>, Error> {
    let row = runs.store().run(run).map_err(run::Error::from)?;
    let Some(source) = row.source() else { return Ok(None) };
    let follows = follows(&source);
    let source = as_record(&source);
    if let Event::Run(RunEvent::Started(RunStart { digest, .. })) = event {
        let ledger = runs.store().ledger(&row.plan).map_err(run::Error::from)?;
        let is_it = |entry: &LedgerEntry| matches!(entry, LedgerEntry::Proposed { subject, .. } if subject.digest == *digest);
        return Ok(match ledger.iter().any(|said| is_it(&said.entry)) {
            true => None,
            false if follows => Some(record::replanned_line(&source)),
            false => Some(record::created_line(&source)),
        });
    }
    if let Event::Ask { ask, event: AskEvent::Answered { answer: Said::Confirm, by } } = event {
        return confirmed(runs, run, (ask, by));
    }
    let said = match event {
        Event::Step { event: StepEvent::Judged { receipt, .. }, .. } => match receipt.verdict.failure() {
            Some(failure) => failure.to_string(),
            None => said_by_agent(runs, run, event)?,
        },
        Event::Step { event: StepEvent::Finished(finish), .. } => format!("{:?}", finish.end),
        Event::Step { event: StepEvent::Started(_) | StepEvent::Faulted { .. }, .. }
        | Event::Run(_)
        | Event::Ask { .. } => String::new(),
    };
    Ok(mirror::event_line(&source, event, said.trim_end()))
}

/// Whether a plan says which one it follows.
fn follows(source: &Source) -> bool {
    parse(source).frontmatter.value("previousPlanId").is_some()
}

/// The line for a step that a person confirmed.
fn confirmed(runs: &Runs, run: RunId, (ask, by): (&str, &str)) -> Result<Option<String>, Error> {
    let run = runs.run(run)?;
    let opened = run.events.iter().find_map(|recorded| {
        let Event::Ask { ask: known, event: AskEvent::Opened { step, .. } } = &recorded.event else {
            return None;
        };
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
            let birth = NewPlan { id: source.name(), now: "" };
            source.with(record.compose(&parse(source), &birth)).written_in(record)
        }
        Some(_) | None => source.clone(),
    }
}

/// What the agent said in the attempt that a contract judged.
fn said_by_agent(runs: &Runs, run: RunId, event: &Event) -> Result<String, Error> {
    let judged = (event.step(), event.attempt());
    for recorded in runs.store().events(run, 0).map_err(run::Error::from)? {
        if let Event::Step { event: StepEvent::Finished(finish), .. } = &recorded.event
            && let Some(output) = &finish.output
            && (recorded.event.step(), recorded.event.attempt()) == judged
        {
            return Ok(String::from_utf8_lossy(&runs.blob(output)?).into_owned());
        }
    }
    Ok(String::new())
}
