//! End-of-run summary: what passed, failed and was not started, and the next command.

use planwright_engine::api::{NextCommand, PlanRun, ProvenRun, RunReport, Watching};

use super::watch::Watched;
use super::{Subject, difference, dollars, named};
use crate::output::wording;
use crate::output::wording::found;
use crate::output::wording::found::with_findings;
use crate::output::{Exit, Failure, Out, Response, Tone, clean_line};

/// Maximum number of steps in a list.
const NAMES_MAX: usize = 12;

/// Reports how the run ended.
pub(super) fn report(
    subject: &Subject<'_>,
    run: &PlanRun,
    watched: &Watched,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    out.warn_all(&watched.rest.complaints);
    let ended = if watched.left.is_some() { Watching::UntilLeft } else { Watching::ToTheEnd };
    let rest = run.report(&subject.runnable, &watched.rest, ended)?;
    let state = rest.view.state.as_str();
    let exit = match state {
        "done" | "reached" => Exit::Done,
        "failed" | "cancelled" => Exit::No,
        "waiting" | "stopped" => Exit::Person,
        "left" => watched.left.unwrap_or(Exit::Moved),
        _ => Exit::Moved,
    };
    print(&rest, exit, watched, out);
    if state == "edited" {
        print_difference(&rest, out);
    }
    if state == "left" && watched.left.is_none() {
        out.talk("the process that ran it is gone");
    }
    let next = next_command(subject, &rest);
    Ok(Response::new(exit, "run", &rest.view).next(next))
}

/// The next command, with the options that a resumed run needs again.
fn next_command(subject: &Subject<'_>, rest: &RunReport) -> NextCommand {
    let options: &[&str] = if subject.args.worktree { &["--worktree"] } else { &[] };
    rest.next(subject.runnable.file, &subject.args.plan, options)
}

/// Says of a run that was done whether the tree that is there is proven.
pub(super) fn report_proven(
    subject: &Subject<'_>,
    proven: &ProvenRun,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    out.warn_all(&proven.complaints);
    let rest = proven.run.after_its_end(&subject.runnable, proven.rechecked)?;
    let is_done = rest.view.state == "done";
    let (exit, tone, word) = match is_done {
        true => (Exit::Done, Tone::Good, with_findings("done", rest.view.findings.len())),
        false => (Exit::Person, Tone::Attention, "not done".to_owned()),
    };
    let again = match proven.rechecked {
        0 => String::new(),
        count => format!("{} run again, ", wording::number(count, "contract")),
    };
    let (count, steps) = (rest.passed.len(), wording::number(rest.run.plan.steps.len(), "step"));
    let holds = match (is_done, rest.skipped) {
        (true, 0) => format!("{count} of {steps} passed   {again}proven for this tree"),
        (true, skipped) => {
            format!("{count} of {steps} passed, {skipped} skipped   {again}proven for this tree")
        }
        (false, _) => format!("{count} of {steps} hold for this tree"),
    };
    let word = out.palette().paint(tone, &word);
    out.line(&format!("{word}  {}   {}", clean_line(&rest.run.row.name), clean_line(&holds)));
    for failed in rest.failed.iter().take(NAMES_MAX) {
        let said = failed.said.as_ref().map(|said| format!(": {}", said.trim())).unwrap_or_default();
        let line = format!("{}   {}{said}", named(&rest.run.plan.steps[failed.place]), failed.failure);
        out.line(&format!("  {:<13}{}", "fails now", clean_line(&line)));
    }
    if !is_done {
        out.talk("the work of its last run is not in this tree; a new approval starts a new run");
    }
    found::print(&rest.view.findings, out);
    let next = next_command(subject, &rest);
    Ok(Response::new(exit, "run", &rest.view).next(next))
}

fn print(rest: &RunReport, exit: Exit, watched: &Watched, out: &mut Out<'_>) {
    let run = &rest.run;
    let tone = if exit == Exit::Done { Tone::Good } else { Tone::Attention };
    let cost = run.state.spent.micro_dollars.map(|spent| format!("   {}", dollars(spent)));
    out.line(&format!(
        "{}  {}   {}   {}{}",
        out.palette().paint(tone, &with_findings(word(&rest.view.state), rest.view.findings.len())),
        clean_line(&run.row.name),
        clean_line(&counts(rest, watched)),
        wording::seconds(watched.milliseconds),
        cost.unwrap_or_default()
    ));
    if let Some(why) = &rest.why {
        out.line(&format!("  because      {}", clean_line(why)));
    }
    if rest.passed.len() + rest.skipped < run.plan.steps.len() {
        print_lists(rest, out);
    }
    found::print(&rest.view.findings, out);
}

/// The state of a run in a word for people.
fn word(state: &str) -> &str {
    match state {
        "waiting" => "needs you",
        "stopped" | "left" => "paused",
        "edited" => "changed",
        _ => state,
    }
}

/// How far the run came: `3 of 7 steps passed, 1 question, 3 blocked`.
fn counts(rest: &RunReport, watched: &Watched) -> String {
    let RunReport { run, passed, asked, skipped, pending, .. } = rest;
    let mut words =
        vec![format!("{} of {} passed", passed.len(), wording::number(run.plan.steps.len(), "step"))];
    let mut also = |count: usize, text: String| words.extend((count > 0).then_some(text));
    also(*skipped, format!("{skipped} skipped"));
    also(watched.retried, format!("{} after a retry", watched.retried));
    if rest.view.state == "waiting" {
        also(asked.len(), wording::number(asked.len(), "question"));
        also(*pending, format!("{pending} blocked"));
    }
    words.join(", ")
}

/// Lists passed and failed steps, questions, and steps not started.
fn print_lists(rest: &RunReport, out: &mut Out<'_>) {
    let name = |place: usize| named(&rest.run.plan.steps[place]);
    let names = |places: &[usize]| places.iter().map(|&place| name(place)).collect::<Vec<_>>();
    print_list("passed", &names(&rest.passed), out);
    for (index, failed) in rest.failed.iter().take(NAMES_MAX).enumerate() {
        let said = failed.said.as_ref().map(|said| format!(": {}", said.trim())).unwrap_or_default();
        let line = format!("{}   attempt {}, {}{said}", name(failed.place), failed.attempt, failed.failure);
        out.line(&format!("  {:<13}{}", if index == 0 { "failed" } else { "" }, clean_line(&line)));
    }
    let asked = rest.asked.iter().map(|step| step.map_or_else(|| "the run".to_owned(), name));
    print_list("needs you", &asked.collect::<Vec<_>>(), out);
    print_list("not started", &names(&rest.not_started), out);
}

fn print_list(word: &str, names: &[String], out: &mut Out<'_>) {
    let more = names.len().saturating_sub(NAMES_MAX);
    let list = names[..names.len() - more].join(", ");
    match (names.len(), more) {
        (0, _) => {}
        (_, 0) => out.line(&format!("  {word:<13}{}", clean_line(&list))),
        (_, more) => out.line(&format!("  {word:<13}{} and {more} more", clean_line(&list))),
    }
}

fn print_difference(rest: &RunReport, out: &mut Out<'_>) {
    out.line("  paused: the plan file changed after approval; no new steps start");
    if rest.now.is_none() {
        out.line("  the plan file is missing or unreadable");
        return;
    }
    let Some(texts) = rest.texts() else { return };
    for line in difference::lines(&texts, out.palette()) {
        out.line(&format!("    {line}"));
    }
    out.talk("restore the file to resume, or approve the new revision to start a new run");
}
