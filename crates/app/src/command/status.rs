//! `status`: the state of this project's runs, and what needs a person. Read-only.

pub(crate) mod inbox;
pub(crate) mod queue;
pub(crate) mod standup;

use std::time::Duration;

use planwright_engine::api::{
    AskView, CurrentView, EvictedView, ReviewView, RunStatusView, StatusView, Usage, Workspace,
};

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::wording;
use crate::output::wording::found::with_findings;
use crate::output::{Cell, Exit, Failure, Glyph, Out, Response, Tone, clean_line};

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

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let workspace = workspace()?;
    let status = workspace.status(args.plan.as_deref())?;
    out.warn_all(&status.warnings);
    if args.watch {
        return watch(args, &workspace, out);
    }
    if args.next {
        return Ok(only_next(&status, out));
    }
    print(args, &status, out);
    Ok(Response::done("status", &status).next(status.next()))
}

/// Shows it again whenever something changes, until the user or the reader goes away.
fn watch(args: &Args, workspace: &Workspace, out: &mut Out<'_>) -> Result<Response, Failure> {
    let mut shown: Option<StatusView> = None;
    loop {
        let mut now = workspace.status_again(args.plan.as_deref())?;
        out.warn_all(&std::mem::take(&mut now.warnings));
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
            return Ok(Response::done("status", &StatusView::default()));
        }
        std::thread::sleep(LOOK);
    }
}

/// Says the next command as data, and nothing else.
fn only_next(status: &StatusView, out: &mut Out<'_>) -> Response {
    let next = status.next();
    out.line(&next.command);
    let exit = if status.needs_person() { Exit::Person } else { Exit::Done };
    let answer = Response::new(exit, "status", status);
    if out.settings().is_json { answer.next(next) } else { answer }
}

fn print(args: &Args, status: &StatusView, out: &mut Out<'_>) {
    if status.runs.is_empty() && status.reviews.is_empty() {
        let what = match &args.plan {
            Some(plan) => format!("{plan} has not been run"),
            None => "nothing needs you; nothing is running".to_owned(),
        };
        out.talk(&clean_line(&what));
        return;
    }
    let now = wording::now();
    let state =
        |states: &'static [&str]| status.runs.iter().filter(move |run| states.contains(&run.state.as_str()));
    let mut asks: Vec<(&RunStatusView, &AskView)> =
        status.runs.iter().flat_map(|run| run.asks.iter().map(move |ask| (run, ask))).collect();
    asks.sort_by_key(|(_, ask)| ask.since_ms);
    let reviews = status.reviews.iter().map(|review| review_row(review, now, out));
    let rows = asks.iter().map(|(run, ask)| ask_row((run, ask), now, out)).chain(reviews);
    let rows = rows.chain(status.evicted.iter().map(|outcast| evicted_row(outcast, now, out))).collect();
    out.section("Needs you", rows);
    let rows = state(&["running"]).map(|run| running_row(run, now, out)).collect();
    out.section("Running", rows);
    let rows = state(PAUSED).map(|run| resting_row(run, Glyph::Waiting, now, out)).collect();
    out.section("Paused", rows);
    let mut over: Vec<&RunStatusView> = state(&["done", "failed", "cancelled"]).collect();
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
    out.section("Finished", rows);
    if hidden > 0 {
        out.line(&format!("  and {hidden} more: planwright status --all"));
    }
    for run in &status.runs {
        if let Some(remark) = &run.remark {
            let age = wording::age(run.started_at_ms, now);
            out.line(&format!("{}: started {age} ago, {}", clean_line(&run.plan), clean_line(remark)));
        }
    }
}

/// Maximum number of finished runs shown.
const OVER_SHOWN_MAX: usize = 20;
const PAUSED: &[&str] = &["waiting", "paused", "stopped"];

fn ask_row((run, ask): (&RunStatusView, &AskView), now: u64, out: &Out<'_>) -> Vec<Cell> {
    vec![
        mark(Glyph::NeedsYou, out),
        Cell::new(&run.plan).tone(Tone::Strong),
        Cell::new(format!("{} {}", ask.step.as_deref().unwrap_or("the run:"), ask.words)),
        Cell::new(wording::age(ask.since_ms, now)).right(),
        Cell::new(format!("planwright answer {}", ask.subject(run))),
    ]
}

fn review_row(review: &ReviewView, now: u64, out: &Out<'_>) -> Vec<Cell> {
    vec![
        mark(Glyph::NeedsYou, out),
        Cell::new(&review.plan).tone(Tone::Strong),
        Cell::new(review.words()),
        Cell::new(wording::age(review.since_ms, now)).right(),
        Cell::new(review.command().command),
    ]
}

fn evicted_row(outcast: &EvictedView, now: u64, out: &Out<'_>) -> Vec<Cell> {
    vec![
        mark(Glyph::NeedsYou, out),
        Cell::new(&outcast.plan).tone(Tone::Strong),
        Cell::new(&outcast.why),
        Cell::new(wording::age(outcast.since_ms, now)).right(),
        Cell::new(outcast.command().command),
    ]
}

fn running_row(run: &RunStatusView, now: u64, out: &Out<'_>) -> Vec<Cell> {
    let step = |current: &CurrentView| format!("{} {}", current.number, current.step);
    let who = |current: &CurrentView| match current.state.as_str() {
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

fn resting_row(run: &RunStatusView, glyph: Glyph, now: u64, out: &Out<'_>) -> Vec<Cell> {
    vec![
        mark(glyph, out),
        Cell::new(&run.plan).tone(Tone::Strong),
        Cell::new(glyphs(run, out)),
        Cell::new(format!(
            "{}, {} of {} done",
            with_findings(&run.state, run.findings),
            run.settled,
            wording::number(run.steps, "step")
        )),
        Cell::new(format!("{} ago", wording::age(run.changed_at_ms, now))).right(),
        Cell::new(spent(run)),
    ]
}

fn spent(run: &RunStatusView) -> String {
    let RunStatusView { micro_dollars, tokens, .. } = *run;
    wording::spent(Usage { tokens, micro_dollars, milliseconds: 0 })
}

fn mark(glyph: Glyph, out: &Out<'_>) -> Cell {
    Cell::new(glyph.symbol(out.settings().glyphs)).tone(glyph.tone())
}

/// One glyph a step.
fn glyphs(run: &RunStatusView, out: &Out<'_>) -> String {
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
