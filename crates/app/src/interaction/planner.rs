//! Asks a planner until its answer is valid; shared by `draft` and `revise --planner`. Shows progress and never
//! writes a plan.

use std::io::{self, Read as _};
use std::thread;
use std::time::{Duration, Instant};

use planwright_engine::Project;
use planwright_engine::agent::planner;
use planwright_engine::agent::planner::{Planner, PlannerReply};
use planwright_engine::core::agent::planner as planning;
use planwright_engine::core::agent::planner::PlannerFeedback;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::store::plan_file;
use planwright_engine::system::process;
use planwright_engine::system::process::Stop;

use crate::interaction::signal::Signals;
use crate::output::{Exit, Failure, NextCommand, Out, Tone, clean_line, shell_word};

/// How often the clock is drawn, and how soon a signal is heard.
const TICK: Duration = Duration::from_millis(50);
/// How many diagnostics about the last answer are shown.
const COMPLAINTS_SHOWN_MAX: usize = 5;
/// How many lines of a reasoning are shown; `history` has all of it.
const REASONING_LINES_MAX: usize = 6;
/// How many files are named.
const FILES_NAMED_MAX: usize = 10;
/// The most that is read as an answer or an issue.
const INPUT_BYTES_MAX: u64 = 4 << 20;
/// Argument for standard input.
const STDIN: &str = "-";

/// What an answer is worth.
pub(crate) enum Judged<T> {
    /// It can be used.
    Fit(T),
    /// It goes back to the planner.
    Returned {
        /// The plan in it, if there is one.
        plan: Option<Source>,
        /// Everything that is wrong, a paragraph each.
        complaints: Vec<String>,
    },
}

/// A planner and what to ask it.
pub(crate) struct Talk<'a> {
    pub(crate) project: &'a Project,
    pub(crate) planner: &'a Planner,
    pub(crate) first: String,
    /// How often they are asked at most.
    pub(crate) tries: u32,
    /// The command that accepts a fixed answer, without the file.
    pub(crate) hand_in: Vec<String>,
}

/// An answer that can be used.
pub(crate) struct Reached<T> {
    pub(crate) value: T,
    /// How often it took.
    pub(crate) tries: u32,
    /// Files of the workspace that changed meanwhile.
    pub(crate) changed: Vec<String>,
}

/// The agent that plans. One that is itself a part of a run or of a planner may not start another.
pub(crate) fn find(project: &Project, asked: Option<&str>) -> Result<Planner, Failure> {
    if process::job_above().is_some() {
        let message = "an agent started by planwright cannot start a planner";
        return Err(Failure::new(Exit::Person, message).hint("pass the plan yourself: --from FILE"));
    }
    Ok(Planner::find(&project.config, asked)?)
}

/// Asks until the answer can be used or the tries are spent. What changed meanwhile is said however it ends.
pub(crate) fn converse<T>(
    talk: &Talk<'_>,
    judge: impl FnMut(&str) -> Result<Judged<T>, Failure>,
    out: &mut Out<'_>,
) -> Result<Reached<T>, Failure> {
    let mut changed = Vec::new();
    let reached = turns(talk, judge, &mut changed, out);
    warn_of_changes(&clean_line(&talk.planner.name), &changed, out);
    let (value, tries) = reached?;
    Ok(Reached { value, tries, changed })
}

/// The value that was reached, and by how many tries.
fn turns<T>(
    talk: &Talk<'_>,
    mut judge: impl FnMut(&str) -> Result<Judged<T>, Failure>,
    changed: &mut Vec<String>,
    out: &mut Out<'_>,
) -> Result<(T, u32), Failure> {
    let name = clean_line(&talk.planner.name).into_owned();
    let words: Vec<String> = talk.planner.command.iter().map(|word| shell_word(word)).collect();
    let because = clean_line(&talk.planner.because).into_owned();
    let word = out.talk_palette().paint(Tone::Strong, "planner");
    out.talk(&format!("{word}  {name} ({because}): {}", clean_line(&words.join(" "))));
    let signals = Signals::listen().ok();
    let mut prompt = talk.first.clone();
    let mut last = (String::new(), Vec::new());
    for number in 1..=talk.tries {
        let said = ask(talk, (&prompt, number, changed), signals.as_ref(), out)?;
        match judge(&said.text)? {
            Judged::Fit(value) => {
                out.talk(&format!("verify   try {number}: no errors"));
                return Ok((value, number));
            }
            Judged::Returned { plan, complaints } => {
                let count = complaints.len();
                let faults = if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") };
                let goes = if number < talk.tries { ", sent back to the planner" } else { "" };
                out.talk(&format!("verify   try {number}: {faults}{goes}"));
                let returned = PlannerFeedback { plan: plan.as_ref(), complaints: &complaints };
                prompt = planning::again(&talk.first, &returned);
                last = (said.text, complaints);
            }
        }
    }
    Err(spent(talk, &last))
}

fn ask(
    talk: &Talk<'_>,
    (prompt, number, changed): (&str, u32, &mut Vec<String>),
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
        let working = scope.spawn(|| talk.planner.ask(talk.project, prompt, &stop, changed));
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
        working.join()
    });
    out.erase();
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

fn spent(talk: &Talk<'_>, (said, complaints): &(String, Vec<String>)) -> Failure {
    let tries = if talk.tries == 1 { "1 try".to_owned() } else { format!("{} tries", talk.tries) };
    let message = format!("planner {} returned no valid plan in {tries}", talk.planner.name);
    let mut failure = Failure::new(Exit::No, message);
    failure.causes = complaints.iter().take(COMPLAINTS_SHOWN_MAX).cloned().collect();
    // The paid answer is saved.
    match planner::keep_answer(talk.project, said) {
        Ok(path) => {
            let path = path.to_string_lossy().into_owned();
            let hint =
                format!("nothing was written; fix its last answer, saved as {path}, and pass it with --from");
            let words = talk.hand_in.iter().map(String::as_str).chain([path.as_str()]);
            failure.hint(hint).next(NextCommand::new(words))
        }
        Err(error) => failure.hint(format!("nothing was written; cannot save its last answer: {error}")),
    }
}

/// Reads an answer or an issue from standard input or a file.
pub(crate) fn input(file: &str) -> Result<String, Failure> {
    let text = match file {
        STDIN => {
            let mut text = String::new();
            io::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut text).map(|_| text)
        }
        file => plan_file::read_stream_at(file.as_ref(), INPUT_BYTES_MAX),
    };
    text.map_err(|error| match error.kind() == io::ErrorKind::NotFound {
        true => Failure::new(Exit::Usage, format!("file {file} not found")),
        false => Failure::new(Exit::Machine, format!("cannot read {file}")).because(&error),
    })
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
