//! A review for people at a terminal: contracts first and whole, then what changed, then what was said. Everything that comes
//! from a plan or a ledger is cleaned here.

use planwright_engine::api::{
    BaselineResult, CommentReview, ContractReview, CostLimits, DiffSign, Difference, Direction, Identity,
    Review, ReviewReason,
};
use unicode_width::UnicodeWidthStr as _;

use crate::output::wording;
use crate::output::wording::number;
use crate::output::{Glyph, Out, Palette, Tone, clean, clean_line, cut};

/// Below this a command is no longer readable; then a line may be longer than the terminal.
const COMMAND_WIDTH_MIN: usize = 30;
/// Longer names of steps are cut; commands never are.
const NAME_WIDTH_MAX: usize = 24;
/// `cannot run`
const BEFORE_WIDTH: usize = 10;
/// `since r12`
const DIRECTION_WIDTH: usize = 9;

pub(super) fn print(review: &Review, now: u64, out: &mut Out<'_>) {
    head(review, now, out);
    contracts(review, out);
    since(review, out);
    comments(review, out);
    said(review, now, out);
    out.flush();
}

fn head(review: &Review, now: u64, out: &mut Out<'_>) {
    let name = out.palette().paint(Tone::Strong, &clean_line(&review.plan));
    let revision = review.revision.map_or_else(|| "not proposed".to_owned(), |number| format!("r{number}"));
    let base = review.base.as_ref().map(|base| format!(" on {}", clean_line(base))).unwrap_or_default();
    out.line(&format!("{name}  {}   {revision} {}{base}", clean_line(&review.title), review.short()));
    if let (Some(by), Some(at)) = (&review.proposed_by, review.proposed_at_ms) {
        let age = wording::age(at, now);
        // What waits for a decision need not say that it was proposed.
        let state = match review.state.as_str() {
            "proposed" => String::new(),
            state => format!("{}; ", clean_line(state)),
        };
        out.line(&format!("  {state}proposed {age} ago by {}{}", named(by), verdicts(review)));
    }
    let mut facts = vec![format!("{} in {}", number(review.steps, "step"), number(review.waves, "wave"))];
    facts.push(match (&review.reach.undeclared, review.reach.globs.len()) {
        (undeclared, _) if !undeclared.is_empty() => {
            format!("may change any file: {} without `touches`", number(undeclared.len(), "step"))
        }
        (_, globs) if review.reach.files == 0 => {
            format!("may change {} (none exist yet)", number(globs, "path"))
        }
        (_, globs) => {
            format!("may change {} in {}", number(review.reach.files, "file"), number(globs, "path"))
        }
    });
    facts.push(
        review.forecast.as_ref().map_or_else(|| "no history for a forecast".to_owned(), wording::forecast),
    );
    out.line(&format!("  {}{}", facts.join(", "), limits(&review.limits)));
    let attention = |word: &str, out: &Out<'_>| out.palette().paint(Tone::Attention, word);
    for moved in &review.moved {
        let word = attention("moved", out);
        out.line(&format!("  {word}: {}", clean_line(moved)));
    }
    for finding in &review.findings {
        let word = attention("found", out);
        out.line(&format!("  {word}: {}", clean_line(finding)));
    }
    if let Some(drift) = &review.drift {
        let word = attention("note", out);
        out.line(&format!("  {word}: {}", clean_line(drift)));
    }
}

/// What became of earlier revisions: `; you rejected r2, 2 comments, 1 open`.
fn verdicts(review: &Review) -> String {
    let mut text = String::new();
    if let Some(last) = review.rejections.last() {
        let who = if last.is_yours { "you".to_owned() } else { named(&last.by) };
        text.push_str(&format!("; {who} rejected r{}", last.revision));
    }
    let open = review.comments.iter().filter(|comment| comment.answered_by.is_none()).count();
    match review.comments.len() {
        0 => {}
        all if open == 0 => text.push_str(&format!("; {}, all answered", number(all, "comment"))),
        all => text.push_str(&format!("; {}, {open} open", number(all, "comment"))),
    }
    text
}

/// The widths of the columns.
struct Columns {
    number: usize,
    name: usize,
    command: usize,
}

impl Columns {
    fn of(review: &Review, width: usize) -> Self {
        let widest = |text: fn(&ContractReview) -> String| {
            review.contracts.iter().map(|row| text(row).width()).max().unwrap_or(0)
        };
        let number = widest(|row| row.number.to_string());
        let name = widest(|row| clean_line(&row.step).into_owned()).min(NAME_WIDTH_MAX);
        let others = 2 + number + 1 + name + 1 + 2 + 2 + BEFORE_WIDTH + 2 + DIRECTION_WIDTH;
        let longest = review.contracts.iter().flat_map(lines).map(|(_, line)| line.width()).max();
        let room = width.saturating_sub(others + "  PW0000".len()).max(COMMAND_WIDTH_MIN);
        Self { number, name, command: longest.unwrap_or(0).max("Contracts".len()).min(room) }
    }
}

fn contracts(review: &Review, out: &mut Out<'_>) {
    let (palette, width) = (out.palette(), out.settings().width);
    let columns = Columns::of(review, width);
    let on = review.base.as_deref().and_then(|base| base.split('@').next()).unwrap_or_default();
    let on = if on.is_empty() { "before".to_owned() } else { format!("on {}", clean_line(on)) };
    let on = cut(&on, BEFORE_WIDTH, palette);
    let since = review.since.as_ref().map(|since| format!("since r{}", since.revision)).unwrap_or_default();
    let left = 2 + columns.number + 1 + columns.name + 1 + 2 + columns.command;
    let head = format!("{}  {}  {since}", padded("Contracts", left), padded(&on, BEFORE_WIDTH));
    out.line("");
    out.line(&palette.paint(Tone::Strong, head.trim_end()));
    for row in &review.contracts {
        contract(row, &columns, out);
    }
}

fn contract(row: &ContractReview, columns: &Columns, out: &mut Out<'_>) {
    let palette = out.palette();
    let mut is_first = true;
    for (sign, line) in lines(row) {
        for piece in wrapped(&line, columns.command) {
            let mark = match sign {
                DiffSign::Kept => "  ",
                DiffSign::Removed => "- ",
                DiffSign::Added => "+ ",
            };
            let shown = match sign {
                DiffSign::Kept => piece.clone(),
                DiffSign::Removed => palette.paint(Tone::Bad, &piece),
                DiffSign::Added => palette.paint(Tone::Good, &piece),
            };
            let pad = " ".repeat(columns.command.saturating_sub(piece.width()));
            let text = match is_first {
                true => {
                    let name = cut(&clean_line(&row.step), columns.name, palette);
                    let number = format!("{:>width$}", row.number, width = columns.number);
                    format!(
                        "  {number} {} {mark}{shown}{pad}  {}",
                        padded(&name, columns.name),
                        facts(row, palette)
                    )
                }
                false => {
                    let indent = 2 + columns.number + 1 + columns.name + 1;
                    format!("{}{mark}{shown}", " ".repeat(indent))
                }
            };
            out.line(text.trim_end());
            is_first = false;
        }
    }
    let indent = " ".repeat(2 + columns.number + 1 + columns.name + 1);
    // What the lines themselves do not show.
    let is_silent = row.pieces.is_empty() || row.direction == Some(Direction::Weaker);
    for because in row.because.iter().filter(|_| is_silent) {
        out.line(&format!("{indent}~ {}", palette.paint(Tone::Attention, &clean_line(because))));
    }
    if let Some(BaselineResult::CannotRun(why) | BaselineResult::Excused(why)) = &row.before {
        out.line(&format!("{indent}  {}", palette.paint(Tone::Muted, &clean_line(why))));
    }
}

/// The remark after a command.
fn facts(row: &ContractReview, palette: Palette) -> String {
    let (word, tone) = match &row.before {
        Some(before @ BaselineResult::Passes) => (before.word(), Some(Tone::Attention)),
        Some(
            before @ (BaselineResult::Fails(_) | BaselineResult::Excused(_) | BaselineResult::CannotRun(_)),
        ) => (before.word(), None),
        None if row.command.is_none() => ("", None),
        None => ("not run", Some(Tone::Muted)),
    };
    let before = paint(palette, tone, padded(word, BEFORE_WIDTH));
    let (word, tone) = match row.direction {
        Some(direction @ Direction::Same) => (direction.word(), Some(Tone::Muted)),
        Some(direction @ Direction::Stricter) => (direction.word(), Some(Tone::Good)),
        Some(direction @ (Direction::Weaker | Direction::Changed | Direction::New | Direction::Gone)) => {
            (direction.word(), Some(Tone::Attention))
        }
        None => ("", None),
    };
    let direction = paint(palette, tone, padded(word, DIRECTION_WIDTH));
    let codes = palette.paint(Tone::Attention, &clean_line(&row.warnings.join(" ")));
    format!("{before}  {direction}  {codes}")
}

/// The lines of a contract, all of them.
fn lines(row: &ContractReview) -> Vec<(DiffSign, String)> {
    let of = |text: &str, sign: DiffSign| -> Vec<(DiffSign, String)> {
        let text = clean(text.trim_end()).replace('\t', "    ");
        if text.is_empty() {
            vec![(sign, String::new())]
        } else {
            text.lines().map(|line| (sign, line.to_owned())).collect()
        }
    };
    let mut lines = match (&row.command, row.pieces.is_empty()) {
        (_, false) => row.pieces.iter().flat_map(|piece| of(&piece.text, piece.sign)).collect(),
        (Some(command), true) => of(command, DiffSign::Kept),
        (None, true) => match (&row.direction, &row.old_command) {
            (Some(Direction::Gone), Some(old)) => of(old, DiffSign::Removed),
            _ => vec![(DiffSign::Kept, "you confirm it".to_owned())],
        },
    };
    if row.command.is_none() && !row.pieces.is_empty() {
        lines.push((DiffSign::Added, "you confirm it".to_owned()));
    }
    if row.expect != 0 {
        lines.push((DiffSign::Kept, format!("(passes with exit code {})", row.expect)));
    }
    lines
}

/// `Since r2, the last you read: ~ step 2 contract, + step 4`
fn since(review: &Review, out: &mut Out<'_>) {
    let Some(since) = &review.since else { return };
    let why = match since.why {
        ReviewReason::Asked => "",
        ReviewReason::Read => ", the last you read",
        ReviewReason::Decided => ", the last decided",
    };
    let mut changes: Vec<String> = Vec::new();
    let mut last: Option<&Difference> = None;
    for change in &review.changes {
        let is_detail = |other: &Difference| other.step == change.step && other.what.sign() == '~';
        let joins = last.is_some_and(is_detail) && change.what.sign() == '~';
        match (joins, changes.last_mut()) {
            (true, Some(text)) => text.push_str(&format!(" and {}", change.what.word())),
            _ => changes.push(change_words(change)),
        }
        last = Some(change);
    }
    out.line("");
    let said = if changes.is_empty() { "nothing changed".to_owned() } else { changes.join(", ") };
    out.line(&format!("Since r{}{why}: {said}", since.revision));
}

fn change_words(change: &Difference) -> String {
    let sign = change.what.sign();
    let step = match (&change.step, change.number) {
        (Some(_), Some(number)) if sign != '-' => format!("step {number}"),
        (Some(step), _) => format!("step {}", clean_line(step)),
        (None, _) => "plan".to_owned(),
    };
    let what = if sign == '~' { format!(" {}", change.what.word()) } else { String::new() };
    format!("{sign} {step}{what}")
}

/// Prints everything that changed, with what was said before.
pub(super) fn print_differences(review: &Review, out: &mut Out<'_>) {
    let palette = out.palette();
    out.line("");
    if review.since.is_none() {
        out.line("no earlier revision to compare with");
    }
    for change in &review.changes {
        let name = change.step.as_deref().map(|step| format!(" ({})", clean_line(step))).unwrap_or_default();
        out.line(&palette.paint(Tone::Strong, &format!("{}{name}", change_words(change))));
        for (sign, tone, text) in [("-", Tone::Bad, &change.was), ("+", Tone::Good, &change.now)] {
            for line in clean(text.as_deref().unwrap_or_default()).lines() {
                out.line(&format!("  {sign} {}", palette.paint(tone, line)));
            }
        }
    }
    out.flush();
}

fn comments(review: &Review, out: &mut Out<'_>) {
    let (yours, others): (Vec<_>, Vec<_>) = review.comments.iter().partition(|comment| comment.is_yours);
    for (title, comments) in [("Your comments", yours), ("Comments", others)] {
        if !comments.is_empty() {
            out.line("");
            out.line(&out.palette().paint(Tone::Strong, title));
        }
        for comment in comments {
            remark(comment, out);
        }
    }
}

fn remark(comment: &CommentReview, out: &mut Out<'_>) {
    let palette = out.palette();
    let glyph = if comment.answered_by.is_some() { Glyph::Done } else { Glyph::NeedsYou };
    let place = match (&comment.step, comment.step_number) {
        (None, _) => "the plan".to_owned(),
        (Some(_), Some(number)) => {
            let words: Vec<&str> = comment.changed.iter().map(|what| what.word()).collect();
            let words = if words.is_empty() { String::new() } else { format!(" {}", words.join(", ")) };
            format!("step {number}{words}")
        }
        (Some(step), None) => format!("step {} (removed)", clean_line(step)),
    };
    let who = if comment.is_yours { String::new() } else { format!("{}: ", named(&comment.by)) };
    let text = clean(comment.text.trim()).replace('\n', "\n     ");
    let arrow = palette.paint(Tone::Muted, &format!("r{}, {place}", comment.revision));
    out.line(&format!("  {} {} {who}\"{text}\"   {arrow}", palette.glyph(glyph), comment.number));
    if let (Some(by), Some(answer)) = (&comment.answered_by, &comment.answer) {
        let answer = clean(answer.trim()).replace('\n', "\n     ");
        out.line(&format!("     {}: {answer}", named(by)));
    }
}

/// What was decided so far.
fn said(review: &Review, now: u64, out: &mut Out<'_>) {
    if !review.warnings.is_empty() {
        out.line("");
    }
    for warning in &review.warnings {
        out.line(&format!("{}  {}", clean_line(&warning.code), clean_line(&warning.message)));
    }
    if !review.approvals.is_empty() {
        out.line("");
        let (so_far, needed) = (review.approvals.len(), review.approvals_needed);
        out.line(&out.palette().paint(Tone::Strong, &format!("Approved by {so_far} of {needed}")));
    }
    for approval in &review.approvals {
        let age = wording::age(approval.at_ms, now);
        let rule = clean_line(&approval.rule);
        out.line(&format!("  {}, {age} ago, by rule: {rule}", named(&approval.by)));
        out.line(&format!("    {}", approval.worth));
        if !approval.note.trim().is_empty() {
            out.line(&format!("    \"{}\"", clean_line(approval.note.trim())));
        }
    }
    if !review.rejections.is_empty() {
        out.line("");
        out.line(&out.palette().paint(Tone::Strong, "Earlier rejections"));
    }
    for rejection in &review.rejections {
        let feedback = clean(rejection.feedback.trim()).replace('\n', "\n     ");
        out.line(&format!("  r{} by {}: \"{feedback}\"", rejection.revision, named(&rejection.by)));
    }
}

fn named(who: &Identity) -> String {
    clean_line(&who.to_string()).into_owned()
}

fn limits(limits: &CostLimits) -> String {
    let amounts = [
        limits.micro_dollars.map(wording::money),
        limits.tokens.map(|tokens| format!("{tokens} tokens")),
        limits.seconds.map(minutes),
    ];
    let amounts: Vec<String> = amounts.into_iter().flatten().collect();
    if amounts.is_empty() { " (no limits)".to_owned() } else { format!(" (limits {})", amounts.join(", ")) }
}

fn minutes(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

fn paint(palette: Palette, tone: Option<Tone>, text: String) -> String {
    match tone {
        Some(tone) => palette.paint(tone, &text),
        None => text,
    }
}

/// A line in pieces of at most this width, cut at blanks where there are any; nothing of it is left out.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while rest.width() > width {
        let fits = |at: &usize| *at > 0 && rest[..*at].width() <= width;
        let end = rest.char_indices().map(|(at, _)| at).take_while(|at| *at == 0 || fits(at)).last();
        let end = end.filter(|&end| end > 0).or_else(|| rest.char_indices().nth(1).map(|(at, _)| at));
        let Some(end) = end else { break };
        let blank =
            rest[..end].trim_end().rfind(' ').map(|at| at + 1).filter(|&at| !rest[..at].trim().is_empty());
        let (piece, more) = rest.split_at(blank.unwrap_or(end));
        pieces.push(piece.to_owned());
        rest = more;
    }
    pieces.push(rest.to_owned());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_command_is_left_out() {
        for line in [
            "",
            "a",
            "grep -q x y",
            "    indented far beyond",
            "漢字漢字漢字漢字",
            "a/very/long/word/indeed x",
        ] {
            for width in [1, 2, 5, 8, 30] {
                let pieces = wrapped(line, width);
                assert_eq!(pieces.concat(), line, "{width}");
                let is_narrow = |piece: &String| piece.width() <= width || piece.chars().count() == 1;
                assert!(pieces.iter().all(is_narrow), "{line:?} in {width}: {pieces:?}");
            }
        }
        assert_eq!(wrapped("test -e a && test -e b", 12), ["test -e a ", "&& test -e b"]);
    }
}
