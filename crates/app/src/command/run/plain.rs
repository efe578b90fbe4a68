//! One line per event of a run: what passed, what failed and why, and questions.

use planwright_engine::core::agent::account::Account;
use planwright_engine::core::run::event::{
    AskAnswer, AskEvent, AttemptEnd, Event, Judged, RunEvent, StepEvent,
};
use planwright_engine::core::run::receipt::{Blob, Receipt};
use planwright_engine::run::Runs;

use super::board::{Board, News};
use super::{escalation, named, seconds};
use crate::output::{Glyph, NextCommand, Out, clean, clean_line};

/// How many lines of what a contract printed are shown where it failed; `log` has all of them.
const OUTPUT_LINES_MAX: usize = 40;
/// How many calls out of scope are told of one attempt.
const REFUSED_MAX: usize = 5;

/// Says what happened, if it is worth a line.
pub(super) fn tell(board: &Board<'_>, news: &News, runs: &Runs, out: &mut Out<'_>) {
    let place = news.step.as_ref().map(|(place, _)| *place);
    match (&news.event, place) {
        (Event::Step { event: StepEvent::Judged { of, receipt }, .. }, Some(place)) => {
            tell_verdict(board, (place, *of), receipt, runs, out);
            if let Some(opinion) = &receipt.opinion {
                out.line(&format!("  {}", clean_line(&opinion.to_string())));
            }
        }
        (Event::Step { event: StepEvent::Finished(finish), .. }, Some(place)) => {
            tell_end(board, (place, finish.attempt), &finish.end, out);
            tell_scope(&named(board.step(place)), &finish.account, out);
        }
        (Event::Ask { event: AskEvent::Opened { reason, text, .. }, .. }, _) => {
            escalation::print(board, (place, *reason, text), runs, out);
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
    board: &Board<'_>,
    (place, of): (usize, Judged),
    receipt: &Receipt,
    runs: &Runs,
    out: &mut Out<'_>,
) {
    let name = named(board.step(place));
    let time = seconds(receipt.milliseconds);
    match (of, receipt.verdict.failure()) {
        (Judged::Claim, None) => line(Glyph::Done, &format!("{name}   already done"), out),
        (Judged::Attempt(1), None) => line(Glyph::Done, &format!("{name}   {time}"), out),
        (Judged::Attempt(attempt), None) => {
            line(Glyph::Done, &format!("{name}   {time}   attempt {attempt}"), out);
        }
        (Judged::Claim, Some(_)) => {
            line(Glyph::Waiting, &format!("{name}   is marked done, but its contract fails"), out);
        }
        (Judged::Attempt(attempt), Some(failure)) => {
            let of = board.attempts_max(place);
            line(Glyph::Failed, &format!("{name}   {time}   attempt {attempt} of {of}, {failure}"), out);
            print_output(board, (place, attempt), &receipt.output, runs, out);
            if board.is_tried_again(place) {
                out.line("  retrying with this output");
            }
        }
    }
}

fn tell_end(board: &Board<'_>, (place, attempt): (usize, u32), end: &AttemptEnd, out: &mut Out<'_>) {
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
        AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) => {}
    }
}

fn answer_words(answer: &AskAnswer) -> String {
    match answer {
        AskAnswer::Retry { hint } if hint.is_empty() => "retry".to_owned(),
        AskAnswer::Retry { hint } => format!("retry: {hint}"),
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
fn print_output(
    board: &Board<'_>,
    (place, attempt): (usize, u32),
    output: &Blob,
    runs: &Runs,
    out: &mut Out<'_>,
) {
    let lines = lines_of(output, runs);
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

/// The lines of what a contract printed, without blank ones; none where it can't be read any more.
pub(super) fn lines_of(output: &Blob, runs: &Runs) -> Vec<String> {
    let bytes = runs.blob(output).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.trim_end().to_owned()).collect()
}
