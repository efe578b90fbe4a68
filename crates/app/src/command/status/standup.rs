//! `status --since`: what happened to all plans in a period, short enough for a chat: finished steps, blockers, next
//! steps. Reads only the journal.

use planwright_engine::api::{StandupView, local_time, read_time};

use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::wording::number;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

/// How many names a line has.
const NAMES_MAX: usize = 12;

pub(crate) fn run(since_text: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = workspace()?.standup(since(since_text)?)?;
    out.warn_all(&view.faults);
    print(&view, out);
    Ok(Response::done("standup", &view).next(view.next.clone()))
}

/// Reads an age or a time.
fn since(text: &str) -> Result<u64, Failure> {
    let now = wording::now();
    let ago = wording::span("--since", text).ok().map(|span| now.saturating_sub(span));
    ago.or_else(|| read_time(text, now)).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("invalid time `{text}`"))
            .hint("--since 24h, 7d, 09:00 or 2026-05-27")
            .next(NextCommand::new(["planwright", "status", "--since", "24h"]))
    })
}

fn print(data: &StandupView, out: &mut Out<'_>) {
    out.line(&format!("Since {}", clean_line(&local_time(data.since_ms))));
    if data.plans.is_empty() {
        out.line("no events");
    }
    for plan in &data.plans {
        let name = out.palette().paint(Tone::Strong, &clean_line(&plan.name));
        let state = format!("{}, {} of {}", plan.state, plan.settled, number(plan.steps, "step"));
        out.line(&format!("{name}: {}", clean_line(&state)));
        let done: Vec<String> = plan.done.iter().map(|done| done.title.clone()).collect();
        item("done", &done, out);
        let failed = plan.failed.iter().map(|step| {
            let times = if step.times == 1 { "once".to_owned() } else { format!("{} times", step.times) };
            format!("{} {times}, {}", step.step, step.why)
        });
        item("failed", &failed.collect::<Vec<_>>(), out);
        item("said", &plan.said, out);
        item("waiting", &plan.waits, out);
        item("next", plan.next.as_slice(), out);
    }
    if !data.ready.is_empty() {
        out.line(&clean_line(&format!("Ready: {}", listed(&data.ready, ", "))));
    }
    for held in &data.held_back {
        let text = format!("{}: {} [{}]", held.name, listed(&held.reasons, "; "), held.recovery);
        out.line(&clean_line(&format!("Held back: {text}")));
    }
}

fn item(label: &str, texts: &[String], out: &mut Out<'_>) {
    if !texts.is_empty() {
        out.line(&clean_line(&format!("- {label}: {}", listed(texts, "; "))));
    }
}

/// The first of a list, and how many more there are.
fn listed(texts: &[String], between: &str) -> String {
    let shown = texts.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(between);
    match texts.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown}{between}and {more} more"),
    }
}
