//! Asks a planner until its answer is valid; shared by `draft` and `revise --planner`. Shows progress and never
//! writes a plan.

use std::thread;
use std::time::{Duration, Instant};

use planwright_engine::api::{Conversation, Error, PlannerAnswer, PlannerReply, Stop};

use crate::interaction::signal::Signals;
use crate::output::wording;
use crate::output::{Exit, Failure, Out, Tone, clean_line, shell_word};

/// How often the clock is drawn, and how soon a signal is heard.
const TICK: Duration = Duration::from_millis(50);
/// How many lines of a reasoning are shown; `history` has all of it.
const REASONING_LINES_MAX: usize = 6;
/// How many files are named.
const FILES_NAMED_MAX: usize = 10;

/// What a conversation ends with.
pub(crate) enum Reached<T> {
    /// An answer that can be used, and after how many tries.
    Plan(Box<T>, u32),
    /// The planner wants a person to look at a step.
    Escalated { step: Option<String>, reason: String },
}

/// Asks until the answer can be used or no try is left. Reports what changed meanwhile, however it ends.
pub(crate) fn converse<T>(
    talk: &mut Conversation,
    read: impl Fn(&str) -> Result<PlannerAnswer<T>, Error>,
    out: &mut Out<'_>,
) -> Result<Reached<T>, Failure> {
    let reached = turns(talk, read, out);
    warn_of_changes(&clean_line(&talk.planner.name), &talk.changed, out);
    reached
}

fn turns<T>(
    talk: &mut Conversation,
    read: impl Fn(&str) -> Result<PlannerAnswer<T>, Error>,
    out: &mut Out<'_>,
) -> Result<Reached<T>, Failure> {
    let name = clean_line(&talk.planner.name).into_owned();
    let words: Vec<String> = talk.planner.command.iter().map(|word| shell_word(word)).collect();
    let because = clean_line(&talk.planner.because).into_owned();
    let word = out.talk_palette().paint(Tone::Strong, "planner");
    out.talk(&format!("{word}  {name} ({because}): {}", clean_line(&words.join(" "))));
    let signals = Signals::listen().ok();
    for number in 1..=talk.tries {
        let said = ask(talk, number, signals.as_ref(), out)?.text;
        let returned = match read(&said)? {
            PlannerAnswer::Plan(value) => {
                out.talk(&format!("verify   try {number}: no errors"));
                return Ok(Reached::Plan(value, number));
            }
            PlannerAnswer::Escalate { step, reason } => return Ok(Reached::Escalated { step, reason }),
            PlannerAnswer::Returned(returned) => returned,
            PlannerAnswer::Done(_) => talk.report_returned(),
        };
        let faults = wording::number(returned.complaints.len(), "problem");
        let goes = if number < talk.tries { ", sent back to the planner" } else { "" };
        out.talk(&format!("verify   try {number}: {faults}{goes}"));
        talk.send_back(said, returned);
    }
    Err(talk.spent().into())
}

fn ask(
    talk: &mut Conversation,
    number: u32,
    signals: Option<&Signals>,
    out: &mut Out<'_>,
) -> Result<PlannerReply, Failure> {
    let stop = Stop::new();
    let begun = Instant::now();
    let mut left = None;
    let line = format!("asking   try {number} of {}", talk.tries);
    let is_drawn = out.settings().stdout.is_terminal && !out.settings().is_json && !out.settings().is_quiet;
    if !is_drawn {
        out.talk(&line);
    }
    let answered = thread::scope(|scope| {
        let working = thread::Builder::new().spawn_scoped(scope, || talk.ask(&stop))?;
        while !working.is_finished() {
            thread::sleep(TICK);
            let told = signals.and_then(Signals::leave).filter(|_| left.is_none());
            if told.is_some() {
                left = told;
                stop.request();
            }
            if is_drawn {
                let seconds = begun.elapsed().as_secs();
                out.draw(&[format!("{line}   {}:{:02}", seconds / 60, seconds % 60)]);
            }
        }
        Ok(working.join())
    });
    out.erase();
    let answered = answered.map_err(|error: std::io::Error| {
        Failure::new(Exit::Machine, "cannot start a thread for the planner").because(&error)
    })?;
    let answered = answered.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if let Some(exit) = left {
        return Err(Failure::new(exit, "the planner was interrupted").hint("nothing was written"));
    }
    let said = answered?;
    let milliseconds = said.usage.milliseconds;
    let cost = said
        .usage
        .micro_dollars
        .map(|micro| format!("   ${}.{:02}", micro / 1_000_000, micro / 10_000 % 100));
    let (seconds, tenths) = (milliseconds / 1000, milliseconds % 1000 / 100);
    out.talk(&format!("answered after {seconds}.{tenths} s{}", cost.unwrap_or_default()));
    Ok(said)
}

/// A planner must only read. Changed files are reported, never reverted.
fn warn_of_changes(name: &str, changed: &[String], out: &mut Out<'_>) {
    if changed.is_empty() {
        return;
    }
    let named: Vec<&str> = changed.iter().take(FILES_NAMED_MAX).map(String::as_str).collect();
    let more = changed.len().saturating_sub(FILES_NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    out.warn(&format!(
        "files changed while planner {name} was running, although it must only read: {}{more}; check them before you approve",
        named.join(", ")
    ));
}

/// Says why a plan is as it is, in a few lines.
pub(crate) fn tell_reasoning(label: &str, reasoning: &str, out: &mut Out<'_>) {
    let lines: Vec<&str> = reasoning.lines().filter(|line| !line.trim().is_empty()).collect();
    for (place, line) in lines.iter().take(REASONING_LINES_MAX).enumerate() {
        let label = if place == 0 { label } else { "" };
        out.line(&format!("  {label:<9} {}", clean_line(line.trim_end())));
    }
    if lines.len() > REASONING_LINES_MAX {
        out.line(&format!("  {:<9} and {} more lines", "", lines.len() - REASONING_LINES_MAX));
    }
}

/// Says that the agent reports the work as done; only contracts decide.
pub(crate) fn tell_report(summary: &str, out: &mut Out<'_>) {
    out.line(&format!("the agent reports: {}", clean_line(summary)));
    out.talk("no plan was written: the agent reports the work as done, but only contracts decide");
}
