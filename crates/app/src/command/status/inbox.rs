//! `status --inbox`: everything in this project that needs a person, with the answers to each. Answers nothing itself.

use planwright_engine::api::{EvictedView, InboxAskView, ReviewView};

use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::{Failure, Glyph, NextCommand, Out, Response, Table, Tone, clean_line};

pub(crate) fn run(out: &mut Out<'_>) -> Result<Response, Failure> {
    let inbox = workspace()?.inbox()?;
    out.warn_all(&inbox.warnings);
    let now = wording::now();
    for ask in &inbox.asks {
        print(ask, now, out);
    }
    for review in &inbox.reviews {
        print_review(review, now, out);
    }
    for evicted in &inbox.evicted {
        print_evicted(evicted, now, out);
    }
    if inbox.asks.is_empty() && inbox.reviews.is_empty() && inbox.evicted.is_empty() {
        out.line("nothing needs you");
    }
    Ok(Response::done("inbox", &inbox).next(inbox.next()))
}

fn print_review(review: &ReviewView, now: u64, out: &mut Out<'_>) {
    let palette = out.palette();
    let (glyph, name) = (palette.glyph(Glyph::NeedsYou), clean_line(&review.plan));
    let age = wording::age(review.since_ms, now);
    let (words, by) = (review.words(), clean_line(&review.by).into_owned());
    out.line(&format!("{glyph} {}   {words}, {age} ago, by {by}", palette.paint(Tone::Strong, &name)));
    out.line(&format!("  {}", clean_line(&review.command().command)));
    out.line("");
}

fn print_evicted(outcast: &EvictedView, now: u64, out: &mut Out<'_>) {
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

fn print(ask: &InboxAskView, now: u64, out: &mut Out<'_>) {
    let palette = out.palette();
    let (glyph, name) = (palette.glyph(Glyph::NeedsYou), clean_line(&ask.subject));
    let age = wording::age(ask.since_ms, now);
    out.line(&format!("{glyph} {}   {}, {age} ago", palette.paint(Tone::Strong, &name), ask.words));
    out.data(&wording::indented(&ask.text));
    let mut table = Table::new();
    for NextCommand { command, remark } in &ask.choices {
        table.row([format!("  {command}"), remark.clone().unwrap_or_default()]);
    }
    out.table(&table);
    out.line("");
}
