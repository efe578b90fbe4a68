//! Parses the words, boxes and signs that people use for the status of a task. The start of a status decides; the rest
//! is the author's note and stays.

use std::ops::Range;

use crate::plan::draft::Mark;

/// A parsed status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatusReading {
    /// `None` if the task is still open.
    pub(super) mark: Option<Mark>,
    /// Whether any part of it was understood.
    pub(super) is_known: bool,
    /// The span without a following note.
    pub(super) said: Range<usize>,
}

/// The style of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Box,
    Word,
    CapitalWord,
}

/// Signs before a status, around a title and in a box. The first of each mark is the one we write.
const SIGNS: &[(&str, Option<Mark>)] = &[
    ("✅", Some(Mark::Done)),
    ("☑", Some(Mark::Done)),
    ("✔", Some(Mark::Done)),
    ("✓", Some(Mark::Done)),
    ("🎉", Some(Mark::Done)),
    ("⏳", Some(Mark::Running)),
    ("🚧", Some(Mark::Running)),
    ("🔄", Some(Mark::Running)),
    ("🏗", Some(Mark::Running)),
    ("❌", Some(Mark::Failed)),
    ("✗", Some(Mark::Failed)),
    ("✘", Some(Mark::Failed)),
    ("⏭", Some(Mark::Skipped)),
    ("⬜", None),
    ("☐", None),
    ("🔲", None),
    ("📋", None),
    ("🔜", None),
];

/// Variation selector that makes a sign colored; part of the sign.
const COLOURED: char = '\u{fe0f}';

/// Characters in a box; the first of each mark is the one we write.
const BOXES: &[(&str, Option<Mark>)] = &[
    (" ", None),
    ("", None),
    ("x", Some(Mark::Done)),
    ("X", Some(Mark::Done)),
    ("✓", Some(Mark::Done)),
    ("✔", Some(Mark::Done)),
    ("✅", Some(Mark::Done)),
    ("~", Some(Mark::Running)),
    ("/", Some(Mark::Running)),
    ("⏳", Some(Mark::Running)),
    ("!", Some(Mark::Failed)),
    ("❌", Some(Mark::Failed)),
    ("-", Some(Mark::Skipped)),
    (">", Some(Mark::Skipped)),
];

/// Words at the start of a status. Longer ones with the same start come first.
const WORDS: &[(&str, Option<Mark>)] = &[
    ("in progress", Some(Mark::Running)),
    ("in-progress", Some(Mark::Running)),
    ("in_progress", Some(Mark::Running)),
    ("inprogress", Some(Mark::Running)),
    ("in review", Some(Mark::Running)),
    ("partially complete", Some(Mark::Running)),
    ("partially done", Some(Mark::Running)),
    ("partially", Some(Mark::Running)),
    ("partial", Some(Mark::Running)),
    ("mostly", Some(Mark::Running)),
    ("almost", Some(Mark::Running)),
    ("running", Some(Mark::Running)),
    ("ongoing", Some(Mark::Running)),
    ("underway", Some(Mark::Running)),
    ("started", Some(Mark::Running)),
    ("active", Some(Mark::Running)),
    ("doing", Some(Mark::Running)),
    ("wip", Some(Mark::Running)),
    ("进行中", Some(Mark::Running)),
    ("진행 중", Some(Mark::Running)),
    ("진행중", Some(Mark::Running)),
    ("進行中", Some(Mark::Running)),
    ("not needed", Some(Mark::Skipped)),
    ("not applicable", Some(Mark::Skipped)),
    ("not started", None),
    ("not yet", None),
    ("not done", None),
    ("not", None),
    ("未完成", None),
    ("未开始", None),
    ("待办", None),
    ("대기", None),
    ("未着手", None),
    ("completed", Some(Mark::Done)),
    ("complete", Some(Mark::Done)),
    ("done", Some(Mark::Done)),
    ("finished", Some(Mark::Done)),
    ("implemented", Some(Mark::Done)),
    ("shipped", Some(Mark::Done)),
    ("merged", Some(Mark::Done)),
    ("landed", Some(Mark::Done)),
    ("closed", Some(Mark::Done)),
    ("resolved", Some(Mark::Done)),
    ("fixed", Some(Mark::Done)),
    ("passed", Some(Mark::Done)),
    ("pass", Some(Mark::Done)),
    ("已完成", Some(Mark::Done)),
    ("完成", Some(Mark::Done)),
    ("完了", Some(Mark::Done)),
    ("완료", Some(Mark::Done)),
    ("failed", Some(Mark::Failed)),
    ("failing", Some(Mark::Failed)),
    ("fail", Some(Mark::Failed)),
    ("broken", Some(Mark::Failed)),
    ("skipped", Some(Mark::Skipped)),
    ("skip", Some(Mark::Skipped)),
    ("cancelled", Some(Mark::Skipped)),
    ("canceled", Some(Mark::Skipped)),
    ("dropped", Some(Mark::Skipped)),
    ("obsolete", Some(Mark::Skipped)),
    ("superseded", Some(Mark::Skipped)),
    ("deferred", Some(Mark::Skipped)),
    ("postponed", Some(Mark::Skipped)),
    ("wontfix", Some(Mark::Skipped)),
    ("won't", Some(Mark::Skipped)),
    ("n/a", Some(Mark::Skipped)),
    ("pending", None),
    ("to do", None),
    ("to-do", None),
    ("todo", None),
    ("open", None),
    ("planned", None),
    ("planning", None),
    ("proposed", None),
    ("ready", None),
    ("queued", None),
    ("blocked", None),
    ("waiting", None),
    ("awaiting", None),
    ("on hold", None),
    ("paused", None),
    ("backlog", None),
    ("draft", None),
    ("next", None),
    ("new", None),
    ("tbd", None),
];

/// Characters around a status without meaning.
const WRAPPING: &[char] = &['*', '_', '`', '"', '\'', ' ', '\t'];

/// Parses a status: `[x] (2026-04-29: note)`, `in progress (since Monday)`, `✅ Done`, `**DONE**`.
pub(super) fn read(text: &str) -> StatusReading {
    let boxes = boxes(text);
    if boxes.len() > 1 {
        return several(text, &boxes);
    }
    let start = text.len() - text.trim_start_matches(WRAPPING).len();
    let mut at = start;
    let mut claim: Option<Option<Mark>> = None;
    loop {
        let rest = &text[at..];
        if let Some((length, mark)) = leading_box(rest) {
            claim.get_or_insert(mark);
            at += length;
        } else if let Some((length, mark)) = leading_sign(rest) {
            claim.get_or_insert(mark);
            at += length;
        } else if let Some(picture) = rest.chars().next().filter(|&first| is_picture(first)) {
            at += picture.len_utf8();
        } else {
            break;
        }
        at = text.len() - text[at..].trim_start_matches(WRAPPING).len();
    }
    let word = leading_word(&text[at..]);
    let end = at + word.map_or(0, |(length, _)| length);
    // A box or a sign decides; the word after it only repeats it.
    match (claim, word) {
        (Some(mark), _) | (None, Some((_, mark))) => {
            let end = start + text[start..end].trim_end_matches(WRAPPING).len();
            StatusReading { mark, is_known: true, said: start..end }
        }
        (None, None) => {
            StatusReading { mark: None, is_known: false, said: start..start + head(&text[start..]) }
        }
    }
}

/// `[ ] Not started | [ ] In progress | [x] Complete`: the ticked box decides. Several tasks on one line are done when
/// all are.
fn several(text: &str, boxes: &[(usize, usize, Option<Mark>)]) -> StatusReading {
    let said = 0..text.trim_end().len();
    let word = |&(_, end, _): &(usize, usize, Option<Mark>)| {
        leading_word(text[end..].trim_start_matches(WRAPPING)).map(|(_, mark)| mark)
    };
    let mut ticked = boxes.iter().filter(|(_, _, mark)| *mark == Some(Mark::Done));
    let first = ticked.next();
    let mark = match (first.and_then(word), ticked.next()) {
        (Some(mark), None) => mark,
        _ if boxes.iter().all(|(_, _, mark)| *mark == Some(Mark::Done)) => Some(Mark::Done),
        _ => None,
    };
    StatusReading { mark, is_known: true, said }
}

/// The status with another mark, in the existing style.
pub(super) fn rewritten(text: &str, mark: Option<Mark>) -> String {
    let reading = read(text);
    let said = &text[reading.said.clone()];
    let first = said.chars().find(|character| character.is_alphanumeric());
    let style = match first {
        _ if said.contains('[') => Style::Box,
        Some(first) if first.is_uppercase() => Style::CapitalWord,
        Some(_) | None => Style::Word,
    };
    format!("{}{}{}", &text[..reading.said.start], spelled(mark, style), &text[reading.said.end..])
}

/// The status as a box.
pub(super) fn boxed(mark: Option<Mark>) -> String {
    spelled(mark, Style::Box)
}

/// The box character of a mark.
pub(super) fn tick(mark: Option<Mark>) -> &'static str {
    BOXES.iter().find(|(_, known)| *known == mark).map_or(" ", |&(tick, _)| tick)
}

/// The sign to put before a title.
pub(super) fn sign(mark: Mark) -> &'static str {
    SIGNS.iter().find(|(_, known)| *known == Some(mark)).map_or("", |&(sign, _)| sign)
}

fn spelled(mark: Option<Mark>, style: Style) -> String {
    let word = match mark {
        Some(Mark::Done) => "done",
        Some(Mark::Running) => "in progress",
        Some(Mark::Failed) => "failed",
        Some(Mark::Skipped) => "skipped",
        None => "pending",
    };
    match style {
        Style::Box => format!("[{}]", tick(mark)),
        Style::Word => word.to_owned(),
        Style::CapitalWord => format!("{}{}", word[..1].to_uppercase(), &word[1..]),
    }
}

/// The length of a leading box and its mark; `None` if its content is unknown.
pub(super) fn leading_box(text: &str) -> Option<(usize, Option<Mark>)> {
    let inner = text.strip_prefix('[')?;
    let (tick, behind) = inner.split_once(']')?;
    // `[x](…)` is a link.
    if behind.starts_with(['(', '[']) {
        return None;
    }
    let tick = tick.trim_end_matches(COLOURED);
    let bare = if tick.trim().is_empty() { tick } else { tick.trim() };
    let &(_, mark) = BOXES.iter().find(|(known, _)| *known == bare)?;
    Some((text.len() - behind.len(), mark))
}

/// The length of a leading sign and its mark.
pub(super) fn leading_sign(text: &str) -> Option<(usize, Option<Mark>)> {
    let &(sign, mark) = SIGNS.iter().find(|(sign, _)| text.starts_with(sign))?;
    let coloured = text[sign.len()..].starts_with(COLOURED);
    Some((sign.len() + if coloured { COLOURED.len_utf8() } else { 0 }, mark))
}

/// The offset and mark of the last sign of a text.
pub(super) fn last_sign(text: &str) -> Option<(usize, Option<Mark>)> {
    SIGNS.iter().filter_map(|(sign, mark)| Some((text.rfind(sign)?, *mark))).max_by_key(|&(at, _)| at)
}

/// The length of a leading status word and its mark.
pub(super) fn leading_word(text: &str) -> Option<(usize, Option<Mark>)> {
    if let Some(share) = share(text) {
        return Some(share);
    }
    let &(word, mark) = WORDS.iter().find(|(word, _)| {
        let same = text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let ends = text.get(word.len()..).and_then(|behind| behind.chars().next());
        same && ends.is_none_or(|next| !next.is_alphanumeric() || !word.is_ascii())
    })?;
    Some((word.len(), mark))
}

/// `100%`, `40 %`.
fn share(text: &str) -> Option<(usize, Option<Mark>)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = text[digits..].strip_prefix('%').filter(|_| (1..=3).contains(&digits))?;
    let mark = match &text[..digits] {
        "100" => Some(Mark::Done),
        share if share.bytes().all(|digit| digit == b'0') => None,
        _ => Some(Mark::Running),
    };
    Some((text.len() - behind.len(), mark))
}

/// The length of an unknown status, up to a note.
fn head(text: &str) -> usize {
    const NOTES: [&str; 6] = ["(", "—", "–", " - ", ",", ";"];
    let end = NOTES.iter().filter_map(|sign| text.find(sign)).min().unwrap_or(text.len());
    text[..end].trim_end().len()
}

/// Every box in the text: start, end and mark.
fn boxes(text: &str) -> Vec<(usize, usize, Option<Mark>)> {
    let places = text.match_indices('[').map(|(at, _)| at);
    places
        .filter_map(|at| {
            let (length, mark) = leading_box(&text[at..])?;
            Some((at, at + length, mark))
        })
        .collect()
}

/// Pictures before a status without meaning, such as colored dots.
fn is_picture(character: char) -> bool {
    matches!(u32::from(character), 0x1f000..=0x1ffff | 0x2600..=0x27bf | 0x2b00..=0x2bff | 0xfe0f)
}
