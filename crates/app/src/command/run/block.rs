//! The block at the bottom of the terminal during a run: a header and one line per step. Pure.

use planwright_engine::api::{Judged, LiveRun, LiveStep, RunOutcome, StepStatus};
use unicode_width::UnicodeWidthStr as _;

use super::{Args, dollars};
use crate::output::{Glyph, Glyphs, Palette, Settings, Tone, clean_line, cut};

/// How long one picture of the spinner stays, in milliseconds.
const FRAME_MS: u64 = 100;

/// Whether a block is drawn: a person looks at a terminal that can move its cursor, and did not want plain lines.
pub(super) const fn is_wanted(args: &Args, settings: &Settings) -> bool {
    settings.can_redraw && !settings.is_json && !settings.is_quiet && !args.plain
}

/// The lines of the block, so many and so long as the screen allows.
pub(super) fn lines(
    board: &LiveRun<'_>,
    now_ms: u64,
    (width, height): (usize, usize),
    palette: Palette,
) -> Vec<String> {
    let mut lines = vec![header(board, now_ms, width, palette)];
    let room = height.saturating_sub(1);
    let shown = chosen(board, room);
    let columns = Columns {
        number: widest(shown.iter().map(|&place| board.step(place).number.to_string())),
        id: widest(shown.iter().map(|&place| clean_line(&board.step(place).id).into_owned())).min(width / 2),
    };
    for &place in &shown {
        lines.push(line(board, (place, now_ms), &columns, (width, palette)));
    }
    let hidden = board.rows.len() - shown.len();
    if hidden > 0 {
        let settled = board.rows.iter().filter(|row| row.state.status.is_settled()).count();
        let text = format!("  and {hidden} more; {settled} of {} done", board.rows.len());
        lines.push(palette.paint(Tone::Muted, &cut(&text, width, palette)));
    }
    lines.truncate(height);
    lines
}

struct Columns {
    number: usize,
    id: usize,
}

fn widest(texts: impl Iterator<Item = String>) -> usize {
    texts.map(|text| text.width()).max().unwrap_or_default()
}

/// The places of the steps that have room: what is running or needs a person first, then what comes next, then what is
/// done; in the order of the plan.
fn chosen(board: &LiveRun<'_>, room: usize) -> Vec<usize> {
    if board.rows.len() <= room {
        return (0..board.rows.len()).collect();
    }
    let rank = |place: &usize| match board.rows[*place].state.status {
        StepStatus::Running { .. } | StepStatus::Judging { .. } | StepStatus::Waiting { .. } => 0,
        StepStatus::Pending(_) => 1,
        StepStatus::Passed { .. } | StepStatus::Skipped { .. } => 2,
    };
    let mut places: Vec<usize> = (0..board.rows.len()).collect();
    places.sort_by_key(rank);
    places.truncate(room.saturating_sub(1));
    places.sort_unstable();
    places
}

fn header(board: &LiveRun<'_>, now_ms: u64, width: usize, palette: Palette) -> String {
    let row = &board.run.row;
    let name = clean_line(&row.name).into_owned();
    let short: String = row.digest.chars().take(8).collect();
    let clock = clock(now_ms.saturating_sub(board.began_ms));
    let number = row.id.number();
    let mut rest = format!("  {short}   run {number}   {clock}");
    if let Some(cost) = cost(board) {
        rest.push_str(&format!("   {cost}"));
    }
    let name = cut(&name, width, palette);
    let rest = cut(&rest, width - name.width(), palette);
    format!("{}{rest}", palette.paint(Tone::Strong, &name))
}

/// The cost of the run so far. Scripts and people report no cost.
fn cost(board: &LiveRun<'_>) -> Option<String> {
    let limit = board.plan().budget.micro_dollars;
    let limit = limit.map(|limit| limit.saturating_add(board.run.state.granted.micro_dollars));
    match (board.spent.micro_dollars, limit) {
        (Some(spent), Some(limit)) => Some(format!("{} of {}", dollars(spent), dollars(limit))),
        (Some(spent), None) => Some(dollars(spent)),
        (None, _) if board.run.agents().is_empty() => None,
        (None, _) => Some("cost unknown".to_owned()),
    }
}

fn line(
    board: &LiveRun<'_>,
    (place, now_ms): (usize, u64),
    columns: &Columns,
    (width, palette): (usize, Palette),
) -> String {
    let (step, row) = (board.step(place), &board.rows[place]);
    let id = cut(&clean_line(&step.id), columns.id, palette);
    let pad = " ".repeat(columns.id - id.width());
    let time = elapsed(row, now_ms).map(clock).unwrap_or_default();
    let number = step.number;
    let text = format!(" {number:>0$} {id}{pad} {time:>8}   {1}", columns.number, note(board, place));
    let (symbol, tone) = symbol(row, now_ms, palette.glyphs);
    let symbol_width = match palette.glyphs {
        Glyphs::Unicode => 1,
        Glyphs::Ascii => 3,
    };
    let text = cut(text.trim_end(), width.saturating_sub(symbol_width), palette);
    format!("{}{text}", palette.paint(tone, &format!("{symbol:<symbol_width$}")))
}

/// How long a step has been running, or ran.
fn elapsed(row: &LiveStep, now_ms: u64) -> Option<u64> {
    let is_under_way = matches!(row.state.status, StepStatus::Running { .. } | StepStatus::Judging { .. });
    let end = if is_under_way { now_ms } else { row.ended_ms? };
    Some(end.saturating_sub(row.began_ms?))
}

fn symbol(row: &LiveStep, now_ms: u64, glyphs: Glyphs) -> (&'static str, Tone) {
    let glyph = match row.state.status {
        StepStatus::Passed { .. } => Glyph::Done,
        StepStatus::Waiting { .. } => Glyph::NeedsYou,
        StepStatus::Skipped { .. } => Glyph::Held,
        StepStatus::Pending(_) => Glyph::Waiting,
        StepStatus::Running { .. } | StepStatus::Judging { .. } => {
            let frames: [&str; 4] = match glyphs {
                Glyphs::Unicode => ["◐", "◓", "◑", "◒"],
                Glyphs::Ascii => ["|", "/", "-", "\\"],
            };
            let frame = usize::try_from(now_ms / FRAME_MS % 4).unwrap_or_default();
            return (frames[frame], Glyph::Running.tone());
        }
    };
    (glyph.symbol(glyphs), glyph.tone())
}

/// What is shown about a step besides its time.
fn note(board: &LiveRun<'_>, place: usize) -> String {
    let row = &board.rows[place];
    match &row.state.status {
        StepStatus::Running { attempt } => {
            let of = board.last_attempt(place, *attempt);
            format!("{}, attempt {attempt} of {of}", clean_line(&row.agent))
        }
        StepStatus::Judging { of: Judged::Claim, .. } => "marked done; running the contract".to_owned(),
        StepStatus::Judging { of: Judged::Closing(_), .. } => "contract on the final tree".to_owned(),
        StepStatus::Judging { of: Judged::Attempt(attempt), .. } => {
            format!("contract of attempt {attempt} of {}", board.last_attempt(place, *attempt))
        }
        StepStatus::Passed { .. } => match row.state.history.attempts {
            0 => "already done".to_owned(),
            1 => String::new(),
            attempt => format!("attempt {attempt}"),
        },
        StepStatus::Waiting { .. } => match row.state.history.failures() {
            0 => "needs you".to_owned(),
            failures => format!("{failures} failed; needs you"),
        },
        StepStatus::Skipped { by, .. } => format!("skipped by {}", clean_line(by)),
        StepStatus::Pending(_) if board.run.state.outcome() == Some(RunOutcome::Failed) => {
            "not started".to_owned()
        }
        StepStatus::Pending(_) => {
            let open = board.step(place).needs.iter();
            let open = open.filter(|&&before| !board.rows[before].state.status.is_settled());
            let open: Vec<String> = open.map(|&before| board.step(before).number.to_string()).collect();
            match (open.is_empty(), row.state.history.failures()) {
                (false, _) => format!("after {}", open.join(", ")),
                (true, 0) => String::new(),
                (true, failures) => format!("{failures} failed"),
            }
        }
    }
}

/// A duration as a clock shows it: `4:07`, `1:02:33`.
fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
