//! The differing lines of two commands, for display. Judges nothing: [`super::strictness`] does.

use schemars::JsonSchema;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Longer commands are shown as two whole texts: a diff would take too long.
const LINES_MAX: usize = 1_000;

/// A line of two compared commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Piece {
    pub sign: Sign,
    /// Without its newline.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    Kept,
    Removed,
    Added,
}

/// If one command is a prefix of the other, only the rest counts as a difference.
pub fn pieces(old: &str, new: &str) -> Vec<Piece> {
    let (old, new) = (old.trim_end(), new.trim_end());
    let lines = |text: &str, sign: Sign| -> Vec<Piece> {
        text.lines().map(|line| Piece { sign, text: line.to_owned() }).collect()
    };
    if old == new {
        return lines(new, Sign::Kept);
    }
    let is_joint = |rest: &str| rest.trim_start().starts_with(['&', '|', ';']) || rest.starts_with('\n');
    for (short, long, sign) in [(old, new, Sign::Added), (new, old, Sign::Removed)] {
        if let Some(rest) = long.strip_prefix(short).filter(|rest| is_joint(rest) && !short.is_empty()) {
            let mut pieces = lines(short, Sign::Kept);
            pieces.extend(lines(rest.trim_start(), sign));
            return pieces;
        }
    }
    if old.lines().count().max(new.lines().count()) > LINES_MAX {
        return [lines(old, Sign::Removed), lines(new, Sign::Added)].concat();
    }
    let diff = TextDiff::from_lines(old, new);
    let piece = |tag: ChangeTag, text: &str| Piece {
        sign: match tag {
            ChangeTag::Equal => Sign::Kept,
            ChangeTag::Delete => Sign::Removed,
            ChangeTag::Insert => Sign::Added,
        },
        text: text.trim_end_matches(['\n', '\r']).to_owned(),
    };
    diff.iter_all_changes().map(|change| piece(change.tag(), change.value())).collect()
}
