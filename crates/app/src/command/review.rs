//! `review`: the contracts of a plan, what changed since the reader last looked, and the decision. Judges nothing:
//! core builds the review, and the engine records the decision.

mod markdown;
mod text;

use clap::ValueEnum;
use planwright_engine::api::{PlanReview, ResolvedBy, ReviewsView};

use crate::interaction::choice::{Choice, Pressed, can_ask, choose, line};
use crate::interaction::confirm::{AT_TERMINAL, say_approved};
use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::wording;
use crate::output::{Cell, Failure, Glyph, NextCommand, Out, Response, Table, Tone, clean, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to review [default: the plan this worktree uses; otherwise list all plans pending review]
    pub(crate) plan: Option<String>,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// By what the plan was chosen: a person is asked only about one that was named
    #[arg(skip = ResolvedBy::Argument)]
    pub(crate) by: ResolvedBy,
    /// Compare with this revision [default: the last you read]
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    since: Option<u32>,
    /// text, markdown or json
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Show every change in full
    #[arg(long)]
    diff: bool,
    /// Show the whole plan text as well
    #[arg(long)]
    full: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    #[value(help = "For people at a terminal")]
    Text,
    #[value(help = "A comment for a pull request")]
    Markdown,
    #[value(help = "The same as --json")]
    Json,
}

impl Args {
    /// Whether the format is the envelope.
    pub(crate) fn wants_json(&self) -> bool {
        self.format == Format::Json
    }
}

/// How a review ended.
pub(crate) enum Ended {
    /// With this.
    Said(Box<Response>),
    /// Approved; run the plan with this path now.
    Start(String),
}

impl From<Response> for Ended {
    fn from(answer: Response) -> Self {
        Self::Said(Box::new(answer))
    }
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Ended, Failure> {
    let Some(name) = &args.plan else { return Ok(list(out)?.into()) };
    let plan = workspace()?.review(name, args.since)?;
    match args.format {
        Format::Text => print(args, &plan, out),
        Format::Markdown => out.data(&markdown::page(plan.review(), plan.text())),
        Format::Json => {}
    }
    if args.format == Format::Text && args.by == ResolvedBy::Argument && may_ask(&plan, out) {
        return ask(args, name, plan, out);
    }
    Ok(Response::done("review", plan.review()).next(plan.next()).into())
}

fn print(args: &Args, plan: &PlanReview, out: &mut Out<'_>) {
    text::print(plan.review(), wording::now(), out);
    if args.diff {
        text::print_differences(plan.review(), out);
    }
    if args.full {
        print_full(plan, out);
    }
}

fn print_full(plan: &PlanReview, out: &mut Out<'_>) {
    out.line("");
    out.data(&wording::indented(plan.text()));
}

/// Plans pending review.
fn list(out: &mut Out<'_>) -> Result<Response, Failure> {
    let (waiting, warnings) = workspace()?.reviews()?;
    out.warn_all(&warnings);
    let (now, palette) = (wording::now(), out.palette());
    let mut table = Table::new();
    for plan in &waiting {
        table.row([
            Cell::new(Glyph::NeedsYou.symbol(palette.glyphs)).tone(Tone::Attention),
            Cell::new(&plan.plan).tone(Tone::Strong),
            Cell::new(&plan.digest),
            Cell::new(plan.words()),
            Cell::new(wording::age(plan.since_ms, now)).right(),
            Cell::new(plan.command().command).tone(Tone::Muted),
        ]);
    }
    out.table(&table);
    if waiting.is_empty() {
        out.line("no plans pending review");
    }
    let next = match waiting.first() {
        Some(first) => first.command(),
        None => NextCommand::new(["planwright", "status"]),
    };
    Ok(Response::done("reviews", &ReviewsView { waiting }).next(next))
}

/// Whether a person can decide now.
fn may_ask(plan: &PlanReview, out: &Out<'_>) -> bool {
    can_ask(out) && out.settings().stdout.is_terminal && plan.is_pending()
}

/// What a person can do with a proposal.
const KEYS: &[Choice] = &[
    Choice::new("[a]pprove", "approves this digest, after one more question"),
    Choice::new("[s]tart", "approves it and runs the plan"),
    Choice::new("[c]hanges", "rejects it and asks what should change"),
    Choice::new("[d]iff", "shows every change in full"),
    Choice::new("[f]ull text", "shows the whole plan text"),
    Choice::new("[e]dit", "opens the plan in $EDITOR, then shows the review again"),
    Choice::new("[Q]uit", "decides nothing; so do Esc and Ctrl-D"),
];

fn ask(args: &Args, name: &str, mut plan: PlanReview, out: &mut Out<'_>) -> Result<Ended, Failure> {
    out.complain("\n");
    while plan.is_pending() {
        match choose("", KEYS, out)? {
            Pressed::Key(key @ ('a' | 's')) => {
                if let Some((answer, missing)) = approve(&plan, out)? {
                    let starts = key == 's' && missing == 0;
                    return Ok(if starts { Ended::Start(plan.shown()) } else { answer.into() });
                }
            }
            Pressed::Key('c') => {
                if let Some(answer) = reject(&plan, out)? {
                    return Ok(answer.into());
                }
            }
            Pressed::Key('d') => text::print_differences(plan.review(), out),
            Pressed::Key('f') => print_full(&plan, out),
            Pressed::Key('e') => {
                plan.edit()?;
                plan = workspace()?.review(name, args.since)?;
                print(args, &plan, out);
            }
            Pressed::Key(_) | Pressed::Nothing => break,
        }
        out.flush();
    }
    out.talk("nothing was decided");
    Ok(Response::done("review", plan.review()).next(plan.next()).into())
}

/// Approves exactly what was shown; returns how many more must approve.
fn approve(plan: &PlanReview, out: &mut Out<'_>) -> Result<Option<(Response, u32)>, Failure> {
    let review = plan.review();
    let revision = review.revision.unwrap_or_default();
    let question = format!("Approve r{revision} {}?", review.short());
    let choices =
        [Choice::new("[y]es", "approves exactly this digest"), Choice::new("[N]o", "approves nothing")];
    if choose(&question, &choices, out)? != Pressed::Key('y') {
        out.talk("nothing was approved");
        return Ok(None);
    }
    let approved = plan.approve(AT_TERMINAL)?;
    out.warn_all(&approved.complaints);
    say_approved(review.short(), (&approved.by, AT_TERMINAL), out);
    let path = plan.shown();
    let next = match approved.missing {
        0 => NextCommand::new(["planwright", "run", path.as_str()]),
        missing => {
            out.talk(&format!("{missing} more must approve; rule: {}", clean_line(&approved.rule)));
            NextCommand::new(["planwright", "review", path.as_str()])
        }
    };
    Ok(Some((Response::done("review", review).next(next), approved.missing)))
}

/// Rejects it, with what should change.
fn reject(plan: &PlanReview, out: &mut Out<'_>) -> Result<Option<Response>, Failure> {
    let feedback = line("What should change? (sent to the planner; empty line cancels) ", out)?;
    if feedback.is_empty() {
        out.talk("nothing was rejected");
        return Ok(None);
    }
    let rejected = plan.reject(&feedback)?;
    out.warn_all(&rejected.complaints);
    let review = plan.review();
    let word = out.talk_palette().paint(Tone::Attention, "rejected");
    let revision = review.revision.unwrap_or_default();
    out.talk(&format!("{word}  r{revision} {}   {}", review.short(), clean(&feedback)));
    out.talk(&format!("{} is now {}", clean_line(&review.plan), rejected.state));
    let next = NextCommand::new(["planwright", "verify", plan.shown().as_str()]);
    Ok(Some(Response::done("review", review).next(next)))
}

/// Reads `r2`, `R2` or `2`.
fn revision(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix(['r', 'R']).unwrap_or(text);
    let number = digits.parse().ok().filter(|&number: &u32| number > 0);
    number.ok_or_else(|| "a revision is written as r1, r2, …".to_owned())
}
