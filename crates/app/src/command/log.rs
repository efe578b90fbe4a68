//! `log`: what happened to a run, and what was said in an attempt.

use planwright_engine::core::event::{self, AttemptEnd, Blob, Event, Outcome, Reason};
use planwright_engine::runs::{Run, Runs};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Opened, open};
use crate::out::{Answer, Cell, Exit, Failure, Next, Out, Table, Tone, clean};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan, PLAN/STEP, or PLAN/STEP@ATTEMPT
    #[arg(value_name = "PLAN[/STEP[@N]]")]
    plan: String,
    /// What the agent was told
    #[arg(long)]
    prompt: bool,
    /// What the agent said
    #[arg(long)]
    agent: bool,
    /// What the contract printed
    #[arg(long)]
    contract: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Log {
    /// The events, oldest first.
    pub(crate) events: Vec<Entry>,
    /// The text that was asked for.
    pub(crate) text: Option<String>,
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

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let (address, attempt) = match args.plan.rsplit_once('@') {
        Some((address, attempt)) => {
            let number = attempt.parse::<u32>();
            (
                address,
                Some(number.map_err(|_| Failure::new(Exit::Usage, format!("`{attempt}` is no attempt")))?),
            )
        }
        None => (args.plan.as_str(), None),
    };
    let Opened { path, project, step, .. } = open(address)?;
    let runs = Runs::open(&project)?;
    let Some(run) = runs.latest(&path)? else {
        return Err(Failure::new(Exit::No, format!("{address} was not run yet")).next(Next::new([
            "planwright",
            "run",
            address,
        ])));
    };
    let step = step.map(|wanted| step_id(&run, &wanted)).transpose()?;
    let is_wanted = |event: &Event| {
        step.as_ref().is_none_or(|step| event.step() == Some(step))
            && (attempt.is_none() || event.attempt() == attempt)
    };
    let events: Vec<_> = run.events.iter().filter(|recorded| is_wanted(&recorded.event)).collect();
    let blob = events.iter().rev().find_map(|recorded| wanted_blob(args, &recorded.event));
    let text = blob
        .map(|blob| runs.blob(blob))
        .transpose()?
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    match &text {
        Some(text) => out.data(&clean(text)),
        None => print(&events, out),
    }
    let events = events.iter().map(|recorded| Entry {
        seq: recorded.seq,
        at_ms: recorded.at_ms,
        event: serde_json::to_value(&recorded.event).unwrap_or_default(),
    });
    Ok(Answer::done("log", &Log { events: events.collect(), text }))
}

fn step_id(run: &Run, wanted: &str) -> Result<String, Failure> {
    let step = run.plan.steps.iter().find(|step| step.id == wanted || step.number.to_string() == wanted);
    step.map(|step| step.id.clone())
        .ok_or_else(|| Failure::new(Exit::Usage, format!("`{}` has no step `{wanted}`", run.row.name)))
}

fn wanted_blob<'a>(args: &Args, event: &'a Event) -> Option<&'a Blob> {
    match event {
        Event::AttemptStarted { prompt, .. } if args.prompt => Some(prompt),
        Event::AttemptFinished { output, .. } if args.agent => output.as_ref(),
        Event::ContractFinished { receipt, .. } if args.contract => Some(&receipt.output),
        Event::RunStarted { .. }
        | Event::AgentsApproved { .. }
        | Event::AttemptStarted { .. }
        | Event::AttemptFinished { .. }
        | Event::ContractFinished { .. }
        | Event::AskOpened { .. }
        | Event::AskAnswered { .. }
        | Event::BudgetWarned { .. }
        | Event::RunStopped { .. }
        | Event::RunResumed { .. }
        | Event::RunFinished { .. } => None,
    }
}

fn print(events: &[&planwright_engine::store::journal::Recorded], out: &mut Out<'_>) {
    let mut table = Table::new();
    for recorded in events {
        let event = &recorded.event;
        let attempt = event.attempt().map(|attempt| format!("attempt {attempt}")).unwrap_or_default();
        table.row([
            Cell::new(recorded.seq.to_string()).right().tone(Tone::Muted),
            Cell::new(event.step().unwrap_or_default()).tone(Tone::Strong),
            Cell::new(event.name()),
            Cell::new(attempt),
            Cell::new(detail(event)),
        ]);
    }
    out.table(&table);
}

fn detail(event: &Event) -> String {
    match event {
        Event::RunStarted { approved_by, digest, .. } => {
            format!("{} approved by {approved_by}", &digest[..8.min(digest.len())])
        }
        Event::AgentsApproved { approved_by, .. } => format!("command lines approved by {approved_by}"),
        Event::AttemptStarted { agent, .. } => agent.clone(),
        Event::AttemptFinished { end, changed, .. } => match changed.len() {
            1 => format!("{}, 1 file changed", end_words(end)),
            count => format!("{}, {count} files changed", end_words(end)),
        },
        Event::ContractFinished { receipt, .. } => receipt
            .verdict
            .failure()
            .map_or_else(|| "passed".to_owned(), |failure| format!("failed: {failure}")),
        Event::AskOpened { reason, .. } => reason_words(*reason).to_owned(),
        Event::AskAnswered { answer, by, .. } => format!("{} by {by}", answer_words(answer)),
        Event::BudgetWarned { limit, percent } => format!("{percent} % of {limit}"),
        Event::RunStopped { by, .. } | Event::RunResumed { by } => by.clone(),
        Event::RunFinished { outcome: Outcome::Done, .. } => "done".to_owned(),
        Event::RunFinished { outcome: Outcome::Failed, why } => format!("failed: {why}"),
        Event::RunFinished { outcome: Outcome::Cancelled, why } => format!("cancelled: {why}"),
    }
}

fn end_words(end: &AttemptEnd) -> String {
    match end {
        AttemptEnd::Exited(code) => format!("exit {code}"),
        AttemptEnd::Signalled(signal) => format!("killed by signal {signal}"),
        AttemptEnd::TimedOut(seconds) => format!("timed out after {seconds} s"),
        AttemptEnd::Lost => "lost".to_owned(),
        AttemptEnd::Stopped => "stopped".to_owned(),
        AttemptEnd::Parked { why, .. } => format!("parked: {why}"),
    }
}

const fn reason_words(reason: Reason) -> &'static str {
    match reason {
        Reason::AttemptsSpent => "all attempts failed",
        Reason::Manual => "a person's to do or to confirm",
        Reason::Budget => "the budget is spent",
        Reason::Lost => "attempts were lost too often",
        Reason::Parked => "the agent can't be had",
    }
}

fn answer_words(answer: &event::Answer) -> String {
    match answer {
        event::Answer::Retry { hint } if hint.is_empty() => "retry".to_owned(),
        event::Answer::Retry { hint } => format!("retry: {hint};"),
        event::Answer::TakeOver => "taken over".to_owned(),
        event::Answer::Confirm => "confirmed".to_owned(),
        event::Answer::Skip { reason } => format!("skipped: {reason};"),
        event::Answer::Stop => "stopped".to_owned(),
        event::Answer::Revise { reason } => format!("sent back: {reason};"),
        event::Answer::Budget { .. } => "more budget".to_owned(),
    }
}
