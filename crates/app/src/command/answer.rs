//! `answer`: a person settles what only a person can settle.

use planwright_engine::core::decide;
use planwright_engine::core::event::{self, StopWhen};
use planwright_engine::runs::Runs;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Opened, open, refuse_agents};
use crate::out::{Answer, Exit, Failure, Next, Out, Tone};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("choice").required(true).args(["retry", "take_over", "confirm", "skip", "stop", "budget"]))]
pub(crate) struct Args {
    /// The plan, or PLAN/STEP for a question about a step
    #[arg(value_name = "PLAN[/STEP]")]
    plan: String,
    /// One more attempt
    #[arg(long)]
    retry: bool,
    /// You have done it by hand; the contract judges
    #[arg(long)]
    take_over: bool,
    /// You confirm a step that has no contract
    #[arg(long)]
    confirm: bool,
    /// Leave the step out; needs a reason (-m)
    #[arg(long, requires = "message")]
    skip: bool,
    /// Stop the run
    #[arg(long)]
    stop: bool,
    /// Add money to the budget, in dollars
    #[arg(long, value_name = "DOLLARS")]
    budget: Option<f64>,
    /// What the agent shall know for the next attempt
    #[arg(long, requires = "retry")]
    hint: Option<String>,
    /// Why
    #[arg(short, long)]
    message: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered {
    /// The ask that was settled.
    pub(crate) ask: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    refuse_agents("answer")?;
    let Opened { path, project, step, .. } = open(&args.plan)?;
    let runs = Runs::open(&project)?;
    let nothing = || {
        Failure::new(Exit::No, format!("nothing is asked about {}", args.plan))
            .next(Next::new(["planwright", "status"]))
    };
    let run = runs.latest(&path)?.ok_or_else(nothing)?;
    let wanted = |ask: &planwright_engine::core::run::Ask| match (&step, ask.step) {
        (None, _) => true,
        (Some(step), Some(place)) => {
            run.plan.steps[place].id == *step || run.plan.steps[place].number.to_string() == *step
        }
        (Some(_), None) => false,
    };
    let found = run.state.asks.iter().find(|(_, ask)| wanted(ask));
    if found.is_none() && args.stop && run.state.outcome().is_none() {
        runs.stop(&run, StopWhen::AfterAttempts)?;
        out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "stopped"), run.row.name));
        let stopped = Answered { ask: format!("{}/stop", run.row.name) };
        return Ok(Answer::done("answer", &stopped).next(Next::new(["planwright", "status"])));
    }
    let (name, ask) = found.ok_or_else(nothing)?;
    let answer = answer(args);
    let contract = ask.step.map(|place| &run.plan.steps[place].contract);
    decide::fits(ask.reason, &answer, contract).map_err(|allowed| {
        Failure::new(Exit::Usage, "that is no answer to this question").hint(format!("say {allowed}"))
    })?;
    runs.answer(&run, name, answer)?;
    out.line(&format!("{}  {name}", out.palette().paint(Tone::Good, "answered")));
    let plan = run.row.name.as_str();
    Ok(Answer::done("answer", &Answered { ask: name.clone() }).next(Next::new(["planwright", "run", plan])))
}

fn answer(args: &Args) -> event::Answer {
    let reason = args.message.clone().unwrap_or_default();
    match args.budget {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "negative money is no grant, and too much saturates"
        )]
        Some(dollars) => {
            event::Answer::Budget { micro_dollars: (dollars * 1e6).max(0.0) as u64, tokens: 0, seconds: 0 }
        }
        None if args.take_over => event::Answer::TakeOver,
        None if args.confirm => event::Answer::Confirm,
        None if args.skip => event::Answer::Skip { reason },
        None if args.stop => event::Answer::Stop,
        None => event::Answer::Retry { hint: args.hint.clone().unwrap_or(reason) },
    }
}
