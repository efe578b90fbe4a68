//! A question of a run, printed once and in full: what failed and how, what was tried, what continues without an
//! answer, and the possible answers. Reads only recorded state.

use std::collections::BTreeSet;

use planwright_engine::api::{AnswerKind, AskReason, Contract, JudgedBy, LiveRun, PlanRun, StepStatus};

use super::named;
use crate::output::{Glyph, Out, clean, clean_line, shell_word};

/// How many lines of what the contract printed are repeated here.
const OUTPUT_LINES_MAX: usize = 8;
/// Maximum number of steps or files in a list.
const NAMES_MAX: usize = 12;
/// Width of the labels, including the indentation.
const INDENT: &str = "             ";

/// Prints a question about a step, or about the run where there is none.
pub(super) fn print(
    board: &LiveRun<'_>,
    (place, reason, text): (Option<usize>, AskReason, &str),
    run: &PlanRun,
    out: &mut Out<'_>,
) {
    let plan = &board.run.row.name;
    let what = match place {
        Some(place) => format!("{plan}/{}", named(board.step(place))),
        None => plan.clone(),
    };
    let glyph = out.palette().glyph(Glyph::NeedsYou);
    out.line(&format!("{glyph} {} needs you", clean_line(&what)));
    match (place, reason) {
        (Some(place), AskReason::AttemptsSpent) => print_failure(board, place, run, out),
        (
            _,
            AskReason::AttemptsSpent
            | AskReason::Manual
            | AskReason::Budget
            | AskReason::Lost
            | AskReason::Parked
            | AskReason::Stalled
            | AskReason::Question
            | AskReason::Strayed
            | AskReason::Regressed
            | AskReason::Unsettled
            | AskReason::Machine,
        ) => {
            print_lines("asks", clean(text.trim_end()).lines(), out);
        }
    }
    print_rest(board, place, out);
    let contract = place.map(|place| &board.step(place).contract);
    let address = match place {
        Some(place) => format!("{plan}/{}", board.step(place).id),
        None => plan.clone(),
    };
    print_choices(&address, (reason, contract), out);
}

/// The contract with its verdict and the end of its output, and what each attempt came to.
fn print_failure(board: &LiveRun<'_>, place: usize, run: &PlanRun, out: &mut Out<'_>) {
    let state = &board.rows[place].state;
    if let (Contract::Shell { command, .. }, Some(last)) =
        (&board.step(place).contract, state.history.failed.last())
    {
        let verdict = format!(
            "{}, attempt {} of {}",
            last.failure,
            last.attempt,
            board.last_attempt(place, last.attempt)
        );
        let command = clean(command.trim()).into_owned();
        let mut lines: Vec<String> = command.lines().map(str::to_owned).collect();
        lines.push(format!("-> {verdict}"));
        let output = last.output.as_ref().map(|output| run.output_lines(output)).unwrap_or_default();
        let end = &output[output.len().saturating_sub(OUTPUT_LINES_MAX)..];
        lines.extend(end.iter().map(|line| format!("   {}", clean(line))));
        print_lines("contract", lines.iter().map(String::as_str), out);
    }
    let tried: Vec<String> = state
        .history
        .failed
        .iter()
        .map(|failed| {
            let changed =
                if failed.changed.is_empty() { "no changes".to_owned() } else { names(&failed.changed) };
            let said = failed.output.as_ref().and_then(|output| run.output_lines(output).pop());
            let said = said.map(|said| format!(": {}", said.trim())).unwrap_or_default();
            clean_line(&format!("{}  {changed}   {}{said}", failed.attempt, failed.failure)).into_owned()
        })
        .collect();
    print_lines("tried", tried.iter().map(String::as_str), out);
    let same = state.history.same_failure();
    if same > 1 {
        out.line(&format!("{INDENT}same failure {same} times"));
    }
}

/// Steps that continue without an answer, and steps blocked by it.
fn print_rest(board: &LiveRun<'_>, place: Option<usize>, out: &mut Out<'_>) {
    let open = |place: &usize| !board.rows[*place].state.status.is_settled() && board.allows(*place);
    let is_asked = |place: &usize| matches!(board.rows[*place].state.status, StepStatus::Waiting { .. });
    let asked: BTreeSet<usize> = (0..board.rows.len()).filter(is_asked).collect();
    let blocked = behind(board, asked.iter().copied().chain(place));
    let waits = match place {
        Some(place) => behind(board, std::iter::once(place)),
        // Nothing starts before the run has an answer.
        None => (0..board.rows.len()).collect(),
    };
    let goes_on = |at: &usize| {
        place.is_some() && open(at) && Some(*at) != place && !asked.contains(at) && !blocked.contains(at)
    };
    let list =
        |steps: Vec<usize>| names(&steps.into_iter().map(|at| named(board.step(at))).collect::<Vec<_>>());
    let goes_on: Vec<usize> = (0..board.rows.len()).filter(goes_on).collect();
    let waits: Vec<usize> = waits.into_iter().filter(open).filter(|at| Some(*at) != place).collect();
    for (word, steps) in [("running", goes_on), ("blocked", waits)] {
        if !steps.is_empty() {
            print_lines(word, std::iter::once(list(steps).as_str()), out);
        }
    }
}

/// The steps that wait for these, near or far.
fn behind(board: &LiveRun<'_>, steps: impl Iterator<Item = usize>) -> BTreeSet<usize> {
    let graph = board.plan().graph();
    let mut found = BTreeSet::new();
    let mut open: Vec<usize> = steps.collect();
    while let Some(step) = open.pop() {
        open.extend(graph.dependents(step).iter().filter(|&&dependent| found.insert(dependent)));
    }
    found
}

/// The commands that answer the question, the first one whole.
fn print_choices(address: &str, (reason, contract): (AskReason, Option<&Contract>), out: &mut Out<'_>) {
    let all = [
        (AnswerKind::Confirm, "--confirm", "confirm that it is done"),
        (AnswerKind::Retry, "--retry --hint \"...\"", "try again with a hint"),
        (AnswerKind::RetryStep, "--retry-step STEP", "redo the step that broke it"),
        (AnswerKind::TakeOver, "--take-over", "I fixed it; run the contract"),
        (AnswerKind::Budget, "--budget 1.50", "raise the budget"),
        (AnswerKind::Skip, "--skip -m \"...\"", "skip it, recorded as your decision"),
        (AnswerKind::Revise, "--revise -m \"...\"", "end the run and revise the plan"),
        (AnswerKind::Stop, "--stop", "pause the run"),
    ];
    let answers = reason.answers(JudgedBy::of(contract));
    let fitting = all.iter().filter(|(kind, ..)| answers.contains(kind));
    let command = format!("planwright answer {}", shell_word(address));
    let lines: Vec<String> = fitting
        .enumerate()
        .map(|(index, (_, flag, meaning))| {
            let command = if index == 0 { command.clone() } else { " ".repeat(command.chars().count()) };
            format!("{command}  {flag:<20}  {meaning}")
        })
        .collect();
    print_lines("answer", lines.iter().map(String::as_str), out);
}

/// Lines after a word, the first one next to it.
fn print_lines<'a>(word: &str, lines: impl Iterator<Item = &'a str>, out: &mut Out<'_>) {
    for (index, line) in lines.enumerate() {
        let before = if index == 0 { format!("  {word:<11}") } else { INDENT.to_owned() };
        out.line(format!("{before}{line}").trim_end());
    }
}

fn names(names: &[String]) -> String {
    match names.len().saturating_sub(NAMES_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMES_MAX].join(", ")),
    }
}
