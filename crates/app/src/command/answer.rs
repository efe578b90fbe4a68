//! `answer`: a person answers a question of a run. Without an answer it shows the question and the possible answers.

use planwright_engine::core::plan::budget::Budget;
use planwright_engine::core::run::event;
use planwright_engine::core::run::event::StopMode;
use planwright_engine::core::run::schedule;
use planwright_engine::core::run::state::AskState;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::driver::wait_for_driver;
use crate::interaction::target::{NamedPlan, RunOf, run_of};
use crate::output::wording;
use crate::output::{Exit, Failure, Glyph, NextCommand, Out, Response, Table, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("choice").args(["retry", "take_over", "confirm", "skip", "revise", "stop", "budget"]))]
pub(crate) struct Args {
    /// Plan, or PLAN/STEP for a question about a step
    #[arg(value_name = "PLAN[/STEP]", default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Try again
    #[arg(long)]
    retry: bool,
    /// You fixed it; run the contract
    #[arg(long)]
    take_over: bool,
    /// Confirm a step without a contract
    #[arg(long)]
    confirm: bool,
    /// Skip the step; requires a reason (-m)
    #[arg(long, requires = "message")]
    skip: bool,
    /// End the run and revise the plan; requires a reason (-m)
    #[arg(long, requires = "message")]
    revise: bool,
    /// Pause the run
    #[arg(long)]
    stop: bool,
    /// Raise the budget: +1.50, $1.50, 50k tokens, 10 min
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    budget: Option<String>,
    /// Tell the agent something for the next attempt
    #[arg(long, requires = "retry")]
    hint: Option<String>,
    /// Reason
    #[arg(short, long)]
    message: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered {
    /// The plan.
    pub(crate) plan: String,
    /// The step that the question is about; `None` where it is about the run.
    pub(crate) step: Option<String>,
    /// What was answered; `None` where the question was only shown.
    pub(crate) answer: Option<String>,
    /// The commands that fit, where the question was only shown.
    pub(crate) answers: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let choice = answer(args)?;
    if choice.is_some() {
        Caller::of_process().may(Right::Answer)?;
    }
    let found = run_of(&args.plan)?;
    let Some((name, ask)) = asked(args, &found)? else { return stop(&found, out) };
    match choice {
        None => Ok(show(&found, ask, out)),
        Some(choice) => settle(&found, (name, ask), choice, out),
    }
}

/// The answer; `None` if none was passed.
fn answer(args: &Args) -> Result<Option<event::AskAnswer>, Failure> {
    let reason = args.message.clone().unwrap_or_default();
    if (args.skip || args.revise) && reason.trim().is_empty() {
        return Err(Failure::new(Exit::Usage, "missing reason: pass -m").next(NextCommand::new([
            "planwright",
            "help",
            "answer",
        ])));
    }
    Ok(match &args.budget {
        Some(text) => Some(grant(text)?),
        None if args.take_over => Some(event::AskAnswer::TakeOver),
        None if args.confirm => Some(event::AskAnswer::Confirm),
        None if args.skip => Some(event::AskAnswer::Skip { reason }),
        None if args.revise => Some(event::AskAnswer::Revise { reason }),
        None if args.stop => Some(event::AskAnswer::Stop),
        None if args.retry => Some(event::AskAnswer::Retry { hint: args.hint.clone().unwrap_or(reason) }),
        None => None,
    })
}

/// Reads an amount.
fn grant(text: &str) -> Result<event::AskAnswer, Failure> {
    let budget = Budget::addition(text).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("invalid amount `{text}`"))
            .hint("use +1.50, $1.50, 50k tokens or 10 min")
            .next(NextCommand::new(["planwright", "help", "answer"]))
    })?;
    let [micro_dollars, tokens, seconds] =
        [budget.micro_dollars, budget.tokens, budget.seconds].map(Option::unwrap_or_default);
    Ok(event::AskAnswer::Budget { micro_dollars, tokens, seconds })
}

/// The question in question; `None` if the whole run is to be paused.
fn asked<'a>(args: &Args, found: &'a RunOf) -> Result<Option<(&'a str, &'a AskState)>, Failure> {
    let run = &found.run;
    let is_meant = |ask: &AskState| found.step.is_none() || ask.step == found.step;
    let asks = || run.state.asks.iter().filter(|(_, ask)| is_meant(ask));
    let mut meant: Vec<_> = asks().collect();
    if args.budget.is_some() && found.step.is_none() && meant.len() > 1 {
        meant.retain(|(_, ask)| ask.step.is_none());
    }
    let is_stop = args.stop && found.step.is_none() && run.state.outcome().is_none();
    match meant[..] {
        [(name, ask)] => Ok(Some((name, ask))),
        _ if is_stop => Ok(None),
        [] => {
            let what = fact_name(found);
            let others: Vec<String> = run.state.asks.values().map(|ask| wording::subject(run, ask)).collect();
            let failure = Failure::new(Exit::No, format!("no open question about {what}"));
            let failure = match others.is_empty() {
                true => failure,
                false => failure.hint(format!("open questions: {}", others.join(", "))),
            };
            Err(failure.next(NextCommand::new(["planwright", "status", "--inbox"])))
        }
        _ => {
            let several: Vec<String> = asks().map(|(_, ask)| wording::subject(run, ask)).collect();
            let message = format!("{} open questions about {}", several.len(), run.row.name);
            Err(Failure::new(Exit::Usage, message)
                .hint(format!("pass one of: {}", several.join(", ")))
                .next(NextCommand::new(["planwright", "status", "--inbox"])))
        }
    }
}

fn fact_name(found: &RunOf) -> String {
    match found.step {
        Some(place) => format!("{}/{}", found.run.row.name, found.run.plan.steps[place].id),
        None => found.run.row.name.clone(),
    }
}

/// Stops the run without a word to what is asked.
fn stop(found: &RunOf, out: &mut Out<'_>) -> Result<Response, Failure> {
    let name = found.run.row.name.clone();
    found.runs.stop(&found.run, StopMode::AfterAttempts)?;
    said(&name, "paused: resume with planwright run", out);
    let answered = Answered { plan: name, step: None, answer: Some("stop".to_owned()), answers: Vec::new() };
    Ok(Response::done("answer", &answered).next(look(found)))
}

/// Shows a question and what could be said to it.
fn show(found: &RunOf, ask: &AskState, out: &mut Out<'_>) -> Response {
    let subject = wording::subject(&found.run, ask);
    let palette = out.palette();
    let name = palette.paint(Tone::Strong, &clean_line(&subject));
    out.line(&format!("{} {name}   {}", palette.glyph(Glyph::NeedsYou), wording::reason_words(ask.reason)));
    out.data(&wording::indented(&ask.text));
    let choices = wording::choices(&found.run, ask);
    let mut table = Table::new();
    for (command, what) in &choices {
        table.row([format!("  {command}"), (*what).to_owned()]);
    }
    out.table(&table);
    let answered = Answered {
        plan: found.run.row.name.clone(),
        step: ask.step.map(|place| found.run.plan.steps[place].id.clone()),
        answer: None,
        answers: choices.into_iter().map(|(command, _)| command).collect(),
    };
    Response::new(Exit::Person, "answer", &answered).next(NextCommand::new([
        "planwright",
        "log",
        subject.as_str(),
    ]))
}

fn settle(
    found: &RunOf,
    (name, ask): (&str, &AskState),
    answer: event::AskAnswer,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let RunOf { path, runs, run, .. } = found;
    let subject = wording::subject(run, ask);
    let contract = ask.step.map(|place| &run.plan.steps[place].contract);
    if !schedule::fits(ask.reason, &answer, contract) {
        let fitting = wording::fitting(ask.reason, contract);
        return Err(Failure::new(Exit::Usage, format!("{subject} doesn't accept this answer"))
            .hint(format!("{}; use {fitting}", wording::reason_words(ask.reason)))
            .next(NextCommand::new(["planwright", "answer", subject.as_str()])));
    }
    let (word, effect, next) = match &answer {
        event::AskAnswer::Retry { .. } => ("retry", "one more attempt", None),
        event::AskAnswer::TakeOver => ("take-over", "taken over; the contract decides", None),
        event::AskAnswer::Confirm => ("confirm", "confirmed", None),
        event::AskAnswer::Skip { .. } => ("skip", "skipped, recorded as your decision", None),
        event::AskAnswer::Budget { .. } => ("budget", "budget raised", None),
        event::AskAnswer::Stop => ("stop", "paused: resume with planwright run", Some(look(found))),
        event::AskAnswer::Revise { .. } => {
            let verify = NextCommand::new(["planwright", "verify", shown(path).as_str()]);
            ("revise", "revised: the run has ended, the plan is a draft again", Some(verify))
        }
    };
    let is_end = matches!(answer, event::AskAnswer::Revise { .. });
    runs.answer(run, name, answer)?;
    if is_end && wait_for_driver(runs, run)?.is_none() {
        for complaint in runs.mirror(run.row.id, path)? {
            out.warn(&complaint);
        }
    }
    said(&subject, effect, out);
    let next = match (next, runs.holder(run)?) {
        (Some(next), _) => next,
        (None, None) => NextCommand::new(["planwright", "run", run.row.name.as_str()]),
        (None, Some(holder)) => {
            out.line(&format!("          the run continues ({})", clean_line(&holder.to_string())));
            NextCommand::new(["planwright", "status", run.row.name.as_str()])
        }
    };
    let answered = Answered {
        plan: run.row.name.clone(),
        step: ask.step.map(|place| run.plan.steps[place].id.clone()),
        answer: Some(word.to_owned()),
        answers: Vec::new(),
    };
    Ok(Response::done("answer", &answered).next(next))
}

fn said(subject: &str, effect: &str, out: &mut Out<'_>) {
    let word = out.palette().paint(Tone::Good, "answered");
    out.line(&format!("{word}  {}   {effect}", clean_line(subject)));
}

fn look(found: &RunOf) -> NextCommand {
    NextCommand::new(["planwright", "log", found.run.row.name.as_str()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u64, u64, u64)> {
        let granted = grant(text).ok()?;
        let event::AskAnswer::Budget { micro_dollars, tokens, seconds } = granted else {
            panic!("{granted:?} is not an amount");
        };
        Some((micro_dollars, tokens, seconds))
    }

    // an amount that can't be read is refused, never taken for nothing.
    #[test]
    fn amounts_are_read_as_people_write_them_or_refused() {
        for text in ["+1.50", "1.50", "$1.50", "+$1.50", "1.5 dollars"] {
            assert_eq!(read(text), Some((1_500_000, 0, 0)), "{text}");
        }
        assert_eq!(read("50k tokens"), Some((0, 50_000, 0)));
        assert_eq!(read("+10 min"), Some((0, 0, 600)));
        assert_eq!(read("$2 and 1 h"), Some((2_000_000, 0, 3600)));
        for text in ["", "-5", "- 5", "$0", "0", "much", "5 apples", "NaN", "inf", "1e300"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
