//! `status --inbox`: everything in this project that needs a person, with the answers to each. Answers nothing itself.

use std::collections::BTreeMap;

use planwright_engine::run as runs;
use planwright_engine::run::{RunSummaryRow, Runs};
use planwright_engine::store::journal::RunId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::pending::{OutcastData, ReviewData, outcasts, reviews};
use crate::interaction::project::here;
use crate::output::wording;
use crate::output::{Failure, Glyph, NextCommand, Out, Response, Table, Tone, clean_line};

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Inbox {
    /// What runs ask, the oldest first.
    pub(crate) asks: Vec<AskData>,
    /// Plans that wait for a yes or a no, the oldest first.
    pub(crate) reviews: Vec<ReviewData>,
    /// Plans that are done and did not land, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evicted: Vec<OutcastData>,
}

/// Something that only a person can settle.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AskData {
    /// The plan.
    pub(crate) plan: String,
    /// The number of the run.
    pub(crate) run: i64,
    /// The step that waits for it; `None` where the whole run does.
    pub(crate) step: Option<String>,
    /// `attempts-spent`, `manual`, `budget`, `lost`, `parked`, `stalled`, `question` or `strayed`.
    pub(crate) reason: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
    /// What the person should know.
    pub(crate) text: String,
    /// Commands that answer it.
    pub(crate) answers: Vec<String>,
}

/// An ask with what is shown of it.
struct Shown {
    data: AskData,
    subject: String,
    words: &'static str,
    choices: Vec<(String, &'static str)>,
}

pub(crate) fn run(out: &mut Out<'_>) -> Result<Response, Failure> {
    let here = here()?;
    let reviews = reviews(&here, out)?;
    let evicted = outcasts(&here)?;
    let runs = Runs::open(&here)?;
    let newest: BTreeMap<RunId, RunSummaryRow> =
        runs.everywhere()?.into_iter().map(|run| (run.run, run)).collect();
    let mut asks = Vec::new();
    for ask in runs.store().asks().map_err(runs::Error::from)? {
        // Older runs of a plan ask nothing any more.
        let Some(run) = newest.get(&ask.run) else { continue };
        let subject = match &ask.step {
            Some(step) => format!("{}/{step}", run.plan),
            None => run.plan.clone(),
        };
        let choices = wording::choices_of(&subject, ask.reason, run.tally.judged_by(&ask.ask));
        let data = AskData {
            plan: run.plan.clone(),
            run: ask.run.number(),
            step: ask.step,
            reason: wording::reason_word(ask.reason).to_owned(),
            since_ms: ask.opened_at_ms,
            text: ask.text,
            answers: choices.iter().map(|(command, _)| command.clone()).collect(),
        };
        asks.push(Shown { data, subject, words: wording::reason_words(ask.reason), choices });
    }
    asks.sort_by_key(|ask| ask.data.since_ms);
    let now = wording::now();
    for ask in &asks {
        print(ask, now, out);
    }
    for review in &reviews {
        print_review(review, now, out);
    }
    for outcast in &evicted {
        print_evicted(outcast, now, out);
    }
    if asks.is_empty() && reviews.is_empty() && evicted.is_empty() {
        out.line("nothing needs you");
    }
    let next = match (asks.first(), reviews.first(), evicted.first()) {
        (Some(ask), ..) if ask.data.reason == "stalled" => {
            NextCommand::new(["planwright", "run", ask.subject.as_str()])
        }
        (Some(ask), ..) => NextCommand::new(["planwright", "answer", ask.subject.as_str()]),
        (None, Some(review), _) => review.command(),
        (None, None, Some(outcast)) => outcast.command(),
        (None, None, None) => NextCommand::new(["planwright", "status"]),
    };
    let asks = asks.into_iter().map(|ask| ask.data).collect();
    Ok(Response::done("inbox", &Inbox { asks, reviews, evicted }).next(next))
}

fn print_review(review: &ReviewData, now: u64, out: &mut Out<'_>) {
    let palette = out.palette();
    let (glyph, name) = (palette.glyph(Glyph::NeedsYou), clean_line(&review.plan));
    let age = wording::age(review.since_ms, now);
    let (words, by) = (review.words(), clean_line(&review.by).into_owned());
    out.line(&format!("{glyph} {}   {words}, {age} ago, by {by}", palette.paint(Tone::Strong, &name)));
    out.line(&format!("  {}", clean_line(&review.command().command)));
    out.line("");
}

fn print_evicted(outcast: &OutcastData, now: u64, out: &mut Out<'_>) {
    let palette = out.palette();
    let (glyph, name) = (palette.glyph(Glyph::NeedsYou), clean_line(&outcast.plan));
    let age = wording::age(outcast.since_ms, now);
    out.line(&format!(
        "{glyph} {}   {}, {age} ago",
        palette.paint(Tone::Strong, &name),
        clean_line(&outcast.why)
    ));
    let mut table = Table::new();
    let into = clean_line(&outcast.into).into_owned();
    table.row([format!("  {}", outcast.command().command), format!("merge it by hand on {into}")]);
    let again = NextCommand::new(["planwright", "merge", outcast.plan.as_str()]).command;
    table.row([format!("  {again}"), "try again after the conflict is resolved".to_owned()]);
    out.table(&table);
    out.line("");
}

fn print(ask: &Shown, now: u64, out: &mut Out<'_>) {
    let palette = out.palette();
    let (glyph, name) = (palette.glyph(Glyph::NeedsYou), clean_line(&ask.subject));
    let age = wording::age(ask.data.since_ms, now);
    out.line(&format!("{glyph} {}   {}, {age} ago", palette.paint(Tone::Strong, &name), ask.words));
    out.data(&wording::indented(&ask.data.text));
    let mut table = Table::new();
    for (command, what) in &ask.choices {
        table.row([format!("  {command}"), (*what).to_owned()]);
    }
    out.table(&table);
    out.line("");
}
