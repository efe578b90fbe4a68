//! The differing lines of two commands, for display. Judges nothing: [`super::strictness`] does.

use schemars::JsonSchema;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Longer commands are shown as two whole texts: a diff would take too long.
const LINES_MAX: usize = 1_000;

/// A line of two compared commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandPiece {
    pub sign: DiffSign,
    /// Without its newline.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiffSign {
    Kept,
    Removed,
    Added,
}

/// If one command is a prefix of the other, only the rest counts as a difference.
pub fn pieces(old: &str, new: &str) -> Vec<CommandPiece> {
    let (old, new) = (old.trim_end(), new.trim_end());
    let lines = |text: &str, sign: DiffSign| -> Vec<CommandPiece> {
        text.lines().map(|line| CommandPiece { sign, text: line.to_owned() }).collect()
    };
    if old == new {
        return lines(new, DiffSign::Kept);
    }
    let is_joint = |rest: &str| rest.trim_start().starts_with(['&', '|', ';']) || rest.starts_with('\n');
    for (short, long, sign) in [(old, new, DiffSign::Added), (new, old, DiffSign::Removed)] {
        if let Some(rest) = long.strip_prefix(short).filter(|rest| is_joint(rest) && !short.is_empty()) {
            let mut pieces = lines(short, DiffSign::Kept);
            pieces.extend(lines(rest.trim_start(), sign));
            return pieces;
        }
    }
    if old.lines().count().max(new.lines().count()) > LINES_MAX {
        return [lines(old, DiffSign::Removed), lines(new, DiffSign::Added)].concat();
    }
    let diff = TextDiff::from_lines(old, new);
    let piece = |tag: ChangeTag, text: &str| CommandPiece {
        sign: match tag {
            ChangeTag::Equal => DiffSign::Kept,
            ChangeTag::Delete => DiffSign::Removed,
            ChangeTag::Insert => DiffSign::Added,
        },
        text: text.trim_end_matches(['\n', '\r']).to_owned(),
    };
    diff.iter_all_changes().map(|change| piece(change.tag(), change.value())).collect()
}
