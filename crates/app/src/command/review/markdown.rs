//! A review as a comment for a pull request. Text from a plan can't forge markup here: on a line it is in `<code>` with
//! every sign spelled as an entity, in a block behind a fence that is longer than any in it.

use std::fmt::Write as _;

use planwright_engine::api::{ContractReview, DiffSign, Direction, Review, ReviewReason};

use crate::output::wording;
use crate::output::{clean, clean_line};

/// Longer plans are not shown whole: hosts refuse comments of more than 65,536 characters.
const FULL_CHARS_MAX: usize = 30_000;

/// The page of a review.
pub(super) fn page(review: &Review, text: &str) -> String {
    let mut page = String::new();
    head(&mut page, review);
    contracts(&mut page, review);
    changes(&mut page, review);
    comments(&mut page, review);
    said(&mut page, review);
    let is_short = text.chars().count() <= FULL_CHARS_MAX;
    if is_short {
        push(
            &mut page,
            &format!("<details><summary>Full text</summary>\n\n{}\n</details>\n", block(text, "")),
        );
    } else {
        push(&mut page, "The full text is too long for a comment.\n");
    }
    page
}

fn push(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

fn head(page: &mut String, review: &Review) {
    push(page, &format!("## Review of {}: {}\n", code(&review.plan), code(&review.title)));
    let revision = review.revision.map_or_else(|| "not proposed".to_owned(), |number| format!("r{number}"));
    let base = review.base.as_ref().map(|base| format!(" on {}", code(base))).unwrap_or_default();
    let by = review.proposed_by.as_ref().map(|by| format!(", proposed by {}", code(&by.to_string())));
    let by = by.unwrap_or_default();
    push(page, &format!("**{revision}** <code>{}</code>{base}{by}: {}.", review.short(), review.state));
    let reach = match review.reach.undeclared.is_empty() {
        true => format!(
            "may change {}",
            wording::number(usize::try_from(review.reach.files).unwrap_or(usize::MAX), "file")
        ),
        false => "may change any file".to_owned(),
    };
    let limits = review.limits;
    let amounts = [
        limits.micro_dollars.map(wording::money),
        limits.tokens.map(|tokens| format!("{tokens} tokens")),
        limits.seconds.map(|seconds| format!("{seconds} s")),
    ];
    let amounts: Vec<String> = amounts.into_iter().flatten().collect();
    let limits =
        if amounts.is_empty() { "no limits".to_owned() } else { format!("limits {}", amounts.join(", ")) };
    let forecast =
        review.forecast.as_ref().map_or_else(|| "no history for a forecast".to_owned(), wording::forecast);
    push(
        page,
        &format!(
            "{} in {}, {reach}, {forecast}, {limits}.\n",
            wording::number(review.steps, "step"),
            wording::number(review.waves, "wave")
        ),
    );
    for moved in &review.moved {
        push(page, &format!("> **Changed since the proposal:** {}\n", code(moved)));
    }
    for finding in &review.findings {
        push(page, &format!("> **Found:** {}\n", code(finding)));
    }
    if let Some(drift) = &review.drift {
        push(page, &format!("> **Note:** {}\n", code(drift)));
    }
}

fn contracts(page: &mut String, review: &Review) {
    push(page, "### Contracts\n");
    let since = review
        .since
        .as_ref()
        .map_or_else(|| "since".to_owned(), |since| format!("since r{}", since.revision));
    push(page, &format!("| # | step | before the work | {since} | warnings |"));
    push(page, "|---|---|---|---|---|");
    for row in &review.contracts {
        let before = row.before.as_ref().map_or("not run", |before| before.word());
        let direction = match row.direction {
            None => String::new(),
            Some(direction @ (Direction::Same | Direction::Stricter)) => direction.to_string(),
            Some(direction @ (Direction::Weaker | Direction::Changed | Direction::New | Direction::Gone)) => {
                format!("**{direction}**")
            }
        };
        let warnings = row.warnings.join(" ");
        push(
            page,
            &format!("| {} | {} | {before} | {direction} | {warnings} |", row.number, code(&row.step)),
        );
    }
    push(page, "");
    for row in &review.contracts {
        contract(page, row);
    }
}

fn contract(page: &mut String, row: &ContractReview) {
    let expect =
        if row.expect == 0 { String::new() } else { format!(", passes with exit code {}", row.expect) };
    push(page, &format!("**{}** {}, run by {}{expect}", row.number, code(&row.step), code(&row.target)));
    for because in &row.because {
        push(page, &format!("- {}", code(because)));
    }
    push(page, "");
    let (text, kind) = match (&row.command, &row.old_command) {
        _ if !row.pieces.is_empty() => {
            let line = |sign: DiffSign, text: &str| match sign {
                DiffSign::Kept => format!("  {text}\n"),
                DiffSign::Removed => format!("- {text}\n"),
                DiffSign::Added => format!("+ {text}\n"),
            };
            (row.pieces.iter().map(|piece| line(piece.sign, &piece.text)).collect::<String>(), "diff")
        }
        (Some(command), _) => (command.clone(), "sh"),
        (None, Some(old)) => (old.lines().map(|line| format!("- {line}\n")).collect(), "diff"),
        (None, None) => ("a person confirms it".to_owned(), ""),
    };
    push(page, &block(&text, kind));
}

fn changes(page: &mut String, review: &Review) {
    let Some(since) = &review.since else { return };
    let why = match since.why {
        ReviewReason::Asked => "",
        ReviewReason::Read => ", the last you read",
        ReviewReason::Decided => ", the last decided",
    };
    push(page, &format!("### Since r{}{why}\n", since.revision));
    if review.changes.is_empty() {
        push(page, "Nothing changed.\n");
    }
    for change in &review.changes {
        let step = match (&change.step, change.number) {
            (Some(step), Some(number)) => format!("step {number} {}: ", code(step)),
            (Some(step), None) => format!("step {}: ", code(step)),
            (None, _) => "plan: ".to_owned(),
        };
        let lines = |sign: &str, text: &Option<String>| -> String {
            let text = text.as_deref().unwrap_or_default();
            text.lines().map(|line| format!("{sign} {line}\n")).collect()
        };
        let text = format!("{}{}", lines("-", &change.was), lines("+", &change.now));
        let word = change.what.word();
        push(
            page,
            &format!("<details><summary>{step}{word}</summary>\n\n{}\n</details>\n", block(&text, "diff")),
        );
    }
}

fn comments(page: &mut String, review: &Review) {
    if review.comments.is_empty() {
        return;
    }
    push(page, "### Comments\n");
    for comment in &review.comments {
        let place = match (&comment.step, comment.step_number) {
            (None, _) => "the plan".to_owned(),
            (Some(step), Some(number)) => format!("step {number} {}", code(step)),
            (Some(step), None) => format!("step {} (removed)", code(step)),
        };
        let state = if comment.answered_by.is_some() { "answered" } else { "**open**" };
        let by = code(&comment.by.to_string());
        push(page, &format!("- {} by {by} on r{}, {place}, {state}\n", comment.number, comment.revision));
        push(page, &block(&comment.text, "text"));
        if let (Some(by), Some(answer)) = (&comment.answered_by, &comment.answer) {
            push(page, &format!("  answered by {}\n", code(&by.to_string())));
            push(page, &block(answer, "text"));
        }
    }
}

fn said(page: &mut String, review: &Review) {
    for warning in &review.warnings {
        push(page, &format!("- {} {}\n", warning.code, code(&warning.message)));
    }
    for approval in &review.approvals {
        let (by, rule) = (code(&approval.by.to_string()), code(&approval.rule));
        push(page, &format!("- approved by {by}, by rule {rule}; {}\n", approval.worth));
    }
    for rejection in &review.rejections {
        push(
            page,
            &format!("- r{} was rejected by {}\n", rejection.revision, code(&rejection.by.to_string())),
        );
        push(page, &block(&rejection.feedback, "text"));
    }
}

/// A text on one line that says exactly this, whatever it says: no markup, no mention, no link.
fn code(text: &str) -> String {
    let mut code = String::from("<code>");
    for character in clean_line(text).chars() {
        if character.is_ascii_punctuation() {
            write!(code, "&#{};", u32::from(character)).expect("writing to a string cannot fail");
        } else {
            code.push(character);
        }
    }
    code.push_str("</code>");
    code
}

/// A text of several lines that says exactly this: the fence is longer than any in it.
fn block(text: &str, kind: &str) -> String {
    let text = clean(text);
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_not_forge_markup() {
        let hostile = "</code> **bold** [x](https://e.vil) | @everyone `a` <img src=x> #1 \u{1b}[2J\n# head";
        let shown = code(hostile);
        let inner =
            shown.strip_prefix("<code>").and_then(|text| text.strip_suffix("</code>")).expect("a code");
        let is_plain = |character: char| !character.is_ascii_punctuation() || "&#;".contains(character);
        assert!(inner.chars().all(is_plain), "{inner}");
        assert!(!inner.contains('\n') && !inner.contains('\u{1b}'), "{inner}");
    }

    #[test]
    fn a_block_ends_where_its_text_does() {
        let hostile = "a\n```\n</details>\n````\n# head\n";
        let shown = block(hostile, "sh");
        let fence = "`".repeat(5);
        assert!(shown.starts_with(&format!("{fence}sh\n")) && shown.ends_with(&format!("\n{fence}\n")));
        assert_eq!(shown.matches(&fence).count(), 2, "{shown}");
    }
}
