//! `answer`: a person answers a question of a run. Without an answer it shows the question and the possible answers.

use planwright_engine::api::{AnswerView, AskAnswer, PlanRun, Right, RunAsk, budget_answer};

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::wording;
use crate::output::{Exit, Failure, Glyph, NextCommand, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("choice").args(["retry", "retry_step", "take_over", "confirm", "skip", "revise", "stop", "budget"]))]
pub(crate) struct Args {
    /// Plan, or PLAN/STEP for a question about a step
    #[arg(value_name = "PLAN[/STEP]", default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Try again
    #[arg(long)]
    retry: bool,
    /// Redo the step that broke the contract; then the contract runs again
    #[arg(long, value_name = "STEP")]
    retry_step: Option<String>,
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
    #[arg(long, conflicts_with_all = ["take_over", "confirm", "skip", "revise", "stop", "budget"])]
    hint: Option<String>,
    /// Reason
    #[arg(short, long)]
    message: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let choice = answer(args)?;
    let workspace = workspace()?;
    if choice.is_some() {
        // Before anything is looked up: an agent learns nothing about open questions by guessing.
        workspace.caller().may(Right::Answer)?;
    }
    let run = workspace.run_of(&args.plan)?;
    let Some(ask) = asked(args, &run)? else { return stop(&run, out) };
    match choice {
        None => Ok(show(&run, &ask, out)),
        Some(choice) => settle(&run, &ask, choice, out),
    }
}

/// The answer; `None` if none was passed.
fn answer(args: &Args) -> Result<Option<AskAnswer>, Failure> {
    let reason = args.message.clone().unwrap_or_default();
    if args.hint.is_some() && !args.retry && args.retry_step.is_none() {
        return Err(Failure::new(Exit::Usage, "--hint needs --retry or --retry-step")
            .next(NextCommand::new(["planwright", "help", "answer"])));
    }
    if (args.skip || args.revise) && reason.trim().is_empty() {
        return Err(Failure::new(Exit::Usage, "missing reason: pass -m").next(NextCommand::new([
            "planwright",
            "help",
            "answer",
        ])));
    }
    if let Some(step) = &args.retry_step {
        let hint = args.hint.clone().unwrap_or(reason);
        return Ok(Some(AskAnswer::RetryStep { step: step.clone(), hint }));
    }
    Ok(match &args.budget {
        Some(text) => Some(grant(text)?),
        None if args.take_over => Some(AskAnswer::TakeOver),
        None if args.confirm => Some(AskAnswer::Confirm),
        None if args.skip => Some(AskAnswer::Skip { reason }),
        None if args.revise => Some(AskAnswer::Revise { reason }),
        None if args.stop => Some(AskAnswer::Stop),
        None if args.retry => Some(AskAnswer::Retry { hint: args.hint.clone().unwrap_or(reason) }),
        None => None,
    })
}

/// Reads an amount.
fn grant(text: &str) -> Result<AskAnswer, Failure> {
    budget_answer(text).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("invalid amount `{text}`"))
            .hint("use +1.50, $1.50, 50k tokens or 10 min")
            .next(NextCommand::new(["planwright", "help", "answer"]))
    })
}

/// The question to answer; `None` to pause the whole run.
fn asked(args: &Args, run: &PlanRun) -> Result<Option<RunAsk>, Failure> {
    let all = run.asks();
    let is_about_run = args.budget.is_some() && run.step.is_none() && all.len() > 1;
    let mut meant: Vec<&RunAsk> = all.iter().filter(|ask| !is_about_run || ask.step.is_none()).collect();
    let inbox = NextCommand::new(["planwright", "status", "--inbox"]);
    match meant.len() {
        1 => Ok(meant.pop().cloned()),
        _ if args.stop && run.step.is_none() && !run.is_over() => Ok(None),
        0 => {
            let failure = Failure::new(Exit::No, format!("no open question about {}", run.subject(run.step)));
            let others = run.ask_subjects();
            let failure = match others.is_empty() {
                true => failure,
                false => failure.hint(format!("open questions: {}", others.join(", "))),
            };
            Err(failure.next(inbox))
        }
        _ => {
            let several: Vec<&str> = all.iter().map(|ask| ask.subject.as_str()).collect();
            let message = format!("{} open questions about {}", several.len(), run.name());
            let hint = format!("pass one of: {}", several.join(", "));
            Err(Failure::new(Exit::Usage, message).hint(hint).next(inbox))
        }
    }
}

/// Pauses the run and leaves its questions open.
fn stop(run: &PlanRun, out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = run.answer_with_stop()?;
    said(&view.plan, &paused(run), out);
    Ok(Response::done("answer", &view).next(look(run)))
}

/// Shows a question and what could be said to it.
fn show(run: &PlanRun, ask: &RunAsk, out: &mut Out<'_>) -> Response {
    let palette = out.palette();
    let name = palette.paint(Tone::Strong, &clean_line(&ask.subject));
    out.line(&format!("{} {name}   {}", palette.glyph(Glyph::NeedsYou), ask.reason.words()));
    out.data(&wording::indented(&ask.text));
    let choices = ask.choices();
    let mut table = Table::new();
    for NextCommand { command, remark } in &choices {
        table.row([format!("  {command}"), remark.clone().unwrap_or_default()]);
    }
    out.table(&table);
    let view = AnswerView {
        plan: run.name().to_owned(),
        step: ask.step.clone(),
        answer: None,
        answers: choices.into_iter().map(|choice| choice.command).collect(),
        driven_by: None,
        complaints: Vec::new(),
    };
    let next = NextCommand::new(["planwright", "log", ask.subject.as_str()]);
    Response::new(Exit::Person, "answer", &view).next(next)
}

fn settle(run: &PlanRun, ask: &RunAsk, answer: AskAnswer, out: &mut Out<'_>) -> Result<Response, Failure> {
    let subject = ask.subject.as_str();
    if !ask.fits(&answer) {
        let fitting = ask.options();
        return Err(Failure::new(Exit::Usage, format!("{subject} doesn't accept this answer"))
            .hint(format!("{}; use {fitting}", ask.reason.words()))
            .next(NextCommand::new(["planwright", "answer", subject])));
    }
    let paused = paused(run);
    let (effect, next) = match &answer {
        AskAnswer::Retry { .. } => ("one more attempt", None),
        AskAnswer::RetryStep { .. } => ("that step is done again; then the contract decides", None),
        AskAnswer::TakeOver => ("taken over; the contract decides", None),
        AskAnswer::Confirm => ("confirmed", None),
        AskAnswer::Skip { .. } => ("skipped, recorded as your decision", None),
        AskAnswer::Budget { .. } => ("budget raised", None),
        AskAnswer::Stop => (paused.as_str(), Some(look(run))),
        AskAnswer::Revise { .. } => {
            let verify = NextCommand::new(["planwright", "verify", run.shown().as_str()]);
            ("revised: the run has ended, the plan is a draft again", Some(verify))
        }
    };
    let view = run.answer(ask, answer)?;
    out.warn_all(&view.complaints);
    said(subject, effect, out);
    let next = match (next, &view.driven_by) {
        (Some(next), _) => next,
        (None, None) => NextCommand::new(["planwright", "run", run.name()]),
        (None, Some(holder)) => {
            out.line(&format!("          the run continues ({})", clean_line(holder)));
            NextCommand::new(["planwright", "status", run.name()])
        }
    };
    Ok(Response::done("answer", &view).next(next))
}

fn said(subject: &str, effect: &str, out: &mut Out<'_>) {
    let word = out.palette().paint(Tone::Good, "answered");
    out.line(&format!("{word}  {}   {effect}", clean_line(subject)));
}

fn paused(run: &PlanRun) -> String {
    format!("paused: resume with planwright run {}", clean_line(run.name()))
}

fn look(run: &PlanRun) -> NextCommand {
    NextCommand::new(["planwright", "log", run.name()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u64, u64, u64)> {
        let granted = grant(text).ok()?;
        let AskAnswer::Budget { micro_dollars, tokens, seconds } = granted else {
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
