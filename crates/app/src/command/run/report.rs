//! End-of-run summary: what passed, failed and was not started, and the next command.

use planwright_engine::core::run::event::{AskReason, Event, RunEvent, RunOutcome};
use planwright_engine::core::run::state::{StepState, StepStatus};
use planwright_engine::core::syntax::source::Source;
use planwright_engine::git::worktree;
use planwright_engine::run::baseline;
use planwright_engine::run::driver::Progress;
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;

use super::watch::Watched;
use super::{Ran, StepData, Subject, approve, difference, dollars, named, plain, seconds};
use crate::output::wording;
use crate::output::wording::found;
use crate::output::wording::found::with_findings;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;

/// Maximum number of steps in a list.
const NAMES_MAX: usize = 12;

/// Says how the run came to rest.
pub(super) fn report(
    subject: &Subject<'_>,
    runs: &Runs,
    watched: &Watched,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    for complaint in &watched.complaints {
        out.warn(complaint);
    }
    let run = runs.run(watched.run)?;
    let now = text_now(subject);
    let is_edited = || now.as_ref().is_none_or(|now| !means_the_same(subject, now));
    let (exit, state) = match (&watched.progress, watched.left) {
        (Progress::Finished(RunOutcome::Done), _) => (Exit::Done, "done"),
        (Progress::Finished(RunOutcome::Failed), _) => (Exit::No, "failed"),
        (Progress::Finished(RunOutcome::Cancelled), _) => (Exit::No, "cancelled"),
        (Progress::NeedsPerson, _) => (Exit::Person, "waiting"),
        (Progress::Reached, _) => (Exit::Done, "reached"),
        (Progress::Stopped, _) => (Exit::Person, "stopped"),
        (Progress::Edited, _) => (Exit::Moved, "edited"),
        (Progress::Left, Some(exit)) => (exit, "left"),
        // Its process is gone: because of the plan, or for an unknown reason.
        (Progress::Left, None) if is_edited() => (Exit::Moved, "edited"),
        (Progress::Left, None) => (Exit::Moved, "left"),
    };
    print(&run, (exit, state), watched, runs, out);
    if state == "edited" {
        print_difference(&run, now.as_ref(), out);
    }
    if state == "left" && watched.left.is_none() {
        out.talk("the process that ran it is gone");
    }
    let answer = Response::new(exit, "run", &data(subject, &run, state));
    Ok(next(subject, &run, state, answer))
}

fn print(run: &Run, (exit, state): (Exit, &str), watched: &Watched, runs: &Runs, out: &mut Out<'_>) {
    let settled = run.state.steps.iter().filter(|step| step.status.is_settled()).count();
    let tone = if exit == Exit::Done { Tone::Good } else { Tone::Attention };
    let cost = run.state.spent.micro_dollars.map(|spent| format!("   {}", dollars(spent)));
    out.line(&format!(
        "{}  {}   {}   {}{}",
        out.palette().paint(tone, &with_findings(word(state), run.state.findings().count())),
        clean_line(&run.row.name),
        clean_line(&counts(run, state, watched)),
        seconds(watched.milliseconds),
        cost.unwrap_or_default()
    ));
    let why = run.events.iter().rev().find_map(|recorded| match &recorded.event {
        Event::Run(RunEvent::Finished { why, .. }) if !why.is_empty() => Some(why),
        Event::Run(_) | Event::Step { .. } | Event::Ask { .. } => None,
    });
    if let Some(why) = why {
        out.line(&format!("  because      {}", clean_line(why)));
    }
    if settled < run.plan.steps.len() {
        print_lists(run, runs, out);
    }
    found::print(&run.findings(), out);
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
fn counts(run: &Run, state: &str, watched: &Watched) -> String {
    let of = |is_in: fn(&StepState) -> bool| run.state.steps.iter().filter(|step| is_in(step)).count();
    let mut words =
        vec![format!("{} of {} passed", of(is_done), wording::number(run.plan.steps.len(), "step"))];
    let skipped = of(|step| matches!(step.status, StepStatus::Skipped { .. }));
    let mut also = |count: usize, text: String| words.extend((count > 0).then_some(text));
    also(skipped, format!("{skipped} skipped"));
    also(watched.retried, format!("{} after a retry", watched.retried));
    if state == "waiting" {
        let asked = run.state.asks.len();
        also(asked, wording::number(asked, "question"));
        let blocked = of(|step| matches!(step.status, StepStatus::Pending(_)));
        also(blocked, format!("{blocked} blocked"));
    }
    words.join(", ")
}

/// Lists passed and failed steps, questions, and steps not started.
fn print_lists(run: &Run, runs: &Runs, out: &mut Out<'_>) {
    let name = |place: usize| named(&run.plan.steps[place]);
    let places = |is_in: fn(&StepState) -> bool| {
        (0..run.plan.steps.len()).filter(move |&place| is_in(&run.state.steps[place]))
    };
    print_list("passed", &places(is_done).map(name).collect::<Vec<_>>(), out);
    let failed = places(has_failed).map(|place| {
        let last = run.state.steps[place].history.failed.last();
        let said = last.and_then(|last| plain::lines_of(last.output.as_ref()?, runs).pop());
        let said = said.map(|said| format!(": {}", said.trim())).unwrap_or_default();
        let why = last.map(|last| format!("   attempt {}, {}{said}", last.attempt, last.failure));
        format!("{}{}", name(place), why.unwrap_or_default())
    });
    for (index, line) in failed.take(NAMES_MAX).enumerate() {
        out.line(&format!("  {:<13}{}", if index == 0 { "failed" } else { "" }, clean_line(&line)));
    }
    let asked = run.state.asks.values().map(|ask| ask.step.map_or_else(|| "the run".to_owned(), name));
    print_list("needs you", &asked.collect::<Vec<_>>(), out);
    let left = places(|step| is_left(step) && !matches!(step.status, StepStatus::Waiting { .. }));
    print_list("not started", &left.map(name).collect::<Vec<_>>(), out);
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

fn is_done(step: &StepState) -> bool {
    matches!(step.status, StepStatus::Passed { .. })
}

fn has_failed(step: &StepState) -> bool {
    !step.status.is_settled() && !step.history.failed.is_empty()
}

fn is_left(step: &StepState) -> bool {
    !step.status.is_settled() && step.history.failed.is_empty()
}

/// The plan file as it is now; `None` where it can't be read.
fn text_now(subject: &Subject<'_>) -> Option<Source> {
    match plan_file::read(subject.path, &shown(subject.path), subject.project.reading()).ok()? {
        FileText::Plan(source) => Some(source),
        FileText::Unreadable(_) => None,
    }
}

/// Whether this text is still what was approved.
fn means_the_same(subject: &Subject<'_>, now: &Source) -> bool {
    let plan = baseline::verify_text(subject.project, FileText::Plan(now.clone()))
        .ok()
        .and_then(|verified| verified.plan);
    plan.is_some_and(|plan| planwright_engine::core::plan::digest::Digest::of(&plan) == subject.digest)
}

fn print_difference(run: &Run, now: Option<&Source>, out: &mut Out<'_>) {
    out.line("  paused: the plan file changed after approval; no new steps start");
    let Some(now) = now else {
        out.line("  the plan file is missing or unreadable");
        return;
    };
    let Some(approved) = run.row.source() else { return };
    for line in difference::lines(&approved, now, out.palette()) {
        out.line(&format!("    {line}"));
    }
    out.talk("restore the file to resume, or approve the new revision to start a new run");
}

/// The data of the envelope.
fn data(subject: &Subject<'_>, run: &Run, state: &str) -> Ran {
    let ids = |is_in: fn(&StepState) -> bool| {
        let steps = run.state.steps.iter().filter(|step| is_in(step));
        steps.map(|step| step.id.clone()).collect::<Vec<_>>()
    };
    let steps = run.state.steps.iter().map(|step| StepData {
        id: step.id.clone(),
        status: step.status.word().to_owned(),
        attempts: step.history.attempts,
    });
    Ran {
        plan: subject.name.clone(),
        digest: run.row.digest.clone(),
        run: Some(run.row.id.number()),
        state: state.to_owned(),
        steps: steps.collect(),
        agents: approve::agents(subject),
        succeeded: ids(is_done),
        failed: ids(has_failed),
        left: ids(is_left),
        findings: run.findings(),
        simulation: None,
    }
}

fn next(subject: &Subject<'_>, run: &Run, state: &str, answer: Response) -> Response {
    let plan = subject.args.plan.as_str();
    // A plan outside of the project is found by its path alone.
    let is_inside = subject.path.starts_with(&subject.project.root) || !subject.path.is_absolute();
    let name = if is_inside { subject.name.as_str() } else { plan };
    let of_step = |place: Option<usize>| match place {
        Some(place) => format!("{name}/{}", run.plan.steps[place].id),
        None => name.to_owned(),
    };
    let has_worktree = worktree::plan_of(&subject.project.root).is_ok_and(|plan| plan.is_some());
    let words: Vec<String> = match state {
        "waiting" => match run.state.asks.values().next() {
            Some(ask) if ask.reason == AskReason::Stalled => vec!["run".to_owned(), plan.to_owned()],
            Some(ask) => vec!["answer".to_owned(), of_step(ask.step)],
            None => vec!["status".to_owned(), name.to_owned()],
        },
        "edited" => vec!["review".to_owned(), plan.to_owned()],
        "left" | "reached" | "stopped" => vec!["run".to_owned(), plan.to_owned()],
        "failed" => {
            let place = run.state.steps.iter().position(has_failed);
            vec!["log".to_owned(), of_step(place)]
        }
        "done" if has_worktree => vec!["merge".to_owned(), name.to_owned()],
        _ => vec!["log".to_owned(), name.to_owned()],
    };
    answer.next(NextCommand::new(std::iter::once("planwright").chain(words.iter().map(String::as_str))))
}
