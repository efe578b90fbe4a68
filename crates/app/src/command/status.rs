//! `status`: the state of this project's runs, and what needs a person. Read-only.

pub(crate) mod inbox;
pub(crate) mod queue;
mod standing;
pub(crate) mod standup;

use std::time::Duration;

use planwright_engine::Project;
use planwright_engine::run::Runs;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::pending::{OutcastData, ReviewData, outcasts, reviews, waiting_reviews};
use crate::interaction::project::here;
use crate::interaction::target::NamedPlan;
use crate::output::wording;
use crate::output::wording::found::with_findings;
use crate::output::{Cell, Exit, Failure, Glyph, NextCommand, Out, Response, Tone, clean_line};
use standing::standing;

/// How often the state is looked at with `--watch`.
const LOOK: Duration = Duration::from_millis(250);
/// Clears the terminal and moves to the top.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan [default: the plan this worktree uses, otherwise all]
    pub(crate) plan: Option<String>,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Redraw on every change until Ctrl-C
    #[arg(long, conflicts_with = "next")]
    watch: bool,
    /// Print only the next command; exit 3 if something needs you
    #[arg(long)]
    next: bool,
    /// Show all finished runs
    #[arg(long)]
    all: bool,
}

/// The data of the envelope.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Standing {
    /// The newest run of every plan.
    pub(crate) runs: Vec<RunData>,
    /// Plans that wait for a yes or a no, the oldest first.
    pub(crate) reviews: Vec<ReviewData>,
    /// Plans that are done and did not land, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evicted: Vec<OutcastData>,
}

/// The state of a run.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RunData {
    /// The plan.
    pub(crate) plan: String,
    /// The number of the run.
    pub(crate) run: i64,
    /// The first digits of the digest that was approved.
    pub(crate) digest: String,
    /// `running`, `waiting`, `paused`, `stopped`, `done`, `failed` or `cancelled`.
    pub(crate) state: String,
    /// Number of finished steps.
    pub(crate) settled: usize,
    /// How many there are.
    pub(crate) steps: usize,
    /// The status of every step, in the order of the plan.
    pub(crate) statuses: Vec<String>,
    /// What is running.
    pub(crate) current: Vec<CurrentData>,
    /// What a person is asked.
    pub(crate) asks: Vec<AskData>,
    /// When it began, in milliseconds since 1970.
    pub(crate) started_at_ms: u64,
    /// When something was last recorded, in milliseconds since 1970.
    pub(crate) changed_at_ms: u64,
    /// What was spent, in millionths of a dollar, as far as agents say.
    pub(crate) micro_dollars: Option<u64>,
    /// Tokens that were used, as far as agents say.
    pub(crate) tokens: Option<u64>,
    /// The process that runs it.
    pub(crate) driver: Option<String>,
    /// What is to be known about it, in a sentence.
    pub(crate) remark: Option<String>,
    /// How much reviewers found in it: one that is done with findings is `done, 3 findings`.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) findings: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// A running attempt or contract.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CurrentData {
    /// The number of the step.
    pub(crate) number: u32,
    /// The step.
    pub(crate) step: String,
    /// The attempt.
    pub(crate) attempt: u32,
    /// `queued`, `running`, `judging`, `stalled` or `dead`.
    pub(crate) state: String,
    /// The agent.
    pub(crate) agent: String,
    /// Who makes the attempt, by name.
    pub(crate) worker: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
}

/// What a person is asked.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AskData {
    /// The step that waits for it; `None` where the whole run does.
    pub(crate) step: Option<String>,
    /// `attempts-spent`, `manual`, `budget`, `lost`, `parked`, `stalled`, `question` or `strayed`.
    pub(crate) reason: String,
    /// The same in words.
    pub(crate) words: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
    /// What the person should know.
    pub(crate) text: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let here = here()?;
    let reviews = reviews(&here, out)?;
    let runs = Runs::open(&here)?;
    if args.watch {
        return watch(args, (&here, &runs), out);
    }
    let evicted = outcasts(&here)?;
    let standing = whole(args, (reviews, evicted), &runs)?;
    if args.next {
        return Ok(only_next(&standing, out));
    }
    print(args, &standing, out);
    let next = next(&standing);
    Ok(Response::done("status", &standing).next(next))
}

/// Runs, reviews and evicted plans, as far as they are wanted.
fn whole(
    args: &Args,
    (reviews, evicted): (Vec<ReviewData>, Vec<OutcastData>),
    runs: &Runs,
) -> Result<Standing, Failure> {
    let is_wanted = |path: &str, name: &str| {
        args.plan.as_ref().is_none_or(|plan| path == *plan || name.starts_with(plan))
    };
    let reviews = reviews.into_iter().filter(|review| is_wanted(&review.path, &review.plan)).collect();
    let evicted = evicted.into_iter().filter(|outcast| is_wanted(&outcast.path, &outcast.plan)).collect();
    Ok(Standing { reviews, evicted, ..standing(args.plan.as_deref(), runs)? })
}

/// Shows it again whenever something changes, until the user or the reader goes away.
fn watch(args: &Args, (here, runs): (&Project, &Runs), out: &mut Out<'_>) -> Result<Response, Failure> {
    let mut shown: Option<Standing> = None;
    loop {
        let waiting = (waiting_reviews(here, out)?, outcasts(here)?);
        let now = whole(args, waiting, runs)?;
        if shown.as_ref() != Some(&now) {
            if out.settings().stdout.is_terminal {
                out.data(CLEAR);
            } else if shown.is_some() {
                out.line("");
            }
            print(args, &now, out);
            out.event(&Response::done("status", &now));
            out.flush();
            shown = Some(now);
        }
        if !out.is_open() {
            return Ok(Response::done("status", &Standing::default()));
        }
        std::thread::sleep(LOOK);
    }
}

/// The one command to type next.
fn next(standing: &Standing) -> NextCommand {
    let asked = standing.runs.iter().flat_map(|run| run.asks.iter().map(move |ask| (run, ask)));
    if let Some((run, ask)) = asked.min_by_key(|(_, ask)| ask.since_ms) {
        if ask.reason == "stalled" {
            return NextCommand::new(["planwright", "run", run.plan.as_str()]);
        }
        return NextCommand::new(["planwright", "answer", subject(run, ask).as_str()]);
    }
    if let Some(review) = standing.reviews.first() {
        return review.command();
    }
    if let Some(outcast) = standing.evicted.first() {
        return outcast.command();
    }
    let with = |states: &[&str]| standing.runs.iter().rfind(|run| states.contains(&run.state.as_str()));
    if let Some(run) = with(&["paused", "stopped"]) {
        return NextCommand::new(["planwright", "run", run.plan.as_str()]);
    }
    match (with(&["running"]), with(&["done", "failed", "cancelled"])) {
        (Some(run), _) | (None, Some(run)) => NextCommand::new(["planwright", "log", run.plan.as_str()]),
        (None, None) => NextCommand::new(["planwright", "list"]),
    }
}

/// Says the next command as data, and nothing else.
fn only_next(standing: &Standing, out: &mut Out<'_>) -> Response {
    let next = next(standing);
    out.line(&next.command);
    let is_asked = standing.runs.iter().any(|run| !run.asks.is_empty())
        || !(standing.reviews.is_empty() && standing.evicted.is_empty());
    let exit = if is_asked { Exit::Person } else { Exit::Done };
    let answer = Response::new(exit, "status", standing);
    if out.settings().is_json { answer.next(next) } else { answer }
}

fn subject(run: &RunData, ask: &AskData) -> String {
    ask.step.as_ref().map_or_else(|| run.plan.clone(), |step| format!("{}/{step}", run.plan))
}

fn print(args: &Args, standing: &Standing, out: &mut Out<'_>) {
    if standing.runs.is_empty() && standing.reviews.is_empty() {
        let what = match &args.plan {
            Some(plan) => format!("{plan} has not been run"),
            None => "nothing needs you; nothing is running".to_owned(),
        };
        out.talk(&clean_line(&what));
        return;
    }
    let now = wording::now();
    let state = |states: &'static [&str]| {
        standing.runs.iter().filter(move |run| states.contains(&run.state.as_str()))
    };
    let mut asks: Vec<(&RunData, &AskData)> =
        standing.runs.iter().flat_map(|run| run.asks.iter().map(move |ask| (run, ask))).collect();
    asks.sort_by_key(|(_, ask)| ask.since_ms);
    let reviews = standing.reviews.iter().map(|review| review_row(review, now, out));
    let rows = asks.iter().map(|(run, ask)| ask_row((run, ask), now, out)).chain(reviews);
    let rows = rows.chain(standing.evicted.iter().map(|outcast| evicted_row(outcast, now, out))).collect();
    out.section("Needs you", rows);
    let rows = state(&["running"]).map(|run| running_row(run, now, out)).collect();
    out.section("Running", rows);
    let rows = state(PAUSED).map(|run| resting_row(run, Glyph::Waiting, now, out)).collect();
    out.section("Paused", rows);
    let mut over: Vec<&RunData> = state(&["done", "failed", "cancelled"]).collect();
    // The newest are last.
    let hidden = if args.all { 0 } else { over.len().saturating_sub(OVER_SHOWN_MAX) };
    let over = over.split_off(hidden).into_iter().map(|run| {
        let glyph = match run.state.as_str() {
            "done" => Glyph::Done,
            "failed" => Glyph::Failed,
            _ => Glyph::Held,
        };
        resting_row(run, glyph, now, out)
    });
    let rows = over.collect();
    out.section("Done", rows);
    if hidden > 0 {
        out.line(&format!("  and {hidden} more: planwright status --all"));
    }
    for run in &standing.runs {
        if let Some(remark) = &run.remark {
            let age = wording::age(run.started_at_ms, now);
            out.line(&format!("{}: started {age} ago, {}", clean_line(&run.plan), clean_line(remark)));
        }
    }
}

/// Maximum number of finished runs shown.
const OVER_SHOWN_MAX: usize = 20;
const PAUSED: &[&str] = &["waiting", "paused", "stopped"];

fn ask_row((run, ask): (&RunData, &AskData), now: u64, out: &Out<'_>) -> Vec<Cell> {
    vec![
        mark(Glyph::NeedsYou, out),
        Cell::new(&run.plan).tone(Tone::Strong),
        Cell::new(format!("{} {}", ask.step.as_deref().unwrap_or("the run:"), ask.words)),
        Cell::new(wording::age(ask.since_ms, now)).right(),
        Cell::new(format!("planwright answer {}", subject(run, ask))),
    ]
}

fn review_row(review: &ReviewData, now: u64, out: &Out<'_>) -> Vec<Cell> {
    vec![
        mark(Glyph::NeedsYou, out),
        Cell::new(&review.plan).tone(Tone::Strong),
        Cell::new(review.words()),
        Cell::new(wording::age(review.since_ms, now)).right(),
        Cell::new(review.command().command),
    ]
}

fn evicted_row(outcast: &OutcastData, now: u64, out: &Out<'_>) -> Vec<Cell> {
    vec![
        mark(Glyph::NeedsYou, out),
        Cell::new(&outcast.plan).tone(Tone::Strong),
        Cell::new(&outcast.why),
        Cell::new(wording::age(outcast.since_ms, now)).right(),
        Cell::new(outcast.command().command),
    ]
}

fn running_row(run: &RunData, now: u64, out: &Out<'_>) -> Vec<Cell> {
    let step = |current: &CurrentData| format!("{} {}", current.number, current.step);
    let who = |current: &CurrentData| match current.state.as_str() {
        "queued" => format!("{} waiting for a worker", current.agent),
        "judging" => "contract".to_owned(),
        "stalled" => format!("{} is stalled: its worker is not responding", current.agent),
        "dead" => format!("{}'s worker is dead", current.agent),
        _ => current.agent.clone(),
    };
    let list = |words: Vec<String>| words.join(", ");
    vec![
        mark(Glyph::Running, out),
        Cell::new(&run.plan).tone(Tone::Strong),
        Cell::new(glyphs(run, out)),
        Cell::new(list(run.current.iter().map(step).collect())),
        Cell::new(list(run.current.iter().map(who).collect())),
        Cell::new(wording::age(run.started_at_ms, now)).right(),
        Cell::new(spent(run)),
    ]
}

fn resting_row(run: &RunData, glyph: Glyph, now: u64, out: &Out<'_>) -> Vec<Cell> {
    vec![
        mark(glyph, out),
        Cell::new(&run.plan).tone(Tone::Strong),
        Cell::new(glyphs(run, out)),
        Cell::new(format!(
            "{}, {} of {} steps done",
            with_findings(&run.state, run.findings),
            run.settled,
            run.steps
        )),
        Cell::new(format!("{} ago", wording::age(run.changed_at_ms, now))).right(),
        Cell::new(spent(run)),
    ]
}

fn spent(run: &RunData) -> String {
    let RunData { micro_dollars, tokens, .. } = *run;
    wording::spent(planwright_engine::core::agent::account::Usage { tokens, micro_dollars, milliseconds: 0 })
}

fn mark(glyph: Glyph, out: &Out<'_>) -> Cell {
    Cell::new(glyph.symbol(out.settings().glyphs)).tone(glyph.tone())
}

/// One glyph a step.
fn glyphs(run: &RunData, out: &Out<'_>) -> String {
    let symbols = run.statuses.iter().map(|status| {
        let glyph = match status.as_str() {
            "running" | "judging" => Glyph::Running,
            "passed" => Glyph::Done,
            "waiting" => Glyph::NeedsYou,
            "skipped" => Glyph::Held,
            _ => Glyph::Waiting,
        };
        glyph.symbol(out.settings().glyphs)
    });
    let gap = match out.settings().glyphs {
        crate::output::Glyphs::Unicode => "",
        crate::output::Glyphs::Ascii => " ",
    };
    symbols.collect::<Vec<_>>().join(gap)
}
