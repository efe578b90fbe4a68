//! One line per event of a run: what passed, what failed and why, and questions.

use planwright_engine::api::{
    Account, AskAnswer, AskEvent, AttemptEnd, Event, Judged, LiveEvent, LiveRun, PlanRun, Receipt, RunEvent,
    StepEvent,
};

use super::{escalation, named};
use crate::output::wording;
use crate::output::{Glyph, NextCommand, Out, clean, clean_line};

/// How many lines of what a contract printed are shown where it failed; `log` has all of them.
const OUTPUT_LINES_MAX: usize = 40;
/// How many refused calls of one attempt are shown.
const REFUSED_MAX: usize = 5;

/// Says what happened, if it is worth a line.
pub(super) fn tell(board: &LiveRun<'_>, news: &LiveEvent, run: &PlanRun, out: &mut Out<'_>) {
    let place = news.step.as_ref().map(|(place, _)| *place);
    match (&news.event, place) {
        (
            Event::Step { event: StepEvent::Judged { of: Judged::Closing(_), receipt, broken_by }, .. },
            Some(place),
        ) => {
            // What holds was done before, and still is.
            if let Some(failure) = receipt.verdict.failure() {
                tell_broken(board, place, &failure.to_string(), broken_by.as_deref(), out);
                print_output(
                    board,
                    (place, board.rows[place].state.history.attempts),
                    &run.output_lines(&receipt.output),
                    out,
                );
            }
        }
        (Event::Step { event: StepEvent::Judged { of, receipt, .. }, .. }, Some(place)) => {
            tell_verdict(board, (place, *of), receipt, run, out);
            if let Some(opinion) = &receipt.opinion {
                out.line(&format!("  {}", clean_line(&opinion.to_string())));
            }
        }
        (Event::Step { event: StepEvent::Faulted { fault, .. }, .. }, Some(place)) => {
            let name = named(board.step(place));
            line(
                Glyph::Waiting,
                &format!("{name}   machine error: {}; no attempt is counted", fault.why),
                out,
            );
        }
        (Event::Step { event: StepEvent::Finished(finish), .. }, Some(place)) => {
            tell_end(board, (place, finish.attempt), &finish.end, out);
            tell_scope(&named(board.step(place)), &finish.account, out);
        }
        (Event::Ask { event: AskEvent::Opened { reason, text, .. }, .. }, _) => {
            escalation::print(board, (place, *reason, text), run, out);
        }
        (Event::Ask { event: AskEvent::Answered { answer, by }, .. }, _) => {
            let what = place.map_or_else(|| "the run".to_owned(), |place| named(board.step(place)));
            line(Glyph::Waiting, &format!("{what}   answered by {by}: {}", answer_words(answer)), out);
        }
        (Event::Run(RunEvent::BudgetWarned { limit, percent }), _) => {
            out.warn(&format!("{percent}% of the {limit} budget used"));
        }
        (Event::Run(RunEvent::Stopped { by, .. }), _) => {
            line(Glyph::Waiting, &format!("paused by {by}; no new steps start"), out);
        }
        (
            Event::Run(
                RunEvent::Started(_)
                | RunEvent::AgentsApproved(_)
                | RunEvent::Resumed { .. }
                | RunEvent::Reopened { .. }
                | RunEvent::Closing { .. }
                | RunEvent::Rechecked { .. }
                | RunEvent::Finished { .. },
            )
            | Event::Step { .. },
            _,
        ) => {}
    }
}

/// What an attempt did, or tried, beyond its scope.
fn tell_scope(name: &str, account: &Account, out: &mut Out<'_>) {
    if !account.outside.is_empty() {
        out.warn(&format!("{name} changed files outside its scope: {}", account.outside.join(", ")));
    }
    for refused in account.refused.iter().take(REFUSED_MAX) {
        out.warn(&format!("{name}: {}", refused.line()));
    }
    if account.refused.len() > REFUSED_MAX {
        let more = account.refused.len() - REFUSED_MAX;
        out.warn(&format!("{name}: {more} more calls refused: planwright tools --refused"));
    }
}

fn tell_verdict(
    board: &LiveRun<'_>,
    (place, of): (usize, Judged),
    receipt: &Receipt,
    run: &PlanRun,
    out: &mut Out<'_>,
) {
    let name = named(board.step(place));
    let time = wording::seconds(board.attempt_ms(place).unwrap_or(receipt.milliseconds));
    match (of, receipt.verdict.failure()) {
        (Judged::Closing(_), _) => {}
        (Judged::Claim, None) => line(Glyph::Done, &format!("{name}   already done"), out),
        (Judged::Attempt(1), None) => line(Glyph::Done, &format!("{name}   {time}"), out),
        (Judged::Attempt(attempt), None) => {
            line(Glyph::Done, &format!("{name}   {time}   attempt {attempt}"), out);
        }
        (Judged::Claim, Some(_)) => {
            line(Glyph::Waiting, &format!("{name}   is marked done, but its contract fails"), out);
        }
        (Judged::Attempt(attempt), Some(failure)) => {
            let of = board.last_attempt(place, attempt);
            line(Glyph::Failed, &format!("{name}   {time}   attempt {attempt} of {of}, {failure}"), out);
            print_output(board, (place, attempt), &run.output_lines(&receipt.output), out);
            if board.is_tried_again(place) {
                out.line("  retrying with this output");
            }
        }
    }
}

/// A contract that passed and fails on the final tree, and which step broke it.
fn tell_broken(board: &LiveRun<'_>, place: usize, failure: &str, broken_by: Option<&str>, out: &mut Out<'_>) {
    let name = named(board.step(place));
    let culprit = broken_by.and_then(|id| board.plan().steps.iter().find(|step| step.id == id));
    let culprit = culprit.map_or_else(|| "a later change".to_owned(), |step| format!("step {}", named(step)));
    line(Glyph::Failed, &format!("{name}   passed before, broken by {culprit}: {failure}"), out);
}

fn tell_end(board: &LiveRun<'_>, (place, attempt): (usize, u32), end: &AttemptEnd, out: &mut Out<'_>) {
    let name = named(board.step(place));
    match end {
        AttemptEnd::TimedOut(limit) => {
            line(Glyph::Failed, &format!("{name}   attempt {attempt} timed out after {limit} s"), out);
            if board.is_tried_again(place) {
                out.line("  retrying with this output");
            }
        }
        AttemptEnd::Lost => {
            line(
                Glyph::Waiting,
                &format!("{name}   attempt {attempt} was interrupted; it does not count"),
                out,
            );
        }
        AttemptEnd::Stopped => {
            line(Glyph::Waiting, &format!("{name}   attempt {attempt} was stopped; it does not count"), out);
        }
        AttemptEnd::Parked { why, .. } => line(Glyph::Waiting, &format!("{name}   {why}"), out),
        AttemptEnd::Faulted(fault) => {
            let why = &fault.why;
            line(
                Glyph::Waiting,
                &format!("{name}   machine error: {why}; attempt {attempt} does not count"),
                out,
            );
        }
        AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) => {}
    }
}

fn answer_words(answer: &AskAnswer) -> String {
    match answer {
        AskAnswer::Retry { hint } if hint.is_empty() => "retry".to_owned(),
        AskAnswer::Retry { hint } => format!("retry: {hint}"),
        AskAnswer::RetryStep { step, hint } if hint.is_empty() => format!("redo step {step}"),
        AskAnswer::RetryStep { step, hint } => format!("redo step {step}: {hint}"),
        AskAnswer::TakeOver => "taken over; the contract decides".to_owned(),
        AskAnswer::Confirm => "confirmed".to_owned(),
        AskAnswer::Skip { reason } => format!("skip: {reason}"),
        AskAnswer::Stop => "stop".to_owned(),
        AskAnswer::Revise { reason } => format!("revise the plan: {reason}"),
        AskAnswer::Budget { .. } => "budget raised".to_owned(),
    }
}

fn line(glyph: Glyph, text: &str, out: &mut Out<'_>) {
    let glyph = out.palette().glyph(glyph);
    out.line(&format!("{glyph} {}", clean_line(text)));
}

/// What a contract printed, or the end of it where that is long.
fn print_output(board: &LiveRun<'_>, (place, attempt): (usize, u32), lines: &[String], out: &mut Out<'_>) {
    let cut = lines.len().saturating_sub(OUTPUT_LINES_MAX);
    if cut > 0 {
        let address = format!("{}/{}@{attempt}", board.run.row.name, board.step(place).id);
        let whole = NextCommand::new(["planwright", "log", address.as_str(), "--contract"]).command;
        out.line(&format!("    {cut} earlier lines: {whole}"));
    }
    for shown in &lines[cut..] {
        out.line(&format!("    {}", clean(shown)));
    }
}
